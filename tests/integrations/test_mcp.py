"""The Model Context Protocol server, asked by the official SDK's client: in this process, on stdio, over HTTP."""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rails.commands import common
from rails.core.errors import UsageError
from rails.core.events.approval import ApprovalOpened, HumanDecision
from rails.core.events.changes import ExecutionStarted
from rails.core.events.session import WorkflowEnd
from rails.log.reader import read_lenient, sessions
from rails.session.project import state_of

mcp = pytest.importorskip("mcp", reason="the official SDK is not installed")
import mcp_types as types  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402

from rails.commands import mcp as verb  # noqa: E402
from rails.integrations.mcp.server import McpService, run_until_ended  # noqa: E402

PROGRAM = str(Path(sys.executable).with_name("ai-rails"))
ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])
BROKEN = {"edits": [{"file_path": "b.py", "content": "y = undefined\n"}]}
GOOD = {"edits": [{"file_path": "a.py", "old_string": "a = 1", "new_string": "a = 3"}], "explanation": "It was wrong."}
COUNT = {
    "tool_name": "count",
    "description": "Count the lines of a file.",
    "request_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    "response_format": "A number.",
    "transport": {"type": "command", "command": [sys.executable, "count.py", "--", "{file_path}"]},
    "access_control": {"*": "permissioned_access"},
}


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "configuration"))


class Person:
    """Whoever sits at the client: gives ``answers``, one after the other, and keeps what was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, context, params):
        self.asked.append(params)
        answer = self.answers.pop(0)
        return types.ElicitResult(**answer) if isinstance(answer, dict) else await answer()


def filled(**content):
    return {"action": "accept", "content": content}


YES = filled(decision="approve")
NO = filled(decision="deny", reason="Not like this.")


def served(project, calls, *, person=None, era="legacy", minutes=1.0, approve="ask"):
    """Return what ``calls`` (a coroutine function of a client) returns, with a server in this process."""
    options = argparse.Namespace(http=None, agent="coder", approve=approve, answer_within=minutes, project=str(project))
    service = McpService(verb._tools(options))

    async def main():
        async with mcp.Client(service.server, mode=era, elicitation_callback=person) as client:
            return await calls(client)

    try:
        return asyncio.run(asyncio.wait_for(main(), 100))
    finally:
        service.close()


def call(project, name, arguments, **options):
    return served(project, lambda client: client.call_tool(name, arguments), **options)


def text(result):
    return result.content[0].text


def events(project):
    return [record.event for one in sessions(state_of(project)) for record in read_lenient(one.path)[0]]


def of(project, kind):
    return [event for event in events(project) if isinstance(event, kind)]


# -- what is offered, and what only looks --------------------------------------------------------------


@ERAS
def test_it_offers_its_own_tools_and_those_of_the_role_that_do_not_edit_by_themselves(project, era):
    tools = {tool.name: tool for tool in served(project, lambda client: client.list_tools(), era=era).tools}
    own = {"gate", "propose_changes", "n8n_check", "n8n_node_info", "undo", "session_search"}
    assert own | {"read_file", "list_files", "search_files", "run_tests"} <= set(tools)
    assert not {"edit_file", "write_file", "delete_file"} & set(tools)
    assert tools["gate"].annotations.read_only_hint
    assert tools["propose_changes"].annotations.destructive_hint


@ERAS
def test_the_gate_gives_the_findings_of_proposed_contents_as_text_and_as_a_value(project, era):
    result = call(project, "gate", {"contents": [{"file_path": "b.py", "content": "y = undefined\n"}]}, era=era)
    assert "F821" in text(result)
    assert result.structured_content["verdict"] == "fail"
    assert result.structured_content["findings"][0]["line"] == 1
    assert not (project / "b.py").exists()


def test_the_gate_judges_files_and_what_is_new_since_a_revision(project):
    (project / "a.py").write_text("a = 1\nb = gone\n")
    found = call(project, "gate", {"paths": ["a.py"], "base": "HEAD"}).structured_content["findings"]
    assert [(one["rule"], one["new"]) for one in found] == [("F821", True)]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    json.loads("""[
  [
    "gate",
    {
      "path": "a.py"
    },
    "`path` is not a parameter"
  ],
  [
    "gate",
    {
      "paths": [
        "../x"
      ]
    },
    "outside the project"
  ],
  [
    "gate",
    {
      "paths": [
        "a.py"
      ],
      "contents": [
        {
          "file_path": "a.py",
          "content": ""
        }
      ]
    },
    "not both"
  ],
  [
    "gate",
    {
      "paths": [
        "a.py"
      ],
      "base": "nowhere"
    },
    "nowhere"
  ],
  [
    "gate",
    {
      "contents": [
        {
          "file_path": "/etc/x",
          "content": ""
        }
      ]
    },
    "Nothing was checked"
  ],
  [
    "propose_changes",
    {
      "edits": []
    },
    "edits"
  ],
  [
    "propose_changes",
    {
      "edits": [
        {
          "file_path": "a.py",
          "old_string": "nowhere"
        }
      ]
    },
    "`new_string` is missing"
  ],
  [
    "propose_changes",
    {
      "edits": [
        {
          "file_path": "a.py",
          "old_string": "no",
          "new_string": ""
        }
      ]
    },
    "not written"
  ],
  [
    "read_file",
    {
      "file_pth": "a.py"
    },
    "file_path"
  ],
  [
    "raed_file",
    {},
    "is not defined or accessible"
  ],
  [
    "n8n_check",
    {},
    "either path or workflow"
  ],
  [
    "undo",
    {},
    "There is nothing to undo in session"
  ]
]"""),
)
def test_a_wrong_call_is_answered_with_an_error_the_model_can_read(project, name, arguments, said):
    result = call(project, name, arguments)
    assert result.is_error
    assert said.replace("not written", "could not be applied") in text(result)
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


def test_a_workflow_and_a_node_are_looked_up(project):
    workflow = json.dumps({"name": "w", "nodes": [{"name": "a", "type": "n8n-nodes-base.foo"}], "connections": {}})
    assert "N8N040" in text(call(project, "n8n_check", {"workflow": workflow}))
    assert "httpRequest" in text(call(project, "n8n_node_info", {"type": "n8n-nodes-base.httpRequest"}))


def test_a_project_is_read_by_its_own_tools(project):
    assert "a = 1" in text(call(project, "read_file", {"file_path": "a.py"}))


# -- changes and the question --------------------------------------------------------------------------


@ERAS
def test_a_change_is_asked_about_at_the_client_written_and_taken_back(project, era):
    person = Person(YES)

    async def calls(client):
        written = await client.call_tool("propose_changes", GOOD)
        between = (project / "a.py").read_text()
        return written, between, await client.call_tool("undo", {})

    written, between, undone = served(project, calls, person=person, era=era)
    assert (written.is_error, text(written), between) == (False, "Edited a.py", "a = 3\nb = 2\n")
    assert "+  a = 3" in person.asked[0].message
    assert "It was wrong." in person.asked[0].message
    assert "Restored" in text(undone)
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


@ERAS
def test_a_finding_goes_back_before_anybody_is_asked(project, era):
    person = Person()
    result = call(project, "propose_changes", BROKEN, person=person, era=era)
    assert "Your code failed linting" in text(result)
    assert result.is_error
    assert not person.asked
    assert not (project / "b.py").exists()


@ERAS
@pytest.mark.parametrize(
    ("answer", "said"),
    [(NO, "Not like this."), ({"action": "decline"}, "Denied"), ({"action": "cancel"}, "Denied"), (filled(), "Denied")],
)
def test_only_a_yes_writes(project, era, answer, said):
    result = call(project, "propose_changes", GOOD, person=Person(answer), era=era)
    assert result.is_error
    assert said in text(result)
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


def test_where_there_are_risks_the_form_has_no_yes_to_choose_and_wants_the_word(project):
    delete = {"edits": [{"file_path": "a.py", "delete": True}]}
    person = Person(filled(decision="yes"))
    assert call(project, "propose_changes", delete, person=person).is_error
    assert "enum" not in person.asked[0].requested_schema["properties"]["decision"]
    assert not call(project, "propose_changes", delete, person=Person(YES)).is_error
    assert not (project / "a.py").exists()


def test_all_edits_of_a_call_are_one_change(project):
    edits = [*GOOD["edits"], {"file_path": "c.py", "content": "c = 1\n"}, {"file_path": "a.py", "new_path": "d.py"}]
    result = call(project, "propose_changes", {"edits": [*edits[:2], *BROKEN["edits"]]}, person=Person())
    assert result.is_error
    assert not (project / "c.py").exists()
    assert not call(project, "propose_changes", {"edits": edits[1:2]}, person=Person(YES)).is_error
    assert (project / "c.py").exists()


def waiting_question(project):
    """Return the session and the record of the question that waits, once there is one."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for one in sessions(state_of(project)):
            for record in read_lenient(one.path)[0]:
                if isinstance(record.event, ApprovalOpened):
                    return one.session_id, record
        time.sleep(0.02)
    raise AssertionError("nothing was asked")


def in_the_page(project, do):
    """Answer the first question as the page does."""
    name, record = waiting_question(project)
    answer = {"do": do, "digest": record.event.digest, "reason": ""}
    assert common.answers_of(state_of(project), name).place(record.seq, answer)


@ERAS
def test_a_client_that_cannot_ask_waits_for_the_page(project, era):
    page = threading.Thread(target=in_the_page, args=(project, "approve"))
    page.start()
    result = call(project, "propose_changes", GOOD, era=era)
    page.join(60)
    assert text(result) == "Edited a.py"
    assert of(project, HumanDecision)[-1].by == "human in the page"


def test_what_the_page_answers_first_counts_while_the_client_still_asks(project):
    async def never():
        await asyncio.sleep(3600)

    page = threading.Thread(target=in_the_page, args=(project, "deny"))
    page.start()
    result = call(project, "propose_changes", GOOD, person=Person(never))
    page.join(60)
    assert "Denied" in text(result)


def test_nobody_answers_in_time_and_nothing_is_written(project):
    result = call(project, "propose_changes", GOOD, minutes=0.002)
    assert result.is_error
    assert "answered" in text(result)
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


def test_a_call_that_is_taken_back_is_a_no_and_others_go_on_meanwhile(project):
    async def calls(client):
        asking = asyncio.ensure_future(client.call_tool("propose_changes", GOOD))
        await asyncio.to_thread(waiting_question, project)
        seen = await client.call_tool("gate", {"paths": ["a.py"]})
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return seen, await client.call_tool("undo", {})

    seen, undone = served(project, calls)
    assert seen.structured_content["verdict"] == "pass"
    assert undone.is_error
    assert of(project, HumanDecision)[-1].by == "client"
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


@ERAS
def test_a_command_tells_of_its_progress_and_ends_with_its_call(project, era, monkeypatch):
    monkeypatch.setattr("rails.integrations.mcp.server._BEAT_S", 0.05)

    async def calls(client):
        told = asyncio.Queue()
        slow = {"command": "touch made; sleep 600"}
        running = asyncio.ensure_future(
            client.call_tool("run_command", slow, progress_callback=lambda *said: told.put(said[2]))
        )
        while not of(project, ExecutionStarted):
            await asyncio.sleep(0.05)
        assert "run_command" in await told.get()
        running.cancel()
        return await client.call_tool("run_command", {"command": "ls"})

    assert "made" not in text(served(project, calls, person=Person(YES, YES), era=era))


def test_an_answer_to_no_question_does_nothing(project):
    async def calls(client):
        made = {"approval": types.ElicitResult(action="accept", content={"decision": "approve"})}
        params = types.CallToolRequestParams(
            name="propose_changes", arguments=GOOD, input_responses=made, request_state="made up"
        )
        return await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)

    assert "not open any more" in text(served(project, calls, person=Person(), era="auto"))
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


def test_a_policy_decides_where_it_is_to(project, tmp_path):
    (tmp_path / "configuration").mkdir()
    rule = '[[rule]]\ndecision = "allow"\ntool = "edit_file"\npath = "a.py"\n'
    (tmp_path / "configuration/policy.toml").write_text(rule)
    assert not call(project, "propose_changes", GOOD, approve="policy").is_error


@ERAS
def test_a_tool_of_the_project_that_asks_runs_after_a_yes(project, era):
    (project / "count.py").write_text("import sys\nprint('x', len(open(sys.argv[2]).readlines()))\n")
    (project / "mcp_definitions").mkdir()
    (project / "mcp_definitions/count.json").write_text(json.dumps(COUNT))
    assert "x 2" in text(call(project, "count", {"file_path": "a.py"}, person=Person(YES), era=era))
    assert call(project, "count", {"file_path": "a.py"}, person=Person(NO), era=era).is_error


# -- the log -------------------------------------------------------------------------------------------


def test_all_calls_stand_in_one_session_that_can_be_searched_and_that_ends(project):
    async def calls(client):
        await client.call_tool("propose_changes", BROKEN)
        await client.call_tool("propose_changes", GOOD)
        return await client.call_tool("session_search", {"query": "rule:F821"})

    found = served(project, calls, person=Person(YES))
    assert "gate: fail" in text(found)
    (only,) = sessions(state_of(project))
    assert isinstance(events(project)[-1], WorkflowEnd)
    assert read_lenient(only.path)[0][3].llm_model_used == "mcp: mcp"


@ERAS
def test_each_session_is_a_resource_that_reads_as_the_review_shows_it(project, era):
    async def calls(client):
        await client.call_tool("propose_changes", GOOD)
        (found,) = (await client.list_resources()).resources
        return found, await client.read_resource(found.uri)

    found, read = served(project, calls, person=Person(YES), era=era)
    (only,) = sessions(state_of(project))
    assert (found.uri, found.name) == (f"ai-rails://sessions/{only.session_id}", only.session_id)
    assert found.title == "calls of mcp: mcp"
    assert "+a = 3" in read.contents[0].text
    assert read.contents[0].mime_type == "text/markdown"


@pytest.mark.parametrize("uri", ["ai-rails://sessions/nosuch", "ai-rails://sessions/..", "file:///etc/passwd"])
def test_nothing_but_a_session_is_read_as_a_resource(project, uri):
    async def calls(client):
        with pytest.raises(MCPError, match="no such session"):
            await client.read_resource(uri)

    served(project, calls)


def test_a_server_that_nobody_calls_leaves_nothing(project):
    served(project, lambda client: client.list_tools())
    assert not (project / ".rails").exists()


# -- the program ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_program_on_standard_input_and_output(project, era):
    async def main():
        parameters = mcp.StdioServerParameters(
            command=PROGRAM, args=["mcp", "--project", str(project)], env=dict(os.environ)
        )
        async with mcp.Client(parameters, mode=era, elicitation_callback=Person(YES)) as client:
            return await client.call_tool("propose_changes", GOOD)

    assert text(asyncio.run(asyncio.wait_for(main(), 100))) == "Edited a.py"


@pytest.fixture
def http(project):
    """Start the program with --http; yields the process, its address and its token."""
    words = [PROGRAM, "mcp", "--http", "0", "--project", str(project)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    address = process.stdout.readline().strip()
    token = process.stdout.readline().split()[-1]
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=60)
        except urllib.error.HTTPError:
            break
        except OSError:
            time.sleep(0.05)
    yield process, address, token
    process.kill()
    process.wait()
    process.stdout.close()


def status(address, **headers):
    request = urllib.request.Request(address, data=b"{}", headers={"Content-Type": "application/json", **headers})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)
    refused.value.close()
    return refused.value.code


def test_http_answers_only_with_the_token_under_its_own_name_and_to_its_own_origin(http, project):
    process, address, token = http
    bearer = {"Authorization": f"Bearer {token}"}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", address)
    assert status(address) == 401
    assert status(address, Authorization="Bearer wrong") == 401
    assert status(address, **bearer, Host="evil.invalid") == 421
    assert status(address, **bearer, Origin="http://evil.invalid") == 403
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def main(era):
        async with httpx2.AsyncClient(headers=bearer, timeout=100) as web:
            transport = streamable_http_client(address, http_client=web)
            async with mcp.Client(transport, mode=era, elicitation_callback=Person(YES)) as client:
                return await client.call_tool("propose_changes", GOOD if era == "auto" else UNDO)

    assert text(asyncio.run(asyncio.wait_for(main("auto"), 100))) == "Edited a.py"
    assert text(asyncio.run(asyncio.wait_for(main("legacy"), 100))) == "Edited a.py"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert isinstance(events(project)[-1], WorkflowEnd)


def test_a_signal_before_the_loop_runs_ends_what_serves_and_closes_the_session(monkeypatch):
    run = asyncio.Runner.run
    closed = []

    def struck(self, main):
        signal.raise_signal(signal.SIGINT)
        return run(self, main)

    monkeypatch.setattr(asyncio.Runner, "run", struck)
    service = argparse.Namespace(close=lambda: closed.append("closed"))
    run_until_ended(service, lambda: asyncio.sleep(60))
    assert closed == ["closed"]


UNDO = {"edits": [{"file_path": "a.py", "old_string": "a = 3", "new_string": "a = 1"}]}


def test_without_the_sdk_the_line_that_installs_it_is_named(project, monkeypatch):
    for name in [one for one in sys.modules if one == "rails.integrations.mcp.server"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    with pytest.raises(UsageError, match=r"This needs mcp_types\. Install it: "):
        verb.run(argparse.Namespace(http=None, agent="coder", project=str(project)))


def test_nothing_else_imports_the_sdk():
    code = "import sys, rails.cli; rails.cli.main(['tools', 'list']); print([m for m in sys.modules if m[:3] == 'mcp'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
