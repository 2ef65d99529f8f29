"""Changes to the checks' configuration: each is a finding that a person must accept.

It never counts for the change itself. Only ruff (``--show-settings``) proves that a change does not ask less.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.lazy_pattern import lazy
from rails.core.scratch import scratch_folder
from rails.core.text import plain_text
from rails.core.tool_request import Json
from rails.core.verdict import Finding
from rails.gate.baseline import first_difference, split_lines
from rails.gate.support import config_files
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
#: Files with a table for each tool, and how it begins.
_TABLES: Final = ("setup.cfg", "tox.ini", "pyproject.toml", "package.json")
_TABLE: Final = rb'(?m)^\[(?:tool[.:])?TOOL\b|"TOOL(?:Config)?": *\{'
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
#: Tables of pyproject.toml that build or release, and keys of package.json that check.
_BUILDS: Final = frozenset(
    ("poetry", "uv", "pdm", "flit", "hatch", "setuptools", "setuptools_scm", "maturin", "towncrier", "commitizen")
)
_TASTE: Final = frozenset(("black", "isort", "yapf", "docformatter", "bumpversion", "semantic_release"))
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


def findings(project: Path, sides: Sequence[Side], configures: Iterable[str] = ()) -> Iterator[Finding]:
    """Yield a finding for each file that changes the checks.

    ``configures`` are paths that configuration loads under other names.
    """
    changed = [side for side in sides if _is_changed(side)]
    proven = _proven(project, changed)
    also = set(configures)
    for path, before, after in sides:
        if (path, before, after) in changed or path in also:
            mild = path in proven or path.endswith(".py") or _is_first(project, path, before, after)
            yield _finding(path, before, after, mild=mild)
        elif _without_schema(path, before, after):
            yield _finding(path, before, after, mild=False)


def _proven(project: Path, changed: Sequence[Side]) -> frozenset[str]:
    files = [side for side in changed if side[0].rpartition("/")[2] in RUFF_FILES and _only_ruff(side)]
    asked = {path: (before, after) for path, before, after in files}
    return frozenset(asked) if asked and ask_no_less(project, asked) else frozenset()


def _only_ruff(side: Side) -> bool:
    path, before, after = side
    if not path.endswith("pyproject.toml"):
        return True
    with contextlib.suppress(CheckError):
        old, new = (config_files.table(config_files.parse_toml(data or b"", path), "tool") for data in (before, after))
        return {**old, "ruff": None} == {**new, "ruff": None}
    return False


def _is_changed(side: Side) -> bool:
    path, before, after = side
    name = path.rpartition("/")[2].lower()
    try:
        parts = [_part(path, name, data) for data in (before, after)]
    except (CheckError, ValueError, RecursionError):
        return True
    if before is None and (name == "package.json" or _COMMANDS.fullmatch(path)):
        # A first command is no change of how anything was checked.
        return isinstance(parts[1], dict) and not _MANIFEST.isdisjoint(parts[1])
    return parts[0] != parts[1]


def _part(path: str, name: str, data: bytes | None) -> object:
    if not data or name == ".gitignore":
        return None
    if name == "pyproject.toml":
        return {
            key: value
            for key, value in config_files.table(config_files.parse_toml(data, name), "tool").items()
            if key not in _BUILDS | _TASTE
        } or None
    if name == ".rails.toml":
        return config_files.table(config_files.parse_toml(data, name), "gate") or None
    if name == "package.json":
        return _manifest(json.loads(data))
    if name in _TABLES[:2]:
        parser = config_files.parse_ini(data, name)
        wanted = [one for one in parser.sections() if not one.startswith(("metadata", "options", "bdist"))]
        return {one: parser.items(one) for one in wanted} or None
    if name == "conftest.py":
        return [one.split() for one in _CHOOSES.findall(plain_text(data) or "")] or None
    if not (is_whole := _WHOLE.fullmatch(name)) and not _COMMANDS.fullmatch(path):
        return None
    lines = [_COMMENT.sub("", line).strip() for line in split_lines(plain_text(data) or "")]
    if not is_whole or name == ".pre-commit-config.yaml":
        lines = [_VERSION.sub("", line) for line in lines if is_whole or _RUNS.search(line)]
    return [line for line in lines if line] or None


def _manifest(value: Json) -> Mapping[str, Json] | None:
    package = value if isinstance(value, dict) else {}
    found = {key: one for key, one in package.items() if key in _MANIFEST}
    scripts = config_files.table(package, "scripts")
    found |= {key: one for key, one in scripts.items() if _CHECKING.search(f"{key} {one}")}
    needed = {**config_files.table(package, "dependencies"), **config_files.table(package, "devDependencies")}
    found |= {f"{name} is installed": True for name in needed if name in ("eslint", "prettier")}
    return found or None


def _is_first(project: Path, path: str, before: bytes | None, after: bytes | None) -> bool:
    """Return whether nothing in its folder, or one above in the project, configures the same tool."""
    own = project / path
    tool = re.search(_CHECKS, own.name)
    if before is not None or path.endswith("ignore") or _EXCLUDES.search(after or b""):
        return False
    above = [folder for folder in own.parents if folder.is_relative_to(project)]
    names = "\n".join(file.name for folder in above for file in folder.glob("*") if file != own and file.is_file())
    tables = b"\n".join(config_files.read_config_file(folder / name) for folder in above for name in _TABLES)
    known = tool and re.search(rf"(?m)^(?!\.coverage$)\.?{tool[0]}{_ENDING}$", names)
    return not tool or not (known or re.search(_TABLE.replace(b"TOOL", tool[0].encode()), tables))


def _without_schema(path: str, before: bytes | None, after: bytes | None) -> bool:
    if not before or after is None or not path.lower().endswith((".json", ".jsonc", ".yaml", ".yml", ".toml")):
        return False
    was = _SCHEMA.search(before)
    now = _SCHEMA.search(after)
    return bool(was and b":" not in was[1] and (now is None or now[1] != was[1]))


def _finding(path: str, before: bytes | None, after: bytes | None, *, mild: bool) -> Finding:
    lines = [split_lines(plain_text(side or b"") or "") for side in (before, after)]
    line = min(first_difference(*lines), len(lines[1]))
    verb = "brings" if before is None else "takes away" if after is None else "changes"
    words = f"It {verb} how the project is checked"
    if mild:
        words = f"{words}; it counts from the next change on."
        return Finding(path, line, 1, CONFIGURES, words, "gate", severity="warning", end_line=line)
    remedy = "Leave it as it was and correct the code, or ask the human. In CI: ai-rails gate --settings-agreed."
    return Finding(path, line, 1, CONFIGURES, f"{words}; a person has to agree.", "gate", end_line=line, remedy=remedy)


#: Files that ruff reads.
RUFF_FILES: Final = frozenset({"pyproject.toml", "ruff.toml", ".ruff.toml"})


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
            for name in sorted(RUFF_FILES):
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
