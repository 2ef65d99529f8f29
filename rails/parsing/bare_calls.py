"""Calls in a provider's form outside of fences: ``{"name": …, "arguments": {…}}`` on lines of their own.

Only trained forms (``json_calls``: name, openai, anthropic), for tools that exist or surely are functions: other JSON
there is prose, like Python's dicts and f-strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import RawRequest
from rails.data_formats.strict_json import read_container
from rails.parsing import classify
from rails.parsing.classify import JsonBlock
from rails.parsing.values import ToolSchemas

#: The first key of a call, of a message that holds calls, or of a whole response.
_KEYS: Final = (
    "name|type|function|tool_calls|id|arguments|parameters|choices|content|role|output|object|model|stop_reason"
)
_OPENING: Final = lazy(rf"^[ \t]*(?=[\[{{][\s\[{{]{{0,80}}[\"'](?:{_KEYS})[\"'])", re.M)
_LINE_END: Final = lazy(r"[ \t;,]*(?:\r?\n|\Z)")
_PARAGRAPH_END: Final = lazy(r"\n[ \t]*\r?\n|(?:(?<!\s)\s+)?\Z")
_FORMS: Final = frozenset({"name", "openai", "anthropic"})
_TRIES: Final = 20


def bare_calls(text: str, tools: ToolSchemas) -> Iterator[tuple[int, int, list[RawRequest]]]:
    """Yield start, end and requests of each such block."""
    pos = 0
    for _ in range(_TRIES):
        found = _OPENING.search(text, pos)
        if found is None:
            return
        start = found.end()
        pos = max(start, text.find("\n", start)) + 1
        value = read_container(text, start, limits.JSON_DEPTH)
        end = value[1] if value else _PARAGRAPH_END.search(text, start).start()  # type: ignore[union-attr]
        requests = _read(text, start, end, tools) if not value or _LINE_END.match(text, end) else []
        if requests:
            yield start, end, requests
            pos = end


def _read(text: str, start: int, end: int, tools: ToolSchemas) -> list[RawRequest]:
    body = text[start:end]
    block = JsonBlock(body, body, start, end, start, True, True)
    outcomes = classify.judge_block(block, tools)
    requests = [one for one in outcomes if isinstance(one, RawRequest) and one.dialect in _FORMS]
    return requests if len(requests) == len(outcomes) else []
