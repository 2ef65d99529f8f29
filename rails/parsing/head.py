"""The keys, tool and path at the root of possibly broken JSON."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS

_TOKEN: Final = lazy(
    r"(?P<open>[{\[])|(?P<shut>[}\]])"
    r"|[\"'“]?(?P<key>(?<![\w-])[A-Za-z_][\w-]*+)[\"'”]?\s*+(?::|=>|\Z)\s*+(?:[\"“'](?P<value>[^\"”'\\\n]{0,300}+)[\"”'])?"
    r"|\"[^\"\\]*+(?:\\.?[^\"\\]*+)*+(?:\"|\Z)",
    re.S,
)
#: Keys whose object holds the parameters.
_HOLDERS: Final = ("arguments", "args", "params", "parameters")
_TOKENS: Final = 2_000


class Head(NamedTuple):
    """The root's keys, its tool, only path and type ("": unknown)."""

    keys: frozenset[str] = frozenset()
    tool: str = ""
    path: str = ""
    kind: str = ""


def head_of(text: str) -> Head:
    """Return the head of ``text``; the first of equal keys counts."""
    depth = holder = 0
    root = 2 if text.lstrip().startswith("[") else 1
    said: dict[str, str] = {}
    keys = set[str]()
    paths = list[str]()
    key = ""
    for found in islice(_TOKEN.finditer(text), _TOKENS):
        if found["open"]:
            depth += 1
            holder = depth if key in _HOLDERS else holder
        elif found["shut"]:
            depth -= 1
        key = found["key"] or ""
        if key and depth <= root:
            keys.add(key)
        if found["value"] and (depth <= root or depth == holder):
            paths += [found["value"]] * (key in PATH_KEYS)
            said.setdefault(key, found["value"])
    named = said.get("tool_name" if said.get("type") == "tool_request" else "tool", "")
    return Head(frozenset(keys), named, paths[0] if len(set(paths)) == 1 else "", said.get("type", ""))
