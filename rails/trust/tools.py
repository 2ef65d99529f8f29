"""Which definition files a human has read and accepted, by content.

A definition decides what runs, so a project's own file is used without asking only after its text was
accepted, and a changed text is a new question (the answer is bound to the digest, not to the name). The
record lives in the user's configuration folder, where no agent can write, one entry for each project and
tool. Until then ``rails.tools.loader.load_definitions`` lets the tool ask before every use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rails.core import atomic_file
from rails.core.dataclass import dataclass
from rails.core.diff import unified
from rails.core.errors import UsageError
from rails.core.text import printable
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.tools.describe import what_runs
from rails.tools.registry import Definition, Registry

_VERSION: Final = 1
_FILE: Final = "trust.json"


@dataclass(frozen=True, slots=True)
class Pending:
    """A definition that waits for a human: ``before`` is the text that was accepted last, or empty."""

    definition: Definition
    before: str = ""

    def question(self) -> str:
        """Return all that a human should see before accepting: what runs, the change, and the whole file."""
        one = self.definition
        first = f"{one.tool_name} ({one.source}) {what_runs(one.transport)}"
        return printable("\n".join((first, "", *file_for_review(self.before, one.text))))


def file_for_review(before: str, text: str) -> list[str]:
    """Return the lines that show a file to the person who may accept it: what changed, then all of it."""
    lines = ["The whole file:", text.rstrip("\n")]
    if before:
        changed = unified(before.splitlines(), text.splitlines(), ("accepted", "now"))
        lines = ["What changed since it was accepted:", *changed, "", *lines]
    return lines


class Trust:
    """The accepted definitions of one project. ``folder`` is the user's configuration folder."""

    def __init__(self, folder: Path, project: Path) -> None:
        self._file = folder / _FILE
        self._project = str(project.resolve())

    def digests(self) -> frozenset[str]:
        """Return the digests that ``load(…, trusted=…)`` takes. Raises UsageError for a damaged record."""
        return frozenset(str(entry.get("digest", "")) for entry in self._entries().values())

    def pending(self, registry: Registry) -> tuple[Pending, ...]:
        """Return the definitions of ``registry`` that nobody accepted as they are now, by name."""
        entries = self._entries()
        found: list[Pending] = []
        for name in registry.names():
            definition = registry.definitions[name]
            if not definition.trusted:
                found.append(Pending(definition, str(entries.get(name, {}).get("text", ""))))
        return tuple(found)

    def accept(self, definition: Definition) -> None:
        """Record that a human accepted this text. Raises UsageError when it cannot be recorded."""
        self.accept_text(definition.tool_name, definition.digest, definition.text)

    def accept_text(self, name: str, digest: str, text: str) -> None:
        """Record that a human accepted ``text`` under ``name``; agent templates use it too. Raises UsageError."""
        entry: dict[str, Json] = {
            "digest": digest,
            "accepted_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "text": text,
        }
        self._change({**self._entries(), name: entry})

    def accepted_text(self, name: str) -> str:
        """Return the text that was accepted last under ``name``, or an empty one."""
        return str(self._entries().get(name, {}).get("text", ""))

    def forget(self, tool_name: str) -> bool:
        """Take an acceptance back. Say whether there was one."""
        entries = dict(self._entries())
        if entries.pop(tool_name, None) is None:
            return False
        self._change(entries)
        return True

    def _read(self) -> dict[str, Json]:
        try:
            value = parse_document(self._file.read_text("utf-8")).value
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, JsonError) as error:
            raise UsageError(
                f"{self._file} cannot be read: {error}. Repair or delete it; tools ask again then."
            ) from None
        if not isinstance(value, dict) or value.get("v") != _VERSION:
            raise UsageError(f"{self._file} is of another version. Delete it; tools ask again then.")
        projects = value.get("projects")
        return projects if isinstance(projects, dict) else {}

    def _entries(self) -> Mapping[str, dict[str, Json]]:
        own = self._read().get(self._project)
        return {name: entry for name, entry in own.items() if isinstance(entry, dict)} if isinstance(own, dict) else {}

    def _change(self, entries: Mapping[str, dict[str, Json]]) -> None:
        """Put the record in place whole."""
        projects: dict[str, Json] = {**self._read(), self._project: dict(entries)}
        text = json.dumps({"v": _VERSION, "projects": projects}, ensure_ascii=False, indent=1) + "\n"
        try:
            atomic_file.write(self._file, text.encode())
        except OSError as error:
            raise UsageError(f"{self._file} cannot be written: {error.strerror}. Nothing was accepted.") from None
