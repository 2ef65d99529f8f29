"""A project's Python tools and options, read as data and never executed.

Without linter configuration only errors count; without a formatter nothing is formatted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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

#: All but stubs: flake8 alone takes ``*.py``, and pre-commit hands it what else is Python.
_FLAKE8_FILES: Final = "*[!i],*[!y]i,*[!p]yi"

RuffOption = tuple[str, str | int | tuple[str, ...]]
Formatter = Literal["ruff", "black", "undecided", ""]


class RuffSettings(Struct, frozen=True):
    """Ruff's configuration: the project's configuration, or isolated with ``options``.

    ``content`` is all that was read of it. ``include`` are the patterns of what ruff looks at, from the project's
    folder on, if it names them.
    """

    project: bool
    options: tuple[RuffOption, ...] = ()
    origin: str = ""
    content: bytes = b""
    include: tuple[str, ...] | None = None

    def canary_of(self, path: str) -> str:
        """Return a path that ruff treats like ``path``. Raises ExcludedError if ``include`` has none for it."""
        if self.include is not None and not any(pattern_fits(f"/{path}", pattern) for pattern in self.include):
            raise ExcludedError
        folder, _, name = path.rpartition("/")
        if "." not in name or b"per-file" in self.content or b"clude" in self.content:
            return path
        canary = f"canary.{name.rpartition('.')[2]}"
        return f"{folder}/{canary}" if folder and self.project else canary

    def arguments(self) -> tuple[str, ...]:
        """The command-line arguments; of these types JSON is TOML, too."""
        pairs = [f"--config={key}={json.dumps(value)}" for key, value in self.options]
        return tuple(pairs) if self.project else ("--isolated", *pairs)


class BlackSettings(Struct, frozen=True):
    """black's options, and where they are from."""

    options: Mapping[str, Json]
    origin: str


class Flake8Settings(Struct, frozen=True):
    """flake8's options, where they are from, and what of its configuration is ignored."""

    options: Mapping[str, str]
    origin: str
    notes: tuple[str, ...] = ()


class PythonSettings(Struct, frozen=True):
    """A project's Python configuration, without ruff's per-folder settings.

    ``flake8`` is ``None`` if unwanted. ``target``: the minor version of the oldest supported Python 3.
    """

    formatter: Formatter
    black: BlackSettings
    flake8: Flake8Settings | None
    target: int


def read_python_settings(project: Path) -> PythonSettings:
    """Read the configuration. Raises CheckError for an unreadable file."""
    pyproject = _toml_file(project / "pyproject.toml")
    hooks = hooks_of(read_config_file(project / ".pre-commit-config.yaml"))
    return PythonSettings(
        _formatter(project, pyproject, hooks),
        _black(pyproject, "pyproject.toml"),
        _flake8(project, table(table(pyproject, "tool"), "flake8"), hooks),
        _oldest(_requires(pyproject)),
    )


def _flake8(project: Path, own: Mapping[str, Json], hooks: set[str]) -> Flake8Settings | None:
    """Return flake8's settings: of the first file that has some, else of pyproject.toml or a hook without any."""
    for name in ("setup.cfg", "tox.ini", ".flake8"):
        parser = parse_ini(read_config_file(project / name), name)
        given = dict(parser.items("flake8")) if parser.has_section("flake8") else {}
        if parser.has_section("flake8:local-plugins"):
            notes = ("local plugins are code of the project and are not executed",)
            return Flake8Settings(_flake8_options(given), name, notes)
        if parser.has_section("flake8"):
            return Flake8Settings(_flake8_options(given), name)
    if own:
        return Flake8Settings(_flake8_options(own), "pyproject.toml")
    return Flake8Settings(_flake8_options({}), ".pre-commit-config.yaml") if "flake8" in hooks else None


def _flake8_options(given: Mapping[str, Json]) -> dict[str, str]:
    options = {"filename": _FLAKE8_FILES}
    for key, value in given.items():
        name = key.replace("_", "-")
        if name in name_list("flake8_options"):
            lines = value if isinstance(value, list) else str(value).splitlines()
            options[name] = "\n".join(re.sub(r"(^|\s)#.*", "", str(line)) for line in lines)
    return options


def formatted_by_the_nearest(project: Path, path: str, settings: PythonSettings) -> PythonSettings:
    """Return the settings with the nearest folder's formatter."""
    for folder in folders_to(path)[:0:-1]:
        pyproject = _toml_file(project / folder / "pyproject.toml")
        formatter = _formatter(project / folder, pyproject, set())
        if formatter and formatter != "undecided":
            return replace(settings, formatter=formatter, black=_black(pyproject, f"{folder}pyproject.toml"))
    return settings


def _black(pyproject: Mapping[str, Json], place: str) -> BlackSettings:
    tool = table(pyproject, "tool")
    given = {key.removeprefix("--").replace("_", "-"): value for key, value in table(tool, "black").items()}
    origin = place if "black" in tool else "black's own defaults"
    return BlackSettings({"requires-python": _requires(pyproject), **given}, origin)


def ruff_for(project: Path, path: str, settings: PythonSettings, created: frozenset[str] = frozenset()) -> RuffSettings:
    """Return how ruff runs on ``path``: by the nearest configuration, or ours.

    ``created`` are files that will be there: their modules are the project's own, too. Raises CheckError for unreadable
    configuration.
    """
    for folder in reversed(folders_to(path)):
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            file = project / folder / name
            if file.is_file() and (name != "pyproject.toml" or "ruff" in table(_toml_file(file), "tool")):
                return replace(_chain(project, file, created), origin=f"{folder}{name}")
    options: tuple[RuffOption, ...] = (
        ("exclude", ()),
        ("target-version", f"py3{settings.target}"),
        ("lint.select", name_list("errors")),
    )
    return RuffSettings(False, options, "errors only: ruff is not configured")


def _chain(project: Path, file: Path, created: frozenset[str]) -> RuffSettings:
    """Return what a ruff configuration says, with all it extends. Raises CheckError."""
    content = b""
    more: tuple[str, ...] = ()
    include: tuple[str, ...] | None = None
    own: list[str] = []
    for one, options in _extended(project, file):
        content += f"# {one.name}\n".encode() + read_config_file(one)
        more += _patterns_of(project, one, options.get("extend-include"))
        if include is None and "include" in options:
            include = _patterns_of(project, one, options["include"])
        sorting = table({**options, **table(options, "lint")}, "isort")
        own = own or _texts(sorting.get("known-first-party"))
    paths = (name.removeprefix("src/") for name in sorted(created) if name.endswith((".py", ".pyi")))
    tops = dict.fromkeys(path.partition("/")[0].partition(".")[0] for path in paths)
    names = (*own, *filter(str.isidentifier, tops))
    option = (("lint.isort.known-first-party", names),) if tops else ()
    return RuffSettings(True, option, "", content, None if include is None else include + more)


def _extended(project: Path, file: Path) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    """Yield a ruff configuration and all it extends, with their options.

    Raises CheckError for a file outside the project: ruff would quote its lines.
    """
    for _ in range(10):
        options = _toml_file(file)
        if file.name == "pyproject.toml":
            options = table(table(options, "tool"), "ruff")
        yield file, options
        extended = options.get("extend")
        if not isinstance(extended, str):
            return
        file = real_path(file.parent / extended)
        if project not in file.parents:
            words = "which is outside the project or leads through a link or '..'; name it by its plain path inside"
            raise CheckError(f"ruff's configuration extends {extended}, {words}.")
    raise CheckError("ruff's configuration extends itself.")


def _patterns_of(project: Path, file: Path, given: Json) -> tuple[str, ...]:
    """Return patterns as ruff reads them: below their file's folder, and those that begin with a star anywhere."""
    patterns = [one.replace(f"{project}/", "/", 1) for one in _texts(given)]
    folder = PurePosixPath("/", file.parent.relative_to(project))
    return (*(one for one in patterns if one.startswith("*")), *(str(folder / one) for one in patterns))


def _texts(given: Json) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []


def _formatter(folder: Path, pyproject: Mapping[str, Json], hooks: set[str]) -> Formatter:
    tool = table(pyproject, "tool")
    own = (_toml_file(folder / name) for name in (".ruff.toml", "ruff.toml"))
    ruff = next(filter(None, own), table(tool, "ruff"))
    if "format" in ruff or "ruff-format" in hooks:
        return "ruff"
    if "black" in tool or hooks & {"black", "black-jupyter"}:
        return "black"
    if "yapf" in tool or "autopep8" in tool or not (ruff or hooks & {"ruff", "ruff-check"}):
        return ""
    return "undecided"


def _requires(pyproject: Mapping[str, Json]) -> str:
    return str(table(pyproject, "project").get("requires-python", ""))


def _oldest(requires: str) -> int:
    bounds = map(int, re.findall(r"(?:>=|~=|={2,3}|>)\s*3\.(\d+)", requires))
    return min(max(7, max(bounds, default=10)), 15)


def _toml_file(path: Path) -> Mapping[str, Json]:
    return parse_toml(read_config_file(path), path.name)
