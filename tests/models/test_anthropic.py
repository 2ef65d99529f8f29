"""The adapter for Anthropic's API against a real HTTP server: what is asked, what is kept, what goes wrong."""

import json
import threading

import pytest

from rails.core import limits
from rails.core.conversation import Message, NativeCall, NativeResult, Opaque, TextDelta, TextPart, ToolSpec
from rails.core.errors import ModelError, ModelRetryable
from rails.models.anthropic import AnthropicModel
from rails.models.providers import open_model
from rails.testing import Reply, StubServer, call, says
from tests.rows import walked

HELLO = [Message("user", (TextPart("Say hello."),))]


def answer_of(stub, messages=HELLO, **options):
    model = AnthropicModel("claude-test", api_key="k", base_url=stub.url, **options)
    *pieces, answer = model.stream(system="Be brief.", messages=messages, tools=[])
    assert all(isinstance(piece, TextDelta) for piece in pieces)
    assert "".join(piece.text for piece in pieces) == answer.message.text
    return answer


def test_text_is_streamed_in_pieces_and_the_answer_comes_last():
    with StubServer([says("Hello there, ", "café 🎉", chunk_chars=3)]) as stub:
        model = AnthropicModel("claude-test", api_key="k", base_url=stub.url)
        *pieces, answer = model.stream(system="", messages=HELLO, tools=[])
    assert len(pieces) > 5
    assert answer.message.text == "Hello there, café 🎉"
    assert (answer.stop_reason, answer.model, answer.note) == ("end_turn", "claude-test", "")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)


def test_the_request_holds_only_what_the_api_takes():
    tool = ToolSpec("read_file", "Read a file.", '{"type": "object", "properties": {}}')
    with StubServer([says("ok")]) as stub:
        model = AnthropicModel("claude-test", api_key="k", base_url=stub.url, max_tokens=99)
        list(model.stream(system="Be brief.", messages=HELLO, tools=[tool]))
        body = stub.requests[0].body
    assert set(body) == {"model", "max_tokens", "messages", "system", "tools", "stream"}
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert body["tools"] == [
        {"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object", "properties": {}}}
    ]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("claude-test", 99, True)
    assert stub.requests[0].headers["authorization"] == "Bearer k"


def test_a_conversation_with_calls_and_results_goes_back_in_the_apis_form():
    thinking = json.dumps({"type": "thinking", "thinking": "", "signature": "sig"})
    messages = [
        *HELLO,
        Message(
            "assistant", (Opaque("anthropic", thinking), TextPart(" \n"), NativeCall("c1", "read_file", '{"a": 1}'))
        ),
        Message("user", (TextPart("And then?"), NativeResult("c1", "no such file", True))),
        Message("assistant", ()),
        Message("user", (TextPart("Go on."),)),
    ]
    with StubServer([says("ok")]) as stub:
        answer_of(stub, messages)
        sent = stub.requests[0].body["messages"]
    assert sent[1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "sig"},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"a": 1}},
    ]
    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no such file", "is_error": True},
        {"type": "text", "text": "And then?", "cache_control": {"type": "ephemeral"}},
    ]
    assert sent[3]["content"] == [{"type": "text", "text": "(nothing)"}]
    assert sent[4]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@walked("raw", ['{"path": a.py}', '{"a": 1, "a": 2}', '{"a": NaN}', "[1]", '{"a": ', "[" * 100_000])
def test_a_call_that_is_not_one_json_object_is_echoed_as_what_it_was(raw):
    messages = [*HELLO, Message("assistant", (NativeCall("c1", "t", raw),)), Message("user", (TextPart("?"),))]
    with StubServer([says("ok")]) as stub:
        answer_of(stub, messages)
        assert stub.requests[0].body["messages"][1]["content"][0]["input"] == {"INVALID_JSON": raw[:800]}


def test_a_lone_surrogate_does_not_stop_a_request():
    with StubServer([says("ok")]) as stub:
        answer_of(stub, [Message("user", (TextPart("bad \ud800 text"),))])
        assert stub.requests[0].body["messages"][0]["content"][0]["text"] == "bad ? text"


# What the SDK's accumulation makes of broken tool JSON, and what is kept here instead. The comments
# are the SDK's results; each row holds because the text is handed on as it came.
BROKEN_CALLS = {
    "not JSON": '{"path": a.py}',  # ValueError, the text before it is lost
    "cut inside a string": '{"path": "a.py", "content": "import o',  # the key is missing
    "cut inside an array": '{"path": "a.py", "items": ["a", "b"',  # a shorter array, valid for a schema
    "cut inside a number": '{"line": 12',  # a shorter number, valid for a schema
    "nothing": "",  # {}
    "an array": "[1,2]",  # a list as input
    "two objects": '{"a":1}{"b":2}',  # the second is dropped
    "a key twice": '{"a":1,"a":2}',  # the last wins
    "NaN": '{"a":NaN}',  # nan
    "control characters": '{"a":"\x01\u2028"}',
}


@walked("raw", BROKEN_CALLS.values())
@walked("chunk_chars", [1, 5, 1000])
def test_the_arguments_of_a_call_are_kept_as_the_text_that_came(raw, chunk_chars):
    reply = says("Before. ", NativeCall("toolu_9", "write_file", raw), "After.", chunk_chars=chunk_chars)
    with StubServer([reply]) as stub:
        answer = answer_of(stub)
    assert answer.message.calls == (NativeCall("toolu_9", "write_file", raw),)
    assert answer.message.text == "Before. After."
    assert answer.stop_reason == "tool_use"


def test_several_calls_stay_apart_and_in_order():
    calls = [NativeCall(f"toolu_{n}", "t", f'{{"n": {n}}}') for n in range(4)]
    with StubServer([says("a", *calls)]) as stub:
        assert answer_of(stub).message.calls == tuple(calls)


def test_a_call_sent_whole_as_an_object_becomes_text():
    block = {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"path": "ü.py"}}
    with StubServer([says(block, stop_reason="tool_use")]) as stub:
        assert answer_of(stub).message.calls == (NativeCall("toolu_1", "t", '{"path": "ü.py"}'),)


@walked(
    ("sent", "stop", "note"),
    [
        ("end_turn", "end_turn", ""),
        ("tool_use", "tool_use", ""),
        ("stop_sequence", "stop_sequence", "stop sequence"),
        ("pause_turn", "pause_turn", "paused"),
        ("max_tokens", "max_tokens", "the limit of its tokens"),
        ("model_context_window_exceeded", "max_tokens", "context"),
        ("refusal", "refusal", "The request was declined."),
        ("compaction", "cut", "broke off the answer"),
        (None, "cut", "before it was complete"),
    ],
)
def test_every_stop_reason_is_mapped_and_said_in_words(sent, stop, note):
    with StubServer([call("t", '{"a":', stop_reason=sent)]) as stub:
        answer = answer_of(stub)
    assert answer.stop_reason == stop
    assert note in answer.note
    assert answer.message.calls[0].arguments == '{"a":'


def test_a_body_that_ends_without_a_stop_is_a_cut_answer_that_keeps_its_text():
    for events in range(3, 7):
        with StubServer([says("Hello there", chunk_chars=4, cut_after=events)]) as stub:
            answer = answer_of(stub)
        assert answer.stop_reason == "cut"
        assert "Hello there".startswith(answer.message.text)


@walked("cut", ["close", "reset"])
def test_a_connection_lost_in_the_middle_is_retryable_and_the_pieces_before_it_count(cut):
    pieces = []
    with StubServer([says("Hello there", chunk_chars=4, cut_after=4, cut=cut, pause_s=0.02)]) as stub:
        model = AnthropicModel("claude-test", api_key="k", base_url=stub.url)
        with pytest.raises(ModelRetryable, match=r"broke off in the middle of its answer|could not be reached"):
            pieces.extend(model.stream(system="", messages=HELLO, tools=[]))
    assert "".join(piece.text for piece in pieces) in ("Hello th", "Hell")


@walked(
    ("kind", "error", "words"),
    [
        ("overloaded_error", ModelRetryable, "overloaded"),
        ("rate_limit_error", ModelRetryable, "too many requests"),
        ("api_error", ModelRetryable, "failed"),
        ("a_new_error", ModelRetryable, "failed"),
        ("invalid_request_error", ModelError, "rejected as invalid"),
        ("authentication_error", ModelError, "API key"),
    ],
)
def test_an_error_event_inside_the_stream_is_told_by_its_type(kind, error, words):
    with (
        StubServer([says("Hello there", cut_after=3, error_event=kind, message="so it is")]) as stub,
        pytest.raises(ModelError, match=words) as caught,
    ):
        answer_of(stub)
    assert type(caught.value) is error
    assert "so it is" in str(caught.value)


@walked("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_passing_status_is_retryable_and_names_the_pause(status):
    with (
        StubServer([Reply(status=status, message="slow down", retry_after=2.5)]) as stub,
        pytest.raises(
            ModelRetryable, match=rf"HTTP {status}\), and asks to wait 2\.5 s\. It says: slow down"
        ) as caught,
    ):
        answer_of(stub)
    assert caught.value.retry_after == 2.5
    assert len(stub.requests) == 1, "the session retries, not the adapter"


def test_a_pause_that_is_too_long_to_wait_is_cut_to_a_bound():
    with StubServer([Reply(status=429, retry_after=3_600)]) as stub, pytest.raises(ModelRetryable) as caught:
        answer_of(stub)
    assert caught.value.retry_after == limits.MODEL_PAUSE_SECONDS


@walked("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "-4", "nan", "1e99", ""])
def test_an_odd_retry_after_is_no_pause(header):
    with (
        StubServer([Reply(status=429, retry_after=header)]) as stub,
        pytest.raises(ModelRetryable) as caught,
    ):
        answer_of(stub)
    assert caught.value.retry_after is None


@walked(
    ("status", "remedy"),
    [(400, "model name"), (401, "API key"), (403, "another model"), (404, "base URL"), (413, "new session")],
)
def test_a_lasting_status_says_what_to_do(status, remedy):
    with StubServer([Reply(status=status)]) as stub, pytest.raises(ModelError, match=remedy) as caught:
        answer_of(stub)
    assert not isinstance(caught.value, ModelRetryable)


def test_a_server_that_answers_with_the_whole_message_is_understood():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I read it."},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"file_path": "a"}},
    ]
    body = {"type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use"}
    with StubServer([Reply(raw=json.dumps({**body, "usage": {"input_tokens": 9}}).encode())]) as stub:
        answer = answer_of(stub)
    assert answer.message.text == "I read it."
    assert [(one.id, one.name, json.loads(one.arguments)) for one in answer.message.calls] == [
        ("c1", "read_file", {"file_path": "a"})
    ]
    assert json.loads(answer.message.parts[0].data)["signature"] == "s"
    assert (answer.stop_reason, answer.usage.input_tokens, answer.model) == ("tool_use", 9, "m")


def test_an_answer_without_end_is_stopped_at_a_bound(monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_CHARS", 100)
    with StubServer([says("x" * 5_000, chunk_chars=10)]) as stub:
        answer = answer_of(stub)
    assert (answer.stop_reason, answer.note) == ("cut", "the answer was stopped at 100 characters")
    assert 100 < len(answer.message.text) <= 110


def test_thinking_is_kept_for_the_next_request_and_not_shown():
    thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    with StubServer([says(thinking, redacted, "Hello")]) as stub:
        answer = answer_of(stub)
    assert answer.message.text == "Hello"
    assert answer.message.parts[0] == Opaque("anthropic", json.dumps(redacted)), "unsigned thinking cannot go back"


def test_a_consumer_that_stops_early_closes_the_connection(monkeypatch):
    gone = threading.Event()
    monkeypatch.setattr("rails.testing.server._Server.handle_error", lambda *_: gone.set())
    with StubServer([says("x" * 4000, chunk_chars=4, pause_s=0.001)]) as stub:
        stream = AnthropicModel("claude-test", api_key="k", base_url=stub.url).stream(
            system="", messages=HELLO, tools=[]
        )
        next(stream)
        stream.close()
        assert gone.wait(10), "the server could send its whole answer"


def test_the_key_comes_from_the_environment_and_is_not_shown(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    model = open_model("anthropic:claude-test")
    assert (model.name, model.base_url) == ("claude-test", "https://api.anthropic.com")
    assert "secret" not in repr(model)
    assert model.for_agent("coder") is model


def test_without_a_key_only_a_server_of_ones_own_can_be_asked(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY is not set"):
        open_model("anthropic:claude-test")
    with StubServer([says("ok")]) as stub:
        *_, answer = open_model("anthropic:local", base_url=stub.url).stream(system="", messages=HELLO, tools=[])
    assert answer.message.text == "ok"


def test_a_path_in_front_of_the_api_is_kept(monkeypatch):
    with StubServer([says("ok")]) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{stub.url}/proxy/v9")
        list(open_model("anthropic:local").stream(system="", messages=HELLO, tools=[]))
    assert stub.requests[0].path == "/proxy/v9/v1/messages"
