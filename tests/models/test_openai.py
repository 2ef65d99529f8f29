"""The OpenAI-compatible adapter over real HTTP: what is asked, what is kept, what goes wrong."""

import json

import pytest

from rails.core import limits
from rails.core.conversation import Message, NativeCall, NativeResult, Opaque, TextPart, ToolSpec
from rails.core.errors import ModelError, ModelRetryable, ModelTooLongError, UsageError
from rails.models.model import ModelOptions
from rails.models.openai import OpenAIModel
from rails.models.providers import open_model
from rails.testing import Reply, StubServer, says
from tests.rows import walked

HELLO = [Message("user", (TextPart("Say hello."),))]


def answer_of(stub, messages=HELLO, **options):
    model = OpenAIModel("local-model", api_key="k", base_url=f"{stub.url}/v1", **options)
    *pieces, answer = model.stream(system="Be brief.", messages=messages, tools=[])
    assert "".join(piece.text for piece in pieces) == answer.message.text
    return answer


def chunks(*deltas, finish="tool_calls", done=True):
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Reply(raw=(": keep-alive\n\n" + body + ("data: [DONE]\n\n" if done else "")).encode())


def test_text_is_streamed_and_usage_is_counted():
    with StubServer([says("Hello there, ", "café 🎉", chunk_chars=3)]) as stub:
        model = OpenAIModel("local-model", api_key="", base_url=f"{stub.url}/v1")
        *pieces, answer = model.stream(system="", messages=HELLO, tools=[])
    assert len(pieces) > 5
    assert (answer.message.text, answer.stop_reason, answer.model) == (
        "Hello there, café 🎉",
        "end_turn",
        "local-model",
    )
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    assert "authorization" not in stub.requests[0].headers


def test_a_conversation_with_calls_and_results_goes_in_the_apis_form():
    tool = ToolSpec("read_file", "Read a file.", '{"type": "object"}')
    messages = [
        *HELLO,
        Message("assistant", (Opaque("anthropic", "{}"), TextPart("hm"), NativeCall("c1", "t", '{"a": 1}'))),
        Message("user", (TextPart("And?"), NativeResult("c1", "no such file", True))),
        Message("assistant", (NativeCall("c2", "t", '{"a": '),)),
        Message("user", (NativeResult("c2", "not JSON", True),)),
    ]
    with StubServer([says("ok")]) as stub:
        model = OpenAIModel("m", api_key="k", base_url=f"{stub.url}/v1", max_tokens=9)
        list(model.stream(system="Be brief.", messages=messages, tools=[tool]))
        request = stub.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer k"
    assert request.body["max_tokens"] == 9
    assert request.body["tools"] == [
        {
            "type": "function",
            "function": {"name": "read_file", "description": "Read a file.", "parameters": {"type": "object"}},
        }
    ]
    roles = [message["role"] for message in request.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user", "assistant", "tool"]
    assert request.body["messages"][2]["tool_calls"][0]["function"] == {"name": "t", "arguments": '{"a": 1}'}
    broken = json.loads(request.body["messages"][5]["tool_calls"][0]["function"]["arguments"])
    assert broken == {"INVALID_JSON": '{"a": '}


@walked("raw", ['{"path": a.py}', '{"items": ["a", "b"', "", "[1,2]", '{"a":1}{"b":2}', '{"a":NaN}'])
def test_the_arguments_of_a_call_are_kept_as_the_text_that_came(raw):
    with StubServer([says("hm", NativeCall("c1", "t", raw), NativeCall("c2", "t", raw), chunk_chars=2)]) as stub:
        answer = answer_of(stub)
    assert answer.message.calls == (NativeCall("c1", "t", raw), NativeCall("c2", "t", raw))
    assert (answer.message.text, answer.stop_reason) == ("hm", "tool_use")


def test_whole_arguments_without_an_index_stay_apart_by_their_ids():
    first = {"id": "a", "function": {"name": "t", "arguments": '{"n": 1}'}}
    second = {"id": "b", "function": {"name": "u", "arguments": '{"n":'}}
    more = {"function": {"arguments": " 2}"}}
    with StubServer([chunks({"tool_calls": [first]}, {"tool_calls": [second]}, {"tool_calls": [more]})]) as stub:
        assert answer_of(stub).message.calls == (NativeCall("a", "t", '{"n": 1}'), NativeCall("b", "u", '{"n": 2}'))


def test_arguments_as_an_object_become_text_and_a_missing_id_is_made_up():
    piece = {"index": 0, "function": {"name": "t", "arguments": {"path": "ü"}}}
    with StubServer([chunks({"tool_calls": [piece]}, done=False)]) as stub:
        assert answer_of(stub).message.calls == (NativeCall("call_0", "t", '{"path": "ü"}'),)


@walked(
    ("finish", "stop", "note"),
    [
        ("stop", "end_turn", ""),
        ("tool_calls", "tool_use", ""),
        ("length", "max_tokens", "the limit of its tokens"),
        ("content_filter", "refusal", "refused"),
        ("insufficient_system_resource", "cut", "broke off the answer"),
        ("compaction", "cut", "broke off the answer"),
    ],
)
def test_every_finish_reason_is_mapped_and_said_in_words(finish, stop, note):
    with StubServer([chunks({"content": "a"}, finish=finish)]) as stub:
        answer = answer_of(stub)
    assert answer.stop_reason == stop
    assert note in answer.note


def test_silence_and_loss_are_retryable_and_absence_on_this_machine_is_not():
    silent = [says("late", hang_s=20), says("Hello there, you", chunk_chars=4, pause_s=20)]
    with StubServer(silent) as stub:
        for _ in silent:
            with pytest.raises(ModelRetryable, match=r"did not answer within 0\.2 s"):
                answer_of(stub, silence_s=0.2)
    with pytest.raises(ModelError, match="Nothing listens there") as gone:
        answer_of(stub)
    assert not isinstance(gone.value, ModelRetryable)
    for cut in ("close", "reset"):
        with (
            StubServer([says("Hello there", chunk_chars=4, cut_after=2, cut=cut)]) as stub,
            pytest.raises(ModelRetryable, match=r"broke off|could not be reached"),
        ):
            answer_of(stub)


def test_a_body_that_ends_early_is_a_cut_answer():
    with StubServer([says("Hello there", chunk_chars=4, cut_after=2)]) as stub:
        answer = answer_of(stub)
    assert (answer.stop_reason, answer.message.text) == ("cut", "Hello th")


@walked(
    ("error", "kind"),
    [
        ({"message": "busy", "code": 503}, ModelRetryable),
        ({"message": "busy", "type": "invalid_request_error"}, ModelError),
        ("busy", ModelRetryable),
    ],
)
def test_an_error_inside_the_stream_is_told(error, kind):
    reply = Reply(raw=f"data: {json.dumps({'error': error})}\n\n".encode())
    with StubServer([reply]) as stub, pytest.raises(ModelError, match="busy") as caught:
        answer_of(stub)
    assert type(caught.value) is kind


def test_the_key_and_the_address_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set"):
        open_model("openai:m")
    with pytest.raises(UsageError, match="must begin with http"):
        open_model("openai:m", base_url="file:///etc/passwd")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")
    model = open_model("openai:m")
    assert model.base_url == "http://127.0.0.1:9/v1"
    assert "secret" not in repr(model)


def test_openais_own_server_is_told_the_limit_by_its_newer_name():
    assert b"max_completion_tokens" in OpenAIModel("m", "")._request("", HELLO, [])


def test_an_answer_without_end_is_stopped_at_a_bound(monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_CHARS", 100)
    with StubServer([says("x" * 5_000, chunk_chars=10)]) as stub:
        answer = answer_of(stub)
    assert (answer.stop_reason, answer.note) == ("cut", "the answer was stopped at 100 characters")


def test_a_steady_model_asks_for_temperature_0_1_and_the_others_ask_for_none():
    with StubServer([says("one"), says("two")]) as stub:
        model = OpenAIModel("local-model", api_key="", base_url=f"{stub.url}/v1")
        for one in (model, model.at(0.1)):
            list(one.stream(system="", messages=HELLO, tools=[]))
        assert [request.body.get("temperature") for request in stub.requests] == [None, 0.1]


@walked("kind", ["anthropic", "openai"])
def test_c4_01_a_model_that_refuses_the_temperature_is_asked_again_without_it(kind):
    refused = Reply(status=400, message="Unsupported value: 'temperature' does not support 0.1 with this model.")
    with StubServer([refused, says("two")]) as stub:
        model = open_model(f"{kind}:m", base_url=stub.url + ("/v1" if kind == "openai" else "")).at(0.1)
        *_, answer = model.stream(system="", messages=HELLO, tools=[])
        assert answer.message.text == "two"
        assert [request.body.get("temperature") for request in stub.requests] == [0.1, None]


def test_another_refusal_of_a_steady_model_is_told_and_not_asked_again():
    with StubServer([Reply(status=400, message="no such model"), says("two")]) as stub:
        model = open_model("openai:m", base_url=f"{stub.url}/v1").at(0.1)
        with pytest.raises(ModelError, match="no such model"):
            list(model.stream(system="", messages=HELLO, tools=[]))
        assert len(stub.requests) == 1


def test_a_server_that_answers_with_the_whole_message_is_understood():
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"file_path": "a"}'}}
    message = {"role": "assistant", "content": "I read it.", "tool_calls": [call]}
    body = {
        "model": "m",
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 9},
    }
    for indent in (None, 2):
        with StubServer([Reply(raw=json.dumps(body, indent=indent).encode())]) as stub:
            answer = answer_of(stub)
        assert answer.message.text == "I read it."
        assert [(one.name, one.arguments) for one in answer.message.calls] == [("read_file", '{"file_path": "a"}')]
        assert (answer.stop_reason, answer.usage.input_tokens) == ("tool_use", 9)


def test_a_refusal_in_words_is_a_refusal_and_content_in_parts_is_read():
    with StubServer([chunks({"refusal": "I cannot "}, {"refusal": "do that."}, finish="stop")]) as stub:
        answer = answer_of(stub)
    assert (answer.stop_reason, answer.note) == ("refusal", "I cannot do that.")
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}]
    with StubServer([chunks({"content": parts}, {"content": " you"}, finish="stop")]) as stub:
        assert answer_of(stub).message.text == "Hi you"
    for odd in (7, {"text": "x"}, [7], [{"type": "text", "text": 7}]):
        with StubServer([chunks({"content": odd}, finish="stop")]) as stub, pytest.raises(ModelError):
            answer_of(stub)


def test_a_server_that_lists_no_models_says_nothing_of_the_window():
    with StubServer([Reply(raw=b"")]) as stub:
        model = OpenAIModel("m", "", f"{stub.url}/v1")
        assert model.served_window() == 0


@walked(
    ("said", "limit"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8192),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("the request exceeds the available context size (4096 tokens)", 4096),
        ("input is too long for this model", 0),
    ],
)
def test_a_prompt_that_is_too_long_is_told_with_the_limit(said, limit):
    with StubServer([Reply(status=400, message=said)]) as stub, pytest.raises(ModelTooLongError) as caught:
        answer_of(stub)
    assert caught.value.limit == limit


def test_c14_13_ollama_and_openrouter_are_named_and_ask_with_their_own_key_and_address(monkeypatch):
    with StubServer([says("one"), says("two")]) as stub:
        environment = {"OLLAMA_BASE_URL": stub.url, "OPENAI_API_KEY": "not for them", "OPENROUTER_API_KEY": "theirs"}
        options = ModelOptions(environment=environment)
        ollama = open_model("ollama:qwen2.5-coder:32b", options=options)
        openrouter = open_model("openrouter:vendor/model", base_url=f"{stub.url}/v1", options=options)
        for model in (ollama, openrouter):
            list(model.stream(system="", messages=HELLO, tools=[]))
    assert [request.body["model"] for request in stub.requests] == ["qwen2.5-coder:32b", "vendor/model"]
    assert [request.path for request in stub.requests] == ["/v1/chat/completions"] * 2
    assert [request.headers.get("authorization") for request in stub.requests] == [None, "Bearer theirs"]
    with pytest.raises(ModelError, match="OPENROUTER_API_KEY is not set"):
        open_model("openrouter:vendor/model", options=ModelOptions(environment={}))
