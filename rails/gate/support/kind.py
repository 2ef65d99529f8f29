"""A kind of files: which files a check wants, and what else is known of them.

A module of ``rails.gate.kinds`` has one, ``KIND``, beside its ``run_check``. All of these modules are imported at the
start of the gate: what takes time to import stands inside their functions.
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
    """Which files are of this kind. ``suffixes`` (".csv") and ``names`` ("dockerfile") are in lower case.

    ``claims(path, data)`` looks into a file: one that it claims is of this kind alone. ``place`` orders the checks;
    lower ones run first. ``summary`` returns what a change does, for those who decide about it; ``rules`` the texts
    of all rules.
    """

    name: str
    suffixes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    claims: Callable[[str, bytes], bool] | None = None
    place: int = 90
    summary: Callable[[FileChange], ChangeSummary | None] | None = None
    rules: Callable[[], RuleTexts] | None = None

    def wants(self, path: str) -> bool:
        """Say whether the name of a file makes it one of this kind."""
        name = path.rpartition("/")[2].lower()
        return name in self.names or suffix_of(name) in self.suffixes


def suffix_of(path: str) -> str:
    """Return the ending of a file's name with its dot, in lower case; empty where there is none."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if dot and stem else ""
