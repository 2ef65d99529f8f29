"""The truthful boundary: over real HTTP and both wire formats, a broken or cut-off call never becomes a request.

Each row is something that a model or a server really sends and that lenient parsing turns into a
valid-looking call. The rows can be run against any harness: they are only what goes over the wire.
"""

import pytest

from rails.core.conversation import Message, NativeCall, TextPart
from rails.core.errors import ModelError, ModelRetryable
from rails.models.providers import open_model
from rails.parsing.parse import parse
from rails.testing import Reply, StubServer, call
from tests.rows import walked

SHAPES = {
    "write_file": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}, "line": {"type": "integer"}},
        "required": ["file_path"],
    }
}
GOOD = '{"file_path": "a.py", "content": "x = 1\\n"}'

BROKEN = {
    "not JSON": ('{"file_path": a.py}', {}),
    "cut inside a string": ('{"file_path": "a.py", "content": "x = ', {"stop_reason": "max_tokens"}),
    "cut inside an array": ('{"file_path": "a.py", "items": ["a", "b"', {"stop_reason": "max_tokens"}),
    "cut inside a number": ('{"file_path": "a.py", "line": 12', {"stop_reason": "max_tokens"}),
    "whole, but the answer was cut behind it": (GOOD, {"stop_reason": "max_tokens"}),
    "whole, but refused": (GOOD, {"stop_reason": "refusal"}),
    "whole, but paused": (GOOD, {"stop_reason": "pause_turn"}),
    "whole, but stopped for an unknown reason": (GOOD, {"stop_reason": "compaction"}),
    "whole, but the body ends before the stop": (GOOD, {"cut_after": {"anthropic": 5, "openai": 2}}),
    "an array": ('["a.py"]', {}),
    "a text": ('"a.py"', {}),
    "two objects": (GOOD + GOOD, {}),
    "text behind the object": (GOOD + " and so on", {}),
    "a key twice": ('{"file_path": "a.py", "file_path": "b.py"}', {}),
    "NaN": ('{"file_path": "a.py", "line": NaN}', {}),
    "Infinity": ('{"file_path": "a.py", "line": -Infinity}', {}),
    "a lone surrogate": ('{"file_path": "a\\ud800.py"}', {}),
    "nested too deep": ('{"file_path": "a.py", "x": ' + "[" * 5_000 + "]" * 5_000 + "}", {}),
}


ELSE = {
    b"<!DOCTYPE html>\n<html><head><title>Sign in to Wi-Fi</title></head>\n<body>data: {}</body></html>": (
        "sent a web page instead of an answer: “Sign in to Wi-Fi”. Check the base URL, and"
    ),
    b"<html>\n<p>Hello</p>\n" * 9_000: "sent a web page instead of an answer: “<html> <p>Hello",
    b"\nupstream is \xff down\n": "sent something else instead of an answer: “upstream is \ufffd down”.",
    b'{"message": "gone"}': 'sent something else instead of an answer: “{"message": "gone"}”.',
    b'{\n "data": {"content_": 1}\n}': "sent something else instead of an answer",
    b"[1, 2]": "sent something else instead of an answer: “[1, 2]”.",
}


@walked("provider", ["anthropic", "openai"])
@walked(("raw", "words"), ELSE.items())
def test_a_body_that_is_something_else_is_named_and_not_asked_for_again(provider, raw, words):
    with pytest.raises(ModelError) as caught:
        read_back(provider, Reply(raw=raw))
    assert words in str(caught.value)
    assert not isinstance(caught.value, ModelRetryable)
    assert len(str(caught.value)) < 400


def read_back(provider, reply):
    with StubServer([reply]) as stub:
        url = stub.url + ("/v1" if provider == "openai" else "")
        *_, answer = open_model(f"{provider}:m", base_url=url).stream(
            system="", messages=[Message("user", (TextPart("?"),))], tools=[]
        )
    return answer, parse(answer.message.text, SHAPES, finish=answer.stop_reason, calls=answer.message.calls)


@walked("provider", ["anthropic", "openai"])
@walked(("raw", "fault"), BROKEN.values())
def test_a_broken_call_is_refused_and_its_text_is_kept(provider, raw, fault):
    fault = {name: value[provider] if isinstance(value, dict) else value for name, value in fault.items()}
    answer, found = read_back(provider, call("write_file", raw, chunk_chars=64, **fault))
    assert found.requests == ()
    assert len(found.refusals) == 1
    assert answer.message.calls[0].arguments == raw


@walked("provider", ["anthropic", "openai"])
def test_a_good_call_becomes_exactly_one_request(provider):
    answer, found = read_back(provider, call("write_file", GOOD, chunk_chars=5, call_id="c1"))
    assert answer.message.calls == (NativeCall("c1", "write_file", GOOD),)
    assert [dict(request.parameters) for request in found.requests] == [{"file_path": "a.py", "content": "x = 1\n"}]
    assert found.refusals == ()


@walked("provider", ["anthropic", "openai"])
def test_what_a_server_says_of_an_error_in_several_lines_is_one_sentence(provider):
    with pytest.raises(ModelError, match=r"It says: The first line\. The second\. "):
        read_back(provider, Reply(status=400, message="The first line.\n  The second.\n"))
