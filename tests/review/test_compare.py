"""Two sessions side by side: aligned turns, where they part, and what differs in the end."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rails.config.prices import Price, Prices
from rails.core.json_text import to_json
from rails.projections.common import RequestView, TurnView
from rails.projections.session import session_view
from rails.render.table import table_as_text
from rails.review.reports.compare import align_turns, compare_sessions
from rails.review.reports.compare_tables import compare_tables, sentences
from rails.review.session_list import SessionList


def views(stories, state):
    stories.hard(state, "20261118-091500-aa01")
    stories.easy(state, "20261119-101500-aa02")
    library = SessionList(state)
    return library.view("20261118-091500-aa01"), library.view("20261119-101500-aa02")


def test_two_runs_of_one_task_are_aligned_and_what_differed_is_counted(tmp_path, stories):
    found = compare_sessions(*views(stories, tmp_path))
    assert found.same_task
    assert [(pair.first and pair.first.number, pair.second and pair.second.number) for pair in found.pairs] == [
        (1, 1),
        (2, 2),
        *((number, None) for number in range(3, 9)),
        (9, 3),
        (10, 4),
    ]
    assert found.parted == 1
    assert {(c.name, c.first, c.second) for c in found.failures} >= {("schema", 1, 1), ("F821", 4, 1), ("denied", 1, 0)}
    assert Counter(finding.state for finding in found.findings) == {"unchanged": 1, "absent": 3}
    assert [(file.path, file.state) for file in found.files] == [("todo/cli.py", "different")]
    turns = next(measure for measure in found.measures if measure.name == "turns")
    assert (turns.first, turns.second, turns.better) == ("10", "4", 2)


def test_it_is_told_in_words_tables_and_json(tmp_path, stories):
    found = compare_sessions(*views(stories, tmp_path))
    told = "\n".join(sentences(found))
    assert (
        "The first turn is the same; they part at turn 2 of A and turn 2 of B: "
        "A findings (F401, F821), B findings (F821)." in told
    )
    text = "\n".join(table_as_text(table) for table in compare_tables(found))
    for words in ("≠ other outcome", "only in A", "different bytes", "absent"):
        assert words in text
    json.dumps(to_json(found))


def test_a_session_is_the_same_as_itself(log):
    view = session_view(log.demo())
    found = compare_sessions(view, view)
    assert found.parted == -1
    assert {pair.likeness for pair in found.pairs} == {"same"}
    assert "Every turn is the same in both." in list(sentences(found))
    assert all(measure.better == 0 for measure in found.measures)


def test_another_task_is_said(log):
    view = session_view(log.demo())
    other = session_view(log.records(("WORKFLOW_START", {"task": "something else"}), *[]))
    assert any("tasks are not the same" in sentence for sentence in sentences(compare_sessions(view, other)))


def test_undone_steps_leave_no_file(log):
    view = session_view([*log.demo(), *log.records(("UNDO", {"step": 1}))])
    assert [file.state for file in compare_sessions(view, session_view(log.demo())).files] == ["only second"]


def test_cost_is_compared_when_every_model_has_a_price(log):
    view = session_view(log.demo())
    prices = Prices({"recorded:demo": Price(3.0, 15.0, 0.3)}, "USD", "2026-11")
    names = [measure.name for measure in compare_sessions(view, view, prices).measures]
    assert "cost" in names
    assert "cost" not in [measure.name for measure in compare_sessions(view, view).measures]


def turn(number, letter):
    requests = (RequestView("t", "edit_file", "", "s0", {"path": letter}),)
    return TurnView(number, "coder", "m", "", 1, 1, "ran", requests=requests)


rows = st.text("abcd", max_size=8).map(lambda letters: [turn(n, letter) for n, letter in enumerate(letters, 1)])


@given(rows, rows)
def test_an_alignment_keeps_every_turn_in_order_and_pairs_only_what_is_alike(first, second):
    pairs = list(align_turns(first, second))
    assert [one for one, _ in pairs if one] == first
    assert [other for _, other in pairs if other] == second
    for one, other in pairs:
        assert one or other
        if one and other:
            assert one.requests[0].parameters == other.requests[0].parameters


@given(rows)
def test_a_session_is_aligned_with_itself_turn_by_turn(turns):
    assert list(align_turns(turns, turns)) == list(zip(turns, turns, strict=True))


def test_very_long_sessions_are_paired_in_order():
    long = [turn(number, "a") for number in range(2_000)]
    assert len(list(align_turns(long, long[:1_500]))) == 2_000
