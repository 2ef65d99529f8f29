"""Another program's JSON settings, edited with every other byte kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from rails.core.errors import UsageError
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace, JsonSpan, every_value

_INDENT: Final = re.compile(r"\n([ \t]+)[\"\[{]")


def read_settings(text: str, source: str) -> dict[str, Json]:
    """Return a settings file's object. Raises UsageError with the place of a mistake."""
    try:
        value = parse_document(text).value
    except JsonError as error:
        raise UsageError(f"{source}:{error.line}: {error.message}. {error.fix} Nothing was changed.") from error
    if not isinstance(value, dict):
        raise UsageError(f"{source} is not a JSON object. Nothing was changed.")
    return value


def with_last(text: str, place: JsonPlace, key: str | None, value: Json) -> str:
    """Return ``text`` with ``value`` last at ``place``: a member (``key``) or an element (``None``)."""
    spans = dict(every_value(text))
    span, last = spans[place], _last_child(spans, place)
    step = min(_INDENT.findall(text), key=len, default="  ")
    indent = step * (len(place) + 1)
    end = "\r\n" if "\r\n" in text else "\n"
    body = json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"{end}{indent}")
    item = body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"
    if last is not None:
        return f"{text[: last.end]},{end}{indent}{item}{text[last.end :]}"
    opening, closing = text[span.start], text[span.end - 1]
    return f"{text[: span.start]}{opening}{end}{indent}{item}{end}{step * len(place)}{closing}{text[span.end :]}"


def without(text: str, place: JsonPlace) -> str:
    """Return ``text`` without what is at ``place``; the inverse of :func:`with_last`."""
    spans = dict(every_value(text))
    container, span = spans[place[:-1]], spans[place]
    others = [spans[child] for child in _children(spans, place[:-1]) if child != place]
    before = max((other.end for other in others if other.end <= span.start), default=-1)
    after = min((other.start for other in others if other.start >= span.end), default=-1)
    if before >= 0:
        return text[:before] + text[span.end :]
    if after >= 0:
        start = container.start + 1
        gap = text[start : text.index(text[start:].lstrip()[0], start)]
        rest = text.index(",", span.end) + 1
        return text[:start] + gap + text[rest:].lstrip()
    return text[: container.start + 1] + text[container.end - 1 :]


def _children(spans: dict[JsonPlace, JsonSpan], place: JsonPlace) -> Iterator[JsonPlace]:
    return (other for other in spans if len(other) == len(place) + 1 and other[: len(place)] == place)


def _last_child(spans: dict[JsonPlace, JsonSpan], place: JsonPlace) -> JsonSpan | None:
    found = [spans[child] for child in _children(spans, place)]
    return max(found, key=lambda span: span.end) if found else None
