"""The result of planning an answer's edit requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rails.core.changes import ChangeSet, EditResult
from rails.core.errors import Refusal
from rails.core.paths import WorkspacePath

if TYPE_CHECKING:
    from rails.edits.match import Miss


class Plan(Struct, frozen=True):
    """With refusals, ``changes`` is empty.

    ``notes``: what the diff does not show. ``misses``: details of refusals. ``fuzzy``: files with an edit accepted by
    handle. ``merged``: files merged with changes made since the agent read them.
    """

    changes: ChangeSet
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    misses: tuple[Miss, ...] = ()
    fuzzy: tuple[WorkspacePath, ...] = ()
    merged: tuple[WorkspacePath, ...] = ()
    #: What looks like left-out code and is meant, as the agent insists, in sentences.
    insisted: tuple[str, ...] = ()
    #: Each edit, as far as it goes by itself.
    edits: tuple[EditResult, ...] = ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return why a human should look at where the changes went."""
        return (
            *(
                f"Fuzzy match in {path}: the agent's text is not there; it goes to a similar place."
                for path in self.fuzzy
            ),
            *(f"Merged: somebody changed {path} since the agent read it." for path in self.merged),
            *self.insisted,
        )

    @property
    def label(self) -> str:
        """Return how the place was found, for a step's title, or ""."""
        words = [word for word, files in (("fuzzy match", self.fuzzy), ("merged", self.merged)) if files]
        return f" ({', '.join(words)})" if words else ""


class EditError(Exception):
    """A request that cannot be planned: the parts of a Refusal."""

    def __init__(self, code: str, message: str, hint: str = "", miss: Miss | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.miss = miss
