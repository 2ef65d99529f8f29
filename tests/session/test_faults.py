"""A fault of ours at any stage of a turn is an outcome: logged, told to both sides; the session goes on or resumes."""

import io
import json
import threading

import pytest
from _pytest.monkeypatch import resolve

from rails.commands.live import ProgressScreen
from rails.core.errors import ModelError
from rails.core.events.session import ErrorEvent
from rails.core.outcomes import MEANINGS, is_good
from rails.gate.support import executed_config
from rails.log.reader import verify
from rails.projections.event_stream import EventStream

SECRET_WORD = "injected-4711"


def request(tool, **parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def definition(name, transport):
    return {
        "tool_name": name,
        "description": "A tool of the test.",
        "request_schema": {
            "type": "object",
            "properties": {"line": {"type": "string", "description": "What to say."}},
            "required": ["line"],
            "additionalProperties": False,
        },
        "transport": transport,
        "access_control": {"coder": "permissioned_access"},
    }


TOOLS = {
    "note": {"type": "command", "command": ["sh", "-c", 'echo "$0" >> notes.txt', "{line}"]},
    "call": {"type": "http", "method": "GET", "url": "http://127.0.0.1:9/{line}"},
    "ask": {"type": "mcp-stdio", "command": ["sh", "-c", "exit 1"], "tool": "ask"},
}
EDIT = request("read_file", file_path="a.txt") + request("write_file", file_path="b.txt", content="new\n")
CHANGE = request("edit_file", file_path="a.txt", old_string="one", new_string="two")
PYTHON = request("write_file", file_path="b.py", content="X = 1\n")
RUN = request("note", line="x")

# What is broken, and the answer whose way leads there.
STAGES = [
    ("rails.session.tool_calls.AnswerParser.feed", EDIT),
    ("rails.session.tool_calls.AnswerParser.flush", EDIT),
    ("rails.session.turn.validate_all", EDIT),
    ("rails.session.tool_calls._judge", EDIT),
    ("rails.tools.validate.validate", EDIT),
    ("rails.session.tool_runs.feedback.result", EDIT),
    ("rails.session.turn.compose", EDIT),
    ("rails.agents.output.check_output", "What I found."),
    ("rails.session.tool_runs.dispatch.run_request", EDIT),
    ("rails.tools.runners.files.run_builtin_tool", EDIT),
    ("rails.tools.runners.command.run_command_tool", RUN),
    ("rails.tools.runners.http.run_http_tool", request("call", line="x")),
    ("rails.tools.runners.mcp.run_mcp_tool", request("ask", line="x")),
    ("rails.session.turn_context.TurnContext.echo", EDIT),
    ("rails.session.proposal.plan", EDIT),
    ("rails.approval.decision.change_risks", EDIT),
    ("rails.session.proposal.ask_permit", EDIT),
    ("rails.session.ask_approval.still_valid", EDIT),
    ("rails.session.tool_runs.approval_request_for", RUN),
    ("rails.approval.terminal.scripted.ScriptedApprover.decide", EDIT),
    ("rails.session.proposal.apply", EDIT),
    ("rails.edits.apply.journals.encode_journal", EDIT),
    ("rails.edits.apply._prepare", EDIT),
    ("rails.edits.apply._swap", CHANGE),
    ("rails.edits.checkpoint_store.CheckpointStore.record", EDIT),
    ("rails.session.proposal.feedback.applied", EDIT),
    ("rails.gate.gate.Gate.judge", PYTHON),
    ("rails.gate.gate.change_summaries", PYTHON),
    ("rails.session.monitor.Monitor.look", EDIT),
    ("rails.session.budget.SessionBudget.use", EDIT),
]


def break_once(monkeypatch, target, *, times=1):
    """Let a function raise when the session first calls it, and do its work from then on; return its calls."""
    real = resolve(target)
    calls = []

    def broken(*args, **kwargs):
        if threading.current_thread() is threading.main_thread():
            calls.append(1)
            if len(calls) <= times:
                raise RuntimeError(SECRET_WORD)
        return real(*args, **kwargs)

    monkeypatch.setattr(target, broken)
    return calls


@pytest.fixture
def project(work):
    (work.project / "a.txt").write_text("one\n", "utf-8")
    (work.project / "mcp_definitions").mkdir()
    for name, transport in TOOLS.items():
        text = json.dumps(definition(name, transport))
        (work.project / "mcp_definitions" / f"{name}.json").write_text(text, "utf-8")
    return work


def faults_of(done):
    return [one.event for one in done.records if isinstance(one.event, ErrorEvent) and one.event.trace]


@pytest.mark.parametrize(("target", "answer"), STAGES, ids=[target for target, _ in STAGES])
def test_a_fault_at_any_stage_is_logged_told_neutrally_and_leaves_the_session_going(
    project, monkeypatch, target, answer
):
    calls = break_once(monkeypatch, target)
    yes = ["approve"] * 9
    done = project(answer, answer, "Done.", "Done.", approvals=yes)
    assert calls, "the answer leads there"
    if done.ending.outcome == "internal_error":
        done = project.resume(answer, "Done.", "Done.", approvals=yes)
    assert done.ending.outcome in MEANINGS
    (fault, *_) = faults_of(done)
    assert SECRET_WORD in fault.trace
    assert "Traceback" in fault.trace
    assert not any(SECRET_WORD in text or "Traceback" in text for text in done.told)
    (log,) = project.project.glob(".rails/sessions/*/log.jsonl")
    assert verify(log)
    if answer is EDIT:
        assert (project.project / "b.txt").read_text("utf-8") == "new\n"


@pytest.mark.parametrize(("target", "answer"), [STAGES[n] for n in (1, 3, 10, 23, 28)])
def test_a_session_that_ends_right_after_a_fault_is_resumed(project, monkeypatch, target, answer):
    with monkeypatch.context() as patch:
        break_once(patch, target)
        project(answer, answer, "Done.", approvals=["approve"] * 9)
    (log,) = project.project.glob(".rails/sessions/*/log.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    (at, *_) = [n for n, line in enumerate(lines) if b'"trace":"Traceback' in line]
    log.write_bytes(b"".join(lines[: at + 1]))
    done = project.resume("Done.", "Done.", approvals=["approve"] * 9)
    assert done.ending.outcome in MEANINGS


@pytest.mark.parametrize(
    "name", ["data", "javascript", "markdown", "markup", "n8n", "notebook", "python", "schemas", "shell", "text"]
)
def test_a_check_that_breaks_is_never_a_pass(project, monkeypatch, name):
    files = {
        "data": ("b.json", "{}\n"),
        "n8n": ("b.json", '{"nodes": [], "connections": {}}\n'),
        "javascript": ("b.js", "const a = 1;\n"),
        "markdown": ("b.md", "# B\n"),
        "python": ("b.py", "X = 1\n"),
        "markup": ("b.css", "a {}\n"),
        "text": ("b.kt", "package b\n"),
        "shell": ("b.sh", "echo hi\n"),
        "notebook": ("b.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'),
        "schemas": ("b.json", '{"$schema": "http://json-schema.org/draft-07/schema#"}\n'),
    }
    within = {"n8n": "n8n.plugin.check_workflow", "schemas": "gate.kinds.data.findings_of_schema"}
    place = f"rails.{within.get(name, f'gate.kinds.{name}.run_check')}"
    calls = break_once(monkeypatch, place, times=9)
    path, content = files[name]
    done = project(request("write_file", file_path=path, content=content), "Done.", approvals=["approve"])
    verdict = next(one for one in done.events("GATE_VERDICT"))
    assert calls
    assert verdict["status"] == "error"
    assert any("crashed" in miss["reason"] for miss in verdict["not_checked"])
    assert is_good(done.ending.outcome)


def test_a_command_of_the_project_as_a_check_that_breaks_is_never_a_pass(project, monkeypatch):
    own = b'[[gate.command]]\nname = "words"\nrun = ["true"]\n'
    (project.project / ".rails.toml").write_bytes(own)
    executed_config.agree(project.project, own)
    calls = break_once(monkeypatch, "rails.gate.command_checks.findings_of_command", times=9)
    done = project(EDIT, "Done.", approvals=["approve"])
    assert calls
    (miss,) = [one for one in done.events("GATE_VERDICT")[0]["not_checked"] if one["check"] == "words"]
    assert miss["required"]
    assert "crashed" in miss["reason"]


def test_an_outline_that_breaks_says_so_and_keeps_the_verdict_from_nobody(project, monkeypatch):
    calls = break_once(monkeypatch, "rails.n8n.plugin.workflow_summary", times=9)
    flow = request("write_file", file_path="b.json", content='{"nodes": [], "connections": {}}\n')
    done = project(flow, "Done.", approvals=["approve"])
    assert calls
    assert is_good(done.ending.outcome)
    (verdict,) = done.events("GATE_VERDICT")
    assert "no outline could be made" in verdict["outlines"][0]["title"]
    assert faults_of(done) == []


class BrokenStream(io.StringIO):
    """A screen that breaks at a certain write."""

    def __init__(self, at):
        super().__init__()
        self.left = at

    def write(self, text):
        self.left -= 1
        if self.left == 0:
            raise UnicodeEncodeError("ascii", text, 0, 1, SECRET_WORD)
        return super().write(text)


@pytest.mark.parametrize("at", [1, 3, 8])
@pytest.mark.parametrize("renderer", ["screen", "jsonl", "sse"])
def test_a_renderer_that_breaks_ends_nothing(project, renderer, at):
    out = BrokenStream(at)
    watch = ProgressScreen(out) if renderer == "screen" else EventStream(out, renderer)
    done = project(EDIT, "Done.", approvals=["approve"], watch=watch)
    assert is_good(done.ending.outcome)
    assert len(faults_of(done)) == 1
    assert (project.project / "b.txt").read_text("utf-8") == "new\n"


def test_what_pauses_a_session_by_design_is_no_fault(project):
    done = project(ModelError("no key"))
    assert done.ending.outcome == "model_failed"
    assert faults_of(done) == []


def test_a_fault_is_a_failure_with_a_budget_of_its_own(project, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError(SECRET_WORD)

    monkeypatch.setattr("rails.session.proposal.apply", broken)
    answers = [request("write_file", file_path=f"b{n}.txt", content="new\n") for n in range(9)]
    done = project(*answers, approvals=["approve"] * 9)
    assert done.ending.outcome == "gave_up"
    assert "internal" in done.ending.message
