"""Find blocks in streamed text: which stretches could be requests, and where exactly they are.

A scanner over lines. Text is judged line by line, once each line is complete, so the result cannot depend on
how the stream was cut into chunks; only the announcement of a request looks at unfinished lines, character by
character. Each character is looked at a bounded number of times.

Rules that are choices:
    fences      three or more back-ticks or tildes at a line's start, after list markers or blanks (four of them
                below a paragraph make it code that is shown); closed by
                a line of at least as many of the same, or directly after the JSON value on its line
    languages   json, jsonc and json5 in any letter case; fences without a language never hold requests
    XML calls   ``<tool name="…">`` or an element named like a tool, at a line's start, ``<action>`` allowed before
    quoting     fences in other languages hide what is in them, inner fences counted; so do the containers of
                ``rails.parsing.quoted``. A quoting stretch that never ends hides nothing: its requests are refused
    block quotes, inline code and raw braces are prose
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing import markup_blocks, quoted
from rails.parsing.blocks import (
    FENCE,
    INLINE,
    JSON_INFO,
    BlockSpan,
    JsonFence,
    QuoteBlock,
    QuotedRegion,
    TextBlock,
    XmlCall,
)
from rails.parsing.call_formats import optional, xml_calls
from rails.parsing.call_formats.marked_json import MarkedJson
from rails.parsing.results import ToolSchemas

#: The start of every line that is worth a look.
_NOTABLE: Final = (
    r"(?:[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}"
    rf"(?=[^\w\s])(?:```|~~~|<|{markup_blocks.OPENINGS})|{quoted.PATCH_START})"
)
_MARKED: Final = rf"(?:{_NOTABLE}|[ \t]*(?:\[TOOL_CALLS\]|Action))"
#: What a line holds that is more than prose, its beginning apart.
_NOT_PLAIN: Final = lazy(r"```|~~~|<|\[|◁|&|\\|＜|〈|\*\*\* |\"\"\"|'''")  # literals: a fast search
#: The end of prose that looks like the end of a JSON block.
_REST: Final = lazy(r"(?:[\"'“”]\s*|^\s*)[}\]]+\s*\Z", re.M)
#: How much of the prose before a fence is kept, in characters.
_BEFORE: Final = 400
#: How often a text may be read again from an earlier place, because a block did not end where it seemed to.
_RETREATS: Final = 8
#: How many closing marks are looked for in the rest of an answer; an element with another one is taken to be closed.
_SEARCHES: Final = 40
#: How many containers and calls are told apart on one line; the rest of the answer is hidden then.
_PIECES: Final = 100
_CROWDED: Final = quoted.Container("quote", f"a line with more than {_PIECES} marks", 0, 0)


@cache
def notable_lines(*, marked: bool = False) -> Callable[[str, int, int], int]:
    """Return the function that finds where the first line worth a look begins in ``text[pos:end]``; ``end`` for none.

    ``pos`` begins a line. ``marked``: lines on which a dialect begins count, too.
    """
    pattern = _MARKED if marked else _NOTABLE
    first, further = lazy(pattern), re.compile(f"\n{pattern}")  # a search for a plain character is fast

    def find(text: str, pos: int, end: int) -> int:
        plain = not marked and pos < end and text[pos].isalpha() and text[pos] != "d"
        if not plain and first.match(text, pos, end):
            return pos
        found = further.search(text, pos, end)
        return found.start() + 1 if found else end

    return find


class Scanner:
    """Feed text, get spans and prose in order.

    ``tools`` are the tools that exist; ``reads`` tells whether a text can be read as a JSON call, repairs
    included; ``on_fence`` is given what stood before a fence line that names no language. ``current`` is the
    open stretch. ``orphan`` is the last offset at which a lone fence line followed what looks like the end
    of a JSON block: a sign that a block ended there and not before.
    """

    def __init__(
        self,
        tools: ToolSchemas,
        reads: Callable[[str], bool] = bool,
        dialects: frozenset[str] = frozenset(),
        on_fence: Callable[[str], object] = bool,
    ) -> None:
        self.offset = 0
        self.current: TextBlock | None = None
        self.orphan = -1
        self._tools, self._reads, self._dialects, self._on_fence = tools, reads, dialects, on_fence
        self._notable = notable_lines(marked=bool(dialects))
        self._plain = not dialects
        self._partial: list[str] = []
        self._xml: BlockSpan | None = None
        self._before = ""
        self._after: list[str] = []  # prose behind an XML call that is held
        self._retreats = 0
        self._rest: tuple[int, str, str] | None = None  # of the answer once its end is known: offset, text, lower case
        self._last_ends: dict[str, int] = {}  # patterns of closing marks, and where the last one stands
        self.strays = quoted.Strays()
        self._ours: frozenset[str] | None = None

    def feed(self, text: str, *, whole: bool = False) -> Iterator[BlockSpan | str]:
        """Take the next text. Yields finished spans and pieces of prose.

        ``whole`` says that nothing follows, so that the last line is complete without a line end.
        """
        first = 0
        if self._partial:
            first = text.find("\n") + 1
            if first:
                self._partial.append(text[:first])
                line = "".join(self._partial)
                self._partial.clear()
                yield from self._prose(line) if self.current is None and self._is_plain(line) else self._line(line)
        last = len(text) if whole and not self._partial else text.rfind("\n") + 1
        if last > first:
            yield from self._lines(text, first, last)
        rest = text[last:] if last else text
        if rest:
            self._partial.append(rest)
            if self.current is not None:
                self.current.peek(rest)

    def flush(self) -> Iterator[BlockSpan | str]:
        """Take the end of the text. Yields what is left; an open span comes with ``closed`` false."""
        if self._partial:
            line = "".join(self._partial)
            self._partial.clear()
            yield from self._line(line)
        while self.current is not None:
            stretch, self.current = self.current, None
            yield from self._end(stretch, closed=False)
        yield from self._release()

    def _lines(self, text: str, pos: int, end: int) -> Iterator[BlockSpan | str]:
        """Judge the complete lines of ``text[pos:end]``, passing quickly over prose."""
        notable = -1
        while pos < end:
            if self.current is None:
                if notable < pos:
                    notable = self._notable(text, pos, end)
                mark = quoted.has_mark(text, pos, notable) if notable > pos else -1
                stop = notable if mark < 0 else text.rfind("\n", pos, mark) + 1 or pos
                if stop > pos:
                    yield from self._prose(text[pos:stop])
                    pos = stop
                    continue
            elif type(self.current) is JsonFence and self.current.size == self.current.body_start - self.current.start:
                span = self.current.whole(text, pos, end)
                if span is not None:
                    self.current = None
                    pos += span.end - self.offset
                    self.offset, self._before = span.end, ""
                    yield span
                    continue
            stop = self._pass_over(text, pos, end)
            if stop == pos:
                stop = text.find("\n", pos, end) + 1 or end
                yield from self._line(text[pos:stop])
            pos = stop

    def _is_plain(self, line: str) -> bool:
        """Return whether a line is surely prose: it begins with a letter or is empty, and holds no mark."""
        plain = self._plain and line[0] != "d" and (line[0].isalpha() or line[0] == "\n")
        return plain and not _NOT_PLAIN.search(line) and "assistant" not in line

    def _pass_over(self, text: str, pos: int, end: int) -> int:
        """Take the lines that cannot end the open stretch in one step. Returns where the next one starts."""
        mark = self.current.mark if self.current is not None else ""
        if not mark:
            return pos
        found = text.find(mark[0], pos, end)  # one character is found much sooner than three
        found = text.find(mark, found, end) if found >= 0 else -1
        stop = end if found < 0 else text.rfind("\n", pos, found) + 1 or pos
        if stop > pos and self.current is not None:
            self.current.pass_over(text[pos:stop])
            self.offset += stop - pos
        return stop

    def _line(self, line: str) -> Iterator[BlockSpan | str]:
        """Judge one complete line."""
        pieces = 0
        while line:
            stretch, pieces = self.current, pieces + 1
            if stretch is None and pieces > _PIECES:
                yield from self._release()
                self.current = self._region(_CROWDED)
                continue
            if stretch is None:
                opened = self._opener(line)
                if opened is None:
                    start = yield from self._mark(line)
                    line = line[start:]
                    continue
                yield from self._release()
                self.current, used = opened
                self.current.add(line[:used])
            else:
                used = stretch.take(line)
                if used < 0:
                    stretch.add(line)
                    self.offset += len(line)
                    return
                stretch.add(line[:used])
                self.current = None
            self.offset += used
            line = line[used:]
            if stretch is not None:
                yield from self._end(stretch, closed=True)

    def _prose(self, text: str) -> Iterator[str]:
        self.offset += len(text)
        if self._xml is not None and self._xml.follower is not None and self._xml.follower.closer in text:
            self._xml.stray = True
        self._before = (self._before + text)[-_BEFORE:] if len(text) < _BEFORE else text[-_BEFORE:]
        if self._xml is not None:
            self._after.append(text)
        else:
            yield text

    def _mark(self, line: str) -> Generator[BlockSpan | str, None, int]:
        """Take prose up to the first mark of a container on this line, and the mark. Returns how much that is."""
        mark: quoted.Container | quoted.Closed | None = None
        if quoted.has_mark(line) >= 0:
            mark = quoted.find_mark(line, self._own_tags()) or markup_blocks.find_open_end(line)
        if mark is None or (isinstance(mark, quoted.Container) and self._never_ends(mark)):
            yield from self._prose(line)
            return len(line)
        if isinstance(mark, quoted.Closed):
            yield from self._prose(line[: mark.end])
            self.strays.closed(mark, self.offset)
            return mark.end
        if line[: mark.start]:
            yield from self._prose(line[: mark.start])
        yield from self._release()
        self.current = self._region(mark)
        self.current.add(line[mark.start : mark.end])
        self.offset += mark.end - mark.start
        return mark.end

    def _own_tags(self) -> frozenset[str]:
        """Return the names of tags that are read, and so are no containers."""
        if self._ours is None:
            self._ours = frozenset(name.lower() for name in self._tools)
            if "hermes" in self._dialects:
                self._ours |= optional.HERMES_TAGS
        return self._ours

    def _never_ends(self, container: quoted.Container) -> bool:
        """Return whether this is an element whose closing mark is known to stand nowhere in the rest of the answer."""
        if container.kind != "element" or self._rest is None:
            return False
        start, text, lower = self._rest
        key = container.closing_text
        if key not in self._last_ends:
            if lower.rfind(container.word.lower()) < self.offset - start + container.end:
                return True
            if len(self._last_ends) >= _SEARCHES:
                return False
            self._last_ends[key] = start + container.last_end(text)
        return self._last_ends[key] < self.offset

    def _region(self, container: quoted.Container) -> QuotedRegion:
        """Return the region that a container's opening mark begins here."""
        self.strays.opened(container, self.offset)
        body = self.offset + container.end - container.start
        return QuotedRegion(self.offset, body, container.label, container=container)

    def _end(self, stretch: TextBlock, *, closed: bool) -> Iterator[BlockSpan | str]:
        """Finish a stretch, or go back to where it must have ended and read the rest again."""
        back = stretch.retreat() if stretch.retreats or not closed else None
        if back is not None and self._retreats < _RETREATS:
            self._retreats += 1
            yield from self._again(stretch, *back)
            return
        self._before = ""
        span = stretch.span(closed=closed)
        if span.kind == "xml" and closed:
            self._xml = span
        else:
            yield span

    def _again(self, stretch: TextBlock, body_end: int, end: int) -> Iterator[BlockSpan | str]:
        """End the stretch at ``end`` and read what follows as if it came now."""
        text = "".join(stretch.lines)
        if isinstance(stretch, XmlCall) and not stretch.follower.prose:
            line_end = text.find("\n", end) + 1
            end = line_end if line_end and not text[end:line_end].strip() else end
        self.offset = stretch.start + end
        if isinstance(stretch, QuotedRegion):  # only the end of the answer shows that it is never closed
            self._rest = self._rest or (stretch.start, text, text.lower())
        if isinstance(stretch, QuotedRegion) or (isinstance(stretch, XmlCall) and stretch.follower.prose):
            yield from self._prose_at(stretch.start, text[:end])
        else:
            stretch.lines = [text[:end]]
            span = stretch.span(closed=True)
            span.body_end = stretch.start + body_end
            if isinstance(stretch, JsonFence):
                span.unsure, span.context = True, "" if stretch.believed else text
            yield span
        yield from self._lines(text, end, len(text))

    def _prose_at(self, start: int, text: str) -> Iterator[str]:
        self.offset = start
        yield from self._prose(text)

    def _release(self) -> Iterator[BlockSpan | str]:
        """Release an XML call that was held to see whether a second closing tag follows, and what follows it."""
        if self._xml is not None:
            span, self._xml = self._xml, None
            yield span
            yield from self._after
            self._after.clear()

    # -- does something begin on this line? ----------------------------------------------------------

    def _opener(self, line: str) -> tuple[TextBlock, int] | None:
        """Return the stretch that begins on this line, and how much of the line is its opening."""
        if self._dialects and line[0] in " \t":
            code = quoted.find_indented(line, self._paragraphs())
            if code is not None and line.strip():
                return self._region(code), len(line)
        fence = FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            return self._fence(line, fence)
        if self._dialects:
            marked = optional.marker(line, self._before, self._dialects)
            if marked:
                return self._marked(marked), marked.used
        patch = quoted.find_patch(line)
        if patch is not None:
            return self._region(patch), len(line)
        call = xml_calls.opener(line, self._tools) if "<" in line else None
        shown = quoted.find_indented(line, self._paragraphs()) if call and line[0] in " \t" else None
        if call is None or shown is not None:
            other = shown or (quoted.find_element(line, self._own_tags()) if "<" in line else None)
            if other is None and not line[0].isalpha():
                other = markup_blocks.find_markup(line, self._own_tags())
            return (self._region(other), other.end) if other and not self._never_ends(other) else None
        tool, element, used = call
        follower = xml_calls.XmlFollower(tool, element, self._tools.get(tool, {}))
        if line.endswith("/>", 0, used):
            follower.end = used
        return XmlCall(self.offset, self.offset + used, tool, follower=follower), used

    def _fence(self, line: str, fence: re.Match[str]) -> tuple[TextBlock, int] | None:
        mark, info = fence[1], fence[2]
        language = JSON_INFO.match(info)
        rest = info[language.end() :] if language else ""
        inline = INLINE.match(rest) is not None
        shown = quoted.find_indented(line, self._paragraphs()) if language and line[0] in " \t" else None
        if shown is not None:
            return self._region(shown), len(line)
        if language and (inline or mark[0] != "`" or "`" not in rest):
            used = len(line) - len(rest) if inline else len(line)
            return self._json(mark, used), used
        if mark[0] == "`" and "`" in info:
            return None
        if not info.strip():
            self._on_fence(self._before)
            if _REST.search(self._before):
                self.orphan = self.offset
        return QuoteBlock(self.offset, self.offset + len(line), info.strip(), char=mark[0], length=len(mark)), len(line)

    def _paragraphs(self) -> str:
        """Return the prose before this line, without a first line that may be the end of one."""
        return self._before if len(self._before) < _BEFORE else self._before.partition("\n")[2]

    def _marked(self, found: optional.Marker) -> MarkedJson:
        start = self.offset
        stretch = MarkedJson(start, start + found.used, "json", end_tag=found.closing, dialect=found.dialect)
        stretch.tool = found.tool
        return stretch

    def _json(self, mark: str, used: int) -> JsonFence:
        return JsonFence(self.offset, self.offset + used, "json", char=mark[0], length=len(mark), reads=self._reads)
