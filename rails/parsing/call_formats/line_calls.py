"""Further wire formats, off unless named; all but mistral and react in a json fence, for tools that exist.

mistral   [TOOL_CALLS] [{"name": …, "arguments": {…}}, …] or [TOOL_CALLS]name[ARGS]{…} at a line's start
react     Action: tool, and on the next line Action Input: {…}
name      {"name": …, "arguments": {…}}
cohere    {"tool_name": …, "parameters": {…}}
gemini    {"function_call": {"name": …, "args": {…}}}
json      any name key and arguments key, in any spelling, or a list of such objects under another key
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from msgspec import Struct

from rails.core.errors import UsageError
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.parsing.call_formats.reader import NAME
from rails.parsing.call_formats.registry import FORMS
from rails.parsing.values import ToolSchemas

_NAME_KEYS: Final = (
    "tool",
    "toolname",
    "functionname",
    "recipientname",
    "function",
    "action",
    "name",
    "use",
    "command",
)
_ARGUMENT_KEYS: Final = ("arguments", "args", "params", "parameters", "input", "toolinput", "actioninput", "kwargs")
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

_OPENERS: Final = (
    ("mistral", lazy(rf"[ \t]*\[TOOL_CALLS\][ \t]*(?:{NAME}(?:\[CALL_ID\][\w-]{{1,80}})?\[ARGS\][ \t]*)?")),
    ("react", lazy(r"[ \t]*Action Input:[ \t]*")),
)
_ACTION: Final = lazy(r"(?:\A|\n)[ \t]*Action:[ \t]*([A-Za-z_][\w.-]{0,99})[ \t]*\r?\n\Z")
#: Each dialect's keys of the name and of the arguments.
_KEYS: Final = {"name": ("name", "arguments"), "cohere": ("tool_name", "parameters"), "gemini": ("name", "args")}


class Marker(Struct, frozen=True):
    """The beginning of a marked value: its dialect and tool."""

    dialect: str
    used: int
    tool: str = ""


def check_dialects(dialects: Set[str]) -> frozenset[str]:
    """Return ``dialects``. Raises UsageError for an unknown one."""
    known = NAMES | FORMS.keys() | {"json"}
    unknown = sorted(dialects - known)
    if unknown:
        raise UsageError(f"There is no dialect {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
    return frozenset(dialects)


def marker(line: str, before: str, dialects: Set[str]) -> Marker | None:
    """Return this line's marked value; ``before`` is the prose above."""
    for name, opener in _OPENERS:
        found = opener.match(line) if name in dialects else None
        if found is None:
            continue
        if name == "mistral":
            return Marker(name, found.end(), tool=found[1] or "")
        action = _ACTION.search(before)
        if action:
            return Marker(name, found.end(), tool=action[1])
    return None


def translate(value: Json, dialect: str, dialects: Set[str], tools: ToolSchemas, tool: str) -> tuple[Json, str]:
    """Return an opt-in value in S1 form and its format; else the value and ""."""
    if dialect == "react" or (dialect == "mistral" and tool):
        return {"tool": tool, "arguments": value}, dialect
    within = {"name"} if dialect == "mistral" else dialects
    if isinstance(value, dict) and "json" in within and "tool" not in value:
        listed = [item for key, item in value.items() if _plain(key) in _WRAPPERS and isinstance(item, list)]
        value = listed[0] if len(listed) == 1 else value
    items = value if isinstance(value, list) else [value]
    pairs = [_one(item, within, tools, certain=bool(dialect)) for item in items]
    named = next((name for _, name in pairs if name), "")
    read = [item for item, _ in pairs]
    return read if isinstance(value, list) else read[0], (dialect or named) if named else ""


def _one(value: Json, dialects: Set[str], tools: ToolSchemas, *, certain: bool) -> tuple[Json, str]:
    """Return a call under any names of its keys in S1 form. ``certain``: its tool need not be known."""
    if not isinstance(value, dict) or "tool" in value:
        return value, ""
    inner = value.get("function_call")
    body = inner if isinstance(inner, dict) and "gemini" in dialects else value
    for dialect, (name, arguments) in _KEYS.items():
        if dialect in dialects and name in body and arguments in body and (certain or body[name] in tools):
            return {"tool": body[name], "arguments": body[arguments]}, dialect
    loose = _loose(body, tools) if "json" in dialects else None
    return (value, "") if loose is None else (loose, "json")


def _loose(value: dict[str, Json], tools: ToolSchemas) -> Json:
    keys = {_plain(key): key for key in value}
    named = next((keys[key] for key in _NAME_KEYS if isinstance(value.get(keys.get(key, "")), str)), "")
    inside = [keys[key] for key in _ARGUMENT_KEYS if key in keys]
    tool = _known_tool(str(value.get(named, "")), tools)
    others = keys.keys() - {_plain(named), _plain(inside[0] if inside else "")} - {"id", "type", "callid", "toolcallid"}
    if not tool or len(inside) != 1 or others:
        return None
    return {"tool": tool, "arguments": value[inside[0]]}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _known_tool(name: str, tools: ToolSchemas) -> str:
    wanted = _plain(name.rpartition(".")[2])
    return next((tool for tool in tools if _plain(tool) == wanted), "") if wanted else ""
