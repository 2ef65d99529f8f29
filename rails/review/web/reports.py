"""Reports, line histories and filtered lists, read-only, as {title, html}; the last {seq}.

GET /api/report/NAME?q=LINE
GET /api/why?at=FILE:LINE
GET /api/list?q=LINE
GET /api/failure/ID?from=N&by=1   the next (-1: previous) failure
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rails.config.prices import PRICES_NAME
from rails.core.app_dirs import config_folder
from rails.core.errors import UsageError
from rails.core.plain_file import real_path
from rails.core.text import one_line, sha256
from rails.core.tool_request import Json
from rails.log.scan import next_failure
from rails.log.session_stats import SessionStats
from rails.render.blocks import Cell
from rails.render.html_page.markup import Html, el, join
from rails.review.html import report_html
from rails.review.reports.grouped import GROUPS
from rails.review.reports.line_history import line_history_as_text
from rails.review.session_list import SessionList
from rails.review.web.search import SESSION_CHIPS, chips

_LISTED: Final = 200
_MORNING: Final = "morning"
_PLACE: Final = re.compile(r"(.{1,1000}):([0-9]{1,9})")


class Reports:
    """Answers for ``.rails`` folder ``state``. Thread-safe. ``draw``: a session's card."""

    def __init__(self, state: Path, draw: Callable[[SessionStats], Html]) -> None:
        self._state = state
        self._draw = draw
        self._library = SessionList(state, config_folder() / PRICES_NAME)

    def report(self, name: str, line: str) -> dict[str, Json]:
        """Return a report. Raises RailsError, as all of these do."""
        if name == _MORNING:
            line = line or "since:yesterday"
            report = self._library.morning(line)
        else:
            report = self._library.report(name, line)
        html = join(
            _tabs(name),
            _asked("Filter sessions", line, f"r/{name}"),
            report_html(report, link),
        )
        return {"title": report.title, "html": html}

    def why(self, place: str) -> dict[str, Json]:
        """Return the history of FILE:LINE."""
        asked = _asked("Blame FILE:LINE", place, "y")
        if not place.strip():
            return {"title": "Blame", "html": asked}
        match = _PLACE.fullmatch(place.strip())
        if match is None or not int(match[2]):
            raise UsageError("Name a file and a line, for example src/app.py:12.")
        project = self._state.parent.resolve()
        file = real_path(project / match[1])
        current = sha256(file.read_bytes()) if file.is_relative_to(project) and file.is_file() else None
        story = self._library.why(match[1], int(match[2]), current)
        origin = story.origin
        target = f"#/s/{origin.session_id}/{origin.turn.first_seq}" if origin else None
        there = el("p", el("a", "Open this turn", href=target)) if target else None
        told = el("section", el("pre", line_history_as_text(story), class_="story"), there, class_="why")
        return {"title": f"Blame {one_line(place, 80)}", "html": join(asked, told)}

    def sessions(self) -> dict[str, Json]:
        """Return the newest sessions."""
        cards = self._library.summaries.newest(_LISTED)
        return self._listed(cards, "", "No session yet. Start one with ai-rails run or ai-rails apply.")

    def list(self, line: str) -> dict[str, Json]:
        """Return the sessions that ``line`` asks for."""
        head = _asked("Filter sessions", line, "f")
        return self._listed(self._library.cards(line), line, "No session matches that.", head)

    def _listed(
        self, cards: Sequence[SessionStats], line: str, nothing: str, head: Html | None = None
    ) -> dict[str, Json]:
        items = [el("li", self._draw(card)) for card in cards[:_LISTED]]
        words = nothing
        if cards:
            words = f"The newest {len(items)} of {len(cards)}." if len(cards) > _LISTED else ""
        shown = el("ul", items, class_="sessions", aria_label="Sessions, the newest first")
        note = el("p", words, class_="empty")
        return {
            "title": "Sessions",
            "html": join(head, chips(line, SESSION_CHIPS, "f"), shown, note if words else None),
        }

    def failure(self, session_id: str, start: str, by: str) -> dict[str, Json]:
        """Return the next failed record after ``start``; the previous one with ``by`` -1."""
        at = int(start) if start.isascii() and start.isdigit() and len(start) < 16 else 0
        return {"seq": next_failure(self._state, session_id, at, back=by == "-1")}


def link(cell: Cell) -> str | None:
    """Return where a cell leads on the page."""
    return f"#/s/{cell.session}/{cell.record}" if cell.record else f"#/s/{cell.session}"


def _tabs(current: str) -> Html:
    items = [
        el("li", el("a", words, href=f"#/r/{name}", aria_current="page" if name == current else None))
        for name, words in ((_MORNING, "Morning"), *((name, f"By {name}") for name in GROUPS))
    ]
    return el("nav", el("ul", items, class_="tabs"), aria_label="Reports")


def _asked(label: str, value: str, target: str) -> Html:
    field = el("input", name="line", value=value, aria_label=label, placeholder=label, autocomplete="off")
    button = el("button", "Show")
    return el("form", field, button, class_="ask", data_target=target, role="search", aria_label=label)
