"""Shared by all providers: connections, error messages, echoed calls.

No redirects: they would carry the key elsewhere. A connection per answer. A single JSON object instead of a stream is
understood.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from rails.core import limits
from rails.core.conversation import BAD_CALL, Delta, Opaque, readable
from rails.core.errors import ModelError, ModelRetryable, ModelTooLongError
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.models.reading import Reading

if TYPE_CHECKING:
    import httpx2

#: Statuses where the same request may succeed a little later.
_PASSING: Final = {
    408: "took too long to take the request",
    409: "was busy with another request",
    425: "was not ready for the request",
    429: "has had too many requests from this key",
    529: "is overloaded",
}
_REMEDIES: Final = {
    400: "The request was rejected as invalid; a model name, a limit or a tool definition may not suit this server.",
    401: "Check that the API key is right and still valid.",
    402: "Check the account's billing.",
    403: "The key may not use this model; choose another model or ask for access.",
    404: "There is no such model or address; check the name after the colon and the base URL.",
    413: "The conversation is too large for this server; start a new session or choose another model.",
    422: "The request was rejected as invalid; a model name, a limit or a tool definition may not suit this server.",
}
#: Types of an error event inside a stream, as statuses; unknown ones are passing.
_EVENT_STATUS: Final = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "api_error": 500,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
_TOO_LONG: Final = re.compile(
    r"context.?(length|window|size)|(prompt|input|request|conversation)( is|s are)? too (long|large)|too many tokens"
    r"|(prompt|input) (tokens? |token count \S+ )?exceeds",
    re.I,
)
#: A 429 that says so, and names no time to wait, is not about too many requests but about money that is spent.
_SPENT: Final = re.compile(
    r"\A(?!.*(?:retry|again) in).*(?:insufficient_quota|exceeded your current quota)", re.I | re.S
)
#: What servers say that could not read the call that their own model wrote; Groq adds what that was.
_BAD_CALL: Final = re.compile(
    r"tool_use_failed|failed to call a function|error parsing tool call|failed to parse (?:tool call|input at pos)"
    r"|malformed_function_call",
    re.I,
)
_LIMIT: Final = re.compile(r"(?:maximum|max|limit|context.?(?:length|window|size))\D{0,40}?(\d{3,})|> ?(\d{3,})", re.I)
#: How much of a call that was not JSON goes back: enough to see the slip, too little to fill the context.
_ECHO_CHARS: Final = 800


#: One line of the stream: a whole answer's call may come in one.
_LINE_BYTES: Final = limits.BLOCK_CHARS * 2
#: Of a stream of events, besides the data; a line that begins with a colon is a sign of life.
_FIELDS: Final = frozenset({b"", b"event", b"id", b"retry"})
_TITLE: Final = re.compile(r"<title[^<>]*>([^<]+)", re.I)
#: What the library says of a connection that is gone.
_CLOSED: Final = re.compile("disconnected|closed connection|reset by peer")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class ModelCallError(ModelError):
    """The server could not read its model's call; the model must be told."""


class ModelServer(Struct, frozen=True):
    """A server: address, headers, and permitted silence in seconds."""

    url: str
    headers: Mapping[str, str]
    silence_s: float

    def answer(self, path: str, body: bytes, key: str, reading: Reading) -> Iterator[Delta]:
        """Yield the answer to ``body``; ``key``: of an unstreamed message. Raises only ModelError."""
        with self._faults_in_words(), self.asked(self.url + path, body, self.silence_s) as response:
            if not response.is_success:
                found = _beginning(response, limits.INLINE_BYTES)
                raise status_error(self.who, response.status_code, error_text(found), response.headers.get)
            yield from answer_of_events(response.iter_bytes(), self.url, key, reading)

    def document(self, url: str, body: bytes | None = None) -> dict[str, object]:
        """Return a JSON object of the server, {} if none. Raises ModelError."""
        seconds = min(self.silence_s, limits.MODEL_CONNECT_SECONDS)
        with self._faults_in_words(), self.asked(url, body, seconds) as response:
            data = _beginning(response, limits.OUTPUT_BYTES) if response.is_success else b""
        with suppress(ValueError, RecursionError):
            found = json.loads(data)
            return found if isinstance(found, dict) else {}
        return {}

    def asked(self, url: str, body: bytes | None, seconds: float) -> AbstractContextManager[httpx2.Response]:
        """Send a request; return the beginning of the response. Raises httpx2's errors."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **self.headers}
        method = "POST" if body else "GET"
        return client_of(self.url).stream(method, url, content=body, headers=headers, timeout=patience(seconds))

    @property
    def who(self) -> str:
        """The server, as messages name it."""
        return f"The model server {self.url}"

    @contextmanager
    def _faults_in_words(self) -> Iterator[None]:
        import httpx2

        try:
            yield
        except httpx2.TimeoutException as error:
            raise ModelRetryable(f"{self.who} did not answer within {self.silence_s:g} s.") from error
        except (httpx2.ConnectError, httpx2.ProxyError, httpx2.InvalidURL, ImportError, ValueError) as error:
            raise unreached(self.url, error) from error  # ImportError: SOCKS needs one more package
        except httpx2.HTTPError as error:
            raise ModelRetryable(f"{self.who} broke off in the middle of its answer: {fault(error)}.") from error


def client_of(url: str) -> httpx2.Client:
    """Return a client that follows no redirect, keeps no connection and asks local servers without a proxy."""
    return _client("" if is_here(url) else str(getproxies()))


@cache
def _client(proxies: str) -> httpx2.Client:
    import httpx2

    bounds = httpx2.Limits(max_keepalive_connections=0)
    transport = httpx2.HTTPTransport(limits=bounds) if not proxies else None
    return httpx2.Client(transport=transport, limits=bounds)


def patience(seconds: float) -> httpx2.Timeout:
    """Return the limits of a silence of ``seconds``: a connection has to come sooner."""
    import httpx2

    return httpx2.Timeout(seconds, connect=min(seconds, limits.MODEL_CONNECT_SECONDS))


def _beginning(response: httpx2.Response, size: int) -> bytes:
    import httpx2

    with suppress(httpx2.HTTPError):  # what came before it says enough
        return next(response.iter_bytes(size), b"")
    return b""


def unreached(url: str, reason: object) -> ModelError:
    """Return the error for an unreachable server; a missing local one is not retryable."""
    said = f"The model server {url} could not be reached{_through(url)}: {fault(reason)}."
    if is_here(url) and "refused" in str(reason):
        return ModelError(f"{said} Nothing listens there: start the server, or correct the base URL.")
    return ModelRetryable(f"{said} Check the base URL and the network.")


def is_here(url: str) -> bool:
    """Return whether a server is local; no proxy is used then, whatever the environment says."""
    return urlsplit(url).hostname in _LOOPBACK


def _through(url: str) -> str:
    """Name the environment's proxy, without its password."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme, "")
    if not proxy or is_here(url) or proxy_bypass(parts.hostname or ""):
        return ""
    return f" through the proxy {one_line(proxy.rpartition('@')[2].rpartition('//')[2], 100)}"


def fault(error: object) -> str:
    """Return a connection error in words."""
    said = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
    if isinstance(error, ConnectionResetError) or _CLOSED.search(said):
        return "it closed the connection"
    return one_line(said).rstrip(".")


def answer_of_events(body: Iterable[bytes], url: str, key: str, reading: Reading) -> Iterator[Delta]:
    """Yield the text of server-sent events from ``url``, then the answer.

    ``body``: pieces of any size; ``key``: of an unstreamed message. Raises ModelError for error objects and invalid
    answers.
    """
    who = f"The model server {url}"
    data = b""
    try:
        for piece in _data_of(body, url, key):
            if not piece:
                reading.whole = True
                break
            data = piece
            event = json.loads(data)
            error = event if event.get("type") == "error" else None
            if error := event.get("error") or error:
                _take_error(who, error, reading)
                break
            yield from reading.take(event)
            if reading.ended:
                break
        answer = readable(reading.answer())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelRetryable(f"{who} sent something that is not its protocol: {_shown(data)}.") from error
    came = any(not isinstance(part, Opaque) for part in answer.message.parts) or answer.note.startswith(BAD_CALL)
    if answer.stop_reason == "cut" and not came:
        last = f" It last sent {_shown(data)}." if data else ""
        raise ModelRetryable(f"{who} ended its answer before sending any of it.{last}")
    yield answer


def _take_error(who: str, error: object, reading: Reading) -> None:
    facts = error if isinstance(error, Mapping) else {}
    status = facts.get("code")
    if not isinstance(status, int) or not 400 <= status < 600:
        status = _EVENT_STATUS.get(str(facts.get("type")), 500)
    failure = status_error(who, status, _message_in({"error": error}))
    if not isinstance(failure, ModelCallError):
        raise failure
    reading.stop = "malformed"
    reading.words = str(failure)


def _data_of(body: Iterable[bytes], url: str, key: str) -> Iterator[bytes]:
    """Yield the ``data:`` lines up to the end or ``[DONE]``, or an unstreamed message.

    An empty one marks the end.
    """
    streams, lines = False, _lines(body)
    for line in lines:
        name, _, data = line.removeprefix(BOM_UTF8).strip().partition(b":")
        if name == b"data":
            streams = True
            if data.strip() == b"[DONE]":
                yield b""
                return
            if data.strip():  # an empty one is no event
                yield data
        elif not streams and name not in _FIELDS:
            yield _whole(line, lines, url, key)
            yield b""


def _whole(first: bytes, lines: Iterator[bytes], url: str, key: str) -> bytes:
    body = bytearray(first.lstrip())
    most = _LINE_BYTES if body.startswith(b"{") else limits.INLINE_BYTES
    for line in lines:
        body += b"\n" + line
        if len(body) > most:
            break
    with suppress(ValueError, RecursionError):
        event = json.loads(body)
        if isinstance(event, dict) and (key in event or event.get("error")):
            return bytes(body)
    text = body[: limits.INLINE_BYTES].decode("utf-8", "replace")
    what = "a web page" if re.match(r"<(!doctype )?html", text, re.I) else "something else"
    shown = _title(text)[:400]
    raise ModelError(
        f"The model server {url} sent {what} instead of an answer: “{one_line(' '.join(shown.split()), 120)}”. "
        "Check the base URL, and whether a proxy or a login page answers instead."
    )


def _shown(data: bytes) -> str:
    return f"“{one_line(data[: limits.INLINE_BYTES].decode('utf-8', 'replace').strip(), 160)}”"


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > _LINE_BYTES:
            raise ModelRetryable(f"The model's server sent a line of more than {_LINE_BYTES:,} bytes.")
    yield rest


def error_text(data: bytes) -> str:
    """Return an error body's message from the usual places, or a page's title."""
    text = data.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        return _message_in(json.loads(text))
    return _title(text)


def _title(page: str) -> str:
    title = _TITLE.search(page)
    return title[1] if title else page


def _message_in(told: Any) -> str:  # noqa: ANN401 - any JSON value
    wrote = ""
    for key in ("error", "message", "detail"):
        if isinstance(told, dict):
            wrote = told.get("failed_generation") or wrote
            told = told.get(key) or told
    said = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False) if told else ""
    return f"{said} It wrote: {wrote}" if wrote else said


def status_error(
    who: str, status: int, detail: str, header: Callable[[str], str | None] = lambda _: None
) -> ModelError:
    """Return the error for an HTTP ``status``; ModelRetryable if another try may help.

    ``header`` looks up response headers; ``retry-after`` in seconds.
    """
    said = f" It says: {one_line(' '.join(detail.split()), 1_000).rstrip('.')}." if detail else ""
    pause = _seconds(header("retry-after"))
    if _BAD_CALL.search(detail):
        return ModelCallError(f"{who} answered with HTTP {status}.{said}")
    is_spent = status == 429 and pause is None and _SPENT.search(detail)
    if (status in _PASSING or status >= 500) and not is_spent:
        what = _PASSING.get(status, "failed")
        wait = f", and asks to wait {pause:g} s" if pause is not None else ""
        return ModelRetryable(f"{who} {what} (HTTP {status}){wait}.{said}", pause)
    if status in (400, 413, 422) and _TOO_LONG.search(detail):
        found = _LIMIT.search(detail.replace(",", ""))
        return ModelTooLongError(f"{who} finds the prompt too long.{said}", int(found[1] or found[2]) if found else 0)
    if 300 <= status < 400:
        to = one_line(header("location") or "nowhere", 200)
        return ModelError(
            f"{who} redirects to {to} (HTTP {status}). That is not followed, because your key would go there: "
            "if it is right, give it as the base URL."
        )
    remedy = _REMEDIES.get(402 if is_spent else status, "Another try would give the same answer.")
    return ModelError(f"{who} refused the request (HTTP {status}).{said} {remedy}")


def echo_arguments(raw: str) -> dict[str, Json]:
    """Return a call's arguments as an object for the history.

    Anything but a plain JSON object becomes ``{"INVALID_JSON": …}``, so that it never looks like a good call. Never
    executed.
    """
    import jiter  # only here, so that a conversation without calls does not wait for it

    value = None
    with suppress(ValueError, RecursionError):
        value = jiter.from_json((raw or "{}").encode(), allow_inf_nan=False, catch_duplicate_keys=True)
    return value if isinstance(value, dict) else {"INVALID_JSON": encodable(raw[:_ECHO_CHARS])}


def encodable(text: str) -> str:
    """Replace lone surrogates, which no request can carry, by ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return min(seconds, limits.MODEL_PAUSE_SECONDS) if 0 <= seconds < 86_400 else None
