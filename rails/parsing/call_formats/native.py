"""A provider's own calls: their arguments are parsed once, strictly, and only after a normal stop."""

from __future__ import annotations

from typing import Final

from rails.core.conversation import NativeCall, StopReason
from rails.core.errors import Refusal
from rails.core.text import one_line
from rails.core.tool_request import RawRequest
from rails.data_formats.strict_json import JsonFault, ParsedJson, explain_json_fault, parse_strict
from rails.json_schema.allowed import type_name
from rails.parsing.classify import HINT

#: Stop reasons after which native calls may run.
_STOPS: Final[frozenset[StopReason]] = frozenset({"end_turn", "tool_use"})


def judge_native(call: NativeCall, finish: StopReason) -> RawRequest | Refusal:
    """Judge a provider's call; ``finish`` ended its answer."""
    name = one_line(call.name, 80)
    if finish not in _STOPS:
        message = (
            f"The call of {name!r} was not run: the answer stopped with '{finish}', so its arguments may be cut off."
        )
        return Refusal("unterminated", message, "Send the call again; make it shorter if it was cut off.")
    parsed = parse_strict(call.arguments) if call.arguments.strip() else ParsedJson({})
    if isinstance(parsed, JsonFault):
        message = f"The arguments of {name!r} are not valid JSON: {explain_json_fault(call.arguments, parsed)}."
        return Refusal(parsed.code, message, "Send the call again with correct JSON.", path=call.name)
    if not isinstance(parsed.value, dict):
        kind = type_name(parsed.value)
        return Refusal("frame", f"The arguments of {name!r} must be an object, got {kind}.", HINT, path=call.name)
    return RawRequest("", call.name, parsed.value, dialect="native", raw=call.arguments)
