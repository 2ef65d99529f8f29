"""Before a rule is trusted, the past is asked: what would it have allowed, and had somebody said no to that?"""

import pytest

from rails.approval.policy.rules import Policy, PolicyRule
from rails.projections.session import session_view
from rails.review.reports.dry_run import dry_run, dry_run_as_text, rule_in_words
from tests.rows import walked

ALLOW_APP = PolicyRule(1, "allow", "policy.toml", path=("app.py",))
DENY_APP = PolicyRule(1, "deny", "policy.toml", path=("*.py",))


@pytest.fixture
def session(log):
    def session(answer="approve", reason="", *, by="human", status="pass", change=None, **asked):
        planned = ("CHANGE_PLANNED", {"changes": [{**log.CHANGE, **(change or {})}], "notes": []})
        question = log.asked()
        decision = log.decided(answer, reason)
        question[1].update(asked)
        decision[1]["by"] = by
        return session_view(log.records(log.call(1), log.answer(), planned, log.gate(status), question, decision))

    return session


def rulings(policy, *views):
    return [case.ruling for case in dry_run(policy, views).cases]


def test_past_questions_are_put_to_the_policy(session):
    assert rulings(Policy(), session()) == ["ask"]
    assert rulings(Policy((ALLOW_APP,)), session(), session("deny")) == ["allow", "allow"]
    assert rulings(Policy((DENY_APP,)), session()) == ["deny"]


def test_what_would_have_slipped_through_is_named(session):
    report = dry_run(Policy((ALLOW_APP,)), [session(), session("deny", "use argparse"), session("abort")])
    assert [case.answer for case in report.slipped] == ["deny", "abort"]
    assert dry_run_as_text(report).splitlines() == [
        "3 answered questions in 3 sessions: 3 allowed, 0 asked, 0 denied.",
        "2 would be allowed although they were denied:",
        "  20261121-230000-abcd, turn 1: app.py: deny (use argparse); rule 1",
        "  20261121-230000-abcd, turn 1: app.py: abort; rule 1",
    ]


def test_what_would_have_been_blocked_is_named(session):
    report = dry_run(Policy((DENY_APP,)), [session(), session("deny")])
    assert len(report.blocked) == 1
    assert "1 would be denied although they were approved:" in dry_run_as_text(report)


@walked("by", ["policy: rule 1", "grant 2", "headless", "timeout", "end of input", "error"])
def test_only_answers_of_people_count(session, by):
    assert dry_run(Policy(), [session(by=by)]).cases == ()


def test_a_script_counts_as_a_person_so_that_the_demo_has_a_past(session):
    assert len(dry_run(Policy(), [session(by="script")]).cases) == 1


def test_unanswered_questions_do_not_count(log):
    view = session_view(log.records(log.call(1), log.answer(), log.asked()))
    assert dry_run(Policy(), [view]).cases == ()


def test_the_past_is_read_the_careful_way(session):
    from rails.core.text import sha256

    policy = Policy((ALLOW_APP,))
    assert rulings(policy, session(change={"after_sha256": sha256(b"")})) == ["ask"]
    assert rulings(policy, session(change={"kind": "delete", "after_sha256": None})) == ["ask"]
    assert rulings(policy, session(change={"kind": "something new"})) == ["ask"]
    assert rulings(policy, session(status="fail")) == ["ask"]
    assert rulings(policy, session(kind="tool", tools=["run_tests"])) == ["ask"]
    clean = PolicyRule(1, "allow", "", path=("app.py",), clean=True)
    assert rulings(Policy((clean,)), session(), session(notes=["repaired"])) == ["allow", "ask"]


def test_the_size_of_a_change_is_read_from_its_diff(session):
    small = PolicyRule(1, "allow", "", path=("app.py",), max_lines=2)
    assert rulings(Policy((small,)), session()) == ["allow"]
    assert rulings(Policy((small,)), session(diff="--- a\n+++ b\n@@ -1 +1,3 @@\n-a\n+b\n+c\n+d")) == ["ask"]


def test_a_rule_is_told_in_one_sentence_before_it_is_given(session):
    assert rule_in_words(ALLOW_APP, [session(), session()]) == (
        "In 2 past sessions it would have answered 2 of 2 questions, none of which was denied."
    )
    assert rule_in_words(DENY_APP, [session()]) == "In 1 past session it would have answered 0 of 1 question."
    assert "1 of them were denied:\n  2026" in rule_in_words(ALLOW_APP, [session("deny", "no")])
