"""A recording plays the model: which line comes when, in which pieces, and what is said when it ends."""

import json

import pytest

from rails.core.conversation import Message, ModelAnswer, NativeCall, TextDelta, TextPart, Usage, answer_to_json
from rails.core.errors import ModelError, UsageError
from rails.models.providers import open_model
from tests.rows import walked


def recording(tmp_path, *lines):
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return f"recorded:{path}"


def says(text, **more):
    return {"role": "assistant", "content": text, **more}


def conversation(answered):
    user = Message("user", (TextPart("?"),))
    assistant = Message("assistant", (TextPart("!"),))
    return [user, *[assistant, user] * answered]


def ask(model, answered=0):
    *pieces, answer = model.stream(system="", messages=conversation(answered), tools=[])
    assert all(isinstance(piece, TextDelta) for piece in pieces)
    return pieces, answer


def test_the_line_follows_from_the_number_of_answers_in_the_conversation(tmp_path):
    model = open_model(recording(tmp_path, says("one"), "", says("two"), says("three")))
    for answered in (2, 0, 1, 0):
        assert ask(model, answered)[1].message.text == ("one", "two", "three")[answered]


def test_each_agent_has_its_own_lines_and_those_of_nobody(tmp_path):
    spec = recording(tmp_path, says("a1", agent="a"), says("b1", agent="b"), says("all"), says("a2", agent="a"))
    model = open_model(spec)
    assert [ask(model.for_agent("a"), n)[1].message.text for n in range(3)] == ["a1", "all", "a2"]
    assert [ask(model.for_agent("b"), n)[1].message.text for n in range(2)] == ["b1", "all"]
    assert ask(model, 3)[1].message.text == "a2"


def test_the_text_is_streamed_in_pieces(tmp_path):
    text = "Grüße, 🎉 and ```json {} ```"
    pieces, answer = ask(open_model(recording(tmp_path, says(text))))
    assert "".join(piece.text for piece in pieces) == text == answer.message.text
    assert len(pieces) == 2


def test_native_calls_usage_and_stop_reasons_are_replayed(tmp_path):
    content = [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "c", "name": "t", "input_json": '{"a": '}]
    usage = {"input_tokens": 5, "output_tokens": 6}
    model = open_model(
        recording(tmp_path, says(content), says(content, stop_reason="max_tokens", usage=usage, model="m", note="n"))
    )
    first = ask(model)[1]
    second = ask(model, 1)[1]
    assert first.message.calls == (NativeCall("c", "t", '{"a": '),)
    assert (first.stop_reason, first.model) == ("tool_use", "recorded:talk.jsonl")
    assert second == ModelAnswer(first.message, "max_tokens", Usage(5, 6), "m", "n")


def test_an_answer_written_as_a_line_is_replayed_as_it_was(tmp_path):
    message = Message("assistant", (TextPart("a\u2028b\n"), NativeCall("c", "t", '{"x": "\\u2028"}')))
    answer = ModelAnswer(message, "tool_use", Usage(1, 2, 3, 4), "claude", "a note")
    body = answer_to_json(answer)
    model = open_model(
        recording(tmp_path, *(json.dumps(one, ensure_ascii=False) for one in ({"agent": "coder", **body}, body)))
    )
    assert ask(model.for_agent("coder"))[1] == answer
    assert ask(model.for_agent("other"))[1] == answer


def test_the_end_of_a_recording_is_a_clear_error(tmp_path):
    model = open_model(recording(tmp_path, says("one", agent="coder"))).for_agent("coder")
    with pytest.raises(ModelError, match=r"has 1 answer for the agent 'coder', and answer 2 was asked for"):
        ask(model, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "talk.jsonl:2: not a recorded answer: Expecting"),
        ("[]", "a message is a JSON object"),
        ({"role": "user", "content": "x"}, 'the "role" of an answer must be "assistant"'),
        ({"role": "assistant", "content": 5}, '"content" must be'),
        (says([{"type": "image"}]), 'the "type" of a block'),
        (says([{"type": "tool_use", "id": "c", "name": "t", "input": {}}]), '"input_json" must be a string'),
        (says("x", stop_reason="tired"), '"stop_reason" must be one of'),
        (says("x", agent=5), '"agent" must be a string'),
        ("[" * 100_000, "not a recorded answer"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, words):
    with pytest.raises(UsageError) as caught:
        open_model(recording(tmp_path, says("good"), line))
    assert words in str(caught.value)


def test_a_file_that_is_no_recording_is_refused(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "empty").write_text("\n\n")
    for name, words in (("missing", "cannot be read"), ("binary", "not UTF-8"), ("empty", "holds no answer")):
        with pytest.raises(UsageError, match=words):
            open_model(f"recorded:{tmp_path / name}")


@walked("spec", ["", "gpt", "nobody:x", "anthropic:", "recorded:"])
def test_an_unusable_spec_shows_how_it_is_written(spec):
    with pytest.raises(UsageError, match=r"write it as .*:"):
        open_model(spec)
