"""What the author of a block that cannot be read should do: the fault in words, and a form that needs no escaping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rails.core.builtin_tools import EDIT_FILE
from rails.core.text import line_column, one_line
from rails.core.tool_request import PATH_KEYS
from rails.data_formats.strict_json import JsonFault, explain_json_fault
from rails.json_schema import quick_check
from rails.parsing.results import ToolSchemas

_AGAIN: Final = "Correct the JSON and send the whole block again."
#: What to do about a fault, by its code.
_REMEDIES: Final[Mapping[str, str]] = {
    "inner_quotes": 'Write \\" for every quotation mark inside a string.',
    "ambiguous": 'Write \\" for every quotation mark inside a string, and \\n for every line end.',
    "unclosed_string": 'Close the string with ", and write \\" for every quotation mark inside it.',
    "mixed_escapes": "Write every backslash of the text twice, and line ends as \\n.",
    "ambiguous_escape": "Write every backslash of the text twice.",
    "duplicate_key": "Send each key once.",
    "elision": "Send the whole text; leave nothing out.",
    "extra_data": "Send one JSON object in the block and nothing behind it.",
    "surrogate": "Write the character itself instead of its escape.",
    "number": "Send a number of fewer digits, or a text.",
}
#: What several edits of one call stand under.
_EDITS: Final = frozenset({"edits", "replacements"})
#: Faults that a form without escaping would not have.
_OF_TEXT: Final = frozenset({"inner_quotes", "ambiguous", "unclosed_string", "mixed_escapes", "ambiguous_escape"})


def fault_in_words(body: str, fault: JsonFault) -> str:
    """Return place and cause of a fault that no repair could help."""
    line, _ = line_column(body, min(fault.offset, len(body)))
    if fault.code == "inner_quotes" and not fault.message.startswith(
        ("expecting ':'", "a string begins", "a string between")
    ):
        return f'line {line} of the block: a " inside the string is not escaped'
    return f"line {line} of the block: {fault.message}"


def remedy(fault: JsonFault, tool: str, keys: Iterable[str], tools: ToolSchemas, path: str = "") -> str:
    """Return what to do about a fault, with the block's own tool and keys in a form that needs no escaping."""
    words = _REMEDIES.get(fault.code, "")
    hint = f"{words} {_AGAIN}" if words else _AGAIN
    form = _plain_form(tool, keys, tools, path) if fault.code in _OF_TEXT else ""
    return f"{hint} Or send it in the form that needs no escaping:\n{form}" if form else hint


def _plain_form(tool: str, keys: Iterable[str], tools: ToolSchemas, path: str) -> str:
    """Return the XML form of a call, without its texts; "" for a tool that is not known or takes no plain texts."""
    properties, used = quick_check.properties(tools.get(tool, {})), set(keys)
    if tool != EDIT_FILE.name and EDIT_FILE.name in tools and _EDITS & properties.keys():
        return f"{_plain_form(EDIT_FILE.name, (), tools, path)}\nSend one such call for each of the edits."
    named = [key for key in properties if key in used]
    if set(named) <= set(PATH_KEYS):
        named = [key for key in properties if quick_check.types_of(properties[key]) != {"boolean"}][:3]
    named = [key for key in named if key not in PATH_KEYS or key == next(one for one in named if one in PATH_KEYS)]
    if any(quick_check.types_of(properties[key]) <= {"array", "object"} for key in named):
        return ""
    lines = [f'<tool name="{one_line(tool, 60)}">']
    for key in named[:8]:
        inner = "\nthe text as it is\n" if "string" in quick_check.types_of(properties[key]) else "…"
        inner = one_line(path, 200) or "…" if key in PATH_KEYS else inner
        lines.append(f"<{key}>{inner}</{key}>")
    return "\n".join((*lines, "</tool>")) if named else ""


def no_certain_end(body: str, fault: JsonFault) -> str:
    """Return why the end of a block is not certain: the first string in it that is not as it should be."""
    return f"Tool call JSON is malformed, so that its end is not certain: {explain_json_fault(body, fault)}."
