"""What of a project the gate may execute: its commands and its configuration that is a program.

A human agrees to them as they are; a changed text is a new question. The record is in the user's
configuration folder, where no agent can write. What such a program imports is not part of the record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from rails.core import atomic_file
from rails.core.app_dirs import config_folder
from rails.core.errors import CheckError, UsageError
from rails.gate.languages.python import config

_FILE: Final = "gate-trust.json"
#: Configuration of JavaScript tools that is executed when it is used.
_PROGRAMS: Final = tuple(
    f"{stem}.{end}"
    for stem in ("eslint.config", "prettier.config", ".prettierrc", ".eslintrc")
    for end in ("js", "mjs", "cjs", "ts", "mts", "cts")
)


def programs(project: Path) -> dict[str, bytes]:
    """Return the configuration files at the top of the project that are programs, with their content."""
    return {name: data for name in _PROGRAMS if (data := config.read_config_file(project / name))}


def has_consent(project: Path, own: bytes = b"") -> bool:
    """Whether a human agreed to what this project would have executed, as it is now.

    ``own`` is the content of its ``.rails.toml``. A record that cannot be read is no agreement.
    """
    try:
        return _read().get(str(project.resolve())) == _digest(project, own)
    except CheckError:
        return False


def give_consent(project: Path, own: bytes) -> None:
    """Record that a human agrees. Raises UsageError when it cannot be recorded."""
    try:
        record = json.dumps({**_read(), str(project.resolve()): _digest(project, own)}, indent=1)
        atomic_file.write(config_folder() / _FILE, f"{record}\n".encode())
    except (OSError, CheckError) as error:
        raise UsageError(f"Your agreement could not be recorded in {config_folder() / _FILE}: {error}") from error


def _read() -> dict[str, str]:
    try:
        value = json.loads((config_folder() / _FILE).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CheckError(f"{_FILE} cannot be read") from error
    if not isinstance(value, dict):
        raise CheckError(f"{_FILE} is of another kind")
    return {str(key): str(digest) for key, digest in value.items()}


def _digest(project: Path, own: bytes) -> str:
    """Return a digest of the project's commands and of its configuration that is a program."""
    import hashlib

    gate = config.table(config.parse_toml(own, ".rails.toml"), "gate")
    seen = hashlib.sha256(json.dumps(gate.get("command", []), sort_keys=True, default=str).encode())
    for name, data in programs(project).items():
        seen.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()
