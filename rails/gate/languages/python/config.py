"""A project's Python tools and options, read as data and never executed.

Without linter configuration only errors count; without a formatter nothing is formatted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.gate.support.advice import name_list
from rails.gate.support.config_files import parse_toml, read_config_file, table

if TYPE_CHECKING:
    from rails.core.tool_request import Json

_HOOK: Final = r"^[ \t]*(?:-\s*)?id:\s*['\"]?([\w-]+)"
_BLACK_KEYS: Final = (
    "line-length",
    "target-version",
    "skip-string-normalization",
    "skip-magic-trailing-comma",
    "preview",
    "unstable",
    "enable-unstable-feature",
)

#: The names and contents of what was read, which tell whether it is still the same.
Digest = tuple[tuple[str, bytes], ...]
Targets = tuple[tuple[str, tuple[int, int]], ...]
RuffOption = tuple[str, str | int | tuple[str, ...]]
Formatter = Literal["ruff", "black", "undecided", ""]


class RuffSettings(Struct, frozen=True):
    """How ruff runs: with the project's configuration, or isolated with ``options``.

    ``digest`` identifies the configuration. ``targets`` are Python versions by pattern, the general one last.
    """

    project: bool
    options: tuple[RuffOption, ...] = ()
    origin: str = ""
    digest: Digest = ()
    targets: Targets = ()

    def target_of(self, path: str) -> tuple[int, int] | None:
        """Return the Python version that ``path`` is for, if configured."""
        names = path, path.rpartition("/")[2]
        return next((target for glob, target in self.targets if any(fnmatchcase(name, glob) for name in names)), None)

    def canary_of(self, path: str) -> str:
        """Return a path that ruff treats like ``path``."""
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

    ``flake8`` are arguments, ``None`` if unwanted. ``target``: the oldest supported Python. ``digest`` identifies
    everything read.
    """

    formatter: Formatter
    black: Mapping[str, Json] = field(default_factory=dict)
    black_exclude: tuple[str, ...] = ()
    flake8: tuple[str, ...] | None = None
    flake8_exclude: tuple[str, ...] = ()
    flake8_notes: tuple[str, ...] = ()
    target: tuple[int, int] | None = None
    requires_python: str = ""
    black_origin: str = ""
    flake8_origin: str = ""
    digest: Digest = ()


def read_python_settings(project: Path) -> PythonSettings:
    """Read the configuration. Raises CheckError for an unreadable file."""
    return _Reader(project).settings()


def formatted_by_the_nearest(project: Path, path: str, settings: PythonSettings) -> PythonSettings:
    """Return the settings with the nearest folder's formatter."""
    folder = project.joinpath(path).parent
    while folder != project and project in folder.parents:
        tool = table(_toml_file(folder / "pyproject.toml"), "tool")
        own = next((name for name in (".ruff.toml", "ruff.toml") if (folder / name).is_file()), "")
        formatter = _formatter(_toml_file(folder / own) if own else table(tool, "ruff"), tool, set())
        if formatter and formatter != "undecided":
            place = f"{folder.relative_to(project).as_posix()}/pyproject.toml"
            black = _black(table(tool, "black"), place)
            return replace(settings, formatter=formatter, **black)
        folder = folder.parent
    return settings


def _black(table_of_black: Mapping[str, Json], origin: str) -> dict[str, Any]:
    excluded = (table_of_black.get(key) for key in ("exclude", "extend-exclude", "force-exclude"))
    return {
        "black": {key: table_of_black[key] for key in _BLACK_KEYS if key in table_of_black},
        "black_exclude": tuple(value for value in excluded if isinstance(value, str)),
        "black_origin": origin if table_of_black else "black's own defaults",
    }


def ruff_for(project: Path, path: str, settings: PythonSettings, more_src: str = "") -> RuffSettings:
    """Return how ruff runs on ``path``: by the nearest configuration, or ours.

    ``more_src`` is a further first-party source folder. Raises CheckError for unreadable configuration.
    """
    folder = project.joinpath(path).parent
    while True:
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            file = folder / name
            if file.is_file() and (name != "pyproject.toml" or "ruff" in table(_toml_file(file), "tool")):
                origin = file.relative_to(project).as_posix()
                digest, src, targets = _chain(project, file)
                options = (("src", (*src, more_src)),) if more_src else ()
                return RuffSettings(True, options, origin, digest, targets)
        if folder == project or project not in folder.parents:
            break
        folder = folder.parent
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


def _chain(project: Path, file: Path) -> tuple[Digest, tuple[str, ...], Targets]:
    """Return a ruff configuration's digest, source folders and Python versions, with all it extends.

    Raises CheckError for a file outside the project: ruff would quote its lines.
    """
    seen: list[tuple[str, bytes]] = []
    src = [str(file.parent), str(file.parent / "src")]
    found = False
    targets = dict[str, tuple[int, int]]()
    beside = _toml_file(file.parent / "pyproject.toml")
    for _ in range(10):
        data = read_config_file(file)
        seen.append((file.name, data))
        whole = parse_toml(data, file.name)
        options = table(table(whole, "tool"), "ruff") if file.name == "pyproject.toml" else whole
        extended = options.get("extend")
        folders = options.get("src")
        for glob, version in {**table(options, "per-file-target-version"), "*": options.get("target-version")}.items():
            if (target := _target(version)) and glob not in targets:
                targets[glob] = target
        if isinstance(folders, list) and not found:
            src = [str(file.parent / str(folder)) for folder in folders]
            found = True
        if not isinstance(extended, str):
            every = targets.pop("*", None) or _oldest(table(beside, "project").get("requires-python"))
            return tuple(seen), tuple(src), (*targets.items(), *([("*", every)] if every else []))
        file = real_path(file.parent / extended)
        if project not in file.parents:
            words = "which is outside the project or leads through a link or '..'; name it by its plain path inside"
            raise CheckError(f"ruff's configuration extends {extended}, {words}.")
    raise CheckError("ruff's configuration extends itself.")


class _Reader:
    def __init__(self, project: Path) -> None:
        self.project = project
        self.seen: list[tuple[str, bytes]] = []

    def bytes_of(self, name: str) -> bytes:
        data = read_config_file(f"{self.project}/{name}")
        self.seen.append((name, data))
        return data

    def settings(self) -> PythonSettings:
        pyproject = parse_toml(self.bytes_of("pyproject.toml"), "pyproject.toml")
        tool = table(pyproject, "tool")
        ruff_toml = next((n for n in (".ruff.toml", "ruff.toml") if self.bytes_of(n)), "")
        ruff_table = (
            parse_toml(read_config_file(self.project / ruff_toml), ruff_toml) if ruff_toml else table(tool, "ruff")
        )
        hooks = _hooks(self.bytes_of(".pre-commit-config.yaml"))
        section, flake8_file = self._ini()
        flake8_table = table(tool, "flake8")
        if section is None and flake8_table:
            section = {k: _joined(v) for k, v in flake8_table.items()}
            flake8_file = "pyproject.toml"
        if section is None and "flake8" in hooks:
            section = {}
            flake8_file = ".pre-commit-config.yaml"
        requires = table(pyproject, "project").get("requires-python")
        arguments, notes = _flake8_arguments(section or {})
        return PythonSettings(
            _formatter(ruff_table, tool, hooks),
            flake8=arguments if section is not None else None,
            flake8_exclude=_patterns(section or {}),
            flake8_notes=notes,
            flake8_origin=flake8_file,
            **_black(table(tool, "black"), "pyproject.toml"),
            target=_target(ruff_table.get("target-version")) or _oldest(requires),
            requires_python=requires if isinstance(requires, str) else "",
            digest=tuple(self.seen),
        )

    def _ini(self) -> tuple[dict[str, str] | None, str]:
        found: tuple[dict[str, str] | None, str] = (None, "")
        for name in ("setup.cfg", "tox.ini", ".flake8"):
            data = self.bytes_of(name)
            if not data:
                continue
            import configparser

            parser = configparser.RawConfigParser()
            try:
                parser.read_string(data.decode("utf-8-sig"), name)
            except (configparser.Error, UnicodeDecodeError) as error:
                raise CheckError(f"{name} cannot be read as configuration: {type(error).__name__}.") from error
            if found[0] is None and (parser.has_section("flake8") or parser.has_section("flake8:local-plugins")):
                section = dict(parser.items("flake8")) if parser.has_section("flake8") else {}
                if parser.has_section("flake8:local-plugins"):
                    section["local-plugins"] = "yes"
                found = section, name
        return found


def _formatter(ruff: Mapping[str, Json], tool: Mapping[str, Json], hooks: set[str]) -> Formatter:
    if "format" in ruff or "ruff-format" in hooks:
        return "ruff"
    if "black" in tool or hooks & {"black", "black-jupyter"}:
        return "black"
    if "yapf" in tool or "autopep8" in tool or not (ruff or hooks & {"ruff", "ruff-check"}):
        return ""
    return "undecided"


def _flake8_arguments(section: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    arguments, notes = [], []
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


def _patterns(section: Mapping[str, str]) -> tuple[str, ...]:
    found = [section.get(key, "") for key in ("exclude", "extend-exclude", "extend_exclude")]
    return tuple(part for value in found for part in re.split(r"[,\s]+", _without_comments(value)) if part)


def _target(version: Json) -> tuple[int, int] | None:
    found = re.fullmatch(r"py3(\d+)", str(version))
    return (3, int(found[1])) if found else None


def _oldest(requires: Json) -> tuple[int, int] | None:
    if not isinstance(requires, str):
        return None
    bounds = re.findall(r"(>=|~=|={2,3}|>)\s*3\.(\d+)", requires)
    return (3, max(int(minor) for _, minor in bounds)) if bounds else None


def _hooks(data: bytes) -> set[str]:
    uncommented = re.sub(r"^[ \t]*#.*$", "", data.decode(errors="replace"), flags=re.M) if data else ""
    return set(re.findall(_HOOK, uncommented, re.M)) if uncommented else set()


def _toml_file(path: Path) -> Mapping[str, Json]:
    return parse_toml(read_config_file(path), path.name)


def _joined(value: Json) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _toml(value: str | int | tuple[str, ...]) -> str:
    """Return TOML; for these types JSON is TOML too."""
    import json

    return json.dumps(value)
