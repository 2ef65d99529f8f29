"""Advice for the author of an unreadable block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from rails.core.builtin_tools import EDIT_FILE
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column, one_line, printable
from rails.core.tool_request import PATH_KEYS
from rails.data_formats.strict_json import JsonFault
from rails.json_schema import quick_check
from rails.json_schema.allowed import allowed_types
from rails.parsing.head import Head
from rails.parsing.values import ToolSchemas

_AGAIN: Final = "Correct the JSON and send the whole block again."
_ESCAPE: Final = 'Write \\" for every quotation mark inside a string, " at its end, and then a comma or a bracket.'
#: What to do about a fault: the first whose pattern is in its code and message.
_REMEDIES: Final[Mapping[str, str]] = {
    "^elision": "Send the whole text; leave nothing out.",
    "^not_a_number": "Write a plain number, or null.",
    "^cut": "Close every { and [ in its own place, and write no comma before that.",
    "expecting ':'": 'Write every member as "key": value, and \\" for every quotation mark inside a string.',
    "of a key": "Write keys and names without backslashes.",
    "expecting a key": "Write every key in double quotes, and nothing but members between { and }.",
    "expecting a value": "Write a value behind every colon, and one comma between two values.",
    "^syntax: expecting ',' or": "Write one comma between two members, and nothing else behind a value but a bracket.",
    "does not start with": "Begin the block with { and write nothing before it.",
    "a comma seems": "Write a comma behind the closing quotation mark, and none before it that the text has not.",
    "a comment seems": "Leave all comments out.",
    "a string between": 'Write the text in double quotes, with \\" and \\n.',
    r"missing brackets|bracket is missing|expecting '[]}]'": "Close every { and [ in its own place.",
    "(?:quotes|marks|line ends) of the block": "Send the block itself, not a text that holds it.",
    "is not a JSON value": "Write every text in double quotes, and behind it only a comma or a bracket.",
    "^(?:inner_quotes|ambiguous):": _ESCAPE,
    "^unclosed_string": 'Close the string with ", and write \\" for every quotation mark inside it.',
    "^mixed_escapes": "Write every backslash of the text twice, and line endings as \\n.",
    "^ambiguous_escape": "Write \\\\ for a backslash of the text, \\n for a line ending, and straight quotation marks.",
    "^duplicate_key": "Send each key once.",
    "^extra_data": "Send one JSON object in the block and nothing behind it.",
    "^surrogate": "Write the character itself instead of its escape.",
    "^number": "Send a number of fewer digits, or a text.",
}
#: What several edits of one call stand under.
_EDITS: Final = frozenset({"edits", "replacements"})
#: What an edit must have.
_EDIT_KEYS: Final = ("file_path", "path", "old_string", "new_string")
#: What names a file, or is only compared with it.
_NO_TEXTS: Final = frozenset({*PATH_KEYS, "old_content"})
_LINE_ENDS: Final = (
    "The line endings beside the tags are no part of a text: if it ends in one, leave a line empty there."
)
_WORD: Final = lazy(r"\s?\S{1,16}")
_ENDED_EARLY: Final = 'a " inside the string is not escaped'
#: Faults that a form without escaping would not have.
_OF_TEXT: Final = frozenset({"inner_quotes", "ambiguous", "unclosed_string", "mixed_escapes", "ambiguous_escape"})


def cause_of(body: str, fault: JsonFault) -> JsonFault:
    r"""Return a fault's cause: at \", a string has ended too early."""
    if not body.startswith('\\"', fault.offset) or fault.code not in ("syntax", "inner_quotes"):
        return fault
    return JsonFault("inner_quotes", f"{_ENDED_EARLY}, before {_found(body, fault.offset)}", fault.offset)


def fault_in_words(body: str, fault: JsonFault, first: tuple[int, int]) -> str:
    """Return a fault's place and cause. ``first``: where ``body`` begins."""
    line, column = line_column(body, fault.offset, first)
    found = _found(body, fault.offset)
    words = fault.message
    if fault.code in ("inner_quotes", "ambiguous") and words.startswith("expecting ',' or"):
        words = f"{_ENDED_EARLY}, or its own end or a comma is missing, before {found}"
    elif words.startswith("expecting") and "found" not in words:
        words += f", found {found}"
    return f"line {line}, column {column}: {words}"


def _found(body: str, at: int) -> str:
    next_word = _WORD.match(body, at)
    return f"'{printable(next_word[0].strip())}'" if next_word else "the end"


def remedy(fault: JsonFault, head: Head, tools: ToolSchemas) -> str:
    """Return what to do, with the block's tool and keys in a form that needs no escaping."""
    told = f"{fault.code}: {fault.message}"
    words = next((f"{said} " for pattern, said in _REMEDIES.items() if re.search(pattern, told)), "")
    of_text = fault.code in _OF_TEXT and "brackets" not in fault.message
    form = _plain_form(head.tool, head.keys, tools, head.path) if of_text else ""
    hint = f"{words}{_AGAIN}"
    return f"{hint} Or send it in the form that needs no escaping:\n{form}\n{_LINE_ENDS}" if form else hint


def _plain_form(tool: str, keys: Iterable[str], tools: ToolSchemas, path: str) -> str:
    schema = tools.get(tool, {})
    properties = quick_check.properties(schema)
    if tool != EDIT_FILE.name and EDIT_FILE.name in tools and _EDITS & properties.keys():
        form = _plain_form(EDIT_FILE.name, _EDIT_KEYS, tools, path)
        return f"{form}\nSend one such call for each of the edits."
    wanted = {*keys, *quick_check.required(schema)}
    if wanted.isdisjoint(properties.keys() - _NO_TEXTS):
        wanted.update(list(properties)[:2])  # nothing but a file's name could be read
    types = {key: allowed_types(properties[key]) for key in properties if key in wanted and key not in _NO_TEXTS}
    if not types or any(one <= {"array", "object"} for one in types.values()):
        return ""
    own = next((key for key in PATH_KEYS if key in wanted and key in properties), "")
    inner = {own: one_line(path, 200) or "…"} if own else {}
    inner.update({key: "\nthe text as it is\n" if "string" in types[key] else "…" for key in types})
    elements = [f"<{key}>{text}</{key}>" for key, text in inner.items()]
    return "\n".join((f'<tool name="{one_line(tool, 60)}">', *elements, "</tool>"))
