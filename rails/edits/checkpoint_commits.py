"""One step of the history as a commit: written for ``git fast-import``, and read back.

The tree holds the step's files, ``before/<path>`` and ``after/<path>``. The message is a title, a blank line and one
JSON line: ``v`` (2), ``session``, ``step``, ``seq`` (among all steps of the project, from 1), ``kind``, ``undoes`` (a
step, or 0), ``journal`` (its id), ``folders`` (made for the step) and ``files`` (``path``, ``mode``, ``before_mode``,
``kind``). Version 1, still read, had no ``seq``, ``journal`` and ``before_mode``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Final, Literal

import msgspec
from msgspec.structs import asdict, replace

from rails.core import paths
from rails.core.changes import ChangeSet
from rails.core.lazy_pattern import lazy
from rails.core.paths import WorkspacePath
from rails.core.text import sha256

CheckpointKind = Literal["change", "undo", "redo"]

#: How ``git log`` prints a step so that :func:`parse_checkpoint` can read it.
FORMAT: Final = "--format=%H%n%ct%n%B"
_NAME: Final = lazy(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


#: How the names begin under which the steps of ``gate --fix`` are kept, which belong to no session.
_FIX: Final = "gate-fix"


def fix_run() -> str:
    """Return a session name for one ``gate --fix``, whose steps are undone together."""
    return f"{_FIX}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.urandom(2).hex()}"


def is_fix_run(session: str) -> bool:
    """Return whether the session is one ``gate --fix``."""
    return session.startswith(f"{_FIX}-")


class StepFacts(msgspec.Struct, frozen=True):
    """The facts that the history records of a change set: session, title, and the step it undoes or redoes."""

    session: str
    title: str
    kind: CheckpointKind = "change"
    undoes: int = 0


class StepFile(msgspec.Struct, frozen=True):
    """A file of a step, and its permission bits after and before."""

    path: str
    mode: int
    before_mode: int | None = None
    kind: str = ""


class StepRecord(msgspec.Struct, frozen=True):
    """The facts in a step's commit. ``folders``: made for the step, outer ones first. ``undoes``: 0 for none."""

    session: str
    step: int
    kind: CheckpointKind
    undoes: int
    folders: tuple[str, ...]
    held: tuple[StepFile, ...] = msgspec.field(name="files")
    seq: int = 0
    journal: str = ""
    v: int = 1


class Checkpoint(StepRecord, frozen=True):
    """One checkpoint. ``at`` is UTC, ISO 8601. ``last``: the latest record about it, an undo or redo."""

    title: str = ""
    at: str = ""
    commit: str = ""
    undone: bool = False
    last: Checkpoint | None = None

    @property
    def files(self) -> tuple[WorkspacePath, ...]:
        """Return the paths of its files."""
        return tuple(path for file in self.held if (path := _path(file.path)))


def ref_name(session: str) -> str:
    """Return a session's name for a git ref: itself if valid, else its hash."""
    if _NAME.fullmatch(session) and ".." not in session and not session.endswith((".", ".lock")):
        return session
    return "x-" + sha256(session.encode("utf-8", "surrogatepass"))


def import_stream(record: StepRecord, title: str, changes: ChangeSet, parent: str) -> bytes:
    """Return a step's input of ``git fast-import``; truncated, it makes no commit."""
    message = f"{title or record.kind}\n\n{msgspec.json.encode(record).decode()}\n".encode("utf-8", "replace")
    out = [b"feature done\n", f"commit refs/rails/{ref_name(record.session)}\n".encode()]
    out.append(f"committer AI-Rails <ai-rails@localhost> {int(time.time())} +0000\n".encode())
    out.append(_data(message))
    if parent:
        out.append(f"from {parent}\n".encode())
    out.append(b"deleteall\n")
    for change in changes.changes:
        for side, content in (("before", change.before), ("after", change.after)):
            if content is not None:
                out += [f"M 100644 inline {side}/{change.path}\n".encode(), _data(content)]
    return b"".join([*out, b"done\n"])


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def parse_checkpoint(item: str) -> Checkpoint | None:
    """Read a commit as ``log`` prints it; None if it is no step."""
    commit, _, rest = item.strip("\n").partition("\n")
    seconds, _, body = rest.partition("\n")
    title, _, facts = body.partition("\n\n")
    try:
        found = msgspec.json.decode(facts, type=StepRecord)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))
    except (OverflowError, ValueError):
        return None
    sound = {
        "folders": tuple(filter(_path, found.folders)),
        "held": tuple(file for file in found.held if _path(file.path)),
    }
    return Checkpoint(**{**asdict(found), **sound}, title=title, at=at, commit=commit)


def _path(raw: str) -> WorkspacePath | None:
    path = paths.exact_path(raw)
    return path if isinstance(path, WorkspacePath) and str(path) == raw and not paths.forbidden(path) else None


def in_order(steps: Iterable[Checkpoint]) -> tuple[Checkpoint, ...]:
    """Return steps by sequence number, from 1, each with its ``last``; those of version 1 first, in the order given."""
    found = sorted(steps, key=lambda step: step.seq)
    ordered = [replace(step, seq=number) for number, step in enumerate(found, start=1)]
    last = {(step.session, step.undoes or step.step): step for step in ordered}
    return tuple(step if step.undoes else _with_last(step, last[step.session, step.step]) for step in ordered)


def _with_last(step: Checkpoint, last: Checkpoint) -> Checkpoint:
    return replace(step, undone=last.kind == "undo", last=last)
