"""What people are shown, as frozen values: a turn, a question and a report are built of these, once.

A renderer draws them: lines of a terminal (``text``), HTML (``html_page``), Markdown (``markdown``). Texts are as
logged, not yet printable, but for the lines of a diff; whoever draws them passes them through ``core.text``.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from rails.core.dataclass import dataclass
from rails.core.text import one_line, printable

DiffStyle = Literal["note", "hunk", "context", "add", "remove", "tool_add", "tool_remove", "finding", "cut"]
CellStyle = Literal["", "good", "bad", "open", "dim", "head", "heat-0", "heat-1", "heat-2", "heat-3", "heat-4"]

#: Characters of one line of a file that are shown; the end of a longer line is shown too.
LINE_CHARS: Final = 400
_SPACE_RUN: Final = re.compile(r" {60,}")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a drawn diff: printable text without gutter; ``old`` and ``new`` are line numbers, 0: none."""

    style: DiffStyle
    text: str
    old: int = 0
    new: int = 0


@dataclass(frozen=True, slots=True)
class Diff:
    """One file's change, drawn. ``by_tools`` counts changed lines that a formatter or fixer is the author of;
    ``hidden`` counts the lines that the bounds left out.
    """

    path: str
    kind: str
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    by_tools: int = 0
    hidden: int = 0

    @property
    def title(self) -> str:
        """Path, kind and counts on one line."""
        return f"{one_line(self.path, 1000)} ({self.kind}, +{self.added} -{self.removed})"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and how it is meant; ``session``, ``turn`` and the turn's first ``record`` say where it leads.

    ``span`` is (low, value, high) between 0 and 1, which a page draws beside the text.
    """

    text: str
    style: CellStyle = ""
    session: str = ""
    turn: int = 0
    record: int = 0
    span: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows of the same length, and sentences below. ``numeric`` columns stand right.

    ``wide`` are the columns whose text may be long and is shown in full where there is room, ``optional``
    those that a narrow terminal leaves out, in that order.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()
    optional: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def cells(*texts: object) -> tuple[Cell, ...]:
    """Return a row of cells: a Cell stays, numbers are written with separators, the rest as text."""
    return tuple(
        item if isinstance(item, Cell) else Cell(f"{item:,}" if isinstance(item, int) else str(item)) for item in texts
    )


def show(text: str, *, full: bool = False, changed: bool = True) -> str:
    """Return one line of a file so that nothing in it deceives or overflows.

    Leading tabs stay; others, and blanks at the end of a changed line, become escapes; long runs of
    blanks and the middle of long lines become counts (the latter not with ``full``).
    """
    body = text.lstrip("\t")
    tabs = len(text) - len(body)
    if not full and len(body) > LINE_CHARS:
        head, tail = body[: LINE_CHARS * 3 // 4], body[-(LINE_CHARS // 4) :]
        cut = len(body) - len(head) - len(tail)
        body = f"{_visible(head, changed=False)}[… {cut} characters …]{_visible(tail, changed)}"
    else:
        body = _visible(body, changed)
    return ("\t" * tabs if tabs <= 20 else f"[… {tabs} tabs …]") + body


def _visible(text: str, changed: bool) -> str:
    shown = printable(text, keep="")
    if changed and (blanks := len(shown) - len(shown.rstrip(" "))):
        shown = shown.rstrip(" ") + (r"\x20" * blanks if blanks <= 8 else f"[… {blanks} spaces …]")
    return _SPACE_RUN.sub(lambda run: f"[… {len(run[0])} spaces …]", shown)
