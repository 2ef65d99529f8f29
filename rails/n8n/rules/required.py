"""Values that n8n flags: empty required parameters, malformed locators and mapped fields.

Anchor: n8n-workflow 2.41, ``getNodeParametersIssues``, with its quirks: a collection's children are looked up beside
it; a fixedCollection in another is skipped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct

from rails.n8n.nodes.display import pattern_of
from rails.n8n.nodes.parameters import Context, Level, Property
from rails.n8n.values import UNDEFINED, at_parts, parsed_as, to_boolean, to_number, to_text

_LOCATORS: Final = frozenset({"resourceLocator", "workflowSelector", "agentSelector"})
#: As much of a locator's value as its pattern is tried on.
_MATCHED_CHARS: Final = 2_000
_ALPHANUMERIC: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_Path = tuple[str | int, ...]


class Lack(Struct, frozen=True):
    """One flag. ``kind``: "required", "form" or "count"; ``said``: the message; ``hint``: what is allowed."""

    kind: str
    path: _Path
    said: str
    hint: str = ""


def lacks(level: Level, values: Mapping[str, Any], context: Context) -> Iterator[Lack]:
    """Yield what n8n flags in a node's filled parameters."""
    checker = _Checker(values, context)
    for item in level.judged:
        yield from checker.check(item, values, ())


class _Checker:
    def __init__(self, root: Mapping[str, Any], context: Context) -> None:
        self._root = root
        self._context = context

    def check(self, item: Property, here: Any, path: _Path) -> Iterator[Lack]:  # noqa: ANN401
        shown = item.shows(here, self._root, self._context)
        value = at_parts(here, (item.name,))
        place = (*path, item.name)
        if item.required and shown:
            several = value if item.multiple is not None else [value]
            if isinstance(several, list) and any(_is_missing(item, one) for one in several):
                yield Lack("required", place, "it is required but empty", _allowed(item))
        yield from self._form(item, value, place, shown)
        if item.children is not None and item.type == "collection":
            for child in item.children.judged:
                yield from self.check(child, here if not path else UNDEFINED, path)
        elif item.type == "fixedCollection" and shown:
            yield from self._groups(item, value if not path else UNDEFINED, place)

    def _form(self, item: Property, value: Any, place: _Path, shown: bool) -> Iterator[Lack]:  # noqa: ANN401
        if item.type in _LOCATORS:
            said = _locator_fault(item, value) if shown else None
            if said:
                yield Lack("form", place, said, _allowed(item))
        elif item.type == "resourceMapper":
            yield from _mapper(item, value, place) if shown else ()
        elif item.type != "filter" and item.raw.get("validate"):
            said = type_fault(value, item.raw["validate"], item.raw.get("values", ()))
            if said:
                yield Lack("form", place, said)

    def _groups(self, item: Property, value: Any, place: _Path) -> Iterator[Lack]:  # noqa: ANN401
        least = item.raw.get("minRequiredFields")
        for name, level in item.groups.items():
            entries = at_parts(value, (name,))
            count = len(entries) if isinstance(entries, list) else 0
            if least and count < least:
                yield Lack("count", (*place, name), f"it needs at least {least} of `{name}`, and has {count}")
            if entries is UNDEFINED:
                continue
            rows: list[tuple[_Path, Any]] = [((*place, name), entries)]
            if item.multiple is not None:
                listed = entries if isinstance(entries, list) else ()
                rows = [((*place, name, index), entry) for index, entry in enumerate(listed)]
            for where, entry in rows:
                for child in level.judged:
                    yield from self.check(child, entry, where)


def _allowed(item: Property) -> str:
    if item.modes:
        return f'Write {{"__rl": true, "mode": {" or ".join(json.dumps(mode) for mode in item.modes)}, "value": "…"}}.'
    values = item.raw.get("values")
    if not isinstance(values, list) or not values or item.raw.get("dynamic"):
        return ""
    return f"Allowed: {', '.join(json.dumps(value, ensure_ascii=False) for value in values[:12])}."


def _is_missing(item: Property, value: Any) -> bool:  # noqa: ANN401
    if item.type in {"string", "dateTime", "options"}:
        return value is UNDEFINED or value == ""
    if item.type == "multiOptions":
        return bool(value == [])
    if item.type in _LOCATORS:
        return not _has_value(value)
    return False


def _has_value(value: Any) -> bool:  # noqa: ANN401
    inner = value.get("value", UNDEFINED) if isinstance(value, dict) else value
    if isinstance(value, dict) and type(inner) in {int, float}:
        return True  # a locator may hold the number 0
    return inner is not UNDEFINED and bool(inner)


def _locator_fault(item: Property, value: Any) -> str | None:  # noqa: ANN401
    if not (isinstance(value, dict) and "value" in value and "mode" in value):
        return None
    inner = value["value"]
    text = "" if inner is None or inner is False else to_text(inner)
    if text.startswith("="):
        return None
    mode = value["mode"]
    for rule in item.modes.get(mode, ()) if isinstance(mode, str) else ():
        pattern = pattern_of(f"^{rule}$")
        if pattern is not None and not pattern.search(text[:_MATCHED_CHARS]):
            return f"its value does not have the form of mode {mode!r}, which is /{rule[:80]}/"
    return None


def _mapper(item: Property, value: Any, place: _Path) -> Iterator[Lack]:  # noqa: ANN401
    if not (isinstance(value, dict) and {"mappingMode", "schema", "value"} <= value.keys()):
        return
    fields = value["schema"]
    if value["mappingMode"] == "autoMapInputData" or not isinstance(fields, list):
        return
    given = value["value"]
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("id"), str):
            continue
        found = given.get(field["id"], UNDEFINED) if isinstance(given, dict) else None
        if field.get("required") and item.raw.get("mapper") == "add" and (given is None or found is UNDEFINED):
            yield Lack("required", (*place, "value", field["id"]), f"the field {field['id']!r} is required")
        if isinstance(field.get("type"), str):
            options = field.get("options")
            allowed = (
                [one.get("value") for one in options if isinstance(one, dict)] if isinstance(options, list) else []
            )
            said = type_fault(found, field["type"], allowed)
            if said:
                yield Lack("form", (*place, "value", field["id"]), said)


def type_fault(value: Any, kind: str, allowed: Any = ()) -> str | None:  # noqa: ANN401
    """Return why n8n's ``validateFieldType`` refuses a value; most dates pass."""
    if value is UNDEFINED or value is None or to_text(value).startswith("="):
        return None
    check = _TYPES.get(kind.lower())
    if kind.lower() == "options":
        return None if value in allowed else f"{to_text(value)[:40]!r} is not one of {to_text(allowed)[:200]}"
    return f"{to_text(value)[:40]!r} is not of type {kind}" if check is not None and not check(value) else None


def _reads(read: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:  # noqa: ANN401
        try:
            read(value)
        except ValueError:
            return False
        return True

    return check


def _is_object(value: Any) -> bool:  # noqa: ANN401
    # n8n also reads JavaScript object literals here; only what is plainly something else is refused.
    return isinstance(value, dict) or (isinstance(value, str) and (value.strip()[:1] == "{" or value.strip() == "null"))


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "number": lambda value: not math.isnan(to_number(value)),
    "boolean": _reads(to_boolean),
    "array": _reads(partial(parsed_as, list)),
    "object": _is_object,
    "string-alphanumeric": lambda value: bool(_ALPHANUMERIC.fullmatch(to_text(value))),
}
