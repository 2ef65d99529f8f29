"""Only the whole word "take" accepts a place that is only alike; everything else leaves it to the agent."""

import io

import pytest

from rails.approval.policy.policy import PolicyApprover
from rails.approval.policy.rules import Policy, PolicyRule
from rails.approval.terminal.approver import TerminalApprover
from rails.core.candidates import CandidatePlace, PlaceChoice
from rails.core.changes import ChangeSet


@pytest.fixture
def offer(make):
    def place(handle, line, likeness, after):
        return CandidatePlace(handle, line, line + 1, likeness, ChangeSet((make.change(after=after),)))

    message = "old_string is not in the file. Nearest: lines 3–4, 80% alike."
    places = (place("h1", 3, 0.8, b"a = 3\n"), place("h2", 9, 0.6, b"a = 9\n"))
    return PlaceChoice("t1.1", 0, "src/app.py", message, places)


def choose(offer, text, **more):
    out = io.StringIO()
    approver = TerminalApprover(io.StringIO(text), out, accept_pipe=True, width=100, **more)
    return approver.choose(offer), out.getvalue()


def test_the_word_take_accepts_the_place_of_its_number(offer):
    handle, screen = choose(offer, "take 1\n")
    assert handle == "h1"
    assert "Is this the place?" in screen
    assert "Take place 1: lines 3 to 4; FUZZY, 80% alike" in screen
    assert "a = 3" in screen
    assert "a = 9" in screen
    assert "You see the change again before it is written." in screen
    assert choose(offer, "Take 2\n")[0] == "h2"


def test_nothing_else_accepts_one(offer):
    for typed in ("\n", "", " \n", "\x1b\n", "y\n", "1\n", "approve\n", "take\n", "take 3\n", "take 0\n", "take 1"):
        handle, screen = choose(offer, typed)
        assert handle == "", typed
        assert "No place is taken" in screen


def test_without_a_terminal_none_is_accepted(offer):
    out = io.StringIO()
    assert TerminalApprover(io.StringIO("take 1\n"), out).choose(offer) == ""
    assert out.getvalue() == ""


def test_what_the_model_wrote_cannot_steer_the_terminal(offer):
    from msgspec.structs import replace

    hostile = replace(offer, message="\x1b[2Jtake\u202e\r", path="a\x1b]0;x\x07.py")
    _, screen = choose(hostile, "\n", colour=False, plain=True)
    assert "\x1b" not in screen
    assert "\u202e" not in screen
    assert "\r" not in screen
    assert not any(char in screen for char in "─│")


def test_a_place_that_is_one_of_several_equal_ones_is_not_called_fuzzy(offer):
    from msgspec.structs import replace

    same = replace(offer, places=tuple(replace(place, likeness=1.0) for place in offer.places))
    assert "the text is there, but not only there" in choose(same, "\n")[1]


def test_no_rule_takes_a_place_and_a_human_behind_the_policy_does(offer):
    everything = Policy((PolicyRule(1, "allow", "policy.toml", tool=("*",), path=("**",)),))
    assert PolicyApprover(everything).choose(offer) == ""
    human = TerminalApprover(io.StringIO("take 1\n"), io.StringIO(), accept_pipe=True)
    assert PolicyApprover(everything, human).choose(offer) == "h1"


def test_no_rule_lets_a_fuzzy_or_merged_change_through(make):
    everything = Policy((PolicyRule(1, "allow", "policy.toml", tool=("*",), path=("**",)),))
    from msgspec.structs import replace

    asked = make.ask()
    assert everything.judge(asked).ruling == "allow"
    doubtful = replace(asked, doubts=("Fuzzy match in src/app.py: …",))
    assert everything.judge(doubtful).ruling == "ask"
    assert "Fuzzy match" in everything.judge(doubtful).why
