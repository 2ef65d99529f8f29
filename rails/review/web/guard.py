"""Access rules before every request, against any page that the user visits and pages that the agent serves.

- ``Host`` must be ours exactly; that alone stops DNS rebinding, whose GET carries no ``Origin``;
- ``Origin`` and ``Sec-Fetch-Site``, if sent, must be ours;
- all but the static shell needs a token in a header, from the URL's fragment, which is never sent; cookies would
  reach other ports' servers;
- deciding needs a second token and a POST with our ``Origin``, JSON (no form can send it), known bounded length.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rails.core import limits

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER: Final = "X-AI-Rails-Token"  # noqa: S105 - the name of a header
#: What is the same for everyone and holds no secret, so that the page can load and read its token.
_OPEN: Final = """/
/app.js /live.js /approval.js /reports.js /turns.js /diffs.js /notify.js /changes.js
/app.css /approval.css /session.css /flow.css"""
OPEN_PATHS: Final = frozenset(_OPEN.split())
#: The key of an ASGI scope that says whether whoever asks may decide.
DECIDES: Final = "rails.decides"
#: What is said of a path that names nothing.
NOTHING: Final = "There is nothing here."
#: What is said where something of ours failed.
FAILED: Final = "AI-Rails itself failed here. Nothing was changed by it; reload the page, or answer at the terminal."
_TARGET_CHARS: Final = 4_096
_SITES: Final = ("same-origin", "none")
_LOOKED_AT: Final = (
    b"host",
    b"origin",
    b"sec-fetch-site",
    TOKEN_HEADER.lower().encode(),
    b"content-type",
    b"content-length",
    b"transfer-encoding",
)
_LENGTH: Final = re.compile(r"[0-9]{1,9}")

#: Sent with every answer. Nothing is loaded from elsewhere, nothing may frame the page, and scripts can
#: only insert markup through the one Trusted Types policy of ``app.js``.
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types rails"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class GuardedRequest(Struct, frozen=True):
    """The parts of a request that the guard checks: path without query, some headers as sent."""

    path: str
    host: Sequence[str] = ()
    origin: Sequence[str] = ()
    site: Sequence[str] = ()
    token: Sequence[str] = ()
    kind: Sequence[str] = ()
    length: Sequence[str] = ()
    encoding: Sequence[str] = ()


class Guard(Struct, frozen=True):
    """The rules for ``port``: token ``read`` looks, ``decide`` also decides."""

    port: int
    read: str
    decide: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only allowed values of ``Host``."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def refusal(self, asked: GuardedRequest) -> tuple[int, str] | None:
        """Return status and reason of a refusal, or ``None``."""
        if len(asked.host) != 1 or asked.host[0] not in self.hosts:
            return 400, "This server answers to its own name only."
        if asked.origin and list(asked.origin) != [f"http://{asked.host[0]}"]:
            return 403, "Another origin asked."
        if asked.site and (len(asked.site) != 1 or asked.site[0] not in _SITES):
            return 403, "Another site asked."
        if asked.path in OPEN_PATHS:
            return None
        if not (self._has(asked, self.read) or self._has(asked, self.decide)):
            return 401, "The token is missing or wrong. Open the address that ai-rails printed."
        return None

    def decides(self, asked: GuardedRequest) -> bool:
        """Return whether the token may decide."""
        return self._has(asked, self.decide)

    def post_refusal(self, asked: GuardedRequest) -> tuple[int, str] | None:
        """Return a POST's refusal or ``None``, before reading its body."""
        if refused := self.refusal(asked):
            return refused
        if not asked.origin:
            return 403, "A decision comes from the page itself."
        if not self._has(asked, self.decide):
            return 403, "This link is read-only. Open the other link that ai-rails printed."
        if list(asked.kind) not in (["application/json"], ["application/json; charset=utf-8"]):
            return 415, "A decision is sent as application/json."
        if asked.encoding or len(asked.length) != 1 or not _LENGTH.fullmatch(asked.length[0]):
            return 411, "The length of a decision has to be known."
        if int(asked.length[0]) > limits.PAGE_BODY_BYTES:
            return 413, "This is too large for the page; edit it at the terminal."
        return None

    def _has(self, asked: GuardedRequest, token: str) -> bool:
        return len(asked.token) == 1 and hmac.compare_digest(asked.token[0].encode(), token.encode())


@dataclass(frozen=True)
class GuardMiddleware:
    """Lets only allowed requests through, adding HEADERS to answers. GET and POST only; paths compare as sent, escaped
    ones match nothing.
    """

    app: ASGIApp
    guard: Guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        answer = _with_headers(send, close=scope["method"] != "GET")
        asked = _asked(scope)
        if refused := self._refusal(scope, asked):
            await _refuse(answer, *refused)
            return
        try:
            await self.app({**scope, DECIDES: self.guard.decides(asked)}, receive, answer)
        except SystemExit:  # of a library: it would end the server for everybody
            await _refuse(answer, 500, FAILED)

    def _refusal(self, scope: Scope, asked: GuardedRequest) -> tuple[int, str] | None:
        if scope["method"] not in ("GET", "POST"):
            return 501, f"Unsupported method ({scope['method'][:20]!r})"
        refused = self.guard.post_refusal(asked) if scope["method"] == "POST" else self.guard.refusal(asked)
        return refused or (None if scope["path"] == asked.path else (404, NOTHING))


def _asked(scope: Scope) -> GuardedRequest:
    path = scope["raw_path"].decode("latin-1")
    if not path.startswith("/") or len(path) + len(scope["query_string"]) >= _TARGET_CHARS:
        path = ""
    return GuardedRequest(path, *(_values(scope, name) for name in _LOOKED_AT))


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _with_headers(send: Send, *, close: bool) -> Send:
    """Return ``send`` with our headers; ``close``: a body's rest is no request."""
    ours = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    ours += [(b"connection", b"close")] * close

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*ours, *message.get("headers", ())]}
        await send(message)

    return with_headers


async def _refuse(send: Send, status: int, words: str) -> None:
    body = words.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
