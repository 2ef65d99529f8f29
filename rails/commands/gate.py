"""``ai-rails gate``: the checks alone, on files in a repository. ruff starts first, the rest while it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rails.core.errors import CheckError
from rails.processes import programs

if TYPE_CHECKING:
    import argparse
    import subprocess


def run(options: argparse.Namespace) -> int:
    """Check, print the report, and return 0 (pass), 1 (findings) or 3 (could not check)."""
    ruff = _ruff_server(options.paths)
    try:
        from rails.commands import gating  # only now, while ruff starts on the other core

        return gating.run(options, ruff)
    finally:
        if ruff is not None and ruff.returncode is None:
            programs.kill_tool(ruff)


def _ruff_server(paths: list[str]) -> subprocess.Popen[bytes] | None:
    """Start a ruff server, which reads no file before it is asked something, if there may be Python files to check."""
    # Without paths it is all files, or all that changed.
    if paths and not any(path.endswith((".py", ".pyi")) or Path(path).is_dir() for path in paths):
        return None
    tool = programs.find_ruff()
    try:
        return programs.start_tool(programs.ruff_server(tool)) if tool else None
    except CheckError:
        return None  # the caller that needs it gets the reason
