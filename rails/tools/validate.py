"""From a request as found to a valid one, or every reason why not.

In order: the tool exists, the agent may use it, bounds, aliases, text converted where the schema excludes text, JSON
Schema (2020-12). Objects are closed without ``additionalProperties``; unknown parameters are refused with the nearest.
Nothing is fetched.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from rails.core import limits, unsupported_tools
from rails.core.builtin_tools import CREATE
from rails.core.errors import Refusal
from rails.core.text import one_line, unfenced
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.data_formats.json_document import JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.data_formats.strict_json import ParsedJson
from rails.json_schema.allowed import nearest_name, quoted_json
from rails.json_schema.coerce import BrokenText, Coercion, Conversion
from rails.json_schema.explain import SchemaFault, paired, place_in_words
from rails.json_schema.quick_check import SchemaValue, properties, surely_fits
from rails.tools import aliases
from rails.tools.registry import Definition, Registry

if TYPE_CHECKING:
    from rails.json_schema.validator import SchemaValidator

#: Faults of one request that are reported; the rest is counted.
#: Parameters that name a file, whatever the tool.
_PATHS: Final = ("file_path", "new_path", "path")
_TOLD: Final = limits.FINDINGS_TOLD * 2


class Examined(Struct, frozen=True):
    """Parameters, really named and typed; conversions; faults."""

    parameters: Mapping[str, Json]
    coerced: tuple[str, ...]
    faults: tuple[SchemaFault, ...]


def validate(raw: RawRequest, registry: Registry, role: str) -> ToolRequest | tuple[Refusal, ...]:
    """Return ``role``'s validated request, or all refusals (never empty)."""
    definition = registry.get(raw.tool_name)
    if definition is None:
        return (_unknown_tool(raw, registry, role),)
    access = definition.access_of(role)
    if access == "none":
        return (_forbidden_tool(raw, definition, registry, role),)
    parameters = raw.parameters
    if raw.tool_name == CREATE and "create_only" in properties(definition.request_schema):
        parameters = {"create_only": True, **parameters}
    examined = examine(definition, parameters, nulls_are_absent=raw.dialect == "native")
    if examined.faults:
        return tuple(_refusals(raw, examined.faults, definition.hidden_parameters))
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
    """Resolve names, convert, validate, fill in defaults, in a copy.

    ``nulls_are_absent`` as in :mod:`rails.json_schema.coerce`.
    """
    out_of_bounds = tuple(_bounds(parameters))
    if out_of_bounds:
        return Examined(parameters, (), out_of_bounds)
    if definition.effect == "edit":
        usual = {name: value for name, (value, _) in unsupported_tools.OPTIONS.items()}
        parameters = {name: value for name, value in parameters.items() if usual.get(name, ...) is not value}
        if parameters.get("rollbackOnFailure") is False and "partial" in properties(definition.request_schema):
            rest = {name: value for name, value in parameters.items() if name != "rollbackOnFailure"}
            parameters = {**rest, "partial": True}
    resolved = aliases.resolve_aliases(parameters, definition.aliases)
    found = resolved.faults
    found += [_blank(name) for name in _PATHS if str(resolved.parameters.get(name, "x")).isspace()]
    schema = definition.request_schema
    coercion = Coercion(schema, _read_text, forgiving=True, nulls_are_absent=nulls_are_absent)
    values = dict(cast("dict[str, Json]", coercion.value(resolved.parameters, schema)))
    notes = [*resolved.notes, *map(_in_words, coercion.conversions)]
    if definition.drops_unknown:
        notes += _drop_unknown(values, schema)
    found += [_broken_text(place, broken) for place, broken in coercion.broken]
    told = {fault.place for fault in found}
    if not surely_fits(schema, values):
        from rails.json_schema.validator import schema_faults  # what surely fits waits for none of this

        found += paired([fault for fault in schema_faults(_validator(definition), values) if fault.place not in told])
    if not found:
        notes += _fill_defaults(values, schema)
    return Examined(values, tuple(notes), tuple(found))


def _read_text(text: str, _schema: SchemaValue) -> ParsedJson | BrokenText | None:
    """Read JSON as strictly as files, unfenced."""
    body = unfenced(text)
    try:
        return ParsedJson(parse_document(body).value)
    except JsonError as error:
        where = f"line {error.line}, column {error.column} of the text"
        return BrokenText(f"{error.message} ({where})", error.fix) if body[:1] in ("[", "{") else None


def _in_words(one: Conversion) -> str:
    source = "text" if isinstance(one.source, str) else repr(one.source)
    return f"{place_in_words(one.place)}: {source} to {one.kind}"


# -- refusals -------------------------------------------------------------------------------------


def _unknown_tool(raw: RawRequest, registry: Registry, role: str) -> Refusal:
    own = [definition.tool_name for definition in registry.for_role(role)]
    meant = next((one for one in registry.for_role(role) if _is_mistaken(raw.tool_name, one)), None)
    near = meant.tool_name if meant else nearest_name(raw.tool_name, own)
    hint = f'Did you mean "{near}"? ' if near else ""
    if why := unsupported_tools.reason(raw.tool_name):
        hint = f"{why} "
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


def _refusals(raw: RawRequest, found: tuple[SchemaFault, ...], hidden: tuple[str, ...]) -> Iterator[Refusal]:
    name = one_line(raw.tool_name, 80)
    if rest := found[_TOLD:]:
        found = (*found[:_TOLD], SchemaFault((), f"{len(rest)} further errors", ""))
    for fault in found:
        message = (
            f"Error: Tool request for '{name}' failed schema validation. Details: {fault.detail}. "
            "Please correct your JSON parameters."
        )
        hint = unsupported_tools.reason_of_option(fault.place[-1] if fault.place else "") or fault.hint
        for parameter in hidden:
            hint = hint.replace(f", `{parameter}`", "")
        yield Refusal(
            "schema",
            message,
            hint,
            raw.start,
            raw.end,
            place_in_words(fault.place),
            raw.id,
            fault.expected,
            fault.received,
        )


def _broken_text(place: JsonPlace, broken: BrokenText) -> SchemaFault:
    hint = f"{broken.fix} Or send the value itself instead of a text."
    return SchemaFault(place, f"`{place_in_words(place)}` is a text that should hold JSON: {broken.message}", hint)


def _blank(name: str) -> SchemaFault:
    return SchemaFault((name,), f"`{name}` is blank", "Name the file, relative to the project folder.")


# -- before the schema ----------------------------------------------------------------------------


def _bounds(parameters: Mapping[str, Json]) -> Iterator[SchemaFault]:
    """Yield what no strict JSON text could hold, wherever the values came from, at its parameter."""
    alone = [((name,), {name: parameters[name]}) for name in parameters]
    for place, values in (*alone, ((), parameters)):
        try:
            text = json.dumps(values, ensure_ascii=False, allow_nan=False)
            text.encode()
            parse_document(text)
            continue
        except JsonError as error:
            yield SchemaFault(place, error.message, error.fix)
        except RecursionError:
            yield SchemaFault(place, "values are nested too deep", "Make it flatter.")
        except UnicodeEncodeError:
            yield SchemaFault(place, "a text has half of a surrogate pair", "Write the character itself.")
        except ValueError:
            yield SchemaFault(place, "a number is not finite, which is not a JSON number", "Send a finite number.")
        return


def _drop_unknown(values: dict[str, Json], schema: Mapping[str, Json]) -> Iterator[str]:
    for name in [name for name in values if name not in properties(schema)]:
        del values[name]
        yield f"{one_line(name, 60)}: not a parameter, ignored"


def _fill_defaults(values: dict[str, Json], schema: Mapping[str, Json]) -> Iterator[str]:
    for name, inner in properties(schema).items():
        if name not in values and isinstance(inner, dict) and "default" in inner:
            values[name] = json.loads(json.dumps(inner["default"]))
            yield f"{name}: default {quoted_json(inner['default'], 60)}"


@functools.lru_cache(maxsize=1024)
def _validator(definition: Definition) -> SchemaValidator:
    """Return a schema's compiled validator, cached by identity; no schema allows no parameter."""
    from rails.json_schema.validator import IN_PLACE, validator_for

    schema = dict(definition.request_schema)
    says_more = IN_PLACE & set(schema) or "$ref" in schema
    return validator_for(schema if says_more else {"properties": {}, **schema}, close=True)
