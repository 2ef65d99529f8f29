"""Find blocks in streamed text: which stretches could be requests, and where exactly they are.

A scanner over lines. It knows four kinds of stretches: JSON fences, XML tool elements, quoting stretches
(fences in another language, thinking, HTML comments), and prose. Text is judged line by line, once each
line is complete, so the result cannot depend on how the stream was cut into chunks; only the announcement
of a request (``Scanner.tracker``) looks at unfinished lines, character by character.

Rules that are choices:
    fences      three or more back-ticks or tildes at a line's start, after blanks or list markers; closed by
                a line of at least as many of the same, or directly after the JSON value on its line
    languages   json, jsonc and json5 in any letter case; fences without a language never hold requests
    quoting     fences in other languages hide what is in them, inner fences counted; so do <thinking>, <think>
                and HTML comments. A quoting stretch that never ends hides nothing: its requests are refused
    block quotes and indented text are prose
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from rails.intake.tracker import Tracker

Kind = Literal["json", "xml", "quote"]

_FENCE: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}(`{3,}|~{3,})[ \t]*(.*)", re.S)
_JSON_INFO: Final = re.compile(r"(?:json5?|jsonc)(?![\w.+#-])[ \t]*", re.IGNORECASE)
_BARE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t\r]*\n?\Z")
_REGION: Final = re.compile(r"[ \t]*<(thinking|think|reasoning|scratchpad|!--)(?=[\s>]|-)", re.IGNORECASE)


@dataclass(slots=True)
class Span:
    """A stretch of the answer. ``start``/``end`` include fences or tags; ``body_start`` is where the inside starts.

    ``closed`` says whether its end was seen. ``tracker`` is what was learnt of a JSON body on the way.
    """

    kind: Kind
    start: int
    end: int
    raw: str
    body_start: int
    body_end: int
    closed: bool
    label: str = ""
    tracker: Tracker | None = None

    @property
    def body(self) -> str:
        """The text inside the fences or tags."""
        return self.raw[self.body_start - self.start : self.body_end - self.start]


@dataclass(slots=True)
class _Open:
    kind: Kind
    start: int
    body_start: int
    label: str
    char: str = ""
    length: int = 0
    lines: list[str] = field(default_factory=list)
    nested: list[int] = field(default_factory=list)
    ends: str = ""


class Scanner:
    """Feed text, get spans and prose in order. ``tracker`` follows the JSON block that is open, if any."""

    def __init__(self) -> None:
        self.offset = 0
        self.tracker: Tracker | None = None
        self.block_start = 0
        self._partial: list[str] = []
        self._open: _Open | None = None

    def feed(self, text: str) -> Iterator[Span | str]:
        """Take the next text. Yields finished spans and pieces of prose."""
        lines = text.split("\n")
        last = lines.pop()
        for line in lines:
            if self._partial:
                self._partial.append(line)
                whole = "".join(self._partial) + "\n"
                self._partial.clear()
                yield from self._line(whole, line + "\n")
            else:
                yield from self._line(line + "\n", line + "\n")
        if last:
            self._partial.append(last)
            if self.tracker is not None:
                self.tracker.feed(last)

    def flush(self) -> Iterator[Span | str]:
        """Take the end of the text. Yields what is left; an open span comes with ``closed`` false."""
        if self._partial:
            whole = "".join(self._partial)
            self._partial.clear()
            yield from self._line(whole, "")
        if self._open is not None:
            yield self._finish(self.offset, self.offset, closed=False)

    def _line(self, line: str, unseen: str) -> Iterator[Span | str]:
        """Judge one complete line; ``unseen`` is the part that the tracker has not followed yet."""
        block = self._open
        if block is None:
            found = self._opener(line)
            self.offset += len(line)
            yield from [line] if found is None else found
            return
        self.offset += len(line)
        if block.kind == "json":
            yield from self._json_line(block, line, unseen)
        else:
            yield from self._quoted_line(block, line)

    # -- prose: does something begin here? ----------------------------------------------------------

    def _opener(self, line: str) -> list[Span | str] | None:
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            return self._open_fence(line, fence)
        region = _REGION.match(line) if "<" in line else None
        if region:
            name = region[1].lower()
            ends = "-->" if name == "!--" else f"</{name}>"
            self._open = _Open("quote", self.offset, self.offset + region.end(), name, ends=ends)
            return list(self._quoted_line(self._open, line, self.offset + len(line)))
        return None

    def _open_fence(self, line: str, fence: re.Match[str]) -> list[Span | str] | None:
        mark, info = fence[1], fence[2]
        language = _JSON_INFO.match(info)
        rest = info[language.end() :] if language else ""
        if language and (mark[0] != "`" or "`" not in rest or rest.lstrip()[:1] in ("{", "[")):
            return self._open_json(line, fence, rest)
        if mark[0] == "`" and "`" in info:
            return None
        self._open = _Open("quote", self.offset, self.offset + len(line), info.strip(), mark[0], len(mark))
        self._open.lines.append(line)
        return []

    def _open_json(self, line: str, fence: re.Match[str], rest: str) -> list[Span | str]:
        on_same_line = rest.lstrip()[:1] in ("{", "[")
        body_start = self.offset + len(line) - (len(rest) if on_same_line else 0)
        self._open = _Open("json", self.offset, body_start, "json", fence[1][0], len(fence[1]))
        self.block_start = self.offset
        self.tracker = Tracker()
        if not on_same_line:
            self._open.lines.append(line)
            return []
        self._open.lines.append(line[: len(line) - len(rest)])
        return list(self._json_line(self._open, rest, rest, self.offset + len(line)))

    # -- inside a JSON fence --------------------------------------------------------------------------

    def _json_line(self, block: _Open, line: str, unseen: str, end: int = -1) -> Iterator[Span | str]:
        tracker = self.tracker
        if tracker is None:
            return
        end = self.offset if end < 0 else end
        block.lines.append(line)
        bare = _BARE.match(line)
        if bare and bare[1][0] == block.char and len(bare[1]) >= block.length and (not tracker.quote or tracker.odd):
            yield self._finish(end, end - len(line))
            return
        tracker.feed(unseen)
        stripped = line.rstrip()
        if stripped.endswith(block.char * block.length) and not tracker.quote and tracker.done:
            yield self._finish(end, end - len(line) + len(stripped.rstrip(block.char)))

    # -- inside a quoting stretch -----------------------------------------------------------------------

    def _quoted_line(self, block: _Open, line: str, end: int = -1) -> Iterator[Span | str]:
        end = self.offset if end < 0 else end
        block.lines.append(line)
        if block.ends:
            if block.ends in line.lower():
                yield self._finish(end, end)
            return
        fence = _FENCE.match(line)
        if not fence or fence[1][0] != block.char:
            return
        if fence[2].strip():
            if len(fence[1]) <= block.length and "`" not in fence[2]:
                block.nested.append(len(fence[1]))
        elif _BARE.match(line) and len(fence[1]) >= (block.nested[-1] if block.nested else block.length):
            if not block.nested:
                yield self._finish(end, end)
            else:
                block.nested.pop()

    def _finish(self, end: int, body_end: int, *, closed: bool = True) -> Span:
        block, tracker = self._open or _Open("quote", end, end, ""), self.tracker
        self._open = self.tracker = None
        raw = "".join(block.lines)
        return Span(block.kind, block.start, end, raw, block.body_start, body_end, closed, block.label, tracker)
