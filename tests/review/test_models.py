"""The table of models and prompts: shares with intervals, and no rank that chance explains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.config.prices import Price, Prices, load_price_file
from rails.core.conversation import Usage
from rails.core.errors import UsageError
from rails.projections.session import session_view
from rails.render.table import table_as_text
from rails.review.reports.models import Share, model_report, models_table
from rails.review.session_list import SessionList


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    # Wilson's interval without continuity correction, as published tables and R's binom package give it.
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (1, 29, 0.0061, 0.1718),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_the_interval_is_wilsons(hits, of, low, high):
    assert Share(hits, of).interval == pytest.approx((low, high), abs=1e-4)


@given(st.integers(0, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_an_interval_holds_the_share_and_stays_in_bounds(case):
    hits, of = case
    low, high = Share(hits, of).interval
    assert 0 <= low <= high <= 1
    if of:
        assert low - 1e-9 <= hits / of <= high + 1e-9


def step(log, number, *failures):
    """A step of an agent: so many failed tries, then a right one."""
    events = []
    for failure in (*failures, None):
        events += [log.call(number), log.answer(), log.formulated(f"t{number}.1")]
        events += (
            [failure] if failure else [log.valid(), log.gate(), log.asked(), log.decided(), log.written(f"t{number}.1")]
        )
        number += 1
    return events


def test_a_step_is_a_first_attempt_and_the_tries_after_it(log):
    failed = log.gate("fail", [log.FINDING])
    engaged = ("AGENT_ENGAGE", {"system": "You are the coder."})
    events = [engaged, *step(log, 1), *step(log, 2, failed, failed), *step(log, 5, log.invalid())]
    (row,) = model_report([session_view(log.records(*events))]).rows
    assert (row.model, row.role, len(row.prompt)) == ("recorded:demo", "coder", 12)
    assert (row.steps, row.passed, row.tries, row.turns, row.sessions) == (3, 1, 6, 6, 1)
    assert (row.input_tokens, row.output_tokens, row.approved, row.denied) == (600, 120, 3, 0)


def test_what_a_human_denied_passed_the_checks(log):
    events = [
        log.call(1),
        log.answer(),
        log.formulated(),
        log.valid(),
        log.gate(),
        log.asked(),
        log.decided("deny", "no"),
    ]
    (row,) = model_report([session_view(log.records(*events))]).rows
    assert (row.steps, row.passed, row.denied) == (1, 1, 1)


def test_another_prompt_is_another_row(log):
    def session(prompt):
        return session_view(log.records(("AGENT_ENGAGE", {"system": prompt}), *step(log, 1)))

    rows = model_report([session("a"), session("b"), session("a")]).rows
    assert sorted(row.sessions for row in rows) == [1, 2]


def test_a_difference_is_only_claimed_where_the_intervals_are_apart(log):
    failed = log.gate("fail", [log.FINDING])

    def sessions(model, good, bad):
        events = [event for _ in range(good) for event in step(log, 1)] + [
            event for _ in range(bad) for event in step(log, 1, failed)
        ]
        return session_view(log.records(*events, model=model))

    apart = model_report([sessions("a", 19, 1), sessions("b", 1, 19)])
    assert apart.differences == ("coder: a (prompt unknown) passes more often at first than b (prompt unknown).",)
    near = model_report([sessions("a", 12, 8), sessions("b", 9, 11)])
    assert near.differences == ()
    assert "differ by more than chance" in table_as_text(models_table(near))
    few = model_report([sessions("a", 4, 0), sessions("b", 0, 4)])
    assert few.differences == ()


def test_tokens_cost_what_the_users_table_says(tmp_path, log):
    file = tmp_path / "prices.toml"
    file.write_text('as_of = "2026-11"\ncurrency = "USD"\n[models."recorded:demo"]\ninput = 3.0\noutput = 15\n')
    report = model_report([session_view(log.records(*step(log, 1)))], load_price_file(file))
    assert report.rows[0].cost == pytest.approx((100 * 3 + 20 * 15) / 1e6)
    text = table_as_text(models_table(report), width=400)
    assert "0.0006 USD" in text
    assert "as of 2026-11" in text


@pytest.mark.parametrize(
    "text",
    [
        "x = [",
        '[models.a]\ninput = "3"\noutput = 1',
        "[models.a]\ninput = 1",
        "models = 3",
        "[models.a]\ninput = 1\noutput = -1",
    ],
)
def test_prices_that_are_none_are_refused_by_name(tmp_path, text):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"No cost can be worked out\. .*prices\.toml:"):
        load_price_file(file)


def test_without_prices_nothing_is_said_of_money(tmp_path):
    assert load_price_file(tmp_path / "none.toml") == Prices()
    assert Prices().cost("m", Usage(1, 1)) is None
    assert Prices({"m": Price(1, 1, 1)}).text(1_234.5) == "1,234.50"


def test_the_gallery_has_a_row_for_each_model_and_prompt(tmp_path, stories):
    stories.gallery(tmp_path)
    report = SessionList(tmp_path).report("models")
    assert len(report.blocks[0].rows) == 4
    assert {row["model"] for row in report.value["rows"]} == {"anthropic:claude-sonnet-5-5", "openai:qwen3-coder"}
    assert all(0 <= row["interval"][0] <= row["interval"][1] <= 1 for row in report.value["rows"])
