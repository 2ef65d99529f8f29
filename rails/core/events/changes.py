"""Proposed files: planned, judged, written, undone; results of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rails.core.builtin_tools import RUN_TESTS
from rails.core.changes import ChangedFile, EditResult
from rails.core.errors import Refusal
from rails.core.events.base import Event, EventWithWords
from rails.core.events.turn import first_of
from rails.core.events.values import verdict_to_json
from rails.core.tool_request import Json
from rails.core.verdict import Verdict

_DONE: Final = {"create": "Created", "modify": "Edited", "delete": "Deleted"}


def changes_in_words(changes: Sequence[ChangedFile]) -> str:
    """Return the changes in words, by file."""
    return ", ".join(f"{_DONE.get(one.kind, one.kind)} {one.path}" for one in changes)


class ChangePlanned(Event, frozen=True, tag="CHANGE_PLANNED"):
    """Requests became a change set. ``fuzzy`` and ``merged``: files whose place or content took care; ``edits``: which
    are in it.
    """

    ids: tuple[str, ...]
    changes: tuple[ChangedFile, ...]
    notes: tuple[str, ...]
    fuzzy: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    edits: tuple[EditResult, ...] = ()

    @property
    def message(self) -> str:
        """The planned changes."""
        return changes_in_words(self.changes)


class ChangeRefused(Event, frozen=True, tag="CHANGE_REFUSED"):
    """Requests made no change set; ``edits``: whether each could be made alone."""

    ids: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    edits: tuple[EditResult, ...] = ()

    @property
    def message(self) -> str:
        """The first refusal."""
        return first_of(self.refusals)


class PlaceChosen(Event, frozen=True, tag="PLACE_CHOSEN"):
    """A human placed a refused edit, in an earlier version: name, lines, likeness (0 to 1)."""

    id: str
    path: str
    refusal: str
    handle: str
    first_line: int
    last_line: int
    likeness: float

    @property
    def message(self) -> str:
        """The chosen place."""
        place = f"lines {self.first_line}–{self.last_line} of {self.path} chosen by the human"
        return f"{place}: a fuzzy match" if self.likeness < 1 else place


class GateVerdict(Event, frozen=True, tag="GATE_VERDICT"):
    """The checks' verdict, and the unified diff. Read back, it has no proposal."""

    ids: tuple[str, ...]
    duration_ms: float
    diff: str
    verdict: Verdict

    @property
    def message(self) -> str:
        """The verdict in a word."""
        return f"gate: {self.verdict.status}"

    def to_json(self) -> dict[str, Json]:
        """Return the details of the event's record."""
        facts = super().to_json()
        del facts["verdict"]
        return {**facts, **verdict_to_json(self.verdict)}

    @classmethod
    def from_json(cls, message: str, details: Mapping[str, Json]) -> GateVerdict:
        """Return the event of a record."""
        return super().from_json(message, {**details, "verdict": dict(details)})


class ExecutionStarted(Event, frozen=True, tag="EXECUTION_STARTED"):
    """Files or a tool come next; on disk before the first byte changes."""

    ids: tuple[str, ...]
    digest: str | None = None
    changes: tuple[ChangedFile, ...] | None = None
    tool: str = ""

    @property
    def message(self) -> str:
        """The files, or the tool."""
        return self.tool or changes_in_words(self.changes or ())


class ToolExecutionResult(Event, frozen=True, kw_only=True, tag="TOOL_EXECUTION_RESULT"):
    """Files were written (not, if ``changes`` is empty), or a tool ran."""

    ids: tuple[str, ...]
    ok: bool
    text: str
    changes: tuple[ChangedFile, ...] | None = None
    tool: str = ""
    facts: Mapping[str, Json] | None = None
    duration_ms: float

    @property
    def message(self) -> str:
        """The files, or how the tool ended."""
        if self.tool:
            return f"{self.tool} {'finished' if self.ok else 'failed'}"
        return changes_in_words(self.changes) if self.changes else self.text

    @property
    def ran_tests(self) -> bool:
        """Whether it was a run of tests."""
        return self.tool == RUN_TESTS.name or bool(self.facts and self.facts.get("tests"))


class CheckpointEvent(EventWithWords, frozen=True, tag="CHECKPOINT"):
    """A step that can be undone."""

    step: int
    paths: tuple[str, ...]


class Undo(Event, frozen=True, tag="UNDO"):
    """A step was undone, or (``redo``) redone."""

    step: int
    paths: tuple[str, ...]
    redo: bool
    changes: tuple[ChangedFile, ...]

    @property
    def message(self) -> str:
        """The step, and whether undone or redone."""
        return f"step {self.step} {'done again' if self.redo else 'undone'}"
