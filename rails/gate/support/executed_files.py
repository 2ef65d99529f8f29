"""The files that run when a project's commands, programs for configuration and installed tools do, by content.

Found without executing anything: a program's own text, the project's files that it imports, and every file of the
packages that these name, with what those depend on. Where a program computes what it loads, all scripts of the project
and all its packages count. A file that is read, and not imported, is not found.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.plain_file import open_ordinary, read_ordinary
from rails.gate.support.quoted_paths import paths_named, quoted_by

_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_COMPUTED: Final = re.compile(rb"""\b(?:require|import|createRequire\([^)\n]*\))\s*\(\s*(?!["'][^"'\n]+["']\s*[,)])""")
_PYTHON: Final = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#;]+))", re.M)
_PACKAGE: Final = re.compile(r"(@[^/\s]+/)?[^/\s.][^/\s]*")
_DEPENDS: Final = ("dependencies", "peerDependencies", "optionalDependencies")
#: What the gate itself loads of a project's packages.
TOOLS: Final = ("eslint", "prettier", "typescript-eslint", "@biomejs")
#: More than this nobody agrees to.
_FILES, _BYTES = 50_000, 1_000_000_000

_known: dict[str, tuple[tuple[int, ...], str]] = {}


def digests_of(project: Path, programs: Iterable[str], packages: Iterable[str] = TOOLS) -> dict[str, str]:
    """Return the SHA-256 of each file that runs when ``programs`` (paths in the project) and ``packages`` do.

    Raises CheckError where there are too many, or one cannot be read.
    """
    found: dict[str, str] = {}
    named = {(project, name) for name in packages}
    waiting = [os.path.normpath(name) for name in programs]
    size = 0
    while waiting:
        name = waiting.pop()
        if name in found or not (project / name).is_file():
            continue
        found[name], data = _digest(str(project / name)), _read(project / name)
        if name.endswith(_SCRIPTS) and _COMPUTED.search(data):
            waiting += _scripts(project)
            named |= {(project, one.name) for one in _entries(project / "node_modules")}
        named |= {(project, text) for text in quoted_by(name, data) if _PACKAGE.match(text)}
        waiting += [*paths_named(name, data), *(_modules_named(name, data) if name.endswith(".py") else ())]
    for place in sorted(_closure(named)):
        for file in _files(place):
            found[file] = _digest(file)
            size += _known[file][0][0]
            if len(found) > _FILES or size > _BYTES:
                raise CheckError(f"what this project would execute has more than {_FILES} files, or {_BYTES} bytes")
    return found


def _modules_named(name: str, data: bytes) -> Iterator[str]:
    """Yield where Python may find what a text imports."""
    folder = os.path.dirname(name)  # noqa: PTH120
    for module, names, plain in (match.groups() for match in _PYTHON.finditer(data)):
        for one in (plain or b"").decode(errors="replace").split(","):
            yield from _modules(folder, one.split()[0] if one.split() else "", ())
        words = re.findall(r"\w+", (names or b"").decode(errors="replace"))
        yield from _modules(folder, (module or b"").decode(errors="replace"), words)


def _modules(folder: str, module: str, names: Iterable[str]) -> Iterator[str]:
    """Yield where Python may find a module, and those of its names that are modules."""
    dots = len(module) - len(module.lstrip("."))
    base = os.path.join(folder, *[".."] * (dots - 1)) if dots else ""  # noqa: PTH118
    path = module.strip(".").replace(".", "/")
    for root in (base,) if dots else ("", folder):
        for tail in ("", *(f"/{name}" for name in names)):
            for end in (".py", "/__init__.py"):
                yield os.path.normpath(f"{os.path.join(root, path)}{tail}{end}".lstrip("/"))  # noqa: PTH118


def _scripts(project: Path) -> Iterator[str]:
    """Yield every script of the project that is no package's."""
    for folder, folders, files in os.walk(project):
        folders[:] = [one for one in folders if one not in ("node_modules", ".git", ".rails")]
        yield from (os.path.relpath(Path(folder, one), project) for one in files if one.endswith(_SCRIPTS))


def _closure(named: set[tuple[Path, str]]) -> set[Path]:
    """Return the folders of packages, by who asks for them, and of all that they depend on."""
    found: set[Path] = set()
    waiting = list(named)
    while waiting:
        start, name = waiting.pop()
        place = _package(start, name)
        if place is None or place in found:
            continue
        found.add(place)
        if name.startswith("@") and "/" not in name:
            waiting += [(start, f"{name}/{one.name}") for one in _entries(place)]
        waiting += [(place, other) for other in _dependencies(place)]
    return found


def _package(start: Path, name: str) -> Path | None:
    """Return the folder that Node.js finds for a package, from ``start`` on upwards."""
    whole = _PACKAGE.match(name)
    inside = whole[0] if whole else name
    places = (f"{folder}/node_modules/{inside}" for folder in (start, *start.parents))
    return next((Path(os.path.realpath(place)) for place in places if os.path.isdir(place)), None)  # noqa: PTH112


def _dependencies(place: Path) -> Iterator[str]:
    try:
        manifest = json.loads(_read(place / "package.json") or b"{}")
    except (ValueError, CheckError):
        return
    for key in _DEPENDS if isinstance(manifest, dict) else ():
        yield from manifest.get(key) or ()


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _files(place: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(place):
        folders[:] = [one for one in folders if one != "node_modules"]
        yield from (f"{folder}/{one}" for one in files)


def _read(place: Path) -> bytes:
    try:
        data = read_ordinary(place, limits.FILE_BYTES)
    except OSError as error:
        raise CheckError(f"{place.name} cannot be read: {error.strerror}") from error
    if len(data) > limits.FILE_BYTES:
        raise CheckError(f"{place.name} has more than {limits.FILE_BYTES} bytes")
    return data


def _digest(place: str) -> str:
    """Return a file's digest; one that is known by facts that nobody can set back is not read again."""
    try:
        info = os.stat(place)  # noqa: PTH116 - thousands of them, each time
    except FileNotFoundError:
        facts: tuple[int, ...] = (0,)  # a link to nothing
    else:
        facts = info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev
    if place not in _known or _known[place][0] != facts:
        _known[place] = facts, _content(Path(place)) if len(facts) > 1 else ""
    return _known[place][1]


def _content(place: Path) -> str:
    # Programs of 100 MB are among them, so that no file is read as a whole.
    try:
        with open_ordinary(place) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckError(f"{place.name} cannot be read: {error.strerror}") from error
