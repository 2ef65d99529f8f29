"""Readers of the JSON wire formats, from a parsed value to a call.

    s0      {"tool": name, …parameters}                                  flat
    s1      {"tool": name, "arguments": {…}}                             also args, params, parameters
    s4      {"type": "tool_request", "tool_name": name, "parameters": {…}, "explanation": text}
    openai  {"type": "function", "function": {"name", "arguments": text or object}}, "type" may be missing
    name    {"name": name, "arguments": {…}}                             Qwen, Hermes, Llama
    anthropic  {"type": "tool_use", "id", "name", "input": {…}}

A value is a call by its structure; a provider's block only for a tool that exists. ``{"tool": "hammer", "price": 3}``
is data. An unknown name in the shape of a call is one, so that the model hears that there is no such tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from rails.core.builtin_tools import MULTI_EDIT
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict
from rails.json_schema import quick_check
from rails.json_schema.allowed import allowed_types, type_name
from rails.parsing.values import ToolSchemas

_ALIASES: Final = ("arguments", "args", "params", "parameters")
#: What may stand beside ``tool`` and ``arguments`` without being a parameter.
_ENVELOPE: Final = frozenset(
    {
        "tool",
        "tool_name",
        "type",
        "id",
        "call_id",
        "tool_call_id",
        "explanation",
        "description",
        "reason",
        "reasoning",
        "thought",
    }
)
_WORDS: Final = ("explanation", "description", "reason", "reasoning", "thought")
#: A flat block has the shape of a call if it holds one of these keys.
_FLAT_KEYS: Final = frozenset({"path", "file_path", "edits", "command"})


class Call(NamedTuple):
    """A call as a wire format has it, not validated."""

    tool: str
    parameters: Mapping[str, Json]
    explanation: str = ""
    dialect: str = ""
    repairs: tuple[Repair, ...] = ()


class NotACall(Struct, frozen=True):
    """The value is data, and why."""

    message: str


def read_value(value: Json, tools: ToolSchemas) -> Call | NotACall | JsonFault:
    """Read one JSON value as a call. A ``JsonFault``: a call with a wrong frame."""
    if not isinstance(value, dict):
        return NotACall(f"the JSON value is not an object (got {type_name(value)})")
    if value.get("type") == "tool_request":
        return _framed(value, value.get("tool_name"), "parameters", "s4")
    if "tool" in value:
        return _tool(value, tools)
    return _native_block(value, tools) or NotACall("there is no tool key")


def _fault(message: str) -> JsonFault:
    return JsonFault("frame", message)


def call_of(tool: str, arguments: Json, key: str, dialect: str = "", explanation: str = "") -> Call | JsonFault:
    """Return a call whose arguments, an object or its text, stood under ``key``."""
    parsed: ParsedJson | JsonFault = ParsedJson(arguments)
    if isinstance(arguments, str):
        parsed = parse_strict(arguments)
        if isinstance(parsed, JsonFault) and arguments.lstrip()[:1] == "{":
            from rails.parsing.repairs import repair

            parsed = repair(arguments)
    if isinstance(parsed, JsonFault) or not isinstance(parsed.value, dict):
        return _fault(f"Tool call '{key}' must be an object/dict, got {type_name(arguments)}")
    note = (Repair("double_encoded", -1, arguments[:80], "object", 0.95),) if isinstance(arguments, str) else ()
    return Call(tool, parsed.value, explanation, dialect, (*note, *parsed.repairs))


def _framed(value: dict[str, Json], name: Json, key: str, dialect: str) -> Call | JsonFault:
    """Read a call whose parameters stand under ``key``."""
    if not isinstance(name, str) or not name:
        where = "tool" if dialect == "s1" else "tool_name"
        return _fault(f"'{where}' must be a non-empty string, got {type_name(name)}")
    others = sorted(value.keys() - _ENVELOPE - {key})
    if others:
        return _fault(f"'{others[0]}' stands beside '{key}'; put all parameters into '{key}'")
    said = next((words for word in _WORDS if isinstance(words := value.get(word), str)), "")
    return call_of(name, value.get(key, {}), key, dialect, said)


def _tool(value: dict[str, Json], tools: ToolSchemas) -> Call | NotACall | JsonFault:
    name = value["tool"]
    if not isinstance(name, str):
        if len(value) == 1 or not _has_shape(value):
            return NotACall("its tool key does not hold a name")
        return _fault(f"'tool' must be a string, got {type_name(name)}")
    named = quick_check.properties(tools[name]) if name in tools else {}
    frame: list[str] = [key for key in _ALIASES if key in value and not _is_parameter(value[key], named.get(key))]
    if len(frame) > 1:
        return _fault(f"'{frame[0]}' and '{frame[1]}' are both there; send one 'arguments' object")
    if frame:
        arguments = value[frame[0]]
        if isinstance(arguments, dict) and is_schema(arguments) and "properties" not in named:
            return NotACall("it describes a tool and does not call it")
        return _framed(value, name, frame[0], "s1")
    if name not in tools and not _has_shape(value):
        return NotACall(f"there is no tool named {name[:80]!r} and the object does not have the shape of a call")
    return _s0(value, name, named)


def _is_parameter(value: Json, schema: quick_check.SchemaValue | None) -> bool:
    return schema is not None and not (isinstance(value, dict) and "object" not in allowed_types(schema))


def _has_shape(value: dict[str, Json]) -> bool:
    framed = any(isinstance(value.get(alias), dict | str) for alias in _ALIASES)
    return framed or not _FLAT_KEYS.isdisjoint(value)


def _s0(value: dict[str, Json], name: str, named: Mapping[str, Json]) -> Call:
    parameters = {key: item for key, item in value.items() if key != "tool"}
    explanation = parameters.get("explanation")
    if "explanation" not in named and isinstance(explanation, str):
        del parameters["explanation"]
    else:
        explanation = ""
    if "searchReplaceBlocks" in parameters and "searchReplaceBlocks" not in named:
        return Call(MULTI_EDIT.name, _blocks(parameters), explanation, "s0")
    return Call(name, parameters, explanation, "s0")


def _blocks(parameters: dict[str, Json]) -> dict[str, Json]:
    """Turn the advanced edit form (one path, several blocks) into a list of edits that name it.

    Options that are always on here (atomic, no dry run) are dropped; the schema refuses their opposites.
    """
    always = ("rollbackOnFailure", True), ("dryRun", False)
    frame = ("path", "file_path", "searchReplaceBlocks")
    rest = {key: item for key, item in parameters.items() if key not in frame and (key, item) not in always}
    path, blocks = parameters.get("path", parameters.get("file_path")), parameters["searchReplaceBlocks"]
    if not isinstance(blocks, list):
        return {**rest, "edits": blocks}
    edits: list[Json] = [{"path": path, **block} if isinstance(block, dict) else block for block in blocks]
    last = edits[-1] if edits else None
    if isinstance(last, dict) and "validateAfter" in rest:
        last["validateAfter"] = rest.pop("validateAfter")
    return {**rest, "edits": edits}


def is_schema(value: Mapping[str, Json]) -> bool:
    """Return whether an object describes parameters instead of giving them."""
    return isinstance(value.get("properties"), dict) and value.get("type", "object") in ("object", "OBJECT")


def fits_call(call: Call, tools: ToolSchemas) -> bool:
    """Return whether the call's tool exists and takes its parameters (``quick_check``)."""
    schema = tools.get(call.tool)
    return schema is not None and quick_check.fits(schema, dict(call.parameters))


#: Why a response is not whole.
_CUT: Final = frozenset(
    {"max_tokens", "length", "max_output_tokens", "model_context_window_exceeded", "content_filter", "refusal"}
    | {"incomplete", "failed", "cancelled", "in_progress"}
)


def calls_of_response(value: Json, tools: ToolSchemas) -> list[dict[str, Json]] | JsonFault | None:
    """Return a provider's blocks with calls among them; a fault: a response cut off."""
    if type(value) is not dict or "tool" in value:
        return None
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    choice = choice if isinstance(choice, dict) else {}
    inner = choice.get("message")
    message = inner if isinstance(inner, dict) else value
    for key in ("tool_calls", "content", "output"):
        found = message.get(key)
        blocks = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        if not any(_native_block(one, tools) for one in blocks) or any(map(_is_past, (message, *blocks))):
            continue
        stops = value.get("stop_reason"), value.get("status"), choice.get("finish_reason")
        if stop := next((one for one in stops if isinstance(one, str) and one in _CUT), ""):
            return _fault(f"the response stopped with {stop!r}, so its calls may be cut off")
        return blocks
    return None


def _is_past(value: Mapping[str, Json]) -> bool:
    """Return whether a message or block is not a model's: its calls were run."""
    return value.get("role", "assistant") != "assistant" or str(value.get("type")).endswith(("_result", "_output"))


#: A name that is surely a function's: words joined by an underscore, a hyphen or a hump.
_FUNCTION_NAME: Final = lazy(r"[A-Za-z](?=\w*_\w)\w+|[a-z]+[A-Z]\w*")
#: What may stand beside the name and the arguments of a call in a provider's form.
_BESIDE: Final = frozenset({"id", "type", "call_id", "tool_call_id", "index", "status"})


def _native_block(value: dict[str, Json], tools: ToolSchemas) -> Call | JsonFault | None:
    """Read a provider's block that a model wrote as text, if its name is a tool's or a function's."""
    function = value.get("function")
    keys: tuple[str, ...] = ("arguments", "parameters")
    block, dialect = value, "name"
    if value.get("type") == "tool_use":
        keys, dialect = ("input",), "anthropic"
    elif isinstance(function, dict):
        block, dialect = function, "openai"
    key = next((one for one in keys if one in block), "")
    name = block.get("name")
    known = _BESIDE | {"function", "name", key}
    if not isinstance(name, str) or not key or not known.issuperset({*value, *block}):
        return None
    arguments = block[key]
    if name not in tools and (dialect == "anthropic" or not (arguments and _FUNCTION_NAME.fullmatch(name))):
        return None
    if isinstance(arguments, dict) and is_schema(arguments):
        return None
    return call_of(name, arguments, key, dialect)
