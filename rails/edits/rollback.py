"""Recovery from an interrupted change set; others' bytes are never overwritten."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rails.edits.journal import Journal
from rails.edits.safe_files import UnsafeFileError, Workspace
from rails.edits.swap import AFTER, BEFORE, OTHER, State, keep, look, put_back

#: How a sentence about what was kept begins.
_KEPT: Final = {OTHER: "An earlier save of", BEFORE: "The old text of"}


def file_states(workspace: Workspace, journal: Journal) -> list[State]:
    """Return each file's current state. Raises OSError."""
    return [look(workspace, entry) for entry in journal.entries]


def is_complete(found: Sequence[State]) -> bool:
    """Return whether all is on disk, apart from what others overwrote since."""
    ours = [state for state in found if state.now == AFTER and state.slot != OTHER]
    later = [state for state in found if state.was_after]
    return len(ours) + len(later) == len(found) and (bool(ours) or any(state.slot for state in later) or not found)


def roll_back(workspace: Workspace, journal: Journal) -> tuple[list[str], list[str]]:
    """Put files back, except those that somebody else wrote. Raises OSError.

    Returns what was done, and what was kept where.
    """
    done = any(state.now == AFTER for state in file_states(workspace, journal))
    states = [put_back(workspace, entry) for entry in reversed(journal.entries)][::-1]
    kept = clear(workspace, states)
    for parts in reversed(journal.folders):
        with suppress(OSError, UnsafeFileError):  # not made yet, or no longer empty
            workspace.remove_folder(parts)
    said = left_alone(states)
    if done:
        names = ", ".join(str(entry.path) for entry in journal.entries)
        said.insert(0, f"An interrupted change was rolled back: {names}.")
    return said, kept


def left_alone(states: Sequence[State]) -> list[str]:
    """Return a sentence for each file that somebody else changed."""
    names = [state.entry.path for state in states if state.is_foreign]
    return [f"{name} was changed by someone else meanwhile and was not touched." for name in names]


def clear(workspace: Workspace, states: Sequence[State], *, old_too: bool = True) -> list[str]:
    """Remove the slots beside the files, and sync. Raises OSError.

    Others' saves are kept, and old bytes beside them if ``old_too``. Returns a sentence for each.
    """
    kept = []
    touched = {}
    for state in states:
        entry = state.entry
        folder = state.folder
        if folder is None:
            continue
        touched[folder] = True
        if state.slot == OTHER or (old_too and state.slot == BEFORE and state.is_foreign):
            place = keep(workspace, entry, entry.slot, folder)
            kept.append(f"{_KEPT[state.slot]} {entry.path} is in {place}.")
        elif state.slot:
            workspace.disk.unlink(entry.slot, folder)
    for folder in touched:
        workspace.disk.sync(folder)
    return kept
