"""The project's files: the only disk access of reading an answer."""

from __future__ import annotations

from pathlib import Path

from rails.core.paths import WorkspacePath, parse_path
from rails.data_formats.file_names import Exists


def exists_in(project: Path) -> Exists:
    """Return a test whether ``project`` has a file of a path."""

    def exists(name: str) -> bool:
        path = parse_path(name)
        try:
            return isinstance(path, WorkspacePath) and (project / path.text).is_file()
        except OSError:
            return False

    return exists
