"""Only whole answers are carried out, and one answer costs a bounded number of requests, records and characters."""

import json

import pytest

from rails.core import limits
from rails.core.conversation import Message, ModelAnswer, NativeCall, TextPart, Usage
from rails.core.outcomes import is_good


def request(tool, **parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def stopped(stop, *parts):
    pieces = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
    return ModelAnswer(Message("assistant", pieces), stop, Usage(), "scripted")


WRITE = request("write_file", file_path="b.txt", content="new\n")
READ = request("read_file", file_path="a.txt")
NATIVE = NativeCall("c1", "write_file", '{"file_path": "b.txt", "content": "new"}')


@pytest.mark.parametrize("stop", ["max_tokens", "cut", "refusal", "pause_turn"])
@pytest.mark.parametrize("parts", [(WRITE,), (READ,), (READ + WRITE,), (WRITE + "```json\n{"), (WRITE, NATIVE)])
def test_whole_requests_of_an_answer_that_broke_off_are_held_back(work, stop, parts):
    (work.project / "a.txt").write_text("one\n", "utf-8")
    done = work(stopped(stop, *parts), "I see.", approvals=["approve"])
    assert not (work.project / "b.txt").exists()
    assert done.events("TOOL_EXECUTION_RESULT") == []
    assert done.events("APPROVAL_REQUESTED") == []
    assert f"stopped with '{stop}'" in done.told[0]
    assert "Send it again" in done.told[0]
    assert done.ending.outcome == "gave_up"


@pytest.mark.parametrize("stop", ["end_turn", "tool_use", "stop_sequence"])
def test_an_answer_that_ended_as_answers_do_is_carried_out(work, stop):
    done = work(stopped(stop, WRITE), "Done.", approvals=["approve"])
    assert (work.project / "b.txt").read_text("utf-8") == "new\n"
    assert is_good(done.ending.outcome)


BAD = (
    '```json\n{"type": "tool_request", "tool_name": "write_file", "parameters": {"file_path": "x" "content": 1}}\n```\n'
)


@pytest.mark.parametrize(
    "text",
    [
        READ * 120,
        WRITE * 120,
        BAD * 60,
        request("nothing_like_this", x=1) * 120,
        '```json\n{"a": 1}\n```\n' * 220,
        (READ + BAD) * 55,
    ],
    ids=["reads", "writes", "broken", "unknown tools", "no requests", "mixed"],
)
def test_an_answer_of_many_blocks_is_bounded(work, text):
    (work.project / "a.txt").write_text("word " * 4_000, "utf-8")
    done = work(text, "I see.", approvals=["approve"] * 3)
    assert len(done.records) < 12 * limits.REQUESTS_PER_ANSWER
    assert len(done.events("TOOL_EXECUTION_RESULT")) <= limits.REQUESTS_PER_ANSWER
    assert all(len(text) < limits.ANSWER_FEEDBACK_CHARS * 1.4 for text in done.told)


def test_results_that_do_not_fit_in_one_message_are_cut_and_say_so(work):
    (work.project / "a.txt").write_text("word word\n" * 2_000, "utf-8")
    reads = [request("read_file", file_path="a.txt", offset=number + 1) for number in range(13)]
    done = work("".join(reads), "I see.")
    assert "asked for too much at once" in done.told[0]
    assert len(done.told[0]) < limits.ANSWER_FEEDBACK_CHARS * 1.3


@pytest.mark.parametrize(
    ("before", "stop"), [((), "end_turn"), ((), "tool_use"), ((READ,), "tool_use")], ids=["first", "no call", "later"]
)
def test_an_empty_answer_is_no_work_that_is_done(work, before, stop):
    (work.project / "a.txt").write_text("word\n", "utf-8")
    empty = stopped(stop, " \u200b\n")
    done = work(*before, empty, empty)
    assert (done.ending.outcome, len(done.told)) == ("gave_up", len(before) + 1)
    assert "Your answer was empty" in done.told[-1]
    assert is_good(work(*before, empty, "There is nothing to do.").ending.outcome)


def test_after_work_a_last_answer_may_be_empty(work):
    assert is_good(work(WRITE, stopped("end_turn"), approvals=["approve"]).ending.outcome)


def test_a_call_that_was_announced_and_never_came_is_told_once_and_is_no_work_that_is_done(work):
    lost = stopped("tool_use", "I write the file now.")
    done = work(lost, WRITE, "Done.", approvals=["approve"])
    assert is_good(done.ending.outcome)
    assert "no call arrived" in done.told[0]
    assert (work.project / "b.txt").exists()
    always = work(stopped("tool_use", "I looked."), stopped("tool_use", "There is nothing to do."))
    assert (always.ending.outcome, len(always.told)) == ("unchanged", 1), "some servers say so of every answer"


def test_a_pause_is_no_end(work):
    paused = [stopped("pause_turn", f"Part {number}.") for number in range(2)]
    done = work(*paused, "Nothing to do.")
    assert is_good(done.ending.outcome)
    assert ["Go on from there" in text for text in done.told] == [True, True]
    assert work(*[stopped("pause_turn", "Part.")] * 2).ending.outcome == "gave_up"
