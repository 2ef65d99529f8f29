"""Selects the new findings: by rule, message with numbers masked, and line followed through the diff.

Line numbers fail after an insertion; changed lines miss what breaks elsewhere (an import now unused).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, compress, count
from operator import ne
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.core.similarity import likeness
from rails.core.text import decode_text
from rails.core.verdict import Finding

#: Rule, masked message and text of a finding: what survives a move.
Identity = tuple[str, str, str]
_Key = TypeVar("_Key")
#: 0-based lines in order, by rule and message.
_Lines = dict[tuple[str, str], list[int]]

_LINE_END: Final = lazy(r"\r\n|\r|\n")
#: A number, or a name between quotes: another name is another finding, whatever digits it has.
_NUMBER: Final = lazy(r"(`[^`]*`|'[^']*'|\"[^\"]*\"|[^\W\d]\w*)|\d+")
_HELP_TAIL: Final = lazy(r"\bhelp: .*", re.S)
#: What a line gives its name to; renaming it makes no other finding of one that speaks of it.
_DEFINES: Final = lazy(r"\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:def|class|function)\s+(\w+)")
#: So many characters of a line say which one it was a part of.
_PART: Final = 8
#: Below this share of equal characters a changed line is another line, not a touched one.
_TOUCHED: Final = 0.6
#: Pairs of lines compared in one file, and characters of a line compared: a rewrite has thousands of both.
_TRIES: Final = 2_000
_COMPARED: Final = 300


def split_lines(text: str) -> list[str]:
    r"""Split at ``\n``, ``\r\n`` and ``\r`` only, as compilers and linters do."""
    if "\r" not in text:
        return text.split("\n")
    return _LINE_END.split(text)


def first_difference(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of the first line that differs, or of the shorter text's last."""
    return next(compress(count(1), map(ne, one, other)), min(len(one), len(other)))


@lru_cache(4096)
def without_numbers(message: str) -> str:
    """Return a message without its numbers and help tail."""
    return _NUMBER.sub(lambda found: found[1] or "#", _HELP_TAIL.sub("", message)).strip()


@lru_cache(4096)
def count_in(message: str) -> int:
    """Return the message's first number outside of a name, or -1."""
    return next((int(found[0]) for found in _NUMBER.finditer(message) if not found[1]), -1)


class TextFindings(Struct, frozen=True):
    """One side of a comparison: a file's lines and findings."""

    lines: Sequence[str]
    findings: Sequence[Finding]


def mark_new(
    old: TextFindings, new: TextFindings, *, old_is_broken: bool = False, moved: Iterable[Identity] = ()
) -> list[Finding]:
    """Return the findings of ``new``, each with ``new`` set, as :func:`which_are_new` says."""
    fresh = which_are_new(old, new, old_is_broken=old_is_broken, moved=moved)
    return [replace(finding, new=is_new) for finding, is_new in zip(new.findings, fresh, strict=True)]


def which_are_new(
    old: TextFindings, new: TextFindings, *, old_is_broken: bool = False, moved: Iterable[Identity] = ()
) -> list[bool]:
    """Return whether each finding of ``new`` is new, in order.

    ``old_is_broken``: the old text did not parse; findings on unchanged lines are old. ``moved`` are identities from
    other files; a Counter loses those that explain one.
    """
    return _Comparison(old, new, old_is_broken, moved).run()


def identity(finding: Finding, lines: Sequence[str]) -> Identity:
    """Return rule, masked message, text without spaces: what survives a move."""
    return finding.rule, without_numbers(finding.message), "".join(_line(lines, finding.line - 1).split())


def nameless(finding: Finding, lines: Sequence[str]) -> tuple[str, str]:
    """Return rule, and message without the line's name: what survives an edit."""
    named = _DEFINES.match(_line(lines, finding.line - 1))
    message = re.sub(rf"\b{named[1]}\b", "…", finding.message) if named else finding.message
    return finding.rule, without_numbers(message)


def _line(lines: Sequence[str], index: int) -> str:
    return lines[index] if 0 <= index < len(lines) else ""


class _Comparison:
    """Each old finding explains at most one new finding."""

    def __init__(self, old: TextFindings, new: TextFindings, old_is_broken: bool, moved: Iterable[Identity]) -> None:
        from rails.core.diff import line_map

        self.old = old
        self.new = new
        self.old_is_broken = old_is_broken
        self.map = line_map(old.lines, new.lines)
        self.kept = frozenset(self.map)
        self.by_line: Counter[tuple[str, str, int]] = Counter(map(_placed, old.findings))
        self.elsewhere = moved if isinstance(moved, Counter) else Counter(moved)
        self.tries = _TRIES

    def run(self) -> list[bool]:
        fresh = set[int]()
        pending: list[int] = []
        for index, finding in enumerate(self.new.findings):
            old_line = self._old_line(finding)
            key = finding.rule, without_numbers(finding.message), old_line
            if old_line < 0:
                pending.append(index)
            elif not (self.old_is_broken or _taken(self.by_line, key)):
                fresh.add(index)
        left = [found for found in self.old.findings if _taken(self.by_line, _placed(found))]
        moved = Counter(identity(found, self.old.lines) for found in left)
        pending = [index for index in pending if not _taken(moved, identity(self.new.findings[index], self.new.lines))]
        lines = self._lines_by_rule(left, moved)
        pending = [index for index in pending if not self._touched(self.new.findings[index], lines)]
        for index in pending:
            if not _taken(self.elsewhere, identity(self.new.findings[index], self.new.lines)):
                fresh.add(index)
        return [index in fresh for index in range(len(self.new.findings))]

    def _old_line(self, finding: Finding) -> int:
        index = finding.line - 1
        if index < 0 or (index == 0 and (finding.end_line, finding.end_column) == (1, finding.column)):
            return 0  # what has no extent at the beginning is about the file
        # A position after the last line (end of file) belongs to the last line.
        return self.map[min(index, len(self.map) - 1)] if self.map else -1

    def _lines_by_rule(self, left: Iterable[Finding], moved: Counter[Identity]) -> _Lines:
        """Of equal lines the last stay."""
        lines: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for found in reversed([*left]):
            if _taken(moved, identity(found, self.old.lines)) and found.line - 1 not in self.kept:
                lines[nameless(found, self.old.lines)].append(found.line - 1)
        return {key: sorted(some) for key, some in lines.items()}

    def _touched(self, finding: Finding, left: _Lines) -> bool:
        """Return whether it is old, in the same changed block, on a similar line."""
        candidates = left.get(nameless(finding, self.new.lines))
        if candidates is None:
            return False
        above, below = self._block(finding.line - 1)
        after = _line(self.new.lines, finding.line - 1).strip()[:_COMPARED]
        for place in range(bisect_right(candidates, above), bisect_left(candidates, below)):
            if self.tries == 0:
                break
            self.tries -= 1
            before = _line(self.old.lines, candidates[place]).strip()[:_COMPARED]
            if likeness(before, after) >= _TOUCHED or _is_part(before, after):
                del candidates[place]
                return True
        return False

    def _block(self, index: int) -> tuple[int, int]:
        above, below = self._bounds
        at = min(index, len(self.map))
        return above[at], below[at]

    @cached_property
    def _bounds(self) -> tuple[list[int], list[int]]:
        """Return the nearest unchanged old lines, at or above and at or below, per new line and for the end."""
        end = len(self.old.lines)
        upwards = (place if place >= 0 else end for place in reversed([*self.map, end]))
        return list(accumulate([*self.map, -1], max)), list(accumulate(upwards, min))[::-1]


def _taken(counts: Counter[_Key], key: _Key) -> bool:
    if counts[key] == 0:
        return False
    counts[key] -= 1
    return True


def _is_part(before: str, after: str) -> bool:
    """Compare without spaces, as after a formatter."""
    part = "".join(after.split())
    return len(part) >= _PART and part in "".join(before.split())


def _placed(finding: Finding) -> tuple[str, str, int]:
    return finding.rule, without_numbers(finding.message), max(finding.line - 1, 0)


#: Texts whose lines are kept, and the bytes and lines of one: 22 MB of code, and 45 MB of whatever else.
_KEPT: Final = 64
_LARGEST: Final = 100_000
_MOST: Final = 5_000


def lines_of(data: bytes) -> list[str]:
    """Return shared, constant lines; non-text bytes become characters."""
    small = len(data) <= _LARGEST and data.count(b"\n") + data.count(b"\r") <= _MOST
    return _kept(data) if small else _split(data)


def _split(data: bytes) -> list[str]:
    decoded = decode_text(data)
    return split_lines(data.decode("latin-1") if decoded is None else decoded.text)


_kept = lru_cache(_KEPT)(_split)
