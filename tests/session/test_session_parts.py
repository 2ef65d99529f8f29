"""Budgets, the sentences for people, and the fold that says where a session stands."""

from pathlib import Path

import pytest

from rails.config.prices import PRICES_NAME, Price, load_price_file, price_of
from rails.core.conversation import Message, NativeResult, TextPart, Usage, message_to_json
from rails.core.errors import UsageError
from rails.core.events.record import Record
from rails.core.messages import language, say
from rails.session.budget import Attempts, SessionBudget
from rails.session.resume import resume_state
from tests.rows import walked


def spend_all(budget, *turns):
    return [budget.spend(codes, f"words {number}" if codes else "") for number, codes in enumerate(turns)]


def test_c8_01_the_nth_failure_stops_and_not_one_later():
    assert spend_all(Attempts(3), ["gate"], ["gate"], ["gate"]) == [None, None, "3 failed attempts (gate)"]


def test_c8_03_a_good_turn_resets_the_counters():
    assert spend_all(Attempts(2), ["gate"], [], ["gate"]) == [None, None, None]


def test_c8_03_two_bad_parts_of_one_turn_are_one_attempt():
    assert spend_all(Attempts(2), ["schema", "schema"], []) == [None, None]


def test_c8_08_every_kind_of_failure_has_a_budget_of_its_own():
    assert spend_all(Attempts(2), ["syntax"], ["schema"], ["gate"], ["syntax"])[-1] == "2 failed attempts (syntax)"


def test_c8_10_the_same_failure_word_for_word_ends_early():
    budget = Attempts(5)
    assert budget.spend(["edit"], "not found") is None
    assert budget.spend(["edit"], "not found") == "the same failure (edit) was repeated"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "AI_RAILS_LANG": "ja"}, "ja"),
    ],
)
def test_c8_05_the_language_comes_from_the_environment(environment, expected, monkeypatch):
    monkeypatch.setattr("os.environ", environment)
    assert language() == expected


def test_c8_05_the_japanese_sentences_are_the_known_ones():
    assert say("retry", "ja") == "このアクションは正しく実行されませんでした"
    assert say("gave_up", "ja") == "ユーザーのタスクを正しく実行できませんでした"
    assert say("model_retry", "ja", error="E", json="{x") == (
        "JSON構文エラーが発生しました。以下のJSONを修正してください。\nエラー: E\n不正なJSON: {x\n\n"
        "正しいJSON形式でもう一度functionCallを送信してください。"
    )


def test_c11_03_filled_in_text_survives_byte_for_byte():
    assert r"\1 $& {error}" in say("model_retry", "en", error=r"\1 $&", json=r"\1 $& {error}")


def records(*events):
    return [
        Record(n, "2026-01-01T00:00:00.000000Z", "s", "coder", "m", kind, "", details, "", "")
        for n, (kind, details) in enumerate(events, start=1)
    ]


START = ("WORKFLOW_START", {"tasks": [{"agent": "coder", "task": "do it"}]})
ENGAGE = ("AGENT_ENGAGE", {"first_message": "the task"})
ANSWER = ("LLM_RESPONSE", {"role": "assistant", "content": [{"type": "text", "text": "an answer"}]})


def test_a_log_without_a_start_cannot_be_resumed():
    with pytest.raises(UsageError):
        resume_state([], Path("/nowhere"))


def test_feedback_that_was_sent_is_part_of_the_conversation_native_results_included():
    reply = message_to_json(Message("user", (NativeResult("c1", "R", is_error=True), TextPart("T"))))
    sent = ("FEEDBACK_SENT", {"text": "R T", "reply": reply, "codes": ["gate"]})
    state = resume_state(records(START, ENGAGE, ANSWER, sent), Path("/nowhere"))
    assert [message.role for message in state.messages] == ["user", "assistant", "user"]
    assert NativeResult("c1", "R", is_error=True) in state.messages[2].parts
    assert state.codes == (("gate",),)


@walked("reply", [None, "no", {"role": "user"}, {"role": "user", "content": [{"type": "odd"}]}])
def test_feedback_that_cannot_be_read_stops_a_resume_and_names_its_record(reply):
    facts = {"text": "R T", "codes": ["gate"]} | ({} if reply is None else {"reply": reply})
    with pytest.raises(UsageError, match=r"feedback in record 4 cannot be read.*Nothing was changed"):
        resume_state(records(START, ENGAGE, ANSWER, ("FEEDBACK_SENT", facts)), Path("/nowhere"))


def test_the_first_bound_that_is_reached_is_named():
    usage = Usage(100, 50, 30, 20)
    prices = {"m": Price(10.0, 100.0, 1.0)}
    totals = SessionBudget(max_tokens=1_000, max_cost=0.01, prices=prices)
    totals.use(usage, "m")
    assert totals.tokens == 200, "what came from the cache counts too"
    assert totals.cost == pytest.approx((120 * 10 + 50 * 100 + 30 * 1) / 1_000_000)
    assert totals.spent() is None
    totals.use(usage, "m")
    on = "; to continue, use --resume with a larger --max-"
    assert totals.spent() == f"the budget of 0.01 (money) is used up (0.01246 used){on}cost"
    assert SessionBudget(max_tokens=0).spent() == f"the budget of 0 tokens is used up (0 used){on}tokens"


def test_a_money_budget_over_an_unknown_price_stops_instead_of_guessing():
    totals = SessionBudget(max_cost=1.0)
    totals.use(Usage(1, 1), "new-model")
    assert "no price is known for new-model" in totals.spent()
    free = SessionBudget(max_cost=1.0)
    free.use(Usage(1, 1), "recorded:answers.jsonl")
    assert free.spent() is None


def test_usage_and_worked_time_are_read_from_the_log_and_a_pause_is_not_work():
    def at(n, second, kind, details, model="m"):
        return Record(n, f"2026-01-01T00:{second:02d}:00.000000Z", "s", "coder", model, kind, "", details, "", "")

    answer = {**ANSWER[1], "usage": {"input_tokens": 3, "output_tokens": 4}}
    log = [
        at(1, 0, *START),
        at(2, 1, *ENGAGE),
        at(3, 2, "LLM_RESPONSE", answer),
        at(4, 3, "CORRECTION", {"usage": {"input_tokens": 5}}),
        at(5, 50, "SESSION_RESUMED", {}),
        at(6, 51, "LLM_RESPONSE", answer, "strong"),
    ]
    assert resume_state(log, Path("/nowhere")).seconds == 4 * 60
    totals = SessionBudget(max_tokens=20)
    for record in log:
        totals.take(record)
    assert totals.tokens == 7 + 5 + 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", None),
        ('currency = "EUR"\n[models.m]\ninput = 3\noutput = 15\n', None),
        ('[models."openai:m"]\ninput = 3\noutput = 15\ncached = 3\n', None),
        (
            "[models.m]\ninput = 3\n",
            "1:2: models.m: `output` is missing. Add `output` .number: Money for a million tokens",
        ),
        (
            "[models.m]\ninput = 3\noutput = 15\nprompt = 1\n",
            "4:1: models.m: `prompt` is not known. Allowed: `input`, `output`, `cached`.",
        ),
        ("[models.m]\ninput = -3\noutput = 15\n", "`input` is -3; it must be at least 0. Money for a million tokens"),
        ('[models.m]\ninput = "3"\noutput = 15\n', "2:1: models.m: `input` is a string .*; it must be a number. Money"),
        ("m = ", "No cost can be worked out. .*prices.toml: it is not valid TOML: Invalid value"),
        ("modles = 3", "`modles` is not known. Did you mean `models`?"),
        ("as_of = 2026-11-21\n[models.m]\ninput = 3\noutput = 15\ncached = 3\n", None),
        ("models = 3", "`models` is an integer .3.; it must be a table. Prices by model, named as"),
    ],
)
def test_prices_are_read_from_the_users_own_file(tmp_path, text, said):
    if text:
        (tmp_path / "prices.toml").write_text(text, "utf-8")
    if said:
        with pytest.raises(UsageError, match=said):
            load_price_file(tmp_path / PRICES_NAME)
        return
    prices = load_price_file(tmp_path / PRICES_NAME).models
    assert price_of("m", prices) == (Price(3, 15, 3) if text else None)


def test_an_agent_that_gave_up_is_not_over_and_is_not_engaged_by_itself():
    gave_up = ("AGENT_FINISHED", {"outcome": "gave_up"})
    state = resume_state(records(START, ENGAGE, ANSWER, gave_up), Path("/nowhere"))
    assert (state.finished, state.stopped, state.ended) == (0, "gave_up", False)
    again = ("SESSION_RESUMED", {"advice": "look again"})
    state = resume_state(records(START, ENGAGE, ANSWER, gave_up, ("WORKFLOW_END", {}), again), Path("/nowhere"))
    assert (state.stopped, state.again, state.advice) == ("", True, "look again")


def test_a_conversation_that_was_begun_afresh_is_the_one_that_goes_on():
    sent = ("FEEDBACK_SENT", {"reply": {"role": "user", "content": "no"}, "codes": ["gate"]})
    page = ("ESCALATION", {"rung": "squash", "first_message": "the page", "stands_for": 1})
    state = resume_state(records(START, ENGAGE, ANSWER, sent, ANSWER, page), Path("/nowhere"))
    assert [(message.text, message.stands_for) for message in state.messages] == [("the page", 1)]
    assert (state.pending, state.codes, state.rung, state.taken) == (None, (), "squash", 2)
    human = ("ESCALATION", {"rung": "human", "files": []})
    assert resume_state(records(START, ENGAGE, ANSWER, human), Path("/nowhere")).messages[0].text == "the task"


def test_the_words_of_the_last_failure_are_kept_so_that_the_same_one_is_recognised():
    reply = message_to_json(Message("user", (NativeResult("c1", "R", is_error=True), TextPart("T"))))
    sent = ("FEEDBACK_SENT", {"reply": reply, "codes": ["gate"]})
    state = resume_state(records(START, ENGAGE, ANSWER, sent), Path("/nowhere"))
    assert state.words == "an answer"
    fine = ("FEEDBACK_SENT", {"reply": reply, "codes": []})
    assert resume_state(records(START, ENGAGE, ANSWER, fine), Path("/nowhere")).words == ""
