"""ruff, asked about text that is not on disk: findings with their fixes, and formatted text.

The JSON that ``ruff check --output-format json`` prints is documented at
https://docs.astral.sh/ruff/settings/#output-format ; rows and columns are 1-based, columns count characters.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rails.core import limits
from rails.core.dataclass import dataclass, field
from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.gate.languages.python.config import RuffSettings
from rails.gate.support.diagnostics import SYNTAX, Diagnostic, FixEdit, first_ones
from rails.processes import programs

if TYPE_CHECKING:
    from rails.core.tool_request import Json


def _started(argv: list[str], data: bytes) -> programs.ToolRun:
    return programs.run_tool(argv, data=data)


@dataclass(frozen=True, slots=True)
class RuffCli:
    """ruff as a command, started for each text by ``ask``. Files of the workspace are only ever read."""

    tool: programs.Tool
    project: Path
    ask: Callable[[list[str], bytes], programs.ToolRun] = field(default=_started, compare=False)

    def lint(self, path: str, data: bytes, settings: RuffSettings) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` as the content of ``path``. Raises CheckError."""
        return first_ones(found for _, found in self._found(path, data, settings))

    def lint_cells(self, path: str, data: bytes, settings: RuffSettings) -> list[tuple[int, Diagnostic]]:
        """Return what ruff finds in a notebook, with the number of the cell, counted from 1. Raises CheckError."""
        return list(islice(self._found(path, data, settings), limits.FINDINGS_LISTED))

    def _found(self, path: str, data: bytes, settings: RuffSettings) -> Iterator[tuple[int, Diagnostic]]:
        """Yield what ruff finds, one by one: all that it says of a file of many findings takes a gigabyte at once."""
        ran = self._run("check", path, data, settings, "--output-format=json-lines", "--no-fix", "--no-fix-only")
        if ran.code not in (0, 1):
            raise CheckError(f"ruff ended with code {ran.code}: {ran.complaint}")
        return parse_diagnostics(ran.out)

    def format(self, path: str, data: bytes, settings: RuffSettings) -> bytes:
        """Return ``data`` formatted. Raises CheckError, also when the text does not parse."""
        ran = self._run("format", path, data, settings)
        if ran.code != 0:
            raise CheckError(f"ruff format ended with code {ran.code}: {ran.complaint}")
        return ran.out

    def _run(self, verb: str, path: str, data: bytes, settings: RuffSettings, *more: str) -> programs.ToolRun:
        options = [a for a in settings.arguments() if verb == "check" or not a.startswith("--config=lint.")]
        name = str(self.project / path)
        files = ("--no-cache", "--force-exclude", "--stdin-filename", name, "-")
        return self.ask([*self.tool.argv, verb, *options, *more, *files], data)


def parse_diagnostics(out: bytes) -> Iterator[tuple[int, Diagnostic]]:
    """Yield the cell (1 where there are none) and the content of each line of ruff's JSON. Raises CheckError."""
    for line in io.BytesIO(out):
        try:
            item = json.loads(line)
            yield cell if isinstance(cell := item.get("cell"), int) else 1, _diagnostic(item)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckError(f"ruff printed something that is not its JSON: {one_line(repr(line[:80]))}") from error


def _diagnostic(item: Mapping[str, Json]) -> Diagnostic:
    fix = item.get("fix")
    edits: tuple[FixEdit, ...] = ()
    safe, remedy = False, ""
    if isinstance(fix, dict):
        edits = tuple(
            FixEdit(_place(edit["location"]), _place(edit["end_location"]), str(edit["content"]))
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
