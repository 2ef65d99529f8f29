"""Replaces, makes and removes the project's files; nothing else does.

A file and its slot, a name beside it that is ours, are exchanged in one system call; a save that came out is
exchanged back. Only slots are removed, and only if the journal has their bytes. Not covered: a program that writes on
into a file it opened before. Where the system cannot exchange (macOS, some network disks), a replaced file is away
for an instant; without exclusive rename and hard links too, a file made then is overwritten.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from msgspec import Struct

from rails.edits.journal import Entry
from rails.edits.safe_files import Snapshot, UnsafeFileError, Workspace, write_new

#: What a name holds: what it held before the change or holds after it (nothing, where the file is made or deleted),
#: what somebody else put there, nothing although both are something; a slot may also hold the very file of the name.
BEFORE = "before"
AFTER = "after"
OTHER = "other"
GONE = "gone"
TWIN = "twin"
EMPTY: Final = ""
#: How the names end under which a file is written before it is in the slot, and goes where there is no exchange.
PART: Final = ".part"
_OUT: Final = ".out"
_RECOVERED: Final = (".rails", "recovered")
#: How often somebody may save one file while it is exchanged before their last save but one is kept beside.
_TRIES: Final = 8


class State(Struct, frozen=True):
    """The content of a file's name and slot; ``folder`` is None if it does not exist."""

    entry: Entry
    folder: int | None
    now: str
    slot: str = EMPTY
    slot_mode: int = 0
    is_there: bool = False

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else wrote or deleted the file."""
        return self.now in (OTHER, GONE)

    @property
    def was_after(self) -> bool:
        """Whether somebody overwrote our bytes, as far as the slot shows."""
        return self.is_foreign and self.slot in (EMPTY, TWIN, BEFORE)


def look(workspace: Workspace, entry: Entry) -> State:
    """Return the current state. Raises OSError if that is unknown."""
    try:
        folder = workspace.folder(entry.path.parts[:-1])
    except UnsafeFileError:
        folder = None
    if folder is None:
        return State(entry, None, _nothing(entry))
    now, file = _held(workspace, entry, entry.path.name, folder)
    slot, waiting = _held(workspace, entry, entry.slot, folder)
    if file and waiting and file.identity == waiting.identity:
        slot = TWIN
    mode = waiting.mode if waiting else 0
    return State(entry, folder, now or _nothing(entry), slot, mode, now != EMPTY)


def _nothing(entry: Entry) -> str:
    """Return what it is that the name holds nothing."""
    return BEFORE if entry.before is None else AFTER if entry.after is None else GONE


def _held(workspace: Workspace, entry: Entry, name: str, folder: int) -> tuple[str, Snapshot | None]:
    try:
        found = workspace.read_name(name, folder)
    except UnsafeFileError:
        return OTHER, None
    if found is None:
        return EMPTY, None
    if found.data == entry.after and (entry.before != entry.after or found.mode == entry.mode):
        return AFTER, found
    return BEFORE if found.data == entry.before else OTHER, found


def put_forward(workspace: Workspace, entry: Entry) -> State:
    """Put the new content in place, unless somebody else's is there. Raises OSError."""
    return _bring(workspace, entry, AFTER)


def put_back(workspace: Workspace, entry: Entry) -> State:
    """Put the old content back, unless somebody else's is there. Raises OSError."""
    tidy(workspace, entry)
    return _bring(workspace, entry, BEFORE)


def _bring(workspace: Workspace, entry: Entry, wanted: str) -> State:
    for _ in range(_TRIES):
        state = look(workspace, entry)
        if wanted == BEFORE:
            state = _with_old_bytes(workspace, state)
        if state.folder is None or not _belongs(state, wanted):
            return state
        with suppress(FileExistsError, FileNotFoundError):  # somebody came between: look again
            _exchange(workspace, state, state.folder)
    return look(workspace, entry)


def _belongs(state: State, wanted: str) -> bool:
    if state.slot == OTHER:
        return state.now != OTHER
    if state.is_foreign or state.now == wanted:
        return False
    nothing = (state.entry.before if wanted == BEFORE else state.entry.after) is None
    return state.slot == (EMPTY if nothing else wanted)


def _with_old_bytes(workspace: Workspace, state: State) -> State:
    entry = state.entry
    folder = state.folder
    if folder is None or state.now != AFTER or state.slot in (BEFORE, OTHER):
        return state
    if entry.before is not None:
        write_slot(workspace, entry, folder, entry.before, entry.before_mode)
    elif state.slot:
        workspace.disk.unlink(entry.slot, folder)
    return look(workspace, entry)


def write_slot(
    workspace: Workspace, entry: Entry, folder: int, data: bytes, mode: int, *, owner: tuple[int, int] | None = None
) -> None:
    """Write the slot, synced, entirely or not at all. Raises OSError."""
    write_new(workspace.disk, entry.slot + PART, folder, data, mode, owner=owner)
    workspace.disk.rename(entry.slot + PART, entry.slot, folder)


def _exchange(workspace: Workspace, state: State, folder: int) -> None:
    disk = workspace.disk
    name = state.entry.path.name
    slot = state.entry.slot
    if not state.is_there:
        disk.move(slot, name, folder)
    elif not state.slot:
        disk.rename(name, slot, folder)
    elif not disk.exchange(slot, name, folder):
        disk.rename(name, slot + _OUT, folder)
        with suppress(FileExistsError):
            disk.move(slot, name, folder)
        tidy(workspace, state.entry)


def tidy(workspace: Workspace, entry: Entry) -> None:
    """Finish a half-written slot or an exchange in three steps."""
    state = look(workspace, entry)
    disk = workspace.disk
    out = entry.slot + _OUT
    if state.folder is None:
        return
    with suppress(FileNotFoundError):
        disk.unlink(entry.slot + PART, state.folder)
    taken_out, _ = _held(workspace, entry, out, state.folder)
    if not taken_out:
        return
    if not state.is_there and _moved(workspace, out, entry.path.name, state.folder):
        return
    if taken_out != OTHER and state.slot:
        disk.unlink(out, state.folder)
    elif state.slot != OTHER:
        disk.rename(out, entry.slot, state.folder)
    else:
        keep(workspace, entry, out, state.folder)


def _moved(workspace: Workspace, old: str, new: str, folder: int) -> bool:
    try:
        workspace.disk.move(old, new, folder)
    except FileExistsError:
        return False
    return True


def keep(workspace: Workspace, entry: Entry, name: str, folder: int) -> str:
    """Move ``name`` to where a person finds it. Return the place, from the project."""
    target = workspace.make_folder(_RECOVERED)
    first = f"{entry.slot.removeprefix('.ai-rails-')}-{entry.path.name[-50:]}"
    for kept in (first, *(f"{number}-{first}" for number in range(2, _TRIES))):
        try:
            workspace.disk.link(name, kept, folder, target)
        except FileExistsError:
            continue
        except OSError:
            break  # a folder, another disk, or one without second names
        workspace.disk.sync(target)
        workspace.disk.unlink(name, folder)
        return "/".join((*_RECOVERED, kept))
    return "/".join((*entry.path.parts[:-1], name))
