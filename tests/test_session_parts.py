"""Budgets, the sentences for people, and the fold that says where a session stands."""

import pytest

from rails.budget import Attempts
from rails.core.conversation import Message, NativeResult, Text, message_to_json
from rails.core.errors import UsageError
from rails.core.events import Record
from rails.messages import language, say
from rails.resume import standing


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
    assert budget.spend(["edit"], "not found") == "the same failure came back word for word"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "AI_RAILS_LANG": "ja"}, "ja"),
    ],
)
def test_c8_05_the_language_comes_from_the_environment(environment, expected):
    assert language(environment) == expected


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
        standing([], lambda _: None)


def test_a_session_that_was_killed_while_the_model_answered_asks_again():
    state = standing(records(START, ENGAGE), lambda _: None)
    assert [message.text for message in state.messages] == ["the task"]
    assert state.pending is None


def test_an_answer_that_was_not_carried_out_is_pending():
    state = standing(records(START, ENGAGE, ANSWER), lambda _: None)
    assert state.pending is not None
    assert state.pending.message.text == "an answer"
    assert state.done == {}


def test_feedback_that_was_sent_is_part_of_the_conversation_native_results_included():
    reply = message_to_json(Message("user", (NativeResult("c1", "R", is_error=True), Text("T"))))
    sent = ("FEEDBACK_SENT", {"text": "R T", "reply": reply, "codes": ["gate"]})
    state = standing(records(START, ENGAGE, ANSWER, sent), lambda _: None)
    assert [message.role for message in state.messages] == ["user", "assistant", "user"]
    assert NativeResult("c1", "R", is_error=True) in state.messages[2].parts
    assert state.codes == (("gate",),)


def change(after):
    return {"ids": ["t1.r1"], "digest": "d", "changes": [{"path": "a", "after_sha256": after}]}


def test_a_write_that_began_and_is_on_disk_was_carried_out():
    state = standing(records(START, ENGAGE, ANSWER, ("EXECUTION_STARTED", change("new"))), lambda _: "new")
    assert state.done["t1.r1"].ok


def test_a_write_that_began_and_was_rolled_back_is_to_be_done():
    state = standing(records(START, ENGAGE, ANSWER, ("EXECUTION_STARTED", change("new"))), lambda _: "old")
    assert state.done == {}


def test_a_command_that_began_and_has_no_result_is_in_doubt_and_not_run_again():
    begun = ("EXECUTION_STARTED", {"ids": ["t1.r1"], "tool": "run_tests"})
    state = standing(records(START, ENGAGE, ANSWER, begun), lambda _: None)
    assert not state.done["t1.r1"].ok
    assert "nobody knows" in state.done["t1.r1"].text


def test_what_has_a_result_is_not_done_again():
    result = ("TOOL_EXECUTION_RESULT", {"ids": ["t1.r1"], "ok": True, "tool": "read_file", "text": "content"})
    state = standing(records(START, ENGAGE, ANSWER, result), lambda _: None)
    assert "content" in state.done["t1.r1"].text


def test_an_agent_that_finished_is_not_engaged_again():
    state = standing(records(START, ENGAGE, ANSWER, ("AGENT_FINISHED", {"outcome": "done"})), lambda _: None)
    assert (state.finished, state.messages, state.pending) == (1, (), None)
