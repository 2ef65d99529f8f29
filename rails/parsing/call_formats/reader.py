"""What the readers of other models' wire formats share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rails.core.tool_request import Json, Repair

NAME: Final = r"([A-Za-z_][\w.-]{0,99})"


class FormCall(NamedTuple):
    """A call in another model's form, not validated: tool, arguments, and their repairs."""

    tool: str
    arguments: Mapping[str, Json]
    repairs: tuple[Repair, ...] = ()


class NotInForm(Exception):
    """The text is not in the format from ``offset`` on."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset
