"""The least node of a type and version that passes our own rules: what n8n requires has a stand-in.

What is required is asked of the rules themselves: the parameters are filled as n8n fills them, each lack that the
rules find gets a value of its kind, until none is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rails.core.tool_request import Json
from rails.n8n.nodes import ports
from rails.n8n.nodes.catalogue import Catalogue, Description, Port
from rails.n8n.nodes.parameters import Context, Level, Malformed, Property, context_of, filled, levels
from rails.n8n.rules.required import lacks

_ROUNDS: Final = 8
#: Values for a text whose form is asked for, tried in this order.
_TEXTS: Final = (
    "example", "1", "123", "https://example.com", "123456789", "aaaaaaaaaaaaaaaaaaaaaa",
    "00000000-0000-0000-0000-000000000000", "a@example.com", "C0123456789", "appAAAAAAAAAAAAAA", "tblAAAAAAAAAAAAAA",
    "recAAAAAAAAAAAAAA", "2026-01-01T00:00:00", "00000000000000000000000000000000", "000000000000000000000000",
    "example:latest", "owner/name", "#1", "$example", "@example",
)  # fmt: skip


def minimal_node(
    node_type: str, version: float, found: Catalogue, given: Mapping[str, Json] | None = None
) -> dict[str, Any]:
    """Return a node with the least parameters that n8n accepts, ``given`` ones kept (resource, operation …)."""
    description = found.describe(node_type, version)
    name = node_type.rpartition(".")[2]
    parameters: dict[str, Any] = dict(given or {})
    if description is not None and description.is_full:
        parameters = _completed(levels(description), parameters, context_of(description, version))
    number = int(version) if version == int(version) else version
    return {
        "name": name[:1].upper() + name[1:],
        "type": node_type,
        "typeVersion": number,
        "position": [0, 0],
        "parameters": parameters,
    }


def sub_nodes(
    description: Description, parameters: Mapping[str, Any], version: float, found: Catalogue
) -> dict[str, str]:
    """Return a node type for every kind of required input that is not main."""
    values = ports.with_defaults(description.type, parameters)
    inputs = ports.inputs(description, values, version) or ()
    return {port.type: _source(port, found) for port in inputs if port.required and port.type != "main"}


def _source(port: Port, found: Catalogue) -> str:
    usual = ports.USUAL_SUB_NODES.get(port.type, "")
    if usual in found.versions and (not port.only or usual in port.only):
        return usual
    return next((one for one in port.only or found.versions if _gives(one, port.type, found)), usual)


def _gives(node_type: str, kind: str, found: Catalogue) -> bool:
    description = found.describe(node_type, None)
    return description is not None and any(port.type == kind for port in description.outputs or ())


def _completed(level: Level, parameters: dict[str, Any], context: Context) -> dict[str, Any]:
    for _round in range(_ROUNDS):
        try:
            values = filled(level, parameters, context)
        except (Malformed, RecursionError):
            return parameters
        missing = list(lacks(level, values, context))
        if not missing:
            return parameters
        for lack in missing:
            _put(parameters, lack.path, _stand_in(_property(level, lack.path, values, context)), values)
    return parameters


def _property(level: Level, path: Sequence[Any], root: Any, context: Context) -> Property | None:  # noqa: ANN401
    """Return the property at a path of names, groups and indexes; of several of one name the one that shows."""
    item: Property | None = None
    names = [part for part in path if isinstance(part, str)]
    here: Level | None = level
    while names and here is not None:
        named = here.by_name.get(names[0], [])
        item = next((one for one in named if one.shows(root, root, context)), named[0] if named else None)
        names = names[1:]
        if item is None or not names:
            break
        here = item.children if item.children is not None else item.groups.get(names[0])
        names = names[1:] if item.groups else names
    return item


def _stand_in(item: Property | None) -> Any:  # noqa: ANN401
    """Return a value of a property's kind."""
    if item is None:
        return "example"
    if item.groups:
        return [{}] if item.multiple else {}
    if item.modes:
        return _locator(item)
    if item.type in {"options", "multiOptions"}:
        choices = [one for one in item.raw.get("values") or () if one != ""] or ["example"]
        return [choices[0]] if item.type == "multiOptions" else choices[0]
    if item.type == "dateTime":
        return "2026-01-01T00:00:00"
    return "https://example.com" if "url" in item.name.lower() else ["example"] if item.multiple else "example"


def _locator(item: Property) -> dict[str, Any]:
    for mode in sorted(item.modes, key=lambda name: name != "id"):
        value = next((text for text in _TEXTS if _fits(text, item.modes[mode])), None)
        if value is not None:
            return {"__rl": True, "mode": mode, "value": value}
    return {"__rl": True, "mode": "list", "value": "example"}


def _fits(text: str, rules: Iterable[str]) -> bool:
    from rails.n8n.nodes.display import pattern_of

    patterns = [pattern_of(f"^{rule}$") for rule in rules]
    return all(pattern is not None and pattern.search(text) for pattern in patterns)


def _put(parameters: dict[str, Any], path: Sequence[Any], value: Any, values: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Set the value at a path; a list on the way is taken over from ``values``, so that its entries stay."""
    here: Any = parameters
    kept: Any = values
    for part, following in zip(path, [*path[1:], None], strict=True):
        kept = kept.get(part) if isinstance(kept, dict) else kept[part] if isinstance(kept, list) else None
        if following is None:
            here[part] = value
        elif isinstance(here, dict):
            here = here.setdefault(part, [{} for _ in kept] if isinstance(kept, list) else {})
        else:
            here = here[part]
