"""The values of a project's ``.env`` files, read only to be masked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from rails.log import files
from rails.log.masking import of_env_file

_DEPTH: Final = 3
_FOLDERS: Final = 2_000
_FILES: Final = 50
_BYTES: Final = 100_000
_SKIPPED: Final = frozenset({"node_modules", "venv", "vendor", "target", "dist", "build", "__pycache__"})


def env_secrets(project: Path) -> tuple[str, ...]:
    """Return the secrets of ``.env`` files at and near a project's top."""
    found: dict[str, None] = {}
    for folder, name in islice(_env_files(project), _FILES):
        try:
            with files.folder(folder) as at, os.fdopen(files.open_regular(name, os.O_RDONLY, at=at), "rb") as file:
                found.update(dict.fromkeys(of_env_file(file.read(_BYTES).decode("utf-8", "replace"))))
        except OSError:
            continue  # a link, a pipe, or nobody may read it: then no agent reads it either
    return tuple(found)


def _env_files(project: Path) -> Iterator[tuple[Path, str]]:
    for base, folders, names in islice(os.walk(project), _FOLDERS):
        folder = Path(base)
        depth = len(folder.relative_to(project).parts) + 1
        folders[:] = sorted(one for one in folders if one[:1] != "." and one not in _SKIPPED and depth < _DEPTH)
        yield from ((folder, name) for name in names if name == ".env" or name[:5] == ".env.")
