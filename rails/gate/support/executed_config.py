"""What of a project the gate would execute: its commands and its configuration that is a program.

A human agrees to them as they are, with the files that such a program names (imports, data that it reads); a changed
text is a new question. Paths that a program puts together, and installed packages, are not part of the digest.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterator
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


_IN_ANY: Final = frozenset(_PROGRAMS)
#: What a program or a configuration file quotes and what may be the name of a file.
_QUOTED: Final = re.compile(rb"""["'`]([\w@$.][^"'`\s\\]{0,300})["'`]""")
#: How a file may end whose name leaves that out.
_ENDINGS: Final = (
    "",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".mts",
    ".cts",
    ".json",
    "/package.json",
    "/index.js",
    "/index.cjs",
)
_ROUNDS: Final = 10


def programs(project: Path) -> dict[str, bytes]:
    """The configuration files at the top of the project that are programs, with their content."""
    return {name: data for name in _PROGRAMS if (data := config.read_config_file(project / name))}


def named_by(name: str, data: bytes) -> Iterator[str]:
    """Yield the paths within the project that a program may mean by what it quotes, from its own folder."""
    if name.endswith((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", "package.json")):
        for found in _QUOTED.findall(data):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), found.decode("utf-8", "replace")))
            if not path.startswith(("/", "../")) and path not in ("..", ".") and "\0" not in path:
                yield from (f"{path}{end}" for end in _ENDINGS)


def may_execute(folder: Path, own: bytes = b"", home: Path | None = None) -> bool:
    """Whether a human agreed to all of it as it is now. ``own`` is the content of the project's ``.rails.toml``.

    ``home`` is the project where ``folder`` only stands for it.
    """
    return consent.has_consent(home or folder, digest_of(folder, own))


def agree(project: Path, own: bytes) -> None:
    """Record that a human agrees to all of it, in every folder. Raises UsageError when it cannot be recorded."""
    consent.give_consent(project, digest_of(project, own))
    for folder in nested(project):
        consent.give_consent(folder, digest_of(folder))


def nested(project: Path) -> list[Path]:
    """Return the folders below ``project`` that have such configuration of their own."""
    found = []
    for folder, inner, names in os.walk(project):
        inner[:] = [name for name in inner if name != "node_modules" and not name.startswith(".git")]
        if folder != str(project) and not _IN_ANY.isdisjoint(names):
            found.append(Path(folder))
    return found


def digest_of(project: Path, own: bytes = b"") -> str:
    """The digest of the project's commands and of its configuration that is a program, with what that names."""
    import hashlib

    gate = config.table(config.parse_toml(own, ".rails.toml"), "gate")
    seen = hashlib.sha256(json.dumps(gate.get("command", []), sort_keys=True, default=str).encode())
    known, fresh = dict[str, bytes](), programs(project)
    for _ in range(_ROUNDS):
        known |= fresh
        named = {path for name, data in fresh.items() for path in named_by(name, data)} - known.keys()
        fresh = {path: data for path in sorted(named) if (data := config.read_config_file(project / path))}
    for name, data in known.items():
        seen.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()
