"""An agent's commands: contained, one question a session; elsewhere, one each time; without anything, they are off."""

import json

import pytest

from rails.core.outcomes import is_good
from rails.sandbox import probe
from rails.sandbox.values import NONE, Label
from rails.session.session_sandbox import SENTENCE
from rails.testing.human import ScriptedHuman


def call(line):
    body = {"type": "tool_request", "tool_name": "run_command", "parameters": {"command": line}, "explanation": "why"}
    return f"```json\n{json.dumps(body)}\n```\n"


TESTS = call("").replace('"run_command"', '"run_tests"').replace('{"command": ""}', "{}")


@pytest.fixture
def at(monkeypatch):
    """Return a function that makes this machine one of some level; it skips where that cannot be had."""

    def choose(level):
        found = Label(NONE, why="a test says so") if level == NONE else probe.at_level(level)
        if found.level != level:
            pytest.skip(found.why)
        monkeypatch.setattr(probe, "label", lambda **_: found)
        return found

    return choose


@pytest.mark.parametrize("level", [3, 2])
def test_a_yes_is_for_one_command_also_where_it_is_contained(work, at, level):
    label = at(level)
    done = work(
        call("echo first > kept.cache"), call("cat kept.cache; echo second"), TESTS, "Done.", approvals=["approve"] * 4
    )
    assert is_good(done.ending.outcome)
    results = [facts["text"].split("\n")[0] for facts in done.events("TOOL_EXECUTION_RESULT")]
    said = [text for text in results if text.startswith("run_command: ")]
    assert said == ["run_command: exit code 0"] * 2
    # One for each command, and one for the file that the first of them wrote.
    asked = done.events("APPROVAL_REQUESTED")
    assert len(asked) == 4
    assert "It runs nothing: no tests are known." in asked[-1]["notes"]
    assert done.events("SANDBOX")[0]["label"] == str(label)


def test_each_command_is_a_question_where_not_everything_is_contained(work, at):
    assert not at(1).contained
    done = work(call("echo one"), call("echo two"), "Done.", approvals=["approve"] * 2)
    assert len(done.events("APPROVAL_REQUESTED")) == 2
    denied = work(call("echo one"), call("echo two"), "Done.", approvals=["approve", "deny: enough"])
    assert [facts["ok"] for facts in denied.events("TOOL_EXECUTION_RESULT")] == [True]


@pytest.mark.parametrize("typed", ["no", "yes", "approve", SENTENCE.upper(), f"{SENTENCE} please", ""])
def test_without_anything_a_command_is_off_whatever_else_is_typed(work, at, typed):
    at(NONE)
    human = ScriptedHuman([typed] * 2)
    done = work(call("touch ran"), TESTS, "Done.", approvals=["approve"] * 4, human=human)
    assert not (work.project / "ran").exists()
    assert not done.events("TOOL_EXECUTION_RESULT")
    assert not done.events("APPROVAL_REQUESTED")
    assert "Only the user can switch it on" in done.told[0]
    assert human.asked[0].sentence == SENTENCE
    assert SENTENCE in "\n".join(human.asked[0].lines)


def test_without_anything_and_nobody_there_a_command_is_off(work, at):
    at(NONE)
    done = work(call("touch ran"), "Done.", approvals=["approve"] * 2)
    assert not done.events("TOOL_EXECUTION_RESULT")


def test_the_sentence_is_for_one_session_and_each_command_is_asked_about(work, at):
    at(NONE)
    human = ScriptedHuman([SENTENCE])
    done = work(call("echo one"), call("echo two"), "Done.", approvals=["approve"] * 2, human=human)
    assert [question.about for question in human.asked] == ["uncontained"]
    assert len(done.events("APPROVAL_REQUESTED")) == 2
    assert [facts["ok"] for facts in done.events("TOOL_EXECUTION_RESULT")] == [True, True]
    other = ScriptedHuman(["no"])
    again = work(call("echo three"), "Done.", approvals=["approve"], human=other)
    assert [question.about for question in other.asked] == ["uncontained"]
    assert not again.events("TOOL_EXECUTION_RESULT")
