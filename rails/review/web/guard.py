"""Who may ask: the rules that every request passes before anything else. Pure.

The dangers are any page the user visits, and the agent itself, which runs programs as the user and may
serve a page on another port. Therefore:

- ``Host`` is compared exactly with our own names; that alone stops DNS rebinding, because a rebound
  page's plain GET carries no ``Origin``;
- ``Origin`` and ``Sec-Fetch-Site``, where sent, must be ours;
- everything but the static shell needs a token in a header. It reaches the page in the URL's fragment,
  which is never sent to a server, and there are no cookies: cookies are not separated by port, so a
  server of the agent's would receive them.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TOKEN_HEADER: Final = "X-AI-Rails-Token"  # noqa: S105 - the name of a header
#: What is the same for everyone and holds no secret, so that the page can load and read its token.
OPEN_PATHS: Final = frozenset({"/", "/app.js", "/app.css", "/session.css", "/flow.css"})
_SITES: Final = ("same-origin", "none")

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What the guard looks at: the path without its query, and the values of four headers as sent."""

    path: str
    host: Sequence[str] = ()
    origin: Sequence[str] = ()
    site: Sequence[str] = ()
    token: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules for a server on ``port`` that was started with ``token``."""

    port: int
    token: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only values of ``Host`` that are ours."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def refusal(self, asked: Asked) -> tuple[int, str] | None:
        """Return status and reason for what may not be answered, or ``None``."""
        if len(asked.host) != 1 or asked.host[0] not in self.hosts:
            return 400, "This server answers to its own name only."
        if asked.origin and list(asked.origin) != [f"http://{asked.host[0]}"]:
            return 403, "Another origin asked."
        if asked.site and (len(asked.site) != 1 or asked.site[0] not in _SITES):
            return 403, "Another site asked."
        if asked.path in OPEN_PATHS:
            return None
        if len(asked.token) != 1 or not hmac.compare_digest(asked.token[0].encode(), self.token.encode()):
            return 401, "The token is missing or wrong. Open the address that ai-rails printed."
        return None
