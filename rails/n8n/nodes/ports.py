"""A node's inputs and outputs, also where n8n computes them from parameters.

``ports.json`` then has a row for each port: conditions (a parameter, "!" negates, or a bound of the version) and how
often. For an expression or unknown type the answer is ``None``: not judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rails.n8n.model import is_expression
from rails.n8n.nodes.catalogue import Description, Port, read_port

ParameterValues = Mapping[str, Any]

_TABLE: Final = json.loads(Path(__file__).with_name("ports.json").read_text("utf-8"))
_PORTS: Final = {name: read_port(raw) for name, raw in _TABLE["ports"].items()}
#: More ports than any node has: a number from a parameter is not trusted further.
_MOST: Final = 200
#: Sub-nodes that one would take for a required input, before any other.
USUAL_SUB_NODES: Final[Mapping[str, str]] = _TABLE["usual"]


class _Unknown(Exception):
    """Raised where an expression decides when the workflow runs."""


def inputs(description: Description, values: ParameterValues, version: float) -> tuple[Port, ...] | None:
    """Return a node's inputs by its filled parameters."""
    if description.inputs is not None:
        return description.inputs
    return _computed("inputs", description, values, version)


def outputs(
    description: Description, values: ParameterValues, version: float, *, error_output: bool = False
) -> tuple[Port, ...] | None:
    """Return outputs. ``error_output``: ``onError`` adds a last one."""
    found = description.outputs
    if found is None:
        found = _computed("outputs", description, values, version)
    return (*found, _PORTS["main"]) if error_output and found is not None else found


def with_defaults(node_type: str, parameters: ParameterValues) -> ParameterValues:
    """Return what ports depend on, with defaults, without full catalogue."""
    return {**_TABLE["defaults"].get(_row_name(node_type), {}), **parameters}


def _row_name(node_type: str) -> str:
    short = node_type.rpartition(".")[2]
    return "vectorStore" if "ectorStore" in short else str(_TABLE["same"].get(short, short))


def _computed(side: str, description: Description, values: ParameterValues, version: float) -> tuple[Port, ...] | None:
    rows = _TABLE[side].get(_row_name(description.type))
    if rows is None:
        return None
    try:
        return tuple(port for row in rows for port in _of_row(row, values, version))
    except _Unknown:
        return None


def _of_row(row: Mapping[str, Any], values: ParameterValues, version: float) -> Iterator[Port]:
    for name, wanted in row.get("when", {}).items():
        if not _holds(name, wanted, values, version):
            return
    if "each" in row:
        yield from _listed(_at(values, row["each"]))
        return
    count = row.get("otherwise", 1)
    if "times" in row:
        count = _number(_at(values, row["times"])) or count
    yield from [_PORTS[row["port"]]] * count


def _holds(name: str, wanted: Any, values: ParameterValues, version: float) -> bool:  # noqa: ANN401
    if name == "@min":
        return bool(version >= wanted)
    if name == "@below":
        return bool(version < wanted)
    found = _at(values, name.removeprefix("!"))
    if isinstance(found, dict):
        return any(key in wanted for key in found)
    if isinstance(found, list):
        raise _Unknown
    return (found in wanted) != name.startswith("!")


def _at(values: Any, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value at a path or ``None``. Raises _Unknown."""
    for part in path.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    if is_expression(values):
        raise _Unknown
    return values


def _number(value: Any) -> int:  # noqa: ANN401 - any JSON value
    """Return a number, or the length of a list or comma-separated text; else 0."""
    if isinstance(value, list):
        return min(len(value), _MOST)
    if isinstance(value, str):
        return min(value.count(",") + 1, _MOST)
    return int(min(max(value, 0), _MOST)) if isinstance(value, int | float) else 0


def _listed(rows: Any) -> Iterator[Port]:  # noqa: ANN401 - any JSON value
    if not rows or not isinstance(rows, list):
        raise _Unknown
    for row in rows[:_MOST]:
        if isinstance(row, dict) and isinstance(row.get("type"), str):
            yield Port(row["type"], row.get("required") is True)
