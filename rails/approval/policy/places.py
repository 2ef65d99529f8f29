"""The files of a policy; imports little, for a fast start."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from rails.core.app_dirs import config_folder

POLICY_NAME: Final = "policy.toml"
PROJECT_NAME: Final = ".rails.toml"


def may_have_policy(project: Path) -> bool:
    """Return whether a file may hold rules. Raises OSError if it cannot be read."""
    for file in (config_folder() / POLICY_NAME, project / PROJECT_NAME):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            file.lstat()
            return True
    return False
