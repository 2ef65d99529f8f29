"""The server: loopback only, a random port. Everything is read from the logs; decisions are left for the run.

GET  /                                the shell, the same for everyone; its scripts and style sheets
GET  /api/sessions                    {html}
GET  /api/search?q=&before=           {html}
GET  /api/report/… and others         what ``reports`` answers
GET  /api/waiting                     {count, html}: what waits for a human, in every session
GET  /api/session/ID?first=N          a window of a session (``pages.Window``)
GET  /api/session/ID/stream           server-sent events; resumes after the header Last-Event-ID
GET  /api/session/ID/question         what waits in the session: {question, digest, state, html, texts}
GET  /api/session/ID/question/N/rule  what the grant that N offers would have done in past sessions
POST /api/decide                      {session, question, digest, do, …}: needs the token that decides
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import parse_qs, urlsplit

from rails.approval.answer import read_answer
from rails.core.dataclass import replace
from rails.core.errors import RailsError, UsageError
from rails.log.reader import SESSION_ID
from rails.review.inbox import Inbox
from rails.review.web.card import question_json
from rails.review.web.guard import HEADERS, TOKEN_HEADER, Guard, GuardedRequest
from rails.review.web.http import Headers, LoopbackServer, PageResponse
from rails.review.web.pages import Pages, card_html, waiting_html
from rails.review.web.reports import Reports
from rails.review.web.stream import Streams

__all__ = ["HEADERS", "ReviewServer"]

_TARGET_CHARS: Final = 4_096
_SETTLE_S: Final = 2.0
_JS: Final = "text/javascript; charset=utf-8"
_CSS: Final = "text/css; charset=utf-8"
_STATIC: Final = {
    "/": ("rails.review.web", "static/shell.html", "text/html; charset=utf-8"),
    "/app.js": ("rails.review.web", "static/app.js", _JS),
    "/live.js": ("rails.review.web", "static/live.js", _JS),
    "/approval.js": ("rails.review.web", "static/approval.js", _JS),
    "/reports.js": ("rails.review.web", "static/reports.js", _JS),
    "/app.css": ("rails.review.web", "static/app.css", _CSS),
    "/approval.css": ("rails.review.web", "static/approval.css", _CSS),
    "/session.css": ("rails.review", "session.css", _CSS),
    "/flow.css": ("rails.n8n.draw", "picture.css", _CSS),
}
_SESSION: Final = re.compile(r"/api/session/([0-9A-Za-z_-]{1,80})(?:/(stream|question))?(?:/([0-9]{1,12})/rule)?")
_NOTHING: Final = "There is nothing here."


class ReviewServer:
    """Serves the sessions below ``state``; use it in ``with``. Its addresses are for the user's eyes only.

    ``key`` (``rails.approval.pending.answer_key``) lets the page decide; without it the page can only look. ``prices``
    is the user's file of prices; without it nothing is said of what a session costs.
    """

    def __init__(self, state: Path, *, port: int = 0, key: bytes | None = None, prices: Path | None = None) -> None:
        self._closing = threading.Event()
        try:
            self._http = LoopbackServer(port)
        except OSError as error:
            raise UsageError(f"Port {port} cannot be used: {error.strerror}. Leave --port out.") from error
        self._state = state
        self._pages = Pages(state, prices)
        self._reports = Reports(state, self._pages.index, card_html)
        self._inbox = Inbox(state, self._pages.index, key)
        self._streams = Streams(self._pages.index, self._closing, self._pages.meter)
        self.port = self._http.server_address[1]
        self._guard = Guard(self.port, secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        self._http.site = self

    @property
    def url(self) -> str:
        """The address that can only look."""
        return self.url_for("read")

    def url_for(self, right: Literal["read", "decide"], session_id: str = "") -> str:
        """Return the address with a token in its fragment, which browsers keep to themselves."""
        token = self._guard.decide if right == "decide" else self._guard.read
        session = f"&s={session_id}" if session_id else ""
        return f"http://127.0.0.1:{self.port}/#token={token}{session}"

    def serve_forever(self) -> None:
        """Answer until :meth:`close`, or an interrupt."""
        self._http.serve_forever(poll_interval=0.2)

    def start(self) -> Self:
        """Answer in a thread of its own."""
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def settle(self) -> None:
        """Wait for a moment until everyone who follows a session has seen its end."""
        if not self._streams.count:
            return
        deadline = time.monotonic() + _SETTLE_S
        while self._streams.count and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)  # they fetch the last turn now

    def close(self) -> None:
        """Stop answering."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.end_connections()
        self._pages.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, target: str, headers: Headers) -> PageResponse:
        """Return the answer to a GET of ``target``; ``headers`` gives all values of a header."""
        parts = urlsplit(target) if target.startswith("/") and len(target) <= _TARGET_CHARS else None
        asked = _asked(parts.path if parts else "", headers)
        if refused := self._guard.refusal(asked):
            return PageResponse.words(*refused)
        if parts is None:
            return PageResponse.words(404, _NOTHING)
        if static := _STATIC.get(parts.path):
            package, name, kind = static
            return PageResponse(200, kind, resources.files(package).joinpath(name).read_bytes())
        query = {key: values[-1] for key, values in parse_qs(parts.query, max_num_fields=10).items()}
        return _guarded(lambda: self._api(parts.path, query, asked, headers("Last-Event-ID")))

    def take(self, target: str, headers: Headers, read: Callable[[int], bytes]) -> PageResponse:
        """Return the answer to a POST; its body is read when everything else about it is right."""
        asked = _asked(target, headers)
        if refused := self._guard.post_refusal(asked):
            return PageResponse.words(*refused)
        if target != "/api/decide":
            return PageResponse.words(404, _NOTHING)
        return _guarded(lambda: self._decide(read(int(asked.length[0]))))

    def _decide(self, body: bytes) -> PageResponse:
        try:
            given = json.loads(body)
            session_id, number = given.pop("session"), given.pop("question")
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
            raise UsageError("A decision is a JSON object that names its session and question.") from error
        if not isinstance(session_id, str) or not SESSION_ID.fullmatch(session_id) or type(number) is not int:
            raise UsageError("A decision names its session and question.")
        if not self._pages.knows(session_id):
            return PageResponse.words(404, "There is no such session.")
        outcome = self._inbox.decide(session_id, number, replace(read_answer(given), place="page"))
        if outcome.state in ("unknown", "sent"):
            status = 404 if outcome.state == "unknown" else 202
        else:
            status = 200 if outcome.mine else 409
        return PageResponse.json({"state": outcome.state, "words": outcome.words, "by": outcome.by}, status)

    def _api(self, path: str, query: Mapping[str, str], asked: GuardedRequest, last_seen: list[str]) -> PageResponse:
        if path == "/api/sessions":
            return PageResponse.json({"html": self._pages.sessions()})
        if path == "/api/search":
            return PageResponse.json({"html": self._pages.search(query.get("q", ""), query.get("before", ""))})
        if report := self._reports.answer(path, query):
            return PageResponse.json(report)
        if path == "/api/waiting":
            waiting = list(self._inbox.waiting())
            html = waiting_html([(question, self._inbox.facts(question)) for question in waiting])
            return PageResponse.json({"count": len(waiting), "html": html})
        if (match := _SESSION.fullmatch(path)) is None or (match[3] and match[2] != "question"):
            return PageResponse.words(404, _NOTHING)
        session_id, what, number = match.groups()
        if what == "stream":
            seen = last_seen[0] if last_seen else query.get("after", "0")
            return self._stream(session_id, int(seen) if re.fullmatch("[0-9]{1,12}", seen) else 0)
        if what == "question":
            return self._question(session_id, int(number) if number else None, asked, full="full" in query)
        first = query.get("first", "")
        window = self._pages.window(session_id, int(first) if first.isascii() and first.isdigit() else None)
        return PageResponse.json(window.to_json()) if window else PageResponse.words(404, "There is no such session.")

    def _stream(self, session_id: str, seen: int) -> PageResponse:
        if self._streams.full():
            return PageResponse.words(503, "Too many tabs follow a session. Close some.")
        if not self._pages.knows(session_id):
            return PageResponse.words(404, "There is no such session.")
        return PageResponse(200, "text/event-stream", b"", self._streams.follow(session_id, seen))

    def _question(self, session_id: str, number: int | None, asked: GuardedRequest, *, full: bool) -> PageResponse:
        if not self._pages.knows(session_id):
            return PageResponse.words(404, "There is no such session.")
        question = self._inbox.find(session_id, number) if number else self._inbox.open(session_id)
        if question is None:
            return PageResponse.json({"question": 0})
        facts = self._inbox.facts(question)
        if number:
            return PageResponse.json({"words": self._inbox.rule_words(facts)})
        if not self._inbox.listening(session_id):
            decides = "not running"
        else:
            decides = "yes" if self._guard.decides(asked) else "read"
        return PageResponse.json(question_json(question, facts, decides, full=full))


def _asked(path: str, headers: Headers) -> GuardedRequest:
    names = ("Host", "Origin", "Sec-Fetch-Site", TOKEN_HEADER, "Content-Type", "Content-Length", "Transfer-Encoding")
    return GuardedRequest(path, *(headers(name) for name in names))


def _guarded(job: Callable[[], PageResponse]) -> PageResponse:
    try:
        return job()
    except UsageError as error:
        return PageResponse.words(400, str(error))
    except RailsError as error:
        return PageResponse.words(500, str(error))
