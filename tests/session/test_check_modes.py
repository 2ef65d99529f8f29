"""How much it counts what an input lacks and what the overseer finds after a turn: the gate's settings say."""

import json

import pytest

from rails.core.errors import UsageError
from rails.core.outcomes import is_good
from rails.projections.progress import plan_of
from rails.projections.session import session_view
from rails.testing import ScriptedHuman

HEADINGS = "Title|Problem Statement|Solution Vision|Requirements|Proposed Implementation Plan|Open Questions"
PLAN = "\n\n".join(f"## {heading}\n\nSay two." for heading in HEADINGS.split("|"))
TWO = {"tasks": (("planning", "plan it"), ("coder", "do it")), "handoffs": "ask"}
OUTSIDE = (
    '```json\n{"type": "tool_request", "tool_name": "write_file", "explanation": "x", '
    '"parameters": {"file_path": "../out.txt", "content": "x"}}\n```\n'
)


def mode(check, word, more="", *, table="mode"):
    return f'[[{table}]]\ncheck = "{check}"\nmode = "{word}"\n{more}\n'


@pytest.fixture
def users(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path))
    return lambda text: (tmp_path / "gate.toml").write_text(text, "utf-8")


def spoils(project):
    """Return a person who shortens a plan before it is handed over."""

    def spoil(question):
        file = project / question.lines[1].strip()
        if file.read_text("utf-8").count("Say two.") > 1:
            file.write_text("# Title\n\nonly this\n", "utf-8")

    return spoil


def test_c12_13_an_input_that_lacks_something_goes_back_to_its_agent_and_is_then_the_humans(work, users):
    users(mode("input", "retry", 'agent = "coder"\nattempts = 1'))
    done = work(
        PLAN, PLAN + "\n", "Nothing to do.", **TWO, human=ScriptedHuman(["go", "go"], before=once(spoils(work.project)))
    )
    assert is_good(done.ending.outcome)
    again = done.model.asked[1].messages[0].text
    assert "Human/System Feedback: Your result was not handed on to coder" in again
    assert "has no heading 'Open Questions'" in again
    assert "only this" in again
    alert = done.events("OVERSEER_ALERT")[0]
    assert (alert["rule"], alert["mode"], alert["agent"]) == ("input", "retry", "coder")
    assert [facts["answer"] for facts in done.events("HUMAN_STEERED")] == ["back", "go"]
    assert [(step.agent, step.state) for step in plan_of(done.records)] == [
        ("planning", "done"), ("coder", "done"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="was not handed on"):
        work(PLAN, PLAN, "never asked", **TWO, human=ScriptedHuman(["go", "go"], before=spoils(work.project)))


def once(act):
    acts = [act]
    return lambda question: acts.pop()(question) if acts else None


def test_c12_13_an_advisory_input_is_handed_on_and_told_to_all(work, users):
    users(mode("input", "advisory", 'agent = "coder"'))
    done = work(PLAN, "Nothing to do.", **TWO, human=ScriptedHuman(["go"], before=spoils(work.project)))
    assert is_good(done.ending.outcome)
    assert "has no heading 'Open Questions'" in done.model.asked[1].messages[0].text
    assert done.events("OVERSEER_ALERT")[0]["mode"] == "advisory"


def test_c12_13_a_session_killed_on_the_way_back_goes_on_there(work, users):
    users(mode("input", "retry", 'agent = "coder"'))

    class Killed(BaseException):
        pass

    def kill(record):
        if record.details.get("answer") == "back":
            raise Killed

    with pytest.raises(Killed):
        work(PLAN, **TWO, human=ScriptedHuman(["go"], before=spoils(work.project)), watch=kill)
    done = work.resume(PLAN, "Nothing to do.", **TWO, human=ScriptedHuman(["go"]))
    assert is_good(done.ending.outcome)
    assert "was not handed on to coder" in done.model.asked[0].messages[0].text


def test_c12_13_a_turn_that_a_rule_finds_fault_with_goes_back_and_is_then_the_humans(work, users):
    users(mode("turn", "retry", 'rule = "forbidden places"\nattempts = 1'))
    more = OUTSIDE.replace("out.txt", "other.txt")
    done = work(OUTSIDE, more, "never asked", human=ScriptedHuman(), max_attempts=9)
    assert "Human/System Feedback: The check 'forbidden places' did not pass" in done.told[0]
    assert [alert["mode"] for alert in done.events("OVERSEER_ALERT")] == ["retry", "blocking"]
    assert "The monitor stopped the run" in done.ending.message
    told = json.dumps([turn.notes for turn in session_view(done.records).turns])
    assert "(forbidden places: retry)" in told


@pytest.mark.parametrize(("word", "outcome"), [("blocking", "gave_up"), ("advisory", "gave_up")])
def test_c12_13_a_warning_blocks_where_the_settings_say_so(work, users, word, outcome):
    users(mode("turn", word, 'rule = ["forbidden", "stalling"]'))
    done = work(OUTSIDE, "Then not.", human=ScriptedHuman())
    assert done.ending.outcome == outcome
    modes = [alert.get("mode") for alert in done.events("OVERSEER_ALERT")]
    assert modes == ["blocking" if word == "blocking" else None], "a warning is told only, without any setting"


def test_c12_13_what_is_critical_is_told_only_where_the_user_says_so_and_a_project_only_tightens(work, users):
    secret = "Use ghp_" + "a1B2" * 9
    loose = mode("turn", "advisory", 'rule = "credentials"', table="gate.mode")
    (work.project / ".rails.toml").write_text(loose, "utf-8")
    assert work(secret, human=ScriptedHuman()).ending.outcome == "gave_up"
    users(mode("turn", "advisory", 'rule = "credentials"'))
    done = work(secret, human=ScriptedHuman())
    assert done.ending.outcome != "gave_up"
    assert done.events("OVERSEER_ALERT")[0]["mode"] == "advisory"
    (work.project / ".rails.toml").write_text(loose.replace("advisory", "blocking"), "utf-8")
    assert work(secret, human=ScriptedHuman()).ending.outcome == "gave_up"


def test_c12_13_settings_that_cannot_be_read_make_everything_block_and_a_wrong_rule_is_named(work, users):
    users(mode("turn", "advisory", 'rule = "forbiden"'))
    with pytest.raises(UsageError, match=r"'forbiden'.*Nothing was started.*forbidden places"):
        work("never asked")
    users("[[mode\n")
    assert work(OUTSIDE, "never asked", human=ScriptedHuman()).ending.outcome == "gave_up"
    users(mode("input", "retry", 'path = "a"'))
    assert work(OUTSIDE, "never asked", human=ScriptedHuman()).ending.outcome == "gave_up"
