"""Was a block torn? Content with unescaped quotation marks and a fence line can end a block too early.

``"content": ""}`` and a fence line read as a complete call with empty content, but where the answer goes on with
``more"}`` and one fence line too many, those three characters were content and the call is a shorter one than
was meant. Nothing inside such a block tells; what follows it does. Text that looks like the rest of a
JSON block makes every block in question have two readings, and so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.core import limits
from rails.core.errors import Refusal
from rails.core.tool_request import Json, RawRequest
from rails.data_formats.strict_json import Parsed
from rails.json_schema.quick_check import PATH_KEYS
from rails.parsing import classify, uncertain_blocks
from rails.parsing.blocks import Span
from rails.parsing.classify import Outcome
from rails.parsing.results import Ignored, Shapes

#: An offset beyond every answer.
_NOWHERE: Final = limits.ANSWER_CHARS * 2
#: A line that begins with the end of a string in JSON.
REST_LINE: Final = re.compile(r"^[ \t]*[\"”](?:[ \t]*[}\]]|[ \t]*,[ \t]*(?:[,\"“}\]]|\r?$)|[ \t]*\r?$)", re.M)
#: The end of a JSON block with its closing fence.
_REST_END: Final = re.compile(r"[\"'”]\s*[}\]][\s}\],]*\n[ \t]*(?:`{3}|~{3})")
#: The end of a text that could be the end of a JSON block.
_ENDS: Final = re.compile(r"[\"'”]\s*,?\s*[}\]][\s}\],]*\Z")
#: Quotation marks that pair up the wrong way round: a word directly behind the second of a pair.
_ODD_QUOTES: Final = re.compile(r'[^"]*+(?:"[^"]*+"(?!\w)[^"]*+)*+"[^"]*+"\w')
#: Keys whose strings hold no text that could tear a block.
_NAMES: Final = frozenset({*PATH_KEYS, "tool", "tool_name", "type"})


class Watch:
    """Follows an answer: which blocks could have been torn, and does anything say that one was?

    ``since`` is the offset from which blocks are in question, ``unfinished`` the same for blocks whose last string
    looks cut, which is enough where the answer was cut off as well. ``seen`` is whether the rest of a block followed.
    """

    __slots__ = ("_data", "_named", "_told", "_tools", "seen", "since", "unfinished")

    def __init__(self, tools: Shapes) -> None:
        self._tools = tools
        self.since = self.unfinished = self._data = _NOWHERE
        self.seen = self._named = self._told = False

    def block(self, span: Span, outcomes: Sequence[Outcome]) -> None:
        """Take note of a JSON block and what came of it."""
        data = isinstance(outcomes[0], Ignored) if outcomes else True
        strict = span.first is not None and isinstance(span.first[1], Parsed)
        if strict or any(isinstance(one, RawRequest) for one in outcomes):
            last = last_text(_value(span, outcomes), names=data)
            if strict and (last is None or "\n" in last):
                self._told = self._told or not data
                return
            start = span.start
            cut = span.cut_short or len(outcomes) > 1 or uncertain_blocks.used_closers(outcomes)
            texts = _value(span, outcomes) if data else None
            if isinstance(texts, dict):
                cut = cut or any(isinstance(one, str) and looks_cut(one) for one in texts.values())
            if cut or (last is not None and looks_cut(last)):
                self.unfinished = min(self.unfinished, start)
        else:
            start = span.end
            if any(isinstance(one, Refusal) and one.code == "duplicate_key" for one in outcomes):
                self.unfinished = min(self.unfinished, start)
        if data:
            self._data = min(self._data, span.end)
        elif self._data < _NOWHERE:
            self._told = True
        self.since = min(self.since, start)

    def text(self, text: str) -> None:
        """Look at prose, or at a fence that may have been opened by mistake."""
        if self.since == _NOWHERE:
            return
        self.seen = self.seen or REST_LINE.search(text) is not None
        self._named = self._named or classify.names_tool(text, self._tools)

    def quote(self, span: Span) -> None:
        """Look into a fence or region that holds no requests, as it may begin or end inside a torn string."""
        if self.since == _NOWHERE:
            return
        inside = span.raw.rstrip(" \t\r\n`~") if span.closed else span.raw
        if span.closed and surplus(inside) <= 0:
            return
        if _REST_END.search(inside) or (span.closed and _ENDS.search(inside)):
            self.seen = True
        self.text(inside)

    def fence(self, before: str) -> None:
        """Look at what stood before a fence line without a language."""
        line = before.rstrip()[-200:].rpartition("\n")[2]
        if self.since < _NOWHERE and _ENDS.search(line) and surplus(line) > 0:
            self.seen = True

    def lost(self) -> int:
        """Return where a block of data ended whose torn rest holds the key of a tool, or -1."""
        return self._data if self.seen and self._named and not self._told and self._data < _NOWHERE else -1


def _value(span: Span, outcomes: Sequence[Outcome]) -> Json:
    if span.first is not None and isinstance(span.first[1], Parsed):
        return span.first[1].value
    last = outcomes[-1] if outcomes else None
    return dict(last.parameters) if isinstance(last, RawRequest) else None


def last_text(value: Json, *, names: bool) -> str | None:
    """Return the string that stands last in ``value``; None if something else does.

    A path or a tool's name counts only with ``names``: it holds no text that could tear a block.
    """
    key = ""
    while value and isinstance(value, dict | list):
        if isinstance(value, dict):
            key = next(reversed(value))
            value = value[key]
        else:
            value = value[-1]
    return value if isinstance(value, str) and (names or key not in _NAMES) else None


def looks_cut(text: str) -> bool:
    """Return whether ``text`` ends as if its rest were missing: empty, behind a blank, or something left open."""
    if not text or text[-1].isspace() or text.count('"') % 2 == 1 or surplus(text) < 0:
        return True
    return '"' in text and _ODD_QUOTES.match(text) is not None


def surplus(text: str) -> int:
    """Return how many closing brackets ``text`` has more than opening ones."""
    return text.count("}") + text.count("]") - text.count("{") - text.count("[")
