"""Values in a schema's types, where it rules out texts and a text is given.

    array, object    a text that is JSON for the given reader
    integer, number  a text in JSON's own number grammar
    boolean          the texts true and false

Nothing is wrapped into a list. What does not parse stays for the validator; broken JSON is reported.

``forgiving``: also blanks around a number or truth value, and a whole float for an integer. ``nulls_are_absent``: null
for an optional, not nullable property is dropped: a provider's strict mode omits this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from rails.core.tool_request import Json, Repair, json_type
from rails.data_formats.positions import JsonPlace
from rails.data_formats.strict_json import ParsedJson, number_from_text
from rails.json_schema.allowed import allowed_types, conjuncts
from rails.json_schema.quick_check import SchemaValue

_DEPTH: Final = 16
#: Levels of values that are looked into; JSON itself is bounded by whoever read it.
_LEVELS: Final = 64
_CONTAINERS: Final = frozenset({"array", "object"})


class BrokenText(NamedTuple):
    """The reason why a text is not JSON, and a remedy."""

    message: str
    fix: str = ""


#: Reads a text that should be JSON of a schema; ``None`` for one that does not begin like it.
TextReader: TypeAlias = Callable[[str, SchemaValue], ParsedJson | BrokenText | None]


class Conversion(NamedTuple):
    """A conversion: place, old value, new type, repairs."""

    place: JsonPlace
    source: str | float
    kind: str
    repairs: tuple[Repair, ...] = ()


class Coercion:
    """One pass over values: conversions and broken texts."""

    def __init__(
        self, root: SchemaValue, read_text: TextReader, *, forgiving: bool = False, nulls_are_absent: bool = False
    ) -> None:
        self.conversions: list[Conversion] = []
        self.broken: list[tuple[JsonPlace, BrokenText]] = []
        self._root, self._read_text = root, read_text
        self._forgiving, self._nulls_are_absent = forgiving, nulls_are_absent
        self._known: dict[object, Any] = {}

    def value(self, value: Json, schema: SchemaValue, place: JsonPlace = ()) -> Json:
        """Return a converted copy of ``value``; ``schema`` is a part of the root."""
        if not isinstance(schema, Mapping) or len(place) > _LEVELS:
            return value
        if isinstance(value, dict):
            return self._object(value, schema, place)
        if isinstance(value, list):
            return self._list(value, schema, place)
        if isinstance(value, str):
            types = self._once(allowed_types, schema)
            return value if "string" in types else self._text(value, types, schema, place)
        if isinstance(value, float) and self._forgiving and value.is_integer():
            types = self._once(allowed_types, schema)
            if "integer" in types and "number" not in types:
                return self._converted(int(value), value, place)
        return value

    def _once(self, find: Callable[..., Any], schema: SchemaValue, *more: str) -> Any:  # noqa: ANN401
        """Return what ``find`` says of a part; parts are known by identity, which the root keeps."""
        key = find, id(schema), more
        if key not in self._known:
            self._known[key] = find(schema, self._root, *more)
        return self._known[key]

    def _object(self, value: dict[str, Json], schema: Mapping[str, Json], place: JsonPlace) -> Json:
        known = self._once(_branch, schema, "object")
        named, others = known.get("properties"), known.get("additionalProperties")
        parts = named if isinstance(named, dict) else {}
        required = known.get("required")
        needed = required if isinstance(required, list) else []
        result: dict[str, Json] = {}
        for name, one in value.items():
            part = parts.get(name, others)
            optional = one is None and self._nulls_are_absent and name not in needed
            if not optional or "null" in allowed_types(part, self._root):
                result[name] = self.value(one, part, (*place, name))
        return result

    def _list(self, value: list[Json], schema: Mapping[str, Json], place: JsonPlace) -> Json:
        known = self._once(_branch, schema, "array")
        prefix, rest = known.get("prefixItems"), known.get("items")
        first = prefix if isinstance(prefix, list) else []
        parts = [*first, *[rest] * len(value)]
        return [self.value(item, parts[number], (*place, number)) for number, item in enumerate(value)]

    def _text(self, text: str, types: frozenset[str], schema: SchemaValue, place: JsonPlace) -> Json:
        said = text.strip() if self._forgiving else text
        if "boolean" in types and said in ("true", "false"):
            return self._converted(said == "true", text, place)
        number = number_from_text(said) if "integer" in types else None
        if number is not None and (type(number) is int or "number" in types):
            return self._converted(number, text, place)
        read = self._read_text(text, schema) if types & _CONTAINERS else None
        if isinstance(read, BrokenText):
            self.broken.append((place, read))
        if not isinstance(read, ParsedJson) or json_type(read.value) not in types & _CONTAINERS:
            return text
        self.conversions.append(Conversion(place, text, json_type(read.value), read.repairs))
        return self.value(read.value, schema, place)

    def _converted(self, value: bool | float, source: str | float, place: JsonPlace) -> Json:
        self.conversions.append(Conversion(place, source, json_type(value)))
        return value


def _branch(schema: Mapping[str, Json], root: SchemaValue, wanted: str, depth: int = 0) -> Mapping[str, Json]:
    """Return a schema with its ``allOf``, its ``$ref``, and its only branch for a type written into it."""
    known: dict[str, Json] = {}
    for part in conjuncts(schema, root):
        known = {**part, **known}
        for key in ("anyOf", "oneOf"):
            branches = part.get(key)
            fitting = [b for b in branches if wanted in allowed_types(b, root)] if isinstance(branches, list) else []
            if len(fitting) == 1 and isinstance(fitting[0], dict) and depth < _DEPTH:
                known = {**_branch(fitting[0], root, wanted, depth + 1), **known}
    return known
