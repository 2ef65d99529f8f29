"""The comparisons of n8n's filters, by type. Anchor: n8n's filter-parameter; anything else is never true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.tool_request import Json
from rails.n8n.facts import FACTS
from rails.n8n.model import JsonPath

#: Type of comparison → its operations.
FILTER_OPERATIONS: Final[Mapping[str, list[str]]] = FACTS["filter_operations"]
#: What compares with nothing: `singleValue` is true in the operator.
ONE_SIDED: Final = frozenset(FACTS["one_sided_operations"])


def filters_in(value: Json, path: JsonPath = ()) -> Iterator[tuple[JsonPath, dict[str, Json]]]:
    """Yield every filter in a node's parameters with its place: what has conditions, or one, that compare."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from filters_in(one, (*path, index))
    elif isinstance(value, dict):
        rows = value.get("conditions")
        listed = rows if isinstance(rows, list) else [rows]
        if any(isinstance(row, dict) and {"leftValue", "operator"} & row.keys() for row in listed):
            yield path, value
        for name, one in value.items():
            yield from filters_in(one, (*path, name))
