"""JavaScript and TypeScript configuration, read as data and never executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from rails.core.errors import CheckError
from rails.core.tool_request import Json
from rails.gate.support import config_files
from rails.gate.support.advice import name_list
from rails.gate.support.config_files import folders_to, pattern_fits

_ESLINT: Final = re.compile(r"eslint\.config\.[cm]?[jt]s|\.eslintrc(?:\.\w+)?")
#: What Prettier reads in a folder, in its order: the first that is there counts.
_PRETTIER: Final = name_list("prettier")
#: What EditorConfig gives a number for, and Prettier's name for it.
_NUMBERS: Final = {"indent_size": "tabWidth", "tab_width": "tabWidth", "max_line_length": "printWidth"}
#: A comment of JSON5, or a string, in which nothing is one.
_COMMENT: Final = re.compile(r"""("(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?)|/\*.*?(?:\*/|\Z)|//[^\n]*""", re.S)


class PrettierSettings(Struct, frozen=True):
    """One folder's Prettier configuration. ``code`` names a program or its loader."""

    folder: str = ""
    code: str = ""
    found: bool = False
    config: Mapping[str, Json] = field(default_factory=dict)


class ScriptSettings(Struct, frozen=True):
    """The configured tools. ``eslint_code`` is a top-level program."""

    project: Path
    eslint: bool
    eslint_code: str
    prettier: bool
    biome: bool

    def eslint_for(self, path: str) -> str:
        """Return the nearest ESLint configuration, or ``""``."""
        for folder in reversed(folders_to(path)):
            try:
                names = sorted(entry.name for entry in (self.project / folder).iterdir())
            except OSError:
                names = []
            if found := next((name for name in names if _ESLINT.fullmatch(name)), ""):
                return f"{folder}{found}"
        return ""

    def prettier_near(self, path: str) -> PrettierSettings:
        """Return Prettier's nearest configuration. Raises CheckError if it is unreadable."""
        for folder in reversed(folders_to(path)):
            for name in _PRETTIER:
                config = _prettier_in(self.project / folder, name)
                if isinstance(config, dict) and not config.get("plugins"):
                    return PrettierSettings(folder, "", True, config)
                if config is not None:
                    return PrettierSettings(folder, f"{folder}{name}", True)
        return PrettierSettings()

    def prettier_ignores(self, path: str) -> Iterator[str]:
        """Yield what Prettier reads where it is started: at the top, and in each package on the way."""
        for folder in folders_to(path):
            if not folder or (self.project / folder / "package.json").is_file():
                yield from (f"{folder}.gitignore", f"{folder}.prettierignore")

    def prettier_options(self, path: str, nearest: PrettierSettings) -> dict[str, Json]:
        """Return ``path``'s options, with EditorConfig's."""
        options = {**_editorconfig(self.project, path), **_layout(nearest.config)}
        for more in _overrides(nearest.config, path.removeprefix(nearest.folder)):
            options.update(more)
        return options


def read_script_settings(project: Path) -> ScriptSettings:
    """Read the project's files. Raises CheckError for an unreadable one."""
    try:
        names = sorted(entry.name for entry in project.iterdir())
    except OSError as error:
        raise CheckError(f"The project folder cannot be read: {error.strerror}.") from error
    package = _object(config_files.read_config_file(project / "package.json"), "package.json")
    wanted = {name for key in ("dependencies", "devDependencies") for name in config_files.table(package, key)}
    eslint_code = next((name for name in names if _ESLINT.fullmatch(name)), "")
    return ScriptSettings(
        project,
        eslint="eslint" in wanted or bool(eslint_code) or "eslintConfig" in package,
        eslint_code=eslint_code,
        prettier="prettier" in wanted or any(_prettier_in(project, name) is not None for name in _PRETTIER),
        biome="biome.json" in names or "biome.jsonc" in names or "@biomejs/biome" in wanted,
    )


def _prettier_in(folder: Path, name: str) -> Json:
    data = config_files.read_config_file(folder / name)
    if not data:
        return None
    if name.endswith(("js", "ts")):
        return name
    if name.endswith(".toml"):
        return dict(config_files.parse_toml(data, name))
    return _object(data, name).get("prettier") if name.startswith("package") else _read(data, name)


def _layout(config: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in config.items() if key in name_list("prettier_layout")}


def _overrides(config: Mapping[str, Json], path: str) -> Iterator[Mapping[str, Json]]:
    overrides = config.get("overrides")
    for item in overrides if isinstance(overrides, list) else ():
        if isinstance(item, dict) and isinstance(options := item.get("options"), dict):
            within, without = (_names(path, item.get(key)) for key in ("files", "excludeFiles"))
            if within and not without:
                yield _layout(options)


def _names(path: str, patterns: Json) -> bool:
    listed = patterns if isinstance(patterns, list) else [patterns] if patterns else []
    return any(pattern_fits(path, str(one)) for one in listed)


def _editorconfig(project: Path, path: str) -> dict[str, Json]:
    options: dict[str, Json] = {}
    for folder in folders_to(path):
        applies = False
        for raw in (
            config_files.read_config_file(project / folder / ".editorconfig").decode(errors="replace").splitlines()
        ):
            line = raw.strip()
            if line.startswith("["):
                applies = pattern_fits(path.removeprefix(folder), line.strip("[]").removeprefix("/"))
            key, _, value = (part.strip().lower() for part in line.partition("="))
            if key == "root" and value == "true":
                options.clear()
            elif applies:
                options.update(_of_editorconfig(key, value))
    return options


def _of_editorconfig(key: str, value: str) -> dict[str, Json]:
    if key == "indent_style" and value:
        return {"useTabs": value == "tab"}
    if key in _NUMBERS and value.isdigit():
        return {_NUMBERS[key]: int(value)}
    return {"endOfLine": value} if key == "end_of_line" and value in ("lf", "crlf", "cr") else {}


def _object(data: bytes, name: str) -> Mapping[str, Json]:
    value = _read(data, name) if data.strip() else {}
    return value if isinstance(value, dict) else {}


def _read(data: bytes, name: str) -> Json:
    import yaml

    try:
        value: Json = json.loads(data)
    except ValueError as error:
        if name == "package.json":
            raise CheckError(f"{name} is not valid JSON: {error}") from error
        text = data.decode("utf-8-sig", "replace")
        try:
            value = yaml.safe_load(text if not name.endswith("json5") else _COMMENT.sub(_only_strings, text))
        except (yaml.YAMLError, RecursionError) as broken:
            raise CheckError(f"{name} cannot be read as configuration.") from broken
    return {} if value is None else value


def _only_strings(found: re.Match[str]) -> str:
    return found[1] or " "
