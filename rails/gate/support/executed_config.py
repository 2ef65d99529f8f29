"""The parts of a project that the gate would execute: commands and configuration programs.

A person agrees to their content, to the files that commands name and configuration programs import, and to what is
installed; any change asks again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.errors import CheckError, UsageError
from rails.core.plain_file import read_ordinary
from rails.core.text import sha256
from rails.core.tool_request import Json
from rails.gate.support import config_files
from rails.gate.support.quoted_paths import SCRIPTS, paths_named, reached
from rails.sandbox.functions import module_file
from rails.trust import consent

#: Configuration of JavaScript tools that is executed when it is used.
_PROGRAMS: Final = tuple(
    f"{stem}{end}" for stem in ("eslint.config", "prettier.config", ".prettierrc", ".eslintrc") for end in SCRIPTS
)
#: What npm, pnpm, Yarn and Bun write of all that they have installed.
_INSTALLED: Final = (
    "node_modules/.package-lock.json",
    "node_modules/.modules.yaml",
    "node_modules/.pnpm/lock.yaml",
    "node_modules/.yarn-integrity",
    "node_modules/.yarn-state.yml",
    ".pnp.cjs",
    "bun.lock",
)
#: More names than this nobody agrees to.
_NAMES: Final = 500_000


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
    parts = [_commands(own), executed(project, own)]
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode())


def _commands(own: bytes) -> list[dict[str, Json]]:
    commands = config_files.table(config_files.parse_toml(own, ".rails.toml"), "gate").get("command")
    return [one for one in commands if isinstance(one, dict)] if isinstance(commands, list) else []


def executed(project: Path, own: bytes = b"") -> dict[str, str]:
    """Return each executed file, with imports and packages, and its digest.

    Raises CheckError for too many files or an unreadable one.
    """
    from rails.sandbox.probe import label
    from rails.sandbox.values import NONE

    scripts = [name for name in _PROGRAMS if config_files.read_config_file(project / name)]
    names = [*scripts]
    for command in _commands(own):
        run = command.get("run")
        names += map(str, run if isinstance(run, list) else [run])
        names.append(module_file(str(command.get("function", ""))))
    files: dict[str, str] = {}

    def read(name: str) -> bytes | None:
        data = _read(project / name)
        if data is not None:
            files[name] = sha256(data)
        return data

    if len(reached(map(os.path.normpath, names), read, paths_named, _NAMES)) == _NAMES:
        raise CheckError(f"what this project would execute names more than {_NAMES} files")
    if scripts or label().level == NONE:
        for folder in (project, *project.parents):
            for name in _INSTALLED:
                read(os.path.realpath(folder / name))
    return files


def _read(place: Path) -> bytes | None:
    if not place.is_file():
        return None
    try:
        data = read_ordinary(place, limits.CHANGE_BYTES)
    except OSError as error:
        raise CheckError(f"{place.name} cannot be read: {error.strerror}") from error
    if len(data) > limits.CHANGE_BYTES:
        raise CheckError(f"{place.name} has more than {limits.CHANGE_BYTES} bytes")
    return data
