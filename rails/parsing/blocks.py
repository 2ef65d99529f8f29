"""Find the blocks of a text that could be requests.

Rules that are choices:
    fences      three or more back-ticks or tildes at a line's start, after list markers or blanks (four blanks
                below a paragraph: shown code); closed by at least as many
    JSON        json, jsonc and json5 in any case. Ends at the first closing fence behind which its body reads, else at
                the first; uncertain if a later one reads as well. Another JSON fence ends it, too
    XML calls   ``<tool name="…">`` or an element named like a tool, at a line's start, ``<action>`` allowed before
    quoting     fences in other languages (inner fences counted) and ``rails.parsing.quoted``'s containers hide what is
                in them, unless they never end: then it is refused
    prose       block quotes, inline code, raw braces
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache
from itertools import islice
from typing import Final, Literal

from msgspec import Struct, field

from rails.core.lazy_pattern import lazy
from rails.data_formats.strict_json import ParsedJson, parse_strict, read_prefix
from rails.parsing import quoted
from rails.parsing.call_formats import line_calls, xml_calls
from rails.parsing.call_formats.xml_calls import XmlCall
from rails.parsing.quoted import Closed, Container, ContainerKind
from rails.parsing.values import ToolSchemas

FENCE: Final = lazy(r"[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}(`{3,}|~{3,})[ \t]*(.*)", re.S)
_JSON_INFO: Final = lazy(r"(?:\{\.)?(?:json5?|jsonc)(?![\w.+#-])[ \t]*", re.IGNORECASE)
#: JSON on the line of its fence, not to be taken for attributes such as {1,3} or {.numbered}.
_INLINE: Final = lazy(r"[{\[]\s*(?:[\"'“{\[\]}/#]|\Z|[A-Za-z_$][\w$-]*\s*:)")
#: Tokens with which a chat template ends a call or a turn; those that end a thought are no part of a fence.
_ENDING: Final = (
    r"(?:<[|｜](?![^<>\n]{0,40}(?:think|thought|reason))(?:[^<>\n|｜]{0,40}[_▁])?(?:end|eo[tms])(?:[_▁][^<>\n|｜]{0,40}"
    r"|oftext)?[|｜]>|</s>|<end_of_turn>|\[/TOOL_CALLS\])"
)
_BARE: Final = lazy(rf"^[ \t]*(`{{3,}}|~{{3,}})[ \t\r]*(?:{_ENDING}[ \t\r]*){{0,4}}(?:\n|\Z)", re.M)
#: A line that would close a fence without what stands behind it.
CLOSED_BEFORE: Final = lazy(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*([^\w\s`~{][^\n]*)", re.M)
_FENCE_LINE: Final = lazy(
    r"^[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}(`{3,}|~{3,})[ \t]*([^\n]*)(?:\n|\Z)", re.M
)
#: What can end the body of a JSON fence: a line that begins with a fence, or a fence behind the value, on its line.
_JSON_END: Final = lazy(
    r"^[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}(?:`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)(?:\n|\Z)"
    r"|[}\]][ \t]*(?P<behind>`{3,}|~{3,})[ \t\r]*(?:\n|\Z)",
    re.M,
)
#: A fence with nothing but the name of a file in it, which another fence ends: that one begins the block.
_NAME_IN_FENCE: Final = lazy(
    r"[`~]{3,}+[^\n`]*+\n[ \t]*+(?=[^\s`~<>]+[/.\\][^\s`~<>])[^\s`~<>]++[ \t\r]*+\n(?=[`~]{3,}[ \t]*\w)"
)
#: The start of every line that is worth a look.
_NOTABLE: Final = (
    rf"(?:[ \t\ufeff]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+){{0,4}}(?=[^\w\s])(?:```|~~~|<)|{quoted.PATCH_START})"
)
_MARKED: Final = rf"(?:{_NOTABLE}|[ \t]*(?:\[TOOL_CALLS\]|Action))"
#: How much of the prose before a line is looked at, in characters.
_BEFORE: Final = 400
#: How many closing fences are tried, and how long a body may be.
_TRIES: Final = 8
_TRIED_CHARS: Final = 400_000
_ALL_TRIES: Final = 400
#: How often an element may turn out to have no end, and how many containers are told apart on one line.
_OPEN_ENDED: Final = 8
_PIECES: Final = 100
_LINE: Final = lazy(r"[^\n]*\n|[^\n]+")
#: Blanks up to the end of a line.
_REST: Final = lazy(r"[^\S\n]*(?:\n|\Z)")
_SPACE: Final = lazy(r"\s*")
_PARAGRAPH: Final = lazy(r"\n(?=[ \t]*\r?\n)|\Z")
_OPENED: Final = lazy(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?<([A-Za-z_][\w.:-]{0,60})")
_CLOSER_NAME: Final = lazy(r"</[ \t]{0,8}(?:[A-Za-z][\w-]{0,20}:)?([A-Za-z_][\w.:-]{0,60})")

#: Where the body of a JSON fence can end, where the fence ends, and whether another one opens there.
_End = tuple[int, int, bool]
BlockKind = Literal["json", "xml", "quote"]
#: Tells whether a text reads as JSON calls: not at all, with its strings' line ends written out, or in any other way.
Reads = Callable[[str], Literal["", "raw", "read"]]


class BlockSpan(Struct):
    """A stretch that is more than prose. ``start``/``end`` include fences or tags, the body does not.

    ``closed``: its end was seen; ``ambiguous``: two possible ends; ``cut_short``: another JSON fence opened before its
    end; ``stray``: a second closing tag follows. ``container``: its kind, if no fence; ``label``: its name, the words
    behind a fence, or a marker's tool. ``whole``: closed, or the answer was not cut off, as far as is known;
    ``first``: line and column of the body in the answer.
    """

    kind: BlockKind
    start: int
    end: int
    raw: str
    body_start: int
    body_end: int
    closed: bool
    label: str = ""
    xml: XmlCall | None = None
    ambiguous: bool = False
    stray: bool = False
    cut_short: bool = False
    dialect: str = ""
    container: ContainerKind | None = None
    dialects: Set[str] = frozenset()
    whole: bool = True
    first: tuple[int, int] = (1, 1)

    @property
    def call(self) -> str:
        """Return the block without its line end."""
        return self.raw.rstrip("\r\n") if self.closed else self.raw

    @property
    def stop(self) -> int:
        """Return where ``call`` ends."""
        return self.start + len(self.call)

    @property
    def body(self) -> str:
        """Return the text inside the fences or tags."""
        return self.raw[self.body_start - self.start : self.body_end - self.start]


def text_block(body: str, start: int = 0) -> BlockSpan:
    """Return a text as a block of JSON without a fence."""
    return BlockSpan("json", start, start + len(body), body, start, start + len(body), closed=True)


class Blocks(Struct):
    """A text in order: prose and blocks. ``strays`` are its closing marks without opening ones."""

    items: list[BlockSpan | str] = field(default_factory=list)
    strays: quoted.Strays = field(default_factory=quoted.Strays)


def find_blocks(
    text: str, tools: ToolSchemas, dialects: Set[str] = frozenset(), reads: Reads = lambda _body: ""
) -> Blocks:
    """Return the blocks of a whole text. ``tools``: all tools."""
    return _Finder(text, tools, dialects, reads).found()


@cache
def _notable(*, marked: bool) -> re.Pattern[str]:
    return re.compile(f"^{_MARKED if marked else _NOTABLE}", re.M)


class _Finder:
    def __init__(self, text: str, tools: ToolSchemas, dialects: Set[str], reads: Reads) -> None:
        self._text, self._tools, self._dialects, self._reads = text, tools, dialects, reads
        self._notable = _notable(marked=bool(dialects))
        self._ours = {name.lower() for name in tools}
        self._closers: dict[str, int] | None = None
        self._open_ended = self._tries = 0
        self._blocks = Blocks()
        self._prose = 0  # where the prose begins that is not kept yet

    def found(self) -> Blocks:
        pos, end, pieces = 0, len(self._text), 0
        while pos < end:
            begin = self._text.rfind("\n", 0, pos) + 1
            if pos == begin:
                pieces = 0
                pos = self._next(pos)
                if pos >= end:
                    break
            pieces += 1
            stop = self._text.find("\n", pos) + 1 or end
            crowded = Container("quote", f"a line with more than {_PIECES} marks", 0, 0)
            block = self._region(crowded, pos) if pieces > _PIECES else self._opener(pos, stop)
            if block is None:
                pos = self._mark(pos, stop)
                continue
            self._keep(block)
            pos = block.end
        self._keep(None)
        return self._blocks

    def _next(self, pos: int) -> int:
        notable = self._notable.search(self._text, pos)
        stop = notable.start() if notable else len(self._text)
        mark = quoted.has_mark(self._text, pos, stop)
        return stop if mark < 0 else max(self._text.rfind("\n", pos, mark) + 1, pos)

    def _keep(self, block: BlockSpan | None) -> None:
        stop = block.start if block else len(self._text)
        items = self._blocks.items
        if stop > self._prose:
            piece = self._text[self._prose : stop]
            if items and isinstance(last := items[-1], BlockSpan) and last.xml and last.closed:
                last.stray = last.xml.closer in piece
            items.append(piece)
        if block is not None:
            items.append(block)
            self._prose = block.end

    def _paragraphs(self, pos: int) -> str:
        before = self._text[max(self._prose, pos - _BEFORE) : pos]
        return before if len(before) < _BEFORE else before.partition("\n")[2]

    def _span(self, kind: BlockKind, start: int, inside: tuple[int, int], end: int, *, closed: bool) -> BlockSpan:
        return BlockSpan(kind, start, end, self._text[start:end], *inside, closed, dialects=self._dialects)

    # -- does something begin here? ------------------------------------------------------------------

    def _opener(self, pos: int, stop: int) -> BlockSpan | None:
        line = self._text[pos:stop]
        fence = FENCE.match(line)
        call = xml_calls.opener(line, self._tools)
        code = quoted.find_indented(line, self._paragraphs(pos)) if line[0] in " \t" and line.strip() else None
        if code is not None and (call or self._dialects or (fence and _JSON_INFO.match(fence[2]))):
            return self._region(code, pos)
        if fence:
            return self._fence(pos, stop, fence)
        if marked := line_calls.marker(self._text, pos, self._dialects):
            return self._marked(pos, *marked)
        if (patch := quoted.find_patch(line)) is not None:
            return self._region(patch, pos)
        if call is not None and (block := self._xml(pos, call)) is not None:
            return block
        named = _OPENED.match(line) if call is None else None
        element = quoted.find_element(line, self._ours) if named and self._may_close(named[1], pos) else None
        return self._region(element, pos) if element is not None else None

    def _mark(self, pos: int, stop: int) -> int:
        line = self._text[pos:stop]
        mark = quoted.find_mark(line, self._ours) if quoted.has_mark(line) >= 0 else None
        if mark is None:
            return stop
        if isinstance(mark, Closed):
            self._blocks.strays.closed(mark, pos + mark.end)
            return pos + mark.end
        block = self._region(mark, pos)
        if block is None:
            return stop
        self._keep(block)
        return block.end

    def _region(self, container: Container, pos: int) -> BlockSpan | None:
        start, body = pos + container.start, pos + container.end
        end = self._region_end(container, start, body)
        if end < 0 and container.kind == "element":
            self._open_ended += 1
            if self._open_ended <= _OPEN_ENDED:
                return None
        if end == start:
            return None
        self._blocks.strays.opened(container, start)
        closed, end = end >= 0, end if end >= 0 else len(self._text)
        block = self._span("quote", start, (body, end), end, closed=closed)
        block.label, block.container = container.label, container.kind
        return block

    def _may_close(self, name: str, pos: int) -> bool:
        if self._closers is None:
            self._closers = {found[1].lower(): found.start() for found in _CLOSER_NAME.finditer(self._text)}
        return self._closers.get(name.lower().rpartition(":")[2], -1) >= pos

    def _region_end(self, container: Container, start: int, pos: int) -> int:
        if container.lines is not None:
            lines = _LINE.finditer(self._text, start)
            return next((one.start() for one in lines if not container.lines.match(one[0])), len(self._text))
        depth = 1
        for found in container.closing.finditer(self._text, pos) if container.closing else ():
            if found.re.groups and not found[1]:
                depth += container.nests and not found[0].endswith("/>")
                continue
            depth -= 1
            if not depth:
                return found.end()
        return -1

    def _xml(self, pos: int, opened: tuple[str, str, int]) -> BlockSpan | None:
        call = xml_calls.call_at(self._text, pos, opened, self._tools)
        if call.prose:
            return None
        closed, end = call.end >= 0, pos + call.end if call.end >= 0 else len(self._text)
        rest = _REST.match(self._text, end)
        end = rest.end() if rest else end
        block = self._span("xml", pos, (pos + opened[2], end), end, closed=closed)
        block.label, block.xml = opened[0], call
        return block

    # -- fences --------------------------------------------------------------------------------------

    def _fence(self, pos: int, stop: int, fence: re.Match[str]) -> BlockSpan | None:
        mark, info = fence[1], fence[2]
        language = _JSON_INFO.match(info)
        rest = info[language.end() :] if language else ""
        inline = _INLINE.match(rest) is not None
        if language and (inline or mark[0] != "`" or "`" not in rest):
            return self._json(pos, stop - len(rest) if inline else stop, mark)
        if mark[0] == "`" and "`" in info:
            return None
        if _NAME_IN_FENCE.match(self._text, pos + fence.start(1)):
            return None
        end, closed = self._quote_end(stop, mark)
        block = self._span("quote", pos, (stop, end), end, closed=closed)
        block.label = info.strip()
        return block

    def _quote_end(self, pos: int, mark: str) -> tuple[int, bool]:
        """Return where a foreign fence ends, and whether it does; inner fences count."""
        nested = [len(mark)]
        for line in _FENCE_LINE.finditer(self._text, pos):
            bare = _BARE.match(self._text, line.start()) if line[1][0] == mark[0] else None
            if bare and len(bare[1]) >= nested[-1]:
                nested.pop()
                if not nested:
                    return line.end(), True
            elif not bare and mark.startswith(line[1]) and "`" not in line[2] and len(nested) <= 1_000:
                nested.append(len(line[1]))
        return len(self._text), False

    def _json(self, pos: int, body: int, mark: str) -> BlockSpan:
        chosen, ambiguous = self._end_that_reads(body, list(islice(self._json_ends(body, mark), _TRIES)))
        body_end, end, cut = chosen or (len(self._text), len(self._text), False)
        block = self._span("json", pos, (body, body_end), end, closed=chosen is not None and not cut)
        block.cut_short, block.ambiguous = cut, ambiguous
        return block

    def _end_that_reads(self, body: int, ends: Sequence[_End]) -> tuple[_End | None, bool]:
        """Return where a body ends (None: nowhere), and whether it may as well end elsewhere."""
        taken: _End | None = None
        for one in ends if len(ends) > 1 else ():
            text = self._text[body : one[0]]
            if taken is None and isinstance(parse_strict(text), ParsedJson):
                return one, False
            if len(text) > _TRIED_CHARS or self._tries == _ALL_TRIES:
                break
            self._tries += 1
            how = self._reads(text)
            if taken is not None and how == "raw":
                return one, True
            if taken is None and how:
                taken = one
                if how == "read":
                    break
        return taken or next(iter(ends), None), False

    def _json_ends(self, pos: int, mark: str) -> Iterator[_End]:
        for found in _JSON_END.finditer(self._text, pos):
            if found["behind"]:
                if found["behind"][0] == mark[0] and len(found["behind"]) >= len(mark):
                    yield found.start("behind"), found.end(), False
                continue
            bare = _BARE.match(self._text, found.start())
            if bare and bare[1][0] == mark[0] and len(bare[1]) >= len(mark):
                yield found.start(), found.end(), False
            elif _JSON_INFO.match(found["info"]) and self._text[pos : found.start()].strip():
                yield found.start(), found.start(), True

    def _marked(self, pos: int, dialect: str, mark: re.Match[str]) -> BlockSpan:
        value = read_prefix(self._text, _SPACE.match(self._text, mark.end()).end())  # type: ignore[union-attr]
        if isinstance(value, tuple):
            end = self._text.find("\n", value[1]) + 1 or len(self._text)
        else:
            end = _PARAGRAPH.search(self._text, mark.end()).end()  # type: ignore[union-attr]
        block = self._span("json", pos, (mark.end(), end), end, closed=True)
        block.dialect, block.label = dialect, mark[1] or ""
        return block
