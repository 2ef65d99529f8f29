"""The lines of a file's bytes, split once for each text: a turn looks at the same few texts many times."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rails.gate.baseline import split_lines
from rails.gate.ruff import plain

#: Texts whose lines are kept, and the bytes of one: about 40 MB at most.
_KEPT: Final = 64
_LARGEST: Final = 100_000


def lines_of(data: bytes) -> list[str]:
    """Return the lines of ``data``, not to be changed; of what is not UTF-8 text, the bytes as characters."""
    return _kept(data) if len(data) <= _LARGEST else _split(data)


def _split(data: bytes) -> list[str]:
    text = plain(data)
    return split_lines(data.decode("latin-1") if text is None else text)


_kept = lru_cache(_KEPT)(_split)
