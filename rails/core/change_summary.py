"""The meaning of a change, in sentences and as a drawing. Texts are untrusted: show them through ``core.text``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rails.core.tool_request import Json

SummaryStyle = Literal["note", "add", "remove", "change"]


class SummaryLine(Struct, frozen=True):
    """One line, and its indentation (0 is a thing, 1 and more are its details)."""

    style: SummaryStyle
    text: str
    indent: int = 0


class ChangeSummary(Struct, frozen=True):
    """One file's change. ``hidden`` counts the lines left out; ``drawing`` is the data of a picture."""

    path: str
    title: str
    lines: tuple[SummaryLine, ...]
    hidden: int = 0
    drawing: Json = None
