"""What a rule of the n8n check says, before it has a place in the file.

A rule yields :class:`Issue` values with a path into the JSON document; ``positions`` turns paths into
lines and columns. Paths are written as n8n writes them: ``nodes[0].type``,
``connections.Start.main[0][0].node``, and ``workflow`` for the document itself.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias

from rails.core.dataclass import dataclass
from rails.core.text import one_line
from rails.core.tool_request import json_type
from rails.core.verdict import Severity

JsonPath: TypeAlias = "tuple[str | int, ...]"

#: Similar names are looked for this often in one document, among this many names: comparing every
#: wrong name with every right one would make a hostile workflow quadratic.
_NEAREST_LOOKUPS: Final = 25
_NEAREST_NAMES: Final = 800
_SHOWN_CHARS: Final = 80
_SEPARATORS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault. ``code`` is n8n's own issue code where n8n reports the same fault.

    ``on_key`` puts the finding on the key of the last path segment, not on its value. ``start`` and
    ``end`` are character offsets inside the string value (``-1``: the whole value).
    """

    rule: str
    path: JsonPath
    message: str
    remedy: str = ""
    severity: Severity = "error"
    code: str = ""
    on_key: bool = False
    start: int = -1
    end: int = -1


def format_path(path: JsonPath) -> str:
    """Return ``path`` as n8n prints it: numbers in brackets, names after a dot."""
    parts: list[str] = []
    for segment in path:
        if isinstance(segment, int):
            parts.append(f"[{segment}]")
        else:
            parts.append(f".{segment}" if parts else segment)
    # A lone surrogate can be in a JSON text, but in no file that a finding is written to.
    return "".join(parts).encode("utf-8", "backslashreplace").decode() or "workflow"


def shown(value: object) -> str:
    """Return a value in double quotes, printable and short, for use in a message."""
    return f'"{one_line(value if isinstance(value, str) else str(value), _SHOWN_CHARS)}"'


def kind(value: object) -> str:
    """Return the JSON name of a value's type: object, array, string, number, boolean or null."""
    name = json_type(value)
    return "number" if name == "integer" else name


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Return names as ``"a", "b" and 3 more``."""
    items = names if isinstance(names, list | tuple) else list(names)
    text = ", ".join(shown(name) for name in items[:limit])
    return f"{text} and {len(items) - limit} more" if len(items) > limit else text


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.casefold())


class Names:
    """A set of names that can say which of them a wrong name was probably meant to be."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._left = _NEAREST_LOOKUPS

    @cached_property
    def _plain(self) -> dict[str, str]:
        return {_plain(name): name for name in reversed(self._names)}

    def nearest(self, name: str) -> str | None:
        """Return the name most like ``name``; ``None`` if there is none or the budget is used up."""
        same = self._plain.get(_plain(name))
        if same is not None and same != name:
            return same
        if self._left <= 0 or len(name) > 4 * _SHOWN_CHARS:
            return None
        self._left -= 1
        close = difflib.get_close_matches(_plain(name), list(islice(self._plain, _NEAREST_NAMES)), n=1, cutoff=0.6)
        return self._plain[close[0]] if close else None

    def hint(self, name: str, what: str) -> str:
        """Return the remedy for a wrong name: the nearest right one, or all of them."""
        nearest = self.nearest(name)
        if nearest is not None:
            return f"Did you mean {shown(nearest)}?"
        return f"The {what} are: {listed(self._names)}." if self._names else f"There are no {what}."
