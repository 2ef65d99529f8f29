"""Changes to the checks' configuration: each is a finding that a person must accept.

It never counts for the change itself. Only ruff (``--show-settings``) proves that a change does not ask less.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.lazy_pattern import lazy
from rails.core.scratch import scratch_folder
from rails.core.text import plain_text
from rails.core.tool_request import Json
from rails.core.verdict import Finding
from rails.gate.baseline import first_difference, split_lines
from rails.gate.support import config_files
from rails.gate.support.advice import name_list
from rails.gate.verdicts import CONFIGURES

#: Path, content before and content after.
Side = tuple[str, bytes | None, bytes | None]

_CHECKS: Final = (
    r"ruff|flake8|mypy|pylint|pyright|basedpyright|ty|pyrefly|pytest|coverage|bandit|semgrep|codespell|vulture|deptry"
    r"|interrogate|sqlfluff|eslint|prettier|biome|stylelint|oxlint|mocha|jest|vitest|playwright|cypress|karma|ava|nyc|c8"
    r"|commitlint|lintstaged|markdownlint(?:-cli2)?|yamllint|shellcheck|hadolint|codecov|golangci|clang-tidy|rubocop"
)
#: How such a file's name ends.
_ENDING: Final = r"(?:rc|ignore|\.conf(?:ig)?|\.workspace)?(?:\.(?:toml|json\w?|ya?ml|ini|[cm]?[jt]s))?"
#: Names of files that hold nothing but how checks are configured.
_WHOLE: Final = lazy(
    rf"\.?(?:{_CHECKS}){_ENDING}"
    r"|\.coveragerc|\.editorconfig|\.pre-commit-config\.yaml|eslint-suppressions\.json|sonar-project\.properties"
    r"|package\.yaml|[jt]sconfig(?:\.[\w.-]+)?\.json|pyrightconfig\.json"
)
#: Beside one of these, another is not the project's first.
_CONFIGURATION: Final = frozenset(name_list("read_by_checks")) - {".gitignore", ".editorconfig"}
#: Files of commands, of which some run checks.
_COMMANDS: Final = lazy(
    r"(?:.*/)?(?:(?:gnu)?makefile|justfile|taskfile\.ya?ml|noxfile\.py|jenkinsfile|lefthook\.ya?ml|\.gitlab-ci\.ya?ml"
    r"|\.travis\.ya?ml|(?:azure|bitbucket)-pipelines\.ya?ml|\.pre-commit-hooks\.yaml)"
    r"|(?:.*/)?\.(?:github/(?:workflows|actions)|gitlab|circleci|buildkite|husky|githooks)/(?s:.*)",
    re.I,
)
_RUNS: Final = lazy(
    rf"\b(?:{_CHECKS}|black|isort|unittest|tox|nox|pre-commit|prek|ai-rails|tsc|clippy|golangci-lint)\b"
    r"|\b(?:make|just|task|run|npm|pnpm|yarn|bun|cargo|go)\s+[\w:-]*(?:tests?|lint|check|vet)"
    r"|\|\|\s*(?:true|:|exit 0)|continue-on-error:\s*true|allow_failure:\s*true|--exit-zero\b|--no-verify\b"
)
_TOP: Final = {"pyproject.toml": "tool", ".rails.toml": "gate"}
#: Tables of pyproject.toml that build, release or format; sections of setup.cfg; keys of package.json that check.
_BUILDS: Final = frozenset(
    (
        *("poetry", "uv", "pdm", "flit", "hatch", "setuptools", "setuptools_scm", "maturin", "towncrier", "commitizen"),
        *("black", "isort", "yapf", "docformatter", "bumpversion", "semantic_release"),
    )
)
_PACKAGING: Final = ("metadata", "options", "bdist")
_MANIFEST: Final = frozenset(
    (
        "eslintConfig",
        "eslintIgnore",
        "prettier",
        "lint-staged",
        "husky",
        "jest",
        "mocha",
        "ava",
        "nyc",
        "c8",
        "xo",
        "stylelint",
    )
)
_CHECKING: Final = lazy(rf"^(?:pre|post)?(?:test|lint|check|typecheck|ci)\b|{_RUNS.pattern}")
#: What of a conftest.py chooses which tests run, and how they end.
_CHOOSES: Final = re.compile(
    r"^(?:(?:async )?def pytest_\w+|collect_ignore|pytest_plugins).*(?:\n(?:[ \t)\]].*)?)*", re.M
)
_COMMENT: Final = re.compile(r"^\s*(?:#|//|;).*")
_VERSION: Final = re.compile(r"(?:[=<>~^!]=?|@)\s*v?\d[\w.*-]*|^\s*+(?:-\s*+)?rev:.*")
_EXCLUDES: Final = re.compile(
    rb"ignore|exclude|omit|skip|deselect|advisory|retry|norecursedirs|python_files|collect-only|-[km]\s*[\"']?not\b"
)
_SCHEMA: Final = lazy(rb"(?:\$schema[\"']?\s*[:=]\s*|#:schema\s+)[\"']?([^\s\"',}]{1,300})")
_REMEDY: Final = "Leave it as it was and correct the code, or ask the human. In CI: ai-rails gate --settings-agreed."
#: Files that ruff reads, and of what it resolves in them: what checks nothing, what may grow, shrink or get shorter.
RUFF_FILES: Final = ("pyproject.toml", "ruff.toml", ".ruff.toml")
_KEY: Final = re.compile(r"[a-z_]+(?:\.\w+)*")
_FREE: Final = ("formatter.", "cache_dir", "output_", "fix", "show_fixes", "unsafe_fixes", "linter.rules.should_fix")
_MAY_GROW: Final = ("linter.rules.enabled", "file_resolver.include", "file_resolver.extend_include")
_MAY_SHRINK: Final = ("file_resolver.exclude", "file_resolver.extend_exclude", "linter.exclude")
_LENGTHS: Final = ("linter.line_length", "linter.pycodestyle.max_line_length")


def findings(project: Path, sides: Sequence[Side], configures: Iterable[str] = ()) -> Iterator[Finding]:
    """Yield a finding for each file that changes the checks.

    ``configures`` are paths that configuration loads under other names.
    """
    changed = {path: parts for path, before, after in sides if (parts := _changed_parts(path, before, after))}
    changed |= {path: {path} for path in set(configures) - changed.keys()}
    of_ruff = {path: texts for path, *texts in sides if path in changed and _is_ruffs(path, changed[path])}
    created = {path for path, before, _ in sides if before is None}
    proven = of_ruff if of_ruff and _ask_no_less(project, of_ruff) else {}
    for path, before, after in sides:
        if path in changed or _without_schema(path, before, after):
            mild = path in proven or path.endswith(".py") or _is_first(project, path, after, created)
            yield _finding(path, before, after, mild=mild)


def _is_ruffs(path: str, changed: set[str]) -> bool:
    name = path.rpartition("/")[2]
    return name in RUFF_FILES and (name != "pyproject.toml" or changed == {"ruff"})


def _changed_parts(path: str, before: bytes | None, after: bytes | None) -> set[str]:
    """Return the names of the parts that configure checks and differ; one of them if they cannot be read."""
    name = path.rpartition("/")[2].lower()
    try:
        was, now = (_parts(path, name, data) if data else {} for data in (before, after))
    except (CheckError, ValueError, RecursionError):
        return {name}
    changed = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    # A first command is no change of how anything was checked.
    first = before is None and (name == "package.json" or _COMMANDS.fullmatch(path))
    return changed & _MANIFEST if first else changed


def _parts(path: str, name: str, data: bytes) -> Mapping[str, object]:
    if top := _TOP.get(name):
        tools = config_files.table(config_files.parse_toml(data, name), top)
        return {key: value for key, value in tools.items() if key not in _BUILDS}
    if name == "package.json":
        return _manifest(json.loads(data))
    if name in ("setup.cfg", "tox.ini"):
        parser = config_files.parse_ini(data, name)
        return {one: parser.items(one) for one in parser.sections() if not one.startswith(_PACKAGING)}
    text = plain_text(data) or ""
    if name == "conftest.py":
        return {"": [one.split() for one in _CHOOSES.findall(text)]}
    is_whole = _WHOLE.fullmatch(name)
    if not is_whole and not _COMMANDS.fullmatch(path):
        return {}
    lines = [_COMMENT.sub("", line).strip() for line in split_lines(text)]
    if not is_whole or name == ".pre-commit-config.yaml":
        lines = [_VERSION.sub("", line) for line in lines if is_whole or _RUNS.search(line)]
    return {"": [line for line in lines if line]}


def _manifest(value: Json) -> Mapping[str, Json]:
    package = value if isinstance(value, dict) else {}
    found = {key: one for key, one in package.items() if key in _MANIFEST}
    for name, command in config_files.table(package, "scripts").items():
        if _CHECKING.search(f"{name} {command}"):
            found[f"scripts {name}"] = command
    needed = {**config_files.table(package, "dependencies"), **config_files.table(package, "devDependencies")}
    found.update((f"{name} is installed", True) for name in ("eslint", "prettier") if name in needed)
    return found


def _is_first(project: Path, path: str, after: bytes | None, created: set[str]) -> bool:
    """Return whether it leaves nothing out, and nothing old in its folder or one above configures checks."""
    if path not in created or path.endswith("ignore") or _EXCLUDES.search(after or b""):
        return False
    files = {f"{folder}{name}" for folder in config_files.folders_to(path) for name in _CONFIGURATION}
    return not any((project / file).is_file() for file in files - created)


def _without_schema(path: str, before: bytes | None, after: bytes | None) -> bool:
    if not before or after is None or not path.lower().endswith((".json", ".jsonc", ".yaml", ".yml", ".toml")):
        return False
    was = _SCHEMA.search(before)
    now = _SCHEMA.search(after)
    return bool(was and b":" not in was[1] and (now is None or now[1] != was[1]))


def _finding(path: str, before: bytes | None, after: bytes | None, *, mild: bool) -> Finding:
    lines = [split_lines(plain_text(side or b"") or "") for side in (before, after)]
    line = min(first_difference(*lines), len(lines[1]))
    more = "it counts from the next change on" if mild else "a person has to agree"
    words = f"It changes how the project is checked; {more}."
    found = Finding(path, line, 1, CONFIGURES, words, "gate", end_line=line, remedy=_REMEDY)
    return replace(found, severity="warning", remedy="") if mild else found


def _ask_no_less(project: Path, files: Mapping[str, Sequence[bytes | None]]) -> bool:
    """Return whether by ruff's account no file is checked less. ``files`` are the changed ones' sides."""
    try:
        old, new = ([*_resolved(project, {path: sides[at] for path, sides in files.items()})] for at in (0, 1))
    except (CheckError, OSError):
        return False
    return not any(map(_less, old, new))


def _resolved(project: Path, files: Mapping[str, bytes | None]) -> Iterator[set[tuple[str, str]]]:
    """Yield what ruff resolves for each folder: names and values, of a list each of its lines. Raises CheckError."""
    from rails.processes import programs

    tool = programs.find_ruff()
    if tool is None:
        raise CheckError("ruff is not installed")
    with scratch_folder("settings") as scratch:
        for folder in sorted({"", *map(posixpath.dirname, files)}):
            place = Path(scratch, folder)
            place.mkdir(parents=True, exist_ok=True)
            for name in RUFF_FILES:
                path = posixpath.join(folder, name)
                data = files[path] if path in files else config_files.read_config_file(project / path)
                if data:
                    (place / name).write_bytes(data)
            (place / "x.py").touch()
            ran = programs.run_tool([*tool.argv, "check", "--no-cache", "--show-settings", str(place / "x.py")])
            if ran.code:
                raise CheckError(ran.complaint)
            yield {*_settings(ran.out.decode(errors="replace").replace(scratch, ""))}


def _settings(text: str) -> Iterator[tuple[str, str]]:
    key = ""
    for line in text.splitlines():
        name, sign, value = line.partition(" = ")
        if sign and _KEY.fullmatch(name):
            key = name
        else:
            value = line
        value = value.strip(" \t,")
        if key and value not in ("", "[", "[]", "]"):
            yield key, value


def _less(old: set[tuple[str, str]], new: set[tuple[str, str]]) -> bool:
    was = dict(old)
    for key, value in old ^ new:
        may_differ = _MAY_GROW if (key, value) in new else _MAY_SHRINK
        is_shorter = key in _LENGTHS and int(value) <= int(was[key])
        if not (is_shorter or key in may_differ or key.startswith(_FREE)):
            return True
    return False
