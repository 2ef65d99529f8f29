"""Whole calls that stand where no call is read: outside every fence, in a fence of another name, in another form.

An answer in which nothing was read may still hold a call, and a session would end as if the agent had nothing to
ask. So such an answer is looked at once more. Nothing found here is ever run: it goes back to its author as feedback,
with the line, the form, and the form that is read.
What is quoted on purpose is left alone: code between single backticks, quoted lines, fences of another language,
comments, examples, patches, and thoughts that an answer follows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from textwrap import dedent
from typing import Final

from rails.core import limits, not_offered
from rails.core.dataclass import NamedTuple
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column, one_line
from rails.core.tool_request import RawRequest
from rails.data_formats.python_code import parse_tree
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict, read_container
from rails.json_schema import quick_check
from rails.json_schema.quick_check import fits
from rails.parsing import foreign_calls, quoted
from rails.parsing.blocks import BlockSpan
from rails.parsing.call_formats.dialects import Call, fits_call, read_value
from rails.parsing.call_formats.optional import NAMES, translate
from rails.parsing.classify import BROKEN, names_tool, xml_call
from rails.parsing.named_calls import named_calls
from rails.parsing.results import Ignored, ToolSchemas
from rails.parsing.scanner import Scanner

#: Texts longer than this, and more beginnings of objects, are not looked through.
_CHARS: Final = 1_000_000
_TRIES: Final = 50
#: Pieces of an answer that are looked into: prose between blocks, and blocks.
_PIECES: Final = 1_000
_OBJECT: Final = lazy(r"\{(?=\s*[\"'\w“])|\[(?=\s*\{)")
#: What may stand on its line before an object that is a call: the mark of a list's item, and a label.
_BEFORE: Final = lazy(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?\**(?:\w[\w ]{0,30}[:：])?[ \t*`]*")
_ELEMENT: Final = lazy(r"<(tool(?=[ \t])|[A-Za-z_][\w.-]{0,99}(?=>))[^<>\n]{0,300}>")
#: What models call the fence of a call; in a fence of any other language JSON is an example.
_CALL_FENCES: Final = frozenset(
    {"", "action", "function", "function_call", "jsonl", "plaintext", "text", "tool", "tool_call", "tool_calls"}
    | {"tool_code", "tool_request", "tool_use", "toml", "tools", "txt", "xml", "yaml", "yml"}
)
_JSON_FENCES: Final = frozenset({"json", "jsonc", "json5"})
#: Fences in which a whole answer is shown to somebody.
_SHOWING: Final = frozenset({"console", "diff", "example", "html", "markdown", "md", "mdx", "patch", "rst"})
#: Fences of requests to a server, which a tool is none of, and how one begins.
_WEB_FENCES: Final = frozenset({"gql", "graphql", "http"})
_WEB_CALL: Final = lazy(
    r"(?:^[ \t]*(?:curl\b[^\n]*|(?:POST|PUT|PATCH)[ \t]+\S*)/|[{:]\s*)(\w{1,100})"
    r"(?=\s*[(?]|[ \t]+(?:HTTP|-)|[ \t]*[\\\r]?$)",
    re.M,
)
#: Fences of commands, where a tool is none, and how one begins.
_SHELL_FENCES: Final = frozenset({"bash", "cmd", "console", "powershell", "sh", "shell", "zsh"})
_SHELL_CALL: Final = lazy(r"^[ \t]*(?:[$>%] )?([a-z]\w*_\w+)(?=[ \t]+[^\s=|&;])", re.M)
_PYTHON_FENCES: Final = frozenset({"python", "py", "tool_code"})
#: The path of a file behind the language of a fence, or instead of it.
_FENCE_PATH: Final = lazy(
    r"(?:\A|[\s:=\"'({])((?:[\w.@-]{1,100}[/\\]){1,20}[\w.@-]{1,100}|[\w-]{1,100}\.[A-Za-z]\w{0,7})(?=[\"')}\s]|\Z)"
)
#: The beginning of a broken block that calls a tool: the name stands first.
_BROKEN_CALL: Final = lazy(
    r"\s*(?:[{\[]\s*){1,3}[\"'“]?(?:name|tool_?name|function|action|type|[Tt]ool)[\"'”]?\s*(?::|=>|=)?\s*[\"'“]?([\w.-]{1,100})"
)
#: The name of a tool alone on the line above a block.
_NAMED_ABOVE: Final = lazy(r"^\W{0,20}(?:function(?:<[^<>\n]{1,20}>|\W{1,10})?)?([A-Za-z_]\w{0,99})\W{0,20}\Z", re.M)
_INK: Final = lazy(r"[^\n]")
_BEGINS: Final = lazy(
    r"[ \t]*(?:(?:const|let|var)[ \t]+\w{1,60}[ \t]*=[ \t]*)?(?:await[ \t]+)?[($ \[]{0,9}"
    r"(?:(?:tools|functions|default_api|api)\.)?"
)
#: What stands between the marks of a call that are only spoken of.
_SPOKEN: Final = lazy(
    r"(?:[^\w\n]|\b(?:a|and|block|blocks|marker|markers|or|tag|tags|the|then|through|to|until|with)\b){0,20}+"
)
_TOOL_KEY: Final = lazy(r"[\"']tool[\"']\s*:|<tool ")
_HINT: Final = (
    "If you want it done, send the whole request in a fence that begins on a line of its own with ```json. "
    "If you are done, answer without it."
)


class _Found(NamedTuple):
    """A call that was not read: its offsets, its tool, and where it stands or in which form."""

    start: int
    end: int
    tool: str
    where: str


def without_blocks(text: str, blocks: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with a dot for each character in ``blocks`` (offsets), so that all places stay what they are."""
    for start, end in blocks:
        text = text[:start] + _INK.sub("·", text[start:end]) + text[end:]
    return text


def find_unread_calls(
    text: str, tools: ToolSchemas, ignored: Sequence[Ignored] = (), read: Sequence[RawRequest] = ()
) -> Iterator[Refusal]:
    """Yield a refusal for each whole call in ``text``, an answer in which no call was read but ``read``.

    Their blocks are not in ``text`` (``without_blocks``); a call that only says what one of them does is none.
    ``ignored`` are the blocks that were left alone. Where one was broken, only its own beginning is looked at: what
    looks like a call further on may have been inside its strings.
    """
    if len(text) > _CHARS:
        return
    broken = [block for block in ignored if block.reason == BROKEN]
    found = [*(_broken_calls(text, broken, tools) if broken else _calls(text, tools))] or [*_named(text, broken, tools)]
    last, count = -1, 0
    for call in sorted(found):
        if call.start >= last and count < _TRIES and not _speaks_of(text, call, read, tools):
            last, count = call.end, count + 1
            yield _refusal(text, call, tools)


def _speaks_of(text: str, call: _Found, read: Sequence[RawRequest], tools: ToolSchemas) -> bool:
    """Return whether what looks like a call names a request that was read: its tool, and the first of its values."""
    tool, words = foreign_calls.known_tool(call.tool, tools), text[call.start : call.end + 200]
    for request in read:
        values = (one for one in request.parameters.values() if isinstance(one, str) and one.strip())
        named = rf"(?<!\w){re.escape(next(values, '')[:100])}(?!\w)"
        if request.tool_name == tool and re.search(named, words):
            return True
    return False


def _broken_calls(text: str, broken: Sequence[Ignored], tools: ToolSchemas) -> Iterator[_Found]:
    for block in broken:
        start = text.find("\n", block.start, block.end) + 1 or block.start
        head = _BROKEN_CALL.match(text, start, min(block.end, start + 400))
        tool = foreign_calls.known_tool(head[1], tools) if head else ""
        if head and not tool and "tool" in head[0] and foreign_calls.FUNCTION_NAME.fullmatch(head[1]):
            tool = head[1]
        if tool:
            yield _Found(block.start, block.end, tool, "as broken JSON in a form")


def _calls(text: str, tools: ToolSchemas) -> Iterator[_Found]:
    scanner = Scanner(tools)
    items = [*scanner.feed(text, whole=True), *scanner.flush()]
    for call in islice(_in_items(text, items, tools), _PIECES):
        around = scanner.strays.around(call.start)
        if around is None or around.kind == "call" or not text[around.end :].strip():
            yield call


def _named(text: str, broken: Sequence[Ignored], tools: ToolSchemas) -> Iterator[_Found]:
    """Yield calls in no known form, from prose and from fences that are no example; of a broken block, its head."""
    if not (calls := [*named_calls(text, tools)]):  # as in nearly every last answer
        return
    scanner = Scanner(tools)
    open_to: list[tuple[int, int]] = [(block.start, block.start + 1_000) for block in broken]
    pos = 0
    for item in () if broken else (*scanner.feed(text, whole=True), *scanner.flush()):
        start, pos = (pos, pos + len(item)) if isinstance(item, str) else (item.start, item.end)
        word = "" if isinstance(item, str) else item.label.lower()
        if isinstance(item, str) or (item.container is None and word in _CALL_FENCES | _JSON_FENCES):
            open_to.append((start, pos))
        elif item.container is None and word not in _SHOWING:  # code: a call that it begins with
            start = item.body_start
            begins = _BEGINS.match(text, start)
            open_to += [(start, begins.end() + 1)] if begins and text.startswith(tuple(tools), begins.end()) else []
    for call in calls:
        if any(start <= call.start < end for start, end in open_to):
            yield _Found(call.start, call.end, call.tool, "in a form that is not known")


def _in_items(text: str, items: Sequence[BlockSpan | str], tools: ToolSchemas) -> Iterator[_Found]:
    pos = prose = 0
    for item in islice(items, _PIECES):
        if isinstance(item, str):
            pos += len(item)
            continue
        yield from _in_prose(text, prose, item.start, tools)
        yield from _in_span(text, item, tools)
        pos = prose = item.end
    if len(items) <= _PIECES:
        yield from _in_prose(text, prose, len(text), tools)


def _in_span(text: str, span: BlockSpan, tools: ToolSchemas) -> Iterator[_Found]:
    if span.container is not None:
        yield from _in_container(text, span, tools)
    elif span.kind == "json":
        yield from _json_calls(text, span.body_start, span.body_end, "in a json fence", tools)
        parsed = parse_strict(span.body)
        if isinstance(parsed, JsonFault):
            yield from _broken_calls(text, [Ignored(span.start, span.end, BROKEN)], tools)
        named = _NAMED_ABOVE.search(text, max(0, span.start - 200), span.start)
        if named and isinstance(parsed, ParsedJson) and fits(tools.get(named[1], False), parsed.value):
            yield _Found(span.start, span.end, named[1], "with its name above a json fence")
    elif span.kind == "quote":
        yield from _in_fence(text, span, tools)


def _in_container(text: str, span: BlockSpan, tools: ToolSchemas) -> Iterator[_Found]:
    """A call in another model's format; one that is shown; or one in a thought that nothing follows: the answer."""
    tool = foreign_calls.wanted_tool(span.raw)
    if span.closed and _is_quoted(text, span.start):
        return
    if span.container == "call" and not (span.closed and _SPOKEN.fullmatch(span.body.partition("</")[0])):
        yield _Found(span.start, span.end, tool, f"in the form of another model ({span.label})")
    elif span.container == "thought" and not text[span.end :].strip() and _TOOL_KEY.search(span.raw):
        yield _Found(span.start, span.end, tool, "inside a thought, behind which nothing follows")
    elif span.container == "element" or span.label in quoted.SHOWN or span.label in (quoted.INDENTED, quoted.COMMENT):
        where = f"inside {span.label if ' ' in span.label else f'<{span.label}>'}"
        if span.container == "element":
            for call in foreign_calls.elements(text, span.start, span.end, tools):
                yield _Found(call.start, call.end, call.tool, f"in the form {call.form}")
        yield from _within(span, where, tools)
        yield from _json_calls(text, span.body_start, span.end, where, tools)
        yield from _xml_calls(text, span.body_start, span.end, where, tools)
        if span.label == "code":
            calls = foreign_calls.python_calls(text, span.body_start, span.end, tools)
            yield from (_Found(call.start, call.end, call.tool, where) for call in calls)
    elif span.label == "file" and (path := _FENCE_PATH.search(span.raw.partition(">")[0])):
        yield _Found(span.start, span.end, "", f"the file '{path[1]}' inside <file>")


def _within(span: BlockSpan, where: str, tools: ToolSchemas) -> Iterator[_Found]:
    """Yield the containers of other models' calls, and the calls in fences, that stand inside a stretch."""
    scanner = Scanner(tools)
    for inner in (*scanner.feed(span.body, whole=True), *scanner.flush()):
        if isinstance(inner, BlockSpan) and inner.container == "call":
            at = span.body_start + inner.start
            yield _Found(at, at + len(inner.raw), foreign_calls.wanted_tool(inner.raw), f"{where}, as {inner.label}")


def _in_fence(text: str, span: BlockSpan, tools: ToolSchemas) -> Iterator[_Found]:
    """A call in a fence that is none of ours; or a file, which a fence does not write."""
    end = span.body_end
    word = re.split(r"[\s:{=]", span.label.lower(), maxsplit=1)[0]
    where = f"in a fence marked {one_line(span.label, 40)!r}" if span.label else "in a fence without a language"
    if word in tools and span.body.lstrip()[:1] == "{":
        yield _Found(span.start, span.end, word, where)
    if word not in _SHOWING and word not in _CALL_FENCES and span.body.strip()[:1] in ("{", "["):
        yield from _json_calls(text, span.body_start, end, where, tools)
    if span.label.lower() in _CALL_FENCES:
        yield from _within(span, where, tools)
        yield from _json_calls(text, span.body_start, end, where, tools)
        yield from _xml_calls(text, span.body_start, end, where, tools)
        yield from _lines(text, span.body_start, end, tools)
    for words, pattern in ((_WEB_FENCES | _SHELL_FENCES, _WEB_CALL), (_SHELL_FENCES, _SHELL_CALL)):
        named = islice(pattern.finditer(span.body), _TRIES) if word in words else ()
        yield from (_Found(span.start, span.end, one[1], where) for one in named if one[1] in tools)
    if word in _PYTHON_FENCES and (tool := _python_call(span, tools)):
        calls = [*foreign_calls.python_calls(text, span.body_start, end, tools)]
        yield from [_Found(call.start, call.end, call.tool, where) for call in calls] or [
            _Found(span.start, span.end, tool, where)
        ]
    elif word == "tool_code":
        yield _Found(span.start, span.end, "", where)
    path = _FENCE_PATH.search(span.label)
    if path and any({"content"} <= quick_check.properties(tools[name]).keys() for name in tools):
        yield _Found(span.start, span.end, "", f"the file '{path[1]}' {where}")


def _python_call(span: BlockSpan, tools: ToolSchemas) -> str:
    """Return the first tool that a fence calls, if all that it holds is calls of tools; else "".

    What is printed is one, too; what is kept in a name only with parameters of the tool by their names.
    """
    body = span.body.rpartition("```")[0] if span.closed else span.body
    try:
        tree = parse_tree(dedent(body[:20_000]).strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    called = [_called(one, tools) for one in tree.body]
    named = [name for name in called if name != "print"]
    return named[0] if named and all(named) else ""


def _called(line: ast.stmt, tools: ToolSchemas) -> str:
    node = line.value if isinstance(line, ast.Expr | ast.Assign) else None
    while isinstance(node, ast.Call | ast.Await):
        if isinstance(node, ast.Await):
            node = node.value
            continue
        name = str(node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
        if name == "print" and node.args:
            node = node.args[0]
            continue
        keys = {one.arg for one in node.keywords}
        kept = isinstance(line, ast.Expr) or (keys and keys <= quick_check.properties(tools.get(name, False)).keys())
        return name if kept and name in tools else ""
    return "print" if isinstance(line, ast.Expr) and isinstance(node, ast.Name) else ""


def _in_prose(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[_Found]:
    if start >= end:
        return
    for call in _json_calls(text, start, end, "outside of any fence", tools):
        if not _is_quoted(text, call.start):
            yield call
    for call in _xml_calls(text, start, end, "behind other text on its line", tools, until=len(text)):
        if not _is_quoted(text, call.start):
            yield call
    yield from _lines(text, start, end, tools)


def _lines(text: str, start: int, end: int, tools: ToolSchemas) -> Iterator[_Found]:
    for call in foreign_calls.line_calls(text, start, end, tools):
        if not _is_quoted(text, call.start):
            yield _Found(call.start, call.end, call.tool, f"in the form {call.form}")


def _json_calls(text: str, start: int, end: int, where: str, tools: ToolSchemas) -> Iterator[_Found]:
    pos, tries = start, 0
    while tries < _TRIES and (found := _OBJECT.search(text, pos, end)):
        tries, pos = tries + 1, found.end()
        value = read_container(text, found.start(), limits.JSON_DEPTH)
        first = _BEFORE.fullmatch(text, text.rfind("\n", 0, found.start()) + 1, found.start()) is not None
        if value is None:
            if first and where != "in a json fence" and names_tool(text[pos : pos + 200].partition("\n\n")[0], tools):
                stop = end if text[found.start()] == "{" else pos
                named = foreign_calls.wanted_tool(text[found.start() : pos + 400])
                yield _Found(found.start(), stop, foreign_calls.known_tool(named, tools), f"as broken JSON {where}")
                return
            continue
        pos = value[1]
        call, form = read_value(value[0], tools), ""
        if not isinstance(call, Call):
            translated, form = translate(value[0], "", NAMES, tools, "")
            call = read_value(translated, tools)
        if isinstance(call, Call) and fits_call(call, tools):
            yield _Found(found.start(), pos, call.tool, f"in the form {form!r}" if form else where)
        elif first and (other := foreign_calls.json_call(value[0], tools)):
            ours = isinstance(call, Call) and not form
            yield _Found(found.start(), pos, other[0], where if ours else f"in the form {other[1]} {where}")


def _xml_calls(text: str, start: int, end: int, where: str, tools: ToolSchemas, *, until: int = 0) -> Iterator[_Found]:
    """Yield calls that begin from ``start`` to ``end``, and end before ``until`` (``end``, where it is not given)."""
    pos, tries, until = start, 0, until or end
    while tries < _TRIES and (found := _ELEMENT.search(text, pos, end)):
        pos, closing = found.end(), f"</{found[1]}>"
        if found[1] != "tool" and found[1] not in tools:
            continue
        tries, stop = tries + 1, text.find(closing, pos, until) + len(closing)
        if stop < pos:
            continue
        scanner, block = Scanner(tools), text[found.start() : stop]
        span = next(iter((*scanner.feed(block, whole=True), *scanner.flush())), "")
        call = xml_call(span, block, tools) if isinstance(span, BlockSpan) and span.kind == "xml" else None
        if isinstance(call, RawRequest) and fits(tools.get(call.tool_name, False), dict(call.parameters)):
            pos = stop
            yield _Found(found.start(), stop, call.tool_name, where)


def _refusal(text: str, call: _Found, tools: ToolSchemas) -> Refusal:
    line, _ = line_column(text, call.start)
    name = one_line(call.tool, 60)
    what = call.where if call.where.startswith("the file ") else f"a call of '{name}' {call.where}" if name else ""
    message = f"Line {line} holds {what or f'a call {call.where}'}, which is not read; it was not carried out."
    if name and not foreign_calls.known_tool(call.tool, tools):
        why = not_offered.reason(name)
        there = f". {why} There are" if why else "; there are"
        message += f" There is no tool '{name}'{there}: {', '.join(sorted(tools)[:20]) or 'none'}."
    return Refusal("unread", message, _HINT, call.start, call.end)


def _is_quoted(text: str, pos: int) -> bool:
    """Return whether what begins at ``pos`` is code between single backticks, or on a quoted line."""
    line = text[text.rfind("\n", 0, pos) + 1 : pos]
    return line.lstrip().startswith(">") or (line.endswith("`") and not line.endswith("``"))
