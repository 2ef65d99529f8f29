"""The diagnostics that a change introduced, computed once per text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from rails.core.verdict import Finding
from rails.gate.baseline import TextFindings, lines_of, which_are_new
from rails.gate.support.diagnostics import Diagnostic


class NewFindings:
    """Compares with the text ``before`` (``None``: none) and its findings.

    ``before_is_broken``: it did not parse.
    """

    def __init__(self, before: bytes | None, findings: Sequence[Finding], *, before_is_broken: bool) -> None:
        self._before = before
        self._findings = findings
        self._broken = before_is_broken
        self._places: dict[bytes, set[tuple[str, int, int]]] = {}

    def among(self, some: list[Diagnostic], data: bytes, found: Sequence[Finding]) -> list[Diagnostic]:
        """Return the new ones of ``some``; ``found`` are all findings in ``data``."""
        if self._before is None or not some:
            return some
        if data not in self._places:
            old = TextFindings(lines_of(self._before), self._findings)
            fresh = which_are_new(old, TextFindings(lines_of(data), found), old_is_broken=self._broken)
            self._places[data] = {(one.rule, one.line, one.column) for one in compress(found, fresh)}
        return [one for one in some if (one.rule, *one.start) in self._places[data]]
