"""The user's tools as commands: rows of ``known_tools.toml``. Nothing runs here.

A tool for single files is wanted if the project configures it; one for the whole tree if the settings name it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from rails.gate.support import config_files
from rails.gate.support.check_command import CheckCommand, program, pytest

_RUSTUP: Final = Path.home() / ".rustup"
_CARGO: Final = Path.home() / ".cargo"
#: What of it a build reads; not the credentials.
_OF_CARGO: Final = ("bin", "registry", "git")


@cache
def known_rows() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows by tool."""
    return tomllib.loads((Path(__file__).parent.parent / "known_tools.toml").read_text("utf-8"))


@cache
def style_tools() -> frozenset[str]:
    """Return tools with acceptable findings."""
    return frozenset(name for name, row in known_rows().items() if row["weight"] == "style")


def known_tool(name: str, project: Path) -> CheckCommand:
    """Return a row's command, from ``node_modules`` or the user's PATH."""
    row = known_rows()[name]
    first, *more = row["run"]
    local = project / "node_modules" / ".bin" / first
    path = str(local) if first != "python" and os.access(local, os.X_OK) else program(first, project)
    return CheckCommand(
        name,
        (path, *more),
        pattern=row["pattern"],
        says=row.get("says", ""),
        needs=_needed_by(Path(path)),
        environment={"RUSTUP_HOME": str(_RUSTUP), "CARGO_HOME": str(_CARGO)},
        both=True,
        ok_codes=frozenset(row.get("ok", (0, 1))),
        endings=tuple(row["files"]),
    )


def named_command(name: str, project: Path) -> CheckCommand | None:
    """Return a command that needs no more than its name in the settings, or None."""
    if name == "pytest":
        return pytest(program("python", project))
    return known_tool(name, project) if name in whole_tools() else None


@cache
def whole_tools() -> tuple[str, ...]:
    """Return the tools that look at the whole tree."""
    return tuple(name for name, row in known_rows().items() if row.get("whole"))


def _needed_by(program: Path) -> tuple[Path, ...]:
    around = program.resolve().parent.parent
    if (around / "pyvenv.cfg").is_file():
        return (around,)
    if program.parent != _CARGO / "bin":
        return ()
    return (_RUSTUP, *(_CARGO / name for name in _OF_CARGO if (_CARGO / name).is_dir()))


def wanted_tools(project: Path, paths: Sequence[str]) -> Iterator[CheckCommand]:
    """Yield the configured tools' commands with their ``paths``; missing ones have no absolute path."""
    for name, row in known_rows().items():
        mine = [path for path in paths if path.endswith(tuple(row["files"])) and path.startswith(row.get("below", ""))]
        if mine and name not in whole_tools() and is_configured(project, name):
            command = known_tool(name, project)
            yield replace(command, argv=(*command.argv, *(f"./{path}" for path in sorted(mine))), optional=True)


def is_configured(project: Path, name: str) -> bool:
    """Return whether the project has a tool's file, pyproject table or pre-commit hook."""
    row = known_rows()[name]
    if any((project / file).is_file() for file in row.get("config", ())):
        return True
    pyproject = config_files.read_config_file(project / "pyproject.toml")
    tables = config_files.table(config_files.parse_toml(pyproject, "pyproject.toml"), "tool")
    hooks = config_files.hooks_of(config_files.read_config_file(project / ".pre-commit-config.yaml"))
    return name in tables or not {name, *row.get("hooks", ())}.isdisjoint(hooks)
