"""Blocks as terminal lines: a label, an unforgeable bar, the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from rails.core.change_summary import ChangeSummary
from rails.core.text import counted, head_and_tail, one_line, printable
from rails.render import blocks
from rails.render.lines import draw, draw_summary, styled
from rails.render.terminal import wrap

#: Lines of one diff that are shown.
DIFF_LINES: Final = 120
_LISTED: Final = 20
_TEXT_LINES: Final = 12
_TEXT_CHARS: Final = 20_000
_INK: Final[dict[blocks.Tone, str]] = {"": "", "good": "good", "bad": "risk", "open": "finding", "dim": "dim"}


class TextRenderer:
    """Draws blocks, ``width`` columns; ``label``: the width of names.

    ``frame``: changes have the bar too; ``plain``: bar and rules for screen readers.
    """

    def __init__(
        self, colour: bool = False, width: int = 100, *, label: int = 11, frame: bool = True, plain: bool = False
    ) -> None:
        self.colour = colour
        self.width = width
        self.plain = plain
        self.bar = "| " if plain else "│ "
        self._label = label
        self._blank = " " * label + self.bar
        self._frame = self._blank if frame else ""
        self._room = width - len(self._frame)

    def title(self, text: str) -> str:
        """Return a full-width title."""
        return self.line(text if self.plain else f"── {text} ".ljust(min(self.width, 100), "─"), "title")

    def section(self, section: blocks.Section) -> Iterator[str]:
        """Yield the lines of a section."""
        yield from self._heading(section.heading)
        for block in section.said:
            yield from self.draw(block)
        yield from self._cost(section.cost)
        for block in section.blocks:
            yield from self.draw(block)

    def draw(self, block: blocks.Block) -> Iterator[str]:  # noqa: PLR0912, PLR0915 - one case for each kind of block
        """Yield the lines of a block."""
        match block:
            case blocks.Facts():
                for name, lines in block.items:
                    yield from self.texts(name, lines)
            case blocks.Counts():
                totals = ", ".join(f"{count:,} {name}" for name, count in block.items if count)
                yield from self.field("totals", totals)
            case blocks.Times():
                if block.items:
                    yield from self.field("time", _spent(block.items))
            case blocks.Remark():
                for piece in wrap(one_line(block.text, 1000), self.width):
                    yield self.line(piece.rstrip(), _INK[block.tone])
            case blocks.Listing():
                yield from wrap(one_line(block.title, 400), self.width)
                yield from self.texts("", block.lines)
            case blocks.Table():
                from rails.render.table import table_as_text

                yield from table_as_text(block, self.colour, width=self.width).split("\n")
            case blocks.Prose():
                yield from self.texts(block.name, _few_lines(block.text))
            case blocks.AlertBlock():
                yield from self.field(block.name, block.text, "risk")
            case blocks.Notes():
                if not block.repeated:
                    yield from self.list(block.name, block.lines, _INK[block.tone])
            case blocks.Risks():
                for risk in block.lines:
                    yield from self.field("risk", risk, "risk")
            case blocks.CallBlock():
                yield from self._call(block)
            case blocks.Refusals():
                said = [f"{code}: {message} {hint}".strip() for code, message, hint in block.items]
                yield from self.list("refused", said, "risk")
            case blocks.VerdictBlock():
                checks = f" ({', '.join(block.checks)})" if block.checks else ""
                yield from self.field("checks", f"{block.words or block.status}{checks}", _ok(block.status == "pass"))
            case ChangeSummary():
                yield from self._framed(draw_summary(block, self.colour, self._room))
            case blocks.Diff():
                yield from self._framed(draw(block, colour=self.colour, width=self._room))
            case blocks.FindingsBlock():
                found = [f"{f.path}:{f.line}:{f.column} {f.rule} {f.message}" for f in block.items]
                yield from self.list("", found, "finding")
            case blocks.Answer():
                yield from self._answer(block)
            case blocks.Written():
                for kind, path in block.changes:
                    yield from self.field("written", f"{kind} {path}", _ok(block.ok))
            case blocks.Output():
                head = f"{one_line(block.tool, 80)} {'ok' if block.ok else 'failed'}"
                yield from self.texts("result", [head, *_few_lines(block.text)], _ok(block.ok))
            case blocks.Folded():
                if block.open:
                    yield from self.texts(block.name, _few_lines(block.text), "dim")
            case _:
                assert_never(block)

    def line(self, text: str, style: str = "") -> str:
        """Return a styled line."""
        return styled(text, style, self.colour)

    def field(self, name: str, text: str, style: str = "") -> Iterator[str]:
        """Yield a labelled, wrapped line."""
        yield from self.texts(name, [one_line(text, 400)], style)

    def list(self, name: str, lines: Sequence[str], style: str = "") -> Iterator[str]:
        """Yield labelled texts, and the number omitted."""
        for line in lines[:_LISTED]:
            yield from self.field(name, line, style)
            name = name if self._frame else ""
        if len(lines) > _LISTED:
            yield from self.field(name, f"[… {len(lines) - _LISTED} more …]")

    def texts(self, name: str, texts: Sequence[str], style: str = "") -> Iterator[str]:
        """Yield labelled texts, with a bar apart from ours."""
        inset = "  " if self._frame else ""
        label = f"{inset}{name}".ljust(self._label) + self.bar
        for text in texts:
            for piece in wrap(printable(text, keep="\t"), max(20, self.width - len(label))):
                yield self.line(f"{label}{piece}".rstrip(), style)
                label = self._blank

    def _framed(self, lines: Sequence[str]) -> Iterator[str]:
        yield from (f"{self._frame}{line}".rstrip() for line in lines)

    def _heading(self, heading: blocks.Heading) -> Iterator[str]:
        progress = f"  [{one_line(heading.progress)}]" if heading.progress else ""
        words = f"{_small(heading.title)}  {one_line(heading.about, 40)}  {_small(heading.badge.words)}"
        for piece in wrap(f"── {words}{progress}", self.width):
            yield self.line(piece, _INK[heading.badge.tone])

    def _cost(self, cost: blocks.Cost) -> Iterator[str]:
        tokens = f"tokens {cost.tokens_in:,} in, {cost.tokens_out:,} out" if cost.tokens_in or cost.tokens_out else ""
        if facts := "; ".join(filter(None, (tokens, _spent(cost.seconds.items())))):
            yield from self.field("cost", facts, "dim")

    def _call(self, call: blocks.CallBlock) -> Iterator[str]:
        mark = " (not valid)" if call.valid is False else ""
        why = f": {call.why}" if call.why else ""
        yield from self.field("asks", f"{call.tool}{mark}{why}", "risk" if call.valid is False else "")
        yield from self.list("adjusted", call.adjusted, "finding")

    def _answer(self, given: blocks.Answer) -> Iterator[str]:
        if not given.answer:
            yield from self.field("decision", "waiting for approval", "finding")
            return
        words = f"{given.answer} by {given.by} after {given.seconds:.1f} s{given.why}"
        yield from self.field("decision", words, _ok(given.answer == "approve"))


def _spent(seconds: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{stage} {spent:.1f} s" for stage, spent in seconds)


def _ok(good: bool) -> str:
    return "good" if good else "risk"


def _small(words: str) -> str:
    return words[:1].lower() + words[1:]


def _few_lines(text: str) -> list[str]:
    lines = text.strip().split("\n")
    cut = len(lines) - _TEXT_LINES
    if cut > 0:
        lines[_TEXT_LINES - 3 : -3] = [f"[… {counted(cut, 'more line')} …]"]
    shown, _ = head_and_tail("\n".join(lines), _TEXT_CHARS)
    return [printable(line).expandtabs(4) for line in shown.split("\n")]
