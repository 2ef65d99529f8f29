"""``ai-rails gate``: the checks alone, on files in a repository. ruff starts first, the rest while it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rails.commands.options import add_project
from rails.core.errors import CheckError
from rails.processes import programs

if TYPE_CHECKING:
    import argparse
    import subprocess


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("paths", nargs="*", help="files or folders (default: what git knows of)")
    parser.add_argument("--diff", metavar="REF", help="only files changed since REF, and only what is new since then")
    parser.add_argument("--staged", action="store_true", help="only staged files, and only what is new since HEAD")
    parser.add_argument("--all", action="store_true", help="every file that git knows of (this is the default)")
    parser.add_argument("--fix", action="store_true", help="write safe fixes and formatting")
    parser.add_argument("--format", default="text", metavar="FORMAT", help="text, json, sarif, github, junit or rdjson")
    words = "let the project's own commands and executable configuration run as they are now, and remember it"
    parser.add_argument("--trust", action="store_true", help=words)
    parser.add_argument("--explain", action="store_true", help="say which checks ran, with which configuration")
    profiles = ("import", "api", "publish", "strict")
    parser.add_argument(
        "--profile", choices=profiles, default="import", help="where n8n workflows go (default: import)"
    )
    parser.add_argument("--strict", action="store_true", help="a missing optional check fails too")
    add_project(parser)


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
