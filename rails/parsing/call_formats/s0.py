"""The S0 validator's interface and exact words, for programs written against ``validateJsonToolBlock``.

Stricter on types: ``content`` must be a string, ``path`` not blank, ``search_replace`` an object of strings.
"""

from __future__ import annotations

from typing import TypedDict

from rails.core.builtin_tools import DELETE_FILE, EDIT_FILE, WRITE_FILE
from rails.core.text import line_column
from rails.core.tool_request import Json
from rails.data_formats.strict_json import JsonFault, parse_strict
from rails.parsing.blocks import BlockSpan, find_blocks


class Validation(TypedDict):
    """``parsedJson`` is ``None`` when the block does not parse."""

    isValid: bool
    errors: list[str]
    parsedJson: Json


def validate_json_tool_block(text: str) -> Validation:
    """Validate the first ``json`` fence as a write, delete or edit; all errors at once."""
    items = find_blocks(text, {}).items
    block = next((item for item in items if isinstance(item, BlockSpan) and item.kind == "json" and item.closed), None)
    if block is None:
        return Validation(isValid=False, errors=["No valid JSON code block found"], parsedJson=None)
    if not block.body.strip():
        return Validation(isValid=False, errors=["Empty JSON content"], parsedJson=None)
    parsed = parse_strict(block.body)
    if isinstance(parsed, JsonFault):
        line, column = line_column(block.body, parsed.offset)
        words = f"JSON parsing error: {parsed.message} at line {line}, column {column}"
        return Validation(isValid=False, errors=[words], parsedJson=None)
    errors = _errors(parsed.value)
    return Validation(isValid=not errors, errors=errors, parsedJson=parsed.value)


def _errors(value: Json) -> list[str]:
    block = value if isinstance(value, dict) else {}
    errors = []
    tool = block.get("tool")
    if not tool:
        errors.append('Missing "tool" field')
    elif tool not in (WRITE_FILE.name, DELETE_FILE.name, EDIT_FILE.name):
        errors.append(f"Invalid tool type: {tool}. Must be write_file, delete_file, or edit_file")
    path = block.get("path")
    if not isinstance(path, str) or not path.strip():
        errors.append('Missing or invalid "path" field (must be string)')
    if tool == WRITE_FILE.name and not isinstance(block.get("content"), str):
        errors.append('write_file tool requires "content" field')
    if tool == EDIT_FILE.name and not _is_replacement(block.get("search_replace")):
        errors.append('edit_file tool requires "search_replace" field')
    return errors


def _is_replacement(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    old, new = value.get("old_string"), value.get("new_string")
    return isinstance(old, str) and old != "" and isinstance(new, str)
