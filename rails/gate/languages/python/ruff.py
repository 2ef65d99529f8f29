"""ruff on text that is not on disk: findings with fixes, and formatted text.

Its JSON is documented at https://docs.astral.sh/ruff/settings/#output-format ; rows and columns are 1-based, columns
count characters.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rails.core.errors import CheckError
from rails.core.text import one_line
from rails.gate.languages.python.config import RuffSettings
from rails.gate.support.diagnostics import SYNTAX, Diagnostic, FixEdit, first_ones
from rails.processes import programs


class RuffCli(Struct, frozen=True):
    """ruff as a command, run per text by ``ask``. Never writes to the workspace."""

    tool: programs.Tool
    project: Path
    ask: Callable[..., programs.ToolRun] = programs.run_tool

    def lint(self, path: str, text: str, settings: RuffSettings) -> list[Diagnostic]:
        """Return findings in ``text``. Raises CheckError."""
        options = ("--output-format=json-lines", "--no-fix", "--no-fix-only", *settings.arguments())
        return first_ones(parse_diagnostics(self._run("check", path, text, options, (0, 1))))

    def format(self, path: str, text: str, settings: RuffSettings) -> str:
        """Return ``text`` formatted. Raises CheckError, also for a syntax error."""
        options = [option for option in settings.arguments() if not option.startswith("--config=lint.")]
        return self._run("format", path, text, options, (0,)).decode()

    def _run(self, verb: str, path: str, text: str, options: Sequence[str], codes: Sequence[int]) -> bytes:
        files = ("--no-cache", "--force-exclude", "--stdin-filename", str(self.project / path), "-")
        ran = self.ask([*self.tool.argv, verb, *options, *files], data=text.encode())
        if ran.code not in codes:
            raise CheckError(f"ruff {verb} ended with code {ran.code}: {ran.complaint}")
        return ran.out


def parse_diagnostics(out: bytes) -> Iterator[Diagnostic]:
    """Yield the diagnostic of each line of ruff's JSON, one by one: many at once take a gigabyte. Raises CheckError."""
    for line in io.BytesIO(out):
        try:
            yield _diagnostic(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CheckError(f"ruff printed something that is not its JSON: {one_line(repr(line[:80]))}") from error


def _diagnostic(item: Mapping[str, Any]) -> Diagnostic:
    fix = item.get("fix") or {}
    edits = [
        FixEdit(_pair(one["location"]), _pair(one["end_location"]), str(one["content"])) for one in fix.get("edits", ())
    ]
    return Diagnostic(
        str(item["code"] or item.get("name") or SYNTAX),  # some rules of the preview have a name alone
        str(item["message"]),
        _pair(item["location"]),
        _pair(item["end_location"]),
        tuple(edits),
        fix.get("applicability") == "safe",
        str(fix.get("message") or ""),
        cell=int(item.get("cell") or 1),
    )


def _pair(place: Mapping[str, Any]) -> tuple[int, int]:
    return int(place["row"]), int(place["column"])
