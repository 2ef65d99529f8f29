"""What is in a node's box: our drawing (24 by 24), or two letters of its type."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, NamedTuple


class Icon(NamedTuple):
    """A path (empty: ``letters``), whether filled, its colour's class."""

    path: str
    filled: bool
    group: str
    letters: str = ""


_BOLT: Final = Icon("M13 2 4 14h7l-1 8 9-12h-7z", True, "start")
#: Words in a type's name, and what stands for them (``icons.json``). The first that fits counts.
_KINDS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), Icon(path, filled, group))
    for pattern, path, filled, group in json.loads(Path(__file__).with_name("icons.json").read_text("utf-8"))
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def icon_of(node_type: str, *, trigger: bool) -> Icon:
    """Return the icon of a node type."""
    short = node_type.rpartition(".")[2]
    for pattern, found in _KINDS:
        if pattern.search(short):
            return found._replace(group="start") if trigger else found
    if trigger and short.lower() in {"manualtrigger", "start", "trigger"}:
        return _BOLT
    letters = "".join(word[0] for word in _WORDS.findall(short.removesuffix("Trigger"))[:2]).upper() or "?"
    return Icon("", False, "start" if trigger else "app", letters if len(letters) > 1 else short[:2].title())
