"""From bytes to a JSON value, the way n8n's own ``JSON.parse`` reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.text import decode, one_line
from rails.core.tool_request import Json
from rails.n8n.issues import Issue

#: Nesting that the rules follow. n8n's own exports stay under 40; the limit keeps every walk bounded.
DEPTH: Final = 120
#: What separates one array element or member from the next, for counting nesting without parsing.
_OPENERS: Final = frozenset("[{")
_CLOSERS: Final = frozenset("]}")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its text without byte-order mark, its value, and whether a key occurs twice."""

    text: str
    value: Json
    repeated_keys: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file is not JSON, and at which character."""

    text: str
    issue: Issue
    offset: int


class _Reader:
    """Collects what the standard parser drops: that an object names a key twice."""

    def __init__(self) -> None:
        self.repeated = False

    def object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self.repeated = True
        return made


def _number(digits: str) -> int | float:
    # What no float can hold becomes infinite, as in JavaScript; Python's own integers have no such end.
    return int(digits) if len(digits) < 300 else float(digits)


def _constant(name: str) -> Json:
    raise ValueError(name)


def read(data: bytes) -> Document | Unreadable:
    """Parse ``data``. Never raises: what cannot be read comes back as :class:`Unreadable`."""
    decoded = decode(data)
    if decoded is None:
        return _unreadable("", "The file is not UTF-8 text", 0)
    text, reader = decoded.text, _Reader()
    try:
        value: Json = json.loads(
            text, object_pairs_hook=reader.object, parse_int=_number, parse_constant=_constant, strict=True
        )
    except json.JSONDecodeError as error:
        return _unreadable(text, f"The file is not valid JSON: {one_line(error.msg)}", error.pos)
    except ValueError as error:
        name = str(error)
        return _unreadable(text, f"The file is not valid JSON: {one_line(name)} is not a JSON value", text.find(name))
    except RecursionError:
        return _too_deep(text)
    if text.count("[") + text.count("{") > DEPTH and _deeper_than(value, DEPTH):
        return _too_deep(text)
    return Document(text, value, reader.repeated)


def _unreadable(text: str, message: str, offset: int) -> Unreadable:
    remedy = "Write one complete JSON object: double quotes, no comments, no trailing commas."
    return Unreadable(text, Issue("N8N001", (), message, remedy), max(offset, 0))


def _too_deep(text: str) -> Unreadable:
    issue = Issue(
        "N8N001",
        (),
        f"The JSON is nested deeper than {DEPTH} levels and was not checked",
        "Flatten the deepest values, or keep them as JSON text in a string.",
    )
    return Unreadable(text, issue, 0)


def _deeper_than(value: Json, limit: int) -> bool:
    return any(level > limit for level in _levels(value))


def _levels(value: Json) -> Iterator[int]:
    level, layer = 0, [value]
    while layer:
        level += 1
        yield level
        layer = [child for item in layer if isinstance(item, dict | list) for child in _children(item)]


def _children(item: dict[str, Json] | list[Json]) -> Iterator[Json]:
    values = item.values() if isinstance(item, dict) else item
    return (child for child in values if isinstance(child, dict | list))
