"""Schema violations in words: place, sentence, and what is allowed.

A model reads the sentences, so they quote the value and name the nearest allowed one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rails.core.text import counted, one_line
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import did_you_mean, kind_in_words, nearest_name, quoted_json

#: A ``jsonschema.ValidationError``, whose own types say that each of its fields may be unset.
SchemaError: TypeAlias = Any


class SchemaFault(Struct, frozen=True):
    """A violation of a schema: where, what, and what is allowed.

    ``expected`` and ``received`` are for programs.
    """

    place: JsonPlace
    detail: str
    hint: str = ""
    keyword: str = ""
    expected: str = ""
    received: str = ""


def place_in_words(place: JsonPlace) -> str:
    """Return a place as a model reads it: ``edits[0].file_path``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return one_line(text, 120) or "parameters"


def explain_schema_error(error: SchemaError, depth: int = 0) -> SchemaFault:
    """Return a validation error as a place, a sentence and advice."""
    expected, received = _expected(error)
    return replace(_in_words(error, depth), expected=expected, received=received)


def _expected(error: SchemaError) -> tuple[str, str]:
    rule, wanted, found = str(error.validator), error.validator_value, kind_in_words(error.instance)
    if rule == "type":
        return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted), found
    if rule == "required":
        properties = error.schema.get("properties", {})
        return form_in_words(properties.get(error.message)).partition(":")[0] or "a value", "nothing"
    if rule == "additionalProperties":
        return "nothing", "a value"
    return f"{rule} {quoted_json(wanted, 120)}", found


def _in_words(error: SchemaError, depth: int) -> SchemaFault:
    place: JsonPlace = tuple(error.absolute_path)
    maker = _EXPLAINERS.get(str(error.validator))
    if maker is not None:
        return maker(error, place)
    if error.validator in ("anyOf", "oneOf") and error.context and depth < 3:
        return _no_branch(error, place, depth)
    return SchemaFault(place, f"`{place_in_words(place)}` {one_line(error.message, 200)}")


def form_in_words(schema: Json) -> str:
    """Return a property's schema in a few words: "string: the whole new text"."""
    if not isinstance(schema, dict):
        return ""
    types = schema.get("type", "")
    words = " or ".join(map(str, types)) if isinstance(types, list) else str(types)
    if "enum" in schema:
        words = f"one of {quoted_json(schema['enum'])}"
    about = schema.get("description")
    return f"{words}: {one_line(about, 200)}" if isinstance(about, str) and about else words


def _explain_required(error: SchemaError, place: JsonPlace) -> SchemaFault:
    name = error.message
    form = form_in_words(error.schema.get("properties", {}).get(name))
    hint = f"Add `{name}`" + (f" ({form})." if form else ".")
    return SchemaFault((*place, name), f"`{place_in_words((*place, name))}` is missing", hint, "required")


def _explain_additional(error: SchemaError, place: JsonPlace) -> SchemaFault:
    name = error.message
    known = list(error.schema.get("properties", {}))
    near = nearest_name(name, known)
    allowed = f"Allowed: {', '.join(f'`{key}`' for key in known)}." if known else "None is allowed."
    hint = f"Did you mean `{near}`? {allowed}" if near else allowed
    detail = f"`{place_in_words((*place, name))}` is not a parameter of this tool"
    return SchemaFault((*place, name), detail, hint, "additionalProperties")


def _explain_type(error: SchemaError, place: JsonPlace) -> SchemaFault:
    wanted = error.validator_value
    names = [str(name) for name in wanted] if isinstance(wanted, list) else [str(wanted)]
    need = " or ".join(("an " if name[0] in "aeio" else "a ") + name if name != "null" else name for name in names)
    found = f"{kind_in_words(error.instance)} ({quoted_json(error.instance)})"
    detail = f"`{place_in_words(place)}` is {found}; it must be {need}"
    hint = "Put the object in a list: [ { … } ]." if names == ["array"] and isinstance(error.instance, dict) else ""
    return SchemaFault(place, detail, hint)


def _explain_enum(error: SchemaError, place: JsonPlace) -> SchemaFault:
    allowed = error.validator_value if isinstance(error.validator_value, list) else []
    texts = [value for value in allowed if isinstance(value, str)]
    otherwise = f"Allowed: {quoted_json(allowed)}."
    hint = did_you_mean(error.instance, texts, "") if isinstance(error.instance, str) else ""
    detail = f"`{place_in_words(place)}` is {quoted_json(error.instance)}, which is not allowed"
    return SchemaFault(place, detail, f"{hint} {otherwise}".strip())


def _explain_const(error: SchemaError, place: JsonPlace) -> SchemaFault:
    wanted = quoted_json(error.validator_value)
    return SchemaFault(
        place, f"`{place_in_words(place)}` is {quoted_json(error.instance)}; it must be {wanted}", f"Send {wanted}."
    )


def _explain_length(error: SchemaError, place: JsonPlace) -> SchemaFault:
    units = {"Length": "character", "Items": "item", "Properties": "member"}
    unit = next(word for ending, word in units.items() if str(error.validator).endswith(ending))
    bound, size = int(error.validator_value), len(error.instance)
    if size == 0:
        return SchemaFault(place, f"`{place_in_words(place)}` is empty", f"At least {counted(bound, unit)}.")
    word = "at least" if str(error.validator).startswith("min") else "at most"
    detail = f"`{place_in_words(place)}` has {counted(size, unit)}; {word} {counted(bound, unit)} allowed"
    return SchemaFault(place, detail, "Split the request into smaller ones." if word == "at most" else "")


_RANGES: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}


def _explain_range(error: SchemaError, place: JsonPlace) -> SchemaFault:
    rule = f"{_RANGES[str(error.validator)]} {error.validator_value}"
    return SchemaFault(place, f"`{place_in_words(place)}` is {quoted_json(error.instance)}; it must be {rule}")


def _explain_text(error: SchemaError, place: JsonPlace) -> SchemaFault:
    about = error.schema.get("description")
    hint = one_line(about, 200) if isinstance(about, str) else ""
    detail = f"`{place_in_words(place)}` ({quoted_json(error.instance)}) {error.message}"
    return SchemaFault(place, detail, hint, str(error.validator))


def _explain_false(_error: SchemaError, place: JsonPlace) -> SchemaFault:
    return SchemaFault(place, f"`{place_in_words(place)}` is not allowed here", "Leave it out.")


_EXPLAINERS: Final[Mapping[str, Callable[[Any, JsonPlace], SchemaFault]]] = {
    "required": _explain_required,
    "additionalProperties": _explain_additional,
    "type": _explain_type,
    "enum": _explain_enum,
    "const": _explain_const,
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _explain_length
    ),
    **dict.fromkeys(_RANGES, _explain_range),
    **dict.fromkeys(("pattern", "format", "uniqueItems", "multipleOf"), _explain_text),
    "None": _explain_false,
}


def _no_branch(error: SchemaError, place: JsonPlace, depth: int) -> SchemaFault:
    branches: dict[int, list[SchemaError]] = {}
    for inner in error.context:
        # A branch that is just `false` names no rule, so it has no place among the branches.
        branches.setdefault(int(inner.schema_path[0]) if inner.schema_path else -1, []).append(inner)
    best = min(branches.values(), key=_badness)
    nearest_fault = explain_schema_error(best[0], depth + 1)
    count = len(error.validator_value) if isinstance(error.validator_value, list) else len(branches)
    detail = f"`{place_in_words(place)}` fits none of the {count} allowed forms; nearest: {nearest_fault.detail}"
    return SchemaFault(nearest_fault.place, detail, nearest_fault.hint)


def _badness(errors: Sequence[SchemaError]) -> tuple[int, int]:
    """Return a sort key: a wrong type at the top is worst."""
    return sum(error.validator == "type" and not error.path for error in errors), len(errors)


def paired(faults: Sequence[SchemaFault]) -> list[SchemaFault]:
    """Suggest that an object's one missing and one unknown parameter are the same."""
    result = list(faults)
    for parent in {fault.place[:-1] for fault in faults if fault.keyword == "required"}:
        inside = [fault for fault in faults if fault.keyword and fault.place[:-1] == parent]
        missing = [fault for fault in inside if fault.keyword == "required"]
        unknown = [fault for fault in inside if fault.keyword == "additionalProperties"]
        if len(missing) == len(unknown) == 1 and "Did you mean" not in unknown[0].hint:
            hint = f"Did you mean `{missing[0].place[-1]}`? {unknown[0].hint}"
            result[result.index(unknown[0])] = replace(unknown[0], hint=hint)
    return result
