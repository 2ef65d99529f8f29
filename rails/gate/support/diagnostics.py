"""A linter's diagnostics and the edits that fix them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.verdict import Finding, Severity
from rails.gate.support.advice import remedy_of


class FixEdit(Struct, frozen=True):
    """Replace the text between 1-based (line, column) places by ``content``."""

    start: tuple[int, int]
    end: tuple[int, int]
    content: str


class Diagnostic(Struct, frozen=True):
    """A linter's finding. ``edits`` is its fix, ``safe`` by its account. ``cell``: of a notebook, from 1."""

    rule: str
    message: str
    start: tuple[int, int]
    end: tuple[int, int]
    edits: tuple[FixEdit, ...] = ()
    safe: bool = False
    remedy: str = ""
    severity: Severity = "error"
    cell: int = 1

    def as_finding(self, path: str, tool: str) -> Finding:
        """Return ``tool``'s finding in a file."""
        (line, column), (end_line, end_column) = self.start, self.end
        return Finding(
            path,
            line,
            column,
            RULE if self.rule == SYNTAX else self.rule,
            self.message,
            tool,
            self.severity,
            end_line=end_line,
            end_column=end_column,
            fixable=self.safe,
            remedy=self.remedy or remedy_of(self.rule),
        )


_LINE_END: Final = lazy(r"\r\n|\r|\n")

#: What linters call a text that does not parse, and what we do.
SYNTAX: Final = "invalid-syntax"
RULE: Final = "syntax-error"
#: What stands for findings that are counted and not listed.
MORE: Final = "more-findings"


def first_ones(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics to list, and how many more per rule."""
    kept: list[Diagnostic] = []
    more: Counter[str] = Counter()
    for one in found:
        if len(kept) < limits.FINDINGS_LISTED or (one.rule == SYNTAX and not any(k.rule == SYNTAX for k in kept)):
            kept.append(one)
        else:
            more[one.rule] += 1
    return [*kept, *not_listed(more)]


def not_listed(more: Mapping[str, int]) -> list[Diagnostic]:
    """Return a diagnostic per rule with its unlisted number."""
    words = "more findings of `{}` in this file; they are not listed, and nothing is repaired"
    return [Diagnostic(MORE, f"{count} {words.format(rule)}", (1, 1), (1, 1)) for rule, count in sorted(more.items())]


def apply_fixes(text: str, chosen: Sequence[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """Apply the fixes that don't overlap, the first ones first; return what was applied.

    A fix shared by several findings is applied once and counts for each.
    """
    starts = _line_starts(text)
    taken: list[tuple[int, int, str]] = []
    applied: list[Diagnostic] = []
    with_edits = (one for one in chosen if one.edits)
    for diagnostic in sorted(with_edits, key=lambda one: (one.edits[0].start, one.rule)):
        spans = [
            (_offset(starts, e.start, len(text)), _offset(starts, e.end, len(text)), e.content)
            for e in diagnostic.edits
        ]
        if all(span in taken for span in spans):
            applied.append(diagnostic)
        elif not any(_overlap(span, other) for span in spans for other in taken):
            taken += spans
            applied.append(diagnostic)
    for begin, end, content in sorted(taken, reverse=True):
        text = text[:begin] + content + text[end:]
    return text, applied


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    # Touching insertions count as an overlap too: their order would be a guess. Two deletions that touch are one.
    room = 0 if one[2] or other[2] else 1
    return one[0] + room <= other[1] and other[0] + room <= one[1]


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE_END.finditer(text))]


def _offset(starts: Sequence[int], place: tuple[int, int], size: int) -> int:
    line, column = place
    return min(starts[line - 1] + column - 1, size) if line <= len(starts) else size
