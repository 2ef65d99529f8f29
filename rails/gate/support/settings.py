"""What people want of the gate beyond the tools' own configuration: modes, schemas, headings, commands.

``[gate]`` in the project's ``.rails.toml``, and the same tables in ``gate.toml`` in the user's configuration
folder, where each entry may name the ``project`` it is for::

    [[gate.mode]]                       # the last entry that fits counts
    mode = "advisory"                   # "blocking" (the default), "retry" or "advisory"
    path = "legacy/**"
    agent = "prototyper"                # and, or instead: rule = ["E501", "D"]
    attempts = 2                        # "retry" only: so many times back to the agent, then to the human

    [[gate.schema]]
    path = "config/*.yaml"              # or url = "https://…", what a file names as its $schema
    schema = "schemas/config.json"

    [[gate.headings]]
    path = "docs/adr/*.md"
    headings = ["Status", "Decision"]

    [[gate.command]]                    # name = "mypy" or "pytest" alone is enough
    name = "words"
    run = ["python", "tools/words.py"]

Read from disk, which is the last approved state while a change is judged. Commands execute something: those
of a project run only after a human has agreed to them as they are (``rails.gate.support.executed_config``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

from rails.core.app_dirs import config_folder
from rails.core.dataclass import dataclass, replace
from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.gate.languages.python import config
from rails.gate.support import executed_config

if TYPE_CHECKING:
    from rails.core.tool_request import Json
    from rails.core.verdict import Finding
    from rails.gate.command_checks import CheckCommand, OutputFormat

PROJECT_FILE: Final = ".rails.toml"
USER_FILE: Final = "gate.toml"
Enforcement = Literal["blocking", "retry", "advisory"]
_KINDS: Final = ("blocking", "retry", "advisory")
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "mode": frozenset({"mode", "path", "agent", "rule", "attempts"}),
    "schema": frozenset({"path", "url", "schema"}),
    "headings": frozenset({"path", "headings"}),
    "command": frozenset(
        {"name", "run", "reads", "pattern", "report", "files", "ok_codes", "mode", "timeout", "environment"}
    ),
}
#: Entries of one kind in one file.
_MOST: Final = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mode:
    """How much a new finding counts, where it fits. Empty tuples fit everything."""

    mode: Enforcement
    path: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    attempts: int = 2

    def fits(self, path: str, agent: str, rule: str) -> bool:
        """Whether this entry speaks of a finding; ``rule`` is a code that starts with one of ours."""
        return (
            (not self.path or any(matches(path, pattern) for pattern in self.path))
            and (not self.agent or agent in self.agent)
            and (not self.rule or rule.startswith(self.rule))
        )


@dataclass(frozen=True, slots=True)
class FileSchema:
    """A JSON Schema (a path in the project) for files at ``path``, or for those that name ``url``."""

    schema: str
    path: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class Headings:
    """The Markdown headings that files at ``path`` must have."""

    path: tuple[str, ...]
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateSettings:
    """All of it. ``held_back`` names the project's commands that nobody has agreed to."""

    modes: tuple[Mode, ...] = ()
    schemas: tuple[FileSchema, ...] = ()
    headings: tuple[Headings, ...] = ()
    commands: tuple[CheckCommand, ...] = ()
    held_back: tuple[CheckCommand, ...] = ()

    def mode_of(self, finding: Finding, agent: str) -> Mode:
        """Return the mode that counts for a finding. What an agent does to the gate itself always blocks."""
        for mode in reversed(self.modes):
            if finding.tool == "gate" and not any(finding.rule == rule for rule in mode.rule):
                continue
            if mode.fits(finding.path, agent, finding.rule):
                return mode
        return _BLOCKING


_BLOCKING: Final = Mode("blocking")
_NOTHING: Final = GateSettings()


def read_gate_settings(project: Path) -> GateSettings:
    """Return what counts for ``project`` now. Raises CheckError that names a mistake and its place."""
    own = config.read_config_file(project / PROJECT_FILE)
    users = config.read_config_file(config_folder() / USER_FILE)
    if not own and not users:
        return _NOTHING
    mine, theirs = _parsed(own, PROJECT_FILE, str(project)), _parsed(users, USER_FILE, str(project))
    agreed = not mine.commands or executed_config.may_execute(project, own)
    return GateSettings(
        (*mine.modes, *theirs.modes),
        (*theirs.schemas, *mine.schemas),
        (*mine.headings, *theirs.headings),
        (*(mine.commands if agreed else ()), *theirs.commands),
        () if agreed else mine.commands,
    )


def commands_of(project: Path) -> tuple[CheckCommand, ...]:
    """Return the commands of the project's own file, agreed to or not. Raises CheckError."""
    return _parsed(config.read_config_file(project / PROJECT_FILE), PROJECT_FILE, str(project)).commands


@lru_cache(maxsize=32)
def _parsed(data: bytes, name: str, project: str) -> GateSettings:
    whole = config.parse_toml(data, name)
    tables = config.table(whole, "gate") if name == PROJECT_FILE else whole
    if unknown := sorted(set(tables) - set(_KEYS)):
        raise CheckError(f"{name}: {one_line(unknown[0])} is not known; there are {', '.join(_KEYS)}.")
    reader = _Reader(name, Path(project))
    return GateSettings(
        tuple(reader.each(tables, "mode", _mode)),
        tuple(reader.each(tables, "schema", _schema)),
        tuple(reader.each(tables, "headings", _headings)),
        tuple(reader.each(tables, "command", _command)),
    )


class _Mistake(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Reader:
    name: str
    project: Path

    def each(self, tables: Mapping[str, Json], kind: str, make: Callable[[Mapping[str, Json], Path], T]) -> Iterator[T]:
        """Make a value of each entry that is for this project. Raises CheckError for the first mistake."""
        entries = tables.get(kind, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise CheckError(f"{self.name}: write [[{self._title(kind)}]], with two brackets.")
        if len(entries) > _MOST:
            raise CheckError(f"{self.name}: more than {_MOST} entries of {self._title(kind)}.")
        for number, entry in enumerate(cast("Sequence[Mapping[str, Json]]", entries), 1):
            try:
                if self._is_for_us(entry):
                    yield make(self._known(entry, kind), self.project)
            except _Mistake as mistake:
                raise CheckError(f"{self.name}: {self._title(kind)} {number}: {mistake}.") from None

    def _title(self, kind: str) -> str:
        return f"gate.{kind}" if self.name == PROJECT_FILE else kind

    def _is_for_us(self, entry: Mapping[str, Json]) -> bool:
        if self.name == PROJECT_FILE or "project" not in entry:
            return True
        named = Path(_text(entry, "project")).expanduser()
        return named == self.project or named in self.project.parents

    def _known(self, entry: Mapping[str, Json], kind: str) -> Mapping[str, Json]:
        allowed = _KEYS[kind] if self.name == PROJECT_FILE else _KEYS[kind] | {"project"}
        if unknown := sorted(set(entry) - allowed):
            raise _Mistake(f"{one_line(unknown[0])} is not known; there are {', '.join(sorted(allowed))}")
        return entry


def _mode(entry: Mapping[str, Json], _project: Path) -> Mode:
    attempts = _number(entry, "attempts", 2)
    path, agent, rule = (_texts(entry, key) for key in ("path", "agent", "rule"))
    if not (path or agent or rule):
        raise _Mistake("say for which path, agent or rule; a mode for everything would be no gate")
    return Mode(_kind(entry), path, agent, rule, attempts)


def _kind(entry: Mapping[str, Json]) -> Enforcement:
    kind = entry.get("mode", "blocking")
    if kind not in _KINDS:
        raise _Mistake(f"mode is one of {', '.join(_KINDS)}, not {one_line(repr(kind), 40)}")
    return cast("Enforcement", kind)


def _schema(entry: Mapping[str, Json], _project: Path) -> FileSchema:
    schema = FileSchema(_text(entry, "schema"), _texts(entry, "path"), _text(entry, "url", ""))
    if not (schema.path or schema.url):
        raise _Mistake("say for which path or url it is")
    return schema


def _headings(entry: Mapping[str, Json], _project: Path) -> Headings:
    made = Headings(_texts(entry, "path"), _texts(entry, "headings"))
    if not made.path or not made.headings:
        raise _Mistake("it needs path and headings")
    return made


def _command(entry: Mapping[str, Json], project: Path) -> CheckCommand:
    from rails.gate import command_checks

    name, run = _text(entry, "name"), _texts(entry, "run")
    if run:
        command = command_checks.CheckCommand(name, (command_checks.program(run[0], project), *run[1:]))
    elif name in command_checks.SHIPPED:
        command = command_checks.SHIPPED[name](command_checks.program("python", project))
    else:
        raise _Mistake(f"it needs run; without it there are {', '.join(command_checks.SHIPPED)}")
    reads = entry.get("reads", command.reads)
    if reads not in ("regex", "sarif", "junit"):
        raise _Mistake("reads is one of regex, sarif, junit")
    if _kind(entry) == "retry":
        raise _Mistake('a command is "blocking" or "advisory"')
    codes, environment = entry.get("ok_codes", sorted(command.ok_codes)), entry.get("environment", {})
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        raise _Mistake("ok_codes is a list of numbers")
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        raise _Mistake("environment is a table of texts")
    return replace(
        command,
        reads=cast("OutputFormat", reads),
        pattern=_pattern(_text(entry, "pattern", command.pattern)),
        report=_text(entry, "report", command.report),
        ok_codes=frozenset(cast("list[int]", codes)),
        endings=_texts(entry, "files") or command.endings,
        blocking=_kind(entry) == "blocking",
        timeout_s=_number(entry, "timeout", int(command.timeout_s)),
        environment=cast("dict[str, str]", environment),
    )


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groupindex
    except re.error as error:
        raise _Mistake(f"pattern is not a regular expression: {error}") from None
    if "path" not in groups:
        raise _Mistake("pattern needs the group (?P<path>…); line, column, rule and message are known too")
    return text


def _text(entry: Mapping[str, Json], key: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if not isinstance(value, str) or (default is None and not value):
        raise _Mistake(f"{key} is a text")
    return value


def _texts(entry: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
        raise _Mistake(f"{key} is a text or a list of texts")
    return tuple(cast("list[str]", values))


def _number(entry: Mapping[str, Json], key: str, default: int) -> int:
    value = entry.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 3_600:
        raise _Mistake(f"{key} is a number from 1 to 3600")
    return value


def matches(path: str, pattern: str) -> bool:
    """Whether a glob fits a path: ``**`` for any folders, ``*`` inside one; without a slash, the name anywhere."""
    whole = path if "/" in pattern else path.rpartition("/")[2]
    return _glob(pattern.removeprefix("./")).fullmatch(whole) is not None


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    parts = {"**/": "(?:[^/]*/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern + ("**" if pattern.endswith("/") else ""))
    return re.compile("".join(parts.get(token, re.escape(token)) for token in tokens))
