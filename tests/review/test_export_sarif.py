"""A session's findings as SARIF, with their history: what is left, what was corrected, and what a human let through."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.cli import main
from rails.review.reports.sarif import to_sarif


def run_of(records):
    document = json.loads(to_sarif(records))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    return run


def test_what_a_later_attempt_no_longer_has_is_absent(log):
    run = run_of(log.demo())
    (result,) = run["results"]
    assert (result["ruleId"], result["baselineState"], result["occurrenceCount"]) == ("F401", "absent", 1)
    assert result["properties"] == {"agent": "coder", "firstRecord": 13, "written": False}
    assert "suppressions" not in result
    assert run["automationDetails"]["id"].startswith("ai-rails/20261121-")
    assert run["invocations"][0]["startTimeUtc"] < run["invocations"][0]["endTimeUtc"]


def test_a_finding_that_stays_is_one_result_however_often_it_was_found(log):
    moved = {**log.FINDING, "line": 9}
    events = [log.call(1), log.answer(), log.gate("fail", [log.FINDING]), log.gate("fail", [moved])]
    (result,) = run_of(log.records(*events))["results"]
    assert (result["baselineState"], result["occurrenceCount"]) == ("new", 2)
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 9


def test_what_was_approved_in_spite_of_a_finding_is_a_suppression_with_its_reason(log):
    events = [log.call(1), log.gate("fail", [log.FINDING]), log.asked(), log.decided("approve", "a false alarm")]
    (result,) = run_of(log.records(*events))["results"]
    (suppression,) = result["suppressions"]
    assert (suppression["kind"], suppression["status"]) == ("external", "accepted")
    assert result["properties"]["written"] is True
    denied = [*events[:3], log.decided("deny", "no")]
    assert "suppressions" not in run_of(log.records(*denied))["results"][0]


def test_one_agents_verdict_does_not_correct_another_agents_finding(log):
    kind, details = log.gate("pass")
    events = [log.gate("fail", [log.FINDING]), (kind, {**details, "agent_role": "tester"})]
    assert run_of(log.records(*events))["results"][0]["baselineState"] == "new"


def test_old_findings_are_left_out_and_what_was_not_checked_is_said(log):
    kind, details = log.gate("pass", [{**log.FINDING, "new": False}])
    details["not_checked"] = [{"path": "a.css", "check": "css", "reason": "no check for it", "required": False}]
    run = run_of(log.records((kind, details)))
    assert run["results"] == []
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (note["level"], "no check for it" in note["message"]["text"]) == ("note", True)


@given(st.dictionaries(st.sampled_from(["findings", "checks", "not_checked", "status"]), st.one_of(
    st.text(max_size=5), st.lists(st.dictionaries(st.sampled_from(["path", "rule", "line", "severity", "new"]),
    st.one_of(st.text(max_size=5), st.integers(), st.booleans()))))))  # fmt: skip
def test_no_record_however_odd_breaks_the_export(details):
    from rails.core.events.record import Record

    record = Record(1, "2026-11-21T23:00:00.000000Z", "s", "a", "m", "GATE_VERDICT", "gate", details, "", "")
    json.loads(to_sarif([record]))


def test_the_command_exports_it_and_the_page(tmp_path, stories, capsys):
    stories.hard(tmp_path / ".rails")
    words = ["log", "export", "--project", str(tmp_path), "--format"]
    assert main([*words, "sarif"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"][0]["results"]) == 4
    assert main([*words, "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert main([*words, "pdf"]) == 2
    assert "html, markdown" in capsys.readouterr().err
