"""Claude and MiniMax: ``<function_calls>`` or ``<minimax:tool_call>`` around ``<invoke name="…">`` with parameters.

    <invoke name="tool"><parameter name="key">text as it stands</parameter></invoke>

MiniMax's older form holds JSON objects instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.parsing.call_formats.reader import NAME, Cursor, FormCall, bare_name, json_calls, tagged_values

_OPENING: Final = re.compile(r"<(?:[\w-]+:)?(?:tool_calls?|function_calls)>\s*", re.IGNORECASE)
_CLOSING: Final = re.compile(r"(?:</(?:[\w-]+:)?(?:tool_calls?|function_calls)>\s*)?\Z", re.IGNORECASE)
_INVOKE: Final = re.compile(rf"<((?:[\w-]+:)?)invoke name=[\"']?{NAME}[\"']?>\s*")
_INVOKE_END: Final = re.compile(r"</(?:[\w-]+:)?invoke>\s*")
_PARAMETER: Final = re.compile(r"<(?:[\w-]+:)?parameter name=[\"']?([^\"'<>\n]{1,100})[\"']?>")


def read(text: str) -> Sequence[FormCall]:
    """Return the element's calls."""
    cursor, calls = Cursor(text), list[FormCall]()
    cursor.skip(_OPENING)
    while not (calls and cursor.skip(_CLOSING)):
        start = cursor.pos
        if text.startswith("{", start):
            value, repairs = cursor.json(_CLOSING)
            calls += json_calls(value, start, repairs)
            cursor.skip(re.compile(r"(?=\{)"))
            continue
        found = cursor.take(_INVOKE, "<invoke name=…>")
        namespace = "" if found[1] == "minimax:" else found[1]
        calls.append(
            FormCall(bare_name(found[2]), tagged_values(cursor, _PARAMETER, f"</{namespace}parameter>", _INVOKE_END))
        )
    return calls
