"""Calls in forms that are not ours, recognised and never read: which tool is wanted, and in which form.

What is recognised goes back to its author in words (``rails.parsing.unread_calls``); a dialect that is switched on
reads its form instead (``rails.parsing.call_formats.optional``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.dataclass import NamedTuple
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.json_schema import quick_check
from rails.parsing.call_formats.dialects import is_schema
from rails.parsing.results import ToolSchemas

NAME_KEYS: Final = ("tool", "toolname", "functionname", "recipientname", "function", "action", "name", "use", "command")
ARGUMENT_KEYS: Final = ("arguments", "args", "params", "parameters", "input", "toolinput", "actioninput", "kwargs")
#: Keys that name a tool only where one of that name exists; those that name one in any case.
_MORE_NAME_KEYS: Final = ("type", "operation", "op", "method", "call", "api", "step")
_TOOL_KEYS: Final = ("tool", "toolname", "functionname")
#: What a tool is asked for, and data hardly says.
_ASKING: Final = frozenset({"query", "command", "cmd", "pattern", "code", "script", "sql", "prompt", "summary"})
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
FUNCTION_NAME: Final = lazy(r"[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*")
_DEPTH: Final = 8


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
    for plain_key, key in list(keys.items())[:50]:
        inner = value[key]
        if tools.get(key) is not None and isinstance(inner, dict) and inner.keys() & quick_check.properties(tools[key]):
            if any(one in tools and not _meant(value[one], tools[one]) for one in value):
                continue  # settings of tools
            return key, f'{{"{key}": {{…}}}}'
        found = json_call(inner, tools, depth + 1) if isinstance(inner, dict | list) else None
        if found and (plain_key in WRAPPERS or found[0] in tools):
            return found[0], f'{{"{key}": …}}'
    return None


def _meant(value: Json, schema: quick_check.SchemaValue) -> bool:
    return isinstance(value, dict) and value.keys() <= quick_check.properties(schema).keys()


def _own_call(value: dict[str, Json], keys: Mapping[str, str], tools: ToolSchemas) -> tuple[str, str] | None:
    at = next((key for key in NAME_KEYS if key in keys and isinstance(value[keys[key]], str)), "")
    at = at or next((key for key in _MORE_NAME_KEYS if key in keys and value[keys[key]] in list(tools)), "")
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
            or (keys.keys() <= {at, inside, "id", "type"} and FUNCTION_NAME.fullmatch(name))
        )
        return (known or name, f'{{"{keys[at]}", "{keys[inside]}"}}') if certain else None
    if inside and isinstance(arguments, str | list) and known:
        return known, f'{{"{keys[at]}", "{keys[inside]}"}}'
    others = {plain(key) for key in value} - {at}
    flat = f'{{"{keys[at]}", …}}'
    if known:
        properties = {plain(key) for key in quick_check.properties(tools[known])}
        meant = at in _TOOL_KEYS or others & properties
        return (known, flat) if meant else None
    called = at in _TOOL_KEYS and (FUNCTION_NAME.fullmatch(name) or others & _ASKING)
    return (name, flat) if called and others != {"description"} else None


#: The beginning of a line, or of an item of a list on it.
_ITEM: Final = r"^[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?\**"
#: Forms that begin on a line of prose: name in words, pattern with the tool's name as group 1.
_LINES: Final = (
    (
        "[TOOL_CALLS] of Mistral",
        lazy(
            r"\[TOOL_CALLS\]\s*(?:(?=[\[{])(?:[^\n]{0,40}?\"name\"[ \t]*:[ \t]*\"([\w.-]{1,100}))?"
            r"|[\w.-]{1,100}(?:\[(?:ARGS|CALL_ID)\]|[ \t]*[{(]))"
        ),
    ),
    (
        "Action: / Action Input:",
        lazy(
            rf"{_ITEM}Action(?:[ \t]*\d+)?\**[:：]\**[ \t]*`?([\w.-]{{1,100}})`?[^\n]*\n"
            r"\s*\**Action[ _]Input(?:[ \t]*\d+)?\**[:：]",
            re.M | re.IGNORECASE,
        ),
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
    ("✿FUNCTION✿ of Qwen", lazy(r"✿FUNCTION✿[:：][ \t]*([\w.-]{1,100})")),
)
_PYTHON: Final = lazy(
    r"^[ \t]*(\[)?[ \t]*(?:print\()?(?:(?:default_api|functions|tools|api)\.)?([A-Za-z_]\w{0,99})\("
    r"(?=[ \t\r\n]*(?:\w{1,60}[ \t]*=[^=]|[\"'{]|\)))",
    re.M,
)
#: The first argument of a call that only shows its form.
_TEMPLATE: Final = lazy(
    r"[ \t]*(?:\w{1,60}[ \t]*=[ \t]*)?"
    r"(?:<[^<>\n]{1,60}>|[\"'](?:\.{3}|…|<[^<>\n]{1,60}>|(?:path|file)[/_]to[/_])|\.{3}|…)"
)
#: The line of a traceback above the code that it shows.
_FRAME: Final = lazy(r"^[ \t]*File \"[^\"\n]{1,200}\", line \d+[^\n]*\n\Z", re.M)
#: The same, where only the name of a tool that there is tells a call.
_NAMED_LINES: Final = (("Action: name[…]", lazy(rf"{_ITEM}Action\**:\**[ \t]*`?([\w.-]{{1,100}})`?[ \t]*[\[(]", re.M)),)
_ELEMENT: Final = lazy(
    r"^[ \t]*(?:[-*+][ \t]+)?<([A-Za-z_][\w.:-]{0,99})"
    r"((?:\s+[\w:-]{1,60}[ \t]*=[ \t]*(?:\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}')){0,20})\s*(/?)>",
    re.M,
)
_CHILD: Final = lazy(r"\s*<([A-Za-z_][\w.-]{0,99})[ >]")
#: Words with which the names of tools begin. The name of an element that holds only text must have one.
_VERB: Final = lazy(
    r"(?:\w{1,20}[:-])?(?:add|append|apply|ask|attempt|bash|call|cmd|command|create|delete|edit|exec|execute|fetch|find"
    r"|get|git|glob|grep|insert|install|list|ls|modify|move|npm|open|patch|read|remove|rename|replace|run|search|shell"
    r"|sql|terminal|tool|undo|update|use|write)(?:[_.:-].*)?|\w{1,20}_(?:function|tool)_calls?",
    re.IGNORECASE,
)
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
    yield from elements(text, start, end, tools)


def in_traceback(text: str, pos: int) -> bool:
    """Return whether the line that begins at ``pos`` is the code that a traceback of Python shows."""
    return _FRAME.search(text, max(0, pos - 300), pos) is not None


def python_calls(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[ForeignCall]:
    """Yield calls written as Python: ``write_file(path="a")``, or ``[f(a=1)]`` for any function."""
    for found, _ in zip(_PYTHON.finditer(text, start, end), range(_LIMIT), strict=False):
        known = found[2] if found[2] in tools else ""
        stop = _line_end(text, found.end())
        if in_traceback(text, found.start()) or _TEMPLATE.match(text, found.end(), stop):
            continue
        listed = found[1] and text[found.end() : stop].rstrip().endswith(")]") and "=" in text[found.end() : stop]
        if known or (listed and FUNCTION_NAME.fullmatch(found[2])):
            yield ForeignCall(found.start(), stop, found[2], "of a Python call")


def elements(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[ForeignCall]:
    """Yield XML calls that are not read: an element that is named like a tool or names one, and what it holds."""
    for found, _ in zip(_ELEMENT.finditer(text, start, end), range(_LIMIT), strict=False):
        name, attributes, alone = found.groups()
        named = re.search(r"\s(?:name|tool|type)\s*=\s*[\"']([\w.-]+)", attributes)
        tool = known_tool(name.rpartition(":")[2], tools) or known_tool(named[1] if named else "", tools)
        shut = text.find(f"</{name}>", found.end(), end)
        close = found.end() if alone else shut + len(name) + 3 if shut >= 0 else end
        child = _CHILD.match(text, found.end(), close)
        like = tool or _VERB.fullmatch(name) or (child and child[1] != name and FUNCTION_NAME.fullmatch(name))
        open_call = shut < 0 and tool and text[found.end() : found.end() + 9].lstrip()[:1] == "<"
        if like and (attributes if alone else shut >= 0 or open_call):
            what = "of an element with attributes" if attributes else f"of an element <{name}>"
            yield ForeignCall(found.start(), close, tool or name, what)


def _line_end(text: str, pos: int) -> int:
    found = text.find("\n", pos)
    return len(text) if found < 0 else found


_NAMED: Final = (
    lazy(r"<(?:[\w-]+:)?(?:invoke|function|tool_call|tool)[ \t]+name[ \t]*=[ \t]*[\"']?([\w.:-]{1,100})"),
    lazy(r"<function[ \t]*[=/][ \t]*[\"']?([\w.:-]{1,100})"),
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
