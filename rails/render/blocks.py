"""What people are shown, as frozen values: a turn, a question and a report are built of these, once.

A renderer draws them: lines of a terminal (``text``), HTML (``html_page``), Markdown (``markdown``). Texts are as
logged, not yet printable, but for the lines of a diff; whoever draws them passes them through ``core.text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from rails.core.change_summary import ChangeSummary
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, printable

DiffStyle = Literal["note", "hunk", "context", "add", "remove", "tool_add", "tool_remove", "finding", "cut"]
Tone = Literal["", "good", "bad", "open", "dim"]
CellStyle = Literal["", "good", "bad", "open", "dim", "head"]

#: Characters of one line of a file that are shown; the end of a longer line is shown too.
LINE_CHARS: Final = 400
_SPACE_RUN: Final = lazy(r" {60,}")


class DiffLine(Struct, frozen=True):
    """One line of a drawn diff: printable text without gutter; ``old`` and ``new`` are line numbers, 0: none."""

    style: DiffStyle
    text: str
    old: int = 0
    new: int = 0


class Diff(Struct, frozen=True):
    """One file's change, drawn. ``by_tools`` counts changed lines that a formatter or fixer is the author of;
    ``hidden`` counts the lines that the bounds left out, ``shortened`` the changed lines that are not shown in full.
    """

    path: str
    kind: str
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    by_tools: int = 0
    hidden: int = 0
    shortened: int = 0

    @property
    def title(self) -> str:
        """Path, kind and counts on one line."""
        counts = f" ({self.kind}, +{self.added} -{self.removed})" if self.kind else ""
        return f"{one_line(self.path, 1000)}{counts}"


class Cell(Struct, frozen=True):
    """A text and how it is meant; ``session`` and ``record`` say where it leads."""

    text: str
    style: CellStyle = ""
    session: str = ""
    record: int = 0


class Table(Struct, frozen=True):
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


class Badge(Struct, frozen=True):
    """How something went: a mark for the eye, words for everyone."""

    mark: str
    tone: Tone
    words: str


class Heading(Struct, frozen=True):
    """What a section is about, and how it went. ``progress`` compares it with the one before."""

    title: str
    badge: Badge
    about: str = ""
    progress: str = ""


class Cost(Struct, frozen=True):
    """Who was at work, from when on, and what it took: seconds by stage, and tokens."""

    agent: str
    model: str
    started: str
    seconds: Mapping[str, float]
    tokens_in: int
    tokens_out: int


class Facts(Struct, frozen=True):
    """Names with what there is to say of each, as lines."""

    items: tuple[tuple[str, tuple[str, ...]], ...]


class Counts(Struct, frozen=True):
    """How many of each there were."""

    items: tuple[tuple[str, int], ...]


class Times(Struct, frozen=True):
    """Where the time went: seconds by stage."""

    items: tuple[tuple[str, float], ...]


class Remark(Struct, frozen=True):
    """A sentence of ours."""

    text: str
    tone: Tone = "dim"


class Listing(Struct, frozen=True):
    """A text line by line, below its title; ``open``: a page shows it without a click."""

    title: str
    lines: tuple[str, ...]
    open: bool = False


class Prose(Struct, frozen=True):
    """What somebody wrote. ``name`` is its label in a terminal, as everywhere here."""

    name: str
    text: str


class AlertBlock(Struct, frozen=True):
    """Something that went wrong: as a few words behind a label, and as a whole sentence."""

    name: str
    text: str
    sentence: str


class Notes(Struct, frozen=True):
    """Sentences under a title. ``repeated``: a terminal, where everything stands below each other, has had them."""

    name: str
    title: str
    lines: tuple[str, ...]
    tone: Tone = ""
    repeated: bool = False


class Risks(Struct, frozen=True):
    """What to be careful about."""

    lines: tuple[str, ...]


class CallBlock(Struct, frozen=True):
    """A tool call; ``tool`` says what it does. ``valid`` is ``None`` where nobody said.

    ``parameters`` are JSON, ``form`` is the form that it came in.
    """

    tool: str
    valid: bool | None
    why: str
    repairs: tuple[str, ...]
    coerced: tuple[str, ...]
    parameters: str
    form: str


class ValueChanges(Struct, frozen=True):
    """What a correction by the model changed: (place, before, after); without any, only the syntax."""

    taken: bool
    why: str
    changes: tuple[tuple[str, str, str], ...]


class Refusals(Struct, frozen=True):
    """What was refused: (code, message, hint)."""

    items: tuple[tuple[str, str, str], ...]


class VerdictBlock(Struct, frozen=True):
    """What the checks said: "pass", "fail" or "error"; ``words`` say it for a terminal."""

    status: str
    checks: tuple[str, ...]
    seconds: float | None = None
    words: str = ""


class PlacedFinding(Struct, frozen=True):
    """A finding at its place."""

    path: str
    line: int
    column: int
    rule: str
    message: str
    tool: str


class FindingsBlock(Struct, frozen=True):
    """Findings, one below the other."""

    items: tuple[PlacedFinding, ...]


class Answer(Struct, frozen=True):
    """A human's answer; ``answer`` is "" while nobody has answered."""

    answer: str
    by: str
    seconds: float
    at: str
    reason: str
    digest: str


class Written(Struct, frozen=True):
    """Files that were written: (kind, path)."""

    ok: bool
    changes: tuple[tuple[str, str], ...]


class Output(Struct, frozen=True):
    """What a tool gave."""

    tool: str
    ok: bool
    text: str
    seconds: float


class Folded(Struct, frozen=True):
    """A text to open on demand; a terminal shows it where it is ``open``."""

    name: str
    title: str
    text: str
    open: bool = False


class Group(Struct, frozen=True):
    """Blocks that belong together; ``kind`` is a class of the style sheet."""

    kind: str
    blocks: tuple[Block, ...]


class Section(Struct, frozen=True):
    """A part with a heading: what was said, what it took, and what came of it.

    ``number``, ``first`` and ``last`` say where it is found: its own number, and the records of the log.
    """

    heading: Heading
    said: tuple[Block, ...]
    cost: Cost
    blocks: tuple[Block, ...]
    number: int
    first: int
    last: int


Block: TypeAlias = (
    Facts
    | Counts
    | Times
    | Remark
    | Listing
    | Table
    | Prose
    | AlertBlock
    | Notes
    | Risks
    | CallBlock
    | ValueChanges
    | Refusals
    | VerdictBlock
    | ChangeSummary
    | Diff
    | FindingsBlock
    | Answer
    | Written
    | Output
    | Folded
    | Group
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
    if tabs > 20:
        return f"[… {tabs} tabs …]{body}"
    # In a changed line a tab is told from blanks.
    return ("→\t" if changed else "\t") * tabs + body


def _visible(text: str, changed: bool) -> str:
    shown = printable(text, keep="")
    if changed and (blanks := len(shown) - len(shown.rstrip(" "))):
        shown = shown.rstrip(" ") + (r"\x20" * blanks if blanks <= 8 else f"[… {blanks} spaces …]")
    return _SPACE_RUN.sub(lambda run: f"[… {len(run[0])} spaces …]", shown)
