"""The demo's answers come from a list and end with a no."""

import pytest

from rails.approval.decision import Decision
from rails.approval.terminal.scripted import ScriptedApprover
from rails.core.errors import UsageError


def test_each_request_is_shown_and_answered_in_order(make):
    shown = []
    approver = ScriptedApprover(["deny: use argparse", "approve", "abort"], shown.append)
    asked = [make.ask() for _ in range(3)]
    answers = [approver.decide(one) for one in asked]
    assert [(a.answer, a.reason, a.by) for a in answers] == [
        ("deny", "use argparse", "script"),
        ("approve", "", "script"),
        ("abort", "", "script"),
    ]
    assert shown == asked


def test_an_exhausted_script_never_approves(make):
    approver = ScriptedApprover(["approve"])
    approver.decide(make.ask())
    assert approver.remaining == 0
    assert {approver.decide(make.ask()).answer for _ in range(3)} == {"deny"}


def test_an_answer_that_is_none_of_the_three_is_refused_when_the_script_is_made():
    for text in ["", "yes", "y", "Approve", "approved", "approve all", "a"]:
        with pytest.raises(UsageError, match="is not an answer"):
            ScriptedApprover([text])


def test_decisions_are_taken_over_as_the_scripts_own(make):
    approver = ScriptedApprover([Decision("deny", "no", "human")])
    assert approver.decide(make.ask()).by == "script"
