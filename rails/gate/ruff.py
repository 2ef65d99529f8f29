"""ruff, asked about text that is not on disk: findings with their fixes, and formatted text.

The JSON that ``ruff check --output-format json`` prints is documented at
https://docs.astral.sh/ruff/settings/#output-format ; rows and columns are 1-based, columns count characters.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.core.values import dataclass
from rails.gate import tools
from rails.gate.settings import RuffSettings

if TYPE_CHECKING:
    from rails.core.requests import Json


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from one 1-based (line, column) to another with ``content``."""

    start: tuple[int, int]
    end: tuple[int, int]
    content: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding of ruff's. ``edits`` is its fix, ``safe`` whether ruff calls that fix safe."""

    rule: str
    message: str
    start: tuple[int, int]
    end: tuple[int, int]
    edits: tuple[Edit, ...] = ()
    safe: bool = False
    remedy: str = ""


_LINE_END: Final = re.compile(r"\r\n|\r|\n")
SYNTAX: Final = "invalid-syntax"


@dataclass(frozen=True, slots=True)
class RuffCli:
    """ruff as a command, started for each text. Files of the workspace are only ever read."""

    tool: tools.Tool
    project: Path

    def lint(self, path: str, data: bytes, settings: RuffSettings) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` as the content of ``path``. Raises CheckError."""
        ran = self._run("check", path, data, settings, "--output-format=json")
        if ran.code not in (0, 1):
            raise CheckError(f"ruff ended with code {ran.code}: {ran.complaint}")
        return parse(ran.out)

    def format(self, path: str, data: bytes, settings: RuffSettings) -> bytes:
        """Return ``data`` formatted. Raises CheckError, also when the text does not parse."""
        ran = self._run("format", path, data, settings)
        if ran.code != 0:
            raise CheckError(f"ruff format ended with code {ran.code}: {ran.complaint}")
        return ran.out

    def _run(self, verb: str, path: str, data: bytes, settings: RuffSettings, *more: str) -> tools.Ran:
        options = [a for a in settings.arguments() if verb == "check" or not a.startswith("--config=lint.")]
        name = str(self.project / path)
        return tools.run(
            [*self.tool.argv, verb, "--no-cache", "--force-exclude", *options, *more, "--stdin-filename", name, "-"],
            data=data,
        )


def plain(data: bytes) -> str | None:
    """Return the text of ``data`` without a byte-order mark, or ``None`` when it is not text.

    The same answer as :func:`rails.core.text.decode` gives, without the census of line endings.
    """
    if b"\0" in data:
        return None
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        return None


def parse(out: bytes) -> list[Diagnostic]:
    """Read ruff's JSON. Raises CheckError when it is something else."""
    try:
        items = json.loads(out)
        return [_diagnostic(item) for item in items]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckError(f"ruff printed something that is not its JSON: {one_line(repr(out[:80]))}") from error


def _diagnostic(item: Mapping[str, Json]) -> Diagnostic:
    fix = item.get("fix")
    edits: tuple[Edit, ...] = ()
    safe, remedy = False, ""
    if isinstance(fix, dict):
        edits = tuple(
            Edit(_place(edit["location"]), _place(edit["end_location"]), str(edit["content"]))
            for edit in _dicts(fix["edits"])
        )
        safe, remedy = fix.get("applicability") == "safe", str(fix.get("message") or "")
    rule = item["code"] or item.get("name") or SYNTAX  # some rules of the preview have a name only
    return Diagnostic(
        str(rule), str(item["message"]), _place(item["location"]), _place(item["end_location"]), edits, safe, remedy
    )


def _dicts(value: Json) -> Sequence[Mapping[str, Json]]:
    if not isinstance(value, list):
        raise TypeError("edits")
    return [item for item in value if isinstance(item, dict)]


def _place(value: Json) -> tuple[int, int]:
    if not isinstance(value, dict):
        raise TypeError("location")
    row, column = value["row"], value["column"]
    if not isinstance(row, int) or not isinstance(column, int):
        raise TypeError("location")
    return row, column


def apply(text: str, chosen: Sequence[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """Apply the fixes of ``chosen`` that don't overlap, first come first served; return what was applied.

    Several findings can share one fix (two unused names of one import line): it is applied once and
    counts for each of them.
    """
    starts = _line_starts(text)
    taken: list[tuple[int, int, str]] = []
    applied: list[Diagnostic] = []
    for diagnostic in sorted(chosen, key=lambda d: (d.edits[0].start, d.rule) if d.edits else (d.start, d.rule)):
        spans = [
            (_offset(starts, e.start, len(text)), _offset(starts, e.end, len(text)), e.content)
            for e in diagnostic.edits
        ]
        if not spans:
            continue
        if all(span in taken for span in spans):
            applied.append(diagnostic)
        elif not any(_overlap(span, other) for span in spans for other in taken):
            taken += spans
            applied.append(diagnostic)
    for begin, end, content in sorted(taken, reverse=True):
        text = text[:begin] + content + text[end:]
    return text, applied


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    # Touching insertions count as an overlap too: their order would be a guess.
    return one[0] <= other[1] and other[0] <= one[1]


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(found.end() for found in _LINE_END.finditer(text))]
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]


def _offset(starts: Sequence[int], place: tuple[int, int], size: int) -> int:
    line, column = place
    return min(starts[line - 1] + column - 1, size) if line <= len(starts) else size
