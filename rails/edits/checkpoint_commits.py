"""One step of the history as a commit: how it is written for ``git fast-import``, and read back.

The commit's tree holds only the files of the step, ``before/<path>`` and ``after/<path>``. Its message is a
title, a blank line and one JSON line with ``v`` (1), ``session``, ``step``, ``kind``, ``undoes`` (the step
concerned, or 0), ``folders`` (made for the step) and ``files`` (``path``, ``mode``, ``kind``).
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable
from typing import Final, Literal

from rails.core import paths
from rails.core.changes import ChangeSet
from rails.core.dataclass import dataclass, replace
from rails.core.paths import WorkspacePath

CheckpointKind = Literal["change", "undo", "redo"]

#: How ``git log`` prints a step so that :func:`parse_checkpoint` can read it.
FORMAT: Final = "--format=%H%n%ct%n%B"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint. ``at`` is UTC, ISO 8601. ``undone`` is whether its change is taken back now."""

    session: str
    step: int
    title: str
    at: str
    files: tuple[WorkspacePath, ...]
    modes: tuple[int, ...] = ()
    kind: CheckpointKind = "change"
    #: The step that this one took back or did again, 0 for a change of its own.
    undoes: int = 0
    undone: bool = False
    #: Folders that were made for the step, outer ones first.
    folders: tuple[str, ...] = ()
    commit: str = ""


def ref_name(session: str) -> str:
    """Return a session's name as git accepts it in a ref: itself where possible, else its hash."""
    if _NAME.fullmatch(session) and ".." not in session and not session.endswith((".", ".lock")):
        return session
    return "x-" + hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()


def import_stream(step: Checkpoint, changes: ChangeSet, parent: str) -> bytes:
    """Return the input of ``git fast-import`` for one step: every byte as it is, no filter involved."""
    files = [{"path": str(c.path), "mode": c.mode, "kind": c.kind} for c in changes.changes]
    facts = {
        "v": 1,
        "session": step.session,
        "step": step.step,
        "kind": step.kind,
        "undoes": step.undoes,
        "folders": list(step.folders),
        "files": files,
    }
    message = f"{step.title or step.kind}\n\n{json.dumps(facts)}\n".encode("utf-8", "replace")
    out = [f"commit refs/rails/{ref_name(step.session)}\n".encode()]
    out.append(f"committer AI-Rails <ai-rails@localhost> {int(time.time())} +0000\n".encode())
    out.append(_data(message))
    if parent:
        out.append(f"from {parent}\n".encode())
    out.append(b"deleteall\n")
    for change in changes.changes:
        for side, content in (("before", change.before), ("after", change.after)):
            if content is not None:
                out += [f"M 100644 inline {side}/{change.path}\n".encode(), _data(content)]
    return b"".join(out)


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def parse_checkpoint(item: str) -> Checkpoint | None:
    """Read one commit as ``log`` prints it; ``None`` for one that is not a step of ours."""
    commit, _, rest = item.strip("\n").partition("\n")
    seconds, _, body = rest.partition("\n")
    title, _, facts = body.partition("\n\n")
    try:
        value = json.loads(facts)
        files = [(paths.parse_path(file["path"]), int(file["mode"]) & 0o777) for file in value["files"]]
        known = [(path, mode) for path, mode in files if isinstance(path, WorkspacePath) and not paths.forbidden(path)]
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))
        names, modes = tuple(path for path, _ in known), tuple(mode for _, mode in known)
        folders = tuple(str(folder) for folder in value["folders"] if _is_folder(folder))
        kind, number, undoes = value["kind"], int(value["step"]), int(value["undoes"])
    except (KeyError, TypeError, ValueError):
        return None
    return Checkpoint(
        str(value["session"]), number, title, at, names, modes, kind, undoes, folders=folders, commit=commit
    )


def _is_folder(value: object) -> bool:
    path = paths.parse_path(value)
    return isinstance(path, WorkspacePath) and not paths.forbidden(path)


def with_undone(steps: Iterable[Checkpoint]) -> tuple[Checkpoint, ...]:
    """Mark the steps that are taken back now; steps come in order."""
    found = tuple(steps)
    undone = {}
    for step in found:
        if step.undoes:
            undone[step.session, step.undoes] = step.kind == "undo"
    return tuple(replace(step, undone=undone.get((step.session, step.step), False)) for step in found)
