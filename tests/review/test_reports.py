"""The heat-map of rules, the decisions, the list of sessions and its filter, and how tables fit a terminal."""

import msgspec
import pytest

from rails.core.dataclass import replace
from rails.core.errors import UsageError
from rails.log.session_stats import SessionStats
from rails.projections.session import session_view
from rails.render.blocks import Cell, Table, cells
from rails.render.table import table_as_text
from rails.review.reports.decisions import decisions, decisions_table
from rails.review.reports.report_list import REPORTS
from rails.review.reports.rules import heat_map, heat_table
from rails.review.reports.sessions import chosen, sessions_table, states
from rails.review.session_list import SessionList


def test_rules_are_counted_by_session_and_by_week_with_what_they_cost(log):
    first = session_view(log.demo())
    later = replace(first, session_id="later", started="2026-11-30T10:00:00.000000Z")
    heat = heat_map([first, later])
    (row,) = heat.rules
    assert (row.rule, row.tool, row.fired, row.sessions, row.turns, row.fixed, row.waived) == (
        "F401",
        "ruff",
        2,
        1 + 1,
        2,
        2,
        0,
    )
    assert row.counts == {first.session_id: 1, "later": 1}
    assert heat_map([first, later], "week").columns == ("2026-W47", "2026-W49")


def test_a_finding_that_was_approved_all_the_same_is_let_through(log):
    events = [log.call(1), log.answer(), log.gate("fail", [log.FINDING]), log.asked(), log.decided(), log.written()]
    (row,) = heat_map([session_view(log.records(*events))]).rules
    assert (row.waived, row.turns) == (1, 0)


def test_a_sheet_without_findings_says_so(log):
    table = heat_table(heat_map([session_view(log.records(log.START))]))
    assert table.rows == ()
    assert "No rule has found anything new in 1 sessions." in table_as_text(table)


def test_a_decision_tells_who_when_how_long_why_and_what_became_of_it(log):
    view = session_view([*log.demo(), *log.records(("UNDO", {"step": 1}))])
    denied, approved = decisions([view])
    assert (denied.answer, denied.by, denied.seconds, denied.reason, denied.what) == (
        "deny",
        "human",
        4.5,
        "use argparse",
        "edit_file app.py",
    )
    assert (approved.answer, approved.undone, approved.reflex, approved.lines) == ("approve", True, False, 2)
    text = table_as_text(decisions_table((denied, approved)))
    assert "approved; undone later" in text
    assert "1 approved, 1 denied, 0 stopped, 0 without an answer." in text
    assert "1 of 1 approvals were undone later." in text


def test_a_big_diff_approved_at_once_by_a_person_is_a_reflex(log):
    asked, decided = log.asked(), log.decided()
    asked[1]["diff"] = "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,40 @@\n" + "\n".join(f"+line {n}" for n in range(40))
    for by, expected in (("human", True), ("policy: rule 1", False)):
        decided[1].update(by=by, seconds=0.4)
        (row,) = decisions([session_view(log.records(log.call(1), log.answer(), asked, decided))])
        assert row.reflex is expected


CARD = SessionStats(
    "20261121-100000-aaaa",
    started="2026-11-21T10:00:00.000000Z",
    task="Add a JSON flag",
    outcome="gave_up",
    agents=["coder"],
    models=["anthropic:claude"],
    paths=["src/app.py"],
    rules={"F821": 2},
    refused=1,
    gate_failed=2,
    spark="ffd",
)


@pytest.mark.parametrize(
    ("line", "takes"),
    [
        ("", True),
        ("json flag", True),
        ('"json flag"', True),
        ('"flag json"', False),
        ("js*", True),
        ("-json", False),
        ("rule:F821", True),
        ("rule:F4*", False),
        ("role:coder path:src/*", True),
        ("-role:coder", False),
        ("is:failed", True),
        ("is:done", False),
        ("-is:done is:refused is:findings", True),
        ("after:2026-11-21", True),
        ("after:2026-11-22", False),
        ("before:2026-11-21T10:00", False),
        ("session:20261121-100000-aaaa", True),
        ("-session:20261121-100000-aaaa", False),
        ("text:SON", True),
        ("text:son", False),
    ],
)
def test_the_list_is_filtered_by_what_a_line_asks(line, takes):
    assert bool(chosen([CARD], line)) is takes


@pytest.mark.parametrize(
    ("line", "words"), [("is:happy", "is:happy"), ("tool:edit_file", "tool:"), ("after:soon", "after:soon")]
)
def test_a_filter_that_means_nothing_is_refused(line, words):
    with pytest.raises(UsageError, match=words):
        chosen([CARD], line)


def test_the_list_has_a_sparkline_and_explains_its_marks():
    text = table_as_text(sessions_table([CARD, SessionStats("b", outcome="done", damage=2)]))
    assert "✕✕■" in text
    assert "✕ checks failed, ■ denied" in text
    assert "gave up" in text
    assert "done; 2 damaged lines" in text
    assert states(SessionStats("x")) == {"unfinished"}


def test_tables_fit_the_width_and_say_what_had_no_room():
    long = "word " * 30
    table = Table(
        "T",
        ("a", "b", "long", "more"),
        (cells("x", 1_234, long, Cell("yy", "bad")),),
        frozenset({1}),
        frozenset({2}),
        (3,),
    )
    wide = table_as_text(table, width=300)
    assert "1,234" in wide
    assert wide.count("word") == 30
    for width in (30, 50, 80):
        text = table_as_text(table, width=width)
        assert max(map(len, text.splitlines())) <= max(width, 40), text
    assert "No room here for: more." in table_as_text(table, width=30)


@pytest.mark.parametrize("evil", ["\x1b[2J", "\u202e", "a\nb", "\x07"], ids=ascii)
def test_no_text_of_a_log_reaches_the_terminal_raw(log, evil):
    def poisoned(value):
        if isinstance(value, str):
            return f"{value}{evil}"
        if isinstance(value, list):
            return [poisoned(item) for item in value]
        return {key: poisoned(item) for key, item in value.items()} if isinstance(value, dict) else value

    correction = ("CORRECTION", {"id": "t1.1", "before": '{"a": "b"}', "after": '{"a": "c"}', "taken": True})
    records = [*log.demo(), *log.records(log.call(9), correction)]
    bad = [
        msgspec.structs.replace(
            r, details=poisoned(dict(r.details)), agent_role=evil, llm_model_used=evil, session_id=evil
        )
        for r in records
    ]
    for report in REPORTS.values():
        for table in report([session_view(bad)], SessionList(None).prices()).blocks:
            text = table_as_text(table, colour=False)
            assert all(char == "\n" or char.isprintable() for char in text), ascii(text)


def test_a_library_reads_again_only_what_has_grown(tmp_path, stories):
    stories.hard(tmp_path, "20261118-091500-aa01")
    story = stories.Story(tmp_path, "20261119-091500-aa02", "task", stories.MODELS[0])
    library = SessionList(tmp_path)
    first, second = library.view("20261118-091500-aa01"), library.view("20261119-091500-aa02")
    story.ask("more")
    assert library.view("20261118-091500-aa01") is first
    assert library.view("20261119-091500-aa02") is not second
    assert len(library.view("20261119-091500-aa02").turns) == 1
    story.log.close()
    for name in ("nobody", "../20261118-091500-aa01", ""):
        with pytest.raises(UsageError, match="no session"):
            library.view(name)


def test_every_report_goes_over_the_sessions_that_a_line_asks_for(tmp_path, stories):
    stories.gallery(tmp_path)
    library = SessionList(tmp_path)
    for name in REPORTS:
        assert library.report(name).blocks[0].rows
    assert len(library.report("decisions", "session:20261118-091500-aa01").blocks[0].rows) == 2
    with pytest.raises(UsageError, match="no report"):
        library.report("nothing")
    assert len(library.cards("is:unfinished")) == 2
    assert library.why("todo/cli.py", 4).origin is not None


def test_a_project_without_sessions_has_empty_reports(tmp_path):
    library = SessionList(tmp_path / ".rails")
    assert library.cards() == ()
    assert all(REPORTS[name]((), library.prices()).blocks for name in REPORTS)
