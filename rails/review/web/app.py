"""The page's requests, as a Starlette application. Everything is read from the logs; decisions are left for the run.

GET  /                                the shell, with scripts and style sheets
GET  /api/sessions                    {html}
GET  /api/search?q=&before=           {html}
GET  /api/report/NAME?q= and others   see ``reports``
GET  /api/waiting                     {count, html}, over all sessions
GET  /api/session/ID?first=N&part     turns (``pages.Window``), or before=N; part: without the head
GET  /api/session/ID/stream           server-sent events; resumes after Last-Event-ID
GET  /api/session/ID/question         {question, digest, state, html, texts}
GET  /api/session/ID/question/N/rule  what N's grant would have done in past sessions
POST /api/decide                      {session, question, digest, do, …}; token that decides
GET  /api/session/ID/hears            {hears}: the conversation waits for words
POST /api/say                         {session, words}; token that decides
GET  /api/session/ID/unchanged?…      {html, more} (``pages.unchanged``)
GET  /api/session/ID/change/DO        {html, digest, word}; token that decides
POST /api/change                      {session, do, digest, word}; token that decides

Functions that are no coroutines run in threads, at most forty at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rails.approval.answer import read_answer
from rails.approval.pending import is_being_written
from rails.core import limits
from rails.core.errors import RailsError, UsageError
from rails.core.json_text import json_object
from rails.core.plugins import plugin_of
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.log.actions import is_of_agent
from rails.log.files import SESSION_ID
from rails.review.inbox import Inbox
from rails.review.web.card import question_json
from rails.review.web.changes import DEEDS, Deed, SessionChanges, offer_json
from rails.review.web.guard import DECIDES, FAILED, NOTHING, OPEN_PATHS
from rails.review.web.pages import Pages, waiting_html
from rails.review.web.reports import Reports
from rails.review.web.stream import Streams

_KINDS: Final = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_SESSION: Final = re.compile("[0-9A-Za-z_-]{1,80}")
_NUMBER: Final = re.compile("[0-9]{1,12}")
_UNKNOWN: Final = "There is no such session."


@dataclass(frozen=True)
class ReviewPage:
    """The answers, over what reads the logs."""

    pages: Pages
    reports: Reports
    inbox: Inbox
    streams: Streams
    changes: SessionChanges | None

    def app(self) -> Starlette:
        """Return the application, which must be behind ``guard``."""
        routes = [
            *(Route(path, _static) for path in OPEN_PATHS),
            Route("/api/sessions", lambda _: _json(self.reports.sessions())),
            Route("/api/search", self._search),
            Route("/api/report/{name}", lambda asked: _json(self.reports.report(asked.path_params["name"], _q(asked)))),
            Route("/api/why", lambda asked: _json(self.reports.why(_q(asked, "at")))),
            Route("/api/list", lambda asked: _json(self.reports.list(_q(asked)))),
            Route("/api/failure/{session}", self._failure),
            Route("/api/waiting", self._waiting),
            Route("/api/session/{session}", self._window),
            Route("/api/session/{session}/stream", self._stream),
            Route("/api/session/{session}/question", self._question),
            Route("/api/session/{session}/question/{number}/rule", self._rule),
            Route("/api/decide", _posted(self._take), methods=["POST"]),
            Route("/api/session/{session}/hears", self._hears),
            Route("/api/say", _posted(self._take_words), methods=["POST"]),
            Route("/api/session/{session}/unchanged", self._unchanged),
            Route("/api/session/{session}/change/{do}", self._offer),
            Route("/api/change", _posted(self._take_change), methods=["POST"]),
        ]
        refusals = {UsageError: _usage, RailsError: _fault, HTTPException: _nothing, Exception: _fault}
        app = Starlette(routes=routes, exception_handlers=refusals)
        app.router.redirect_slashes = False
        return app

    def _search(self, asked: Request) -> Response:
        return _json({"html": self.pages.search(_q(asked), _q(asked, "before"))})

    def _failure(self, asked: Request) -> Response:
        return _json(self.reports.failure(self._known(asked), _q(asked, "from"), asked.query_params.get("by", "1")))

    def _waiting(self, _: Request) -> Response:
        waiting = list(self.inbox.waiting())
        html = waiting_html([(question, self.inbox.asked(question)) for question in waiting])
        return _json({"count": len(waiting), "html": html})

    def _window(self, asked: Request) -> Response:
        first = _whole_number(_q(asked, "first"))
        before = _whole_number(_q(asked, "before"))
        name = self._known(asked)
        part = "part" in asked.query_params
        window = self.pages.window(name, first, before=before or 0, part=part)
        may = bool(self.changes and asked.scope[DECIDES]) and not is_being_written(self.pages.state, name)
        return _json({**json_object(window), "changes": may})

    async def _stream(self, asked: Request) -> Response:
        session_id = await run_in_threadpool(self._known, asked)
        if self.streams.full():
            return _words(503, "Too many tabs follow a session. Close some.")
        seen = asked.headers.get("Last-Event-ID", asked.query_params.get("after", "0"))
        events = self.streams.follow(session_id, int(seen) if _NUMBER.fullmatch(seen) else 0)
        return StreamingResponse(events, headers={"Content-Type": "text/event-stream"})

    def _question(self, asked: Request) -> Response:
        session_id = self._known(asked)
        question = self.inbox.open(session_id)
        if question is None:
            return _json({"question": 0})
        if not (self.inbox.listening(session_id) or is_of_agent(self.inbox.asked(question))):
            decides = "not running"
        else:
            decides = "yes" if asked.scope[DECIDES] else "read"
        return _json(question_json(question, self.inbox.asked(question), decides, full="full" in asked.query_params))

    def _rule(self, asked: Request) -> Response:
        session_id = self._known(asked)
        number = asked.path_params["number"]
        if not _NUMBER.fullmatch(number):
            raise HTTPException(404)
        question = self.inbox.find(session_id, int(number)) if int(number) else self.inbox.open(session_id)
        if question is None:
            return _json({"question": 0})
        return _json({"words": self.inbox.rule_words(self.inbox.asked(question))})

    def _known(self, asked: Request) -> str:
        name: str = asked.path_params["session"]
        if not _SESSION.fullmatch(name):
            raise HTTPException(404)
        if not self.pages.knows(name):
            raise HTTPException(404, _UNKNOWN)
        return name

    def _unchanged(self, asked: Request) -> Response:
        names = ("first", "last", "from", "to", "at", "old")
        first, last, start, stop, at, old = (_whole_number(_q(asked, name)) or 0 for name in names)
        lines = range(start, stop + 1)
        known = (old, at, _q(asked, "text"))
        found = self.pages.unchanged(self._known(asked), (first, last), _q(asked, "path"), lines, known)
        return _json(found) if found else _words(404, "The log does not have the rest of this file.")

    def _offer(self, asked: Request) -> Response:
        session_id = self._known(asked)
        do = _deed(asked.path_params["do"])
        if self.changes is None or not asked.scope[DECIDES]:
            return _words(403, "This link is read-only. Open the other link that ai-rails printed.")
        return _json(offer_json(self.changes.offer(session_id, do), do))

    def _take_change(self, body: bytes) -> Response:
        given = _object(body, "session", "do", "digest", "word")
        do = _deed(given["do"])
        if self.changes is None or not self.pages.knows(given["session"]):
            return _words(404, _UNKNOWN)
        if given["word"] != do:
            raise UsageError(f'The word "{do}" was not typed, so nothing was changed.')
        return _json({"words": self.changes.carry_out(given["session"], do, given["digest"])})

    def _take(self, body: bytes) -> Response:
        try:
            given = json.loads(body)
            session_id = given.pop("session")
            number = given.pop("question")
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
            raise UsageError("A decision is a JSON object that names its session and question.") from error
        if not isinstance(session_id, str) or not SESSION_ID.fullmatch(session_id) or type(number) is not int:
            raise UsageError("A decision names its session and question.")
        if not self.pages.knows(session_id):
            return _words(404, _UNKNOWN)
        outcome = self.inbox.decide(session_id, number, replace(read_answer(given), place="page"))
        if outcome.state in ("unknown", "sent"):
            status = 404 if outcome.state == "unknown" else 202
        else:
            status = 200 if outcome.mine else 409
        return _json({"state": outcome.state, "words": outcome.words, "by": outcome.by}, status)

    def _hears(self, asked: Request) -> Response:
        return _json({"hears": bool(asked.scope[DECIDES]) and self.inbox.hears(self._known(asked))})

    def _take_words(self, body: bytes) -> Response:
        given = _object(body, "session", "words")
        session_id = given["session"]
        words = given["words"].strip()
        if not words:
            raise UsageError("A message names its session and has text.")
        if not self.pages.knows(session_id):
            return _words(404, _UNKNOWN)
        if len(words) > limits.FOLLOW_UP_CHARS:
            raise UsageError(
                f"That is {len(words)} characters; {limits.FOLLOW_UP_CHARS} are allowed. Nothing was sent."
            )
        outcome = self.inbox.say(session_id, words)
        return _json({"state": outcome.state, "words": outcome.words}, 202 if outcome.mine else 409)


def _posted(take: Callable[[bytes], Response]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(asked: Request) -> Response:
        return await run_in_threadpool(take, await asked.body())

    return answer


def _static(asked: Request) -> Response:
    name = asked.url.path[1:] or "shell.html"
    place = name if name == "session.css" else f"web/static/{name}"
    flow = name == "flow.css"
    body = plugin_of("n8n").style() if flow else resources.files("rails.review").joinpath(place).read_bytes()
    return Response(body, headers={"Content-Type": f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8"})


def _object(body: bytes, *names: str) -> dict[str, str]:
    try:
        given = json.loads(body)
        found = {name: given[name] for name in names}
    except (ValueError, TypeError, KeyError, RecursionError):
        found = {}
    if (
        not found
        or not all(isinstance(one, str) for one in found.values())
        or not SESSION_ID.fullmatch(found["session"])
    ):
        raise UsageError(f"What is sent is a JSON object with the texts {', '.join(names)}.")
    return found


def _deed(word: str) -> Deed:
    for one in DEEDS:
        if word == one:
            return one
    raise HTTPException(404)


def _whole_number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def _q(asked: Request, name: str = "q") -> str:
    return asked.query_params.get(name, "")


def _json(value: Mapping[str, Json], status: int = 200) -> Response:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, {"Content-Type": "application/json"})


def _words(status: int, words: str) -> Response:
    return Response(one_line(words, 500).encode(), status, {"Content-Type": "text/plain; charset=utf-8"})


async def _usage(_: Request, error: Exception) -> Response:
    return _words(400, str(error))


async def _fault(_: Request, error: Exception) -> Response:
    return _words(500, str(error) if isinstance(error, RailsError) else FAILED)


async def _nothing(_: Request, error: Exception) -> Response:
    return _words(404, _UNKNOWN if getattr(error, "detail", "") == _UNKNOWN else NOTHING)
