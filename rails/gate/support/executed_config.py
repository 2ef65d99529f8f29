"""The parts of a project that the gate would execute: commands and configuration programs.

A person agrees to their content, named files and packages; any change asks again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError, UsageError
from rails.core.tool_request import Json
from rails.gate.support import config_files
from rails.sandbox.functions import module_file
from rails.trust import consent

#: Configuration of JavaScript tools that is executed when it is used.
_PROGRAMS: Final = tuple(
    f"{stem}.{end}"
    for stem in ("eslint.config", "prettier.config", ".prettierrc", ".eslintrc")
    for end in ("js", "mjs", "cjs", "ts", "mts", "cts")
)


def programs(project: Path) -> dict[str, bytes]:
    """Return the top-level configuration programs with their content."""
    return {name: data for name in _PROGRAMS if (data := config_files.read_config_file(project / name))}


def may_execute(folder: Path, own: bytes = b"", home: Path | None = None) -> bool:
    """Return whether a person agreed to its current state. ``own`` is the content of ``.rails.toml``.

    ``home`` is the project that ``folder`` replaces.
    """
    agreed = consent.agreed_digest(home or folder)
    try:
        return bool(agreed) and agreed == digest_of(folder, own)
    except CheckError:
        return False


def agree(project: Path, own: bytes) -> None:
    """Record the agreement for every folder. Raises UsageError if it cannot be recorded."""
    try:
        digests = {project: digest_of(project, own), **{folder: digest_of(folder) for folder in nested(project)}}
    except CheckError as error:
        raise UsageError(f"Nothing was agreed to: {error}.") from error
    for folder, digest in digests.items():
        consent.give_consent(folder, digest)


def nested(project: Path) -> list[Path]:
    """Return the subfolders with such configuration."""
    found = []
    for folder, inner, names in os.walk(project):
        inner[:] = [name for name in inner if name != "node_modules" and not name.startswith(".git")]
        if folder != str(project) and not {*names}.isdisjoint(_PROGRAMS):
            found.append(Path(folder))
    return found


def digest_of(project: Path, own: bytes = b"") -> str:
    """Return the digest of the commands and every executed file. Raises CheckError."""
    import hashlib

    seen = hashlib.sha256(json.dumps(_commands(own), sort_keys=True, default=str).encode())
    seen.update(json.dumps(executed(project, own), sort_keys=True).encode())
    return seen.hexdigest()


def _commands(own: bytes) -> list[dict[str, Json]]:
    commands = config_files.table(config_files.parse_toml(own, ".rails.toml"), "gate").get("command")
    return [one for one in commands if isinstance(one, dict)] if isinstance(commands, list) else []


def executed(project: Path, own: bytes = b"") -> dict[str, str]:
    """Return each executed file, with imports and packages, and its digest. Raises CheckError."""
    from rails.gate.support.executed_files import digests_of
    from rails.sandbox.probe import label
    from rails.sandbox.values import NONE

    words: list[str] = []
    for command in _commands(own):
        run = command.get("run")
        words += map(str, run if isinstance(run, list) else [run])
        if "function" in command:
            words.append(module_file(str(command["function"])))
    scripts = programs(project)
    installed = bool(scripts) or label().level == NONE
    return digests_of(project, (*scripts, *words), installed=installed)
