"""Terminal lines: colours, wrapping, diffs, summaries. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from rails.core.change_summary import ChangeSummary, SummaryStyle
from rails.core.text import counted, one_line
from rails.render.blocks import Diff, DiffLine, DiffStyle, show
from rails.render.terminal import wrap

if TYPE_CHECKING:
    from rails.render.highlight import Span

_MARKS: Final[dict[DiffStyle, str]] = {
    "add": "+ ",
    "remove": "- ",
    "tool_add": "+~",
    "tool_remove": "-~",
    "finding": "^ ",
}
_OUTLINE_MARKS: Final[dict[SummaryStyle, str]] = {"add": "+", "remove": "-", "change": "~", "note": " "}
#: Select Graphic Rendition codes (ECMA-48).
SGR: Final[dict[str, str]] = {
    "add": "32",
    "remove": "31",
    "change": "33",
    "tool_add": "36",
    "tool_remove": "35",
    "hunk": "2",
    "note": "2",
    "cut": "7",
    "finding": "1;33",
    "title": "1",
    "risk": "1;31",
    "good": "32",
    "dim": "2",
}
#: Of the kinds of words of a language; what has none is in the colour of its line.
_KIND_SGR: Final = {"c": "2", "s": "33", "k": "34", "m": "36"}
_GUTTER: Final = 9
_MIN_WIDTH: Final = 20


def styled(text: str, style: str, colour: bool) -> str:
    """Return ``text`` in ``style`` if ``colour``."""
    code = SGR.get(style) if colour else None
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def draw(diff: Diff, *, colour: bool = False, width: int = 100) -> list[str]:
    """Return a diff's lines, at most ``width`` columns."""
    lines = tuple(replace(line, text=line.text.expandtabs(4)) for line in diff.lines)
    parts: Sequence[list[Span]] = [[] for _ in lines]
    if colour:
        from rails.render.highlight import spans

        parts = spans(replace(diff, lines=lines))
    drawn = [styled(piece, "title", colour) for piece in wrap(diff.title, width)]
    for line, found in zip(lines, parts, strict=True):
        drawn += _drawn(line, found, colour, width)
    return drawn


def draw_summary(outline: ChangeSummary, colour: bool = False, width: int = 100) -> list[str]:
    """Return a change's meaning: a title, then indented details."""
    title = f"{one_line(outline.path, 1000)}: {one_line(outline.title, 300)}"
    lines = [styled(piece, "title", colour) for piece in wrap(title, width)]
    for line in outline.lines:
        lead = " " * (2 + 3 * line.indent) if line.indent else f"  {_OUTLINE_MARKS[line.style]} "
        for piece in wrap(show(line.text), max(_MIN_WIDTH, width - len(lead))):
            lines.append(styled(f"{lead}{piece}".rstrip(), line.style, colour))
            lead = " " * len(lead)
    if outline.hidden:
        lines.append(styled(f"    [… {counted(outline.hidden, 'line')} not shown …]", "cut", colour))
    return lines


def _drawn(line: DiffLine, found: list[Span], colour: bool, width: int) -> Iterator[str]:
    number = str(line.new or line.old or "")
    first = f"{'' if line.style == 'finding' else number:>5} {_MARKS.get(line.style, '  ')} "
    plain = len(found) <= 1
    at = 0
    for position, piece in enumerate(wrap(line.text, max(_MIN_WIDTH, width - _GUTTER))):
        gutter = first if position == 0 else " " * (_GUTTER - 3) + "⤷  "
        if plain:
            yield styled(f"{gutter}{piece}".rstrip(), line.style, colour)
        else:
            inside = "".join(_inked(part, line.style) for part in _between(found, at, at + len(piece.rstrip())))
            yield f"{styled(gutter, line.style, colour)}{inside}"
        at += len(piece)


def _between(found: list[Span], start: int, end: int) -> Iterator[Span]:
    at = 0
    for part in found:
        if text := part.text[max(0, start - at) : max(0, end - at)]:
            yield part._replace(text=text)
        at += len(part.text)


def _inked(part: Span, style: str) -> str:
    codes = (SGR.get(style, ""), _KIND_SGR.get(part.kind, ""), "1;4" if part.changed else "")
    code = ";".join(filter(None, codes))
    return f"\x1b[{code}m{part.text}\x1b[0m" if code else part.text
