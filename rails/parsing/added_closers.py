"""Whether closing brackets that were added at the end of a text can only have been lost there."""

from __future__ import annotations

from typing import Final

from rails.core.tool_request import Json
from rails.data_formats.strict_json import ParsedJson
from rails.parsing.call_formats.json_calls import Call, fits_call, read_value
from rails.parsing.values import ToolSchemas

#: How many places for missing brackets are tried before there are too many to be sure.
_MOVES: Final = 400


def only_reading(repaired: ParsedJson, tools: ToolSchemas) -> bool:
    """Return whether no closers were added, or the very end is the only place for them.

    Any closing bracket may be the lost one: if members of an inner object fit an outer one, there are two readings.
    """
    if all(note.name != "missing_closers" for note in repaired.repairs):
        return True
    path, last = [], repaired.value
    while isinstance(last, dict | list) and last:
        if isinstance(last, dict):
            path.append(last)
        last = next(reversed(last.values())) if isinstance(last, dict) else last[-1]
    moves = [
        (inner, outer, cut)
        for index, inner in enumerate(path)
        for outer in path[:index]
        for cut in range(1, len(inner))
    ]
    return len(moves) <= _MOVES and not any(_fits_moved(repaired.value, *move, tools) for move in moves)


def _fits_moved(value: Json, inner: dict[str, Json], outer: dict[str, Json], cut: int, tools: ToolSchemas) -> bool:
    members = list(inner.items())
    moved = dict(members[cut:])
    if set(moved) & set(outer):
        return False
    for key in moved:
        del inner[key]
    outer.update(moved)
    try:
        reads = [read_value(item, tools) for item in (value if isinstance(value, list) else [value])]
        return all(isinstance(read, Call) and fits_call(read, tools) for read in reads)
    finally:
        for key in moved:
            del outer[key]
        inner.update(moved)
