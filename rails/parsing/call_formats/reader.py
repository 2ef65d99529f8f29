"""What the readers of other models' wire formats share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from rails.core.tool_request import Json

NAME: Final = r"([A-Za-z_][\w.-]{0,99})"


class NotInForm(Exception):
    """The text is not in the format from ``offset`` on."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


_NAMES: Final = ("tool", "toolname", "functionname", "recipientname", "function", "action", "name", "use", "command")
_ARGUMENTS: Final = ("arguments", "args", "params", "parameters", "input", "toolinput", "actioninput", "kwargs")
_IDS: Final = frozenset({"id", "type", "callid", "toolcallid"})


class Named(NamedTuple):
    """A name, the keys under which arguments stand, and what stands beside them."""

    name: str
    keys: list[str]
    others: Set[str]


def plain(name: str) -> str:
    """Return a name without what its spellings differ in."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def named_in(value: Mapping[str, Json]) -> Named:
    """Return an object's name ("": none) and arguments, under any of their usual keys in any spelling."""
    keys = {plain(key): key for key in value}
    name = next((key for key in _NAMES if isinstance(value.get(keys.get(key, "")), str)), "")
    inside = [key for key in _ARGUMENTS if key in keys]
    found = str(value[keys[name]]) if name else ""
    return Named(found, [keys[key] for key in inside], keys.keys() - _IDS - {name, *inside})
