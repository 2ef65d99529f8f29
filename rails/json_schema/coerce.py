"""Values in a schema's types, where it rules out texts and a text is given.

    array, object    a text that is JSON for the given reader
    integer, number  a text in JSON's own number grammar
    boolean          the texts true and false

Nothing is wrapped into a list. What does not parse stays for the validator; broken JSON is reported.

``forgiving``: also blanks around a number or truth value, and a whole float for an integer. ``nulls_are_absent``: null
for an optional, not nullable property is dropped: a provider's strict mode omits this way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from rails.core.tool_request import Json, Repair, json_type
from rails.data_formats.positions import JsonPlace
from rails.data_formats.strict_json import ParsedJson, number_from_text
from rails.json_schema.allowed import TYPES, resolve_reference
from rails.json_schema.quick_check import SchemaValue, type_name

_DEPTH: Final = 16
#: Levels of values that are looked into; JSON itself is bounded by whoever read it.
_LEVELS: Final = 64
_CONTAINERS: Final = frozenset({"array", "object"})
#: A part that accepts a text, and beside it nothing that a text could be turned into or that has parts of its own.
_STAYS: Final = frozenset({"string", "null", "boolean"})
_KEPT: Final = 256


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
        self, parts: SchemaParts, read_text: TextReader, *, forgiving: bool = False, nulls_are_absent: bool = False
    ) -> None:
        self.conversions: list[Conversion] = []
        self.broken: list[tuple[JsonPlace, BrokenText]] = []
        self._parts, self._read_text = parts, read_text
        self._forgiving, self._nulls_are_absent = forgiving, nulls_are_absent

    def value(self, value: Json, schema: SchemaValue, place: JsonPlace = ()) -> Json:
        """Return a converted copy; unchanged parts are shared. ``schema`` is one of the parts."""
        if type(schema) is not dict or len(place) > _LEVELS:
            return value
        if type(value) is dict:
            return self._object(value, schema, place)
        if type(value) is list:
            return self._list(value, schema, place)
        if type(value) is str:
            types = self._parts.types_of(schema)
            return value if "string" in types else self._text(value, types, schema, place)
        if type(value) is float and self._forgiving and value.is_integer():
            types = self._parts.types_of(schema)
            if "integer" in types and "number" not in types:
                return self._converted(int(value), value, place)
        return value

    def _object(self, value: dict[str, Json], schema: dict[str, Json], place: JsonPlace) -> dict[str, Json]:
        members = self._parts.members_of(schema)
        if self._nulls_are_absent and None in value.values():
            value = {name: one for name, one in value.items() if one is not None or not self._is_absent(name, members)}
        changed = value
        for name, before in value.items():
            part = members.named.get(name, members.others)
            if part is None:
                continue
            after = self.value(before, part, (*place, name))
            if after is not before:
                changed = dict(value) if changed is value else changed
                changed[name] = after
        return changed

    def _is_absent(self, name: str, members: _Members) -> bool:
        schema = members.schema
        required, named = schema.get("required"), schema.get("properties")
        part = named[name] if isinstance(named, dict) and name in named else schema.get("additionalProperties")
        needed = isinstance(required, list) and name in required
        return not needed and "null" not in _allowed_types(part, self._parts.root)

    def _list(self, value: list[Json], schema: dict[str, Json], place: JsonPlace) -> list[Json]:
        first, rest = self._parts.items_of(schema)
        if not first and rest is None:
            return value
        parts = (first[n] if n < len(first) else rest for n in range(len(value)))
        items = [self.value(item, part, (*place, n)) for n, (item, part) in enumerate(zip(value, parts, strict=True))]
        return items if any(map(operator.is_not, items, value)) else value

    def _text(self, text: str, types: frozenset[str], schema: dict[str, Json], place: JsonPlace) -> Json:
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


class _Members(NamedTuple):
    """An object schema's convertible properties; ``None`` for others.

    ``others``: for unnamed properties.
    """

    named: Mapping[str, Json | None]
    others: Json | None
    schema: Mapping[str, Json]


class SchemaParts:
    """The parts of ``root``, computed once; known by identity, so it must not change."""

    def __init__(self, root: SchemaValue) -> None:
        self.root = root
        self._types: dict[int, frozenset[str]] = {}
        self._members: dict[int, _Members] = {}
        self._items: dict[int, tuple[list[Json], Json | None]] = {}

    def types_of(self, schema: dict[str, Json]) -> frozenset[str]:
        """Return the JSON types that a part accepts; all if unknown."""
        found = self._types.get(id(schema))
        if found is None:
            found = self._types[id(schema)] = _allowed_types(schema, self.root)
        return found

    def members_of(self, schema: dict[str, Json]) -> _Members:
        """Return a part's properties."""
        found = self._members.get(id(schema))
        if found is None:
            known = _branch(schema, self.root, "object")
            properties = known.get("properties")
            parts = properties.items() if isinstance(properties, dict) else ()
            named = {name: self._if_it_changes(part) for name, part in parts}
            others = self._if_it_changes(known.get("additionalProperties"))
            found = self._members[id(schema)] = _Members(named, others, known)
        return found

    def items_of(self, schema: dict[str, Json]) -> tuple[list[Json], Json | None]:
        """Return the schemas of a list's first items, and of the rest."""
        found = self._items.get(id(schema))
        if found is None:
            known = _branch(schema, self.root, "array")
            prefix = known.get("prefixItems")
            found = prefix if isinstance(prefix, list) else [], self._if_it_changes(known.get("items"))
            self._items[id(schema)] = found
        return found

    def _if_it_changes(self, part: Json) -> Json | None:
        if not isinstance(part, dict):
            return None
        types = self.types_of(part)
        return None if "string" in types and types <= _STAYS else part


_known_parts: dict[int, SchemaParts] = {}


def parts_of(schema: SchemaValue) -> SchemaParts:
    """Return a schema's parts, cached for the latest; it must not change."""
    known = _known_parts.get(id(schema))
    if known is None or known.root is not schema:
        if len(_known_parts) >= _KEPT:
            _known_parts.clear()
        known = _known_parts[id(schema)] = SchemaParts(schema)
    return known


def _allowed_types(schema: Json, root: SchemaValue, depth: int = 0) -> frozenset[str]:
    if not isinstance(schema, dict) or depth > _DEPTH:
        return frozenset(TYPES)
    allowed = frozenset(TYPES)
    for part in _conjuncts(schema, root):
        allowed &= _declared_types(part)
        for key in ("anyOf", "oneOf"):
            branches = part.get(key)
            if isinstance(branches, list):
                allowed &= frozenset().union(*(_allowed_types(branch, root, depth + 1) for branch in branches))
    return allowed


def _declared_types(part: Mapping[str, Json]) -> frozenset[str]:
    types, choices = part.get("type"), part.get("enum", [part["const"]] if "const" in part else None)
    if isinstance(types, str | list):
        return _wide([types] if isinstance(types, str) else types)
    if isinstance(choices, list):
        return _wide([type_name(choice) for choice in choices])
    if "properties" in part or "required" in part:
        return frozenset({"object"})
    return frozenset({"array"}) if "items" in part or "prefixItems" in part else frozenset(TYPES)


def _wide(types: Sequence[Json]) -> frozenset[str]:
    return frozenset(str(name) for name in types) | ({"integer"} if "number" in types else frozenset())


def _conjuncts(schema: Mapping[str, Json], root: SchemaValue) -> Iterator[Mapping[str, Json]]:
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
                waiting.append(resolve_reference(cast("Json", root), ref))
            except KeyError:
                continue


def _branch(schema: Mapping[str, Json], root: SchemaValue, wanted: str, depth: int = 0) -> Mapping[str, Json]:
    known: dict[str, Json] = {}
    for part in _conjuncts(schema, root):
        known = {**part, **known}
        for key in ("anyOf", "oneOf"):
            branches = part.get(key)
            fitting = [b for b in branches if wanted in _allowed_types(b, root)] if isinstance(branches, list) else []
            if len(fitting) == 1 and isinstance(fitting[0], dict) and depth < _DEPTH:
                known = {**_branch(fitting[0], root, wanted, depth + 1), **known}
    return known
