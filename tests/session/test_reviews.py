"""Review, fix, review: what a reviewer is handed, and what its verdict does to the session."""

import json

import pytest
from msgspec.structs import replace

from rails.agents.output import verdict_of
from rails.approval.terminal.scripted import ScriptedApprover
from tests.shipped import shipped_agents

WRONG = "leap.py\n```python\ndef leap(year):\n    return year % 4 == 0\n```\n"
RIGHT = WRONG.replace("year % 4 == 0", "year % 400 == 0 or (year % 4 == 0 and year % 100 != 0)")
REVIEW = "## Summary\n\nIt forgets centuries. {}\n\n## Findings\n\n- major, leap.py:2: 1900 is no leap year.\n"
HEADINGS = "Title|Problem Statement|Solution Vision|Requirements|Proposed Implementation Plan|Open Questions"
PLAN = "\n\n".join(f"## {heading}\n\nCenturies count." for heading in HEADINGS.split("|"))
TWO = (("coder", "Write leap.py."), ("code-review", "Review it."))
TEST = "from leap import leap\n\n\ndef test_leap():\n    assert leap(2000)\n"


def firsts(done):
    """The first messages that the agents got, in order."""
    return [asked.messages[0].text for asked in done.model.asked]


@pytest.fixture
def chain(work):
    def run(*answers, tasks=TWO, **more):
        return work(*answers, tasks=tasks, protocol="whole", approvals=["approve"] * 9, **more)

    run.project = work.project
    return run


def test_a_review_that_does_not_pass_goes_back_and_the_second_counts(chain):
    (chain.project / "test_leap.py").write_text(TEST, "utf-8")
    answers = (WRONG, REVIEW.format("NEEDS_REVISION"), RIGHT, REVIEW.format("PASS"))
    done = chain(*answers, tests="on", handed="The plan (p.md):\nCenturies count.")
    assert done.ending.outcome == "changed"
    assert "400" in (chain.project / "leap.py").read_text("utf-8")
    review, again, _ = firsts(done)[-3:]
    assert "+    return year % 4 == 0" in review, "the whole difference"
    assert "Centuries count." in review, "the plan"
    assert "tests: 1 passed" in review, "the tests' result"
    assert "code-review did not pass this work" in again
    assert "1900 is no leap year" in again
    assert "Centuries count." in again, "the coder still has its plan"


def test_the_work_goes_back_to_whoever_wrote_the_code_and_each_later_agent_works_again(chain):
    tests = f"test_leap.py\n```python\n{TEST}```\n"
    back = REVIEW.format("NEEDS_REVISION")
    more = tests.replace("2000", "1996")
    docs = "README.md\n```markdown\n# {}\n```\n"
    end = "## Repository Cleanup\n\nNone.\n"
    roles = ("planning", "coder", "unit-tester", "documentation", "code-review")
    answers = (PLAN, WRONG, tests, docs.format(1), end, back, RIGHT, more, docs.format(2), end, REVIEW.format("PASS"))
    done = chain(*answers, tasks=tuple((role, "Do it.") for role in roles))
    assert [one["agent"] for one in done.events("AGENT_ENGAGE")] == [*roles, *roles[1:]]
    review = firsts(done)[-1]
    assert review.count("+++ b/leap.py") == review.count("+++ b/test_leap.py") == 1
    assert "1996" in review
    assert "return year % 4 == 0" not in review
    assert "- leap.py (create)" in review
    assert "No tests were run since the last change." in review
    assert "> Result of the agent planning:" in review, "the plan, not the last agent's input"
    assert done.shown.count("sent back by code-review") == 3


class Person(ScriptedApprover):
    """Somebody at a keyboard, who approves."""

    attended = True

    def choose(self, choice):
        return ""


def test_tests_that_failed_on_a_change_which_a_person_let_through_are_told_as_failed(chain):
    (chain.project / "test_leap.py").write_text(TEST.replace("2000", "1999"), "utf-8")
    others = [WRONG.replace("4", n) for n in "57"]
    done = chain(WRONG, *others, REVIEW.format("PASS"), tests="on", approver=Person(["approve"]))
    assert "tests: 1 failed" in firsts(done)[-1]
    assert done.ending.outcome == "changed"


@pytest.mark.parametrize("most", [1, 2])
def test_a_review_that_never_passes_ends_the_session_as_rejected(chain, most):
    again = [one for text in (RIGHT, WRONG)[:most] for one in (REVIEW.format("FAIL"), text)]
    done = chain(WRONG, *again, REVIEW.format("FAIL"), max_reviews=most)
    assert done.ending.outcome == "rejected"
    assert len(done.model.asked) == 2 + 2 * most
    assert done.events("WORKFLOW_START")[0]["limits"].get("max_reviews", 2) == most


def test_a_review_without_a_verdict_is_asked_for_one_and_only_once(chain):
    done = chain(WRONG, REVIEW.format(""), REVIEW.format("PASS"))
    assert done.ending.outcome == "changed"
    assert "The answer has no verdict." in done.told[0]
    silent = chain(RIGHT, REVIEW.format(""), REVIEW.format("Hm."), "never asked")
    assert silent.ending.outcome == "gave_up"
    assert "2 failed attempts (verdict)" in silent.ending.message


def test_a_verdict_is_read_from_json_too_and_code_is_no_verdict(chain):
    fails = '## Summary\n\nNo.\n\n## Findings\n\n```json\n{"verdict": "FAIL"}\n```\n'
    assert chain(WRONG, fails, RIGHT, REVIEW.format("PASS")).model.asked[3:]
    code = "## Summary\n\nFine.\n\n## Findings\n\n```python\nprint('FAIL')\n```\n"
    assert "no verdict" in chain(WRONG.replace("4", "5"), code, REVIEW.format("PASS")).told[0]


def test_a_word_in_passing_is_no_verdict_and_what_a_schema_says_counts():
    review = replace(shipped_agents()["code-review"], gives_verdict=True)
    for text, verdict in (
        ("I cannot PASS this.", ""),
        ("PASS. No test will FAIL because of it.", "PASS"),
        ("**Verdict:** NEEDS_REVISION", "NEEDS_REVISION"),
        ("All is well. My verdict is PASS", "PASS"),
        ("PASS / NEEDS_REVISION / FAIL", ""),
        ("Verdict: one of **PASS**, **NEEDS_REVISION** or **FAIL**", ""),
        ("Verdict (PASS, NEEDS_REVISION or FAIL): FAIL", "FAIL"),
    ):
        assert verdict_of(review, text) == verdict, text
    value = {"failed_tests": [], "quality_checks": {}, "test_results": {"failed": 2}, "human_review": {}}
    text = f"PASS for style.\n\n```json\n{json.dumps(value)}\n```\n"
    assert verdict_of(replace(review, schema={}), text) == "PASS", "an empty schema says nothing"
    assert verdict_of(replace(review, schema={"type": "object"}), text) == "FAIL"


def test_a_contract_that_is_met_counts_although_another_call_was_refused(work):
    asked = '```json\n{"type": "tool_request", "tool_name": "write_file", "parameters": {}, "explanation": ""}\n```\n'
    done = work(asked, PLAN, tasks=(("planning", "Plan it."),))
    assert (done.ending.outcome, done.ending.message) == ("answered", PLAN)
    again = work(asked, REVIEW.format("FAIL"), tasks=(("code-review", "Review it."),))
    assert again.ending.outcome == "rejected"
