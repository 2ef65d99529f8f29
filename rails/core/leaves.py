"""The values of a JSON document by their places, and texts reduced to what no way of quoting changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rails.core.tool_request import Json


def leaves(value: Json | Mapping[str, Json], place: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every value that holds no other, with its place below ``place``, such as ``edits[0].old_string``."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, f"{place}[{number}]")
    else:
        yield place, value


def squeezed(text: str) -> str:
    """Reduce a text to what stays the same under any way of quoting it: escapes, blanks and quotes fall away."""
    for escape in ("\\n", "\\t", "\\r"):
        text = text.replace(escape, "")
    return "".join(char for char in text if not char.isspace() and char not in "\\\"'“”‘’`")
