"""ruff on text that is not on disk: findings with fixes, and formatted text.

Its JSON is documented at https://docs.astral.sh/ruff/settings/#output-format ; rows and columns are 1-based, columns
count characters.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from rails.core.errors import CheckError
from rails.core.text import decode_text, one_line
from rails.gate.languages.python.config import RuffSettings
from rails.gate.support.diagnostics import SYNTAX, Diagnostic, FixEdit, first_ones
from rails.processes import programs


class RuffCli(Struct, frozen=True):
    """ruff as a command, run per text by ``ask``. Never writes to the workspace."""

    tool: programs.Tool
    project: Path
    ask: Callable[..., programs.ToolRun] = programs.run_tool

    def lint(self, path: str, data: bytes, settings: RuffSettings) -> list[Diagnostic]:
        """Return findings in ``data``. Raises CheckError."""
        ran = self._run("check", path, data, settings, "--output-format=json-lines", "--no-fix", "--no-fix-only")
        if ran.code not in (0, 1):
            raise CheckError(f"ruff ended with code {ran.code}: {ran.complaint}")
        return first_ones(parse_diagnostics(ran.out))

    def format(self, path: str, data: bytes, settings: RuffSettings) -> bytes:
        """Return ``data`` formatted. Raises CheckError, also for a syntax error."""
        ran = self._run("format", path, data, settings)
        if ran.code:
            raise CheckError(f"ruff format ended with code {ran.code}: {ran.complaint}")
        decoded = decode_text(data)
        if decoded is None or decoded.encoding == "utf-8":
            return ran.out
        return decoded.encode(ran.out.decode())

    def _run(self, verb: str, path: str, data: bytes, settings: RuffSettings, *more: str) -> programs.ToolRun:
        options = [a for a in settings.arguments() if verb == "check" or not a.startswith("--config=lint.")]
        name = str(self.project / path)
        decoded = decode_text(data)
        if decoded is not None and decoded.encoding != "utf-8":  # ruff reads nothing else
            data = decoded.text.encode()
        files = ("--no-cache", "--force-exclude", "--stdin-filename", name, "-")
        return self.ask([*self.tool.argv, verb, *options, *more, *files], data=data)


class _Place(Struct):
    row: int
    column: int


class _Edit(Struct):
    content: str
    location: _Place
    end_location: _Place


class _Fix(Struct):
    applicability: str = ""
    edits: list[_Edit] = msgspec.field(default_factory=list)
    message: str | None = None


class _Item(Struct):
    message: str
    location: _Place
    end_location: _Place
    code: str | None
    name: str | None = None  # which some rules of the preview have alone
    fix: _Fix | None = None
    cell: int | None = None


def parse_diagnostics(out: bytes) -> Iterator[Diagnostic]:
    """Yield the diagnostic of each line of ruff's JSON, one by one: many at once take a gigabyte. Raises CheckError."""
    for line in io.BytesIO(out):
        try:
            item = msgspec.json.decode(line, type=_Item)
        except msgspec.DecodeError as error:
            raise CheckError(f"ruff printed something that is not its JSON: {one_line(repr(line[:80]))}") from error
        fix = item.fix or _Fix()
        yield Diagnostic(
            item.code or item.name or SYNTAX,
            item.message,
            _pair(item.location),
            _pair(item.end_location),
            tuple(FixEdit(_pair(one.location), _pair(one.end_location), one.content) for one in fix.edits),
            fix.applicability == "safe",
            fix.message or "",
            cell=item.cell or 1,
        )


def _pair(place: _Place) -> tuple[int, int]:
    return place.row, place.column
