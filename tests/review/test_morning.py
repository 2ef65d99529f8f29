"""The morning's report over a night of sessions with every outcome, as text, JSON and a page."""

import json

import pytest

from rails.cli import main
from rails.core.events.base import UnknownEvent
from rails.log.session_stats import lines_by_file
from rails.log.summaries import Summaries
from rails.log.writer import SessionLog
from rails.review.reports.sessions import chosen
from rails.review.session_list import SessionList
from tests.rows import walked

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n-a = 1\n+a = 2\n+b = 3\n c\n"
DIFF += "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
CHANGES = [{"path": path, "kind": "modify", "before_sha256": "a", "after_sha256": "b"} for path in ("app.py", "new.py")]
#: What each session of the night came to, and what the page may call it.
NIGHT = {
    "changed": "",
    "answered": "",
    "unchanged": "",
    "asked": "asked",
    "claimed": "claimed",
    "rejected": "rejected",
    "gave_up": "gave_up",
    "stopped": "",
    "error": "error",
    "dry_run": "",
    "done": "",
    "nothing_done": "gave_up",
    "unanswered": "waiting",
    "model_failed": "error",
}


def night(state, outcome, *, tested=False, question=False, denied="", name="new.txt"):
    """Write a session that wrote two files, unless it only asks or was denied."""
    session = f"20261126-0100-{outcome or 'open'}{denied}{'-w' * question}"
    there = (state / "sessions" / session).exists()
    with SessionLog.reopen(state, session) if there else SessionLog.create(state, session_id=session) as log:

        def say(kind, /, **details):
            log.append(UnknownEvent(kind, kind.lower(), details), "tester" if denied else "coder", "m")

        say("WORKFLOW_START", task=f"task of {outcome}")
        say("LLM_CALL", turn=1)
        say("LLM_RESPONSE", text="x", usage={"input_tokens": 100, "output_tokens": 20})
        say("GATE_VERDICT", status="pass", findings=[], diff=DIFF)
        if denied:
            call = {"tool_name": "write_file", "parameters": {"file_path": name, "content": "x\n"}}
            say("MCP_REQUEST_FORMULATED", id="1", dialect="s0", start=0, end=9, repairs=[], explanation="y", **call)
            say("HUMAN_DECISION", id="1", answer="deny", by=denied, seconds=0.0)
        elif question:
            say("APPROVAL_OPENED", id="1", kind="changes")
        else:
            say("HUMAN_DECISION", id="1", answer="approve", by="human", seconds=1.0)
            say("TOOL_EXECUTION_RESULT", ok=True, changes=CHANGES, duration_ms=1.0)
        if tested:
            say("TOOL_EXECUTION_RESULT", ok=True, tool="run_tests", duration_ms=1.0)
        if outcome:
            say("WORKFLOW_END", outcome=outcome)
    return log


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / ".rails"


def needs_of(state):
    value = SessionList(state).morning("").value
    return {row["session_id"].removeprefix("20261126-0100-"): row["why"] for row in value["needs_you"]}


def test_every_outcome_of_a_night_is_named_rightly_and_what_waits_comes_first(state):
    for outcome in NIGHT:
        night(state, outcome)
    night(state, "", question=True)
    night(state, "gave_up", denied="headless")
    night(state, "gave_up", denied="human")
    expected = {outcome: need for outcome, need in NIGHT.items() if need}
    expected |= {"open-w": "waiting", "gave_upheadless": "unattended", "gave_uphuman": "gave_up"}
    found = needs_of(state)
    assert found == expected
    assert [*found.values()][:3] == ["waiting", "waiting", "asked"]


def test_what_was_denied_because_nobody_was_there_is_written_later_and_no_longer_listed(state, tmp_path, capsys):
    for name in ("new.txt", "again.txt", "new.txt"):
        night(state, "gave_up", denied="headless", name=name)
    assert "apply --denied SESSION" in SessionList(state).morning("").blocks[0].notes[0]
    here = ["--project", str(tmp_path), "--json"]
    words = ["apply", "--denied", "last", *here]
    main([*words, "--dry-run"])
    found = json.loads(capsys.readouterr().out)
    assert [one["path"] for answer in found for one in answer["changes"]] == ["again.txt", "new.txt"]
    words[2] = "20261126-0100-gave_upheadless"
    assert main(words) == 1, "nobody is there again"
    assert sorted(needs_of(state).values()) == ["gave_up", "unattended"]
    policy = tmp_path / "config/ai-rails/policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\ndecision = "allow"\npath = "*.txt"\nkind = ["create"]\n', "utf-8")
    words[2] = "last"
    capsys.readouterr()
    assert main([*words, "--approve", "policy"]) == 0
    assert (tmp_path / "new.txt").read_text("utf-8") == (tmp_path / "again.txt").read_text("utf-8") == "x\n"
    assert "unattended" not in needs_of(state).values()
    assert Summaries(state).newest(1)[0].agents == ["unit-tester"]
    assert main(words) == 2
    assert "Nothing was denied" in capsys.readouterr().err


def test_nothing_is_green_or_red_that_is_not(state):
    for outcome in NIGHT:
        night(state, outcome)
    night(state, "", question=True)
    cards = Summaries(state).newest(99)
    words = {"done": "changed answered unchanged done", "asked": "asked unanswered open-w"}
    words["failed"] = "claimed rejected gave_up error nothing_done model_failed"
    for word, expected in words.items():
        found = {card.session_id.removeprefix("20261126-0100-") for card in chosen(cards, f"is:{word}")}
        assert found == set(expected.split())


def test_what_was_changed_has_its_lines_its_tests_and_a_total_by_file(state, tmp_path, capsys):
    night(state, "changed", tested=True)
    night(state, "claimed")
    value = SessionList(state).morning("").value
    facts = {row["outcome"]: row for row in value["changed"]}
    assert facts["changed"]["files"] == {"app.py": [2, 1], "new.py": [1, 0]}
    assert (facts["changed"]["added"], facts["changed"]["removed"], facts["changed"]["tokens"]) == (3, 1, 120)
    assert (facts["changed"]["tested"], facts["claimed"]["tested"]) == (True, False)
    assert main(["review", "--since", "yesterday", "--project", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.index("Needs you") < out.index("Changed") < out.index("Files")
    assert "app.py  4  2         2" in out
    assert "2 logs verified: nothing is missing or changed." in out


def test_a_change_after_the_tests_is_not_tested(state):
    log = night(state, "", tested=True)
    assert Summaries(state).get(log.session_id).tested
    with SessionLog.reopen(state, log.session_id) as more:
        details = {"ok": True, "changes": CHANGES[:1], "duration_ms": 1.0}
        more.append(UnknownEvent("TOOL_EXECUTION_RESULT", "x", details), "coder", "m")
    assert not Summaries(state).get(log.session_id).tested


def test_a_log_that_was_changed_is_said(state):
    path = night(state, "changed").path
    path.write_bytes(path.read_bytes().replace(b"task of", b"TASK of"))
    report = SessionList(state).morning("")
    assert report.value["logs"] == {path.parent.name: False}
    assert "do not verify" in report.blocks[-1].text


@pytest.mark.parametrize("form", ["--html", "--json", "--markdown"])
def test_a_filter_counts_in_every_form(state, tmp_path, capsys, form):
    night(state, "changed")
    night(state, "", question=True)
    page = tmp_path / "page.html"
    words = ["--html", str(page)] if form == "--html" else [form]
    assert main(["review", "--filter", "is:waiting", *words, "--project", str(tmp_path)]) == 0
    text = page.read_text("utf-8") if form == "--html" else capsys.readouterr().out
    assert "open-w" in text
    assert "0100-changed" not in text


@walked(
    ("diff", "counts"),
    [
        ("", {}),
        ("no diff\n+x", {}),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n--- a\n", {"x": [0, 1]}),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+++ c\n", {"x": [1, 1]}),
    ],
)
def test_lines_of_a_difference_are_counted_by_file(diff, counts):
    assert lines_by_file(diff) == counts
