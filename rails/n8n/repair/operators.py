"""Filters' conditions under n8n's names: types, operators, combinators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.tool_request import Json
from rails.n8n.model import plain_name
from rails.n8n.nodes.given import FILTER_OPERATIONS, ONE_SIDED

#: What the first versions, other programs and plain English call an operation. Each has one meaning.
_SYNONYMS: Final[Mapping[str, list[str]]] = json.loads(Path(__file__).with_name("synonyms.json").read_text("utf-8"))
_CANONICAL: Final = {word: name for name, words in _SYNONYMS.items() for word in (plain_name(name), *words)}
_TYPES: Final[Mapping[str, str]] = {
    **{plain_name(name): name for name in FILTER_OPERATIONS},
    **{"bool": "boolean", "text": "string", "integer": "number", "float": "number", "date": "dateTime"},
}
#: What n8n fills in where a filter has no options.
_OPTIONS: Final[Mapping[str, Json]] = {
    "caseSensitive": True, "leftValue": "", "typeValidation": "strict", "version": 1,
}  # fmt: skip
_COMBINED: Final = {"all": "and", "any": "or"}


def operation(kind: str, written: str) -> str | None:
    """Return n8n's name of a type's operation, or ``None``."""
    known = FILTER_OPERATIONS.get(kind, ())
    found = written if written in known else _CANONICAL.get(plain_name(written) or written.strip())
    return found if found in known else None


def operator(kind: Json, written: str) -> dict[str, Json] | None:
    """Return n8n's operator of a known type."""
    named = _TYPES.get(plain_name(kind)) if isinstance(kind, str) else None
    name = operation(named, written) if named is not None else None
    if named is None or name is None:
        return None
    made: dict[str, Json] = {"type": named, "operation": name}
    return made | ({"singleValue": True} if name in ONE_SIDED else {})


def sound_filter(value: Mapping[str, Json]) -> dict[str, Json]:
    """Return a filter with each condition in its valid form; equal if all are."""
    given = value.get("conditions")
    conditions = [given] if isinstance(given, dict) else given
    if not isinstance(conditions, list):
        return dict(value)
    made: dict[str, Json] = {**value, "conditions": [_condition(one) for one in conditions]}
    combinator = value.get("combinator")
    if combinator is None:
        made["combinator"] = "and"
    elif isinstance(combinator, str) and combinator not in ("and", "or"):
        plain = combinator.strip().lower()
        made["combinator"] = _COMBINED.get(plain, plain if plain in ("and", "or") else combinator)
    if value.get("options") is None:
        made["options"] = {**_OPTIONS}
    return made


def _condition(condition: Json) -> Json:
    if not isinstance(condition, dict):
        return condition
    around = dict(condition)
    given: Json = condition.get("operator")
    if given is None and isinstance(condition.get("operation"), str):
        given = {key: around.pop(key) for key in ("type", "operation") if key in condition}
    elif isinstance(given, str):
        given = {"operation": given, **({"type": around.pop("type")} if "type" in condition else {})}
    written = given.get("operation") if isinstance(given, dict) else None
    found = operator(given.get("type"), written) if isinstance(given, dict) and isinstance(written, str) else None
    if found is None or not isinstance(given, dict):
        return condition
    if all(given.get(key) == found[key] for key in ("type", "operation")):
        return condition
    return {**around, "operator": {**given, **found}}
