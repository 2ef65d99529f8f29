"""The lines of a file's bytes, split once for each text: a turn looks at the same few texts many times."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rails.gate.baseline import split_lines
from rails.gate.support.diagnostics import plain

#: Texts whose lines are kept, and the bytes and lines of one: 22 MB of code, and 45 MB of whatever else.
_KEPT: Final = 64
_LARGEST: Final = 100_000
_MOST: Final = 5_000


def lines_of(data: bytes) -> list[str]:
    """Return the lines of ``data``, not to be changed; of what is not UTF-8 text, the bytes as characters."""
    small = len(data) <= _LARGEST and data.count(b"\n") + data.count(b"\r") <= _MOST
    return _kept(data) if small else _split(data)


def _split(data: bytes) -> list[str]:
    text = plain(data)
    return split_lines(data.decode("latin-1") if text is None else text)


_kept = lru_cache(_KEPT)(_split)
