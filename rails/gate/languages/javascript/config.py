"""What a project wants for its JavaScript and TypeScript, read as data: nothing of it is executed here."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.dataclass import dataclass, field
from rails.core.errors import CheckError
from rails.core.tool_request import Json
from rails.gate.languages.python import config as settings

_ESLINT: Final = re.compile(r"eslint\.config\.[cm]?[jt]s|\.eslintrc(?:\.\w+)?")
_PRETTIER_CODE: Final = re.compile(r"(?:\.prettierrc|prettier\.config)\.[cm]?[jt]s")
_PRETTIER_DATA: Final = (".prettierrc", ".prettierrc.json", ".prettierrc.yaml", ".prettierrc.yml", ".prettierrc.toml")
#: Prettier options that only choose a layout; `plugins` and `parser` would load code.
_LAYOUT: Final = frozenset(
    (
        *("printWidth", "tabWidth", "useTabs", "semi", "singleQuote", "jsxSingleQuote", "quoteProps", "trailingComma"),
        *("bracketSpacing", "bracketSameLine", "objectWrap", "arrowParens", "proseWrap", "endOfLine"),
        *("htmlWhitespaceSensitivity", "vueIndentScriptAndStyle", "embeddedLanguageFormatting"),
        *("singleAttributePerLine", "experimentalTernaries", "experimentalOperatorPosition"),
    )
)


@dataclass(frozen=True, slots=True)
class ScriptSettings:
    """Which tools the project's files ask for. ``*_code`` names configuration that is a program."""

    eslint: bool
    eslint_code: str
    prettier: bool
    prettier_code: str
    biome: bool
    prettier_options: Mapping[str, Json] = field(default_factory=dict)
    prettier_overrides: tuple[tuple[tuple[str, ...], Mapping[str, Json]], ...] = ()

    def options_for(self, path: str) -> dict[str, Json]:
        """Return Prettier's options for ``path``."""
        options = dict(self.prettier_options)
        for patterns, more in self.prettier_overrides:
            if any(_matches(path, pattern) for pattern in patterns):
                options.update(more)
        return options


def read_script_settings(project: Path) -> ScriptSettings:
    """Read the project's files. Raises CheckError when one of them cannot be understood."""
    try:
        names = sorted(entry.name for entry in project.iterdir())
    except OSError as error:
        raise CheckError(f"The project folder cannot be read: {error.strerror}.") from error
    package = _object(settings.read_config_file(project / "package.json"), "package.json")
    wanted = {name for key in ("dependencies", "devDependencies") for name in settings.table(package, key)}
    eslint_code = next((name for name in names if _ESLINT.fullmatch(name)), "")
    code = next((name for name in names if _PRETTIER_CODE.fullmatch(name)), "")
    found, config = _prettier(project, package)
    if isinstance(config.get("plugins"), list) and config["plugins"]:
        code = found
    return ScriptSettings(
        eslint="eslint" in wanted or bool(eslint_code) or "eslintConfig" in package,
        eslint_code=eslint_code,
        prettier="prettier" in wanted or bool(found or code),
        prettier_code=code,
        biome="biome.json" in names or "biome.jsonc" in names or "@biomejs/biome" in wanted,
        prettier_options={**_editorconfig(project), **_layout(config)},
        prettier_overrides=_overrides(config),
    )


def _prettier(project: Path, package: Mapping[str, Json]) -> tuple[str, Mapping[str, Json]]:
    """Return the file with Prettier's configuration and its content."""
    config = package.get("prettier")
    if isinstance(config, dict):
        return "package.json", config
    if isinstance(config, str):
        return "package.json", {"plugins": [config]}
    for name in _PRETTIER_DATA:
        data = settings.read_config_file(project / name)
        if data:
            return name, settings.parse_toml(data, name) if name.endswith(".toml") else _yaml(data, name)
    return "", {}


def _layout(config: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in config.items() if key in _LAYOUT}


def _overrides(config: Mapping[str, Json]) -> tuple[tuple[tuple[str, ...], Mapping[str, Json]], ...]:
    found = []
    overrides = config.get("overrides")
    for item in overrides if isinstance(overrides, list) else ():
        if isinstance(item, dict) and isinstance(options := item.get("options"), dict):
            files = item.get("files")
            patterns = files if isinstance(files, list) else [files]
            found.append((tuple(str(pattern) for pattern in patterns), _layout(options)))
    return tuple(found)


def _editorconfig(project: Path) -> dict[str, Json]:
    """Return what Prettier takes from the sections of an ``.editorconfig`` that are for every file."""
    options: dict[str, Json] = {}
    section = ""
    for raw in settings.read_config_file(project / ".editorconfig").decode(errors="replace").splitlines():
        line = raw.strip()
        if line.startswith("["):
            section = line
        key, _, value = (part.strip().lower() for part in line.partition("="))
        if section != "[*]" or not value:
            continue
        if key == "indent_style":
            options["useTabs"] = value == "tab"
        elif key in ("indent_size", "tab_width") and value.isdigit():
            options["tabWidth"] = int(value)
        elif key == "max_line_length" and value.isdigit():
            options["printWidth"] = int(value)
        elif key == "end_of_line" and value in ("lf", "crlf", "cr"):
            options["endOfLine"] = value
    return options


def _matches(path: str, pattern: str) -> bool:
    """Whether a glob of Prettier's matches: without a slash it is for the name in any folder."""
    choices = re.search(r"\{([^{}]*)\}", pattern)
    if choices:
        return any(
            _matches(path, f"{pattern[: choices.start()]}{c}{pattern[choices.end() :]}") for c in choices[1].split(",")
        )
    if "/" not in pattern:
        return fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)
    return fnmatch.fnmatchcase(path, pattern.removeprefix("./").replace("**/", "*"))


def _object(data: bytes, name: str) -> Mapping[str, Json]:
    if not data.strip():
        return {}
    try:
        value = json.loads(data)
    except ValueError as error:
        raise CheckError(f"{name} is not valid JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def _yaml(data: bytes, name: str) -> Mapping[str, Json]:
    import yaml

    try:
        value = yaml.safe_load(data)
    except yaml.YAMLError as error:
        raise CheckError(f"{name} cannot be read as configuration.") from error
    return value if isinstance(value, dict) else {}
