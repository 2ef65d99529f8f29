"""Whole calls that stand where no call is read: outside every fence, in a fence of another name, in another form.

An answer in which nothing was read may still hold a call, and a session would end as if the agent had nothing to
ask. So such an answer is looked at once more. Nothing found here is ever run: it goes back to its author as feedback.
Only what is certain counts: strict JSON, or a whole XML call, of a tool that exists and with parameters that fit.
What is quoted on purpose is left alone: code between single backticks, quoted lines, fences of another language,
comments and thoughts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rails.core import limits
from rails.core.errors import Refusal
from rails.core.text import line_column, one_line
from rails.core.tool_request import RawRequest
from rails.data_formats.strict_json import read_container
from rails.json_schema.quick_check import fits
from rails.parsing.blocks import FENCE, JSON_INFO, BlockSpan
from rails.parsing.call_formats.dialects import Call, fits_call, read_value
from rails.parsing.call_formats.optional import NAMES, translate
from rails.parsing.classify import BROKEN, xml_call
from rails.parsing.results import Ignored, ToolSchemas
from rails.parsing.scanner import REGION, Scanner

#: Texts longer than this, and more beginnings of objects, are not looked through.
_CHARS: Final = 1_000_000
_TRIES: Final = 50
_OBJECT: Final = re.compile(r"\{(?=\s*\")")
_ELEMENT: Final = re.compile(r"<(tool(?=[ \t])|[A-Za-z_][\w.-]{0,99}(?=>))[^<>\n]{0,300}>")
#: What models call the fence of a call; in a fence of any other language JSON is an example.
_CALL_FENCES: Final = frozenset(
    {"", "action", "function", "function_call", "jsonl", "plaintext", "text", "tool", "tool_call", "tool_calls"}
    | {"tool_code", "tool_request", "tool_use", "tools", "txt", "xml"}
)
_HINT: Final = (
    "If you want it done, send the whole request in a fence that begins on a line of its own with ```json. "
    "If you are done, answer without it."
)


class _Found(NamedTuple):
    """A whole call: its offsets, its tool, and the wire format that is not read, if that is why it was not."""

    start: int
    end: int
    tool: str
    form: str
    outside: str  # where it stands if in no fence


def find_unread_calls(text: str, tools: ToolSchemas, ignored: Sequence[Ignored] = ()) -> Iterator[Refusal]:
    """Yield a refusal for each whole call in ``text``, an answer in which no call was read.

    ``ignored`` are the blocks that were left alone. Where one was broken, nothing is said: what looks like a call
    may have been inside its strings.
    """
    if len(text) > _CHARS or any(block.reason == BROKEN for block in ignored):
        return
    for call in (*_json_calls(text, tools), *_xml_calls(text, tools)):
        fence = _fence_around(text, call.start)
        if fence is not None and not _is_quoted(text, call.start):
            yield _refusal(text, call, f"in the form {call.form!r}" if call.form else fence or call.outside)


def _json_calls(text: str, tools: ToolSchemas) -> Iterator[_Found]:
    pos, tries = 0, 0
    while tries < _TRIES and (found := _OBJECT.search(text, pos)):
        tries, pos = tries + 1, found.end()
        value = read_container(text, found.start(), limits.JSON_DEPTH)
        if value is None:
            continue
        pos = value[1]
        call, form = read_value(value[0], tools), ""
        if not isinstance(call, Call):
            translated, form = translate(value[0], "", NAMES, tools, "")
            call = read_value(translated, tools)
        if isinstance(call, Call) and fits_call(call, tools):
            yield _Found(found.start(), pos, call.tool, form, "outside of any fence")


def _xml_calls(text: str, tools: ToolSchemas) -> Iterator[_Found]:
    pos, tries = 0, 0
    while tries < _TRIES and (found := _ELEMENT.search(text, pos)):
        pos, closing = found.end(), f"</{found[1]}>"
        if found[1] != "tool" and found[1] not in tools:
            continue
        tries, end = tries + 1, text.find(closing, pos) + len(closing)
        if end < pos:
            continue
        scanner, block = Scanner(tools), text[found.start() : end]
        span = next(iter((*scanner.feed(block, whole=True), *scanner.flush())), "")
        call = xml_call(span, block, tools) if isinstance(span, BlockSpan) and span.kind == "xml" else None
        if isinstance(call, RawRequest) and fits(tools.get(call.tool_name, False), dict(call.parameters)):
            pos = end
            yield _Found(found.start(), end, call.tool_name, "", "behind other text on its line")


def _refusal(text: str, call: _Found, where: str) -> Refusal:
    line, _ = line_column(text, call.start)
    tool = one_line(call.tool, 60)
    message = f"Line {line} holds a call of '{tool}' {where}, which is not read; it was not carried out."
    return Refusal("unread", message, _HINT, call.start, call.end)


def _fence_around(text: str, pos: int) -> str | None:
    """Say in words which fence is around ``pos``: "" for none, None for one of another language."""
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
        return ""
    if JSON_INFO.match(label):
        return "in a json fence"
    if label.lower() not in _CALL_FENCES:
        return None
    return f"in a fence marked {label!r}" if label else "in a fence without a language"


def _is_quoted(text: str, pos: int) -> bool:
    """Return whether what begins at ``pos`` is code between single backticks, on a quoted line, or only thought."""
    line = text[text.rfind("\n", 0, pos) + 1 : pos]
    if line.lstrip().startswith(">") or (line.endswith("`") and not line.endswith("``")):
        return True
    region = next(reversed([*REGION.finditer(text, 0, pos)]), None)
    return region is not None and text.find(f"</{region[1]}>" if region[1] else "-->", region.end(), pos) < 0
