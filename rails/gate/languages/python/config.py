"""A project's Python tools and options, read as data and never executed.

Without linter configuration only errors count; without a formatter nothing is formatted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.gate.support.advice import name_list
from rails.gate.support.check import ExcludedError
from rails.gate.support.config_files import (
    folders_to,
    hooks_of,
    parse_ini,
    parse_toml,
    pattern_fits,
    read_config_file,
    table,
)

if TYPE_CHECKING:
    from rails.core.tool_request import Json

_BLACK_KEYS: Final = (
    "line-length",
    "target-version",
    "skip-string-normalization",
    "skip-magic-trailing-comma",
    "preview",
    "unstable",
    "enable-unstable-feature",
)

#: What black leaves out where a project does not say, by its own documentation.
_BLACK_EXCLUDES: Final = (
    r"/(\.direnv|\.eggs|\.git|\.hg|\.ipynb_checkpoints|\.mypy_cache|\.nox|\.pytest_cache|\.ruff_cache|\.tox|\.svn|\.venv"
    r"|\.vscode|__pypackages__|_build|buck-out|build|dist|venv)/"
)
#: Options of flake8 that are there or not.
_FLAGS: Final = frozenset({"hang-closing", "disable-noqa", "doctests"})
#: What flake8 leaves out.
_FLAKE8_EXCLUDES: Final = ".svn,CVS,.bzr,.hg,.git,__pycache__,.tox,.nox,.eggs,*.egg"
#: All but stubs: flake8 alone takes ``*.py``, and pre-commit hands it what else is Python.
_FLAKE8_FILES: Final = "*[!i],*[!y]i,*[!p]yi"

#: The names and contents of what was read, which tell whether it is still the same.
Digest = tuple[tuple[str, bytes], ...]
RuffOption = tuple[str, str | int | tuple[str, ...]]
Formatter = Literal["ruff", "black", "undecided", ""]


class RuffSettings(Struct, frozen=True):
    """Ruff's configuration: the project's configuration, or isolated with ``options``.

    ``digest`` identifies the configuration. ``include`` are the patterns of what ruff looks at, from the project's
    folder on, if it names them.
    """

    project: bool
    options: tuple[RuffOption, ...] = ()
    origin: str = ""
    digest: Digest = ()
    include: tuple[str, ...] | None = None

    def canary_of(self, path: str) -> str:
        """Return a path that ruff treats like ``path``. Raises ExcludedError if ``include`` has none for it."""
        if self.include is not None and not any(pattern_fits(f"/{path}", pattern) for pattern in self.include):
            raise ExcludedError
        folder, _, name = path.rpartition("/")
        if "." not in name or any(word in data for _, data in self.digest for word in (b"per-file", b"clude")):
            return path
        canary = f"canary.{name.rpartition('.')[2]}"
        return f"{folder}/{canary}" if folder and self.project else canary

    def arguments(self) -> tuple[str, ...]:
        """The command-line arguments; of these types JSON is TOML, too."""
        pairs = [f"--config={key}={json.dumps(value)}" for key, value in self.options]
        return tuple(pairs) if self.project else ("--isolated", *pairs)


class BlackSettings(Struct, frozen=True):
    """black's options, the patterns of files, and where they are from."""

    options: Mapping[str, Json]
    include: str
    exclude: tuple[str, ...]
    origin: str


class Flake8Settings(Struct, frozen=True):
    """flake8's arguments, the patterns of files, what of its configuration is ignored, and where it is from."""

    arguments: tuple[str, ...]
    exclude: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]
    origin: str


class PythonSettings(Struct, frozen=True):
    """A project's Python configuration, without ruff's per-folder settings.

    ``flake8`` is ``None`` if unwanted. ``target``: the oldest supported Python.
    """

    formatter: Formatter
    black: BlackSettings
    flake8: Flake8Settings | None
    target: tuple[int, int] | None


def read_python_settings(project: Path) -> PythonSettings:
    """Read the configuration. Raises CheckError for an unreadable file."""
    pyproject = _toml_file(project / "pyproject.toml")
    tool = table(pyproject, "tool")
    ruff = next(filter(None, (_toml_file(project / name) for name in (".ruff.toml", "ruff.toml"))), table(tool, "ruff"))
    hooks = hooks_of(read_config_file(project / ".pre-commit-config.yaml"))
    return PythonSettings(
        _formatter(ruff, tool, hooks),
        _black(pyproject, "pyproject.toml"),
        _flake8(project, table(tool, "flake8"), hooks),
        _target(ruff.get("target-version")) or _oldest(_requires(pyproject)),
    )


def _flake8(project: Path, own: Mapping[str, Json], hooks: set[str]) -> Flake8Settings | None:
    """Return flake8's settings: of the first file that has some, else of pyproject.toml or a hook without any."""
    origin = "pyproject.toml" if own else ".pre-commit-config.yaml"
    given = {key: ",".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in own.items()}
    wanted = bool(own) or "flake8" in hooks
    notes: tuple[str, ...] = ()
    for name in ("setup.cfg", "tox.ini", ".flake8"):
        parser = parse_ini(read_config_file(project / name), name)
        local = parser.has_section("flake8:local-plugins")
        if local or parser.has_section("flake8"):
            wanted = True
            origin = name
            given = dict(parser.items("flake8")) if parser.has_section("flake8") else {}
            notes = ("local plugins are code of the project and are not executed",) if local else ()
            break
    if not wanted:
        return None
    options = {key.replace("_", "-"): _without_comments(value) for key, value in given.items()}
    patterns = {"exclude": _FLAKE8_EXCLUDES, "extend-exclude": "", "filename": _FLAKE8_FILES, **options}
    excluded, more, files = (
        tuple(filter(None, re.split(r"[,\s]+", patterns[key]))) for key in ("exclude", "extend-exclude", "filename")
    )
    return Flake8Settings(_flake8_arguments(options), excluded + more, files, notes, origin)


def _flake8_arguments(options: Mapping[str, str]) -> tuple[str, ...]:
    known = {key: value for key, value in options.items() if key in name_list("flake8_options")}
    flags = (f"--{key}" for key in known if key in _FLAGS and known[key].lower() in ("true", "1", "yes", "on"))
    return (*flags, *(f"--{key}={value}" for key, value in known.items() if key not in _FLAGS))


def formatted_by_the_nearest(project: Path, path: str, settings: PythonSettings) -> PythonSettings:
    """Return the settings with the nearest folder's formatter."""
    for folder in folders_to(path)[:0:-1]:
        place = f"{folder}pyproject.toml"
        pyproject = _toml_file(project / place)
        tool = table(pyproject, "tool")
        own = next((name for name in (".ruff.toml", "ruff.toml") if (project / folder / name).is_file()), "")
        formatter = _formatter(_toml_file(project / folder / own) if own else table(tool, "ruff"), tool, set())
        if formatter and formatter != "undecided":
            return replace(settings, formatter=formatter, black=_black(pyproject, place))
    return settings


def _black(pyproject: Mapping[str, Json], place: str) -> BlackSettings:
    tool = table(pyproject, "tool")
    given = {key.removeprefix("--").replace("_", "-"): value for key, value in table(tool, "black").items()}
    patterns = {"exclude": _BLACK_EXCLUDES, **given}
    return BlackSettings(
        {"requires-python": _requires(pyproject), **{key: given[key] for key in _BLACK_KEYS if key in given}},
        str(given.get("include", "")),
        tuple(str(patterns.get(key, "")) for key in ("exclude", "extend-exclude", "force-exclude")),
        place if "black" in tool else "black's own defaults",
    )


def ruff_for(project: Path, path: str, settings: PythonSettings, more_src: str = "") -> RuffSettings:
    """Return how ruff runs on ``path``: by the nearest configuration, or ours.

    ``more_src`` is a further first-party source folder. Raises CheckError for unreadable configuration.
    """
    for folder in reversed(folders_to(path)):
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            file = project / folder / name
            if file.is_file() and (name != "pyproject.toml" or "ruff" in table(_toml_file(file), "tool")):
                return replace(_chain(project, file, more_src), origin=f"{folder}{name}")
    options: tuple[RuffOption, ...] = (
        ("exclude", ()),
        ("src", tuple(filter(None, (str(project), str(project / "src"), more_src)))),
        ("target-version", f"py3{min(max((settings.target or (3, 10))[1], 7), 15)}"),
        ("lint.select", name_list("errors")),
    )
    return RuffSettings(False, options, "errors only: ruff is not configured")


def _chain(project: Path, file: Path, more_src: str) -> RuffSettings:
    """Return what a ruff configuration says, with all it extends.

    Raises CheckError for a file outside the project: ruff would quote its lines.
    """
    seen: list[tuple[str, bytes]] = []
    src: tuple[str, ...] = (str(file.parent), str(file.parent / "src"))
    known: dict[str, Json] = {}
    include: tuple[str, ...] | None = None
    more: tuple[str, ...] = ()
    for _ in range(10):
        data = read_config_file(file)
        seen.append((file.name, data))
        options = parse_toml(data, file.name)
        if file.name == "pyproject.toml":
            options = table(table(options, "tool"), "ruff")
        folders = options.get("src")
        if isinstance(folders, list) and "src" not in known:
            src = tuple(str(file.parent / str(folder)) for folder in folders)
        if "include" in options and "include" not in known:
            include = _patterns_of(project, file, options["include"])
        more += _patterns_of(project, file, options.get("extend-include"))
        known = {**options, **known}
        extended = options.get("extend")
        if not isinstance(extended, str):
            named = (("src", (*src, more_src)),) if more_src else ()
            return RuffSettings(True, named, "", tuple(seen), None if include is None else include + more)
        file = real_path(file.parent / extended)
        if project not in file.parents:
            words = "which is outside the project or leads through a link or '..'; name it by its plain path inside"
            raise CheckError(f"ruff's configuration extends {extended}, {words}.")
    raise CheckError("ruff's configuration extends itself.")


def _patterns_of(project: Path, file: Path, given: Json) -> tuple[str, ...]:
    """Return patterns as ruff reads them: below their file's folder, and those that begin with a star anywhere."""
    patterns = [str(one).replace(f"{project}/", "/", 1) for one in given] if isinstance(given, list) else []
    folder = PurePosixPath("/", file.parent.relative_to(project))
    return (*(one for one in patterns if one.startswith("*")), *(str(folder / one) for one in patterns))


def _formatter(ruff: Mapping[str, Json], tool: Mapping[str, Json], hooks: set[str]) -> Formatter:
    if "format" in ruff or "ruff-format" in hooks:
        return "ruff"
    if "black" in tool or hooks & {"black", "black-jupyter"}:
        return "black"
    if "yapf" in tool or "autopep8" in tool or not (ruff or hooks & {"ruff", "ruff-check"}):
        return ""
    return "undecided"


def _without_comments(value: str) -> str:
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in value.splitlines())
    return "\n".join(filter(None, lines))


def _target(version: Json) -> tuple[int, int] | None:
    found = re.fullmatch(r"py3(\d+)", str(version))
    return (3, int(found[1])) if found else None


def _requires(pyproject: Mapping[str, Json]) -> str:
    return str(table(pyproject, "project").get("requires-python", ""))


def _oldest(requires: str) -> tuple[int, int] | None:
    bounds = re.findall(r"(?:>=|~=|={2,3}|>)\s*3\.(\d+)", requires)
    return (3, max(map(int, bounds))) if bounds else None


def _toml_file(path: Path) -> Mapping[str, Json]:
    return parse_toml(read_config_file(path), path.name)
