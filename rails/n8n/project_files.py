"""The n8n workflows of a project as they would be: those on disk, with the proposed ones in their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.plain_file import read_ordinary
from rails.n8n.json_file import WorkflowFile, read_workflow_file
from rails.n8n.recognise import looks_like_workflow
from rails.n8n.rules.project import Surroundings, WorkflowFacts, facts_in

#: Folders' entries that are looked at, files that are read, and the largest of them.
_MOST_ENTRIES: Final = 20_000
_MOST_FILES: Final = 1_000
_MOST_BYTES: Final = 2_000_000
_SKIPPED: Final = frozenset({"node_modules", "dist", "build", "venv"})


#: What is found out once for a key, and kept.
Once = Callable[[tuple[object, ...], Callable[[], tuple[WorkflowFacts, ...]]], tuple[WorkflowFacts, ...]]


class WorkflowFiles:
    """What there is around each workflow of a change."""

    def __init__(self, project: Path, proposed: Mapping[str, bytes], gone: Collection[str], once: Once) -> None:
        self._project, self._proposed, self._gone, self._once = project, proposed, gone, once

    def around(self, path: str) -> Surroundings:
        """Return the other workflows of the project."""
        others = [facts for name, found in self._facts.items() if name != path for facts in found]
        return Surroundings(others)

    @cached_property
    def _facts(self) -> dict[str, tuple[WorkflowFacts, ...]]:
        made = dict(self._on_disk())
        for path, data in self._proposed.items():
            made[path] = _read(data, path)
        return {name: found for name, found in made.items() if found and name not in self._gone}

    def _on_disk(self) -> Iterator[tuple[str, tuple[WorkflowFacts, ...]]]:
        for file in _json_files(self._project):
            name = file.relative_to(self._project).as_posix()
            facts = file.stat()
            key = ("n8n facts", name, facts.st_mtime_ns, facts.st_size)
            yield name, self._once(key, partial(_of_file, file, name))


def _of_file(file: Path, name: str) -> tuple[WorkflowFacts, ...]:
    try:
        return _read(read_ordinary(file, limits.FILE_BYTES), name)
    except OSError:
        return ()


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
    read = read_workflow_file(data)
    if not isinstance(read, WorkflowFile) or not looks_like_workflow(read.value, path):
        return ()
    return tuple(facts_in(read.value, path))
