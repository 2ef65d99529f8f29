"""Record of what a human accepted of a project, in the user's configuration folder, where no agent can write.

A text that decides what runs counts only while its digest is accepted. ``trust.json``, version 1: ``{"v": 1,
"projects": {FOLDER: {NAME: {"digest", "accepted_at", "text"}}}}``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.errors import UsageError
from rails.core.tool_request import Json

_VERSION: Final = 1
_FILE: Final = "trust.json"


class TrustRecord:
    """The accepted texts of one project. ``folder`` is the user's configuration folder."""

    def __init__(self, folder: Path, project: Path) -> None:
        self._file = folder / _FILE
        self._project = str(project.resolve())

    def digests(self) -> frozenset[str]:
        """Return all accepted digests. Raises UsageError for a damaged record."""
        return frozenset(str(entry.get("digest", "")) for entry in self._entries().values())

    def accepted_text(self, name: str) -> str:
        """Return the text last accepted, or "". Raises UsageError."""
        return str(self._entries().get(name, {}).get("text", ""))

    def accept(self, name: str, digest: str, text: str) -> None:
        """Record an acceptance. Raises UsageError; nothing is accepted then."""
        entry: dict[str, Json] = {
            "digest": digest,
            "accepted_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "text": text,
        }
        self._change({**self._entries(), name: entry})

    def forget(self, name: str) -> bool:
        """Remove an acceptance; say whether there was one. Raises UsageError."""
        entries = dict(self._entries())
        if entries.pop(name, None) is None:
            return False
        self._change(entries)
        return True

    def _read(self) -> dict[str, Json]:
        hint = "Repair or delete it; tools ask again then."
        try:
            value = read_record(self._file)
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"{self._file} cannot be read: {error}. {hint}") from None
        if value and value.get("v") != _VERSION:
            raise UsageError(f"{self._file} is of another version. Delete it; tools ask again then.")
        projects = value.get("projects")
        return projects if isinstance(projects, dict) else {}

    def _entries(self) -> Mapping[str, dict[str, Json]]:
        own = self._read().get(self._project)
        return {name: entry for name, entry in own.items() if isinstance(entry, dict)} if isinstance(own, dict) else {}

    def _change(self, entries: Mapping[str, dict[str, Json]]) -> None:
        projects: dict[str, Json] = {**self._read(), self._project: dict(entries)}
        try:
            write_record(self._file, {"v": _VERSION, "projects": projects})
        except OSError as error:
            raise UsageError(f"{self._file} cannot be written: {error.strerror}. Nothing was accepted.") from None


def file_for_review(before: str, text: str) -> list[str]:
    """Return the changes since ``before``, then the entire file."""
    lines = ["The whole file:", text.rstrip("\n")]
    if before:
        from rails.core.diff import unified

        changed = unified(before.splitlines(), text.splitlines(), ("accepted", "now"))
        lines = ["What changed since it was accepted:", *changed, "", *lines]
    return lines


def read_record(file: Path) -> dict[str, Json]:
    """Return the JSON object in ``file``, empty if it does not exist. Raises OSError, ValueError."""
    try:
        value = json.loads(file.read_text("utf-8", "surrogatepass"), object_pairs_hook=_without_doubles)
    except FileNotFoundError:
        return {}
    if not isinstance(value, dict):
        raise ValueError("it does not hold a JSON object")
    return value


def _without_doubles(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return value


def write_record(file: Path, value: Mapping[str, Json]) -> None:
    """Write ``value`` to ``file`` or its link's target, for this user alone.

    Raises OSError, also for a concurrent change.
    """
    from rails.core.user_files import UserFile

    UserFile(file).write([json.dumps(value, indent=1).encode()], 0o600)
