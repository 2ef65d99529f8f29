"""What is new: findings after a change that were not there before it.

A finding's identity is its rule, its message with the numbers masked, and its line followed through
the diff. Comparing line numbers calls nine of ten old findings new as soon as a line is inserted above
them; looking at changed lines only misses what a change breaks elsewhere (an import that is unused now).
"""

from __future__ import annotations

import bisect
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, count
from typing import Final, NamedTuple

from rails.core.dataclass import dataclass, replace
from rails.core.verdict import Finding
from rails.gate.support.diagnostics import plain_text

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_NUMBER: Final = re.compile(r"\d+")
_HELP_TAIL: Final = re.compile(r"\s*\bhelp: .*", re.S)
#: Below this share of equal characters a changed line is another line, not a touched one.
_TOUCHED: Final = 0.6
#: Pairs of lines compared in one file, and characters of a line compared: a rewrite has thousands of both.
_TRIES: Final = 2_000
_COMPARED: Final = 300
#: A gap between anchors is compared line by line up to this many pairs (about 20 ms at worst).
_PAIRS: Final = 400_000

Worth = Callable[[int, int], bool]


def split_lines(text: str) -> list[str]:
    """Split at ``\\n``, ``\\r\\n`` and ``\\r`` only, as compilers and linters count lines."""
    if "\r" not in text:
        return text.split("\n")
    return _LINE_END.split(text)


class _Span(NamedTuple):
    """A stretch of lines on both sides that is still to be compared."""

    old_lo: int
    old_hi: int
    new_lo: int
    new_hi: int


def line_map(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return for each line of ``new`` its 0-based place in ``old``, or -1 where it was added or changed."""
    result = [-1] * len(new)
    for start_old, start_new, length in equal_blocks(old, new):
        result[start_new : start_new + length] = range(start_old, start_old + length)
    return result


def equal_blocks(
    old: Sequence[str], new: Sequence[str], *, pairs: int = _PAIRS, worth: Worth | None = None
) -> Iterator[tuple[int, int, int]]:
    """Yield runs of equal lines as places on both sides and length. Fewer ``pairs``: faster, not always least.

    ``worth`` says for a stretch of ``old`` lines (from, to) whether it must be compared at all.
    """
    return _blocks(old, new, _Span(0, len(old), 0, len(new)), pairs, worth or _always)


def _always(_start: int, _end: int) -> bool:
    return True


def _blocks(
    old: Sequence[str], new: Sequence[str], span: _Span, pairs: int, worth: Worth = _always
) -> Iterator[tuple[int, int, int]]:
    """Yield runs of equal lines: common head and tail, then between lines that occur once on both sides."""
    old_lo, old_hi, new_lo, new_hi = span
    head = _common(old, new, old_lo, new_lo, limit=min(old_hi - old_lo, new_hi - new_lo))
    if head:
        yield old_lo, new_lo, head
        old_lo, new_lo = old_lo + head, new_lo + head
    tail = _common_end(old, new, span=_Span(old_lo, old_hi, new_lo, new_hi))
    if tail:
        old_hi, new_hi = old_hi - tail, new_hi - tail
        yield old_hi, new_hi, tail
    if old_lo == old_hi or new_lo == new_hi or not worth(old_lo, old_hi):
        return
    rest = _Span(old_lo, old_hi, new_lo, new_hi)
    if (old_hi - old_lo) * (new_hi - new_lo) <= pairs:
        import difflib

        matcher = difflib.SequenceMatcher(None, old[old_lo:old_hi], new[new_lo:new_hi], autojunk=False)
        blocks = matcher.get_matching_blocks()
        yield from ((old_lo + block.a, new_lo + block.b, block.size) for block in blocks if block.size)
        return
    for next_old, next_new in _anchors(old, new, rest):
        if next_old > old_lo and next_new > new_lo:
            yield from _blocks(old, new, _Span(old_lo, next_old, new_lo, next_new), pairs, worth)
        yield next_old, next_new, 1
        old_lo, new_lo = next_old + 1, next_new + 1
    if old_lo > rest.old_lo:
        yield from _blocks(old, new, _Span(old_lo, old_hi, new_lo, new_hi), pairs, worth)


def _common(old: Sequence[str], new: Sequence[str], at_old: int, at_new: int, *, limit: int) -> int:
    """Count the equal lines from two places on."""
    differ = map(operator.ne, old[at_old : at_old + limit], new[at_new : at_new + limit])
    return next(compress(count(), differ), limit)


def _common_end(old: Sequence[str], new: Sequence[str], span: _Span) -> int:
    """Count the equal lines at the end of a stretch."""
    limit = min(span.old_hi - span.old_lo, span.new_hi - span.new_lo)
    ours, theirs = reversed(old[span.old_hi - limit : span.old_hi]), reversed(new[span.new_hi - limit : span.new_hi])
    return next(compress(count(), map(operator.ne, ours, theirs)), limit)


def _anchors(old: Sequence[str], new: Sequence[str], span: _Span) -> list[tuple[int, int]]:
    """Return the longest increasing chain of lines that occur exactly once on both sides."""
    old_count = Counter(old[span.old_lo : span.old_hi])
    new_count = Counter(new[span.new_lo : span.new_hi])
    place = {old[i]: i for i in range(span.old_lo, span.old_hi) if old_count[old[i]] == 1}
    once = (j for j in range(span.new_lo, span.new_hi) if new_count[new[j]] == 1)
    pairs = [(place[new[j]], j) for j in once if new[j] in place]
    tops: list[int] = []
    ends: list[int] = []
    previous = [-1] * len(pairs)
    for index, (at, _) in enumerate(pairs):
        pile = bisect.bisect_left(tops, at)
        previous[index] = ends[pile - 1] if pile else -1
        tops[pile : pile + 1] = [at]
        ends[pile : pile + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


@lru_cache(4096)
def without_numbers(message: str) -> str:
    """Return a message without its numbers and help tail: "defined on line 12" is the same at line 14."""
    return _NUMBER.sub("#", _HELP_TAIL.sub("", message)).strip()


@dataclass(frozen=True, slots=True)
class TextFindings:
    """One side of a comparison: the lines of a file and what was found in them."""

    lines: Sequence[str]
    findings: Sequence[Finding]


def mark_new(
    old: TextFindings, new: TextFindings, *, old_is_broken: bool = False, moved: Sequence[tuple[str, str, str]] = ()
) -> list[Finding]:
    """Return the findings of ``new``, each with ``new`` set to whether the change introduced it.

    ``old_is_broken``: the old text did not parse, so nothing is known of it; unchanged lines are then
    taken as they were. ``moved``: identities of findings that left other files of the change.
    """
    verdicts = which_are_new(old, new, old_is_broken=old_is_broken, moved=moved)
    return [with_new(finding, is_new) for finding, is_new in zip(new.findings, verdicts, strict=True)]


def with_new(finding: Finding, is_new: bool) -> Finding:
    """Return the finding with ``new`` set."""
    return finding if finding.new == is_new else replace(finding, new=is_new)


def which_are_new(
    old: TextFindings, new: TextFindings, *, old_is_broken: bool = False, moved: Sequence[tuple[str, str, str]] = ()
) -> list[bool]:
    """For each finding of ``new``, in order, whether the change introduced it; parameters as in :func:`mark_new`."""
    return _Comparison(old, new, old_is_broken, moved).run()


def identity(finding: Finding, lines: Sequence[str]) -> tuple[str, str, str]:
    """Return what a finding keeps when its line moves: rule, masked message, text without spaces."""
    return finding.rule, without_numbers(finding.message), "".join(_line(lines, finding.line - 1).split())


def _line(lines: Sequence[str], index: int) -> str:
    return lines[index] if 0 <= index < len(lines) else ""


class _Comparison:
    """One comparison: each old finding can explain at most one new finding."""

    def __init__(
        self, old: TextFindings, new: TextFindings, old_is_broken: bool, moved: Sequence[tuple[str, str, str]]
    ) -> None:
        self.old, self.new, self.old_is_broken = old, new, old_is_broken
        self.map = line_map(old.lines, new.lines)
        self.kept = frozenset(self.map)
        self.by_line: Counter[tuple[str, str, int]] = Counter(map(_placed, old.findings))
        self.elsewhere = Counter(moved)
        self.tries = _TRIES

    def run(self) -> list[bool]:
        """Match unchanged lines first, then exact moves, then touched lines, then moves from other files."""
        verdicts: dict[int, bool] = {}
        pending: list[int] = []
        for index, finding in enumerate(self.new.findings):
            old_line = self._old_line(finding)
            if old_line < 0:
                pending.append(index)
            else:
                verdicts[index] = not (self.old_is_broken or self._take(finding, old_line))
        moved = self._left_over()
        pending = [index for index in pending if not moved.pop_one(identity(self.new.findings[index], self.new.lines))]
        left = moved.by_rule()
        pending = [index for index in pending if not self._touched(self.new.findings[index], left)]
        for index in pending:
            verdicts[index] = not self._came_from_elsewhere(self.new.findings[index])
        return [verdicts.get(index, False) for index in range(len(self.new.findings))]

    def _old_line(self, finding: Finding) -> int:
        index = finding.line - 1
        if index < 0:
            return 0
        # A position after the last line (end of file) belongs to the last line.
        return self.map[min(index, len(self.map) - 1)] if self.map else -1

    def _take(self, finding: Finding, old_line: int) -> bool:
        key = finding.rule, without_numbers(finding.message), old_line
        if self.by_line[key] == 0:
            return False
        self.by_line[key] -= 1
        return True

    def _left_over(self) -> _LeftOver:
        """Return the old findings that nothing matched yet."""
        left = _LeftOver()
        remaining = Counter(self.by_line)
        for finding in self.old.findings:
            key = _placed(finding)
            if remaining[key]:
                remaining[key] -= 1
                left.found[identity(finding, self.old.lines)].append(finding)
        return left

    def _touched(self, finding: Finding, left: dict[tuple[str, str], list[Finding]]) -> bool:
        """Whether a finding is an old one on a line that was edited: same stretch of changes, similar text."""
        candidates = left.get((finding.rule, without_numbers(finding.message)), [])
        above, below = self._stretch(finding.line - 1) if candidates else (0, 0)
        after = _line(self.new.lines, finding.line - 1).strip()
        for position, candidate in enumerate(candidates):
            line = candidate.line - 1
            if line in self.kept or not above < line < below:
                continue
            if self.tries == 0:
                break
            self.tries -= 1
            if _similar(_line(self.old.lines, line).strip(), after):
                del candidates[position]
                return True
        return False

    def _stretch(self, index: int) -> tuple[int, int]:
        """Return the old lines that bound the changed stretch around a new line."""
        last = min(index, len(self.map) - 1)
        above = next((self.map[i] for i in range(last, -1, -1) if self.map[i] >= 0), -1)
        below = next((self.map[i] for i in range(index, len(self.map)) if self.map[i] >= 0), len(self.old.lines))
        return above, below

    def _came_from_elsewhere(self, finding: Finding) -> bool:
        key = identity(finding, self.new.lines)
        if not self.elsewhere[key]:
            return False
        self.elsewhere[key] -= 1
        return True


class _LeftOver:
    """Old findings by what they keep when their line moves."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)

    def pop_one(self, key: tuple[str, str, str]) -> bool:
        """Take one finding with this identity away; return whether there was one."""
        return bool(self.found.get(key)) and bool(self.found[key].pop(0))

    def by_rule(self) -> dict[tuple[str, str], list[Finding]]:
        """Return what is left by rule and message, in the order of lines."""
        left: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for key, findings in self.found.items():
            left[key[:2]] += findings
        return {key: sorted(findings, key=lambda found: found.line) for key, findings in left.items()}


def _placed(finding: Finding) -> tuple[str, str, int]:
    return finding.rule, without_numbers(finding.message), finding.line - 1


def _similar(one: str, other: str) -> bool:
    import difflib

    matcher = difflib.SequenceMatcher(None, one[:_COMPARED], other[:_COMPARED], autojunk=False)
    return matcher.real_quick_ratio() >= _TOUCHED and matcher.quick_ratio() >= _TOUCHED and matcher.ratio() >= _TOUCHED


#: Texts whose lines are kept, and the bytes and lines of one: 22 MB of code, and 45 MB of whatever else.
_KEPT: Final = 64
_LARGEST: Final = 100_000
_MOST: Final = 5_000


def lines_of(data: bytes) -> list[str]:
    """Return the lines of ``data``, not to be changed; of what is not UTF-8 text, the bytes as characters."""
    small = len(data) <= _LARGEST and data.count(b"\n") + data.count(b"\r") <= _MOST
    return _kept(data) if small else _split(data)


def _split(data: bytes) -> list[str]:
    text = plain_text(data)
    return split_lines(data.decode("latin-1") if text is None else text)


_kept = lru_cache(_KEPT)(_split)
