"""Unread calls: a tool's name, and at once behind it one of its parameters with an assignment sign.

All forms that models invent (YAML, Python, headings, tokens) have this order. Nothing is run: the author hears the
place and a form that is read. Ignored: code between single back-ticks, quoted lines, other languages' fences, examples,
patches, thoughts before an answer. Without a request or refusal, a request in a quotation that may be meant is
reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from rails.core import unsupported_tools
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column, one_line
from rails.core.tool_request import RawRequest
from rails.json_schema import quick_check
from rails.parsing.blocks import BlockSpan, find_blocks
from rails.parsing.quoted import COMMENT, INDENTED, SHOWN
from rails.parsing.values import ToolSchemas, own_names

#: Longer texts are not looked through, nor are more names.
_CHARS: Final = 1_000_000
_NAMES: Final = 200
_TOLD: Final = 50
#: How far behind a tool's name its first parameter may stand, and how much of a broken block is looked at.
_REACH: Final = 300
#: What stands for a quotation mark in a text that was escaped once more, or came from another template.
_QUOTE: Final = lazy(r"\\u0022|\\x22|&quot;|&#34;|&#x22;|<\|\"\|>|<escape>|\\\"")
#: Words that may stand between a tool's name and its first parameter, and those that hold all parameters.
_LABELS: Final = (
    "action|arg_key|args?|arguments?|begin|call|content|function|input|json|key|kwargs|name|parameters?|params|tool"
)
_HOLDERS: Final = r"arguments|args|input|parameters|action_?input|tool_?input"
_BETWEEN: Final = rf"(?:[^\w—–→]|[\d_]|(?<![^\W_])(?i:{_LABELS})(?![^\W_])){{0,80}}?"
#: What stands for a value where only the form of a call is told.
_PLACEHOLDER: Final = r"[ \t]*[\"'`{]{0,3}(?:\.{3}|…|<[a-z_ ]+>|path/to|string\b|str\b|type\b|the |an? |your )"
_SIGN: Final = rf"[\"'“”’*`|]{{0,3}}[ \t]*(?:=>?|:|>|</|<\|)(?!{_PLACEHOLDER})"
_POSITIONAL: Final = rf"[(\[][ \t\r\n]*(?=[\"'{{])(?!{_PLACEHOLDER})"
#: The key that names a tool, where its parameters may stand above.
_KEY: Final = lazy(r"(?:tool|tool_?name|function|action|name)[\"']?[ \t]*[:=][ \t]*[\"']?\Z", re.I)
#: A tool that does not exist: an element named like a function around another, or a tool key with more behind it.
_INVENTED: Final = lazy(
    r"^[ \t]*<([A-Za-z](?=\w*_\w)\w+)>\s*<\w"
    r"|[\"']tool(?:_name)?[\"']\s*:\s*[\"']([A-Za-z](?=\w*_\w)\w+)[\"']\s*,\s*[\"']",
    re.M,
)
#: The rest of inline code behind a name.
_INLINE: Final = lazy(r"[^`\n]+`")
#: Fences in which a call may be meant wherever it stands, and those in which all is shown.
_CALL_FENCES: Final = lazy(
    r"(?:action|function(?:_call)?|json[5cl]?|plaintext|te?xt|tool(?:s|_calls?|_code|_request|_use)?|toml|xml|ya?ml)?"
)
_SHOWING: Final = lazy(r"console|diff|example|html|markdown|mdx?|patch|rst")
#: What a call in another model's form holds, and a mention of its marks does not.
_HOLDS: Final = lazy(r"[{(=:]|<\w|\w\s*\n")
_INK: Final = lazy(r"[^\n]")
_HINT: Final = (
    "If you want it done, send the whole request in a fence that begins on a line of its own with ```json. "
    "If you are done, answer without it."
)

#: Reads a text by itself: the first that it asks for. ``bare``: also a call in a form that is not known.
ReadFirst: TypeAlias = "Callable[[str, bool], RawRequest | Refusal | None]"

#: Quotations that are looked into.
_PIECES: Final = 1_000
_UNQUOTED: Final = "If you want it done, send it without that around it. If you are done, answer without it."
#: What stands before a line in a block quote, an item of a list, or an indented block.
_BEFORE_LINE: Final = re.compile(r"^(?:[ \t]|>(?!>{4})|(?:[-*+]|\d{1,9}[.)])(?=[ \t])){1,40}+", re.M)
_TOLD_INSIDE: Final = frozenset({*SHOWN, COMMENT, INDENTED})
_MARKED: Final = "behind marks of a quotation or a list"
_CLOSER: Final = re.compile(r"(?:<[^<>\n]{1,60}>|\[/\w{1,20}\]|◁[^◁▷\n]{1,20}▷|-->|assistantfinal)\s*\Z")


class _Found(NamedTuple):
    start: int
    end: int
    tool: str


def without_blocks(text: str, blocks: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with dots in ``blocks``, so that offsets stay."""
    for start, end in blocks:
        text = text[:start] + _INK.sub("·", text[start:end]) + text[end:]
    return text


def find_unread_calls(
    text: str,
    tools: ToolSchemas,
    read: Sequence[RawRequest] = (),
    offered: ToolSchemas | None = None,
) -> Iterator[Refusal]:
    """Yield a refusal for each unread call in ``text``.

    The blocks of ``read``, the requests, are not in ``text`` (``without_blocks``); a repetition of one is no call.
    ``offered``: the author's tools.
    """
    if len(text) > _CHARS:
        return
    blocks = find_blocks(text, tools)
    spans = [one for one in blocks.items if isinstance(one, BlockSpan)]
    found = sorted((*_named(text, tools), *_foreign(spans, tools), *_invented(text, tools)))
    end = 0
    for call in found[:_TOLD]:
        around = next((one for one in spans if one.start <= call.start < one.end), None)
        stray = blocks.strays.around(call.start)
        where = _place(call, around) if stray is None or stray.kind == "call" else ""
        if where and call.start >= end and not _speaks_of(text, call, read):
            end = around.end if around is not None else call.end
            yield _refusal(text, call, where, tools if offered is None else offered)


def _foreign(spans: Iterable[BlockSpan], tools: ToolSchemas) -> Iterator[_Found]:
    names = re.compile("|".join(map(re.escape, tools)) or "(?!)")
    for span in spans:
        if span.container == "call" and _HOLDS.search(span.body):
            named = names.search(span.raw)
            yield _Found(span.start, span.end, named[0] if named else "")


def _named(text: str, tools: ToolSchemas) -> Iterator[_Found]:
    spelt = {_spelling(name): name for name in sorted(tools, key=len, reverse=True)}
    plain = _QUOTE.sub(lambda found: '"'.ljust(len(found[0])), text)
    pattern = re.compile(rf"(?<![\w-])(?<!\S/)(?:{'|'.join(f'({one})' for one in spelt) or '(?!)'})(?![\w/-])")
    for found in islice(pattern.finditer(plain), _NAMES):
        tool = list(spelt.values())[(found.lastindex or 1) - 1]
        keys = "|".join(map(re.escape, quick_check.properties(tools[tool]))) or _HOLDERS
        given = re.compile(rf"{_BETWEEN}(?:\b(?i:{keys}|{_HOLDERS}){_SIGN}|(?<=--)(?:{keys})[= ])|[\"'`]?{_POSITIONAL}")
        above = plain[max(found.start() - _REACH, 0) : found.start()]
        named_last = _KEY.search(above) and re.search(rf"\b(?:{keys}){_SIGN}", above)
        if (named_last or given.match(plain, found.end(), found.end() + _REACH)) and not _is_shown(plain, found):
            start, end = plain.rfind("\n", 0, found.start()) + 1, plain.find("\n", found.end())
            yield _Found(start, len(text) if end < 0 else end, tool)


def _invented(text: str, tools: ToolSchemas) -> Iterator[_Found]:
    for found in islice(_INVENTED.finditer(text), _NAMES):
        name = found[1] or found[2]
        if name not in tools and not _is_shown(text, found):
            yield _Found(found.start(), found.end(), name)


def _spelling(name: str) -> str:
    words = map(re.escape, name.split("_"))
    return f"(?i:{'[_-]?'.join(words)})" if "_" in name else re.escape(name)


def _is_shown(text: str, found: re.Match[str]) -> bool:
    head = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    inline = head.count("`") % 2 == 1 and "``" not in head and _INLINE.match(text, found.end()) is not None
    return inline or head.lstrip().startswith(">")


def _place(call: _Found, around: BlockSpan | None) -> str:
    """Return a call's place in words; "" if shown or in a container."""
    if around is None:
        return "outside of any fence"
    label = one_line(around.label, 40)
    if around.container == "call":
        return f"in the form of another model ({label})"
    if around.kind == "xml" or (around.container == "element" and around.start == call.start):
        return "in an element"
    word = re.split(r"[\s:{=]", around.label.lower(), maxsplit=1)[0]
    meant = _CALL_FENCES.fullmatch(word) or around.body.lstrip().startswith((call.tool, "{", "["))
    if around.container or _SHOWING.fullmatch(word) or not meant:
        return ""
    if around.kind == "json":
        return "in a json fence, in a form that is not known"
    return f"in a fence marked {label!r}" if label else "in a fence without a language"


def _speaks_of(text: str, call: _Found, read: Sequence[RawRequest]) -> bool:
    """Return whether the words of a call hold the first text of a request of its tool."""
    words = text[call.start : call.end + 200]
    for request in read:
        first = next((one for one in request.parameters.values() if isinstance(one, str) and one.strip()), "")
        if request.tool_name == call.tool and re.search(rf"(?<!\w){re.escape(first[:100])}(?!\w)", words):
            return True
    return False


def _refusal(text: str, call: _Found, where: str, tools: ToolSchemas) -> Refusal:
    line, _ = line_column(text, call.start)
    what = f"a call of '{call.tool}'" if call.tool else "a call"
    message = f"Line {line} holds {what} {where}, which is not read; it was not executed."
    if call.tool and call.tool not in tools:
        why = unsupported_tools.reason(call.tool) or f"You have no tool '{call.tool}'."
        message += f" {why} Your tools: {own_names(tools, call.tool)}."
    return Refusal("unread", message, _HINT, call.start, call.end)


def quoted_requests(text: str, read_first: ReadFirst) -> Iterator[Refusal]:
    """Yield a refusal for each quotation that would be a request or change."""
    for start, inside, where in islice(_quotations(text), _PIECES):
        first = read_first(inside, where != _MARKED)
        if first is not None:
            line = line_column(text, start)[0] + line_column(inside, first.start)[0] - 1
            message = f"Line {line} begins a request or a change {where}, which is not read; nothing was taken."
            yield Refusal("unread", message, _UNQUOTED, start, start + len(inside))


def _quotations(text: str) -> Iterator[tuple[int, str, str]]:
    blocks, whole = find_blocks(text, {}), len(text.rstrip())
    for stray in blocks.strays.withdrawn:
        if stray.end >= whole:  # else an answer follows
            yield stray.start, _CLOSER.sub("", text[stray.start : stray.end]), "inside a thought"
    for item in blocks.items:
        if isinstance(item, str):
            continue
        is_thought = item.container == "thought"
        told = item.container == "element" or item.label in _TOLD_INSIDE or (is_thought and item.end >= whole)
        if told or (item.container is None and item.kind == "quote" and _CALL_FENCES.fullmatch(item.label.lower())):
            where = "a thought" if is_thought else one_line(item.label, 40) or "a fence"
            yield item.body_start, _CLOSER.sub("", item.body), f"inside {where}"
    yield 0, _BEFORE_LINE.sub("", text), _MARKED
