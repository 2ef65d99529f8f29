"""What a change means, where its lines of text say little: sentences for people, and something to draw.

Plain data, made by whoever knows the format (``rails.gate``), shown by whoever asks or informs a human. Texts
are untrusted: whoever shows them passes them through ``core.text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from rails.core import record_fields as d
from rails.core.dataclass import dataclass
from rails.core.record_fields import Details

if TYPE_CHECKING:
    from rails.core.tool_request import Json

SummaryStyle = Literal["note", "add", "remove", "change"]
_STYLES: Final = frozenset(get_args(SummaryStyle))


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line: what happened, and how far it is set in (0 is a thing, 1 and more are its details)."""

    style: SummaryStyle
    text: str
    indent: int = 0


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """What happens to one file. ``hidden`` counts the lines left out; ``drawing`` is what a picture is made of."""

    path: str
    title: str
    lines: tuple[SummaryLine, ...]
    hidden: int = 0
    drawing: Json = None


def summary_from_json(value: Details) -> ChangeSummary:
    """Read an outline as a log holds it; what is missing or odd becomes something empty."""
    lines = tuple(
        SummaryLine(_style(d.text(line, "style")), d.shortened(line, "text"), min(d.integer(line, "indent"), 8))
        for line in d.objects(value, "lines")
    )
    return ChangeSummary(
        d.text(value, "path"), d.text(value, "title"), lines, d.integer(value, "hidden"), value.get("drawing")
    )


def _style(name: str) -> SummaryStyle:
    found: SummaryStyle = name if name in _STYLES else "note"  # type: ignore[assignment]
    return found
