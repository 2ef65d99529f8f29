"""The kinds of stretches that an answer is made of beside prose, each knowing where it ends.

``take`` is given one complete line and says how many of its characters still belong to the stretch, or -1 when
all do and it goes on. What comes after an end is judged by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from rails.core.dataclass import dataclass, field
from rails.core.lazy_pattern import lazy
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict
from rails.parsing.call_formats.xml_calls import XmlFollower
from rails.parsing.json_progress import JsonProgress
from rails.parsing.quoted import Container, ContainerKind

FENCE: Final = lazy(r"[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}(`{3,}|~{3,})[ \t]*(.*)", re.S)
JSON_INFO: Final = lazy(r"(?:\{\.)?(?:json5?|jsonc)(?![\w.+#-])[ \t]*", re.IGNORECASE)
#: JSON on the line of its fence, not to be taken for attributes such as {1,3} or {.numbered}.
INLINE: Final = lazy(r"[{\[]\s*(?:[\"'“{\[\]}/#]|\Z|[A-Za-z_$][\w$-]*\s*:)")
#: Tokens with which a chat template ends a call or a turn; those that end a thought are no part of a fence.
_ENDING: Final = (
    r"(?:<[|｜](?![^<>\n]{0,40}(?:think|thought|reason))(?:[^<>\n|｜]{0,40}[_▁])?(?:end|eo[tms])(?:[_▁][^<>\n|｜]{0,40}"
    r"|oftext)?[|｜]>|</s>|<end_of_turn>|\[/TOOL_CALLS\])"
)
BARE: Final = lazy(rf"[ \t]*(`{{3,}}|~{{3,}})[ \t\r]*(?:{_ENDING}[ \t\r]*){{0,4}}\n?\Z")
_BARE_LINE: Final = lazy(rf"[ \t]*(`{{3,}}|~{{3,}})[ \t\r]*(?:{_ENDING}[ \t\r]*){{0,4}}(?:\n|\Z)")
#: A line that would close a fence without what stands behind it.
CLOSED_BEFORE: Final = lazy(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*([^\w\s`~{][^\n]*)", re.M)
#: What may stand before a fence on its line (``FENCE``).
_BEFORE_FENCE: Final = " \t\ufeff-*+.)0123456789"
#: How far a fence may be indented for the shortcut to see it.
INDENT: Final = 100


def closing_line(text: str, pos: int, end: int, mark: str) -> re.Match[str] | None:
    """Return the first line in ``text[pos:end]`` that can close a fence that ``mark`` opened."""
    found = max(text.find(mark[0], pos, end), pos)  # one character is found much sooner than three
    while (found := text.find(mark, found, end)) >= 0:
        start = text.rfind("\n", max(pos - 1, found - INDENT), found) + 1 or pos
        line = _BARE_LINE.match(text, start, end)
        if line and line.end(1) - line.start(1) >= len(mark):
            return line
        found += len(mark)
    return None


BlockKind = Literal["json", "xml", "quote"]

#: How often, and up to what size, a doubtful end is tested by reading the body so far.
_TRIES: Final = 3
_TRIED_CHARS: Final = 40_000


@dataclass(slots=True)
class BlockSpan:
    """A finished stretch. ``start``/``end`` include fences or tags; the body is what is inside.

    ``closed`` says whether its end was seen; ``ambiguous`` that it could end in two places and be read both
    ways. ``progress`` and ``follower`` are what was learnt on the way; ``stray`` says that an XML call is
    followed by a second closing tag of its own. ``cut_short`` says that another JSON fence opened before this one
    was closed; ``unsure`` that its end is the first possible one and nothing speaks for it, in the text
    ``context``. ``first`` is a body that was read strictly, and the result.
    ``container`` is the kind of a quoting stretch that is no fence.
    """

    kind: BlockKind
    start: int
    end: int
    raw: str
    body_start: int
    body_end: int
    closed: bool
    label: str = ""
    progress: JsonProgress | None = None
    follower: XmlFollower | None = None
    ambiguous: bool = False
    stray: bool = False
    cut_short: bool = False
    unsure: bool = False
    context: str = ""
    first: tuple[str, ParsedJson | JsonFault] | None = None
    dialect: str = ""
    container: ContainerKind | None = None

    @property
    def body(self) -> str:
        """The text inside the fences or tags."""
        return self.raw[self.body_start - self.start : self.body_end - self.start]


@dataclass(slots=True)
class TextBlock:
    """What all stretches have: where they and their bodies start, and the text so far."""

    start: int
    body_start: int
    label: str = ""
    lines: list[str] = field(default_factory=list)
    size: int = 0
    retreats: bool = False

    kind: BlockKind = "quote"

    def take(self, line: str) -> int:
        """Judge one complete line, of which ``peek`` may have been given a part."""
        raise NotImplementedError(line)

    @property
    def mark(self) -> str:
        """What every line holds that can end the stretch or matter otherwise; empty where there is no such text."""
        return ""

    def pass_over(self, text: str) -> None:
        """Take complete lines without the mark."""
        self.add(text)

    def peek(self, text: str) -> None:
        """Look at a piece of an unfinished line."""

    def add(self, text: str) -> None:
        """Append text to the stretch."""
        self.lines.append(text)
        self.size += len(text)

    def span(self, *, closed: bool) -> BlockSpan:
        """Return the finished stretch."""
        raw = "".join(self.lines)
        end = self.start + len(raw)
        return BlockSpan(self.kind, self.start, end, raw, self.body_start, end, closed, self.label)

    def retreat(self) -> tuple[int, int] | None:
        """Return where its body and the stretch may have ended after all, counted from its start."""
        return None


@dataclass(slots=True)
class QuoteBlock(TextBlock):
    """A fence in another language, with inner fences counted."""

    char: str = ""
    length: int = 0
    nested: list[int] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """The fence characters."""
        return self.char * 3

    def take(self, line: str) -> int:
        """End at the fence that closes this one."""
        fence = FENCE.match(line) if self.char * 3 in line else None
        if not fence or fence[1][0] != self.char:
            return -1
        if not (bare := BARE.match(line)):
            if len(fence[1]) <= self.length and "`" not in fence[2] and len(self.nested) < 1_000:
                self.nested.append(len(fence[1]))
        elif len(bare[1]) >= (self.nested[-1] if self.nested else self.length):
            if not self.nested:
                return len(line)
            self.nested.pop()
        return -1


@dataclass(slots=True)
class QuotedRegion(TextBlock):
    """A container that is no fence, up to its closing mark, or as long as its lines look alike."""

    container: Container = field(default_factory=lambda: Container("quote", "", 0, 0))
    depth: int = 1

    @property
    def mark(self) -> str:
        """What every closing mark holds."""
        return self.container.literal

    def take(self, line: str) -> int:
        """End behind the closing mark, or before the first line that is none of this container."""
        if self.container.lines is not None:
            return -1 if self.container.lines.match(line) else 0
        for found in self.container.closing.finditer(line) if self.container.closing else ():
            if found.re.groups and not found[1]:
                self.depth += self.container.nests and not found[0].endswith("/>")
                continue
            self.depth -= 1
            if not self.depth:
                return found.end()
        return -1

    def retreat(self) -> tuple[int, int] | None:
        """Return the end of the opening tag of an element that was never closed: it is prose."""
        end = self.body_start - self.start
        return (end, end) if self.container.kind == "element" else None

    def span(self, *, closed: bool) -> BlockSpan:
        """Return the finished container."""
        done = TextBlock.span(self, closed=closed or self.container.lines is not None)
        done.container = self.container.kind
        return done


@dataclass(slots=True)
class JsonFence(TextBlock):
    """A JSON fence. A fence line inside a string is content.

    Where the strings do not tell (a quotation mark stood where none belongs), an end is only believed
    if the body so far can be read as a call: ``reads`` tells. Ends not believed are kept as candidates.
    """

    char: str = "`"
    length: int = 3
    reads: Callable[[str], bool] = bool
    progress: JsonProgress = field(default_factory=JsonProgress)
    candidates: list[tuple[int, int]] = field(default_factory=list)
    believed: tuple[int, int] | None = None
    tries: int = 0
    body_end: int = -1
    cut_short: bool = False
    first: tuple[str, ParsedJson | JsonFault] | None = None
    ambiguous: bool = False
    held: str = ""
    fed: int = 0
    flows: bool = False

    kind: BlockKind = "json"

    @property
    def mark(self) -> str:
        """The fence characters."""
        return self.char * 3

    def pass_over(self, text: str) -> None:
        """Follow lines that hold no fence."""
        self._follow(text)
        self.add(text)

    def whole(self, text: str, pos: int, end: int) -> BlockSpan | None:
        """Return the finished block if its strict JSON and closing fence stand in ``text[pos:end]``.

        A shortcut: strict JSON has no line ends in strings, so its first fence line is its end.
        """
        fence = closing_line(text, pos, end, self.char * self.length)
        if fence is None:
            return None
        body = text[pos : fence.start()]
        self.first = (body, parse_strict(body))
        if isinstance(self.first[1], JsonFault):
            return None
        self.add(text[pos : fence.end()])
        span = TextBlock.span(self, closed=True)
        span.body_end, span.first = span.body_start + len(body), self.first
        return span

    def peek(self, text: str) -> None:
        """Follow the JSON text, but not a line that may turn out to be a fence."""
        if not self.flows:
            self.held += text if len(self.held) < INDENT else ""
            start = self.held.lstrip(_BEFORE_FENCE)
            if not start or start[0] in "`~":
                return
            self.flows, text = True, self.held
        self.fed += len(text)
        self.progress.feed(text)

    def _follow(self, line: str) -> None:
        """Follow what ``peek`` did not of a line that is complete."""
        self.progress.feed(line[self.fed :] if self.fed else line)
        self.fed, self.held, self.flows = 0, "", False

    def take(self, line: str) -> int:
        """End at a fence line outside strings, or directly behind the value on its line."""
        progress = self.progress
        if self.char * 3 not in line:
            self._follow(line)
            return -1
        bare = BARE.match(line)
        if bare and bare[1][0] == self.char and len(bare[1]) >= self.length:
            if not progress.quote:
                return self._end(line)
            self._consider(self.size, self.size + len(line))
        elif not progress.quote and self._opens_another(line):
            self.body_end, self.cut_short = self.start + self.size, True
            return 0
        self._follow(line)
        stripped = line.rstrip()
        if not bare and stripped.endswith(self.char * self.length) and not progress.quote and progress.done:
            self.body_end = self.start + self.size + len(stripped.rstrip(self.char))
            return len(line)
        return -1

    def _end(self, line: str) -> int:
        self.body_end = self.start + self.size
        if self.believed:
            self.ambiguous = self.reads("".join(self.lines)[self.body_start - self.start :])
            self.retreats = not self.ambiguous
        return len(line)

    def _opens_another(self, line: str) -> bool:
        fence = FENCE.match(line)
        return bool(fence and JSON_INFO.match(fence[2]) and self.size > 0 and self.progress.started)

    def _consider(self, body_end: int, end: int) -> None:
        """A fence line stands in what looks like a string: keep it as a possible end."""
        if not self.candidates:
            self.candidates.append((body_end, end))
        if self.progress.suspicious and not self.believed and self.tries < _TRIES and body_end <= _TRIED_CHARS:
            self.tries += 1
            if self.reads("".join(self.lines)[self.body_start - self.start :]):
                self.believed = (body_end, end)

    def retreat(self) -> tuple[int, int] | None:
        """Return the end that was believed, else the first possible one."""
        return self.believed or (self.candidates[0] if self.candidates else None)

    def span(self, *, closed: bool) -> BlockSpan:
        """Return the finished block with its tracker."""
        done = TextBlock.span(self, closed=closed and not self.cut_short)
        done.progress, done.ambiguous, done.first = self.progress, self.ambiguous, self.first
        done.cut_short = self.cut_short
        done.body_end = self.body_end if self.body_end >= 0 else done.end
        return done


@dataclass(slots=True)
class XmlCall(TextBlock):
    """An XML tool element; its follower knows the parameters."""

    follower: XmlFollower = field(default_factory=lambda: XmlFollower("", "tool", {}))

    kind: BlockKind = "xml"

    def take(self, line: str) -> int:
        """End behind the closing tag of the tool."""
        self.follower.feed(line, self.size)
        self.retreats = self.follower.prose
        if self.retreats:
            return len(line)
        if self.follower.end < 0:
            return -1
        used = self.follower.end - self.size
        return used if line[used:].strip() else len(line)

    def retreat(self) -> tuple[int, int] | None:
        """Return the end of the only complete reading, or of the opening tag that turned out to be prose."""
        end = self.body_start - self.start if self.follower.prose else self.follower.fall_back()
        return (end, end) if end >= 0 else None

    def span(self, *, closed: bool) -> BlockSpan:
        """Return the finished call with its follower."""
        done = TextBlock.span(self, closed=closed or self.follower.end >= 0)
        done.follower = self.follower
        return done
