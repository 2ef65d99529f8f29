"""black and flake8 in warm workers, cached; a flake8 that sees nothing is reported."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final, cast

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import decode_text
from rails.core.verdict import Finding
from rails.gate.languages.python.config import PythonSettings
from rails.gate.support.check import CheckContext
from rails.gate.support.config_files import folders_to
from rails.gate.support.diagnostics import Diagnostic, not_listed
from rails.gate.support.fix_and_lint import ExcludedError, Language, NotCheckedError
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


class InWorkers(Language):
    """What black and flake8 are asked; where one is not installed, its tool is ``None``."""

    context: CheckContext
    config: PythonSettings
    black_tool: Tool | None
    flake8_tool: Tool | None

    def ask(self, request: Mapping[str, object]) -> Mapping[str, object]:
        """Return a worker's answer."""
        raise NotImplementedError

    def black(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted. Raises CheckError, NotCheckedError or ExcludedError."""
        if self.black_tool is None:
            raise CheckError("black is not installed beside AI-Rails; install it with: pip install black")
        if self._left_by_black(path):
            raise ExcludedError
        decoded = decode_text(data)
        if decoded is None:
            raise NotCheckedError("it is not UTF-8 text")
        options = {**self.config.black, "requires-python": self.config.requires_python}
        request = {"op": "black", "text": decoded.text, "path": path, "options": options}
        key = ("black", self.black_tool.version, repr(options), path.endswith(".pyi"), data)
        return self.context.once(key, lambda: decoded.encode(str(self._asked(request)["text"])))

    def flake8(self, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return flake8's findings. Raises CheckError, NotCheckedError or ExcludedError."""
        if self.flake8_tool is None:
            raise CheckError("flake8 is not installed beside AI-Rails; install it with: pip install flake8")
        if self._left_by_flake8(path):
            raise ExcludedError
        by_path = any(one.startswith("--per-file-ignores") for one in self.config.flake8 or ())
        if not self._found(path if by_path else "canary.py", LINT_CANARY.decode()):
            if self._found("canary.py", LINT_CANARY.decode()):
                raise ExcludedError
            raise NotCheckedError("the project's configuration selects no flake8 code for this file")
        decoded = decode_text(data)
        if decoded is None:
            raise NotCheckedError("it is not UTF-8 text")
        return self._found(path, decoded.text)

    def _left_by_black(self, path: str) -> bool:
        """Return whether ``black .`` excludes a file, run beside its configuration; an empty match is none."""
        below = f"/{path.removeprefix(self.config.black_origin.removesuffix('pyproject.toml'))}"
        places = [*folders_to(below)[2:], below]
        try:
            found = [_searched(pattern, place) for pattern in self.config.black_exclude for place in places]
            return any(one and one[0] for one in found) or not _searched(self.config.black_include, below)
        except re.error as error:
            raise CheckError(f"black's exclude pattern is not a regular expression: {error}") from error

    def _left_by_flake8(self, path: str) -> bool:
        """Return whether ``flake8 .`` excludes a file, by its name, its path or a parent's."""
        project = self.context.project
        inside = PurePath(path)
        places = (*inside.parts, *(str(project / one) for one in (inside, *inside.parents)))
        for pattern in self.config.flake8_exclude:
            placed = os.path.normpath(project / pattern) if "/" in pattern or pattern == "." else pattern
            if fnmatch.filter(places, placed):
                return True
        return not any(fnmatch.fnmatch(f"./{path}", pattern) for pattern in self.config.flake8_files)

    def left_out(self, _path: str, /) -> tuple[tuple[str, str], ...]:
        """Return ignored flake8 configuration."""
        selects = [one for one in self.config.flake8 or () if one.startswith(("--select=", "--extend-select="))]
        codes = re.findall(r"[A-Za-z]+\d*", " ".join(one.partition("=")[2] for one in selects))
        known = self.context.known.get(("flake8 codes", self.config.flake8), ())
        missing = [code for code in codes if known and not any(code.startswith(k) or k.startswith(code) for k in known)]
        notes = self.config.flake8_notes
        if missing:
            notes += (f"no installed plugin reports {', '.join(missing)}, which the project selects",)
        return tuple(("flake8", reason) for reason in notes)

    def _found(self, path: str, text: str) -> tuple[Finding, ...]:
        arguments = self.config.flake8 or ()
        key = "flake8", self.flake8_tool, arguments, path, text
        request = {"op": "flake8", "text": text, "path": path, "arguments": arguments, "most": limits.FINDINGS_LISTED}
        return self.context.once(key, lambda: self._findings(path, self._asked(request)))

    def _findings(self, path: str, answer: Mapping[str, object]) -> tuple[Finding, ...]:
        if answer.get("skipped"):
            raise NotCheckedError(str(answer["skipped"]))
        found = answer["findings"]
        self.context.known["flake8 codes", self.config.flake8] = answer["codes"]
        if not isinstance(found, list):
            raise CheckError("flake8 answered something unknown.")
        more = not_listed(cast("Mapping[str, int]", answer.get("more") or {}))
        listed = [Diagnostic(code, text, (line, column), (line, 0)) for code, line, column, text in found]
        return tuple(one.as_finding(path, "flake8") for one in (*listed, *more))

    def _asked(self, request: Mapping[str, object]) -> Mapping[str, object]:
        answer = self.ask(request)
        if not answer.get("ok"):
            raise CheckError(f"{request['op']} failed: {answer.get('error')}")
        return answer


def _searched(pattern: str, place: str) -> re.Match[str] | None:
    return re.search(pattern, place, re.VERBOSE if "\n" in pattern else 0)
