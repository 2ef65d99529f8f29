"""Does a Python text compile, known that a text much like it does? Only the statements that differ are compiled.

The lines before and after a change are cut where a statement of the module begins. What stands between must
compile alone; what stands around it did. The compiler looks across such a border only for what :func:`_plain`
excludes, so a text with any of that, or whose changed part does not compile alone (an ``else`` without its
``if``), is compiled whole, and so is every text that has a mistake: its message comes from nowhere else.
"""

from __future__ import annotations
import __future__

import ast
import bisect
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress, count
from typing import Final

from rails.gate.lines import lines_of
from rails.gate.ruff import plain
from rails.gate.syntax import quietly

_FUTURE: Final = b"__future__"
#: How a text may be compiled, depending on what it imports from the future.
_MODES: Final = (0, __future__.annotations.compiler_flag)
_GLOBAL: Final = re.compile(r"\bglobal\b")
_REFUSED: Final = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)


class _UnlikeError(Exception):
    """Two texts that cannot be compared statement by statement, or where nothing is won by it."""


@dataclass(slots=True)
class Compiled:
    """A text that compiles. ``starts``, made when first needed, are the lines before which it can be cut."""

    data: bytes
    starts: list[int] | None = None

    def borders(self) -> list[int]:
        """Return the 0-based lines on which a statement of the module begins, and where the text ends."""
        if self.starts is None:
            self.starts = _borders(lines_of(self.data))
        return self.starts


@dataclass(frozen=True, slots=True)
class _Part:
    """The statements in which a text differs, as they were and as they are; ``end`` is a line of the old text."""

    start: int
    end: int
    old: str
    new: str
    size: int


def still_compiles(known: Compiled, data: bytes) -> Compiled | None:
    """Return ``data`` as a text that compiles, or ``None`` when that cannot be said without compiling all of it."""
    try:
        part = _part(known, data)
        with quietly():
            for flags in _MODES[: 2 if _FUTURE in data else 1]:
                compile(part.new, "<changed>", "exec", flags=flags, dont_inherit=True)
            lines = part.new.split("\n")
            inner = _borders(lines)
    except (_UnlikeError, *_REFUSED):
        return None
    borders = known.borders()
    before = borders[: bisect.bisect_left(borders, part.start)]
    after = borders[bisect.bisect_left(borders, part.end) :]
    moved = part.start + part.size - part.end
    starts = {*before, *(part.start + line for line in inner), *(line + moved for line in after)}
    return Compiled(data, sorted(starts))


def same_statements(known: Compiled, data: bytes, most: int, same: Callable[[str, str], bool]) -> bool:
    """Whether the statements in which ``data`` differs are the ``same`` program; no, if they have ``most`` lines."""
    try:
        part = _part(known, data)
    except (_UnlikeError, *_REFUSED):
        return False
    return part.new.count("\n") + part.old.count("\n") < most and same(part.old, part.new)


def _plain(data: bytes) -> bool:
    """Whether no statement of a text says anything of another, as far as the compiler is concerned.

    One can: that a name of the module is global, that ``!=`` is written otherwise, in which encoding the file is.
    Line ends other than ``\\n`` are left out because they are counted in another way.
    """
    if b"\r" in data or b"\0" in data or b"barry_as" in data or b"coding" in b"".join(data.split(b"\n", 2)[:2]):
        return False
    text = plain(data)
    return text is not None and ("global" not in text or _GLOBAL.search(text) is None)


def _part(known: Compiled, data: bytes) -> _Part:
    if not _plain(data) or not _plain(known.data):
        raise _UnlikeError
    old, new = lines_of(known.data), lines_of(data)
    limit = min(len(old), len(new))
    head = next(compress(count(), map(operator.ne, old, new)), limit)
    tail = next(compress(count(), map(operator.ne, reversed(old), reversed(new))), limit)
    tail = min(tail, limit - head)
    if 2 * (len(new) - head - tail) > len(new):
        raise _UnlikeError
    borders = known.borders()
    start = borders[bisect.bisect_right(borders, head) - 1]
    after = bisect.bisect_left(borders, max(len(old) - tail, start))
    end = borders[after] if after < len(borders) else len(old)
    stop = len(new) - (len(old) - end)
    if stop < start or (stop > start and new[stop - 1].endswith("\\")):
        raise _UnlikeError
    if any(_FUTURE in text and _last_line(text) >= start for text in (data, known.data)):
        raise _UnlikeError  # such an import belongs above the part, where it was: then the rest is compiled alike
    return _Part(start, end, _text(old, start, end), _text(new, start, stop), stop - start)


def _last_line(data: bytes) -> int:
    """Return the 0-based line of the last import from the future, or of what looks like one."""
    return data.count(b"\n", 0, data.rfind(_FUTURE))


def _text(lines: Sequence[str], start: int, end: int) -> str:
    """Return some lines of a text, each with its end."""
    some = "\n".join(lines[start:end])
    return f"{some}\n" if start < end < len(lines) else some


def _borders(lines: Sequence[str]) -> list[int]:
    """Return the lines before which a text can be cut: no statement, and no continued line, reaches across."""
    found, reached = [0], 0
    for statement in ast.parse("\n".join(lines)).body:
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1
        if 0 < first >= reached and not lines[first - 1].endswith("\\"):
            found.append(first)
        reached = statement.end_lineno or first + 1
    last = len(lines) - 1
    if 0 < last >= reached and not lines[last] and not lines[last - 1].endswith("\\"):
        found.append(last)
    return found
