"""Whole calls that stand where no call is read: outside every fence, in a fence of another name, in another form.

An answer in which nothing was read may still hold a call, and a session would end as if the agent had nothing to
ask. So such an answer is looked at once more. Nothing found here is ever run: it is told to whoever wrote it.
Only what is certain counts: strict JSON that reads as a call of a tool that exists and that fits its schema.
What is quoted on purpose is left alone: code between single backticks, quoted lines, fences of another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rails.core import limits
from rails.core.errors import Refusal
from rails.core.text import line_column, one_line
from rails.intake.dialects import Call, fits_call, read_value
from rails.intake.extras import NAMES, translate
from rails.intake.fences import FENCE, JSON_INFO
from rails.intake.jsontext import inside
from rails.intake.results import Shapes

#: Texts longer than this, and more beginnings of objects, are not looked through.
_CHARS: Final = 1_000_000
_TRIES: Final = 50
_OBJECT: Final = re.compile(r"\{(?=\s*\")")
#: What models call the fence of a call; in a fence of any other language JSON is an example.
_CALL_FENCES: Final = frozenset(
    {"", "action", "function", "function_call", "jsonl", "plaintext", "text", "tool", "tool_call", "tool_calls"}
    | {"tool_code", "tool_request", "tool_use", "tools", "txt"}
)
_HINT: Final = (
    "If you want it done, send the whole request in a fence that begins on a line of its own with ```json. "
    "If you are done, answer without it."
)


def unread(text: str, tools: Shapes) -> Iterator[Refusal]:
    """Yield a refusal for each whole call in ``text``, an answer in which no call was read."""
    pos, tries = 0, 0
    while len(text) <= _CHARS and tries < _TRIES and (found := _OBJECT.search(text, pos)):
        tries, pos, start = tries + 1, found.end(), found.start()
        value = inside(text, start, limits.JSON_DEPTH)
        if value is None:
            continue
        pos = value[1]
        call, form = read_value(value[0], tools), ""
        if not isinstance(call, Call):
            translated, form = translate(value[0], "", NAMES, tools, "")
            call = read_value(translated, tools)
        if not isinstance(call, Call) or not fits_call(call, tools) or _is_quoted(text, start):
            continue
        fence = _fence_around(text, start)
        if fence:
            yield _refusal(text, start, pos, call.tool, f"in the form {form!r}" if form else fence)


def _refusal(text: str, start: int, end: int, tool: str, where: str) -> Refusal:
    line, _ = line_column(text, start)
    message = f"Line {line} holds a call of '{one_line(tool, 60)}' {where}, which is not read; it was not carried out."
    return Refusal("unread", message, _HINT, start, end)


def _fence_around(text: str, pos: int) -> str:
    """Say in words what stands around ``pos``; "" for a fence of another language."""
    mark, label = "", ""
    for line in text[:pos].splitlines():
        fence = FENCE.match(line)
        if not fence:
            continue
        if not mark:
            mark, label = fence[1], fence[2].strip()
        elif fence[1].startswith(mark) and not fence[2].strip():
            mark = ""
    if not mark:
        return "outside of any fence"
    if JSON_INFO.match(label):
        return "in a json fence"
    if label.lower() not in _CALL_FENCES:
        return ""
    return f"in a fence marked {label!r}" if label else "in a fence without a language"


def _is_quoted(text: str, pos: int) -> bool:
    """Return whether what begins at ``pos`` is code between single backticks, or on a quoted line."""
    line = text[text.rfind("\n", 0, pos) + 1 : pos]
    return line.lstrip().startswith(">") or (line.endswith("`") and not line.endswith("``"))
