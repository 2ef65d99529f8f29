"""The ``.env`` in the user's configuration folder. A project's is only read to mask secrets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rails.core.errors import UsageError
from rails.core.text import one_line
from rails.log.masking import env_values

#: The variables that came from the file, for who says where a value comes from.
TAKEN: Final[set[str]] = set()


def take(file: Path) -> None:
    """Set variables the environment lacks. Raises UsageError if others can write the file."""
    if os.name == "posix" and file.stat().st_mode & 0o022:
        raise UsageError(f"Others can write {file}, so it was ignored. Protect it: chmod 600 {file}")
    try:
        values = env_values(file.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 ({one_line(str(error), 80)}). Save it as UTF-8.") from error
    for name, value in values.items():
        if name not in os.environ:
            os.environ[name] = value
            TAKEN.add(name)
