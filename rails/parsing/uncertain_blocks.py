"""Second thoughts: what a block's surroundings, or the answer's end, say about an outcome.

Refused: a repaired block with an uncertain end, a block that an earlier broken one may quote, and an incomplete last
one of a cut-off answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Final

from msgspec.structs import replace

from rails.core import limits
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.core.tool_request import Json, RawRequest
from rails.data_formats.strict_json import ParsedJson, parse_strict
from rails.parsing import classify
from rails.parsing.blocks import BlockSpan
from rails.parsing.classify import BlockResult
from rails.parsing.values import Ignored, ToolSchemas

#: Repairs that are believed only if the answer was not cut off.
_UNLESS_CUT: Final = frozenset({"missing_closers", "inner_quotes"})
#: A line of JSON outside of any fence that ends within a string: what follows may be the rest of that string.
_OPEN_STRING: Final = lazy(r"^(?:[^\n`>]*(?:[{,\[]|[^\S\n]))?\"[\w.-]{1,60}\":[ \t]*\"(?:[^\"\\\n]|\\[^\n])*\n", re.M)
_CALL_LIKE: Final = lazy(
    r"""^[^\S\n]*(?:`{3,}|~{3,})[ \t]*json(?:(?!^[^\S\n]*(?:`{3}|~{3})).){0,400}?["']tool(?:_name)?["']\s*:"""
    r"""|^[ \t]*<tool\s+name\s*=""",
    re.I | re.M | re.S,
)


#: The opening tag of an element on a line of its own.
_ELEMENT: Final = lazy(r"^[ \t]*<([A-Za-z_][\w.-]{0,99})>", re.M)
_PLACED: Final = lazy(rf"\ALine \d|, column \d+{classify.OF_ANSWER}\b")


def placed(refusal: Refusal, line: int, column: int) -> Refusal:
    """Return a refusal that names its place."""
    if _PLACED.search(refusal.message):
        return refusal
    place = f"Line {line}, column {column}" if column > 1 else f"Line {line}"
    return replace(refusal, message=f"{place}{classify.OF_ANSWER}: {refusal.message}")


def too_many(start: int, end: int, limit: int) -> Refusal:
    """Refuse a request beyond an answer's bound."""
    return Refusal(
        "limit", f"One answer may hold {limit} requests; this one is beyond.", "Send the rest later.", start, end
    )


def settled_call(one: RawRequest | Refusal, whole: bool, quoted_from: int, *, at_the_end: bool) -> RawRequest | Refusal:
    """Judge again what had to wait for the answer's end.

    ``whole``: not cut off. ``at_the_end``: nothing follows. ``quoted_from``: a broken block may quote the rest.
    """
    if isinstance(one, Refusal):
        return one
    repairs = repair_names([one])
    behind = at_the_end and any(not name.startswith("text_to_") for name in repairs)
    if not whole and (behind or repairs & _UNLESS_CUT):
        message = "The block is broken and the answer was cut off, so it may be incomplete."
    elif one.start < quoted_from:
        return one
    elif whole:
        message = (
            "The text around the block looks like the rest of a broken one, so where it begins or ends is uncertain."
        )
    else:
        message = "The answer was cut off, and this block or one above it ends as if text were missing."
    return Refusal("unterminated", message, "Send the whole block again.", one.start, one.end, request_id=one.id)


def repair_names(outcomes: Sequence[BlockResult]) -> Set[str]:
    """Return the names of outcomes' repairs."""
    return {note.name for one in outcomes if isinstance(one, RawRequest) for note in one.repairs}


#: Repairs with which a string may run over raw line ends, so that a fence line could be its content.
RAW_LINES: Final = frozenset({"raw_control", "inner_quotes"})
_DOUBTFUL: Final = RAW_LINES | _UNLESS_CUT


def ends_twice(block: BlockSpan) -> Refusal:
    """Refuse a block with two possible ends."""
    message = "The JSON block holds a fence line where a string seems to be open, and it can be read in two ways."
    return Refusal(
        "ambiguous", message, "Escape quotation marks and line endings inside strings.", block.start, block.stop
    )


def judge_quote(span: BlockSpan, tools: ToolSchemas) -> list[BlockResult]:
    """Ignore a quotation, unless it never ends and so may hide requests."""
    raw = span.raw
    named = "tool" in raw.lower() and (_CALL_LIKE.search(raw) or classify.names_tool(raw, tools))
    if not (named or any(found[1] in tools for found in _ELEMENT.finditer(raw))):
        return []
    name = one_line(span.label, 40) or "a fence without a language"
    if span.closed:
        return [Ignored(span.start, span.end, quoted_inside(name))]
    message = f"A block ({name}) is opened here and never closed, so what follows cannot be told from a quotation."
    return [Refusal("unterminated", message, "Close the block, then send the call again.", span.start, span.end)]


#: What may stand before a call in another model's form on its line: nothing, a sentence, another token or what is left
#: of one, or the end of a thought.
_LEAD: Final = lazy(
    r"[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?"
    r"(?:[*_]{0,3}(?:(?:[^\W\d_]|[^\x00-\x7f\u2500-\u257f])[^\n]*[ ][^\n]*|[^\W\d_]+)[.!?:…。！？：][*_]{0,3}[ \t]*)?"
    r"|<{1,2}|[<|｜]{1,3}[\w▁:]{1,40}[|｜]?>{0,2}(?:assistant)?"
    r"|[^\n]*(?:</[^<>\n]{1,60}>|\[/\w{1,20}\]|▷|[|｜]>(?:assistant)?)[ \t]*"
)
_LEAD_CHARS: Final = 100


def led(span: BlockSpan, lead: str) -> list[BlockResult]:
    """Refuse a call in another model's form behind ``lead``, unless it is meant."""
    if _LEAD.fullmatch(lead[:_LEAD_CHARS] + lead[_LEAD_CHARS:][-_LEAD_CHARS:]):
        return []
    message = f"The call is behind {lead.strip()[:40]!r}, so it may be an example; it was not applied."
    hint = (
        "If you want it done, send it again without that around it. If you only show it, put all of it in a fence of "
        "another language, such as ```text."
    )
    return [Refusal("unread", message, hint, span.start, span.end)]


def quoted_inside(name: str) -> str:
    """Return why a block in a container is ignored."""
    return f"quoted inside {name}"


def inside_foreign(outcome: RawRequest | Refusal, label: str) -> Refusal:
    """Refuse a call in another model's format."""
    message = (
        f"The call is inside a call format of another kind, closed by </{one_line(label, 40)}>, so it may only be "
        "a part of it; it was not executed."
    )
    name = outcome.id if isinstance(outcome, RawRequest) else outcome.request_id
    hint = "Send the request alone, in a fence that begins on a line of its own with ```json."
    return Refusal("unread", message, hint, outcome.start, outcome.end, request_id=name)


def too_long(limit: int) -> Refusal:
    """Refuse an answer beyond the bound; what came before it was read."""
    return Refusal(
        "limit", f"The answer has more than {limit} characters; the rest was not read.", "Send less at once."
    )


#: An offset beyond every answer.
_NOWHERE: Final = limits.ANSWER_CHARS * 2
#: A line that begins with the end of a string in JSON.
REST_LINE: Final = lazy(r"^[ \t]*[\"”](?:[ \t]*[}\]]|[ \t]*,[ \t]*(?:[,\"“}\]]|\r?$)|[ \t]*\r?$)", re.M)
#: The end of a text, or of what stands before a fence, that could be the end of a JSON block.
_ENDS: Final = lazy(r"[\"'”]\s*+,?\s*+[}\]][\s}\],]*(?:\Z|\n[ \t]*(?:`{3}|~{3}))")
#: Quotation marks that pair up the wrong way round: a word directly behind the second of a pair.
_ODD_QUOTES: Final = lazy(r'[^"]*+(?:"[^"]*+"(?!\w)[^"]*+)*+"[^"]*+"\w')


def last_text(value: Json) -> str | None:
    """Return the last string of ``value``; None if another value is last."""
    while value and isinstance(value, dict | list):
        value = next(reversed(value.values())) if isinstance(value, dict) else value[-1]
    return value if isinstance(value, str) else None


def looks_cut(text: str) -> bool:
    """Return whether ``text`` is empty, ends with a blank, or leaves something open."""
    if not text or text[-1].isspace() or text.count('"') % 2 == 1 or surplus(text) < 0:
        return True
    return '"' in text and _ODD_QUOTES.match(text) is not None


def surplus(text: str) -> int:
    """Return closing brackets minus opening ones."""
    return text.count("}") + text.count("]") - text.count("{") - text.count("[")


class Doubts:
    """From where on a block that may be torn, or one that cannot be read, may quote others.

    Evidence: a line like the end of a string behind it, or an answer that was cut off.
    """

    def __init__(self) -> None:
        self._from = self._cut = _NOWHERE
        self._rest = False

    def text(self, text: str, offset: int) -> None:
        """Note prose that begins at ``offset``."""
        opened = _OPEN_STRING.search(text) if self._from == _NOWHERE else None
        if opened is not None:
            self._from, self._rest = offset + opened.start(), True
        elif self._from < _NOWHERE:
            self._rest = self._rest or REST_LINE.search(text) is not None

    def block(self, span: BlockSpan, outcomes: Sequence[BlockResult]) -> None:
        """Note a block and its outcomes."""
        if span.kind == "json":
            self._json(span, outcomes)
        elif span.kind == "quote":
            inside = span.raw.rstrip(" \t\r\n`~") if span.closed else span.raw
            if self._from < _NOWHERE and not (span.closed and surplus(inside) <= 0):
                self._rest = self._rest or bool(_ENDS.search(inside) or REST_LINE.search(inside))
            if any(isinstance(one, Refusal) and one.code not in ("unread", "unterminated") for one in outcomes):
                self._from, self._rest = min(self._from, span.end), True

    def _json(self, span: BlockSpan, outcomes: Sequence[BlockResult]) -> None:
        parsed, repairs = parse_strict(span.body), repair_names(outcomes)
        read = [one for one in outcomes if isinstance(one, RawRequest)]
        strict = parsed if isinstance(parsed, ParsedJson) else None
        if not (strict or read):
            self._from, self._cut = min(self._from, span.end), min(self._cut, span.end)
            return
        value = strict.value if strict else dict(read[-1].parameters)
        last = last_text(value)
        if strict and not span.cut_short and (last is None or "\n" in last):
            return
        self._from = min(self._from, span.start)
        data = value.values() if isinstance(value, dict) and not read else ()
        cut = any(looks_cut(text) for text in (last, *data) if isinstance(text, str))
        if span.cut_short or cut or repairs & _DOUBTFUL:
            self._cut = min(self._cut, span.start)

    def since(self, *, whole: bool) -> int:
        """Return the offset from which blocks are in doubt; ``whole``: not cut off."""
        return min(self._from if self._rest else _NOWHERE, _NOWHERE if whole else self._cut)
