"""Calls as a provider's API has them: Anthropic's ``tool_use``, OpenAI's ``tool_calls`` and ``function_call``.

Alone, in a list, in a message, or in a whole response. A response that stopped before its end is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from rails.core import limits
from rails.core.text import excerpt, one_line
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace, locate_values
from rails.data_formats.proposed import NotRead, Outcome, Proposed
from rails.data_formats.strict_json import JsonFault, parse_strict
from rails.parsing.call_formats.begin_patch import patch_changes

_AGAIN: Final = "Send the calls again, with arguments that are correct JSON."
#: Members that hold calls, or what holds them.
_INSIDE: Final = ("content", "tool_calls", "message", "choices", "output")
#: Who says what is no answer of a model's. Where one speaks, or a result is told, the calls were carried out.
_OTHERS: Final = ("user", "tool", "function", "system", "developer")
_RESULTS: Final = ("_result", "_output")
_CUT: Final = (
    *("max_tokens", "length", "max_output_tokens", "model_context_window_exceeded"),
    *("content_filter", "refusal", "incomplete", "failed", "cancelled", "in_progress"),
)
_STOP: Final = ("stop_reason", "finish_reason", "status")


def provider_calls(value: Json, text: str, path: JsonPlace = ()) -> Iterator[Outcome]:
    """Yield the calls in the JSON value at ``path`` of ``text``, in order; none where it is something else."""
    if not path and _tells(value):
        return
    if isinstance(value, list) and len(path) < limits.JSON_DEPTH:
        for number, item in enumerate(value):
            yield from provider_calls(item, text, (*path, number))
    elif isinstance(value, dict):
        call = _call(value, text, path)
        inside = (provider_calls(value.get(key), text, (*path, key)) for key in _INSIDE)
        calls = [call] if call else list(chain.from_iterable(inside))
        if calls and (stop := next((value[key] for key in _STOP if value.get(key) in _CUT), "")):
            yield NotRead(0, f"the response stopped with {stop!r}, so its calls may be cut off", "Send them again.")
            return
        if calls and isinstance(choices := value.get("choices"), list) and len(choices) > 1:
            yield NotRead(0, f"the response holds {len(choices)} answers to choose from", "Send one of them.")
            return
        for one in calls:
            yield from _translated(one) if isinstance(one, Proposed) and call else (one,)


def _tells(value: Json, depth: int = 0) -> bool:
    """Whether it is a conversation, which tells what was done."""
    inside = value if isinstance(value, list) else []
    if isinstance(value, dict):
        if value.get("role") in _OTHERS or str(value.get("type")).endswith(_RESULTS):
            return True
        inside = [value.get(key) for key in _INSIDE]
    return depth < limits.JSON_DEPTH and any(_tells(one, depth + 1) for one in inside)


def _call(value: Mapping[str, Json], text: str, path: JsonPlace) -> Outcome | None:
    inner, kind = value.get("function", value.get("function_call")), value.get("type")
    if isinstance(inner, dict) and "arguments" in inner:
        name, arguments = inner.get("name"), inner["arguments"]
        path = (*path, "function" if "function" in value else "function_call")
    elif kind == "tool_use" and "input" in value:
        name, arguments = value.get("name"), value["input"]
    elif kind == "function_call" and "arguments" in value:
        name, arguments = value.get("name"), value["arguments"]
    elif kind == "custom_tool_call" and value.get("name") == "apply_patch":
        name, arguments = "apply_patch", {"input": value.get("input")}
    else:
        return None
    if isinstance(arguments, str):
        parsed = parse_strict(arguments)
        if isinstance(parsed, JsonFault):
            why = f"{parsed.message.removesuffix(' at')}, near: {excerpt(arguments, parsed.offset)}"
            return _not_read(f"the arguments of {one_line(str(name), 60)!r} are not valid JSON: {why}", text, path)
        arguments = parsed.value
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return _not_read(f"the arguments of {one_line(str(name), 60)!r} are not an object", text, path)
    return Proposed(name, arguments)


def _not_read(message: str, text: str, path: JsonPlace) -> NotRead:
    """Return what is told of the call at ``path``, with the line of its arguments."""
    inside = [(*path, key) for key in ("arguments", "input")]
    found = locate_values(text, [path, *inside])
    span = next((found[one] for one in (*inside, path) if one in found), None)
    return NotRead(text.count("\n", 0, span.key_start) if span else 0, message, _AGAIN)


def _translated(call: Proposed) -> Iterator[Outcome]:
    """Yield what a call of Codex' tool for patches asks for; other calls as they are."""
    patch = call.parameters.get("input", call.parameters.get("patch"))
    if call.tool == "apply_patch" and isinstance(patch, str):
        yield from patch_changes(patch)
    else:
        yield call
