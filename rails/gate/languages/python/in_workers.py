"""black and flake8 in warm workers, cached; a flake8 that sees nothing is reported."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from msgspec import Struct

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import Decoded, decode_text
from rails.core.verdict import Finding
from rails.gate.languages.python.config import BlackSettings, Flake8Settings
from rails.gate.support.check import CheckContext, ExcludedError
from rails.gate.support.config_files import folders_to
from rails.gate.support.diagnostics import Diagnostic, not_listed
from rails.processes.programs import Tool

#: Breaks at least one rule of nearly every family a project can select.
LINT_CANARY: Final = b"""import sys,os
from os.path import *
import re, collections
def F(a, B = [], l=1):
    x = 1
    if a == None: return not a in B
    try:
        eval("1")
    except:
        pass
    print("%(a)s" % (a,))  # TODO
    assert a
    return dict([(i, i) for i in a]);
class c(object):
    def M(self): return undefined_name
password = 'hunter2'
# x = 1
"""
FORMAT_CANARY: Final = b"x = {  'a':1 }\n"
#: ruff reports this whatever rules are selected, unless it does not look at the file.
BROKEN_CANARY: Final = b"x = (\n"

#: Asks a worker, as ``support.warm_processes`` does.
AskWorker: TypeAlias = Callable[[Mapping[str, object]], dict[str, Any]]


class InWorker(Struct, frozen=True):
    """A tool in a Python worker."""

    tool: Tool
    context: CheckContext
    ask: AskWorker

    def asked(self, path: str, text: str, options: object, request: Mapping[str, object]) -> dict[str, Any]:
        """Return the answer about a text, by its path and options. Raises CheckError."""
        key = (self.tool.name, self.tool, options, path, text)
        message = {"op": self.tool.name, "text": text, "path": path, **request}
        return self.context.once(key, lambda: self.ask(message))


class Black(InWorker, frozen=True):
    """black."""

    config: BlackSettings

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted. Raises CheckError, also ExcludedError."""
        if self._left_out(path):
            raise ExcludedError
        options = self.config.options
        decoded = _decoded(data)
        # One answer for all files with the same ending.
        answer = self.asked(f"m{PurePath(path).suffix}", decoded.text, repr(options), {"options": options})
        return decoded.encode(answer["text"])

    def _left_out(self, path: str) -> bool:
        """Return whether ``black .`` excludes a file, run beside its configuration; an empty match is none."""
        below = f"/{path.removeprefix(self.config.origin.removesuffix('pyproject.toml'))}"
        places = [*folders_to(below)[2:], below]
        try:
            found = [_searched(pattern, place) for pattern in self.config.exclude for place in places]
            return any(one and one[0] for one in found) or not _searched(self.config.include, below)
        except re.error as error:
            raise CheckError(f"black's exclude pattern is not a regular expression: {error}") from error


class Flake8(InWorker, frozen=True):
    """flake8."""

    config: Flake8Settings

    def find(self, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return flake8's findings. Raises CheckError, also ExcludedError."""
        if self._left_out(path):
            raise ExcludedError
        canary = LINT_CANARY.decode()
        by_path = any(one.startswith("--per-file-ignores") for one in self.config.arguments)
        if not self._found(path if by_path else "canary.py", canary):
            if by_path and self._found("canary.py", canary):
                raise ExcludedError
            raise CheckError("the project's configuration selects no flake8 code for this file")
        return self._found(path, _decoded(data).text)

    def notes(self) -> tuple[str, ...]:
        """Return what of its configuration is ignored."""
        selects = [one for one in self.config.arguments if one.startswith(("--select=", "--extend-select="))]
        codes = re.findall(r"[A-Za-z]+\d*", " ".join(one.partition("=")[2] for one in selects))
        known = self.context.known.get(("flake8 codes", self.config.arguments), ())
        missing = [code for code in codes if known and not any(code.startswith(k) or k.startswith(code) for k in known)]
        words = f"no installed plugin reports {', '.join(missing)}, which the project selects"
        return (*self.config.notes, words) if missing else self.config.notes

    def _left_out(self, path: str) -> bool:
        """Return whether ``flake8 .`` excludes a file, by its name, its path or a parent's."""
        project = self.context.project
        inside = PurePath(path)
        places = (*inside.parts, *(str(project / one) for one in (inside, *inside.parents)))
        for pattern in self.config.exclude:
            placed = os.path.normpath(project / pattern) if "/" in pattern or pattern == "." else pattern
            if fnmatch.filter(places, placed):
                return True
        return not any(fnmatch.fnmatch(f"./{path}", pattern) for pattern in self.config.files)

    def _found(self, path: str, text: str) -> tuple[Finding, ...]:
        request = {"arguments": self.config.arguments, "most": limits.FINDINGS_LISTED}
        answer = self.asked(path, text, self.config.arguments, request)
        self.context.known["flake8 codes", self.config.arguments] = answer["codes"]
        listed = [Diagnostic(code, text, (line, at), (line, 0)) for line, at, code, text in answer["findings"]]
        return tuple(one.as_finding(path, "flake8") for one in (*listed, *not_listed(answer["more"])))


def _decoded(data: bytes) -> Decoded:
    if (decoded := decode_text(data)) is None:
        raise CheckError("it is not UTF-8 text")
    return decoded


def _searched(pattern: str, place: str) -> re.Match[str] | None:
    return re.search(pattern, place, re.VERBOSE if "\n" in pattern else 0)
