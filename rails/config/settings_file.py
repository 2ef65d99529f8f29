"""Settings as values, or every mistake. msgspec is quick; if it fails, ``schemas/*.schema.json`` (the editors', too)
names all.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

from msgspec import Struct

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.core.tool_request import Json

if TYPE_CHECKING:
    from rails.data_formats.positions import JsonPlace
    from rails.json_schema.explain import SchemaFault

SchemaName = Literal["rails", "config", "gate", "policy", "prices"]
SCHEMAS: Final[Mapping[SchemaName, str]] = {
    "rails": ".rails.toml",
    "config": "config.toml",
    "gate": "gate.toml",
    "policy": "policy.toml",
    "prices": "prices.toml",
}
_FOLDER: Final = Path(__file__).with_name("schemas")
_TOML_PLACE: Final = lazy(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_NEAREST: Final = lazy(r"^.*? fits none of the \d+ allowed forms; nearest: ", re.DOTALL)

T = TypeVar("T")


class SettingsError(Exception):
    """A settings file is wrong; ``mistakes`` has a sentence each, with place."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


class SettingsFile(Struct, frozen=True):
    """A parsed settings file. ``source`` names it in messages."""

    source: str
    text: str
    value: Mapping[str, Json]
    schema: SchemaName

    def tables(self, kind: type[T], *, only: str = "") -> T:
        """Return the file as ``kind``; ``only``: one table, and what is outside. Raises SettingsError with all
        mistakes.
        """
        import msgspec

        value = self._part(only)
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise SettingsError(*self._mistakes(value) or (f"{self.source}: {error}.",)) from None

    def mistake(self, table: JsonPlace, words: str, *, at: JsonPlace = ()) -> str:
        """Return a mistake ``at`` a table's place: ``policy.toml:3:1: rule 1: …``."""
        line, column = self._at(at or table)
        about = table_in_words(table)
        return f"{self.source}:{line}:{column}: {about}{': ' if about else ''}{words}"

    def line(self, place: JsonPlace) -> int:
        """Return the line of what stands at ``place``."""
        return self._at(place)[0]

    def _at(self, place: JsonPlace) -> tuple[int, int]:
        from rails.data_formats import positions

        return positions.place_of(positions.in_toml(self.text), place)

    def _part(self, only: str) -> Mapping[str, Json]:
        others = {"gate", "policy", "run"} - {only} if only else set()
        return {key: value for key, value in self.value.items() if key not in others}

    def fitting(self, place: tuple[str, ...], kind: type[T]) -> Iterator[tuple[int, T]]:
        """Yield the valid tables of a list in an invalid file, with their numbers."""
        import msgspec

        value: Json | Mapping[str, Json] = self.value
        for part in place:
            value = value.get(part, []) if isinstance(value, Mapping) else []
        for index, table in enumerate(value if isinstance(value, list) else []):
            with contextlib.suppress(msgspec.ValidationError):
                yield index, msgspec.convert(table, kind)

    def _mistakes(self, value: Mapping[str, Json]) -> tuple[str, ...]:
        from rails.json_schema.explain import paired
        from rails.json_schema.validator import schema_faults, validator_for

        schema = schema_value(self.schema)
        found = paired(list(schema_faults(validator_for(schema), dict(value))))
        in_order = sorted(found, key=lambda fault: self._at(fault.place))
        return tuple(self._told(fault, _about(schema, fault.place)) for fault in in_order)

    def _told(self, fault: SchemaFault, about: str) -> str:
        from rails.json_schema.explain import place_in_words

        table, name = _split(fault.place)
        detail = _NEAREST.sub("", fault.detail.replace(f"`{place_in_words(fault.place)}`", f"`{name}`"))
        if fault.keyword == "additionalProperties":
            detail = f"`{name}` is not known"
        elif fault.keyword == "pattern":
            detail = detail.partition(" does not match ")[0] + " does not fit"
        hint = fault.hint.replace("`$schema`, ", "").replace("Send ", "Write ")
        if hint.startswith("Put the object in a list"):
            hint = f"Write [[{'.'.join(map(str, fault.place))}]], with two brackets."
        elif not hint or hint.startswith("At least"):
            hint = f"{hint} {about}".strip()
        words = f"{detail}. {hint}".replace(" an object", " a table")
        return self.mistake(table, words.rstrip(), at=fault.place)


def _about(schema: Json, place: JsonPlace) -> str:
    for part in place:
        if not isinstance(schema, dict):
            return ""
        properties = schema.get("properties")
        known = properties.get(str(part)) if isinstance(properties, dict) else None
        schema = schema.get("items") if isinstance(part, int) else known or schema.get("additionalProperties")
    text = schema.get("description") if isinstance(schema, dict) else ""
    return text if isinstance(text, str) else ""


def _split(place: JsonPlace) -> tuple[JsonPlace, str]:
    keys = [index for index, part in enumerate(place) if isinstance(part, str)]
    last = keys[-1] if keys else 0
    return place[:last], table_in_words(place[last:])


def parse_settings(data: bytes, source: str, schema: SchemaName) -> SettingsFile:
    """Return a settings file with its text. Raises SettingsError if it is not TOML."""
    import tomllib

    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(
            f"{source}:{line}: it is not valid TOML: byte {data[error.start]:#04x} is not UTF-8."
        ) from None
    try:
        return SettingsFile(source, text, cast("Mapping[str, Json]", _without_dates(tomllib.loads(text))), schema)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        where = f":{place[1]}:{place[2]}" if place and place[1] else ""
        words = _TOML_PLACE.sub("", str(error))
        raise SettingsError(f"{source}{where}: it is not valid TOML: {words}.") from None


def schema_text(name: SchemaName) -> str:
    """Return a settings file's JSON Schema, as text."""
    return (_FOLDER / f"{name}.schema.json").read_text("utf-8")


def schema_value(name: SchemaName) -> dict[str, Json]:
    """Return a settings file's JSON Schema."""
    return cast("dict[str, Json]", json.loads(schema_text(name)))


def _without_dates(value: object) -> Json:
    if isinstance(value, dict):
        return {key: _without_dates(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_dates(inner) for inner in value]
    return value if isinstance(value, str | int | float) else str(value)


def table_in_words(place: JsonPlace) -> str:
    """Return a table's name, counted from 1: ``gate.mode 1``."""
    text = ""
    for part in place:
        text += f" {part + 1}" if isinstance(part, int) else f".{part}" if text else part
    return one_line(text, 120)
