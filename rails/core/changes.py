"""A change set: every file's exact bytes before and after. Its digest is what a human signs.

Made only by ``rails.edits.plan`` and, with formatter changes, ``rails.gate``.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from msgspec import Struct

from rails.core.paths import WorkspacePath
from rails.core.text import counted, decode_text, sha256

ChangeKind = Literal["create", "modify", "delete"]
T = TypeVar("T")


class FileChange(Struct, frozen=True):
    """One file, before and after; ``None``: no such file.

    ``mode``: permission bits, present or future. ``proposed``: what the agent wrote, if a fixer changed it.
    """

    path: WorkspacePath
    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    proposed: bytes | None = None

    @property
    def kind(self) -> ChangeKind:
        """Created, modified or deleted."""
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "modify"

    @property
    def before_sha256(self) -> str | None:
        """Hash of the bytes before, ``None`` if new."""
        return None if self.before is None else sha256(self.before)

    @property
    def after_sha256(self) -> str | None:
        """Hash of the bytes after, ``None`` if deleted."""
        return None if self.after is None else sha256(self.after)


class ChangedFile(Struct, frozen=True):
    """A logged file change: a hash is ``None`` where there is no file.

    ``kind`` is a :data:`ChangeKind`, or a newer log's word.
    """

    path: str
    kind: str
    before_sha256: str | None
    after_sha256: str | None


class EditResult(Struct, frozen=True):
    """The result of one edit; ``occurrences`` counts the places that it replaces, 0 for a whole file."""

    path: str
    success: bool
    error: str = ""
    occurrences: int = 0


class ChangeSet(Struct, frozen=True):
    """Changes made together or not at all; one for each path."""

    changes: tuple[FileChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def digest(self) -> str:
        """Return a SHA-256 over paths, modes and hashes, in path order."""
        lines = sorted(f"{c.path}\0{c.mode:o}\0{c.before_sha256}\0{c.after_sha256}" for c in self.changes)
        return sha256("\n".join(lines).encode())

    def files(self) -> tuple[ChangedFile, ...]:
        """Return the changes without their bytes."""
        return tuple(ChangedFile(str(c.path), c.kind, c.before_sha256, c.after_sha256) for c in self.changes)

    def diff(self) -> str:
        """Return the unified diff of all files."""
        return "\n".join(line for c in self.changes for line in unified_diff(c.before, c.after, str(c.path)))

    def get(self, path: WorkspacePath) -> FileChange | None:
        """Return the change of ``path``, if any."""
        return next((change for change in self.changes if change.path == path), None)


class Approved(Struct, Generic[T], frozen=True):
    """A permission given by a human or a policy. Made only by ``rails.approval.decision``.

    ``digest`` was signed; whoever executes computes it again from ``value`` and refuses if it differs. ``by`` is
    "human", "policy: rule 3" or "script", ``at`` UTC, ISO 8601. ``request`` digests tools, parameters, definitions,
    checks.
    """

    value: T
    digest: str
    by: str
    at: str
    scope: str = "once"
    request: str = ""


def unified_diff(before: bytes | None, after: bytes | None, path: str, context: int = 3) -> list[str]:
    """Return a unified diff without line ends; of binary content, one sentence.

    Time is bounded as in :mod:`rails.core.diff`. Different bytes never give an empty diff.
    """
    from rails.core.diff import unified  # here and below: a first verdict without findings compares no lines

    old, new = (decode_text(data or b"") for data in (before, after))
    if old is None or new is None:
        return [f"Binary file {path}: {_size(before)} before, {_size(after)} after"]
    names = ["/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}"]
    lines = list(unified(_lines(old.text), _lines(new.text), names, context))
    what = new.recoded_from(old) if before and after else ""
    if not lines and not what and before != after:
        what = "changes in its byte-order mark only" if before and after else "is empty"
    return [f"--- {names[0]}", f"+++ {names[1]}", f"File {path} {what}", *lines[2:]] if what else lines


def _lines(text: str) -> list[str]:
    """Split at ``\\n`` only; a carriage return stays visible, a missing final newline is shown."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "  (no newline at end of file)"
    return lines


def _size(data: bytes | None) -> str:
    return "absent" if data is None else counted(len(data), "byte")
