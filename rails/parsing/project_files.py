"""The project's files: the only disk access of reading an answer."""

from __future__ import annotations

import os
from pathlib import Path

from rails.core.paths import WorkspacePath, path_in
from rails.data_formats.file_names import Exists


def exists_in(project: Path) -> Exists:
    """Return a test whether ``project`` has a file of a path."""

    def exists(name: str) -> bool:
        path = path_in(project, name)
        return isinstance(path, WorkspacePath) and os.path.isfile(project / path.text)  # noqa: PTH113 - never raises

    return exists
