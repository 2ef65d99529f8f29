"""``[run]``: defaults of ``run`` and ``chat``. A project may only name an agent and tighten bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rails.config.settings_file import SCHEMAS, SettingsError, parse_settings
from rails.core.errors import UsageError

if TYPE_CHECKING:
    from rails.config.tables import BoundsTable, ConfigTables

_BOUNDS: Final = ("max_tokens", "max_minutes", "max_cost")


class RunDefaults(Struct, frozen=True):
    """Values by option, each with its file."""

    values: Mapping[str, Any]
    sources: Mapping[str, str]


def run_defaults(project: Path, folder: Path) -> RunDefaults:
    """Return the user's and the project's defaults. Raises UsageError with every mistake."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    try:
        for file, table in _tables(project, folder):
            for name in table.__struct_fields__:
                if (said := getattr(table, name)) and _counts(name, said, values):
                    values[name], sources[name] = said, file.name
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}. Nothing was started.") from error
    except SettingsError as error:
        mistakes = "\n".join(error.mistakes)
        raise UsageError(f"A settings file cannot be used. Nothing was started.\n{mistakes}") from None
    return RunDefaults(values, sources)


def keep_days(folder: Path) -> int | None:
    """Return after how many days sessions are deleted; the file must be valid."""
    known = _users(folder / SCHEMAS["config"])
    return known.sessions.keep_days if known else None


def fetch_hosts(folder: Path) -> tuple[str, ...]:
    """Return the hosts that agents may fetch from; a bad file allows none."""
    try:
        known = _users(folder / SCHEMAS["config"])
    except (OSError, SettingsError):
        return ()
    return tuple(known.fetch.hosts) if known else ()


def _users(file: Path) -> ConfigTables | None:
    """Return the user's file, if any. Raises OSError and SettingsError."""
    if not file.is_file():
        return None
    from rails.config.tables import ConfigTables  # only here: few users have a file

    return parse_settings(file.read_bytes(), str(file), "config").tables(ConfigTables)


def _tables(project: Path, folder: Path) -> Iterator[tuple[Path, BoundsTable]]:
    if known := _users(file := folder / SCHEMAS["config"]):
        yield file, known.run
    file = project / SCHEMAS["rails"]
    if file.is_file():
        from rails.config.tables import ProjectTables

        yield file, parse_settings(file.read_bytes(), str(file), "rails").tables(ProjectTables, only="run").run


def _counts(name: str, said: Any, before: Mapping[str, Any]) -> bool:  # noqa: ANN401 - bounds are numbers
    """Return whether a later file's value counts: a tighter bound, or a new one."""
    was = before.get(name)
    return was is None or (name in _BOUNDS and said < was)
