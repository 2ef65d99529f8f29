"""The incremental reader: text in, signals out, and at the end everything that the answer held."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import replace

from rails.core import limits
from rails.core.conversation import NativeCall, StopReason
from rails.core.errors import Refusal
from rails.core.requests import RawRequest
from rails.intake import requests, shape
from rails.intake.detect import Scanner, Span
from rails.intake.requests import NORMAL_STOPS, Block, Outcome
from rails.intake.results import Completed, Ignored, Intake, Shapes, Signal, Started
from rails.intake.tracker import PATH_KEYS, Tracker


class Reader:
    """Reads one answer as it streams in. Same results for any chunking, also inside a character.

    ``tools`` are the tools that exist; ``id_prefix`` makes request ids unique in a session.
    """

    def __init__(self, tools: Shapes, *, id_prefix: str = "r") -> None:
        self._tools, self._prefix = tools, id_prefix
        self._known = requests.known_names(tools)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._scanner = Scanner()
        self._announced: Tracker | None = None
        self._count = 0
        self._size = 0
        self._waiting: list[list[RawRequest | Refusal]] = []
        self._started: set[str] = set()
        self._requests: list[RawRequest] = []
        self._refusals: list[Refusal] = []
        self._ignored: list[Ignored] = []
        self._prose: list[str] = []
        self._native: dict[str, str] = {}
        self._done = False

    def feed(self, chunk: str | bytes) -> list[Signal]:
        """Take the next piece of the answer. Returns what became known by it, in order.

        Raises ValueError after ``flush``.
        """
        if self._done:
            raise ValueError("the reader was flushed")
        text = self._decode(chunk) if isinstance(chunk, bytes) else chunk
        room = limits.ANSWER_CHARS - self._size
        self._size += len(text)
        signals: list[Signal] = []
        for item in self._scanner.feed(text[:room] if room < len(text) else text):
            self._take(item, signals)
        tracker = self._scanner.tracker
        if tracker is not None and tracker is not self._announced:
            self._announce(tracker, self._scanner.block_start, signals)
        return signals

    def flush(self, finish: StopReason, calls: Sequence[NativeCall] = ()) -> Intake:
        """Take the end of the answer, why it ended, and the provider's own calls. Call it once."""
        if self._done:
            raise ValueError("the reader was flushed")
        late: list[Signal] = []
        whole = finish in NORMAL_STOPS and self._size <= limits.ANSWER_CHARS
        for item in (*self._scanner.feed(self._decode(b"", True)), *self._scanner.flush()):
            self._take(item, late, whole=whole)
        for outcomes in self._waiting:
            self._complete(outcomes if whole else requests.without_closers(outcomes), late)
        self._done = True
        for call in calls:
            outcome = self._numbered(requests.judge_native(call, finish))
            self._native[_id(outcome)] = call.id
            self._complete([outcome], late)
        if self._size > limits.ANSWER_CHARS:
            self._refusals.append(requests.too_long(limits.ANSWER_CHARS))
        return Intake(
            tuple(self._requests),
            tuple(self._refusals),
            tuple(self._ignored),
            "".join(self._prose),
            dict(self._native),
            tuple(late),
        )

    def _take(self, item: Span | str, signals: list[Signal], *, whole: bool = True) -> None:
        if isinstance(item, str):
            self._prose.append(item)
        elif item.kind == "json":
            self._take_json(item, signals, whole)
        else:
            self._take_quote(item, signals)

    def _take_json(self, span: Span, signals: list[Signal], whole: bool) -> None:
        tracker = span.tracker or Tracker()
        raw = span.raw.rstrip("\r\n") if span.closed else span.raw
        block = Block(span.body, raw, span.start, span.start + len(raw), span.body_start, span.closed, whole)
        outcomes = requests.judge(block, self._tools, self._known, tracker)
        if tracker is not self._announced:
            self._announce(tracker, span.start, signals)
        if tracker is self._announced:
            outcomes = requests.never_ignored(outcomes, block)
        self._settle(span, outcomes, signals)

    def _take_quote(self, span: Span, signals: list[Signal]) -> None:
        self._settle(span, requests.judge_quote(span.raw, span.start, span.end, span.label, span.closed), signals)

    def _settle(self, span: Span, outcomes: Sequence[Outcome], signals: list[Signal]) -> None:
        """Give the outcomes of one stretch their ids and pass them on, or keep its text as prose."""
        if not outcomes or isinstance(outcomes[0], Ignored):
            self._prose.append(span.raw)
            self._ignored.extend(one for one in outcomes if isinstance(one, Ignored))
            return
        numbered = [self._numbered(one) for one in outcomes if not isinstance(one, Ignored)]
        if self._waiting or requests.used_closers(numbered):
            self._waiting.append(numbered)
        else:
            self._complete(numbered, signals)

    def _numbered(self, outcome: RawRequest | Refusal) -> RawRequest | Refusal:
        self._count += 1
        name = f"{self._prefix}{self._count}"
        if isinstance(outcome, RawRequest) and self._count > limits.REQUESTS_PER_ANSWER:
            outcome = requests.too_many(outcome.start, outcome.end, limits.REQUESTS_PER_ANSWER)
        if isinstance(outcome, RawRequest):
            return replace(outcome, id=name)
        return replace(outcome, request_id=name)

    def _announce(self, tracker: Tracker, start: int, signals: list[Signal]) -> None:
        """Say that a request has begun, if its tool is known and its path is known or not to come."""
        name = tracker.tool()
        if name not in self._tools:
            return
        has_path = bool(shape.properties(self._tools[name]).keys() & set(PATH_KEYS))
        path = tracker.found.get("path", "") if has_path else ""
        if has_path and not path and tracker is self._scanner.tracker:
            return
        self._announced = tracker
        signals.append(Started(f"{self._prefix}{self._count + 1}", name, path, start))
        self._started.add(signals[-1].id)

    def _complete(self, outcomes: Sequence[RawRequest | Refusal], signals: list[Signal]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, RawRequest):
                self._requests.append(outcome)
                if outcome.id not in self._started:
                    signals.append(Started(outcome.id, outcome.tool_name, _path(outcome), outcome.start))
            else:
                self._refusals.append(outcome)
            signals.append(Completed(_id(outcome), outcome))


def _id(outcome: RawRequest | Refusal) -> str:
    return outcome.id if isinstance(outcome, RawRequest) else outcome.request_id


def _path(request: RawRequest) -> str:
    return next((value for key in PATH_KEYS if isinstance(value := request.parameters.get(key), str)), "")


def read(
    text: str | bytes | None,
    tools: Shapes,
    *,
    finish: StopReason = "end_turn",
    calls: Sequence[NativeCall] = (),
    id_prefix: str = "r",
) -> Intake:
    """Read a whole answer. ``None`` and empty text give an empty result.

    ``text`` may be UTF-8 bytes (undecodable bytes become U+FFFD). ``tools`` maps every tool name to the
    JSON Schema of its parameters; ``finish`` is why the model stopped; ``calls`` are native calls.
    """
    reader = Reader(tools, id_prefix=id_prefix)
    signals = reader.feed(text) if text else []
    intake = reader.flush(finish, calls)
    return replace(intake, late=(*signals, *intake.late))
