"""What of a project the gate would execute: its commands and its configuration that is a program.

A human agrees to them as they are, with what they import and the packages that they use: whatever changes of these
files is a new question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.core.errors import CheckError, UsageError
from rails.gate.languages.python import config
from rails.trust import gate as consent

if TYPE_CHECKING:
    from rails.core.tool_request import Json

#: Configuration of JavaScript tools that is executed when it is used.
_PROGRAMS: Final = tuple(
    f"{stem}.{end}"
    for stem in ("eslint.config", "prettier.config", ".prettierrc", ".eslintrc")
    for end in ("js", "mjs", "cjs", "ts", "mts", "cts")
)


def programs(project: Path) -> dict[str, bytes]:
    """The configuration files at the top of the project that are programs, with their content."""
    return {name: data for name in _PROGRAMS if (data := config.read_config_file(project / name))}


def may_execute(folder: Path, own: bytes = b"", home: Path | None = None) -> str:
    """The digest of all of it where a human agreed to it as it is now, else "".

    ``own`` is the content of the project's ``.rails.toml``; ``home`` the project where ``folder`` only stands for it.
    """
    agreed = consent.agreed_digest(home or folder)
    try:
        return agreed if agreed and agreed == digest_of(folder, own) else ""
    except CheckError:
        return ""


def agree(project: Path, own: bytes) -> None:
    """Record that a human agrees to all of it. Raises UsageError when it cannot be recorded."""
    try:
        consent.give_consent(project, digest_of(project, own))
    except CheckError as error:
        raise UsageError(f"Nothing was agreed to: {error}.") from error


def digest_of(project: Path, own: bytes) -> str:
    """The digest of the project's commands and of every file that they and its configuration execute."""
    import hashlib

    commands = _commands(own)
    seen = hashlib.sha256(json.dumps(commands, sort_keys=True, default=str).encode())
    seen.update(json.dumps(executed(project, own), sort_keys=True).encode())
    return seen.hexdigest()


def executed(project: Path, own: bytes) -> dict[str, str]:
    """Each file that would be executed, what it imports included, with its digest. Raises CheckError."""
    from rails.gate.support.executed_files import digests_of

    words = [word for command in _commands(own) for word in _words(command)]
    return digests_of(project, (*programs(project), *words))


def _commands(own: bytes) -> list[Json]:
    found = config.table(config.parse_toml(own, ".rails.toml"), "gate").get("command", [])
    return found if isinstance(found, list) else []


def _words(command: Json) -> list[str]:
    run = command.get("run") if isinstance(command, dict) else None
    return [run] if isinstance(run, str) else [str(word) for word in run] if isinstance(run, list) else []
