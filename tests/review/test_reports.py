"""Sessions counted in groups, the list of sessions and its filter, and how tables fit a terminal."""

import pytest
from msgspec.structs import replace

from rails.config.prices import Prices, load_price_file
from rails.core.errors import UsageError
from rails.log.session_stats import SessionStats
from rails.projections.session import session_view
from rails.projections.share import Share
from rails.render.blocks import Cell, Table, cells
from rails.render.table import table_as_text
from rails.review.reports.grouped import GROUPS, count_sessions
from rails.review.reports.sessions import chosen, sessions_table, states
from rails.review.session_list import SessionList
from tests.rows import walked


def rows(by, *views):
    return count_sessions(by, views, Prices()).value


def test_rules_are_counted_with_what_they_cost(log):
    first = session_view(log.demo())
    (row,) = rows("rule", first, replace(first, session_id="later"))
    assert [*row.values()] == ["F401", "ruff", 2, 2, 2, 0]


def test_a_finding_that_was_approved_all_the_same_is_counted(log):
    events = [log.call(1), log.answer(), log.gate("fail", [log.FINDING]), log.asked(), log.decided(), log.written()]
    (row,) = rows("rule", session_view(log.records(*events)))
    assert (row["approved anyway"], row["failed turns"]) == (1, 0)


def test_nothing_to_count_is_said(log):
    report = count_sessions("rule", [session_view(log.records(log.START))], Prices())
    assert report.value == []
    assert "Nothing to count in 1 session." in table_as_text(report.blocks[0])


def test_decisions_are_counted_by_answer_and_person_with_what_was_regretted(log):
    view = session_view([*log.demo(), *log.records(("UNDO", {"step": 1}))])
    approved, denied = rows("decision", view)
    assert [*approved.values()] == ["approve", "human", 1, approved["median seconds"], 2, 1, 0]
    assert (denied["decision"], denied["median seconds"], denied["undone later"]) == ("deny", 4.5, 0)


def test_a_big_diff_approved_at_once_by_a_person_is_hardly_read(log):
    asked = log.asked()
    decided = log.decided()
    asked[1]["diff"] = "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,40 @@\n" + "\n".join(f"+line {n}" for n in range(40))
    for by, expected in (("human", 1), ("policy: rule 1", 0)):
        decided[1].update(by=by, seconds=0.4)
        (row,) = rows("decision", session_view(log.records(log.call(1), log.answer(), asked, decided)))
        assert row["hardly read"] == expected


def test_a_step_is_a_first_attempt_and_the_tries_after_it(log):
    failing = [log.call(1), log.answer(), log.formulated("t1.1"), log.invalid("t1.1")]
    again = [log.call(2), log.answer(), log.formulated("t2.1"), log.written()]
    right = [log.call(3), log.answer(), log.formulated("t3.1"), log.written()]
    (row,) = rows("model", session_view(log.records(*failing, *again, *right)))
    assert (row["steps"], row["first try passed"], row["turns"]) == (2, 1, 3)


def test_tools_are_counted_with_what_was_wrong_with_their_calls(log):
    failing = [log.call(1), log.answer(), log.formulated("t1.1"), log.invalid("t1.1")]
    again = [log.call(2), log.answer(), log.formulated("t2.1"), log.written()]
    (row,) = rows("tool", session_view(log.records(*failing, *again)))
    assert (row["requests"], row["invalid"]) == (2, 1)


@walked(
    ("hits", "of", "low", "high"),
    [(0, 0, 0.0, 1.0), (10, 10, 0.722, 1.0), (0, 10, 0.0, 0.278), (81, 263, 0.255, 0.366)],
)
def test_the_interval_is_wilsons(hits, of, low, high):
    assert Share(hits, of).interval == pytest.approx((low, high), abs=0.001)


def test_tokens_cost_what_the_users_table_says(tmp_path, log):
    file = tmp_path / "prices.toml"
    file.write_text('as_of = "2026-11"\ncurrency = "USD"\n[models."recorded:demo"]\ninput = 3.0\noutput = 15\n')
    (row,) = count_sessions(
        "model", [session_view(log.records(log.call(1), log.answer()))], load_price_file(file)
    ).value
    assert row["cost"] == "0.0006 USD"
    assert rows("model", session_view(log.records(log.call(1), log.answer())))[0]["cost"] == ""


@walked("text", ["x = [", '[models.a]\ninput = "3"\noutput = 1', "[models.a]\ninput = 1", "models = 3"])
def test_prices_that_are_none_are_refused_by_name(tmp_path, text):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"No cost can be worked out\. .*prices\.toml:"):
        load_price_file(file)


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


@walked(("line", "words"), [("is:happy", "is:happy"), ("tool:edit_file", "tool:"), ("after:soon", "after:soon")])
def test_a_filter_that_means_nothing_is_refused(line, words):
    with pytest.raises(UsageError, match=words):
        chosen([CARD], line)


def test_the_list_has_a_sparkline_and_explains_its_marks():
    text = table_as_text(sessions_table([CARD, SessionStats("b", outcome="done", damage=2)]))
    assert "✕✕■" in text
    assert "✕ checks failed, ■ denied" in text
    assert "gave up" in text
    assert "changed; 2 damaged lines" in text
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


@walked("evil", ["\x1b[2J", "\u202e", "a\nb", "\x07"])
def test_no_text_of_a_log_reaches_the_terminal_raw(log, evil):
    correction = ("CORRECTION", {"id": "t1.1", "before": '{"a": "b"}', "after": '{"a": "c"}', "taken": True})
    records = [*log.demo(), *log.records(log.call(9), correction)]
    bad = [log.poisoned(record, evil) for record in records]
    for by in GROUPS:
        (table,) = count_sessions(by, [session_view(bad)], Prices()).blocks
        text = table_as_text(table, colour=False)
        assert all(char == "\n" or char.isprintable() for char in text), ascii(text)


def test_a_library_reads_again_only_what_has_grown(tmp_path, stories):
    stories.hard(tmp_path, "20261118-091500-aa01")
    story = stories.Story(tmp_path, "20261119-091500-aa02", "task", stories.MODELS[0])
    library = SessionList(tmp_path)
    first = library.view("20261118-091500-aa01")
    second = library.view("20261119-091500-aa02")
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
    for name in GROUPS:
        assert library.report(name).blocks[0].rows
    assert library.report("decision", "session:20261118-091500-aa01").value[0]["count"] == 1
    with pytest.raises(UsageError, match="cannot be counted"):
        library.report("nothing")
    assert len(library.cards("is:unfinished")) == 2
    assert library.why("todo/cli.py", 4).origin is not None


def test_a_project_without_sessions_has_empty_reports(tmp_path):
    library = SessionList(tmp_path / ".rails")
    assert library.cards() == ()
    assert all(library.report(by).blocks for by in GROUPS)
