"""Further wire formats, off unless named; all but mistral and react in a json fence, for tools that exist.

mistral   [TOOL_CALLS] [{"name": …, "arguments": {…}}, …] or [TOOL_CALLS]name[ARGS]{…} at a line's start
react     Action: tool, and on the next line Action Input: {…}
name, cohere, gemini, json   one object with a name and arguments under any of their usual keys, in any spelling, as in
          {"tool_name": …, "parameters": {…}} or {"function_call": {"name": …, "args": {…}}}, or a list of such objects
          under another key
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from rails.core.errors import UsageError
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.parsing.call_formats.reader import NAME, named_in, plain
from rails.parsing.call_formats.registry import FORMS
from rails.parsing.values import ToolSchemas

#: Keys under which models put a call or a list of them.
_WRAPPERS: Final = frozenset(
    {
        "actions",
        "calls",
        "commands",
        "function",
        "functioncall",
        "functioncalls",
        "functions",
        "invocations",
        "operations",
    }
    | {"requests", "steps", "tool", "toolcall", "toolcalls", "toolrequest", "toolrequests", "tools", "tooluse"}
)
#: The dialects that are read here.
NAMES: Final = frozenset({"mistral", "react", "name", "cohere", "gemini"})
_IN_FENCES: Final = ("json", "name", "cohere", "gemini")

_MARKERS: Final = {
    "mistral": lazy(rf"[ \t]*\[TOOL_CALLS\][ \t]*(?:{NAME}(?:\[CALL_ID\][\w-]{{1,80}})?\[ARGS\][ \t]*)?"),
    "react": lazy(rf"[ \t]*Action:[ \t]*{NAME}[ \t]*\r?\n[ \t]*Action Input:[ \t]*"),
}


def check_dialects(dialects: Set[str]) -> frozenset[str]:
    """Return ``dialects``. Raises UsageError for an unknown one."""
    known = NAMES | FORMS.keys() | {"json"}
    unknown = sorted(dialects - known)
    if unknown:
        raise UsageError(f"There is no dialect {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
    return frozenset(dialects)


def marker(text: str, pos: int, dialects: Set[str]) -> tuple[str, re.Match[str]] | None:
    """Return the dialect of a marked value that begins at ``pos``, and its mark; group 1 is its tool."""
    for name, pattern in _MARKERS.items():
        found = pattern.match(text, pos) if name in dialects else None
        if found is not None:
            return name, found
    return None


def translate(value: Json, dialect: str, dialects: Set[str], tools: ToolSchemas, tool: str) -> tuple[Json, str]:
    """Return an opt-in value in S1 form and its format; else the value and ""."""
    if dialect == "react" or tool:
        return {"tool": tool, "arguments": value}, dialect
    form = dialect or next((one for one in _IN_FENCES if one in dialects), "")
    inner = _wrapped(value) if form and isinstance(value, dict) and "tool" not in value else value
    items = inner if isinstance(inner, list) else [inner]
    read = [_read(item, tools, certain=bool(dialect)) if form else None for item in items]
    if not any(read):
        return value, ""
    calls = [call or item for call, item in zip(read, items, strict=True)]
    return calls if isinstance(inner, list) else calls[0], form


def _wrapped(value: dict[str, Json]) -> Json:
    """Return what stands alone under a key for calls; else the value."""
    inside = [item for key, item in value.items() if plain(key) in _WRAPPERS and isinstance(item, list)]
    alone = next(iter(value.values())) if value.keys() == {"function_call"} else None
    return inside[0] if len(inside) == 1 else alone or value


def _read(value: Json, tools: ToolSchemas, *, certain: bool) -> Json:
    """Return a call in S1 form, or None. ``certain``: its tool need not be known."""
    if not isinstance(value, dict) or "tool" in value:
        return None
    named = named_in(value)
    tool = named.name if certain else _known_tool(named.name, tools)
    if not tool or len(named.keys) != 1 or named.others:
        return None
    return {"tool": tool, "arguments": value[named.keys[0]]}


def _known_tool(name: str, tools: ToolSchemas) -> str:
    wanted = plain(name.rpartition(".")[2])
    return next((tool for tool in tools if plain(tool) == wanted), "") if wanted else ""
