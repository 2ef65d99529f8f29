"""The n8n workflows of a project as they would be: those on disk, with the proposed ones in their place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.core import limits
from rails.core.plain_file import read_ordinary
from rails.gate.support.check import CheckContext, CheckJob

if TYPE_CHECKING:
    from rails.n8n.plugin import Surroundings, WorkflowFacts

#: Folders' entries that are looked at, files that are read, and the largest of them.
_MOST_ENTRIES: Final = 20_000
_MOST_FILES: Final = 1_000
_MOST_BYTES: Final = 2_000_000
_SKIPPED: Final = frozenset({"node_modules", "dist", "build", "venv"})


class WorkflowFiles:
    """What there is around each workflow of a change."""

    def __init__(self, jobs: Sequence[CheckJob], context: CheckContext) -> None:
        self._jobs, self._context = jobs, context

    def around(self, path: str) -> Surroundings:
        """Return the other workflows of the project."""
        from rails.n8n.plugin import Surroundings

        others = [facts for name, found in self._facts.items() if name != path for facts in found]
        return Surroundings(others)

    @cached_property
    def _facts(self) -> dict[str, tuple[WorkflowFacts, ...]]:
        made = dict(self._on_disk())
        for job in self._jobs:
            made[job.path] = _read(job.after, job.path)
        return {name: found for name, found in made.items() if found and name not in self._context.gone}

    def _on_disk(self) -> Iterator[tuple[str, tuple[WorkflowFacts, ...]]]:
        project = self._context.project
        for file in _json_files(project):
            name = file.relative_to(project).as_posix()
            facts = file.stat()
            key = ("n8n facts", name, facts.st_mtime_ns, facts.st_size)
            yield name, self._context.once(key, lambda file=file, name=name: _read(_bytes(file), name))  # type: ignore[misc]


def _bytes(file: Path) -> bytes:
    try:
        return read_ordinary(file, limits.FILE_BYTES)
    except OSError:
        return b""


def _json_files(project: Path) -> Iterator[Path]:
    left, files = _MOST_ENTRIES, _MOST_FILES
    for where, folders, names in os.walk(project):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        left -= len(names) + len(folders)
        for name in sorted(names) if left > 0 else ():
            file = Path(where, name)
            if name.endswith(".json") and files and file.is_file() and file.stat().st_size <= _MOST_BYTES:
                files -= 1
                yield file
        if left <= 0:
            return


def _read(data: bytes, path: str) -> tuple[WorkflowFacts, ...]:
    """Return the facts of the workflows in a file, none where it is none."""
    if b'"nodes"' not in data or b'"connections"' not in data:
        return ()
    from rails.n8n.plugin import WorkflowFile, facts_in, looks_like_workflow, read_workflow_file

    read = read_workflow_file(data)
    if not isinstance(read, WorkflowFile) or not looks_like_workflow(read.value, path):
        return ()
    return tuple(facts_in(read.value, path))
