"""A kind of files: ``KIND`` in each module of ``rails.gate.kinds``, beside ``run_check``.

All are imported at the gate's start, so slow imports belong in functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from rails.core.change_summary import ChangeSummary
    from rails.core.changes import FileChange

#: What is written of a rule in reports: why it is there, and an example of what it finds.
RuleTexts: TypeAlias = "Mapping[str, tuple[str, str]]"


class Kind(Struct, frozen=True):
    """A kind of files. ``suffixes`` (".csv") and ``names`` ("dockerfile") are in lower case.

    ``claims(path, data)`` looks into a file, which is then of this kind alone. Checks with a lower ``place`` run first.
    ``summary`` outlines a change for reviewers; ``rules`` are the texts of all rules.
    """

    name: str
    suffixes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    claims: Callable[[str, bytes], bool] | None = None
    place: int = 90
    summary: Callable[[FileChange], ChangeSummary | None] | None = None
    rules: Callable[[], RuleTexts] | None = None

    def wants(self, path: str) -> bool:
        """Return whether a file's name is of this kind."""
        name = path.rpartition("/")[2].lower()
        return name in self.names or suffix_of(name) in self.suffixes


def suffix_of(path: str) -> str:
    """Return the name's ending with its dot, in lower case, or ""."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if dot and stem else ""
