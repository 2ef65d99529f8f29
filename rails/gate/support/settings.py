"""The gate's own settings: modes, schemas, headings, commands (docs/gate.md).

``[gate]`` in the project's ``.rails.toml`` (last approved), and the user's ``gate.toml``, whose entries may name a
``project``. A project's commands need a person's agreement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rails.core.app_dirs import config_folder
from rails.core.errors import CheckError
from rails.core.globs import glob_match
from rails.core.text import one_line
from rails.gate.support import config_files

if TYPE_CHECKING:
    from rails.config.settings_file import SettingsFile
    from rails.config.tables import CommandTable, GateTables, HeadingsTable, ModeTable, SchemaTable, UserGateTables
    from rails.core.verdict import Finding
    from rails.gate.support.check_command import CheckCommand

PROJECT_FILE: Final = ".rails.toml"
USER_FILE: Final = "gate.toml"
Enforcement = Literal["blocking", "retry", "advisory"]
Checked = Literal["input", "output", "turn"]

T = TypeVar("T")
Table = TypeVar("Table")


class GateSettings(Struct, frozen=True):
    """All settings, the project's modes before the user's. ``held_back`` are the project's commands without agreement.

    Without ``fix``, safe fixes and formatting of what an agent proposes are findings.
    """

    modes: tuple[ModeTable, ...] = ()
    schemas: tuple[SchemaTable, ...] = ()
    headings: tuple[HeadingsTable, ...] = ()
    commands: tuple[CheckCommand, ...] = ()
    held_back: tuple[CheckCommand, ...] = ()
    fix: bool = True

    def mode_of(self, finding: Finding, agent: str) -> ModeTable | None:
        """Return a finding's mode, or None if unset.

        Findings about the gate itself need a mode that names the rule.
        """
        for mode in reversed(self.modes):
            if finding.tool == "gate" and finding.rule not in several(mode.rule):
                continue
            if mode.check == "output" and _fits(mode, finding.path, agent, finding.rule):
                return mode
        return None

    def mode_of_check(self, check: Checked, agent: str, rule: str, otherwise: Enforcement) -> ModeTable:
        """Return the mode for an input or turn: the user's last that fits, or the project's if stricter."""
        from rails.config.tables import ModeTable, UserModeTable

        fits = [mode for mode in self.modes if mode.check == check and _fits(mode, "", agent, rule)]
        own = [mode for mode in fits if not isinstance(mode, UserModeTable)]
        users = [mode for mode in fits if mode not in own][-1:] or [ModeTable(otherwise)]
        return min((*users, *own), key=lambda mode: _STRICTEST.index(mode.mode))


def _fits(mode: ModeTable, path: str, agent: str, rule: str) -> bool:
    """Return whether a mode is for a finding: what it does not name fits, and a rule by its beginning."""
    is_place = not mode.path or matches(path, mode.path)
    is_agent = not mode.agent or agent in several(mode.agent)
    return is_place and is_agent and rule.startswith(several(mode.rule) or "")


_STRICTEST: Final[tuple[Enforcement, ...]] = ("blocking", "retry", "advisory")
_NOTHING: Final = GateSettings()
#: Keys of a command that stand in the place of the shipped one's.
_OVERRIDE: Final = ("reads", "report", "ok_codes")


def read_gate_settings(folder: Path, home: Path | None = None) -> GateSettings:
    """Return a project's current settings. Raises CheckError with the mistake's place.

    ``home`` is the project that ``folder`` replaces: personal settings and agreements name it.
    """
    project = home or folder
    own = config_files.read_config_file(f"{folder}/{PROJECT_FILE}")
    users = config_files.read_config_file(f"{config_folder()}/{USER_FILE}")
    if not own and not users:
        return _NOTHING
    from rails.gate.support import executed_config  # most projects have no such settings

    mine = _parsed(own, PROJECT_FILE, str(project))
    theirs = _parsed(users, USER_FILE, str(project))
    agreed = not mine.commands or executed_config.may_execute(folder, own, project)
    return GateSettings(
        (*mine.modes, *theirs.modes),
        (*theirs.schemas, *mine.schemas),
        (*mine.headings, *theirs.headings),
        (*(mine.commands if agreed else ()), *theirs.commands),
        () if agreed else mine.commands,
        mine.fix and theirs.fix,
    )


def commands_of(project: Path) -> tuple[CheckCommand, ...]:
    """Return the project's own commands, agreed to or not. Raises CheckError."""
    return _parsed(config_files.read_config_file(project / PROJECT_FILE), PROJECT_FILE, str(project)).commands


@lru_cache(maxsize=32)
def _parsed(data: bytes, name: str, project: str) -> GateSettings:
    if not data.strip():
        return _NOTHING
    from rails.config.settings_file import SettingsError, parse_settings
    from rails.config.tables import ProjectTables, UserGateTables

    try:
        if name == PROJECT_FILE:
            file = parse_settings(data, name, "rails")
            return _settings(file, file.tables(ProjectTables, only="gate").gate, Path(project), ("gate",))
        file = parse_settings(data, name, "gate")
        return _settings(file, file.tables(UserGateTables), Path(project))
    except SettingsError as error:
        more = len(error.mistakes) - 1
        raise CheckError(error.mistakes[0] + (f" ({more} more in the file.)" if more else "")) from None


class _Mistake(Exception):
    """A mistake in a table beyond its shape."""


def _settings(
    file: SettingsFile, tables: GateTables | UserGateTables, project: Path, around: tuple[str, ...] = ()
) -> GateSettings:
    """Return the settings of this project's tables. Raises SettingsError for the first mistake."""
    from rails.config.settings_file import SettingsError

    def each(name: str, tables: Sequence[Table], make: Callable[[Table], T]) -> Iterator[T]:
        for index, table in enumerate(tables):
            named = getattr(table, "project", None)
            place = Path(named).expanduser() if named else project
            if place != project and place not in project.parents:
                continue
            try:
                yield make(table)
            except _Mistake as mistake:
                raise SettingsError(file.mistake((*around, name, index), f"{mistake}.")) from None

    return GateSettings(
        tuple(each("mode", tables.mode, _mode)),
        tuple(each("schema", tables.schema, _schema)),
        tuple(each("headings", tables.headings, lambda table: table)),
        tuple(each("command", tables.command, lambda table: _command(table, project))),
        fix=tables.fix,
    )


def _mode(table: ModeTable) -> ModeTable:
    if not (table.path or table.agent or table.rule):
        raise _Mistake("name a path, agent or rule; a mode for everything would switch the gate off")
    if (table.path and table.check != "output") or (table.rule and table.check == "input"):
        raise _Mistake(f"what is checked is {table.check}: path is for output, rule for output and turn")
    return table


def _schema(table: SchemaTable) -> SchemaTable:
    if not (table.path or table.url):
        raise _Mistake("say for which path or url it is")
    return table


def _command(table: CommandTable, project: Path) -> CheckCommand:
    from rails.gate.support import check_command, known_tools
    from rails.sandbox.functions import FUNCTION

    run = several(table.run)
    if run and table.function:
        raise _Mistake("it has both run and function; one of them is what checks")
    if table.function:
        if not FUNCTION.fullmatch(table.function):
            raise _Mistake(f"{one_line(table.function, 60)!r} is not a function: write package.module:function")
        command = check_command.python_function(table.name, table.function, check_command.program("python", project))
    elif run:
        command = check_command.CheckCommand(table.name, (check_command.program(run[0], project), *run[1:]))
    elif named := known_tools.named_command(table.name, project):
        command = named
    else:
        names = ", ".join(("pytest", *known_tools.whole_tools()))
        raise _Mistake(f"it needs run or function; without it there are {names}")
    given = {key: value for key in _OVERRIDE if (value := getattr(table, key)) is not None}
    return replace(
        command,
        **given,
        pattern=_pattern(command.pattern if table.pattern is None else table.pattern),
        endings=several(table.files) or command.endings,
        blocking=table.mode == "blocking",
        timeout_s=table.timeout or command.timeout_s,
        environment={**command.environment, **table.environment},
    )


def several(value: str | list[str]) -> tuple[str, ...]:
    """Return one text or several as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groupindex
    except re.error as error:
        raise _Mistake(f"pattern is not a regular expression: {error}") from None
    if "path" not in groups:
        raise _Mistake("pattern needs the group (?P<path>…); line, column, rule and message are known too")
    return text


def matches(path: str, patterns: str | list[str]) -> bool:
    """Return whether one of the globs fits: ``**`` is any folders, ``*`` stays in one; without a slash, any name."""
    return any(_matches(path, pattern.removeprefix("./")) for pattern in several(patterns))


def _matches(path: str, pattern: str) -> bool:
    whole = path if "/" in pattern else path.rpartition("/")[2]
    return glob_match(f"{pattern}**" if pattern.endswith("/") else pattern, whole)
