"""A command tool, an HTTP tool and a public MCP server in a fresh project, each by one file.

A scripted agent uses each of them, is refused once for each, reads why, and corrects itself. Run with
``-s`` to see the transcript.
"""

import importlib.util
import io
import json
import sys

import pytest

from rails.agents.template import load_agents
from rails.approval.terminal.scripted import ScriptedApprover
from rails.commands.live import ProgressScreen
from rails.core.app_dirs import builtin_folder
from rails.log.reader import read_strict
from rails.log.writer import SessionLog
from rails.session.job import SessionJob, log_session_start
from rails.session.run import Session
from rails.testing import ScriptedModel
from rails.tools.loader import load_definitions
from rails.tools.mcp_import import import_server

#: What a person reads of it, in this order.
SHOWN = """\
  refused: `path` is not a parameter of this tool.
           Did you mean `file_path`? Allowed: `file_path`.
  ✅ count_lines poem.txt
  refused: `unit` is "C", which is not allowed.
           Allowed: ["celsius", "fahrenheit"].
  ✅ weather
           Did you mean `timezone`? Allowed: `timezone`.
  ✅ get_current_time
"""
COUNT = {
    "tool_name": "count_lines",
    "description": "Count the lines of a text file.",
    "request_schema": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
    },
    "transport": {
        "type": "command",
        "command": [sys.executable, "-c", "import sys; print(len(open(sys.argv[1]).readlines()))", "{file_path}"],
    },
    "access_control": {"Coder Agent": "free_access"},
}


def weather(url):
    return {
        "tool_name": "weather",
        "description": "The weather in a town.",
        "api_endpoint": f"{url}/weather/{{town}}",
        "request_schema": {
            "type": "object",
            "properties": {"town": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "required": ["town"],
        },
        "response_format": {"type": "object", "required": ["temperature"]},
        "access_control": {"Coder Agent": "permissioned_access"},
    }


def ask(tool, **parameters):
    request = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "I need it."}
    return f"I will look.\n\n```json\n{json.dumps(request)}\n```\n"


@pytest.mark.skipif(importlib.util.find_spec("mcp_server_time") is None, reason="mcp_server_time is not installed")
def test_three_tools_by_three_files_each_refused_once_and_corrected(serving, tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_LANG", "en")
    project = tmp_path / "project"
    folder = project / "mcp_definitions"
    folder.mkdir(parents=True)
    (project / "poem.txt").write_text("one\ntwo\nthree\n")
    (folder / "count_lines.json").write_text(json.dumps(COUNT))
    imported = import_server("time", {"command": sys.executable, "args": ["-m", "mcp_server_time"]}, project)
    (folder / "get_current_time.json").write_text(imported.files["get_current_time.json"])
    with serving(lambda seen: (200, {}, {"temperature": 21})) as server:
        (folder / "weather.json").write_text(json.dumps(weather(server.url)))
        answers = [
            ask("count_lines", path="poem.txt"),
            ask("count_lines", file_path="poem.txt"),
            ask("weather", town="Bad Tölz", unit="C"),
            ask("weather", town="Bad Tölz", unit="celsius"),
            ask("get_current_time", zone="Europe/Berlin"),
            ask("get_current_time", timezone="Europe/Berlin"),
            "The poem has 3 lines, it is 21 degrees, and I know the time.",
        ]
        (told, screen) = tell(project, answers, ["approve", "approve", "approve"])
        seen = server.seen
    assert "`path` is not a parameter of this tool" in told[0]
    assert "Did you mean `file_path`?" in told[0]
    assert "count_lines: exit code 0\n3" in told[1]
    assert '`unit` is "C", which is not allowed' in told[2]
    assert '{"temperature": 21}' in told[3]
    assert "Did you mean `timezone`?" in told[4]
    assert "Europe/Berlin" in told[5]
    assert [(one.method, one.path) for one in seen] == [("POST", "/weather/Bad%20T%C3%B6lz")]
    assert seen[0].json() == {"unit": "celsius"}
    printed = iter(screen.splitlines())
    assert [line for line in SHOWN.splitlines() if line not in printed] == []


def tell(project, answers, approvals):
    """Run the session, print its transcript, and return what the agent was told after each answer."""
    model = ScriptedModel(answers)
    registry = load_definitions([builtin_folder("mcp_definitions"), project / "mcp_definitions"])
    agents = dict(load_agents([builtin_folder("agent_templates"), project / "agent_templates"]))
    job = SessionJob(project, (("coder", "How long is the poem, how warm is it, what time is it?"),))
    with SessionLog.create(project / ".rails") as log:
        log_session_start(job, log, model.name)
        approver = ScriptedApprover(approvals)
        screen = ProgressScreen(io.StringIO(), colour=False)
        ending = Session(job, log, registry, agents, model.for_agent, approver, watch=screen).run()
        told = [record.details["text"] for record in read_strict(log.path) if record.event_type == "FEEDBACK_SENT"]
    for answer, text in zip(answers, [*told, ending.message], strict=True):
        print(f"--- agent\n{answer}\n--- told\n{text}")
    assert approver.remaining == 0
    print(screen.out.getvalue())
    return told, screen.out.getvalue()
