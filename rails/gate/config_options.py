"""The options of a project's checks in the files that hold them, by dotted name: to be compared, never to be obeyed."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from rails.core.errors import CheckError
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.gate import weakened_commands
from rails.gate.support import config_files

_TOOLS: Final = (
    *("ruff", "black", "flake8", "isort", "mypy", "pylint", "pyright", "pytest", "coverage", "bandit", "yapf"),
    *("ty", "pyrefly", "basedpyright", "codespell", "interrogate", "vulture", "deptry", "sqlfluff"),
)
_SECTIONS: Final = lazy(r"(?:tool:)?(?:flake8|pycodestyle|isort|mypy|pylint|pytest|coverage|yapf|bandit)\b.*", re.I)
_INI: Final = frozenset(
    {"setup.cfg", "tox.ini", ".flake8", "mypy.ini", ".mypy.ini", "pytest.ini", ".pylintrc", "pylintrc", ".coveragerc"}
)
#: Other checks of a project, by what their configuration is called.
_OTHERS: Final = (
    r"(?:eslint|prettier|biome|stylelint|oxlint|mocha|jest|vitest|playwright|cypress|karma|ava|nyc|c8|commitlint|lintstaged"
    r"|markdownlint(?:-cli2)?|yamllint|shellcheck|hadolint|codespell|codecov|golangci|semgrep|sqlfluff|clang-tidy|rubocop)"
)
OTHER_CHECKS: Final = lazy(
    rf"\.?{_OTHERS}(?:rc|\.conf(?:ig)?|\.workspace)(?:\.\w+)?|\.{_OTHERS}(?:ignore)?(?:\.\w+)?"
    r"|biome\.jsonc?|codecov\.ya?ml|\.?(?:pytest|ty|pyrefly)\.toml|\.coveragerc\.toml|pyrightconfig\.json"
    r"|\.editorconfig|package\.yaml|eslint-suppressions\.json|[jt]sconfig(?:\.[\w.-]+)?\.json|sonar-project\.properties"
)
HOOKS: Final = ".pre-commit-config.yaml"
#: What a package's manifest holds of other checks, and the scripts that run any.
_IN_MANIFEST: Final = ("eslintIgnore", "lint-staged", "husky", "jest", "mocha", "ava", "nyc", "c8", "xo", "stylelint")
_CHECKING: Final = lazy(rf"^(?:pre|post)?(?:test|lint|check|format|typecheck|ci)\b|{weakened_commands.CHECKS}")
_ALIAS: Final = re.compile(rb"(?:[:,\[-]|^)[ \t]*\*\w", re.M)
_ALIASES: Final = 20
#: Options of one file that are compared.
_MOST: Final = 10_000

Flat = dict[str, Json]


def check_options(name: str, data: bytes | None) -> Flat:
    """Return the options of every check in a configuration file, by dotted name."""
    if not data:
        return {}
    if name == "pyproject.toml":
        tool = config_files.table(config_files.parse_toml(data, name), "tool")
        return {key: value for tool_name in _TOOLS for key, value in flat(tool_name, tool.get(tool_name))}
    if name == "package.json":
        return _package(json.loads(data))
    if name == HOOKS:
        return dict(_hooks(data))
    if name in ("ruff.toml", ".ruff.toml"):
        return dict(flat("ruff", dict(config_files.parse_toml(data, name))))
    if name in _INI:
        import configparser

        parser = configparser.RawConfigParser()
        try:
            parser.read_string(data.decode("utf-8-sig"))
        except configparser.Error as error:
            raise CheckError(f"{name} cannot be read as configuration.") from error
        whole = name.endswith("pylintrc")
        more = ("run", "report") if name == ".coveragerc" else ()
        wanted = (one for one in parser.sections() if whole or one in more or _SECTIONS.fullmatch(one))
        return {f"{section}.{key}": value for section in wanted for key, value in parser.items(section)}
    if OTHER_CHECKS.fullmatch(name):
        return {key.strip("."): value for key, value in islice(flat("", _data(name, data)), _MOST)}
    return {}


def _data(name: str, data: bytes) -> Json:
    """Return what configuration holds that is data; ``None`` for any other."""
    if name.endswith(".toml"):
        return dict(config_files.parse_toml(data, name))
    with contextlib.suppress(ValueError):
        value: Json = json.loads(data)
        return value
    if not name.endswith((".yml", ".yaml", "rc", "yamllint")):
        return None
    return _yaml(name, data)


def _yaml(name: str, data: bytes) -> Json:
    """Return what YAML holds. Raises CheckError, also for what says the same again and again: it has no end as text."""
    import yaml

    try:
        if len(_ALIAS.findall(data)) <= _ALIASES:
            found: Json = yaml.safe_load(data)
            return found
    except yaml.YAMLError:
        pass
    raise CheckError(f"{name} cannot be read as configuration.")


def _hooks(data: bytes) -> Iterator[tuple[str, Json]]:
    """Yield what is said of each hook that runs a check, the options among its arguments by their names."""
    whole: Any = _yaml(HOOKS, data)
    try:
        yield from ((f"all.{key}", str(value)) for key, value in whole.items() if key != "repos")
        for hook in (hook for repo in whole["repos"] for hook in repo.get("hooks") or ()):
            tool = re.sub("-(?:check|format)$", "", str(hook["id"]))
            yield f"{tool}.id", True
            yield from ((f"{tool}.{key}", str(value)) for key, value in hook.items() if key not in ("id", "args"))
            words = " ".join(map(str, hook.get("args") or ()))
            for option, value in re.findall(r"--([\w-]+)(?:[= ](?!-)(\S+))?", words):
                yield f"{tool}.{option}", value or True
    except (AttributeError, KeyError, TypeError) as error:
        raise CheckError(f"{HOOKS} cannot be read as configuration.") from error


def _package(value: Json) -> Flat:
    """Return what a package's manifest says of linters and formatters, and which of them it asks for."""
    package = value if isinstance(value, dict) else {}
    own = ((key.removesuffix("Config"), package.get(key)) for key in ("eslintConfig", "prettier"))
    wanted = {name for key in ("dependencies", "devDependencies") for name in config_files.table(package, key)}
    found = {key: setting for name, one in own for key, setting in flat(name, one)}
    found |= {key: one for name in _IN_MANIFEST for key, one in flat(name, package.get(name))}
    scripts = config_files.table(package, "scripts")
    found |= {f"scripts.{name}": str(one) for name, one in scripts.items() if _CHECKING.search(f"{name} {one}")}
    return {**found, **{f"{name}.installed": True for name in ("eslint", "prettier") if name in wanted}}


def flat(prefix: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield every value of a table by its dotted name; of a list of tables, those of each by its module or number."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(f"{prefix}.{key}", inner)
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for number, inner in enumerate(value):
            yield from flat(f"{prefix}[{inner.get('module', number) if isinstance(inner, dict) else number}]", inner)
    elif value is not None:
        yield prefix, value
