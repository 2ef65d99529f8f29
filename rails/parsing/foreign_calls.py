"""Calls in forms that are not ours, recognised and never read: which tool is wanted, and in which form.

What is recognised goes back to its author in words (``rails.parsing.unread_calls``); a dialect that is switched on
reads its form instead (``rails.parsing.call_formats.optional``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.json_schema import quick_check
from rails.parsing.call_formats.dialects import is_schema
from rails.parsing.results import ToolSchemas

NAME_KEYS: Final = ("tool", "toolname", "functionname", "recipientname", "function", "action", "name", "use", "command")
ARGUMENT_KEYS: Final = ("arguments", "args", "params", "parameters", "input", "toolinput", "actioninput", "kwargs")
#: Keys under which models put a call or a list of them.
WRAPPERS: Final = frozenset(
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
_IDENTIFIER: Final = lazy(r"[A-Za-z_][\w.:-]{0,99}")
#: A name that is surely a function's: words joined by an underscore, a hyphen or a hump.
_FUNCTION_NAME: Final = lazy(r"[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*")
_DEPTH: Final = 4


class ForeignCall(NamedTuple):
    """A call in another form: its offsets, its tool ("" : not known), and the form in words."""

    start: int
    end: int
    tool: str
    form: str


def plain(name: str) -> str:
    """Return a name without letter case and separators, so that writeFile and write-file are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def known_tool(name: str, tools: ToolSchemas) -> str:
    """Return the tool that is meant by ``name``, however it is spelt; "" for none."""
    if name in tools:
        return name
    wanted = plain(name.rpartition(".")[2])
    return next((tool for tool in tools if plain(tool) == wanted), "") if wanted else ""


def json_call(value: Json, tools: ToolSchemas, depth: int = 0) -> tuple[str, str] | None:
    """Return (tool, form) if a JSON value has the shape of a call in any form; None for data."""
    if depth > _DEPTH:
        return None
    if isinstance(value, list):
        return next((found for item in value[:20] if (found := json_call(item, tools, depth + 1))), None)
    if not isinstance(value, dict):
        return None
    keys = {plain(key): key for key in reversed(value)}
    own = _own_call(value, keys, tools)
    if own:
        return own
    for name in WRAPPERS & keys.keys():
        inner = value[keys[name]]
        found = json_call(inner, tools, depth + 1) if isinstance(inner, dict | list) else None
        if found:
            return found[0], f'{{"{keys[name]}": …}}'
    return None


def _own_call(value: dict[str, Json], keys: Mapping[str, str], tools: ToolSchemas) -> tuple[str, str] | None:
    at = next((key for key in NAME_KEYS if key in keys and isinstance(value[keys[key]], str)), "")
    name = str(value[keys[at]]) if at else ""
    if not _IDENTIFIER.fullmatch(name):
        return None
    known = known_tool(name, tools)
    inside = next((key for key in ARGUMENT_KEYS if key in keys and key != at), "")
    arguments = value[keys[inside]] if inside else None
    if inside and isinstance(arguments, dict):
        if is_schema(arguments) or (not arguments and "description" in keys):
            return None
        certain = (
            known
            or at not in ("name", "action", "use", "command")
            or inside in ("arguments", "toolinput", "actioninput")
        )
        return (known or name, f'{{"{keys[at]}", "{keys[inside]}"}}') if certain else None
    if inside and isinstance(arguments, str) and known:
        return known, f'{{"{keys[at]}", "{keys[inside]}"}}'
    others = {plain(key) for key in value} - {at}
    flat = f'{{"{keys[at]}", …}}'
    if known:
        properties = {plain(key) for key in quick_check.properties(tools[known])}
        meant = at in ("tool", "toolname") or others & properties
        return (known, flat) if others and meant else None
    called = at in ("tool", "toolname", "functionname") and _FUNCTION_NAME.fullmatch(name)
    return (name, flat) if called and others - {"description"} else None


#: Forms that begin on a line of prose: name in words, pattern with the tool's name as group 1.
_LINES: Final = (
    (
        "[TOOL_CALLS] of Mistral",
        lazy(
            r"^[ \t]*\[TOOL_CALLS\]\s*(?:(?=[\[{])(?:[^\n]{0,40}?\"name\"[ \t]*:[ \t]*\"([\w.-]{1,100}))?"
            r"|[\w.-]{1,100}(?:\[(?:ARGS|CALL_ID)\]|[ \t]*\{))",
            re.M,
        ),
    ),
    (
        "Action: / Action Input:",
        lazy(r"^[ \t]*\**Action\**:\**[ \t]*`?([\w.-]{1,100})`?[^\n]*\n\s*\**Action[ _]Input\**:", re.M),
    ),
    ("functools[…]", lazy(r"^[ \t]*functools\[\{[^\n]{0,40}?\"name\"[ \t]*:[ \t]*\"([\w.-]{1,100})", re.M)),
    (
        "a marker of tool calls",
        lazy(
            r"^[ \t]*(?:<[|｜][\w▁]{0,40}(?:tool|action|function|plugin)[\w▁]{0,40}[|｜]>\s*){1,3}"
            r"[\[{][^\w\n]{0,10}(?:name\"\s*:\s*\")?([\w.-]{1,100})",
            re.M,
        ),
    ),
    ("a channel to a function", lazy(r"\bto=(?:functions|tools)\.([\w-]{1,100})")),
)
_PYTHON: Final = lazy(
    r"^[ \t]*(\[)?[ \t]*(?:print\()?(?:(?:default_api|functions|tools|api)\.)?([A-Za-z_]\w{0,99})\("
    r"(?=[ \t\r\n]*(?:\w{1,60}[ \t]*=[^=]|[\"'{]|\)))",
    re.M,
)
#: The same, where only the name of a tool that there is tells a call.
_NAMED_LINES: Final = (
    (
        "key: value lines",
        lazy(
            r"^[ \t]*(?:tool|tool_name|function):[ \t]*[\"'`]?([\w.-]{1,100})[\"'`]?[ \t]*\r?\n[ \t]*\w+:",
            re.M | re.IGNORECASE,
        ),
    ),
    (">>>name of Functionary", lazy(r"^>>>[ \t]*([\w.-]{1,100})[ \t]*\n[ \t]*\{", re.M)),
    ("Action: name[…]", lazy(r"^[ \t]*\**Action\**:\**[ \t]*`?([\w.-]{1,100})`?[ \t]*[\[(]", re.M)),
)
_WITH_ATTRIBUTES: Final = lazy(
    r"^[ \t]*<([A-Za-z_][\w.-]{0,99})"
    r"((?:\s+[\w-]{1,60}[ \t]*=[ \t]*(?:\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}')){1,20})\s*/?>",
    re.M,
)
_ELEMENT: Final = lazy(r"^[ \t]*<([A-Za-z_][\w.-]{0,99})>\s*<([A-Za-z_][\w.-]{0,99})>", re.M)
_LIMIT: Final = 50


def line_calls(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[ForeignCall]:
    """Yield the calls in forms of other models that begin on lines of ``text[start:end]``."""
    for form, pattern in _LINES:
        for found, _ in zip(pattern.finditer(text, start, end), range(_LIMIT), strict=False):
            yield ForeignCall(found.start(), _line_end(text, found.end()), found[1] or "", form)
    for form, pattern in _NAMED_LINES:
        for found, _ in zip(pattern.finditer(text, start, end), range(_LIMIT), strict=False):
            if tool := known_tool(found[1], tools):
                yield ForeignCall(found.start(), _line_end(text, found.end()), tool, form)
    yield from python_calls(text, start, end, tools)
    yield from _elements(text, start, end, tools)


def python_calls(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[ForeignCall]:
    """Yield calls written as Python: ``write_file(path="a")``, or ``[f(a=1)]`` for any function."""
    for found, _ in zip(_PYTHON.finditer(text, start, end), range(_LIMIT), strict=False):
        known = found[2] if found[2] in tools else ""
        stop = _line_end(text, found.end())
        listed = found[1] and text[found.end() : stop].rstrip().endswith(")]") and "=" in text[found.end() : stop]
        if known or (listed and _FUNCTION_NAME.fullmatch(found[2])):
            yield ForeignCall(found.start(), stop, found[2], "of a Python call")


def _elements(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[ForeignCall]:
    """Yield XML calls of tools that do not exist: an element that is named like a function, with elements in it."""
    for found, _ in zip(_WITH_ATTRIBUTES.finditer(text, start, end), range(_LIMIT), strict=False):
        tool = known_tool(found[1], tools)
        if tool and any(f" {key}=" in re.sub(r"\s+", " ", found[2]) for key in quick_check.properties(tools[tool])):
            yield ForeignCall(found.start(), found.end(), tool, "of an element with attributes")
    for found, _ in zip(_ELEMENT.finditer(text, start, end), range(_LIMIT), strict=False):
        name = found[1]
        if name in tools or not (known_tool(name, tools) or _FUNCTION_NAME.fullmatch(name)):
            continue
        close = text.find(f"</{name}>", found.end(), end)
        if close >= 0 and text.find(f"</{found[2]}>", found.end(), close) >= 0:
            yield ForeignCall(found.start(), close + len(name) + 3, name, f"of an element <{name}>")


def _line_end(text: str, pos: int) -> int:
    found = text.find("\n", pos)
    return len(text) if found < 0 else found


_NAMED: Final = (
    lazy(r"<(?:[\w-]+:)?(?:invoke|function|tool_call|tool)[ \t]+name[ \t]*=[ \t]*[\"']?([\w.:-]{1,100})"),
    lazy(r"<function[ \t]*=[ \t]*[\"']?([\w.:-]{1,100})"),
    lazy(r"DSML[|｜][ \t]?invoke[ \t]+name[ \t]*=[ \t]*[\"']?([\w.:-]{1,100})"),
    lazy(r"[\"'](?:name|tool_name|tool|function|recipient_name)[\"'][ \t]*:[ \t]*[\"']([\w.:-]{1,100})"),
    lazy(r"<[|｜]tool[_▁ ]sep[|｜]>[ \t]*([\w.:-]{1,100})"),
    lazy(r"to=(?:functions\.)?([\w-]{1,100})"),
    lazy(r"(?:^|>)[ \t\r\n]*(?:functions\.)?([A-Za-z_][\w.-]{0,99}?)(?::\d+)?[ \t]*(?=[\n<(]|\Z)"),
    lazy(r"call:([\w.-]{1,100})"),
)


def wanted_tool(raw: str) -> str:
    """Return the tool that a call in another model's format names; "" if it cannot be told."""
    head = raw[:4_000]
    return next((found[1] for pattern in _NAMED if (found := pattern.search(head))), "")
