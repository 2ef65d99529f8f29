"""Where a value stands in a JSON, YAML or TOML text, by its path of keys and indexes.

A property's place is its key, an item's place its first character. The texts have been parsed before, so
nothing here judges; a path that is not found has the place of what is around it.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from yaml import Node

Path = tuple[str | int, ...]
Places = Mapping[Path, tuple[int, int]]
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_HEADER: Final = re.compile(r"\s*(\[\[?)([^\]]+)\]")
_KEY: Final = re.compile(r"(\s*)((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART: Final = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
#: Values whose places are kept; a larger document has the place of what is around them.
_MOST: Final = 200_000


def at(places: Places, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column (1-based) of the value at ``path``, or of the nearest one around it."""
    for end in range(len(path), -1, -1):
        if found := places.get(tuple(path[:end])):
            return found
    return 1, 1


def in_json(text: str) -> Places:
    """Return the places of all values of a JSON text."""
    offsets: dict[Path, int] = {}
    stack: list[list[str | int]] = []  # for each open container: the key or index that comes next
    key_at, key = -1, ""
    for token in _TOKEN.finditer(text):
        char = token[0][0]
        if len(offsets) > _MOST:
            break
        if char in "}]":
            stack.pop()
        elif char == ":":
            stack[-1][0] = json.loads(key, strict=False)
        elif char == ",":
            key_at = -1
            if isinstance(stack[-1][0], int):
                stack[-1][0] += 1
        elif char == '"' and stack and stack[-1][0] == "" and key_at < 0 and _is_key(text, token.end()):
            key_at, key = token.start(), token[0]
        else:
            path = tuple(part for (part,) in stack)
            offsets[path] = key_at if key_at >= 0 and stack and isinstance(stack[-1][0], str) else token.start()
            key_at = -1
            if char in "{[":
                stack.append(["" if char == "{" else 0])
            elif stack and isinstance(stack[-1][0], str):
                stack[-1][0] = ""
        if char in "}]" and stack and isinstance(stack[-1][0], str):
            stack[-1][0] = ""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return {path: _place(starts, offset) for path, offset in offsets.items()}


def _is_key(text: str, end: int) -> bool:
    return text[end : end + 1] == ":" or text[end:].lstrip()[:1] == ":"


def _place(starts: list[int], offset: int) -> tuple[int, int]:
    line = bisect.bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


def in_yaml(root: Node | None) -> Places:
    """Return the places of all values of a composed YAML document."""
    import yaml

    found: dict[Path, tuple[int, int]] = {}
    pending: list[tuple[Path, Node]] = [((), root)] if root is not None else []
    while pending and len(found) < _MOST:
        path, node = pending.pop()
        found.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        if len(path) > 100:
            continue
        if isinstance(node, yaml.SequenceNode):
            pending += [((*path, number), item) for number, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    inner = (*path, key.value)
                    found[inner] = key.start_mark.line + 1, key.start_mark.column + 1
                    pending.append((inner, value))
    return found


def in_toml(text: str) -> Places:
    """Return the places of tables and of keys that begin a line of a TOML text."""
    found: dict[Path, tuple[int, int]] = {(): (1, 1)}
    table: Path = ()
    tables: dict[Path, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            found.setdefault(_parts(header[2]), (number, header.start(2) + 1))
            table = _table(header, tables)
            found.setdefault(table, (number, header.start(2) + 1))
        elif key := _KEY.match(line):
            path = (*table, *_parts(key[2]))
            found.setdefault(path, (number, len(key[1]) + 1))
    return found


def _table(header: re.Match[str], tables: dict[Path, int]) -> Path:
    """Return the path of a table's header; of an array of tables, the last item so far counts."""
    path: Path = ()
    parts = _parts(header[2])
    for position, part in enumerate(parts):
        path = (*path, part)
        if header[1] == "[[" and position == len(parts) - 1:
            tables[path] = tables.get(path, -1) + 1
        if path in tables:
            path = (*path, tables[path])
    return path


def _parts(text: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
