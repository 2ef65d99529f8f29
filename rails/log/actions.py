"""What an action does, in the words of a person: the same in the terminal, a review, the page and a search."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from rails.core.builtin_tools import (
    FETCH_WEBPAGE,
    LIST_FILES,
    OUTLINE,
    READ_FILE,
    RUN_COMMAND,
    RUN_TESTS,
    SEARCH_FILES,
)
from rails.core.events.record import Record
from rails.core.events.turn import McpRequestFormulated
from rails.core.text import one_line
from rails.core.tool_request import Json

_PATHS: Final = ("file_path", "path")
_SHOWN: Final = 300


def action_text(tool: str, parameters: Json | Mapping[str, Json]) -> str:
    """Return a call in words: ``$ pytest -q``, ``search "store" in src``, ``read store.py 1–40``.

    Of another tool it is the tool and the file that it is about. The text is one printable line.
    """
    given = parameters if isinstance(parameters, Mapping) else {}
    path = _first(given, *_PATHS)
    match tool:
        case RUN_COMMAND.name:
            words = f"$ {_first(given, 'command')}"
        case RUN_TESTS.name:
            words = f"run tests {_first(given, 'arguments')}"
        case SEARCH_FILES.name:
            where = f" in {path}" if path else ""
            words = f'search "{_first(given, "pattern")}"{where}'
        case READ_FILE.name:
            words = f"read {path} {_lines(given)}"
        case LIST_FILES.name:
            words = f"list {path} {_first(given, 'pattern')}"
        case OUTLINE.name:
            words = f"outline {path}"
        case FETCH_WEBPAGE.name:
            words = f"fetch {_first(given, 'urls')}"
        case _:
            words = f"{tool} {path}"
    return one_line(" ".join(words.split()), _SHOWN)


def record_text(record: Record) -> str:
    """Return what a record says in a list of records: of a request what it would do, of others their message."""
    if record.kind is McpRequestFormulated and isinstance(record.event, McpRequestFormulated):
        request = record.event.request
        why = f": {request.explanation}" if request.explanation else ""
        return f"{action_text(request.tool_name, request.parameters)}{why}"
    return record.message


def _first(given: Mapping[str, Json], *names: str) -> str:
    """Return the first of these parameters that is there, as it would be typed; "" for none."""
    for name in names:
        value = given.get(name)
        if isinstance(value, list):
            value = shlex.join(map(str, value))
        if isinstance(value, str) and value:
            return value
    return ""


def _lines(given: Mapping[str, Json]) -> str:
    """Return which lines are read, or which symbol; "" for the whole file."""
    first, count = given.get("offset"), given.get("limit")
    start = first if isinstance(first, int) else 1
    if isinstance(count, int):
        return f"{start}–{start + count - 1}"
    return f"from line {start}" if start > 1 else _first(given, "symbol")
