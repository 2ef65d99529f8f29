"""What a session has used: tokens always, money only by the user's own prices, and what is left of its budget."""

from rails.config.prices import Price, Prices
from rails.core.conversation import Usage
from rails.log.session_stats import SessionStats
from rails.review.reports.usage import session_usage
from tests.rows import walked

PRICES = Prices({"sonnet": Price(3.0, 15.0, 0.3)}, "USD", "2026-11")
LIMITS = {"max_tokens": 10_000, "max_seconds": 900.0, "max_cost": 0.5}


def card(log, *events, model="sonnet"):
    made = SessionStats("s")
    for record in log.records(*events, model=model):
        made.add(record)
    return made


def answer(**usage):
    return ("LLM_RESPONSE", {"usage": usage})


ANSWER = answer(input_tokens=1_000, output_tokens=100, cache_read_tokens=2_000, cache_write_tokens=500)


def test_tokens_and_money_are_counted_together(log):
    meter = session_usage(card(log, ANSWER, ANSWER), PRICES)
    assert meter.tokens == "3,000 tokens in and 4,000 from the cache, 200 out"
    # twice (1,500 × 3 + 100 × 15 + 2,000 × 0.3) / 1,000,000
    assert meter.cost == "0.0132 USD"
    assert meter.line == f"{meter.tokens} · 0.0132 USD"


def test_without_prices_nothing_is_said_of_money(log):
    start = ("WORKFLOW_START", {"limits": LIMITS})
    meter = session_usage(card(log, start, ANSWER), Prices())
    assert meter.cost == ""
    assert "USD" not in meter.line
    assert "0.5" not in meter.line


def test_a_model_without_a_price_is_named_and_not_counted(log):
    both = card(log, ANSWER)
    for record in log.records(ANSWER, model="other"):
        both.add(record)
    assert session_usage(both, PRICES).cost == "0.0066 USD without other (no price)"
    assert session_usage(card(log, ANSWER, model="other"), PRICES).cost == ""


def test_a_correction_costs_what_it_costs(log):
    correction = ("CORRECTION", {"usage": {"input_tokens": 1_000}})
    assert session_usage(card(log, correction), PRICES).cost == "0.0030 USD"


def test_what_is_left_is_counted_as_the_run_counts_it(log):
    from rails.session.budget import SessionBudget

    start = ("WORKFLOW_START", {"limits": LIMITS})
    made = card(log, start, ANSWER)
    totals = SessionBudget(prices=PRICES.models)
    totals.use(Usage(1_000, 100, 2_000, 500), "sonnet")
    # The fixture's records are a second apart.
    left = session_usage(made, PRICES, since_last_s=299.0).left
    assert left == (f"{10_000 - totals.tokens:,} of 10,000 tokens", "10 of 15 min", "0.4934 of 0.5000 USD")
    assert round(0.5 - totals.cost, 4) == 0.4934


def test_more_used_than_there_was_leaves_nothing(log):
    start = ("WORKFLOW_START", {"limits": {"max_tokens": 100}})
    assert session_usage(card(log, start, ANSWER), PRICES).left == ("0 of 100 tokens",)


def test_the_time_before_a_session_went_on_is_not_counted(log):
    first, *rest = log.records(log.START, ("SESSION_RESUMED", {}), ANSWER)
    made = SessionStats("s")
    for record in (first, *rest):
        made.add(record)
    assert made.seconds == 1.0


@walked("limits", [None, [], {"max_tokens": "x", "max_seconds": True, "max_cost": -1}])
def test_odd_limits_are_no_obstacle(log, limits):
    start = ("WORKFLOW_START", {"limits": limits})
    assert session_usage(card(log, start, answer(input_tokens="x")), PRICES).left == ()


def test_a_table_that_cannot_be_read_is_said(log):
    meter = session_usage(card(log, ANSWER), Prices(), note="prices.toml: line 3")
    assert meter.facts["Cost"] == "prices.toml: line 3"


@walked(("answer", "denied", "spark"), [("deny", 1, "d"), ("abort", 1, "d"), ("dry_run", 0, "")])
def test_a_dry_run_is_no_denial(log, answer, denied, spark):
    decision = {"id": "t1.1", "digest": "d" * 64, "answer": answer, "reason": "", "by": "human", "seconds": 0.0}
    made = card(log, ("HUMAN_DECISION", {**decision, "scope": "once"}))
    assert (made.denied, made.approved, made.spark) == (denied, 0, spark)
