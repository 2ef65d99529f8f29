"""A server that breaks its protocol, in both wire formats: one clear error or a whole answer, never anything else."""

import contextlib
import copy
import json
import socket
import threading

import pytest

from rails.core.conversation import Message, ModelAnswer, NativeCall, TextPart, answer_from_json, answer_to_json
from rails.core.errors import ModelError
from rails.models.anthropic import AnthropicModel
from rails.models.http import _client
from rails.models.openai import OpenAIModel
from rails.testing import Reply, StubServer
from rails.testing.wire import anthropic_events, openai_events
from tests.rows import walked

ASK = {"system": "s", "messages": [Message("user", (TextPart("?"),))], "tools": []}
PARTS = ["Some words.", NativeCall("c1", "read_file", '{"file_path": "a.txt"}')]
WIRES = {"anthropic": anthropic_events, "openai": openai_events}
#: What stands in the place of a value.
ODD = [None, -1, 10**30, 1e308, True, "", "x", "\ud800", [], {}, [None], {"a": {"b": []}}, "9" * 5000]


def opened(provider, url):
    if provider == "anthropic":
        return AnthropicModel("m", "k", url)
    return OpenAIModel("m", "k", f"{url}/v1")


def heard(provider, url):
    """What comes of an answer: the error's words, or the answer, which has to be one that a log can give back."""
    try:
        deltas = list(opened(provider, url).stream(**ASK))
    except ModelError as error:
        return str(error)
    assert isinstance(deltas[-1], ModelAnswer)
    assert "".join(delta.text for delta in deltas[:-1]) == deltas[-1].message.text
    assert answer_from_json(answer_to_json(deltas[-1])) == deltas[-1]
    return deltas[-1]


def whole(provider):
    """The events of a good answer, as pairs of what comes before the data and the data."""
    found = []
    for one in WIRES[provider](PARTS, "tool_use", "m", 8):
        head, _, data = one.partition(b"data: ")
        found.append((head, data.strip()))
    return found


def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*at, key))


def put(value, at, odd):
    if not at:
        return odd
    changed = copy.deepcopy(value)
    inner = changed
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = odd
    return changed


def stream(events):
    return b"".join(head + b"data: " + data + b"\n\n" for head, data in events)


def wrong_values(provider):
    """Streams of which one value is another; of an event's kind the first that comes."""
    events = whole(provider)
    seen = set()
    turn = 0
    for number, (head, data) in enumerate(events):
        with contextlib.suppress(ValueError):
            value = json.loads(data)
            for at in places(value):
                shape = (str(value.get("type")) if isinstance(value, dict) else "", str(at))
                if shape in seen:
                    continue
                seen.add(shape)
                for odd in (ODD[turn % len(ODD)], ODD[(turn + 5) % len(ODD)]):
                    bad = json.dumps(put(value, at, odd)).encode()
                    yield stream([*events[:number], (head, bad), *events[number + 1 :]])
                turn += 1


def wrong_orders(provider):
    events = whole(provider)
    yield stream(reversed(events))
    yield stream(events * 2)
    for number, event in enumerate(events):
        yield stream([*events[:number], *events[number + 1 :]])
        yield stream([*events[:number], event, *events[number:]])
        yield stream([*events[: number + 1], (b"", b'{"type": "surprise", "n": [1]}'), *events[number + 1 :]])


def wrong_bytes(provider):
    good = stream(whole(provider))
    deep = b'{"type":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    yield from (
        b"",
        b"\n\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b"data: null\n\n",
        b"data: []\n\n",
        b"data: 1\n\n",
        b"data: {\n\n",
        b"data: {}\n\n",
        b"\xff\xfe\n\n",
        b"data: \xff\n\n",
        b"<html><title>Sign in</title></html>",
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b'{"error": null}',
        b'{"error": "no"}',
        b'{"error": {"message": 7}}',
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": null}]}',
        b'{"content": null, "role": "assistant"}',
        b'{"content": [null]}',
        b"data: NaN\n\n",
        b"data: " + deep + b"\n\n",
        b"data: [DONE]\n\n",
        b"event: error\ndata: {}\n\n",
        b"event: error\ndata: null\n\n",
        b"event: ping\n\n" * 2_000,
        b": alive\n" * 2_000,
        b"id: 1\nretry: x\n\n",
        b"\x00" * 100,
        b'data: {"a":1,"a":2}\n\n',
        b"\x1f\x8b\x08\x00garbage",
        b"data: " + b"9" * 10_000 + b"\n\n",
        good[: len(good) // 2],
        good[:-1],
        good.replace(b"\n", b"\r"),
        good.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + good,
        good + b"garbage",
        good + good,
        good.replace(b"data: ", b"data:"),
        good.replace(b"words", b"wo\xffds"),
        good.replace(b"words", b"wo\x00ds"),
        b"HTTP/1.1 200 OK\r\n\r\n" + good,
    )


@pytest.fixture(scope="module")
def stub():
    with StubServer() as server:
        yield server


@walked("kind", [wrong_values, wrong_orders, wrong_bytes])
@walked("provider", WIRES)
def test_what_is_not_the_protocol_is_one_clear_error_or_a_whole_answer(stub, provider, kind):
    tried = 0
    for body in kind(provider):
        stub.requests.clear()
        stub._replies = [Reply(raw=body)]
        heard(provider, stub.url)
        tried += 1
    assert tried >= 20


def test_a_call_that_has_no_end_is_never_made_whole(stub):
    for provider in WIRES:
        events = whole(provider)
        for number in range(len(events)):
            stub.requests.clear()
            stub._replies = [Reply(raw=stream(events[:number]))]
            found = heard(provider, stub.url)
            if isinstance(found, ModelAnswer) and found.stop_reason != "cut":
                assert [one.arguments for one in found.message.calls] in ([], [PARTS[1].arguments])


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
HTTP = [
    b"",
    b"\r\n",
    b"garbage",
    b"HTTP/9.9 abc\r\n\r\n",
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 200 OK\r\n",
    HEAD,
    HEAD + b"\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
    b"HTTP/1.1 307 Moved\r\nLocation: file:///etc/passwd\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    b"HTTP/1.1 401\r\n\r\n",
    b"HTTP/1.1 429 Busy\r\nRetry-After: \xff\xfe\r\n\r\n",
    b"HTTP/1.1 503 No\r\nRetry-After: -9e99\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 500 No\r\nContent-Length: 99\r\n\r\n{",
    b"HTTP/1.1 418 No\r\nContent-Length: 2\r\n\r\n[]",
    b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 429 No\r\nRetry-After: Sun, 99 Foo 2026\r\nContent-Length: 0\r\n\r\n",
    HEAD + b"Content-Length: 5\r\n\r\ndata: {}\n\n",
    HEAD + b"Content-Length: -5\r\n\r\ndata: {}\n\n",
    HEAD + b"Content-Length: 99999\r\n\r\ndata: {}\n\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
    HEAD + b"Content-Encoding: gzip\r\n\r\nnot gzip",
    HEAD + b"X: " + b"a" * 70_000 + b"\r\n\r\n",
    HEAD + b"X: a\r\n" * 200 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
    b"SSH-2.0-x\r\n",
    b"\x15\x03\x01\x00\x02\x02\x28",
]


@pytest.fixture
def raw():
    """A server that sends some bytes, whatever it is asked, and closes."""
    listening = socket.create_server(("127.0.0.1", 0))
    sent = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(65_536)
                    connection.sendall(sent[0])

    threading.Thread(target=serve, daemon=True).start()
    yield sent, f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


@walked("provider", WIRES)
def test_what_is_not_http_is_one_clear_error(raw, provider):
    sent, url = raw
    for answer in HTTP:
        sent[:] = [answer]
        assert isinstance(heard(provider, url), str), answer


def status(code, body, *headers):
    lines = [f"HTTP/1.1 {code} No", *headers, f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()


SAID = {
    status(404, '{"detail": "Not Found"}'): "(HTTP 404). It says: Not Found. There",
    status(422, '{"detail": [{"msg": "too few"}]}'): 'It says: [{"msg": "too few"}]. The',
    status(400, '{"error": {"code": 7}}'): 'It says: {"code": 7}. The',
    status(400, '["no"]'): 'It says: ["no"]. The',
    status(405, ""): "(HTTP 405). Another",
    status(502, "<html><head><title>502 Bad Gateway</title></head></html>"): "It says: 502 Bad Gateway.",
    status(418, '{"error": "teapot"}'): "It says: teapot. Another",
    b"SSH-2.0-x\r\n": "answer: ",
}


@walked("provider", WIRES)
@walked(("answer", "words"), SAID.items())
def test_what_a_server_refuses_with_is_told_in_its_own_words(raw, provider, answer, words):
    sent, url = raw
    sent[:] = [answer]
    said = heard(provider, url)
    assert words in said or (answer[:3] == b"SSH" and "could not be reached" in said)


@walked("provider", WIRES)
@walked("code", [300, 301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed_and_says_where_to(raw, provider, code):
    sent, url = raw
    with StubServer([Reply(PARTS[:1])]) as other:
        sent[:] = [status(code, "", f"Location: {other.url}/v1/messages")]
        said = heard(provider, url)
        assert other.requests == [], "the key went to another host"
    assert f"redirects to {other.url}/v1/messages (HTTP {code})" in said


@walked("provider", WIRES)
@walked(
    ("body", "words"),
    {
        b"": "ended its answer before sending any of it.",
        b": alive\n\n": "ended its answer before sending any of it.",
        b'data: {"detail": "out of memory"}\n\n': 'It last sent “{"detail": "out of memory"}”.',
        b"data: {\n\n": "sent something that is not its protocol: “{”.",
        b"data: 7\n\n": "sent something that is not its protocol: “7”.",
        b"data: \xff\x1b[2J\n\n": "sent something that is not its protocol: “\ufffd\\x1b[2J”.",
        b"data: " + b"9" * 10_000 + b"\n\n": "sent something that is not its protocol: “999",
        b'{"model": "m", "done": false}\n{"done": true}\n': "sent something else instead of an answer: “{",
        b'data: {"error": ["a", "b"]}\n\n': '(HTTP 500). It says: ["a", "b"].',
    }.items(),
)
def test_an_answer_of_nothing_or_of_something_else_is_a_fault_of_the_server_and_shown(stub, provider, body, words):
    stub.requests.clear()
    stub._replies = [Reply(raw=body)]
    said = heard(provider, stub.url)
    assert words in said
    assert len(said) < 400


@walked("provider", WIRES)
def test_an_event_without_data_is_no_event(stub, provider):
    stub.requests.clear()
    stub._replies = [Reply(raw=b"data:\n\ndata: \n\n" + stream(whole(provider)).replace(b"\n\n", b"\n\ndata:\n\n"))]
    assert heard(provider, stub.url).message.parts == (TextPart(PARTS[0]), *PARTS[1:])


@walked("provider", WIRES)
def test_a_call_with_an_endless_name_or_id_is_cut_to_what_can_be_sent_again(provider):
    long = [NativeCall("i" * 100_000, "n" * 100_000, "{}"), NativeCall("c" * 200, "n" * 200, "{}")]
    with StubServer([Reply(tuple(long), "tool_use")]) as server:
        first, second = heard(provider, server.url).message.calls
    assert (first.name, second) == ("n" * 200, long[1])
    assert 0 < len(first.id) < 20


@walked("provider", WIRES)
def test_a_server_of_this_machine_is_asked_without_a_proxy(monkeypatch, provider):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    _client.cache_clear()  # no client was made before
    with StubServer([Reply(tuple(PARTS), "tool_use")]) as server:
        assert isinstance(heard(provider, server.url), ModelAnswer)


@walked("provider", WIRES)
def test_a_proxy_that_cannot_be_reached_is_named_and_its_password_is_not(monkeypatch, provider):
    monkeypatch.setenv("http_proxy", "http://me:sesame@127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://me:sesame@127.0.0.1:9")
    said = heard(provider, "http://models.invalid")
    assert "could not be reached through the proxy 127.0.0.1:9: Connection refused" in said
    assert "sesame" not in said
