"""What every operation on a workflow needs: its own fields, the nodes by name, the lists of connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.n8n.model import Names, shown_value

#: More outputs or list entries than a person means.
MOST: Final = 200


class CannotError(Exception):
    """An operation that cannot be done: message and hint of the refusal to be."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def text_of(operation: Mapping[str, Json], key: str) -> str:
    """Return a field that must be a non-empty text."""
    value = operation.get(key)
    if not isinstance(value, str) or not value:
        raise CannotError(f"`{key}` must be a non-empty text.", f'Write "{key}": "…".')
    return value


def number_of(operation: Mapping[str, Json], key: str) -> int:
    """Return a field that is a whole number, 0 where it is missing."""
    value = operation.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST:
        raise CannotError(f"`{key}` must be a whole number from 0 to {MOST - 1}.", f'Write "{key}": 0.')
    return value


def node_named(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the node of this name, or say which there are."""
    objects = [node for node in workflow["nodes"] if isinstance(node, dict)]
    found = next((node for node in objects if node.get("name") == name), None)
    if found is None:
        names = Names(str(node.get("name")) for node in objects)
        raise CannotError(f"there is no node {shown_value(name)}.", names.hint(name, "nodes"))
    return found


def check_free(workflow: dict[str, Any], name: str) -> None:
    """Refuse a name that a node has already."""
    if any(isinstance(node, dict) and node.get("name") == name for node in workflow["nodes"]):
        raise CannotError(f"there is a node {shown_value(name)} already.", "Choose another name.")


def buckets(workflow: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the list of targets of every output."""
    for outputs in workflow["connections"].values():
        for slots in outputs.values() if isinstance(outputs, dict) else ():
            yield from (bucket for bucket in (slots if isinstance(slots, list) else ()) if isinstance(bucket, list))
