"""Descriptions of node types for agents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.text import head_and_tail
from rails.core.tool_request import Json
from rails.n8n.facts import FACTS
from rails.n8n.model import Names, listed, shown_value
from rails.n8n.nodes import catalogue, ports
from rails.n8n.nodes.catalogue import Catalogue, Description, Port
from rails.n8n.nodes.given import FILTER_OPERATIONS, ONE_SIDED
from rails.n8n.nodes.parameters import Context, Level, Malformed, Property, context_of, filled, levels

#: What a model reads with profit; the rest is one more question with `parameters` given.
_MOST_CHARS: Final = 8_000
_MOST_FOUND: Final = 20
#: Shorter words say nothing of a type: "a", "to", "the".
_WORD: Final = 4
#: The shapes of values that are more than a text, by the type of the parameter.
_VALUES: Final[Mapping[str, str]] = FACTS["shapes_of_values"]
#: Where there is no full catalogue: which shape the parameters of the nodes have that every workflow uses.
_KNOWN: Final[Mapping[str, Mapping[str, str]]] = FACTS["shapes_of_parameters"]


def answer(parameters: Mapping[str, Json]) -> str:
    """Return a node type at a version, or types that fit."""
    node_type, version, given = (parameters.get(name) for name in ("type", "version", "parameters"))
    if isinstance(node_type, str):
        number = float(version) if isinstance(version, int | float) else None
        return describe_node(node_type, number, given if isinstance(given, dict) else None)
    found = find_nodes(str(parameters.get("search", "")))
    return "\n".join(found) or "No node type is known for this. Write a service or what is to be done: send an email."


def describe_node(node_type: str, version: float | None = None, parameters: Mapping[str, Json] | None = None) -> str:
    """Return a node type's description, or similar types, as text.

    ``parameters`` (resource, operation): only what shows with them.
    """
    found = catalogue.current()
    versions = found.known_versions(node_type)
    if versions is None:
        return _unknown(node_type, found)
    chosen = versions[-1] if version is None else version
    lines = [f"{node_type} (n8n {found.n8n})", f"typeVersion: {chosen:g}; all: {listed(f'{v:g}' for v in versions)}"]
    description = found.describe(node_type, chosen)
    if description is None:
        lines.append("There is no such version." if chosen not in versions else "Nothing more is known of it.")
    else:
        lines += _described(description, chosen, dict(parameters or {}))
    return head_and_tail("\n".join(lines), _MOST_CHARS)[0]


def find_nodes(words: str, *, known: Catalogue | None = None) -> list[str]:
    """Return types whose names have all ``words``, shortest first; else most."""
    found = known or catalogue.current()
    parts = words.casefold().split()
    held = {name: sum(part in name.casefold() for part in parts if len(part) >= _WORD) for name in found.versions}
    most = max(held.values(), default=0)
    hits = [name for name, count in held.items() if count == most > 0]
    return sorted(hits, key=lambda name: (len(name), name))[:_MOST_FOUND]


def _unknown(node_type: str, found: Catalogue) -> str:
    short = node_type.rpartition(".")[2]
    like = find_nodes(short, known=found) or [name for name in [Names(found.versions).nearest(node_type)] if name]
    return f"n8n {found.n8n} has no node type {shown_value(node_type)}. Like it: {listed(like) if like else 'none'}."


def _described(description: Description, version: float, parameters: dict[str, Any]) -> Iterator[str]:
    values: Mapping[str, Any] = ports.with_defaults(description.type, parameters)
    level = levels(description) if description.is_full else None
    context = context_of(description, version)
    if level is not None:
        try:
            values = filled(level, parameters, context)
        except Malformed as fault:
            yield f"With these parameters n8n cannot open it: `{fault.path[-1]}` must be a list."
    yield f"inputs: {_ports(ports.inputs(description, values, version))}"
    yield f"outputs: {_ports(ports.outputs(description, values, version))}"
    if description.credentials:
        yield f"credentials: {listed(item.name for item in description.credentials)}"
    if level is None:
        yield "Parameters are not known: there is no full catalogue of nodes here."
        yield from _shapes(_KNOWN.get(description.type, {}))
        return
    yield "parameters (those that show with what is given; * is required):"
    yield from _level(level, values, values, context, "  ")
    visible = [item for item in level.properties if _shows(item, values, values, context)]
    inside = [one for item in visible for below in item.levels for one in below.walk()]
    kinds = {item.type: item.name for item in (*inside, *visible) if item.type in _VALUES}
    yield from ["shapes:", *_shapes(kinds)] if kinds else ()


def _ports(found: tuple[Port, ...] | None) -> str:
    if found is None:
        return "depend on the parameters"
    return ", ".join(port.type + (" (required)" if port.required else "") for port in found) or "none"


def _level(level: Level, here: Any, root: Any, context: Context, indent: str) -> Iterator[str]:  # noqa: ANN401
    for item in level.properties:
        if not _shows(item, here, root, context):
            continue
        yield f"{indent}{item.name}{'*' if item.required else ''}: {_kind(item)}"
        if item.children is not None:
            yield from _level(item.children, {}, root, context, indent + "  ")
        for name, below in item.groups.items():
            yield f"{indent}  {name}: {'list of' if item.multiple else 'one'}"
            yield from _level(below, {}, root, context, indent + "    ")


def _shows(item: Property, here: Any, root: Any, context: Context) -> bool:  # noqa: ANN401
    return item.shows(here, root, context) and item.type not in {"notice", "callout", "button", "hidden"}


def _kind(item: Property) -> str:
    values = item.raw.get("values")
    if values:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values[:60])
    if item.modes:
        return f'{{"__rl": true, "mode": {" | ".join(json.dumps(mode) for mode in item.modes)}, "value": …}}'
    default = item.raw.get("default")
    plain = isinstance(default, str | int | float | bool) and default != ""
    return f"{item.type}, default {json.dumps(default, ensure_ascii=False)}" if plain else item.type


# -- the shape of values that are more than a text --------------------------------------------------


def _shapes(kinds: Mapping[str, str]) -> Iterator[str]:
    """Yield the shape of each kind of parameter, by the name of one; operators of filters."""
    for kind, name in kinds.items():
        yield f"  {name}: {_VALUES[kind]}"
    if "filter" not in kinds:
        return
    for name, operations in FILTER_OPERATIONS.items():
        yield f"  operations of {name}: {', '.join(operations)}"
    yield f'  add "singleValue": true to the operator for {", ".join(sorted(ONE_SIDED))}'
