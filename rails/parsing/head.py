"""The keys, tool and path at the root of possibly broken JSON."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS

_TOKEN: Final = lazy(
    r'"(?P<d>[^"\\]*+(?:\\.?[^"\\]*+)*+)(?:"|\Z)|(?P<open>[{\[])|(?P<shut>[}\]])|(?P<colon>:)|(?P<comma>,)'
    r"|(?<![\w\\])'(?P<s>[^'\\]*+(?:\\.?[^'\\]*+)*+)(?:'|\Z)|“(?P<c>[^”“]*+)(?:[“”]|\Z)|(?P<w>[A-Za-z_]\w*)|(?P<o>\S)",
    re.S,
)
#: Keys whose object holds the parameters.
_HOLDERS: Final = ("arguments", "args", "params", "parameters")
_TOKENS: Final = 2_000


class Head(NamedTuple):
    """The root's keys, its tool and path ("": unknown), and whether a mark is out of place."""

    keys: frozenset[str] = frozenset()
    tool: str = ""
    path: str = ""
    kind: str = ""
    odd: bool = False


def head_of(text: str) -> Head:
    """Return the head of ``text``; the first of equal keys counts."""
    depth, holder, odd = 0, 0, False
    said: dict[str, str] = {}
    keys = set[str]()
    key = last = before = begun = ""
    for number, found in enumerate(_TOKEN.finditer(text)):
        kind = found.lastgroup or "o"
        value = found[kind]
        if number > _TOKENS or (kind in "dsc" and found.end() == len(text) and text[-1] not in "\"'”"):
            break
        if kind == "open":
            depth += 1
            holder = depth if key in _HOLDERS and before == "colon" else holder
        elif kind == "shut":
            depth -= 1
        elif kind == "colon":
            odd = odd or before == "value"
            if last and before in ("d", "s", "c", "w"):
                key = last
                keys.update([key] if depth <= 1 or (depth == 2 and text.lstrip()[:1] == "[") else [])
        elif kind in ("d", "s", "c", "w"):
            odd = odd or (before in ("d", "s", "c", "value") and kind != "w") or before == "value"
            if before == "colon":
                if depth <= 1 or depth == holder:
                    said.setdefault("path" if key in PATH_KEYS else key, value)
                kind = "value"
            last, begun = value, value if before in ("open", "comma") else ""
        before = kind
    keys.update([begun] if begun and before in "dscw" else [])
    named = said.get("tool_name" if said.get("type") == "tool_request" else "tool", "")
    return Head(frozenset(keys), named, said.get("path", ""), said.get("type", ""), odd)
