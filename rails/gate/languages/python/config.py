"""A project's Python tools and options, read as data and never executed.

Without linter configuration only errors count; without a formatter nothing is formatted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.gate.support.advice import name_list
from rails.gate.support.config_files import (
    folders_to,
    hooks_of,
    parse_ini,
    parse_toml,
    pattern_fits,
    read_config_file,
    table,
)
from rails.gate.support.fix_and_lint import ExcludedError

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
#: What flake8 does.
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
        """The command-line arguments."""
        pairs = [f"--config={key}={_toml(value)}" for key, value in self.options]
        return tuple(pairs) if self.project else ("--isolated", *pairs)


class PythonSettings(Struct, frozen=True):
    """A project's Python configuration, without ruff's per-folder settings.

    ``flake8`` are arguments, ``None`` if unwanted. ``target``: the oldest supported Python.
    """

    formatter: Formatter
    black: Mapping[str, Json] = field(default_factory=dict)
    black_include: str = ""
    black_exclude: tuple[str, ...] = ()
    flake8: tuple[str, ...] | None = None
    flake8_exclude: tuple[str, ...] = ()
    flake8_files: tuple[str, ...] = ()
    flake8_notes: tuple[str, ...] = ()
    target: tuple[int, int] | None = None
    requires_python: str = ""
    black_origin: str = ""
    flake8_origin: str = ""


def read_python_settings(project: Path) -> PythonSettings:
    """Read the configuration. Raises CheckError for an unreadable file."""
    pyproject = _toml_file(project / "pyproject.toml")
    tool = table(pyproject, "tool")
    ruff = next(filter(None, (_toml_file(project / name) for name in (".ruff.toml", "ruff.toml"))), table(tool, "ruff"))
    hooks = hooks_of(read_config_file(project / ".pre-commit-config.yaml"))
    requires = table(pyproject, "project").get("requires-python")
    return PythonSettings(
        _formatter(ruff, tool, hooks),
        **_black(tool, "pyproject.toml"),
        **_flake8(project, table(tool, "flake8"), hooks),
        target=_target(ruff.get("target-version")) or _oldest(requires),
        requires_python=requires if isinstance(requires, str) else "",
    )


def _flake8(project: Path, own: Mapping[str, Json], hooks: set[str]) -> dict[str, Any]:
    """Return flake8's settings, empty where it is not wanted."""
    name, section = next(_sections(project), ("pyproject.toml", {key: _joined(value) for key, value in own.items()}))
    if not section and "flake8" in hooks:
        name = ".pre-commit-config.yaml"
    elif not section:
        return {}
    arguments, notes = _flake8_arguments(section)
    excluded = _patterns(section, "exclude", _FLAKE8_EXCLUDES)
    return {
        "flake8": arguments,
        "flake8_exclude": (*excluded, *_patterns(section, "extend-exclude", "")),
        "flake8_files": _patterns(section, "filename", _FLAKE8_FILES),
        "flake8_notes": notes,
        "flake8_origin": name,
    }


def _sections(project: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield flake8's section of each file that has one. Raises CheckError."""
    for name in ("setup.cfg", "tox.ini", ".flake8"):
        parser = parse_ini(read_config_file(project / name), name)
        local = {"local-plugins": "yes"} if parser.has_section("flake8:local-plugins") else {}
        if local or parser.has_section("flake8"):
            yield name, {"": "", **(dict(parser.items("flake8")) if parser.has_section("flake8") else {}), **local}


def formatted_by_the_nearest(project: Path, path: str, settings: PythonSettings) -> PythonSettings:
    """Return the settings with the nearest folder's formatter."""
    for folder in folders_to(path)[:0:-1]:
        place = f"{folder}pyproject.toml"
        tool = table(_toml_file(project / place), "tool")
        own = next((name for name in (".ruff.toml", "ruff.toml") if (project / folder / name).is_file()), "")
        formatter = _formatter(_toml_file(project / folder / own) if own else table(tool, "ruff"), tool, set())
        if formatter and formatter != "undecided":
            return replace(settings, formatter=formatter, **_black(tool, place))
    return settings


def _black(tool: Mapping[str, Json], place: str) -> dict[str, Any]:
    given = {key.removeprefix("--").replace("_", "-"): value for key, value in table(tool, "black").items()}
    excluded = {"exclude": _BLACK_EXCLUDES, **given}
    return {
        "black": {key: given[key] for key in _BLACK_KEYS if key in given},
        "black_include": str(given.get("include", "")),
        "black_exclude": tuple(str(excluded.get(key, "")) for key in ("exclude", "extend-exclude", "force-exclude")),
        "black_origin": place if "black" in tool else "black's own defaults",
    }


def ruff_for(project: Path, path: str, settings: PythonSettings, more_src: str = "") -> RuffSettings:
    """Return how ruff runs on ``path``: by the nearest configuration, or ours.

    ``more_src`` is a further first-party source folder. Raises CheckError for unreadable configuration.
    """
    for folder in reversed(folders_to(path)):
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            file = project / folder / name
            if file.is_file() and (name != "pyproject.toml" or "ruff" in table(_toml_file(file), "tool")):
                return replace(_chain(project, file, more_src), origin=f"{folder}{name}")
    return RuffSettings(False, _own_options(project, settings, more_src), "errors only: ruff is not configured")


def _own_options(project: Path, settings: PythonSettings, more_src: str) -> tuple[RuffOption, ...]:
    target = settings.target or (3, 10)
    src = (str(project), str(project / "src"), *([more_src] if more_src else []))
    return (
        ("exclude", ()),
        ("src", src),
        ("target-version", f"py3{min(max(target[1], 7), 15)}"),
        ("lint.select", name_list("errors")),
    )


def _chain(project: Path, file: Path, more_src: str) -> RuffSettings:
    """Return what a ruff configuration says, with all it extends.

    Raises CheckError for a file outside the project: ruff would quote its lines.
    """
    seen: list[tuple[str, bytes]] = []
    src: tuple[str, ...] | None = None
    include: tuple[str, ...] | None = None
    more: tuple[str, ...] = ()
    first = file.parent
    for _ in range(10):
        data = read_config_file(file)
        seen.append((file.name, data))
        options = parse_toml(data, file.name)
        if file.name == "pyproject.toml":
            options = table(table(options, "tool"), "ruff")
        folders = options.get("src")
        if isinstance(folders, list) and src is None:
            src = tuple(str(file.parent / str(folder)) for folder in folders)
        if include is None and "include" in options:
            include = _patterns_of(project, file, options["include"])
        more += _patterns_of(project, file, options.get("extend-include"))
        extended = options.get("extend")
        if not isinstance(extended, str):
            sources = (*(src or (str(first), str(first / "src"))), more_src)
            named = (("src", sources),) if more_src else ()
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


def _flake8_arguments(section: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    arguments = []
    notes = []
    for key, value in section.items():
        name = key.replace("_", "-")
        if name == "local-plugins":
            notes.append("local plugins are code of the project and are not executed")
        elif name not in name_list("flake8_options"):
            continue
        elif name in ("hang-closing", "disable-noqa", "doctests"):
            if value.strip().lower() in ("true", "1", "yes", "on"):
                arguments.append(f"--{name}")
        else:
            arguments.append(f"--{name}={_without_comments(value)}")
    return tuple(arguments), tuple(notes)


def _without_comments(value: str) -> str:
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in value.splitlines())
    return "\n".join(line for line in lines if line)


def _patterns(section: Mapping[str, str], key: str, default: str) -> tuple[str, ...]:
    value = section.get(key, section.get(key.replace("-", "_"), default))
    return tuple(filter(None, re.split(r"[,\s]+", _without_comments(value))))


def _target(version: Json) -> tuple[int, int] | None:
    found = re.fullmatch(r"py3(\d+)", str(version))
    return (3, int(found[1])) if found else None


def _oldest(requires: Json) -> tuple[int, int] | None:
    if not isinstance(requires, str):
        return None
    bounds = re.findall(r"(>=|~=|={2,3}|>)\s*3\.(\d+)", requires)
    return (3, max(int(minor) for _, minor in bounds)) if bounds else None


def _toml_file(path: Path) -> Mapping[str, Json]:
    return parse_toml(read_config_file(path), path.name)


def _joined(value: Json) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _toml(value: str | int | tuple[str, ...]) -> str:
    """Return TOML; for these types JSON is TOML too."""
    import json

    return json.dumps(value)
