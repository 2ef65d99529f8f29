"""Whatever is thrown or returned at any stage of a turn, a run ends in progress or one clear failure, and resumes."""

import errno
import itertools
import json
import time

import pytest
from _pytest.monkeypatch import resolve

from rails.approval.decision import Decision
from rails.approval.policy.policy import Policy, PolicyApprover
from rails.approval.queue import ApprovalQueue
from rails.core.conversation import Message, ModelAnswer, NativeCall, TextDelta, TextPart, Usage
from rails.core.outcomes import MEANINGS, is_good
from rails.log.reader import verify
from rails.models.model import Model
from rails.session.job import PAUSED


def request(tool, **parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


EDIT = request("read_file", file_path="a.txt") + request("write_file", file_path="b.txt", content="new\n")
PYTHON = request("write_file", file_path="b.py", content="import os\nx = 1\n")
SEARCH = request("search_files", pattern="one") + EDIT
YES = ["approve"] * 9


def oserror(code):
    return lambda: OSError(code, "injected")


FULL = oserror(errno.ENOSPC)
BROKEN = oserror(errno.EIO)


def unicode_error():
    return UnicodeDecodeError("utf-8", b"\xff", 0, 1, "injected")


def key_error():
    return KeyError("injected")


# Where it is thrown (module and name), what, and the answer whose way leads there.
THROWN = [
    ("rails.session.turn_context.TurnContext.publish", MemoryError, EDIT),
    ("rails.session.tool_calls.AnswerParser.feed", RecursionError, EDIT),
    ("rails.session.turn.feedback.without_secrets", unicode_error, EDIT),
    ("rails.session.proposal.apply", FULL, EDIT),
    ("rails.session.proposal.ask_permit", BROKEN, EDIT),
    ("rails.gate.kinds.python.run_check", SystemExit, PYTHON),
    ("rails.tools.runners.files.run_builtin_tool", SystemExit, SEARCH),
    ("rails.session.open_session.full", unicode_error, EDIT),
]


def thrown_once(monkeypatch, target, make, *, after=0):
    """Let a function raise once, when it was called ``after`` times; return its calls."""
    real = resolve(target)
    calls = itertools.count()
    seen = []

    def broken(*args, **kwargs):
        seen.append(1)
        if next(calls) == after:
            raise make()
        return real(*args, **kwargs)

    monkeypatch.setattr(target, broken)
    return seen


@pytest.fixture
def project(work):
    (work.project / "a.txt").write_text("one\n", "utf-8")
    return work


def assert_whole(project):
    for log in project.project.glob(".rails/sessions/*/log.jsonl"):
        assert verify(log)
    for name in ("b.txt", "b.py"):
        found = project.project / name
        assert not found.exists() or found.read_text("utf-8") in ("new\n", "x = 1\n", "import os\nx = 1\n"), name
    assert not list(project.project.glob("**/*.ai-rails*"))


def finish(project, done, answer):
    """Go on where a run paused; it ends within three goes."""
    for _ in range(3):
        assert_whole(project)
        if done.ending.outcome not in (*PAUSED, "internal_error"):
            return done
        assert done.ending.message
        done = project.resume(answer, "Done.", "Done.", approvals=YES)
    return done


@pytest.mark.parametrize(("target", "make", "answer"), THROWN, ids=[f"{t.split('.', 2)[2]}" for t, _, _ in THROWN])
def test_whatever_is_thrown_the_run_goes_on_or_resumes(project, monkeypatch, target, make, answer):
    seen = thrown_once(monkeypatch, target, make)
    done = project(answer, answer, "Done.", "Done.", approvals=YES)
    assert seen
    assert finish(project, done, answer).ending.outcome in MEANINGS


NONSENSE = [None, 42, "text", b"bytes", (), {"a": 1}, object(), iter(())]
RETURNED = [
    ("rails.gate.gate.Gate.judge", PYTHON),
    ("rails.gate.kinds.python.run_check", PYTHON),
    ("rails.session.proposal.plan", EDIT),
    ("rails.session.turn.validate_all", EDIT),
    ("rails.tools.runners.files.run_builtin_tool", EDIT),
    ("rails.session.monitor.Monitor.look", EDIT),
    ("rails.session.proposal.apply", EDIT),
    ("rails.session.tool_calls.AnswerParser.flush", EDIT),
]


@pytest.mark.parametrize("target", [t for t, _ in RETURNED], ids=lambda t: t.rpartition(".")[2])
def test_whatever_is_returned_the_run_goes_on_or_resumes(project, monkeypatch, target):
    answer = dict(RETURNED)[target]
    real = resolve(target)
    wrong = iter(NONSENSE)

    def nonsense(*args, **kwargs):
        try:
            return next(wrong)
        except StopIteration:
            return real(*args, **kwargs)

    monkeypatch.setattr(target, nonsense)
    for _ in NONSENSE:
        done = project(answer, "Done.", "Done.", approvals=YES)
        assert done.ending.outcome in {*MEANINGS, "internal_error"}, done.ending
        assert_whole(project)
        for name in ("b.txt", "b.py"):
            (project.project / name).unlink(missing_ok=True)


class Answering:
    """An approver that says whatever it was given."""

    attended = False

    def __init__(self, said):
        self.said = said

    def decide(self, _request):
        if isinstance(self.said, Exception):
            raise self.said
        return self.said

    choose = decide


@pytest.mark.parametrize("kind", ["plain", "policy", "queue"])
@pytest.mark.parametrize(
    "said",
    [None, object(), "approve", RuntimeError(), Decision("approve", "", "x", of="0" * 64), Decision("yes", "", "x")],
)
def test_what_an_approver_says_that_is_no_decision_is_no_yes(project, kind, said):
    queue = ApprovalQueue()
    queue.here = Answering(said)
    approver = {"plain": queue.here, "policy": PolicyApprover(Policy(), queue.here), "queue": queue}[kind]
    done = project(EDIT, "Done.", "Done.", approver=approver)
    assert not (project.project / "b.txt").exists()
    assert done.ending.outcome in {*MEANINGS, *PAUSED} - {"changed", "rejected", "dry_run"}, done.ending
    assert_whole(project)


def answer_of(message, stop="end_turn"):
    return ModelAnswer(message, stop, Usage(), "strange")


class Strange(Model):
    """A model's wrapper whose stream is what it was given."""

    name = "strange"

    def __init__(self, streamed):
        self.streamed = streamed

    def stream(self, *, system, messages, tools):
        return self.streamed() if callable(self.streamed) else self.streamed


def raising(error):
    def stream():
        yield TextDelta("a")
        raise error

    return stream


STREAMS = {
    "none": None,
    "no answer": [TextDelta("words")],
    "text delta of none": [TextDelta(None)],
    "lone surrogate": [TextDelta("\ud800"), answer_of(Message("assistant", (TextPart("\ud800"),)))],
    "answer without a message": [answer_of(None)],
    "a part of none": [answer_of(Message("assistant", (None,)))],
    "call with a dict": [answer_of(Message("assistant", (NativeCall("c", "read_file", {"a": 1}),)), "tool_use")],
    "two calls with one id": [answer_of(Message("assistant", (NativeCall("c", "read_file", "{}"),) * 2), "tool_use")],
    "unknown stop": [answer_of(Message("assistant", (TextPart("x"),)), "surprise")],
    "usage of none": [ModelAnswer(Message("assistant", (TextPart("x"),)), "end_turn", None, "m")],
    "usage without end": [
        ModelAnswer(Message("assistant", (TextPart("x"),)), "end_turn", Usage(float("nan"), float("inf")), "m")
    ],
    "answer after the answer": [answer_of(Message("assistant", (TextPart("x"),))), TextDelta("more")],
    "MemoryError": raising(MemoryError()),
    "ConnectionResetError": raising(ConnectionResetError()),
    "SystemExit": raising(SystemExit(3)),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_model_whose_wrapper_breaks_the_protocol_pauses_or_goes_on(project, monkeypatch, kind):
    model = Strange(STREAMS[kind])
    monkeypatch.setattr("rails.testing.model.ScriptedModel.stream", lambda self, **given: model.stream(**given))
    done = project("x", "x", "x")
    assert done.ending.outcome in {*MEANINGS, *PAUSED}, done.ending
    assert done.ending.message
    assert_whole(project)
    monkeypatch.undo()
    if done.ending.outcome in (*PAUSED, "internal_error"):
        assert project.resume("Done.", "Done.").ending.outcome in MEANINGS


@pytest.mark.parametrize("clock", ["backwards", "still", "leaping"])
def test_a_clock_that_is_wrong_ends_nothing(project, monkeypatch, clock):
    step = {"backwards": -30.0, "still": 0.0, "leaping": 3600.0}[clock]
    now = itertools.count(1)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + step * next(now))
    done = project(EDIT, "Done.", approvals=YES)
    assert is_good(done.ending.outcome)
    assert (project.project / "b.txt").read_text("utf-8") == "new\n"
    assert_whole(project)


@pytest.mark.parametrize("make", [FileNotFoundError, PermissionError, oserror(errno.EAGAIN)])
def test_a_program_that_cannot_be_started_is_told(project, monkeypatch, make):
    def refusing(*_args, **_kwargs):
        raise make()

    monkeypatch.setattr("subprocess.Popen.__init__", refusing)
    done = project(PYTHON, EDIT, "Done.", approvals=YES)
    monkeypatch.undo()
    assert done.ending.outcome in {*MEANINGS, "internal_error"}, done.ending
    verdicts = [one["status"] for one in done.events("GATE_VERDICT")]
    assert "pass" not in verdicts[:1] or not (project.project / "b.py").exists()
    assert_whole(project)


def test_a_fault_while_a_session_is_opened_pauses_it_and_one_while_it_is_closed_changes_nothing(project, monkeypatch):
    with monkeypatch.context() as patch:
        thrown_once(patch, "rails.session.open_session.recover", key_error)
        assert project(EDIT, "Done.", approvals=YES).ending.outcome == "internal_error"
    with monkeypatch.context() as patch:
        thrown_once(patch, "rails.session.session_sandbox.ContainedRuns.close", RuntimeError)
        done = project.resume(EDIT, "Done.", approvals=YES)
    assert is_good(done.ending.outcome)
    assert any("session was closed" in record.message for record in done.records)
    assert_whole(project)
