"""The project with the last approved configuration: a change cannot excuse itself.

Both sides are checked with the base's configuration and what it extends. Where the disk differs, a folder of links
replaces the project. Not covered: paths that a program computes, installed packages.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from rails.core.errors import CheckError, UsageError
from rails.core.scratch import scratch_folder
from rails.gate.support.advice import name_list
from rails.gate.support.config_files import folders_to, parse_toml, read_config_file
from rails.gate.support.quoted_paths import named_by
from rails.git import listing, revisions

_NAMES: Final = name_list("read_by_checks")
#: What a configuration file extends, or names as a schema: quoted, one or several.
_EXTENDS: Final = re.compile(
    rb"""["']?\b(?:extends?|schema|plugins|ref)\b["']?\s*[:=]\s*+(\[[^\]]{0,4000}\]|"[^"\n]*"|'[^'\n]*'"""
    rb"""|(?:\s*-[ \t]*["'][^"'\n]*["'])+)"""
)
#: A word of YAML without quotes: after a key, in a list.
_BARE: Final = re.compile(
    rb"""(?m)(:[ \t]+|[\[,][ \t]*|^[ \t]*-[ \t]+)([^\s"'\[\]{}#&*!|>%@`,]"""
    rb"""(?:[^\s"'#,\[\]:]|:(?!\s)|[ \t]++(?![\s#,\]]|\Z))*+)(?=\s*?(?:$|[#,\]]))"""
)
#: Files that say with which plugins and arguments checks are run; where in them, and the paths and modules there.
_ARGUED: Final = (
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "mypy.ini",
    ".mypy.ini",
    ".pylintrc",
    ".flake8",
    ".pre-commit-config.yaml",
)
_ARGUMENTS: Final = re.compile(
    rb"""(?m)(?:\b(?:(plugins)|args|entry|config[-_]file|rcfile)["']?\s*[:=]|--?[\w-]{0,40}config\b)"""
    rb"""(.*(?:\n[ \t]+.*|\n\].*)*)"""
)
_WORD: Final = re.compile(r"(?<![./-])(?:[./-]*+\w++)++")
_QUOTED: Final = re.compile(rb"""["']([^"'\n]{1,400})["']""")
_ESCAPED: Final = re.compile(rb"\\u([0-9a-fA-F]{4})")
_MOST: Final = 100_000
_LINK: Final = "120000"
#: Configuration whose words are no paths of more configuration.
_NOT_EXTENDING: Final = (".gitignore", ".ignore", ".eslintignore", ".prettierignore", "package.json", "package.yaml")
#: Data that may name the schema by which it is judged.
_JUDGED: Final = re.compile(rb"(?m)^[^\S\n]*+path\s*=.*$")
_DATA: Final = (".json", ".jsonc", ".yaml", ".yml", ".toml")


def is_configuration(path: str) -> bool:
    """Return whether a file configures checks."""
    return path.rpartition("/")[2] in _NAMES


@contextlib.contextmanager
def approved_state(
    project: Path, base: str, paths: Iterable[str]
) -> Iterator[tuple[Path, Mapping[str, bytes | None]] | None]:
    """Yield a folder that is the project with ``base``'s configuration for ``paths``, and what differs, as in the base.

    Yields None if nothing differs. The folder is removed afterwards; its links' targets stay.
    """
    now, then = _both(project, base, paths)
    changed = {name: then[name] for name in now if (then[name] or None) != now[name]}
    if not changed:
        yield None
        return
    with scratch_folder("approved") as made:
        folder = Path(made).resolve()
        _mirror(project, folder, {name: data for name, data in then.items() if name in changed or data is not None})
        yield folder, changed


def _both(project: Path, base: str, paths: Iterable[str]) -> tuple[dict[str, bytes | None], dict[str, bytes | None]]:
    """Return what configures checks of ``paths``, as it is on the disk and as the base has it."""
    tree = listing.files_at(project, base)
    data = [path for path in paths if path.lower().endswith(_DATA) and not is_configuration(path)]
    places = {*_places(paths), *(name for path in data for name in _schemas(project, path) if name in tree)}
    held = _held(project, base, [name for name in places if name in tree], tree)

    def then_of(name: str) -> bytes | None:
        if name in tree and name not in held:
            held.update(_held(project, base, [name], tree))
        return held.get(name)

    reached = {
        **_reached(places, then_of, _extended),
        **_reached(places, lambda name: _on_disk(project, name), _extended),
    }
    names = [name for name in sorted(reached) if name in tree or os.path.lexists(project / name)]
    return {name: _on_disk(project, name) for name in names}, {name: then_of(name) for name in names}


def _reached(
    places: Iterable[str], read: Callable[[str], bytes | None], named: Callable[[str, bytes], Iterable[str]]
) -> dict[str, bytes | None]:
    """Return the files of ``places``, and what they name, and so on, as ``read`` has them (``None``: none)."""
    found: dict[str, bytes | None] = {}
    waiting = [*places]
    while waiting and len(found) < _MOST:
        name = waiting.pop()
        if name not in found:
            data = found[name] = read(name)
            waiting += () if data is None else named(name, data)
    return found


def configuration(project: Path, home: Path, paths: Iterable[str] = ()) -> set[str]:
    """Return every path that configures checks, even indirectly, and link targets.

    ``project`` holds the configuration in force; ``home`` is the project with its git.
    """
    places = [*_places(paths)]
    with contextlib.suppress(UsageError, CheckError):  # no repository, or one that git cannot read: its own error
        places += listing.indexed_by_name(home, _NAMES)

    def read(name: str) -> bytes | None:
        return (_on_disk(project, name) or b"") if os.path.lexists(home / name) else None

    def named(name: str, data: bytes) -> Iterator[str]:
        yield from _data_named(name, data)
        real = os.path.relpath(os.path.realpath(home / name), os.path.realpath(home))
        yield from () if real.startswith("..") else (real,)

    return set(_reached(places, read, named))


def extended_by(project: Path, home: Path, paths: Sequence[str]) -> set[str]:
    """Return those of ``paths`` that configure checks under another name."""
    return {path for path in configuration(project, home, paths).intersection(paths) if not is_configuration(path)}


def loaded_by(project: Path, paths: Sequence[str]) -> set[str]:
    """Return those of ``paths`` that top-level configuration loads."""
    words: set[str] = set()
    for name in _ARGUED if paths else ():
        for plugins, text in _ARGUMENTS.findall(read_config_file(project / name)):
            found = _WORD.findall(text.decode("utf-8", "replace"))
            words |= {posixpath.normpath(one) for one in found if plugins or "." in one}  # no plain word is a path
    return {path for path in paths if path in words or path.removesuffix(".py").replace("/", ".") in words}


def _data_named(name: str, data: bytes) -> Iterator[str]:
    if name.endswith("package.json"):
        data = _of_package(data)
    elif name.rpartition("/")[2] in _NOT_EXTENDING:
        return
    elif name == ".rails.toml":  # its paths are files that are judged
        data = _JUDGED.sub(b"", data)
    else:
        yield from (path for path in named_by(name, data) if path.endswith(_DATA))
    yield from (path for path in _stated(name, data) if path.endswith(_DATA) or is_configuration(path))


def _of_package(data: bytes) -> bytes:
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(package := json.loads(data), dict):
            return json.dumps({"eslint": package.get("eslintConfig"), "extends": package.get("prettier")}).encode()
    return b""


def _held(
    project: Path, base: str, names: Iterable[str], tree: Mapping[str, listing.Tracked]
) -> dict[str, bytes | None]:
    known = [name for name in names if name in tree]
    held = revisions.contents(project, base, known)
    for name in [name for name in known if tree[name].mode == _LINK]:
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(name), (held[name] or b"").decode("utf-8", "replace"))
        )
        held[name] = revisions.contents(project, base, [target])[target] if target in tree else _on_disk(project, name)
    return held


def _schemas(project: Path, path: str) -> Iterator[str]:
    data = _on_disk(project, path) or b""
    yield from _extended(
        path, re.sub(rb"(?m)(?:\$schema=|#:schema[ \t]+|^\$schema:[ \t]*)([^\s\"']+)", rb'schema = "\1"', data)
    )


def _on_disk(project: Path, name: str) -> bytes | None:
    return read_config_file(project / name) or None


def _places(paths: Iterable[str]) -> Iterator[str]:
    for folder in sorted({folder for path in ("", *paths) for folder in folders_to(path)}):
        yield from (f"{folder}{name}" for name in _NAMES)


def _extended(name: str, data: bytes) -> Iterator[str]:
    yield from named_by(name, data)
    yield from _stated(name, data)


def _stated(name: str, data: bytes) -> Iterator[str]:
    data = _plain(name, data)
    folder = name.rpartition("/")[0]
    for found in _EXTENDS.finditer(data):
        for quoted in _QUOTED.findall(found[1]):
            text = quoted.decode("utf-8", "replace")
            path = os.path.normpath(f"{folder}/{text}" if folder else text).replace(os.sep, "/")
            if not path.startswith(("/", "../")) and path not in ("..", ".") and "\0" not in path and ":" not in path:
                yield path
                yield from (f"{path}{end}" for end in (".json", ".jsonc", ".toml") if not path.endswith(end))


def _plain(name: str, data: bytes) -> bytes:
    with contextlib.suppress(CheckError):
        if name.endswith(".toml"):
            return json.dumps(parse_toml(data, name), ensure_ascii=False, default=str).encode("utf-8", "replace")
    if name.endswith((".yml", ".yaml", "rc")):
        data = _BARE.sub(rb'\1"\2"', data)
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "replace"), data)


def _mirror(project: Path, folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Make ``folder`` the project with these ``files``: real folders on the way to them, links for all else."""
    on_the_way = {str(above) for name in files for above in PurePosixPath(name).parents} | {"."}
    real = set[str]()
    for inner in sorted(on_the_way, key=lambda one: (one != ".", one)):
        if inner != "." and ((posixpath.dirname(inner) or ".") not in real or (project / inner).is_symlink()):
            continue
        real.add(inner)
        (folder / inner).mkdir(exist_ok=True)
        for entry in (project / inner).iterdir() if (project / inner).is_dir() else ():
            path = posixpath.normpath(f"{inner}/{entry.name}")
            is_folder = path in on_the_way and not entry.is_symlink()
            if path not in files and not is_folder and entry.name != ".git":
                (folder / path).symlink_to(entry)
    for name, data in files.items():
        if data is not None and (posixpath.dirname(name) or ".") in real:
            (folder / name).write_bytes(data)
