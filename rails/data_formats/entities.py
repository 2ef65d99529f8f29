"""XML's entities as characters (https://www.w3.org/TR/xml/#sec-predefined-ent and #sec-references)."""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy

_ENTITY: Final = lazy(r"&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED: Final = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}


def entities(text: str) -> str:
    """Decode XML's five named entities and numeric ones, each once (so ``&amp;lt;`` becomes ``&lt;``)."""
    return _ENTITY.sub(_entity, text)


def _entity(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    point = int(match[2]) if match[2] else int(match[3], 16)
    return chr(point) if 0 < point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else match[0]
