"""Text that the schema does not want as text: numbers, booleans, arrays and objects sent as strings.

Only where the schema excludes strings, so that a string is never second-guessed where one is allowed.
Every conversion is named, and one that could be read two ways is not made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.dataclass import dataclass, field
from rails.core.text import unfenced
from rails.core.tool_request import Json, json_type
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import TYPES, resolve_reference

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)


@dataclass(slots=True)
class Coerced:
    """``notes`` name each conversion; ``broken`` are texts that should hold JSON and do not: (place, why, fix).

    With ``nulls_are_absent`` a null for an optional property that may not be null is left out: that is how a
    provider's strict mode leaves a parameter out (:mod:`rails.models.structured_output`).
    """

    notes: list[str] = field(default_factory=list)
    broken: list[tuple[JsonPlace, str, str]] = field(default_factory=list)
    nulls_are_absent: bool = False
    memo: Memo = field(default_factory=lambda: Memo({}))


class Memo:
    """What was found out about the parts of one schema, kept from one request to the next.

    Parts are known by identity, so the memo holds the schema (``root``) that they belong to.
    """

    __slots__ = ("branches", "root", "types")

    def __init__(self, root: Json) -> None:
        self.root = root
        self.types: dict[int, frozenset[str]] = {}
        self.branches: dict[tuple[int, str], Mapping[str, Json]] = {}

    def types_of(self, schema: Mapping[str, Json]) -> frozenset[str]:
        """Return the types that a part of the schema may accept."""
        found = self.types.get(id(schema))
        if found is None:
            found = self.types[id(schema)] = allowed_types(dict(schema), self.root)
        return found

    def branch_of(self, schema: Mapping[str, Json], wanted: str) -> Mapping[str, Json]:
        """Return what is known about a value of type ``wanted`` there."""
        found = self.branches.get((id(schema), wanted))
        if found is None:
            found = self.branches[id(schema), wanted] = _branch(schema, self.root, wanted)
        return found


def coerce(value: Json, schema: Json, result: Coerced, place: JsonPlace = ()) -> Json:
    """Return ``value`` with such texts converted, all the way down. ``value`` itself is not changed.

    ``schema`` has to be ``result.memo.root`` or a part of it.
    """
    if not isinstance(schema, dict):
        return value
    types = result.memo.types_of(schema)
    if isinstance(value, str):
        return value if "string" in types else _coerced_text(value, types, schema, result, place)
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        result.notes.append(f"{_name(place)}: {value!r} to integer")
        return int(value)
    return _inside(value, schema, result, place)


def _coerced_text(
    text: str, types: frozenset[str], schema: Mapping[str, Json], result: Coerced, place: JsonPlace
) -> Json:
    value = _from_text(text, types, result, place)
    return value if isinstance(value, str) else _inside(value, schema, result, place)


def _inside(value: Json, schema: Mapping[str, Json], result: Coerced, place: JsonPlace) -> Json:
    if isinstance(value, dict):
        inner = result.memo.branch_of(schema, "object")
        kept = [name for name in value if not (result.nulls_are_absent and _is_absent(name, value, inner, result))]
        return {name: coerce(value[name], _of(inner, name), result, (*place, name)) for name in kept}
    if isinstance(value, list):
        inner = result.memo.branch_of(schema, "array")
        return [coerce(item, _item(inner, index), result, (*place, index)) for index, item in enumerate(value)]
    return value


def allowed_types(schema: Json, root: Json, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that ``schema`` may accept; all of them where it does not say."""
    if not isinstance(schema, dict) or depth > 16:
        return frozenset(TYPES)
    allowed = frozenset(TYPES)
    for part in _conjuncts(schema, root):
        types = part.get("type")
        if isinstance(types, str):
            allowed &= _wide([types])
        elif isinstance(types, list):
            allowed &= _wide(types)
        for key in ("anyOf", "oneOf"):
            branches = part.get(key)
            if isinstance(branches, list):
                allowed &= frozenset().union(*(allowed_types(branch, root, depth + 1) for branch in branches))
    return allowed


def _wide(types: list[Json]) -> frozenset[str]:
    """A number may be an integer; both names stay, so that "integer" alone can be told apart."""
    return frozenset(str(name) for name in types) | ({"integer"} if "number" in types else frozenset())


def _conjuncts(schema: Mapping[str, Json], root: Json) -> Iterator[Mapping[str, Json]]:
    """Yield ``schema`` and every schema that must hold beside it through ``$ref`` and ``allOf``."""
    waiting: list[Json] = [dict(schema)]
    for _ in range(64):
        if not waiting:
            return
        part = waiting.pop()
        if not isinstance(part, dict):
            continue
        yield part
        both = part.get("allOf")
        waiting.extend(both if isinstance(both, list) else [])
        ref = part.get("$ref")
        if isinstance(ref, str):
            try:
                waiting.append(resolve_reference(root, ref))
            except KeyError:
                continue


def _branch(schema: Mapping[str, Json], root: Json, wanted: str) -> Mapping[str, Json]:
    """Return what is known about a value of type ``wanted``: this schema, and its only fitting branch."""
    known: dict[str, Json] = {}
    for part in _conjuncts(schema, root):
        known = {**part, **known}
        for key in ("anyOf", "oneOf"):
            branches = part.get(key)
            fitting = [b for b in branches if wanted in allowed_types(b, root)] if isinstance(branches, list) else []
            if len(fitting) == 1 and isinstance(fitting[0], dict):
                known = {**_branch(fitting[0], root, wanted), **known}
    return known


def _of(schema: Mapping[str, Json], name: str) -> Json:
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return schema.get("additionalProperties", True)


def _is_absent(name: str, value: Mapping[str, Json], schema: Mapping[str, Json], result: Coerced) -> bool:
    required = schema.get("required")
    needed = isinstance(required, list) and name in required
    return value[name] is None and not needed and not _takes_null(_of(schema, name), result.memo.root)


def _takes_null(schema: Json, root: Json, depth: int = 0) -> bool:
    if not isinstance(schema, dict) or depth > 16:
        return True
    for part in _conjuncts(schema, root):
        types, values = part.get("type", "null"), part.get("enum", [None])
        branches = part.get("anyOf", part.get("oneOf"))
        if "null" not in (types if isinstance(types, list) else [types]) or part.get("const") is not None:
            return False
        if isinstance(values, list) and None not in values:
            return False
        if isinstance(branches, list) and not any(_takes_null(branch, root, depth + 1) for branch in branches):
            return False
    return True


def _item(schema: Mapping[str, Json], index: int) -> Json:
    prefix = schema.get("prefixItems")
    if isinstance(prefix, list) and index < len(prefix):
        return prefix[index]
    return schema.get("items", True)


def _from_text(text: str, types: frozenset[str], result: Coerced, place: JsonPlace) -> Json:
    stripped = text.strip()
    converted: Json = text
    if "integer" in types and _INTEGER.fullmatch(stripped):
        converted = int(stripped)
    elif "number" in types and _NUMBER.fullmatch(stripped):
        converted = float(stripped)
    elif "boolean" in types and stripped in ("true", "false"):
        converted = stripped == "true"
    elif types & {"array", "object"}:
        return _from_json(text, types, result, place)
    if converted is not text:
        result.notes.append(f"{_name(place)}: text to {json_type(converted)}")
    return converted


def _from_json(text: str, types: frozenset[str], result: Coerced, place: JsonPlace) -> Json:
    try:
        value = parse_document(unfenced(text)).value
    except JsonError as error:
        if unfenced(text)[:1] in ("[", "{"):
            where = f"line {error.line}, column {error.column} of the text"
            result.broken.append((place, f"{error.message} ({where})", error.fix))
        return text
    if (isinstance(value, list) and "array" in types) or (isinstance(value, dict) and "object" in types):
        result.notes.append(f"{_name(place)}: text to {json_type(value)}")
        return value
    return text


def _name(place: JsonPlace) -> str:
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
