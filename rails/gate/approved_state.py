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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError, UsageError
from rails.core.scratch import scratch_folder
from rails.gate.support.advice import name_list
from rails.gate.support.config_files import folders_to, parse_toml, read_config_file
from rails.gate.support.quoted_paths import is_inside, path_from, paths_named, reached
from rails.git import listing, revisions

_NAMES: Final = name_list("read_by_checks")
#: What a configuration file extends, or names as a schema: quoted, one or several.
_EXTENDS: Final = re.compile(
    rb"""["']?\b(?:extends?|schema|plugins|ref|prettier)\b["']?\s*[:=]\s*+(\[[^\]]{0,4000}\]|"[^"\n]*"|'[^'\n]*'"""
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
_LINK: Final = "120000"
_MOST: Final = 100_000
#: Settings of ours whose paths are files that are judged.
_JUDGED: Final = re.compile(rb"(?m)^[^\S\n]*+path\s*=.*$")
#: Data that may name the schema by which it is judged.
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
    then = _configured(project, base, paths)
    changed = {name: data for name, data in then.items() if (data or None) != _on_disk(project, name)}
    if not changed:
        yield None
        return
    with scratch_folder("approved") as made:
        folder = Path(made).resolve() / "project"
        _mirror(project, folder, {name: data for name, data in then.items() if name in changed or data is not None})
        yield folder, changed


def _configured(project: Path, base: str, paths: Iterable[str]) -> dict[str, bytes | None]:
    """Return what configures checks of ``paths``, on the disk or in the base, as the base has it."""
    tree = listing.files_at(project, base)
    data = [path for path in paths if path.lower().endswith(_DATA) and not is_configuration(path)]
    places = {*_places(paths), *(name for path in data for name in _schemas(project, path) if name in tree)}
    held = revisions.contents(project, base, [name for name in places if name in tree])

    def then_of(name: str) -> bytes | None:
        if name not in tree:
            return None
        if name not in held:
            held.update(revisions.contents(project, base, [name]))
        if tree[name].mode != _LINK:
            return held[name]
        target = path_from(name, held[name] or b"")
        return revisions.contents(project, base, [target])[target] if target in tree else _on_disk(project, name)

    sides = (then_of, lambda name: _on_disk(project, name))
    names = {name for side in sides for name in reached(places, side, _extended, _MOST)}
    return {name: then_of(name) for name in sorted(names) if name in tree or os.path.lexists(project / name)}


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
        if name == ".rails.toml":
            data = _JUDGED.sub(b"", data)
        yield from (path for path in _extended(name, data) if path.endswith(_DATA) or is_configuration(path))
        yield from filter(is_inside, [os.path.relpath(os.path.realpath(home / name), os.path.realpath(home))])

    return reached(places, read, named, _MOST)


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
    yield from filter(is_inside, paths_named(name, data))
    for found in _EXTENDS.findall(_plain(name, data)):
        for path in filter(is_inside, (path_from(name, quoted) for quoted in _QUOTED.findall(found))):
            yield from (path, f"{path}.json", f"{path}.jsonc", f"{path}.toml")


def _plain(name: str, data: bytes) -> bytes:
    with contextlib.suppress(CheckError):
        if name.endswith(".toml"):
            return json.dumps(parse_toml(data, name), ensure_ascii=False, default=str).encode("utf-8", "replace")
    if name.endswith((".yml", ".yaml", "rc")):
        data = _BARE.sub(rb'\1"\2"', data)
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "replace"), data)


def _mirror(source: Path, folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Make ``folder`` as ``source`` with these ``files``: real folders on the way to them, links for all else."""
    folder.mkdir()
    below: defaultdict[str, dict[str, bytes | None]] = defaultdict(dict)
    for name, data in files.items():
        first, _, rest = name.partition("/")
        if rest:
            below[first][rest] = data
        elif data is not None:
            (folder / name).write_bytes(data)
    for entry in source.iterdir() if source.is_dir() else ():
        is_real = entry.name in below and not entry.is_symlink()
        if not is_real and entry.name not in files and entry.name != ".git":
            (folder / entry.name).symlink_to(entry)
    for first, inner in below.items():
        if not (source / first).is_symlink():
            _mirror(source / first, folder / first, inner)
