"""Actions in a person's words, the same in every view."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from rails.core.builtin_tools import (
    ASK_USER,
    FETCH_WEBPAGE,
    LIST_FILES,
    READ_FILE,
    RUN_COMMAND,
    RUN_TESTS,
    SEARCH_FILES,
)
from rails.core.events.approval import ApprovalOpened
from rails.core.events.record import Record
from rails.core.events.turn import McpRequestFormulated
from rails.core.text import counted, one_line
from rails.core.tool_request import PATH_KEYS, Json, ToolResult

#: Parameters that name a file, in our tools and in those of the originals.
_PATHS: Final = (*PATH_KEYS, "new_path")
_SHOWN: Final = 300
#: How a call begins, and the parameters that follow; of any other tool it is the tool and its files.
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    RUN_COMMAND.name: ("$", "command"),
    RUN_TESTS.name: ("run tests", "arguments"),
    READ_FILE.name: ("read", "file_path", "path"),
    LIST_FILES.name: ("list", "path", "pattern"),
    FETCH_WEBPAGE.name: ("fetch", "urls"),
    ASK_USER.name: ("ask", "question"),
}


def action_text(tool: str, parameters: Json | Mapping[str, Json]) -> str:
    """Return a call in one printable line: ``$ pytest -q``, ``read store.py 1–40``."""
    given = parameters if isinstance(parameters, Mapping) else {}
    if tool in _WORDS:
        verb, *names = _WORDS[tool]
        words = " ".join(filter(None, (verb, *(_typed(given, name) for name in names))))
    else:
        words = f"{tool} {', '.join(paths_of(given))}"
    if tool == READ_FILE.name:
        words += _lines(given)
    if tool == SEARCH_FILES.name:
        where = _typed(given, "path")
        words = f'search "{_typed(given, "pattern")}"{where and f" in {where}"}'
    return one_line(words.strip(), _SHOWN)


def paths_of(parameters: Json | Mapping[str, Json]) -> tuple[str, ...]:
    """Return the files that a call names, in order, its edits' as well."""
    given = parameters if isinstance(parameters, Mapping) else {}
    edits = given.get("edits") or given.get("replacements")
    parts = [given, *(edits if isinstance(edits, list) else ())]
    named = [_typed(part, name) for part in parts if isinstance(part, Mapping) for name in _PATHS]
    return tuple(dict.fromkeys(filter(None, named)))


def question_text(asked: ApprovalOpened) -> str:
    """Return a question on one line: the files, the command, or the agent's question."""
    if asked.options:
        words = " ".join(line.strip() for line in asked.lines if not line.startswith("──"))
    elif asked.kind == "changes":
        words = f"Change {', '.join(file.path for file in asked.files)}"
    else:
        words = "; ".join(action_text(one.tool_name, one.parameters) for one in asked.requests)
    return one_line(words, _SHOWN)


def is_of_agent(asked: ApprovalOpened) -> bool:
    """Return whether an agent asks a person (``ask_user``), answerable after its run."""
    return asked.kind == "user" and not asked.id.startswith("user-")


def result_of_person(words: str, by: str) -> ToolResult:
    """Return the result of ``ask_user`` that a person answered."""
    return ToolResult(True, f"The user answers: {words}", facts={"by": by})


def how_to_answer(session_id: str) -> str:
    """Return the command that answers an agent's question."""
    return f"Answer with: ai-rails answer {session_id} WORDS."


def result_text(action: str, facts: Mapping[str, Json] | None) -> str:
    """Return an action's result: ``search "x" in src: 11 lines``."""
    lines = facts.get("matches") if facts else None
    return f"{action}: {counted(lines, 'line')}" if isinstance(lines, int) else action


def record_text(record: Record) -> str:
    """Return a record's line in a list: a request's action, else the message."""
    if isinstance(record.event, McpRequestFormulated):
        request = record.event.request
        why = f": {request.explanation}" if request.explanation else ""
        return f"{action_text(request.tool_name, request.parameters)}{why}"
    return record.message


def _typed(given: Mapping[str, Json], name: str) -> str:
    value = given.get(name)
    if isinstance(value, list):
        value = shlex.join(map(str, value))
    return value if isinstance(value, str) else ""


def _lines(given: Mapping[str, Json]) -> str:
    start = given.get("offset", 1)
    count = given.get("limit")
    if not isinstance(start, int):
        start = 1
    if isinstance(count, int):
        return f" {start}–{start + count - 1}"
    return f" from line {start}" if start > 1 else f" {_typed(given, 'symbol')}"
