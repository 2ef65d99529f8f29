"""ruff's resolved settings before and after a change: ``ruff check --show-settings``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.scratch import scratch_folder
from rails.gate.support import config_files

#: Files that ruff reads.
NAMES: Final = frozenset({"pyproject.toml", "ruff.toml", ".ruff.toml"})


def ask_no_less(project: Path, files: Mapping[str, tuple[bytes | None, bytes | None]]) -> bool:
    """Return whether by ruff's account no file is checked less. ``files`` are the changed ones' sides."""
    folders = {path.rpartition("/")[0] for path in files} | {""}
    try:
        old = _settings(project, folders, {path: before for path, (before, _) in files.items()})
        new = _settings(project, folders, {path: after for path, (_, after) in files.items()})
    except (CheckError, OSError):
        return False
    return all(_no_less(old[folder], new[folder]) for folder in folders)


def _settings(
    project: Path, folders: Iterable[str], files: Mapping[str, bytes | None]
) -> dict[str, dict[str, set[str]]]:
    from rails.processes import programs

    tool = programs.find_ruff()
    if tool is None:
        raise CheckError("ruff is not installed")
    found = {}
    with scratch_folder("settings") as scratch:
        for folder in sorted(folders):
            place = Path(scratch, folder)
            place.mkdir(parents=True, exist_ok=True)
            for name in sorted(NAMES):
                path = f"{folder}/{name}" if folder else name
                data = files[path] if path in files else config_files.read_config_file(project / path)
                if data:
                    (place / name).write_bytes(data)
            (place / "x.py").touch()
        for folder in folders:
            asked = [*tool.argv, "check", "--no-cache", "--show-settings", str(Path(scratch, folder, "x.py"))]
            ran = programs.run_tool(asked)
            if ran.code:
                raise CheckError(ran.complaint)
            found[folder] = _resolved(ran.out.decode(errors="replace").replace(scratch, ""))
    return found


def _resolved(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    key = ""
    for line in text.splitlines():
        name, sign, value = line.partition(" = ")
        if sign and re.fullmatch(r"[a-z_]+(?:\.\w+)*", name):
            key = name
            found[key] = {value}
        elif key and line.strip(" \t,"):
            found[key].add(line.strip(" \t,"))
    return found


_LEFT: Final = ("formatter.", "cache_dir", "output_", "fix", "show_fixes", "unsafe_fixes", "linter.rules.should_fix")
_MAY_GROW: Final = ("linter.rules.enabled", "file_resolver.include", "file_resolver.extend_include")
_MAY_SHRINK: Final = ("file_resolver.exclude", "file_resolver.extend_exclude", "linter.exclude")
#: Lines of a list with nothing in it.
_EMPTY: Final = frozenset({"[", "[]", "]"})
_LENGTHS: Final = ("linter.line_length", "linter.pycodestyle.max_line_length")


def _no_less(old: Mapping[str, set[str]], new: Mapping[str, set[str]]) -> bool:
    for key in old.keys() | new.keys():
        was = old.get(key, set())
        now = new.get(key, set())
        grown = key in _MAY_GROW and was <= now | _EMPTY
        shrunk = key in _MAY_SHRINK and now <= was | _EMPTY
        shorter = key in _LENGTHS and int(min(now)) <= int(min(was))
        if not (key.startswith(_LEFT) or was == now or grown or shrunk or shorter):
            return False
    return True
