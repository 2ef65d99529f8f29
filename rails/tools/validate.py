"""From a request as it was found to one that satisfies its tool's definition, or every reason why not.

Order: the tool exists, the agent may use it, the parameters are within bounds, other names for
parameters are resolved, text is converted where the schema excludes text, and then the JSON Schema
(2020-12) decides. Objects are closed: a parameter that the schema does not name is refused with the
nearest real one, unless the schema says ``additionalProperties`` itself.

Nothing is fetched: validators get an empty registry, and definitions with remote references do not load.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.errors import Refusal
from rails.core.text import one_line
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.data_formats.positions import JsonPlace
from rails.data_formats.regex import compile_pattern
from rails.json_schema.allowed import nearest_name, quoted_json, subschemas
from rails.json_schema.coerce import Coerced, Memo, coerce
from rails.json_schema.explain import SchemaFault, explain_schema_error, paired, place_in_words
from rails.json_schema.formats import CHECKED
from rails.tools import aliases
from rails.tools.registry import Definition, Registry

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

#: Faults of one request that are reported; the rest is counted.
_TOLD: Final = limits.FINDINGS_TOLD * 2


@dataclass(frozen=True, slots=True)
class Examined:
    """Parameters under their real names and types, what was converted, and what is wrong with them."""

    parameters: Mapping[str, Json]
    coerced: tuple[str, ...]
    faults: tuple[SchemaFault, ...]


def validate(raw: RawRequest, registry: Registry, role: str) -> ToolRequest | tuple[Refusal, ...]:
    """Return the validated request of the agent ``role``, or all refusals at once (never an empty tuple)."""
    definition = registry.get(raw.tool_name)
    if definition is None:
        return (_unknown_tool(raw, registry, role),)
    access = definition.access_of(role)
    if access == "none":
        return (_forbidden_tool(raw, definition, registry, role),)
    examined = examine(definition, raw.parameters, nulls_are_absent=raw.dialect == "native")
    if examined.faults:
        return tuple(_refusals(raw, examined.faults))
    return ToolRequest(
        id=raw.id,
        tool_name=definition.tool_name,
        parameters=examined.parameters,
        explanation=raw.explanation,
        effect=definition.effect,
        asks=access == "ask" or definition.effect == "edit",
        definition_digest=definition.digest,
        agent=role,
        coerced=examined.coerced,
        raw=raw,
    )


def examine(definition: Definition, parameters: Mapping[str, Json], *, nulls_are_absent: bool = False) -> Examined:
    """Resolve names, convert, validate and fill in defaults. The given parameters are not changed.

    ``nulls_are_absent`` as in :class:`~rails.json_schema.coerce.Coerced`.
    """
    out_of_bounds = tuple(_bounds(dict(parameters)))
    if out_of_bounds:
        return Examined(parameters, (), out_of_bounds)
    resolved = aliases.resolve_aliases(parameters, definition.aliases)
    found = [_conflict(place, name) for place, name in resolved.conflicts]
    found += [_leftover(place, near) for place, near in resolved.leftovers]
    memo = _memo(definition)
    converted = Coerced(list(resolved.converted), nulls_are_absent=nulls_are_absent, memo=memo)
    schema = definition.request_schema
    values = coerce(resolved.parameters, memo.root, converted)
    if not isinstance(values, dict):
        raise TypeError("coercion keeps objects")
    if definition.drops_unknown:
        _drop_unknown(values, schema, converted)
    found += [_broken_text(place, why, fix) for place, why, fix in converted.broken]
    told = {fault.place for fault in found}
    found += paired([fault for fault in _check(_validator(definition), values) if fault.place not in told])
    if not found:
        _fill_defaults(values, schema, converted)
    return Examined(values, tuple(converted.notes), tuple(found))


def faults(
    schema: Mapping[str, Json], value: Json, *, root: Mapping[str, Json] | None = None
) -> tuple[SchemaFault, ...]:
    """Return every way in which ``value`` does not satisfy ``schema``; references are into ``root``."""
    shared = {key: root[key] for key in ("$defs", "definitions") if root and key in root}
    return tuple(_check(_build({**shared, **schema}), value))


def answer_faults(schema: Mapping[str, Json], value: Json) -> tuple[SchemaFault, ...]:
    """Return every way in which a tool's answer does not satisfy ``schema``. Further properties are fine."""
    return tuple(_check(_build(schema, close=False), value))


# -- refusals -------------------------------------------------------------------------------------


def _unknown_tool(raw: RawRequest, registry: Registry, role: str) -> Refusal:
    own = [definition.tool_name for definition in registry.for_role(role)]
    meant = next((one for one in registry.for_role(role) if _is_mistaken(raw.tool_name, one)), None)
    near = meant.tool_name if meant else nearest_name(raw.tool_name, own)
    hint = f'Did you mean "{near}"? ' if near else ""
    hint += f"Your tools: {', '.join(own)}." if own else "No tool is available to you."
    message = f"Error: Requested tool '{one_line(raw.tool_name, 80)}' is not defined or accessible."
    return Refusal("unknown_tool", message, hint, raw.start, raw.end, "tool_name", raw.id)


def _is_mistaken(name: str, definition: Definition) -> bool:
    return name.casefold() in {other.casefold() for other in definition.mistaken_names}


def _forbidden_tool(raw: RawRequest, definition: Definition, registry: Registry, role: str) -> Refusal:
    own = ", ".join(one.tool_name for one in registry.for_role(role)) or "none"
    message = f"Error: The tool '{definition.tool_name}' exists, but the agent '{role}' may not use it."
    hint = f"Your tools: {own}. If the task needs it, say so in words and leave it to the human."
    return Refusal("forbidden_tool", message, hint, raw.start, raw.end, "tool_name", raw.id)


def _refusals(raw: RawRequest, found: tuple[SchemaFault, ...]) -> Iterator[Refusal]:
    name = one_line(raw.tool_name, 80)
    for fault in found[:_TOLD]:
        message = (
            f"Error: Tool request for '{name}' failed schema validation. Details: {fault.detail}. "
            "Please correct your JSON parameters."
        )
        yield Refusal("schema", message, fault.hint, raw.start, raw.end, place_in_words(fault.place), raw.id)
    if len(found) > _TOLD:
        message = (
            f"Error: Tool request for '{name}' failed schema validation. Details: {len(found) - _TOLD} further "
            "errors. Please correct your JSON parameters."
        )
        yield Refusal("schema", message, "", raw.start, raw.end, "", raw.id)


def _conflict(place: JsonPlace, name: str) -> SchemaFault:
    detail = f"`{place_in_words(place)}` and `{name}` mean the same and have different values"
    return SchemaFault(place, detail, f"Send `{name}` only.")


def _broken_text(place: JsonPlace, why: str, fix: str) -> SchemaFault:
    hint = f"{fix} Or send the value itself instead of a text."
    return SchemaFault(place, f"`{place_in_words(place)}` is a text that should hold JSON: {why}", hint)


def _leftover(place: JsonPlace, near: str) -> SchemaFault:
    hint = f"Did you mean `{near}`?" if near else "Leave it out."
    return SchemaFault(place, f"`{place_in_words(place)}` is not a parameter of this tool", hint)


# -- before the schema ----------------------------------------------------------------------------


def _bounds(parameters: dict[str, Json]) -> Iterator[SchemaFault]:
    """Refuse values that no schema should be asked about: too deep, too many, or not really JSON."""
    count = 0
    waiting: list[tuple[Json, JsonPlace]] = [(parameters, ())]
    while waiting:
        value, place = waiting.pop()
        count += 1
        if len(place) > limits.JSON_DEPTH:
            yield SchemaFault(
                place[:3], f"values are nested more than {limits.JSON_DEPTH} levels deep", "Make it flatter."
            )
            return
        if count > limits.PARAMETER_NODES:
            yield SchemaFault((), f"there are more than {limits.PARAMETER_NODES} values", "Split the request.")
            return
        if isinstance(value, dict):
            if len(value) > limits.OBJECT_MEMBERS:
                yield SchemaFault(
                    place, f"an object has more than {limits.OBJECT_MEMBERS} members", "Split the request."
                )
                return
            waiting.extend((item, (*place, name)) for name, item in value.items())
            yield from (fault for name in value if (fault := _bad_text(name, place)))
        elif isinstance(value, list):
            waiting.extend((item, (*place, index)) for index, item in enumerate(value))
        elif isinstance(value, str):
            yield from (fault for fault in (_bad_text(value, place),) if fault)
        elif isinstance(value, float) and value - value != 0:
            yield SchemaFault(
                place, f"`{place_in_words(place)}` is {value!r}, which is not a JSON number", "Send a finite number."
            )


def _bad_text(text: str, place: JsonPlace) -> SchemaFault | None:
    if len(text) > limits.BLOCK_CHARS:
        return SchemaFault(
            place, f"`{place_in_words(place)}` has {len(text)} characters", f"At most {limits.BLOCK_CHARS}."
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return SchemaFault(
            place, f"`{place_in_words(place)}` has half of a surrogate pair", "Write the character itself."
        )
    return None


def _drop_unknown(values: dict[str, Json], schema: Mapping[str, Json], converted: Coerced) -> None:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for name in [name for name in values if name not in known]:
        del values[name]
        converted.notes.append(f"{one_line(name, 60)}: not a parameter, ignored")


def _fill_defaults(values: dict[str, Json], schema: Mapping[str, Json], converted: Coerced) -> None:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if name not in values and isinstance(inner, dict) and "default" in inner:
            values[name] = json.loads(json.dumps(inner["default"]))
            converted.notes.append(f"{name}: default {quoted_json(inner['default'], 60)}")


# -- the schema -----------------------------------------------------------------------------------

_Errors = Iterator["ValidationError"]


@functools.lru_cache(maxsize=1024)
def _memo(definition: Definition) -> Memo:
    """Keep what conversion found out about a definition's schema; definitions are compared by identity."""
    return Memo(dict(definition.request_schema))


@functools.lru_cache(maxsize=1024)
def _validator(definition: Definition) -> Validator:
    """Compile a definition's schema once; definitions are compared by identity.

    Parameters that say nothing about themselves are none at all, so they are closed too.
    """
    schema = dict(definition.request_schema)
    return _build(schema if _IN_PLACE & set(schema) or "$ref" in schema else {"properties": {}, **schema})


def _build(schema: Mapping[str, Json], *, close: bool = True) -> Validator:
    from referencing import Registry as NoReferences

    whole = closed(dict(schema)) if close else dict(schema)
    return _validator_class()(whole, registry=NoReferences())


def closed(schema: Json) -> Json:
    """Return ``schema`` with every object closed to properties that it does not name.

    An object whose other parts (``allOf``, ``then``, ``$ref``, …) name properties of their own stays open:
    closing one part would refuse the properties of the others.
    """
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    properties = schema.get("properties")
    if "items" in schema:
        result["items"] = closed(schema["items"])
    if isinstance(properties, dict):
        result["properties"] = {name: closed(inner) for name, inner in properties.items()}
        if _names_elsewhere(schema, 0) <= set(properties):
            result.setdefault("additionalProperties", False)
    return result


_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "not"})
#: A name that no property has: what a ``$ref`` may add is not known here.
_UNKNOWN: Final = "\0"


def _names_elsewhere(schema: Mapping[str, Json], depth: int) -> set[str]:
    """Return the property names that the parts of ``schema`` that apply to the same object mention."""
    names: set[str] = {_UNKNOWN} if "$ref" in schema or depth > limits.SCHEMA_DEPTH else set()
    for place, part in subschemas(schema):
        if place[0] in _IN_PLACE and isinstance(part, dict) and depth <= limits.SCHEMA_DEPTH:
            inner = part.get("properties")
            names |= set(inner) if isinstance(inner, dict) else set()
            names |= _names_elsewhere(part, depth + 1)
    return names


@functools.cache
def _validator_class() -> Callable[..., Validator]:
    """Return JSON Schema 2020-12 with our own linear-time, one-error-each keywords."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    keywords: dict[str, Any] = {
        "required": _required,
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "format": _format,
        "uniqueItems": _unique_items,
        "multipleOf": _multiple_of,
    }
    return extend(Draft202012Validator, validators=keywords)  # type: ignore[no-any-return,no-untyped-call]


def _error(message: str) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _required(validator: Validator, required: list[str], instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    """One error for each missing property, with its name as the message."""
    if validator.is_type(instance, "object") and isinstance(instance, dict):
        yield from (_error(name) for name in required if name not in instance)


def _additional_properties(validator: Validator, rule: Json, instance: Json, schema: Mapping[str, Json]) -> _Errors:
    """One error for each property that the schema does not name, with its name as the message."""
    if not isinstance(instance, dict):
        return
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for name, value in instance.items():
        if name in known:
            continue
        if rule is False:
            yield _error(name)
        elif isinstance(rule, dict):
            yield from validator.descend(value, rule, path=name)  # type: ignore[attr-defined]


def _pattern(_validator: Validator, pattern: str, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    if not isinstance(instance, str):
        return
    if len(instance) > limits.PATTERN_CHARS or not compile_pattern(pattern).search(instance):
        yield _error(f"does not match {pattern}")


def _format(_validator: Validator, name: str, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    check = CHECKED.get(name)
    if isinstance(instance, str) and check and not check(instance):
        yield _error(f"is not a valid {name}")


def _unique_items(_validator: Validator, unique: bool, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    """Compare canonical texts in a set: the library's own way takes 18 s for 3,000 objects."""
    if unique and isinstance(instance, list):
        seen = {json.dumps(item, sort_keys=True) for item in instance}
        if len(seen) < len(instance):
            yield _error("lists an item twice")


def _multiple_of(_validator: Validator, step: float, instance: Json, _schema: Mapping[str, Json]) -> _Errors:
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    exact = isinstance(instance, int) and isinstance(step, int)
    remainder = instance % step if exact else abs(instance / step - round(instance / step))
    if remainder > (0 if exact else 1e-9):
        yield _error(f"is not a multiple of {step}")


def _check(validator: Validator, value: Json) -> Iterator[SchemaFault]:
    """Yield every fault in the order of its place; the library's errors become our sentences."""
    errors = sorted(validator.iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path])
    for error in errors[: _TOLD * 4]:
        yield explain_schema_error(error)
