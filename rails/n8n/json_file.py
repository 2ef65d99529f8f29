"""From bytes to JSON, as n8n's ``JSON.parse``."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json
from rails.data_formats.strict_json import JsonRules, ParsedJson, read_json
from rails.n8n.model import Issue

#: Nesting that the rules follow. n8n's own exports stay under 40; the limit keeps every walk bounded.
DEPTH: Final = 120
_REMEDY: Final = "Write one complete JSON object: double quotes, no comments, no trailing commas."
_RULES: Final = JsonRules(repeated=True, surrogates=True, any_number=True, depth=DEPTH)


class WorkflowFile(Struct, frozen=True):
    """A parsed file: text without mark, value, repeated key or not."""

    text: str
    value: Json
    repeated_keys: bool


class Unreadable(Struct, frozen=True):
    """The reason why a file is not JSON, and the place."""

    text: str
    issue: Issue
    offset: int


def read_workflow_file(data: bytes) -> WorkflowFile | Unreadable:
    """Parse ``data``. Never raises."""
    decoded = decode_text(data)
    if decoded is None or (decoded.encoding != "utf-8" and not data.isascii()):
        return _unreadable("", "The file is not UTF-8 text")
    text = decoded.text
    read = read_json(text, _RULES)
    if isinstance(read, ParsedJson):
        return WorkflowFile(text, read.value, read.repeats_keys)
    if read.code == "depth":
        message = f"The JSON is nested deeper than {DEPTH} levels and was not checked"
        return _unreadable(text, message, remedy="Flatten the deepest values, or keep them as JSON text in a string.")
    return _unreadable(text, f"The file is not valid JSON: {one_line(read.message)}", read.offset)


def _unreadable(text: str, message: str, offset: int = 0, *, remedy: str = _REMEDY) -> Unreadable:
    return Unreadable(text, Issue("N8N001", (), message, remedy), offset)
