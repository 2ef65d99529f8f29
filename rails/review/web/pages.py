"""The page's HTML fragments: sessions, windows of one, search hits. A window of records keeps long sessions fast."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from rails.approval.pending import is_being_written
from rails.config.prices import Prices, load_price_file
from rails.core import limits
from rails.core.errors import LogError, UsageError
from rails.core.events.approval import ApprovalOpened
from rails.core.events.changes import ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import WorkflowEnd, WorkflowStart
from rails.core.events.turn import LlmCall
from rails.core.plain_file import real_path
from rails.core.text import counted, one_line, sha256
from rails.core.tool_request import Json
from rails.log.actions import is_of_agent, question_text
from rails.log.event_codec import NEWER
from rails.log.reader import LOG_NAME, full
from rails.log.scan import records_from, search
from rails.log.session_stats import SessionStats, seconds_between
from rails.log.summaries import Summaries
from rails.projections.attempts import tally
from rails.projections.common import SessionView
from rails.projections.progress import current_step_text, plan_of
from rails.projections.session import session_view
from rails.render.blocks import Badge, Diff, DiffLine, show
from rails.render.highlight import spans
from rails.render.html_page.blocks import diff_row
from rails.render.html_page.markup import Html, el, join, titled
from rails.render.units import minute_text
from rails.review.html import header, overview, turn_sections, why
from rails.review.html_plan import plan_html
from rails.review.questions import ApprovalQuestion
from rails.review.reports.session import ending_badge, task_line
from rails.review.reports.sessions import OPEN, SPARK, UNKNOWN, unread_lines
from rails.review.reports.usage import SessionUsage, session_usage
from rails.review.web.search import RECORD_CHIPS, chips, hit_html

#: Records of a session that are shown at once; the window of a growing session moves by half of it.
WINDOW: Final = 300
#: Sessions of at most so many records are read whole for what is said of all of it; of longer ones the stats know.
_WHOLE: Final = 4_000
#: Records that are looked through for the beginning of a turn: most have a dozen, so a few first.
_LOOK_BACK: Final = (20, 60, 120, 800)
_RULES: Final = 30
_HITS: Final = 50
#: Unchanged lines that are opened at a time, and characters of a line that have to be the same.
_OPENED: Final = 500
_COMPARED: Final = 200
_WAITING: Final = Badge("●", "open", "Waiting for approval")
_RUNNING: Final = Badge("●", "open", "Running")


class Window(msgspec.Struct, frozen=True):
    """Records ``first`` to ``last`` of ``total``; ``step`` of the plan; ``meter``, ``bars``: the session's use."""

    session: str
    first: int
    last: int
    total: int
    running: bool
    head: Html
    turns: tuple[Mapping[str, Json], ...]
    step: str = ""
    meter: str = ""
    bars: tuple[tuple[str, float], ...] = ()


class Pages:
    """The pages for ``.rails`` folder ``state``. Thread-safe. ``prices``: the user's file."""

    def __init__(self, state: Path, prices: Path | None = None) -> None:
        self.state = state
        self._prices = prices
        self.summaries = Summaries(state)
        self._lock = threading.Lock()
        self._kept: tuple[str, int, SessionView] | None = None

    def knows(self, session_id: str) -> bool:
        """Return whether the session exists."""
        return (self.state / "sessions" / session_id / LOG_NAME).is_file()

    def card(self, card: SessionStats) -> Html:
        """Return a session's entry with its cost."""
        return card_html(card, self.meter(card).cost, self._status(card))

    def _status(self, card: SessionStats) -> Badge:
        if card.outcome or not is_being_written(self.state, card.session_id):
            return ending_badge(card.ending)
        return _WAITING if card.waiting else _RUNNING

    def window(self, session_id: str, first: int | None = None, *, before: int = 0, part: bool = False) -> Window:
        """Return whole turns from ``first`` (``None``: the last) or before ``before``; ``part``: no head. Raises
        LogError.
        """
        card = self.summaries.get(session_id)
        total = card.records
        running = is_being_written(self.state, session_id)
        wanted = _last_window(total) if first is None else max(1, min(first, total))
        wanted, stop = (max(1, before - WINDOW), before - 1) if before else (wanted, wanted + WINDOW - 1)
        _, start = turn_at(self.state, session_id, wanted)
        view = self._view(card, start, stop)
        turns = [turn for turn in view.turns if start <= turn.first_seq <= stop]
        if stop < total and len(turns) > 1 and not before:
            turns = turns[:-1] if view.turns[-1] is turns[-1] or turns[-1].last_seq > stop else turns
        last = min(stop, total) if stop >= total or not turns else turns[-1].last_seq
        sections = zip(turns, turn_sections(view, turns), strict=True)
        shown: tuple[Mapping[str, Json], ...] = tuple({"number": one.number, "html": html} for one, html in sections)
        plan = plan_of(self._landmarks(card))
        meter = self.meter(card)
        head = Html("") if part else self._head(card, view, meter, running=running)
        step = current_step_text(plan)
        return Window(session_id, start, last, total, card.outcome in OPEN, head, shown, step, meter.line, meter.bars)

    def _head(self, card: SessionStats, view: SessionView, meter: SessionUsage, *, running: bool) -> Html:
        drawn = plan_html(plan_of(self._landmarks(card)), session_id=card.session_id, at_work=running)
        top = join(header(view, meter.facts, self._status(card)), drawn)
        if card.records <= _WHOLE:
            return join(top, overview(view), why(view))
        return join(top, overview(view, card), found_html(card))

    def _view(self, card: SessionStats, start: int, stop: int) -> SessionView:
        name = card.session_id
        total = card.records
        damage = ["The log has lines that cannot be read."] if card.damage else []
        if card.newer:
            damage.append(f"{card.newer} lines were {NEWER}, and not read. This version writes nothing to the log.")
        if total > _WHOLE:
            records = self._records(name, start, stop - start + 1)
            last = records[-1].seq if records else start
            outside = [*self._records(name, 1, 1)[: start > 1], *self._records(name, total, 1)[: last < total]]
            frame = [record for record in outside if isinstance(record.event, WorkflowStart | WorkflowEnd)]
            return session_view(sorted((*records, *frame), key=lambda record: record.seq), damage)
        with self._lock:
            if self._kept is None or self._kept[:2] != (name, total):
                self._kept = name, total, session_view(self._records(name, 1, total), damage)
            return self._kept[2]

    def meter(self, card: SessionStats) -> SessionUsage:
        """Return what a session has used and has left."""
        try:
            prices = load_price_file(self._prices) if self._prices else Prices()
            note = ""
        except UsageError as error:
            prices = Prices()
            note = str(error)
        running = not card.outcome and is_being_written(self.state, card.session_id)
        since = seconds_between(card.last, datetime.now(UTC).isoformat()) if running else 0.0
        return session_usage(card, prices, since_last_s=since, note=note)

    def _landmarks(self, card: SessionStats) -> Iterator[Record]:
        for number in sorted({card.start, *card.landmarks, card.told} - {0}):
            yield from records_from(self.state, card.session_id, number, 1)

    def search(self, line: str, before: str = "") -> Html:
        """Return the newest matching records. Raises UsageError for a meaningless line."""
        found = search(self.state, line, limit=_HITS, before=before)
        tasks = {name: self.summaries.get(name).task for name in {hit.session_id for hit in found.hits}}
        turns = [turn_at(self.state, hit.session_id, hit.record.seq)[0] for hit in found.hits]
        shown = zip(found.hits, turns, strict=True)
        hits = [hit_html(hit, line, tasks[hit.session_id], turn) for hit, turn in shown]
        more = el("button", "Older", class_="more", data_before=found.next) if found.next else None
        nothing = el("p", "Nothing found.", class_="empty") if not hits else None
        head = None if before else chips(line, RECORD_CHIPS, "q")
        return join(head, nothing, el("ol", hits, class_="hits") if hits else None, more)

    def unchanged(
        self, session_id: str, records: tuple[int, int], path: str, lines: range, known: tuple[int, int, str]
    ) -> dict[str, Json] | None:
        """Return bounded lines of a file as changed in ``records``, and whether more follow; ``None`` if not in the
        log.

        ``known``: a neighbouring line, its old and new number, its text.
        """
        old, at, text = known
        for whole in self._texts(session_id, records, path):
            if not 0 < at <= len(whole) or show(whole[at - 1])[:_COMPARED] != text:
                continue
            wanted = range(max(1, lines.start), min(lines.stop, len(whole) + 1))[:_OPENED]
            rows = tuple(DiffLine("context", show(whole[n - 1]), n - at + old, n) for n in wanted)
            diff = Diff(path, "modify", rows, 0, 0)
            drawn = [diff_row(*both) for both in zip(rows, spans(diff), strict=True)]
            more = bool(wanted) and wanted.stop < min(lines.stop, len(whole) + 1)
            return {"html": el("table", el("tbody", drawn)), "more": more}
        return None

    def _texts(self, session_id: str, records: tuple[int, int], path: str) -> Iterator[list[str]]:
        first, last = records
        sums = set()
        for record in self._records(session_id, first, min(last - first + 1, _LOOK_BACK[-1]))[::-1]:
            match record.event:
                case ApprovalOpened(files=files):
                    yield from (one.after.split("\n") for one in files if one.path == path and one.after is not None)
                case ToolExecutionResult(changes=changes):
                    sums |= {one.after_sha256 for one in changes or () if one.path == path}
        file = self.state.parent / path
        if real_path(file).is_relative_to(self.state.parent.resolve()) and file.is_file():
            data = file.read_bytes()
            if sha256(data) in sums:
                yield data.decode("utf-8", "replace").split("\n")

    def _records(self, session_id: str, first: int, count: int) -> list[Record]:
        records: list[Record] = []
        while count > 0 and first > 0:
            part = records_from(self.state, session_id, first, min(count, limits.PAGE_ROWS))
            records += map(self._whole, part)
            if len(part) < limits.PAGE_ROWS:
                break
            first += len(part)
            count -= len(part)
        return records

    def _whole(self, record: Record) -> Record:
        try:
            return full(record, self.state)
        except LogError:
            return msgspec.structs.replace(record, message=f"{record.message} (a stored value cannot be read)")


def turn_at(state: Path, session_id: str, record: int) -> tuple[int, int]:
    """Return a record's turn and its first record; else 0, ``record``."""
    last = record
    for count in _LOOK_BACK:
        first = max(1, last - count + 1)
        before = records_from(state, session_id, first, last - first + 1)
        if asked := [(event.turn, one.seq) for one in before if isinstance(event := one.event, LlmCall)]:
            turn = asked[-1][0]
            return turn, next(seq for number, seq in asked if number == turn)  # asked again: the same turn
        if first == 1:
            break
        last = first - 1
    return 0, record


def waiting_html(waiting: Sequence[tuple[ApprovalQuestion, ApprovalOpened]]) -> Html:
    """Return the waiting questions as links; nothing if none."""
    items = [
        el(
            "a",
            el("b", "? Asks you" if is_of_agent(asked) else "● Waiting for approval"),
            el("span", question_text(asked)),
            el(
                "span",
                one_line(task_line(": ".join(filter(None, (asked.agent, asked.explanation)))), 200),
                class_="meta",
            ),
            href=f"#/s/{question.session_id}",
            class_="wait",
        )
        for question, asked in waiting
    ]
    return join(*items)


def _last_window(total: int) -> int:
    half = WINDOW // 2
    return 1 + half * max(0, -(-(total - WINDOW) // half))


def found_html(card: SessionStats) -> Html | None:
    """Return a session's findings by rule, with links to failures and decisions."""
    found = sorted(card.rules.items(), key=lambda item: -item[1])
    counts = [
        *((f"rule:{rule}", rule, count) for rule, count in found[:_RULES]),
        ("is:refused", "refused", card.refused),
        ("is:denied", "denied", card.denied),
        ("is:error", "errors", card.errors),
    ]
    rows = [_found(*one, card) for one in counts if one[-1]]
    title = "Findings and failures of the whole session"
    return titled("found", title, el("ul", rows, class_="tabs"), class_="why") if rows else None


def _found(asked: str, words: str, count: int, card: SessionStats) -> Html:
    href = f"#/q/{quote(f'{asked} session:{card.session_id}', safe='')}"
    return el("li", el("a", f"{one_line(words, 60)} ×{count:,}", href=href))


def card_html(card: SessionStats, cost: str, ended: Badge) -> Html:
    """Return a session's entry in the list."""
    counts = (
        f"{counted(card.requests, 'request')}, {card.refused} refused, {card.approved} approved, "
        f"{card.denied} denied, {counted(card.records, 'record')}{unread_lines(card)}"
    )
    facts = filter(None, (card.question if card.waiting else "", ", ".join(card.agents[:5]), counts))
    marks = [_spark(letter) for letter in card.spark]
    return el(
        "a",
        el("span", el("b", one_line(task_line(card.task), 120) or card.session_id), class_="task"),
        el("span", minute_text(card.started), class_="started"),
        el("span", counted(card.turns, "turn"), class_="turns"),
        el("span", f"{ended.mark} {ended.words}", class_=f"badge {ended.tone}"),
        el("span", cost, class_="cost"),
        el(
            "span",
            marks,
            class_="spark",
            role="img",
            aria_label=tally(SPARK.get(letter, UNKNOWN)[2] for letter in card.spark),
        )
        if marks
        else None,
        el("span", " · ".join(facts), class_="meta", title=counts),
        href=f"#/s/{card.session_id}",
        class_="card",
    )


def _spark(letter: str) -> Html:
    _, kind, words = SPARK.get(letter, UNKNOWN)
    return el("i", class_=f"{kind} {'tall' if letter in 'ad' else 'low'}", title=words)
