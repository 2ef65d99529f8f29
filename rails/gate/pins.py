"""Looser pins, hashes, addresses and locks of dependencies; ``pins.toml`` has files and forms.

New files held nothing before; unparsable ones are left to other checks.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from rails.core.errors import FAULT
from rails.core.text import one_line
from rails.core.verdict import Finding
from rails.gate.verdicts import LOOSER

#: Of a line so many characters are looked at.
_CHARS: Final = 1_000
#: Lines that are looked at: aliases of YAML can stand for more than any memory holds.
_LINES: Final = 500_000
_LOCK: Final = re.compile(r".*(?:\block|-lock\.\w+|shrinkwrap\.json)")
_REMEDY: Final = "Keep the old pin, or say why. A [[gate.mode]] can refuse it."
_TABLE: Final = tomllib.loads((Path(__file__).parent / "pins.toml").read_text("utf-8"))
#: From tightest to loosest: the words, and the pattern.
_TIGHTNESS: Final = [*_TABLE.pop("tightness").items(), ("by nothing", "")]
_SENTENCES: Final = _TABLE.pop("sentences")
#: Kind, files, what to find in a line.
_ROWS: Final = [
    (kind, row.get("files", ".*"), re.compile(row["find"])) for kind, rows in _TABLE.items() for row in rows
]
_FILES: Final = "|".join(files for _, files, _ in _ROWS if files != ".*")

#: The kind of a row and a name, and how it is held in each place.
_Pins = dict[tuple[str, str], list[str]]


def findings(sides: Sequence[tuple[str, bytes | None, bytes | None]]) -> Iterator[Finding]:
    """Yield a warning for each looser pin; ``sides`` are path, content before and after."""
    for path, before, after in sides:
        if not before or before == after or not re.fullmatch(_FILES, path, re.I):
            continue
        text = (after or b"").lower()
        for name, words in _looser(path, before, after):
            line = text.count(b"\n", 0, max(text.find(name.encode()), 0)) + 1
            yield Finding(path, line, 1, LOOSER, words, "gate", severity="warning", end_line=line, remedy=_REMEDY)


def _looser(path: str, before: bytes, after: bytes | None) -> Iterator[tuple[str, str]]:
    if after is None:
        if _LOCK.fullmatch(path):
            yield "", "The lock file is removed."
        return
    try:
        old = _pins(path, before)
        new = _pins(path, after)
    except FAULT:
        return  # it does not parse, which is a finding of another check
    for kind, name in old.keys() & new.keys():
        was, now = (_held(kind, pins[kind, name]) for pins in (old, new))
        if now > was:
            yield name, f"{one_line(name, 80)} was held {_TIGHTNESS[was][0]} and is held {_TIGHTNESS[now][0]}."
    for kind, name in old.keys() ^ new.keys():
        # Of what has a sentence, a guard that goes is told, and of the others what comes.
        if kind in _SENTENCES and ((kind, name) in old) == (kind == "guard"):
            yield name, _SENTENCES[kind].format(one_line(name, 120))


def _pins(path: str, data: bytes) -> _Pins:
    found: _Pins = {}
    rows = [(kind, pattern) for kind, files, pattern in _ROWS if re.fullmatch(files, path, re.I)]
    for line in islice(_lines(path.lower(), data.decode("utf-8-sig")), _LINES):
        for kind, pattern in rows:
            for match in pattern.finditer(line[:_CHARS]):
                pin = match["pin"] or ""
                name = match.groupdict().get("name", pin)
                found.setdefault((kind, name.strip().lower()), []).append(pin.strip())
    return found


def _held(kind: str, pins: Sequence[str]) -> int:
    """Return the tightness: the loosest of several places, the tightest of one entry."""
    counts = min if kind == "entry" else max
    return counts(next(n for n, (_, one) in enumerate(_TIGHTNESS) if re.search(one, pin)) for pin in pins)


def _lines(path: str, text: str) -> Iterator[str]:
    if path.endswith((".json", "pipfile.lock")):
        yield from _flat(json.loads(text), "")
    elif path.endswith((".toml", ".lock", "pipfile")) and not path.endswith("yarn.lock"):
        yield from _flat(tomllib.loads(text), "")
    elif path.endswith((".yaml", ".yml")):
        import yaml  # most projects' pins are in other forms

        yield from _flat(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), "")  # noqa: S506 a safe one
    else:
        lines = re.sub(r"\\\r?\n", " ", text).splitlines()
        yield from (line for line in lines if not line.lstrip().startswith(("#", ";", "//")))


def _flat(value: object, above: str) -> Iterator[str]:
    """Yield ``key > key = line``; list items by name or address, else number."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _flat(part, f"{above} > {key}" if above else str(key))
    elif isinstance(value, list) and value:
        for number, part in enumerate(value):
            item = part if isinstance(part, dict) else {}
            yield from _flat(part, f"{above} > {item.get('name') or item.get('repo') or number}")
    else:
        yield from (f"{above} = {line}" for line in str(value).splitlines())
