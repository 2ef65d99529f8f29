"""Blocks to show to people, as frozen values.

Renderers draw them for terminals (``text``), HTML (``html_page``), Markdown (``markdown``). Texts are as logged, except
diff lines; renderers pass them through ``core.text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from rails.core.change_summary import ChangeSummary
from rails.core.events.approval import why_words
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, printable

DiffStyle = Literal["note", "hunk", "context", "add", "remove", "tool_add", "tool_remove", "finding", "cut"]
Tone = Literal["", "good", "bad", "open", "dim"]
CellStyle = Literal["", "good", "bad", "open", "dim", "head"]

#: Characters of one line of a file that are shown; the end of a longer line is shown too.
LINE_CHARS: Final = 400
_SPACE_RUN: Final = lazy(r" {60,}")


class DiffLine(Struct, frozen=True):
    """A printable line without gutter; ``old``, ``new``: line numbers, 0: none."""

    style: DiffStyle
    text: str
    old: int = 0
    new: int = 0


class Diff(Struct, frozen=True):
    """A file's change. ``by_tools``: lines changed by a formatter or fixer; ``hidden``: left out; ``shortened``:
    cut; ``digest``: of the whole text of a new or deleted file.
    """

    path: str
    kind: str
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    by_tools: int = 0
    hidden: int = 0
    shortened: int = 0
    digest: str = ""

    @property
    def title(self) -> str:
        """Return path, kind and counts."""
        counts = f" ({self.kind}, +{self.added} -{self.removed})" if self.kind else ""
        return f"{one_line(self.path, 1000)}{counts}"


class Cell(Struct, frozen=True):
    """A text and its style; ``session``, ``record``: its link."""

    text: str
    style: CellStyle = ""
    session: str = ""
    record: int = 0


class Table(Struct, frozen=True):
    """Columns, rows of equal length, sentences below. ``numeric`` columns align right.

    ``wide``: long text; ``optional``: dropped on a narrow terminal, in order.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()
    optional: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def cells(*texts: object) -> tuple[Cell, ...]:
    """Return a row: Cells stay, numbers get separators, the rest is text."""
    return tuple(
        item if isinstance(item, Cell) else Cell(f"{item:,}" if isinstance(item, int) else str(item)) for item in texts
    )


class Badge(Struct, frozen=True):
    """A status: a mark and words."""

    mark: str
    tone: Tone
    words: str


class Heading(Struct, frozen=True):
    """A section's heading and status. ``progress``: compared to the last."""

    title: str
    badge: Badge
    about: str = ""
    progress: str = ""


class Cost(Struct, frozen=True):
    """The cost of a turn: agent, model, start, seconds by stage, tokens."""

    agent: str
    model: str
    started: str
    seconds: Mapping[str, float]
    tokens_in: int
    tokens_out: int


class Facts(Struct, frozen=True):
    """Names with lines of text."""

    items: tuple[tuple[str, tuple[str, ...]], ...]


class Counts(Struct, frozen=True):
    """Numbers by name."""

    items: tuple[tuple[str, int], ...]


class Times(Struct, frozen=True):
    """Seconds by stage."""

    items: tuple[tuple[str, float], ...]


class Remark(Struct, frozen=True):
    """A sentence of ours."""

    text: str
    tone: Tone = "dim"


class Listing(Struct, frozen=True):
    """A text by lines, under a title; ``open``: unfolded on a page."""

    title: str
    lines: tuple[str, ...]
    open: bool = False


class Prose(Struct, frozen=True):
    """A person's or model's words. ``name``: the terminal's label."""

    name: str
    text: str


class AlertBlock(Struct, frozen=True):
    """A fault: words behind a label, and a sentence."""

    name: str
    text: str
    sentence: str


class Notes(Struct, frozen=True):
    """Sentences under a title. ``repeated``: already shown above in a terminal."""

    name: str
    title: str
    lines: tuple[str, ...]
    tone: Tone = ""
    repeated: bool = False


class Risks(Struct, frozen=True):
    """The risks."""

    lines: tuple[str, ...]


class CallBlock(Struct, frozen=True):
    """A tool call; ``valid`` is None if unknown.

    ``adjusted``: its repairs and conversions; ``parameters``: JSON; ``form``: the form it came in.
    """

    tool: str
    valid: bool | None
    why: str
    adjusted: tuple[str, ...]
    parameters: str
    form: str


class Refusals(Struct, frozen=True):
    """Refusals: (code, message, hint)."""

    items: tuple[tuple[str, str, str], ...]


class VerdictBlock(Struct, frozen=True):
    """A verdict: "pass", "fail" or "error"; ``words`` for a terminal."""

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
    """Findings."""

    items: tuple[PlacedFinding, ...]


class Answer(Struct, frozen=True):
    """A human's answer; ``answer`` is "" until then."""

    answer: str
    by: str
    seconds: float
    at: str
    reason: str
    digest: str

    @property
    def why(self) -> str:
        """The reason behind a colon, or ""."""
        return why_words(self.reason, self.by)


class Written(Struct, frozen=True):
    """Written files: (kind, path)."""

    ok: bool
    changes: tuple[tuple[str, str], ...]


class Output(Struct, frozen=True):
    """A tool's output."""

    tool: str
    ok: bool
    text: str
    seconds: float


class Folded(Struct, frozen=True):
    """A text opened on demand; ``open``: shown by a terminal."""

    name: str
    title: str
    text: str
    open: bool = False


class Section(Struct, frozen=True):
    """A part with a heading.

    ``number``, ``first``, ``last``: its own number, and its log records.
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
    | Refusals
    | VerdictBlock
    | ChangeSummary
    | Diff
    | FindingsBlock
    | Answer
    | Written
    | Output
    | Folded
)


def show(text: str, *, full: bool = False, changed: bool = True) -> str:
    """Return a file's line so that nothing deceives or overflows.

    Leading tabs stay; others, and trailing blanks of a changed line, become escapes; long blanks and middles become
    counts (middles not with ``full``).
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
