"""Selects the new findings: by rule, message with numbers masked, and line followed through the diff.

Line numbers fail after an insertion; changed lines miss what breaks elsewhere (an import now unused).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, compress, count
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
#: Old findings by a key, in order.
Known = dict[_Key, deque[Finding]]

_LINE_END: Final = lazy(r"\r\n|\r|\n")
#: A number, or a name between quotes: another name is another finding, whatever digits it has.
_NUMBER: Final = lazy(r"(`[^`]*`|'[^']*'|\"[^\"]*\"|[^\W\d]\w*)|\d+")
#: Rules that count: how complex, how deep, how long, how many. More than before is worse than before.
_COUNTED: Final = lazy(r"C901|PLR09\d\d|PLR1702|complexity|^max-|sonarjs/cognitive|more-findings|noExcessive")
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


def count_in(message: str) -> int:
    """Return the message's first number outside of a name, or -1."""
    return next((int(found[0]) for found in _NUMBER.finditer(message) if not found[1]), -1)


class TextFindings(Struct, frozen=True):
    """One side of a comparison: a file's lines and findings."""

    lines: Sequence[str]
    findings: Sequence[Finding]


def new_findings(
    old: TextFindings, new: TextFindings, *, old_is_broken: bool = False, moved: Known[Identity]
) -> list[Finding]:
    """Return the findings of ``new`` that are new; one that was there is if its count grew.

    ``old_is_broken``: the old text did not parse; findings on unchanged lines are old. ``moved`` are findings that left
    other files; it loses those that explain one.
    """
    known = explained(old, new, old_is_broken=old_is_broken, moved=moved)
    return [one for one in map(_new, new.findings, known) if one]


def which_are_new(old: TextFindings, new: TextFindings, *, old_is_broken: bool = False) -> list[bool]:
    """Return whether each finding of ``new`` is new, whatever its count was, in order."""
    return [was is None for was in explained(old, new, old_is_broken=old_is_broken, moved={})]


def _new(finding: Finding, was: Finding | None) -> Finding | None:
    if was is None:
        return finding
    before = count_in(was.message)
    if not _COUNTED.search(finding.rule) or count_in(finding.message) <= before:
        return None
    message = f"worse than before ({before}): {finding.message}"
    return replace(finding, worse_than=before, message=message, remedy=f"Bring it back to {before} or below.")


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


def explained(
    old: TextFindings, new: TextFindings, *, old_is_broken: bool, moved: Known[Identity]
) -> list[Finding | None]:
    """Return the old finding that explains each of ``new``; each explains at most one."""
    from rails.core.diff import line_map

    places = line_map(old.lines, new.lines)
    by_line = _grouped(old.findings, lambda found: _placed(found, max(found.line - 1, 0)))
    by: list[Finding | None] = [None] * len(new.findings)
    pending = []
    for index, finding in enumerate(new.findings):
        line = _old_line(finding, places)
        if line < 0:
            pending.append(index)
        else:
            by[index] = finding if old_is_broken else _take(by_line, _placed(finding, line))
    left = _grouped(chain.from_iterable(by_line.values()), lambda found: identity(found, old.lines))
    for index in pending:
        by[index] = _take(left, identity(new.findings[index], new.lines))
    pending = [index for index in pending if by[index] is None]
    if pending:
        gone = TextFindings(old.lines, [*chain.from_iterable(left.values())])
        for index, known in _touched(gone, new, places, pending):
            by[index] = known
    for index in pending:
        by[index] = by[index] or _take(moved, identity(new.findings[index], new.lines))
    return by


def _old_line(finding: Finding, places: Sequence[int]) -> int:
    index = finding.line - 1
    if index < 0 or (index == 0 and (finding.end_line, finding.end_column) == (1, finding.column)):
        return 0  # what has no extent at the beginning is about the file
    # A position after the last line (end of file) belongs to the last line.
    return places[min(index, len(places) - 1)] if places else -1


def _touched(
    gone: TextFindings, new: TextFindings, places: Sequence[int], pending: Iterable[int]
) -> Iterator[tuple[int, Finding]]:
    """Yield which are explained by one that is gone from a similar line, in the same changed block."""
    kept = [place for place in places if place >= 0]
    # How many lines stayed above a line: of the old text, and of each of the new one and its end.
    stayed = frozenset(kept)
    above = [0, *accumulate(place >= 0 for place in places)]
    left = sorted((found for found in gone.findings if found.line - 1 not in stayed), key=lambda found: found.line)
    blocks = _grouped(left, lambda found: (bisect_left(kept, found.line - 1), *nameless(found, gone.lines)))
    tries = _TRIES
    for index in pending:
        finding = new.findings[index]
        at = min(finding.line - 1, len(places))
        after = _line(new.lines, finding.line - 1).strip()[:_COMPARED]
        some = blocks[above[at], *nameless(finding, new.lines)]
        for known in some:
            tries -= 1
            if tries < 0:
                return
            before = _line(gone.lines, known.line - 1).strip()[:_COMPARED]
            if likeness(before, after) >= _TOUCHED or _is_part(before, after):
                some.remove(known)
                yield index, known
                break


def _grouped(findings: Iterable[Finding], key: Callable[[Finding], _Key]) -> Known[_Key]:
    found: Known[_Key] = defaultdict(deque)
    for finding in findings:
        found[key(finding)].append(finding)
    return found


def _take(known: Known[_Key], key: _Key) -> Finding | None:
    return known[key].popleft() if known.get(key) else None


def _is_part(before: str, after: str) -> bool:
    part = "".join(after.split())
    return len(part) >= _PART and part in "".join(before.split())


def _placed(finding: Finding, index: int) -> tuple[str, str, int]:
    return finding.rule, without_numbers(finding.message), index


def lines_of(data: bytes) -> list[str]:
    """Return the lines; bytes that are no text become characters."""
    decoded = decode_text(data)
    return split_lines(data.decode("latin-1") if decoded is None else decoded.text)
