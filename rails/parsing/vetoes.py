"""Ways in which the only reading of unescaped quotation marks could still be wrong.

Each is a way of writing a string (doubled or tripled marks, joined strings, two items in one) or of losing a mark
that leads to the same text as a string with unescaped marks in it. Where one is possible, the reading is refused.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

_BRACE: Final = re.compile(r"[{}]")
#: What stands before an opening mark: nothing, a blank or an operator, then perhaps a letter as in f"…".
_BEFORE_OPENING: Final = re.compile(r"(?:\A|[^\w)\]}\"'])[fFrRbBuU]{0,2}\Z")


def marks(text: str, mark: str) -> list[int]:
    """Return the places of all unescaped quotation marks of one kind."""
    return [m.start() for m in re.finditer(rf"\\.|{mark}", text, re.S) if m[0] == mark]


def doubtful(raw: str, mark: str, keys: Set[str], *, item: bool) -> bool:
    """Return whether ``raw``, read as the inside of one string in ``mark``, may have been meant otherwise.

    ``keys`` are all names that a key of the block can have; ``item``: the string is an item of an array.
    """
    inner = marks(raw, mark)
    if item and re.search(r",\s*\n", raw):
        return True
    if not inner:
        return False
    return (
        f"\\{mark}" in raw  # some are escaped and some are not
        or _delimits(raw, mark, inner)
        or _lost(raw, mark, inner, item=item)
        or _joins(raw, inner)
        or (item and "\n" in raw)
        or _swallows(raw, mark, keys)
    )


def _delimits(raw: str, mark: str, inner: list[int]) -> bool:
    """Doubled for each one meant, tripled around the string, or the whole string quoted twice."""
    runs = re.findall(f"{mark}+", raw)
    doubled = all(len(run) % 2 == 0 for run in runs)
    long = [run for run in runs if len(run) >= 3]
    tripled = raw.endswith(mark * 2) or len(long) % 2 == 1 or (raw.startswith(mark * 2) and not long)
    edges = raw.strip()
    return doubled or tripled or (len(inner) == 2 and edges.startswith(mark) and edges.endswith(mark))


def _lost(raw: str, mark: str, inner: list[int], *, item: bool) -> bool:
    """A mark without a partner, unless it is an inch mark; one with a wrong partner at an edge; or an item's own."""
    edges = raw.strip()
    if len(inner) % 2 == 1:
        at_edge = edges.startswith(mark) or edges.endswith(mark)
        return item or at_edge or not _pairs(raw, inner) or _near_structure(raw, mark)
    first_pair = edges.startswith(mark) and (_opens(raw, inner[1]) or _is_inch(raw, inner[1]))
    return first_pair or (edges.endswith(mark) and not _opens(raw, inner[-2])) or (item and _near_structure(raw, mark))


def _pairs(raw: str, inner: list[int]) -> bool:
    """Return whether the marks are pairs and inch marks."""
    within = False
    for at in inner:
        if within:
            within = False
        elif _opens(raw, at):
            within = True
        elif not _is_inch(raw, at):
            return False
    return not within


def _is_inch(raw: str, at: int) -> bool:
    return raw[at - 1 : at].isdigit() and not raw[at + 1 : at + 2].isalnum()


def _opens(raw: str, at: int) -> bool:
    """Return whether the mark at ``at`` looks as if it opened a quotation."""
    return _BEFORE_OPENING.search(raw[max(at - 3, 0) : at]) is not None


def _near_structure(raw: str, mark: str) -> bool:
    """Return whether an unescaped mark stands beside something that could be JSON's own."""
    return re.search(rf"[,:{{}}\[\]]\s*{mark}|{mark}\s*[,:{{}}\[\]]", raw) is not None


def _joins(raw: str, inner: list[int]) -> bool:
    """Two strings side by side, or an expression that joins them."""
    between = raw[inner[0] + 1 : inner[1] if len(inner) > 1 else len(raw)]
    start = between.lstrip()[:1]
    return start == "+" or (between != "" and not start) or (start in (",", ":") and not _opens(raw, inner[0]))


def _swallows(raw: str, mark: str, keys: Set[str]) -> bool:
    """The text of a known key, even if one of its marks was lost, unless braces of the string's own enclose it."""
    found = [*re.finditer(rf"(?:{mark}([\w$-]{{1,100}})|\b([\w$-]{{1,100}}){mark})[^\n]{{0,2}}?\s*:", raw)]
    found += re.finditer(rf"[,{{]\s*{mark}([\w$-]{{1,100}})(){mark}", raw)
    return any((key[1] in keys or key[2] in keys) and not _enclosed(raw, key.start()) for key in found)


def _enclosed(raw: str, at: int) -> bool:
    """Return whether all braces of ``raw`` pair up, and one pair of them encloses ``at``."""
    depth = around = 0
    for brace in _BRACE.finditer(raw):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return False
        around = depth if brace.start() <= at else around
    return depth == 0 and around > 0
