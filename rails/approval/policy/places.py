"""Where a policy is written. Whoever is waited for while it starts asks here first, and imports no more without one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from rails.core.app_dirs import config_folder

POLICY_NAME: Final = "policy.toml"
PROJECT_NAME: Final = ".rails.toml"


def may_have_policy(project: Path) -> bool:
    """Whether there is a file that may hold rules. One that is there and cannot be looked at raises OSError."""
    for file in (config_folder() / POLICY_NAME, project / PROJECT_NAME):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            file.lstat()
            return True
    return False
