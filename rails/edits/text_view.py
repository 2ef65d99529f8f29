"""A file's text as the match strategies compare it: equal line endings, with a map to real offsets. All is linear."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import sha256

_TOKEN: Final = lazy(r"\w+|[^\w\s]")
#: What editors, chat windows and word processors turn ASCII into.
_FOLD: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys(
            "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        "…": "...",
    }
)
_MARKS: Final = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f]"
#: ASCII, one other character with the marks on it, or a syllable in parts.
_CLUSTER: Final = lazy(f"[\0-\x7f]+(?!{_MARKS})|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|.{_MARKS}*", re.S)


class View:
    r"""``text`` with line endings as ``\n`` (``flat``), and the map from flat to real offsets.

    A lone ``\r`` ends a line only in a file without ``\n``.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._shifts: list[int] = []
        if "\r" not in text:
            self.flat = text
        elif "\n" not in text:
            self.flat = text.replace("\r", "\n")
        else:
            self._shifts = [match.start() - nth for nth, match in enumerate(re.finditer("\r\n", text))]
            self.flat = text.replace("\r\n", "\n")

    def real(self, offset: int) -> int:
        """Return the offset into ``text`` for one into ``flat``."""
        return offset + bisect_left(self._shifts, offset) if self._shifts else offset

    @cached_property
    def digest(self) -> str:
        """Return a hash of the text."""
        return sha256(self.text.encode("utf-8", "surrogatepass"))

    @cached_property
    def lines(self) -> list[str]:
        """Return ``flat``'s lines; a final newline gives an empty last line."""
        return self.flat.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Return each line's flat offset."""
        return list(accumulate((len(line) + 1 for line in self.lines[:-1]), initial=0))

    def line_of(self, offset: int) -> int:
        """Return the 1-based line of a flat offset."""
        return bisect_right(self.starts, offset)

    def real_line(self, index: int) -> tuple[str, str]:
        """Return real line ``index`` (from 0) and its ending ("" for the last)."""
        start = self.starts[index]
        if index + 1 == len(self.lines):
            return self.lines[index], ""
        stop = self.real(start + len(self.lines[index]))
        return self.lines[index], self.text[stop : self.real(self.starts[index + 1])]

    @cached_property
    def eol(self) -> str:
        r"""Return the most frequent line ending, or ``\n``."""
        if "\n" not in self.text:
            return "\r" if "\r" in self.text else "\n"
        return "\r\n" if len(self._shifts) * 2 > self.flat.count("\n") else "\n"

    @property
    def mixed(self) -> bool:
        """Whether line endings differ."""
        return 0 < len(self._shifts) < self.flat.count("\n")


def flatten(text: str) -> str:
    r"""Return ``text`` with ``\n`` endings, without half an ending at its end."""
    flat = text.replace("\r\n", "\n")
    return flat.removesuffix("\r") or flat


def text_places(needle: str, hay: str, limit: int) -> list[int]:
    """Return where ``needle`` starts, overlaps included, at most ``limit``."""
    found: list[int] = []
    at = hay.find(needle)
    while at >= 0 and len(found) < limit:
        found.append(at)
        at = hay.find(needle, at + 1)
    return found


def apart(starts: Sequence[int], width: int) -> list[int]:
    """Return ``starts`` without overlaps, from the left."""
    kept: list[int] = []
    for start in starts:
        if not kept or start >= kept[-1] + width:
            kept.append(start)
    return kept


def line_places(needle: Sequence[str], hay: Sequence[str], key: Callable[[str], Hashable], limit: int) -> list[int]:
    """Return the line indexes where ``needle`` starts in ``hay``, compared by ``key``.

    Each different line becomes one character: the built-in search is linear for any input.
    """
    letters: dict[Hashable, str] = {}
    for line in needle:
        letters.setdefault(key(line), chr(len(letters) + 1))
    letter = cache(lambda line: letters.get(key(line), "\0"))
    return text_places("".join(map(letter, needle)), "".join(map(letter, hay)), limit)


def folded_line(text: str) -> str:
    """Return ``text`` in NFC, with typographic punctuation and spaces as ASCII."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_FOLD)


def fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return :func:`folded_line` and each character's (and the end's) offset."""
    if text.isascii():
        return text, range(len(text) + 1)
    pieces: list[str] = []
    offsets: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        piece = folded_line(cluster[0])
        pieces.append(piece)
        offsets += range(cluster.start(), cluster.end()) if piece == cluster[0] else [cluster.start()] * len(piece)
    return "".join(pieces), [*offsets, len(text)]


def indent(line: str) -> str:
    """Return a line's leading blanks."""
    return line[: len(line) - len(line.lstrip())]


def full_lines(lines: Sequence[str]) -> list[int]:
    """Return the indexes of the lines that are not blank."""
    return [number for number, line in enumerate(lines) if line.strip()]


def tokens(line: str) -> tuple[str, ...]:
    """Return words and symbols, which spacing does not change."""
    return tuple(_TOKEN.findall(folded_line(line)))


def without_spaces(line: str) -> str:
    """Return a line without blanks: equal if the tokens are equal, but cheaper."""
    return "".join(folded_line(line).split())
