"""What a model's correction changed, value by value. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from rails.core import limits
from rails.core.events.turn import CorrectionEvent
from rails.core.json_text import json_leaves, without_quoting
from rails.core.tool_request import Json
from rails.data_formats.strict_json import ParsedJson
from rails.parsing.repairs import repair
from rails.projections.common import CorrectionView, ValueChange

#: Wrappers of the parameters, and the names that a tool goes by, in the forms that a request may have.
_WRAPPERS: Final = ("parameters", "arguments")
_TOOL: Final = ("tool", "tool_name")
#: Not part of what is asked for.
_FORM: Final = ("type",)
#: A shorter value stands in any text by chance.
_TELLING: Final = 8
_DRIFT: Final = re.compile(r"([^=]{1,200}) = (.*)", re.DOTALL)
_VALUE: Final = r'"{}"\s*:\s*("(?:[^"\\]|\\.){{0,4000}}"|[^\s,}}\]]{{1,200}})'


def correction_of(event: CorrectionEvent) -> CorrectionView:
    """Return a correction for people."""
    before, after = event.before, event.after
    old, new = _leaves_of(before), _leaves_of(after)
    if not after:
        changes: tuple[ValueChange, ...] = ()
    elif old is None or new is None:
        changes = tuple(_named(event.drift, before))
    else:
        changes = tuple(_changes(old, new, before, after))
    return CorrectionView(event.id, event.taken, event.why, changes)


def _changes(old: Mapping[str, Json], new: Mapping[str, Json], before: str, after: str) -> Iterator[ValueChange]:
    for place, value in new.items():
        if place in old:
            if _json(old[place]) != _json(value):
                yield ValueChange(place, _json(old[place]), _json(value))
        elif not _stands_in(value, old, before):
            yield ValueChange(place, None, _json(value))
    for place, value in old.items():
        if place not in new and not _stands_in(value, new, after):
            yield ValueChange(place, _json(value), None)


def _named(drift: tuple[str, ...], before: str) -> Iterator[ValueChange]:
    """Yield the changes that the harness named, with old values readable in a torn block."""
    for words in drift:
        if match := _DRIFT.fullmatch(words):
            key = re.split(r"[.\[]", match[1])[-1].rstrip("]")
            found = re.search(_VALUE.format(re.escape(key)), before[: limits.FEEDBACK_CHARS])
            yield ValueChange(match[1], found[1] if found else None, match[2])


def _leaves_of(block: str) -> dict[str, Json] | None:
    start, end = block.find("{"), block.rfind("}") + 1
    body = block[start : end if end > start else len(block)].strip().strip("`")
    # What was cut off is read as far as it goes: this is for the eye, and runs nothing.
    parsed = repair(body, closers=True) if start >= 0 else None
    if not isinstance(parsed, ParsedJson) or not isinstance(parsed.value, dict):
        return None
    request = dict(parsed.value)
    wrapped = next((value for key in _WRAPPERS if isinstance(value := request.pop(key, None), dict)), {})
    tool = next((request.pop(key) for key in _TOOL if key in request), None)
    whole = {**{key: value for key, value in request.items() if key not in _FORM}, **wrapped}
    return {**({"tool": tool} if tool is not None else {}), **dict(json_leaves(whole))}


def _stands_in(value: Json, known: Mapping[str, Json], block: str) -> bool:
    """Whether a value is known or, if long, quoted in the block."""
    if _json(value) in map(_json, known.values()):
        return True
    flat = without_quoting(value if isinstance(value, str) else _json(value))
    return len(flat) >= _TELLING and flat in without_quoting(block)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
