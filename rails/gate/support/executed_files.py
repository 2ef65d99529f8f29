"""The content of files that run with a project's commands, configuration programs and tools.

Found without execution: imports, or all scripts if computed. Packages count by installers' records, which no agent can
write. Files only read are not found.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.plain_file import read_ordinary
from rails.gate.support.quoted_paths import paths_named

_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_COMPUTED: Final = re.compile(rb"""\b(?:require|import|createRequire\([^()\n]*\))\s*\(\s*(?!["'][^"'\n]+["']\s*[,)])""")
_PYTHON: Final = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#;]+))", re.M)
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
#: More than this nobody agrees to.
_FILES: Final = 50_000


def digests_of(project: Path, programs: Iterable[str], *, installed: bool = True) -> dict[str, str]:
    """Return the SHA-256 of each file that runs with ``programs`` (project paths).

    ``installed`` adds packages of the project and parent folders. Raises CheckError for too many files or an unreadable
    one.
    """
    found: dict[str, str] = {}
    waiting = [os.path.normpath(name) for name in programs]
    while waiting:
        name = waiting.pop()
        if name in found or not (project / name).is_file():
            continue
        data = _read(project / name)
        found[name] = hashlib.sha256(data).hexdigest()
        if len(found) > _FILES:
            raise CheckError(f"what this project would execute has more than {_FILES} files")
        if name.endswith(_SCRIPTS) and _COMPUTED.search(data):
            waiting += _scripts(project)
        waiting += [*paths_named(name, data), *(_modules_named(name, data) if name.endswith(".py") else ())]
    for folder in (project, *project.parents) if installed else ():
        records = [folder / name for name in _INSTALLED if (folder / name).is_file()]
        found |= {os.path.realpath(record): hashlib.sha256(_read(record)).hexdigest() for record in records}
    return found


def _modules_named(name: str, data: bytes) -> Iterator[str]:
    folder = os.path.dirname(name)  # noqa: PTH120
    for module, names, plain in (match.groups() for match in _PYTHON.finditer(data)):
        for one in (plain or b"").decode(errors="replace").split(","):
            yield from _modules(folder, one.split()[0] if one.split() else "", ())
        words = re.findall(r"\w+", (names or b"").decode(errors="replace"))
        yield from _modules(folder, (module or b"").decode(errors="replace"), words)


def _modules(folder: str, module: str, names: Iterable[str]) -> Iterator[str]:
    dots = len(module) - len(module.lstrip("."))
    base = os.path.join(folder, *[".."] * (dots - 1)) if dots else ""  # noqa: PTH118
    path = module.strip(".").replace(".", "/")
    for root in (base,) if dots else ("", folder):
        for tail in ("", *(f"/{name}" for name in names)):
            for end in (".py", "/__init__.py"):
                yield os.path.normpath(f"{os.path.join(root, path)}{tail}{end}".lstrip("/"))  # noqa: PTH118


def _scripts(project: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(project):
        folders[:] = [one for one in folders if one not in ("node_modules", ".git", ".rails")]
        yield from (os.path.relpath(Path(folder, one), project) for one in files if one.endswith(_SCRIPTS))


def _read(place: Path) -> bytes:
    try:
        data = read_ordinary(place, limits.CHANGE_BYTES)
    except OSError as error:
        raise CheckError(f"{place.name} cannot be read: {error.strerror}") from error
    if len(data) > limits.CHANGE_BYTES:
        raise CheckError(f"{place.name} has more than {limits.CHANGE_BYTES} bytes")
    return data
