"""Qwen and Hermes: ``<tool_call>`` around JSON or ``<function=name><parameter=key>value</parameter></function>``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.core.tool_request import Json
from rails.parsing.call_formats.reader import NAME, SPACE, Cursor, FormCall, bare_name, json_calls, tagged_values

_OPENING: Final = re.compile(r"<(?:tool_call|function_call)>\s*", re.IGNORECASE)
_CLOSING: Final = re.compile(r"</(?:tool_call|function_call)>\s*\Z", re.IGNORECASE)
_FUNCTION: Final = re.compile(rf"<function=\"?{NAME}\"?>\s*")
_PARAMETER: Final = re.compile(r"<parameter=\"?([^<>\"\n]{1,100}?)\"?>")
_END: Final = re.compile(r"</function>\s*")


def read(text: str) -> Sequence[FormCall]:
    """Return the calls; ``<function=…>`` may be bare."""
    cursor = Cursor(text)
    wrapped = cursor.skip(_OPENING)
    if wrapped and not _FUNCTION.match(text, cursor.pos):
        start = cursor.pos
        calls = list[FormCall]()
        while not (calls and cursor.skip(_CLOSING)):
            value, repairs = cursor.json(_CLOSING)
            calls += json_calls(value, start, repairs)
            cursor.skip(SPACE)
        return calls
    calls = [function(cursor)]
    while _FUNCTION.match(text, cursor.pos):
        calls.append(function(cursor))
    cursor.take(_CLOSING if wrapped else re.compile(r"\Z"), "the end of the call")
    return calls


def function(cursor: Cursor) -> FormCall:
    """Take ``<function=name>`` with its parameters or a JSON object."""
    name = cursor.take(_FUNCTION, "<function=name>")[1]
    if cursor.text.startswith("{", cursor.pos):
        value, repairs = cursor.json(_END)
        cursor.take(_END, "</function>")
        return next(json_calls({"name": name, "arguments": value}, cursor.pos, repairs))
    values = tagged_values(cursor, _PARAMETER, "</parameter>", _END)
    return FormCall(bare_name(name), {key: _trimmed(value) for key, value in values.items()})


def _trimmed(value: Json) -> Json:
    text = str(value)
    return text[1:].removesuffix("\n") if text.startswith("\n") else text
