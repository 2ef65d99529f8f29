"""What of a project the gate would execute: its commands and its configuration that is a program.

A human agrees to them as they are; a changed text is a new question. What such a program imports is not part of
the digest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from rails.gate.languages.python import config
from rails.trust import gate as consent

#: Configuration of JavaScript tools that is executed when it is used.
_PROGRAMS: Final = tuple(
    f"{stem}.{end}"
    for stem in ("eslint.config", "prettier.config", ".prettierrc", ".eslintrc")
    for end in ("js", "mjs", "cjs", "ts", "mts", "cts")
)


def programs(project: Path) -> dict[str, bytes]:
    """The configuration files at the top of the project that are programs, with their content."""
    return {name: data for name in _PROGRAMS if (data := config.read_config_file(project / name))}


def may_execute(folder: Path, own: bytes = b"", home: Path | None = None) -> bool:
    """Whether a human agreed to all of it as it is now. ``own`` is the content of the project's ``.rails.toml``.

    ``home`` is the project where ``folder`` only stands for it.
    """
    return consent.has_consent(home or folder, digest_of(folder, own))


def agree(project: Path, own: bytes) -> None:
    """Record that a human agrees to all of it. Raises UsageError when it cannot be recorded."""
    consent.give_consent(project, digest_of(project, own))


def digest_of(project: Path, own: bytes) -> str:
    """The digest of the project's commands and of its configuration that is a program."""
    import hashlib

    gate = config.table(config.parse_toml(own, ".rails.toml"), "gate")
    seen = hashlib.sha256(json.dumps(gate.get("command", []), sort_keys=True, default=str).encode())
    for name, data in programs(project).items():
        seen.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()
