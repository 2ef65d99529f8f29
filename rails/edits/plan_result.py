"""The plan of an answer's edit requests: the value that planning gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rails.core.changes import ChangeSet, EditResult
from rails.core.errors import Refusal
from rails.core.paths import WorkspacePath

if TYPE_CHECKING:
    from rails.edits.match import Miss


class Plan(Struct, frozen=True):
    """The plan of the requests. If there are refusals, ``changes`` is empty.

    ``notes`` say what is not plain from the diff ("lines 3–9 matched after indentation correction (rung 5)").
    ``misses`` are the refusals' facts in full: strategies, candidates, handles. ``fuzzy`` are files with an edit at a
    place that was only alike and was accepted by its handle, ``merged`` files whose changes were put beside somebody
    else's, made since the agent read them.
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
        """Why a human should look at where the changes went, in sentences."""
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
        """What a step's title says of it: how its place was found, where that was not plain."""
        words = [word for word, files in (("fuzzy match", self.fuzzy), ("merged", self.merged)) if files]
        return f" ({', '.join(words)})" if words else ""


class EditError(Exception):
    """Why a request cannot be planned: the parts of a Refusal."""

    def __init__(self, code: str, message: str, hint: str = "", miss: Miss | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.miss = code, message, hint, miss
