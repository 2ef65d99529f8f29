"""What a change means, where its lines of text say little: sentences for people, and something to draw.

Plain data, made by whoever knows the format (``rails.gate``), shown by whoever asks or informs a human. Texts
are untrusted: whoever shows them passes them through ``core.text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from rails.core.tool_request import Json

SummaryStyle = Literal["note", "add", "remove", "change"]


class SummaryLine(Struct, frozen=True):
    """One line: what happened, and how far it is set in (0 is a thing, 1 and more are its details)."""

    style: SummaryStyle
    text: str
    indent: int = 0


class ChangeSummary(Struct, frozen=True):
    """What happens to one file. ``hidden`` counts the lines left out; ``drawing`` is what a picture is made of."""

    path: str
    title: str
    lines: tuple[SummaryLine, ...]
    hidden: int = 0
    drawing: Json = None
