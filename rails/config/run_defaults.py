"""What ``ai-rails run`` and ``chat`` take where the command line says nothing: ``[run]`` of the settings files.

The user's ``config.toml`` may say anything. The project's ``.rails.toml`` may name an agent and bound a run more
tightly: who approves, which server gets the text and a higher budget are not its to say.
"""

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
    """Values by the option's name, each with the file that said it."""

    values: Mapping[str, Any]
    sources: Mapping[str, str]


def run_defaults(project: Path, folder: Path) -> RunDefaults:
    """Return what the user's file in ``folder`` and the project's say. Raises UsageError with every mistake."""
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
    """Return after how many days the user's file in ``folder`` has sessions deleted; it was read without a mistake."""
    known = _users(folder / SCHEMAS["config"])
    return known.sessions.keep_days if known else None


def fetch_hosts(folder: Path) -> tuple[str, ...]:
    """Return the hosts whose pages agents may ask for, by the user's file in ``folder``; a bad file allows none."""
    try:
        known = _users(folder / SCHEMAS["config"])
    except (OSError, SettingsError):
        return ()
    return tuple(known.fetch.hosts) if known else ()


def _users(file: Path) -> ConfigTables | None:
    """Return the user's file, if there is one. Raises OSError and SettingsError."""
    if not file.is_file():
        return None
    from rails.config.tables import ConfigTables  # only here: few users have a file

    return parse_settings(file.read_bytes(), str(file), "config").tables(ConfigTables)


def _tables(project: Path, folder: Path) -> Iterator[tuple[Path, BoundsTable]]:
    """Yield the ``[run]`` of the user's file and of the project's, where there are any."""
    if known := _users(file := folder / SCHEMAS["config"]):
        yield file, known.run
    file = project / SCHEMAS["rails"]
    if file.is_file():
        from rails.config.tables import ProjectTables

        yield file, parse_settings(file.read_bytes(), str(file), "rails").tables(ProjectTables, only="run").run


def _counts(name: str, said: Any, before: Mapping[str, Any]) -> bool:  # noqa: ANN401 - bounds are numbers
    """Whether what a later file says counts beside an earlier one: a bound that is tighter, and what nobody said."""
    was = before.get(name)
    return was is None or (name in _BOUNDS and said < was)
