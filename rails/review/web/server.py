"""The loopback server on a random port, behind the guard."""

from __future__ import annotations

import secrets
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self

from rails.core.errors import UsageError
from rails.review.web.guard import Guard, GuardMiddleware

if TYPE_CHECKING:
    from rails.review.web.changes import SessionChanges

_SETTLE_S: Final = 2.0


class ReviewServer:
    """Serves the sessions below ``state``, in ``with``; addresses are secret. Read-only without ``key``
    (``answer_key``); ``prices``: the user's file; without ``changes`` no undo or deletion.
    """

    def __init__(
        self,
        state: Path,
        *,
        port: int = 0,
        key: bytes | None = None,
        prices: Path | None = None,
        changes: SessionChanges | None = None,
    ) -> None:
        # Imported when something is served: no other command waits for Starlette and uvicorn.
        from rails.review.inbox import Inbox
        from rails.review.web.app import ReviewPage
        from rails.review.web.http import LoopbackServer
        from rails.review.web.pages import Pages
        from rails.review.web.reports import Reports
        from rails.review.web.stream import Streams

        self._closing = threading.Event()
        try:
            self._http = LoopbackServer(port)
        except OSError as error:
            raise UsageError(f"Port {port} cannot be used: {error.strerror}. Leave --port out.") from error
        self._pages = Pages(state, prices)
        self._streams = Streams(self._pages.summaries, self._closing, self._pages.meter)
        self.port = self._http.port
        self._guard = Guard(self.port, secrets.token_urlsafe(16), secrets.token_urlsafe(16))
        reports = Reports(state, self._pages.card)
        inbox = Inbox(state, key)
        page = ReviewPage(self._pages, reports, inbox, self._streams, changes if key else None)
        self._app = GuardMiddleware(page.app(), self._guard)

    @property
    def url(self) -> str:
        """The read-only address."""
        return self.url_for("read")

    def url_for(self, right: Literal["read", "decide"], session_id: str = "") -> str:
        """Return the address with a token in its fragment, which browsers do not send."""
        token = self._guard.decide if right == "decide" else self._guard.read
        session = f"&s={session_id}" if session_id else ""
        return f"http://127.0.0.1:{self.port}/#token={token}{session}"

    def serve_forever(self) -> None:
        """Answer until :meth:`close`, or an interrupt."""
        self.start()
        self._http.wait()

    def start(self) -> Self:
        """Answer in a thread of its own."""
        self._http.start(self._app)
        return self

    def settle(self) -> None:
        """Wait briefly until all followers have seen their session's end."""
        if not self._streams.count:
            return
        deadline = time.monotonic() + _SETTLE_S
        while self._streams.count and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)  # they fetch the last turn now

    def close(self) -> None:
        """Stop answering."""
        self._closing.set()
        self._http.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
