"""What a model server answers, by status, by event and by piece, becomes one exact sentence of the right kind."""

import json
import socket

import pytest

from rails.core import limits
from rails.core.conversation import Message, ModelAnswer, TextPart
from rails.core.errors import ModelError, ModelRetryable, ModelTooLongError
from rails.models import http as wire
from rails.models.http import ModelServer, status_error
from rails.models.reading import Slot, text_in
from tests.rows import walked

WRONG = "The request was rejected as invalid; a model name, a limit or a tool definition may not suit this server."


@walked(
    ("status", "detail", "kind", "said"),
    [
        (400, "", ModelError, f"S refused the request (HTTP 400). {WRONG}"),
        (401, "No.", ModelError, "(HTTP 401). It says: No. Check that the API key is right and still valid."),
        (402, "", ModelError, "Check the account's billing."),
        (403, "", ModelError, "The key may not use this model; choose another model or ask for access."),
        (404, "", ModelError, "There is no such model or address; check the name after the colon and the base URL."),
        (413, "", ModelError, "The conversation is too large for this server; start a new session or choose another"),
        (422, "x", ModelError, f"S refused the request (HTTP 422). It says: x. {WRONG}"),
        (418, "", ModelError, "S refused the request (HTTP 418). Another try would give the same answer."),
        (408, "", ModelRetryable, "S took too long to take the request (HTTP 408)."),
        (409, "", ModelRetryable, "S was busy with another request (HTTP 409)."),
        (425, "", ModelRetryable, "S was not ready for the request (HTTP 425)."),
        (429, "a\n b", ModelRetryable, "S has had too many requests from this key (HTTP 429). It says: a b."),
        (499, "", ModelError, "Another try would give the same answer."),
        (500, "", ModelRetryable, "S failed (HTTP 500)."),
        (529, "", ModelRetryable, "S is overloaded (HTTP 529)."),
    ],
)
def test_a_status_says_what_is_wrong_and_whether_another_try_may_help(status, detail, kind, said):
    error = status_error("S", status, detail)
    assert type(error) is kind
    assert said in str(error)


@walked("status", [400, 413, 422])
@walked(
    ("detail", "most"),
    [
        ("This model's maximum context length is 8192 tokens, you sent 9000", 8_192),
        ("prompt is too long: 213450 tokens > 200000 maximum", 200_000),
        ("the input exceeds the limit of 32,768", 32_768),
        ("too many tokens", 0),
        ("context size exceeded", 0),
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart_with_the_limit_that_is_named(status, detail, most):
    error = status_error("S", status, detail)
    assert isinstance(error, ModelTooLongError)
    assert error.limit == most
    assert str(error).startswith(f"S finds the prompt too long. It says: {detail}")


@walked(("status", "detail"), [(401, "too many tokens"), (400, "the name is too long"), (400, "")])
def test_another_refusal_is_no_prompt_that_is_too_long(status, detail):
    assert type(status_error("S", status, detail)) is ModelError


def test_a_quota_that_is_spent_is_not_asked_for_again_and_one_of_a_minute_is():
    spent = "You exceeded your current quota, please check your plan and billing details."
    error = status_error("S", 429, spent)
    assert type(error) is ModelError
    assert str(error).endswith("Check the account's billing.")
    assert type(status_error("S", 429, "insufficient_quota")) is ModelError
    assert type(status_error("S", 429, f"{spent} Please retry in 35s.")) is ModelRetryable
    assert type(status_error("S", 429, spent, {"retry-after": "3"}.get)) is ModelRetryable
    assert type(status_error("S", 429, "Rate limit reached for tokens per minute")) is ModelRetryable


@walked(
    ("value", "pause", "said"),
    [
        ("3", 3, ", and asks to wait 3 s."),
        ("0", 0, ", and asks to wait 0 s."),
        ("0.5", 0.5, ", and asks to wait 0.5 s."),
        ("86399", limits.MODEL_PAUSE_SECONDS, ", and asks to wait"),
        *((value, None, "(HTTP 429).") for value in ("86400", "-1", "nan", "inf", "Wed, 21 Oct 2026", "", None)),
    ],
)
def test_how_long_a_server_asks_to_wait_is_told_and_bounded(value, pause, said):
    error = status_error("S", 429, "", {"retry-after": value}.get)
    assert error.retry_after == pause
    assert said in str(error)


@walked(
    ("url", "reason", "kind", "said"),
    [
        (
            "http://localhost:1/v1",
            ConnectionRefusedError(111, "Connection refused"),
            ModelError,
            "Connection refused. N",
        ),
        ("http://[::1]:1/v1", "[Errno 111] Connection refused", ModelError, "Nothing listens there: start the server"),
        (
            "http://127.0.0.1:1",
            OSError(113, "No route to host"),
            ModelRetryable,
            "could not be reached: No route to host.",
        ),
        ("http://x.org", ConnectionRefusedError(111, "Connection refused"), ModelRetryable, "Connection refused."),
        (
            "http://x.org",
            socket.gaierror(-2, "Name not known"),
            ModelRetryable,
            "Name not known. Check the base URL and",
        ),
        (
            "http://x.org",
            "[Errno -3] Try again",
            ModelRetryable,
            "reached: Try again. Check the base URL and the network.",
        ),
        ("http://x.org", ConnectionResetError(104, "reset"), ModelRetryable, "it closed the connection."),
        ("http://x.org", TimeoutError(), ModelRetryable, "reached: TimeoutError."),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_with_the_reason(url, reason, kind, said):
    error = wire.unreached(url, reason)
    assert type(error) is kind
    assert str(error).startswith(f"The model server {url} could not be reached: ")
    assert said in str(error)
    assert ("Check the base URL and the network" in str(error)) == (kind is ModelRetryable)


def test_a_redirect_is_told_with_where_it_leads_and_is_an_end():
    error = status_error("S", 302, "x", {"location": "http://y.org\n"}.get)
    assert type(error) is ModelError
    assert str(error).startswith("S redirects to http://y.org\\x0a (HTTP 302). That is not followed")
    assert "redirects to nowhere (HTTP 399)" in str(status_error("S", 399, ""))


class Reading:
    """Takes every event for a text of its own, until one says that it is the last."""

    ended = whole = False

    def take(self, event):
        yield event["a"]
        self.ended = event["a"] == "last"

    def answer(self):
        return ModelAnswer(Message("assistant", (TextPart("x"),)), "end_turn")


@walked("scheme", ["http", "https"])
def test_a_port_where_nothing_listens_is_said_with_and_without_encryption(scheme):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        server = ModelServer(f"{scheme}://127.0.0.1:{held.getsockname()[1]}", {}, 5)
        with pytest.raises(ModelError, match="Nothing listens there"):
            list(server.answer("/x", b"{}", "choices", Reading()))


def events(*pieces):
    return [json.loads(data) for data in wire._data_of(pieces, "U", "choices") if data]


@walked(
    ("pieces", "found"),
    [
        ([b'data: {"a": 1}\n\ndata: {"a": 2}\n'], [{"a": 1}, {"a": 2}]),
        ([b"da", b'ta: {"a"', b": 1}", b"\r\n"], [{"a": 1}]),
        ([b'data: {"a": 1}'], [{"a": 1}]),
        ([b'data: {"a": 1}\ndata: [DONE]\ndata: {"a": 2}\n'], [{"a": 1}]),
        ([b': ping\nevent: x\nid: 1\nretry: 2\ndata: {"a": 1}\nother\n'], [{"a": 1}]),
        ([b'{"choices": [1]}'], [{"choices": [1]}]),
        ([b'{\n "choices":\n [1]\n}\n'], [{"choices": [1]}]),
        ([b'{"choices": ["' + b"x" * 300_000 + b'",\n1]}'], [{"choices": ["x" * 300_000, 1]}]),
        ([b": ping\n\n"], []),
        ([], []),
    ],
)
def test_an_answer_comes_in_pieces_of_any_size_as_a_stream_or_whole(pieces, found):
    assert events(*pieces) == found


@walked(
    ("body", "said"),
    [
        (b"<html><title>Log  in</title>", "sent a web page instead of an answer: “Log in”. Check the base URL"),
        (b"<!DOCTYPE html>\n<p>hello", "sent a web page instead of an answer: “<!DOCTYPE html> <p>hello”"),
        (b"no model\nhere", "sent something else instead of an answer: “no model here”"),
        (b'{"models": []}', 'sent something else instead of an answer: “{"models": []}”'),
        (b"x" * 500, "“" + "x" * 120 + "… (+280 characters)”"),
    ],
)
def test_what_is_no_answer_is_shown_by_its_beginning(body, said):
    with pytest.raises(ModelError) as raised:
        events(body)
    assert said in str(raised.value)
    assert type(raised.value) is ModelError


def test_a_body_that_is_no_answer_is_not_read_to_its_end():
    read = []

    def endless():
        while len(read) < 1_000:
            read.append(1)
            yield b"x" * 1_000 + b"\n"

    with pytest.raises(ModelError, match="something else"):
        list(wire._data_of(endless(), "U", "choices"))
    assert len(read) < 1_000
    with pytest.raises(ModelRetryable, match="a line of more than"):
        list(wire._data_of([b"x" * 10_000_000] * 20, "U", "choices"))


def test_what_comes_after_the_last_event_is_not_waited_for():
    def body():
        yield b'data: {"a": "one"}\n\ndata: {"a": "last"}\n\n'
        raise AssertionError("it was waited for")

    *texts, answer = wire.answer_of_events(body(), "U", "choices", Reading())
    assert (texts, answer.stop_reason) == (["one", "last"], "end_turn")


@walked("data", ["[1]", "{", '{"b": 1}', "1", "[" * 100_000])
def test_an_event_of_another_form_is_shown_and_may_pass(data):
    with pytest.raises(ModelRetryable, match="U sent something that is not its protocol: “") as raised:
        list(wire.answer_of_events([f"data: {data}\n".encode()], "U", "choices", Reading()))
    assert data[:100] in str(raised.value)


@walked(
    ("error", "status", "detail"),
    [
        ({"type": "overloaded_error", "message": "m"}, 529, "m"),
        ({"type": "rate_limit_error", "message": "m"}, 429, "m"),
        ({"type": "timeout_error", "message": "m"}, 504, "m"),
        ({"type": "api_error", "message": "m"}, 500, "m"),
        ({"type": "invalid_request_error", "message": "m"}, 400, "m"),
        ({"type": "authentication_error", "message": "m"}, 401, "m"),
        ({"type": "billing_error", "message": "m"}, 402, "m"),
        ({"type": "permission_error", "message": "m"}, 403, "m"),
        ({"type": "not_found_error", "message": "m"}, 404, "m"),
        ({"type": "request_too_large", "message": "m"}, 413, "m"),
        ({"type": "unheard_of", "code": "x", "message": "m"}, 500, "m"),
        ({"type": "api_error", "code": 429, "message": "m"}, 429, "m"),
        ({"code": 400, "message": "m"}, 400, "m"),
        ({"code": 399, "type": "billing_error", "message": "m"}, 402, "m"),
        ({"code": 600, "type": 7, "message": "m"}, 500, "m"),
        ({"code": 599, "message": "m"}, 599, "m"),
        ("in words", 500, "in words"),
        ({"type": "api_error", "detail": "d"}, 500, "d"),
    ],
)
def test_an_error_inside_a_stream_has_the_status_of_its_code_or_its_type(error, status, detail):
    data = f"data: {json.dumps({'error': error})}\n".encode()
    with pytest.raises(ModelError) as raised:
        list(wire.answer_of_events([data], "U", "choices", Reading()))
    assert str(raised.value) == str(status_error("The model server U", status, detail))


@walked(
    ("data", "text"),
    [
        (b'{"error": {"message": "m", "code": 1}}', "m"),
        (b'{"error": "m"}', "m"),
        (b'{"message": "m"}', "m"),
        (b'{"detail": {"a": 1}}', '{"a": 1}'),
        (b"{}", ""),
        (b"[1]", "[1]"),
        (b"<html><TITLE>Bad gateway</title>", "Bad gateway"),
        (b"no \xff JSON", "no \N{REPLACEMENT CHARACTER} JSON"),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_the_message_of_an_error_s_body_is_found_wherever_it_stands(data, text):
    assert wire.error_text(data) == text


@walked(
    ("raw", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ('{"a": 1, "a": 2}', {"INVALID_JSON": '{"a": 1, "a": 2}'}),
        ('{"a": NaN}', {"INVALID_JSON": '{"a": NaN}'}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ('{"a', {"INVALID_JSON": '{"a'}),
        ("x" * 801, {"INVALID_JSON": "x" * 800}),
        ("é\ud800", {"INVALID_JSON": "é?"}),
    ],
)
def test_a_call_s_arguments_go_back_as_they_were_or_as_what_is_no_call(raw, value):
    assert wire.echo_arguments(raw) == value


def test_a_call_without_an_id_that_can_be_used_gets_one_of_its_number():
    most = limits.CALL_NAME_CHARS
    slot = Slot("call")
    slot.name = "n" * (most + 1)
    for slot.id, sent in (("a", "a"), ("", "call_3"), ("x" * most, "x" * most), ("x" * (most + 1), "call_3")):
        assert [(one.id, one.name) for one in slot.parts("s", 3)] == [(sent, "n" * most)]


@walked(
    ("content", "text"),
    [
        (None, ""),
        ("a", "a"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}, {"text": None}], "ab"),
    ],
)
def test_the_text_of_a_piece_is_what_its_parts_of_text_say(content, text):
    assert text_in(content) == text


@walked("content", [1, [{"text": 1}], {"text": "a"}])
def test_what_stands_where_text_belongs_is_an_error(content):
    with pytest.raises(TypeError, match="is where text belongs"):
        text_in(content)
