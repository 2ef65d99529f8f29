"""What real services and local servers send, over every interface that is spoken: read whole, or said what is missing.

Each interface has its stub server. ``SHAPES`` are ways to send one and the same answer, and each must give the same.
"""

import itertools
import json

import pytest

from rails.core.conversation import Message, NativeCall, NativeResult, Opaque, TextPart, ToolSpec
from rails.core.errors import ModelError, ModelRetryable
from rails.models.model import ModelOptions
from rails.models.providers import PROVIDERS, open_model
from rails.testing import (
    Reply,
    StubServer,
    anthropic_events,
    call,
    gemini_events,
    openai_events,
    responses_events,
    says,
)
from tests.rows import walked

WIRES = {
    "anthropic": anthropic_events,
    "openai": openai_events,
    "responses": responses_events,
    "gemini": gemini_events,
}
#: Where a request has its messages.
MESSAGES = {"anthropic": "messages", "openai": "messages", "responses": "input", "gemini": "contents"}
HELLO = [Message("user", (TextPart("Say hello."),))]
PARTS = ["Grüße 🎉. ", NativeCall("c1", "read_file", '{"file_path": "ü.py"}')]
TOOL = ToolSpec("read_file", "Read a file.", '{"type": "object", "properties": {"file_path": {"type": "string"}}}')


def model_of(wire, stub):
    path = "/v1" if wire in ("openai", "responses") else ""
    return open_model(f"{wire}:m", base_url=stub.url + path, options=ModelOptions(environment={}))


def answer_of(wire, *replies, messages=HELLO):
    with StubServer(replies) as stub:
        *pieces, answer = model_of(wire, stub).stream(system="Be brief.", messages=messages, tools=[TOOL])
    assert "".join(piece.text for piece in pieces) == answer.message.text
    return answer


def asked(wire, *parts):
    """Return what a second request has for the model's first answer, as text."""
    with StubServer([says(*parts), says("ok"), says("ok")]) as stub:
        model = model_of(wire, stub)
        *_, answer = model.stream(system="", messages=HELLO, tools=[TOOL])
        results = tuple(NativeResult(one.id, "x = 1", False) for one in answer.message.calls)
        told = Message("user", results or (TextPart("Go on."),))
        list(model.stream(system="", messages=[*HELLO, answer.message, told], tools=[TOOL]))
        return stub.requests[1].body[MESSAGES[wire]]


# One answer, sent in every shape that servers have for it.


def stream(wire):
    return b"".join(WIRES[wire](PARTS, "tool_use", "m", 7))


def whole(wire):
    """The answer as one JSON document, as servers send it that do not stream whatever they are asked."""
    text, one = PARTS
    function = {"name": one.name, "arguments": one.arguments}
    content = [{"type": "output_text", "text": text}]
    bodies = {
        "anthropic": {
            "type": "message",
            "model": "m",
            "content": [
                {"type": "text", "text": text},
                {"type": "tool_use", "id": one.id, "name": one.name, "input": json.loads(one.arguments)},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 11, "output_tokens": 7},
        },
        "openai": {
            "model": "m",
            "choices": [
                {
                    "message": {"content": text, "tool_calls": [{"id": one.id, "function": function}]},
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        },
        "responses": {
            "model": "m",
            "status": "completed",
            "error": None,
            "output": [
                {"type": "message", "role": "assistant", "content": content},
                {"type": "function_call", "call_id": one.id, **function},
            ],
            "usage": {"input_tokens": 11, "output_tokens": 7},
        },
        "gemini": {
            "modelVersion": "m",
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"text": text},
                            {"functionCall": {"id": one.id, "name": one.name, "args": json.loads(one.arguments)}},
                        ]
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7},
        },
    }
    return json.dumps(bodies[wire], indent=2, ensure_ascii=False).encode()


SHAPES = {
    "a stream": stream,
    "a whole document": whole,
    "lines that end with CRLF": lambda wire: stream(wire).replace(b"\n", b"\r\n"),
    "no blank after the colon": lambda wire: stream(wire).replace(b"data: ", b"data:"),
    "signs of life": lambda wire: stream(wire).replace(b"\n\n", b"\n\n: keep-alive\n\n:\n\nevent: ping\n\n"),
    "letters as they are": lambda wire: json_as_utf8(stream(wire)),
    "more behind the end": lambda wire: stream(wire) + b"data: \n\n",
    "no [DONE]": lambda wire: stream(wire).replace(b"data: [DONE]\n\n", b""),
    "a mark of byte order first": lambda wire: b"\xef\xbb\xbf" + stream(wire),
    "a comment first": lambda wire: b": OPENROUTER PROCESSING\n\n" + stream(wire),
}


def json_as_utf8(body):
    lines = []
    for line in body.split(b"\n"):
        name, colon, data = line.partition(b": ")
        if name == b"data" and data != b"[DONE]":
            data = json.dumps(json.loads(data), ensure_ascii=False).encode()
        lines.append(name + colon + data)
    return b"\n".join(lines)


@walked("shape", SHAPES.values())
@walked("wire", WIRES)
def test_one_answer_is_read_alike_in_every_shape(wire, shape):
    answer = answer_of(wire, Reply(raw=shape(wire)))
    assert answer.message.text == PARTS[0]
    assert [(one.id, one.name, json.loads(one.arguments)) for one in answer.message.calls] == [
        ("c1", "read_file", {"file_path": "ü.py"})
    ]
    assert answer.stop_reason in ("end_turn", "tool_use")
    assert (answer.model, answer.usage.input_tokens, answer.usage.output_tokens) == ("m", 11, 7)


@walked("wire", WIRES)
def test_letters_that_the_network_tears_are_whole(wire):
    from rails.models.http import answer_of_events

    body = json_as_utf8(stream(wire))
    model = open_model(f"{wire}:m", base_url="http://127.0.0.1:9", options=ModelOptions(environment={}))
    for size in (1, 2, 3, 5):
        reading = model.READING("s", "m")
        pieces = (body[start : start + size] for start in range(0, len(body), size))
        *_, answer = answer_of_events(pieces, "U", "x", reading)
        assert (answer.message.text, len(answer.message.calls)) == (PARTS[0], 1)


@walked("wire", WIRES)
def test_an_error_behind_text_is_an_error_and_one_that_passes_may_be_tried_again(wire):
    error = {"error": {"message": "too busy", "type": "overloaded_error", "code": 529}}
    head = b"".join(list(WIRES[wire](["Hello there"], "end_turn", "m", 4))[:-2])
    with pytest.raises(ModelRetryable, match="too busy"):
        answer_of(wire, Reply(raw=head + b"data: " + json.dumps(error).encode() + b"\n\n"))


def test_the_errors_of_the_responses_interface_are_told():
    for body in (
        {"type": "error", "code": "server_error", "message": "it broke"},
        {"type": "response.failed", "response": {"status": "failed", "error": {"message": "it broke"}}},
    ):
        reply = Reply(raw=f"data: {json.dumps(body)}\n\n".encode())
        try:
            assert "it broke" in answer_of("responses", reply).note
        except ModelError as error:
            assert "it broke" in str(error)  # noqa: PT017 - either is right


# Calls.


def chunk(*calls, finish=None, **delta):
    body = {
        "choices": [{"delta": {**delta, **({"tool_calls": list(calls)} if calls else {})}, "finish_reason": finish}]
    }
    return f"data: {json.dumps(body)}\n\n"


def piece(arguments, *, name=None, **place):
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {**place, "function": function}


A = '{"n": "a"}'
B = '{"n": "b"}'
#: Ways to stream a call of t with A and one of u with B.
PARALLEL = {
    "index": [piece(A, name="t", index=0, id="x"), piece(B, name="u", index=1, id="y")],
    "one index, two ids": [piece(A, name="t", index=0, id="x"), piece(B, name="u", index=0, id="y")],
    "one index, two ids, in pieces": [
        piece("", name="t", index=0, id="x"),
        piece(A[:4], index=0),
        piece(A[4:], index=0),
        piece("", name="u", index=0, id="y"),
        piece(B[:4], index=0),
        piece(B[4:], index=0),
    ],
    "one index, no ids": [piece(A, name="t", index=0), piece(B, name="u", index=0)],
    "nothing": [piece(A, name="t"), piece(B, name="u")],
    "nothing, in pieces": [piece(A[:4], name="t"), piece(A[4:]), piece(B[:4], name="u"), piece(B[4:])],
    "ids alone": [piece(A, name="t", id="x"), piece(B, name="u", id="y")],
    "the name last": [
        piece(A, index=0, id="x"),
        piece("", name="t", index=0, id="x"),
        piece(B, index=0, id="y"),
        piece("", name="u", index=0, id="y"),
    ],
    "the name again and again": [
        piece(A[:4], name="t", index=0, id="x"),
        piece(A[4:], name="t", index=0, id="x"),
        piece(B[:4], name="u", index=1, id="y"),
        piece(B[4:], name="u", index=1, id="y"),
    ],
    "another id with each piece": [
        piece(A[:4], name="t", index=0, id="x1"),
        piece(A[4:], index=0, id="x2"),
        piece(B[:4], name="u", index=1, id="y1"),
        piece(B[4:], index=1, id="y2"),
    ],
    "pieces that alternate": [
        piece(A[:4], name="t", index=0, id="x"),
        piece(B[:4], name="u", index=1, id="y"),
        piece(A[4:], index=0),
        piece(B[4:], index=1),
    ],
    "objects": [piece({"n": "a"}, name="t", index=0), piece({"n": "b"}, name="u", index=0)],
    "a null id": [piece(A, name="t", index=0, id=None), piece(B, name="u", index=0, id="")],
    "blanks behind": [piece(A, name="t", index=0), piece("\n", index=0), piece(B, name="u", index=0)],
    "blanks behind, the name again": [piece(A, name="t"), piece("\n", name="t"), piece(B, name="u")],
    "another name behind what is not whole": [piece("", name="t", index=0), piece(A, index=0), piece(B, name="u")],
    "ids without an index": [piece(A[:4], name="t", id="x"), piece(B, name="u", id="y"), piece(A[4:], id="x")],
}


@walked("together", [False, True])
@walked("pieces", PARALLEL.values())
def test_parallel_calls_are_told_apart_by_id_or_index_or_a_whole_value(pieces, together):
    sent = chunk(*pieces) if together else "".join(map(chunk, pieces))
    answer = answer_of("openai", Reply(raw=f"{sent}{chunk(finish='tool_calls')}data: [DONE]\n\n".encode()))
    assert [(one.name, json.loads(one.arguments)) for one in answer.message.calls] == [
        ("t", {"n": "a"}),
        ("u", {"n": "b"}),
    ]
    assert len({one.id for one in answer.message.calls}) == 2


def test_a_call_in_the_older_form_of_one_function_is_read():
    """As servers send it that know no ``tool_calls``."""
    body = chunk(function_call={"name": "t", "arguments": A}, finish="function_call")
    [one] = answer_of("openai", Reply(raw=body.encode())).message.calls
    assert (one.name, one.arguments) == ("t", A)


WORDS = ["", None, "eos", "STOP", "tool_use", "end_turn", "eos_token", "completed", "stop_sequence", "TOOL_CALLS"]
WORDS += ["tool_call", "normal", "done", "finished", "complete", "FINISH_REASON_STOP", "<|im_end|>", "tired"]


@walked("word", WORDS)
def test_an_answer_that_is_whole_counts_as_whole_whatever_the_server_calls_its_end(word):
    for content in ({"tool_calls": [piece(A, name="t", id="x")]}, {"content": "Hello."}):
        sent = chunk(**content) + chunk(finish=word)
        answer = answer_of("openai", Reply(raw=f"{sent}data: [DONE]\n\n".encode()))
        assert answer.stop_reason in ("end_turn", "tool_use", "stop_sequence")
        torn = chunk(tool_calls=[piece(A[:5], name="t", id="x")]) + chunk(finish=word)
        for body in (sent if word in ("", None, "eos", "tired") else "", f"{torn}data: [DONE]\n\n"):
            if body and word in ("", None, "eos", "tired", "done"):
                assert answer_of("openai", Reply(raw=body.encode())).stop_reason == "cut"


BROKEN_OFF = {
    "length": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
    "SAFETY": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "error": "cut",
    "abort": "cut",
    "insufficient_system_resource": "cut",
}


@walked("word", BROKEN_OFF)
def test_a_word_for_an_answer_that_was_broken_off_is_believed(word):
    body = chunk(piece(A, name="t", id="x")) + chunk(finish=word) + "data: [DONE]\n\n"
    assert answer_of("openai", Reply(raw=body.encode())).stop_reason == BROKEN_OFF[word]


GENERATED = '<function=write_file>{"file_path": "a.py", "content": "x}</function>'
GROQ = {"error": {"message": "Failed to call a function. See 'failed_generation'.", "failed_generation": GENERATED}}
BAD_CALLS = {
    "Groq's status": ("openai", [GENERATED], 400, GROQ),
    "Ollama's status": ("openai", ["error parsing tool call"], 500, {"error": "error parsing tool call: raw='{'"}),
    "llama.cpp's status": (
        "openai",
        ["Failed to parse input"],
        500,
        {"error": {"message": "Failed to parse input at pos 9"}},
    ),
    "Groq's event": ("openai", [GENERATED], 200, GROQ),
    "Gemini's word": (
        "gemini",
        ["no such function"],
        200,
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "no such function"}]},
    ),
    "Gemini's word by way of OpenAI's": (
        "openai",
        [],
        200,
        {"choices": [{"delta": {}, "finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL"}]},
    ),
}


@walked(("wire", "words", "status", "body"), BAD_CALLS.values())
def test_a_call_that_the_server_could_not_read_is_said_to_the_model(wire, words, status, body):
    head = "data: " if status == 200 else ""
    answer = answer_of(wire, Reply(status=status, raw=f"{head}{json.dumps(body)}\n\n".encode()))
    assert (answer.stop_reason, answer.message.calls) == ("cut", ())
    assert answer.note.startswith("the model's server could not read the call")
    assert all(one in answer.note for one in words)


# What goes back with the next request.


SIGNED = {"google": {"thought_signature": "OPAQUE+/="}}
DETAILS = [{"type": "reasoning.encrypted", "data": "OPAQUE", "index": 0, "new": [1, None]}]
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
#: What a server sends, and what of it the next request must hold.
KEPT = {
    "OpenAI's interface, a call's own fields": (
        "openai",
        [{"tool_calls": [{**CALL, "extra_content": SIGNED}]}],
        lambda sent: sent[-2]["tool_calls"][0]["extra_content"] == SIGNED,
    ),
    "OpenAI's interface, thoughts": (
        "openai",
        [{"reasoning_content": "First "}, {"reasoning_content": "this."}, PARTS[1]],
        lambda sent: sent[-2]["reasoning_content"] == "First this.",
    ),
    "OpenRouter, thoughts in pieces": (
        "openai",
        [
            {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]},
            {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "signature": "S", "index": 0}]},
            {"reasoning_details": DETAILS},
            "Hello",
        ],
        lambda sent: (
            sent[-2]["reasoning"] == "aa"
            and sent[-2]["reasoning_details"]
            == [{"type": "reasoning.text", "text": "aa", "index": 0, "signature": "S"}, *DETAILS]
        ),
    ),
    "Anthropic's interface, thoughts": (
        "anthropic",
        [{"type": "thinking", "thinking": "", "signature": "OPAQUE", "new": 1}, PARTS[1]],
        lambda sent: sent[-2]["content"][0] == {"type": "thinking", "thinking": "", "signature": "OPAQUE", "new": 1},
    ),
    "Anthropic's interface, a call's own fields": (
        "anthropic",
        [{"type": "tool_use", "id": "c1", "name": "read_file", "input": {"a": 1}, "caller": {"type": "direct"}}],
        lambda sent: sent[-2]["content"][0]["caller"] == {"type": "direct"},
    ),
    "Responses, thoughts": (
        "responses",
        [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "OPAQUE", "new": {"a": []}}, PARTS[1]],
        lambda sent: (
            sent[1]
            == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "OPAQUE", "new": {"a": []}}
        ),
    ),
    "Responses, the phase of a message": (
        "responses",
        [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "phase": "commentary",
                "content": [{"type": "output_text", "text": "Hm."}],
            },
            PARTS[1],
        ],
        lambda sent: sent[1] == {"role": "assistant", "content": "Hm.", "phase": "commentary"},
    ),
    "Gemini, a call's signature": (
        "gemini",
        [{"functionCall": {"name": "read_file", "args": {"a": 1}}, "thoughtSignature": "OPAQUE"}],
        lambda sent: (
            sent[1]["parts"]
            == [{"functionCall": {"name": "read_file", "args": {"a": 1}}, "thoughtSignature": "OPAQUE"}]
        ),
    ),
    "Gemini, a text's signature": (
        "gemini",
        ["Hel", "lo", {"text": "", "thoughtSignature": "OPAQUE"}],
        lambda sent: sent[1]["parts"] == [{"text": "Hello"}, {"text": "", "thoughtSignature": "OPAQUE"}],
    ),
    "Gemini, the signature of a piece of text": (
        "gemini",
        ["Hel", {"text": "lo", "thoughtSignature": "OPAQUE"}, "!"],
        lambda sent: sent[1]["parts"] == [{"text": "Hel"}, {"text": "lo", "thoughtSignature": "OPAQUE"}, {"text": "!"}],
    ),
}


@walked(("wire", "parts", "holds"), KEPT.values())
def test_what_a_provider_sent_goes_back_to_it_as_it_came(wire, parts, holds):
    sent = asked(wire, *parts)
    assert holds(sent), sent


@walked("wire", WIRES)
def test_what_one_provider_sent_no_other_gets(wire):
    own = [Opaque("else", json.dumps({"type": "thinking", "signature": "OPAQUE", "beside": {"x": "OPAQUE"}}))]
    own += [Opaque("openai@elsewhere", '{"reasoning_content": "OPAQUE"}'), Opaque(wire, "not JSON OPAQUE")]
    history = [*HELLO, Message("assistant", (TextPart("Hm."), PARTS[1], *own)), Message("user", (TextPart("?"),))]
    with StubServer([says("ok")]) as stub:
        list(model_of(wire, stub).stream(system="", messages=history, tools=[]))
        assert "OPAQUE" not in json.dumps(stub.requests[0].body)


def test_the_same_interface_at_another_server_or_of_another_vendor_is_another_provider():
    named = [
        open_model(spec, base_url=url, options=ModelOptions(environment={"OPENROUTER_API_KEY": "k"})).sender
        for spec, url in (
            ("openai:m", "http://127.0.0.1:8000/v1"),
            ("openai:m", "http://user:pw@127.0.0.1:8001/v1"),
            ("openrouter:google/a", None),
            ("openrouter:google/b", None),
            ("openrouter:anthropic/a", None),
            ("responses:m", "http://127.0.0.1:8000/v1"),
        )
    ]
    assert len(set(named)) == 5
    assert named[2] == named[3]
    assert not any("pw" in name for name in named)


def test_a_server_that_refuses_the_thoughts_of_before_is_asked_without_them_from_then_on():
    refused = Reply(status=400, message="messages.1: property 'reasoning_content' is unsupported")
    with StubServer([says({"reasoning_content": "hm"}, "a"), refused, says("b"), says("c")]) as stub:
        model = model_of("openai", stub)
        *_, first = model.stream(system="", messages=HELLO, tools=[])
        history = [*HELLO, first.message, Message("user", (TextPart("?"),))]
        for _ in range(2):
            list(model.stream(system="", messages=history, tools=[]))
    held = ["reasoning_content" in json.dumps(request.body) for request in stub.requests]
    assert held == [False, True, False, False]


def test_gemini_takes_the_call_of_another_model_and_results_under_the_names_of_their_calls():
    calls = (NativeCall("toolu_1", "a", "{}"), NativeCall("call_0", "b", "{}"))
    results = Message(
        "user", (TextPart("And?"), NativeResult("toolu_1", "x", False), NativeResult("call_0", "no", True))
    )
    with StubServer([says("ok"), says("ok")]) as stub:
        for name in ("gemini-3-pro", "gemini-2.5-pro"):
            model = open_model(f"gemini:{name}", base_url=stub.url, options=ModelOptions(environment={}))
            list(model.stream(system="", messages=[*HELLO, Message("assistant", calls), results], tools=[]))
    newer, older = (request.body["contents"] for request in stub.requests)
    assert [part.get("thoughtSignature") for part in newer[1]["parts"]] == ["skip_thought_signature_validator", None]
    assert [part.get("thoughtSignature") for part in older[1]["parts"]] == [None, None]
    assert newer[2]["parts"] == [
        {"functionResponse": {"id": "toolu_1", "name": "a", "response": {"output": "x"}}},
        {"functionResponse": {"name": "b", "response": {"error": "no"}}},
        {"text": "And?"},
    ]
    assert [request.path for request in stub.requests] == [
        "/models/gemini-3-pro:streamGenerateContent?alt=sse",
        "/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    ]


# The request.


@walked("wire", WIRES)
def test_without_tools_a_request_has_no_such_field_and_with_some_has_each_once(wire):
    with StubServer([says("ok"), says("ok")]) as stub:
        for tools in ((), (TOOL, ToolSpec("list_files", "List.", '{"type": "object"}'))):
            list(model_of(wire, stub).stream(system="Be brief.", messages=HELLO, tools=tools))
    bare, full = (request.body for request in stub.requests)
    assert not [name for name in bare if "tool" in name.casefold() or "function" in name.casefold()]
    described = json.dumps(full["tools"])
    assert [described.count(f'"name": "{name}"') for name in ("read_file", "list_files")] == [1, 1]
    assert len(full["tools"]) == (1 if wire == "gemini" else 2)


def unmarked(value):
    if isinstance(value, dict):
        return {name: unmarked(one) for name, one in value.items() if name != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


@walked("wire", WIRES)
def test_what_was_sent_before_is_the_same_from_turn_to_turn(wire):
    history = [*HELLO]
    with StubServer([says("a", PARTS[1]), says({**thought(wire)}, "b"), says("c")]) as stub:
        model = model_of(wire, stub)
        for _ in range(3):
            *_, answer = model.stream(system="Be brief.", messages=history, tools=[TOOL])
            results = tuple(NativeResult(one.id, "x", False) for one in answer.message.calls)
            history += [answer.message, Message("user", (*results, TextPart("Go on.")))]
    bodies = [unmarked(request.body) for request in stub.requests]
    sent = [body.pop(MESSAGES[wire]) for body in bodies]
    assert bodies[0] == bodies[1] == bodies[2]
    for before, after in itertools.pairwise(sent):
        assert json.dumps(after).startswith(json.dumps(before)[:-1])


def thought(wire):
    return {
        "anthropic": {"type": "redacted_thinking", "data": "x"},
        "openai": {"reasoning_content": "hm"},
        "responses": {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        "gemini": {"thought": True, "text": "hm", "thoughtSignature": "x"},
    }[wire]


USAGE = {
    "openai": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
    "deepseek": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60},
    "responses": {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}},
    "gemini": {
        "promptTokenCount": 100,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 4,
        "cachedContentTokenCount": 60,
    },
    "anthropic": {"input_tokens": 40, "output_tokens": 7, "cache_read_input_tokens": 60},
}


@walked("wire", USAGE)
def test_tokens_from_the_cache_are_counted_apart_from_fresh_ones(wire):
    bodies = {
        "openai": {"choices": [], "usage": USAGE[wire]},
        "responses": {"type": "response.completed", "response": {"status": "completed", "usage": USAGE[wire]}},
        "gemini": {"candidates": [], "usageMetadata": USAGE[wire]},
        "anthropic": {"type": "message_start", "message": {"usage": USAGE[wire]}},
    }
    spoken = "openai" if wire == "deepseek" else wire
    model = open_model(f"{spoken}:m", base_url="http://127.0.0.1:9", options=ModelOptions(environment={}))
    reading = model.READING("s", "m")
    list(reading.take(bodies[spoken]))
    usage = reading.answer().usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (40, 60, 7)


# The table of providers, and what servers say of their models.


def test_every_provider_opens_with_its_key_and_without_it_says_what_to_do(tmp_path):
    for name, provider in PROVIDERS.items():
        if name == "recorded":
            continue
        options = ModelOptions(
            environment={provider.key: " secret ", "OPENAI_API_KEY": "another's"} if provider.key else {}
        )
        model = open_model(f"{name}:v/m", options=options)
        assert model.api_key == (
            ("another's" if provider.key == "OPENAI_API_KEY" else "secret") if provider.key else ""
        )
        assert model.temperature == (0.0 if model.local else provider.temperature)
        assert "secret" not in repr(model)
        if provider.key:
            with pytest.raises(ModelError, match=f"{provider.key} is not set.*ollama:MODEL.*recorded:FILE"):
                open_model(f"{name}:m", options=ModelOptions(environment={}))


def test_a_default_temperature_is_sent_unless_it_is_refused():
    refused = Reply(status=400, message="'temperature' is not supported with this model.")
    options = ModelOptions(environment={"DEEPSEEK_API_KEY": "k"})
    with StubServer([says("a"), refused, says("b"), says("c")]) as stub:
        model = open_model("deepseek:m", base_url=stub.url, options=options)
        for _ in range(3):
            list(model.stream(system="", messages=HELLO, tools=[]))
    assert [request.body.get("temperature") for request in stub.requests] == [0.0, 0.0, None, None]


SERVED = {
    "vLLM": ({"/v1/models": {"data": [{"id": "m", "max_model_len": 16_384}]}}, 16_384),
    "another's model": ({"/v1/models": {"data": [{"id": "other", "max_model_len": 16_384}]}}, 0),
    "llama.cpp": (
        {
            "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131_072}}]},
            "/props": {"default_generation_settings": {"n_ctx": 8_192}},
        },
        8_192,
    ),
    "llama.cpp under another name": ({"/props": {"default_generation_settings": {"n_ctx": 8_192}}}, 8_192),
    "LM Studio": ({"/api/v0/models/m": {"id": "m", "loaded_context_length": 12_000}}, 12_000),
    "Ollama, loaded": (
        {
            "/v1/models": {"data": [{"id": "m", "owned_by": "library"}]},
            "/api/ps": {"models": [{"name": "m", "context_length": 32_768}]},
            "/api/show": {"model_info": {"qwen2.context_length": 131_072}},
        },
        32_768,
    ),
    "Ollama, chosen": (
        {"/api/ps": {"models": []}, "/api/show": {"parameters": "stop x\nnum_ctx                        16000"}},
        16_000,
    ),
    "Ollama, not said": (
        {"/api/ps": {"models": []}, "/api/show": {"model_info": {"qwen2.context_length": 131_072}}},
        4_096,
    ),
    "Ollama, a small one": (
        {"/api/ps": {"models": []}, "/api/show": {"model_info": {"x.context_length": 2_048}}},
        2_048,
    ),
    "nothing": ({}, 0),
    "odd": ({"/v1/models": ["m"], "/props": {"default_generation_settings": 7}, "/api/ps": {"models": [1]}}, 0),
}


@walked(("documents", "window"), SERVED.values())
def test_a_local_server_is_asked_for_the_window_of_its_model(documents, window):
    with StubServer(documents=documents) as stub:
        assert model_of("openai", stub).served_window() == window
        assert "/api/ps" in documents or stub.requests == []


def test_gemini_is_asked_for_the_window_of_its_model():
    with StubServer(documents={"/models/m": {"inputTokenLimit": 1_048_576}}) as stub:
        assert model_of("gemini", stub).served_window() == 1_048_576


@walked("wire", WIRES)
def test_one_call_and_its_usage_go_over_every_interface(wire):
    answer = answer_of(wire, call("read_file", '{"file_path": "a.py"}', call_id="c9"))
    assert answer.message.calls == (NativeCall("c9", "read_file", '{"file_path": "a.py"}'),)
    assert answer.usage.prompt_tokens == 11
