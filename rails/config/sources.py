"""Every setting and its source, first wins: command line, environment, user's ``.env``, user's file, project's,
default. A project may only tighten: deny and ask, not approve, choose servers or spend; what it executes waits for a
human.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.config import tables
from rails.config.settings_file import (
    SCHEMAS,
    SchemaName,
    SettingsError,
    SettingsFile,
    parse_settings,
    schema_value,
    table_in_words,
)
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace

ORDER: Final = "command line, environment, your .env, your file, the project's file (which may only tighten), default"
#: The variables that are settings, and what counts without them; keys are never shown.
VARIABLES: Final = {
    "AI_RAILS_CONFIG_DIR": "the user's configuration folder",
    "AI_RAILS_MODEL": "none",
    "AI_RAILS_STRONGER_MODEL": "none",
    "AI_RAILS_STRICT": "only to the provider's own server",
    "AI_RAILS_KEYRING": "0",
    "AI_RAILS_LANG": "from the locale",
    "ANTHROPIC_BASE_URL": "the provider's own server",
    "OPENAI_BASE_URL": "the provider's own server",
    "OLLAMA_BASE_URL": "http://127.0.0.1:11434",
    "NO_COLOR": "colours in a terminal",
}
#: The account in an address, which is nobody's to see.
_ACCOUNT: Final = re.compile(r"//[^/@\s]*@")
_KINDS: Final[Mapping[SchemaName, type[object]]] = {
    "rails": tables.ProjectTables,
    "config": tables.ConfigTables,
    "gate": tables.UserGateTables,
    "policy": tables.PolicyTables,
    "prices": tables.PriceTables,
}


class Setting(Struct, frozen=True):
    """A value. ``source``: "default", "environment" or a file; ``line``: 0 for none."""

    name: str
    value: Json
    source: str = "default"
    line: int = 0


class AllSettings(Struct, frozen=True):
    """The settings in effect, and sentences on unreadable files."""

    settings: tuple[Setting, ...]
    mistakes: tuple[str, ...]


def all_settings(project: Path, folder: Path, environment: Mapping[str, str], own: Collection[str] = ()) -> AllSettings:
    """Return ``project``'s settings; ``own``: variables from the ``.env`` in ``folder``."""
    found = list(_of_environment(environment, str(folder / ".env"), own))
    mistakes: list[str] = []
    for schema, name in SCHEMAS.items():
        place = (project if schema == "rails" else folder) / name
        try:
            data = place.read_bytes() if place.is_file() else b""
            file = parse_settings(data, str(place), schema)
            file.tables(_KINDS[schema])
            found += _of_file(file)
        except OSError as error:
            mistakes.append(f"{place}: {error.strerror or error}.")
        except SettingsError as error:
            mistakes += error.mistakes
    return AllSettings(tuple(found), tuple(mistakes))


def _of_environment(environment: Mapping[str, str], file: str, own: Collection[str]) -> Iterator[Setting]:
    for name, default in VARIABLES.items():
        given = environment.get(name)
        source = file if name in own else "environment"
        yield Setting(name, _ACCOUNT.sub("//", given), source) if given else Setting(name, default)


def _of_file(file: SettingsFile) -> Iterator[Setting]:
    prefix = () if file.schema in ("rails", "config") else (file.schema,)
    return _settings(file, prefix, schema_value(file.schema), dict(file.value), ())


def _settings(file: SettingsFile, prefix: JsonPlace, schema: Json, value: Json, place: JsonPlace) -> Iterator[Setting]:
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        items = schema.get("items") if isinstance(schema, dict) else None
        for index, entry in enumerate(value):
            yield from _settings(file, prefix, items, entry, (*place, index))
    elif isinstance(value, dict):
        known = schema.get("properties", {}) if isinstance(schema, dict) else {}
        rest = schema.get("additionalProperties") if isinstance(schema, dict) else None
        for key, part in known.items() if isinstance(known, dict) else ():
            if key not in value and isinstance(part, dict) and "default" in part:
                yield Setting(table_in_words((*prefix, *place, key)), part["default"])
        for key, inner in value.items():
            part = known.get(key, rest) if isinstance(known, dict) else rest
            yield from _settings(file, prefix, part, inner, (*place, key))
    elif place != ("$schema",):
        yield Setting(table_in_words((*prefix, *place)), value, file.source, file.line(place))
