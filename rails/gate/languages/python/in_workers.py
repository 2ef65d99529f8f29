"""black and flake8 in warm workers, cached; a flake8 that sees nothing is reported."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import decode_text
from rails.core.verdict import Finding
from rails.gate.languages.python.config import PythonSettings
from rails.gate.support.check import CheckContext
from rails.gate.support.diagnostics import Diagnostic, not_listed
from rails.gate.support.language import ExcludedError, NotCheckedError
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


class InWorkers:
    """A project's warm tools; ``None`` is not installed. ``ask`` asks the worker."""

    def __init__(
        self,
        context: CheckContext,
        config: PythonSettings,
        black: Tool | None,
        flake8: Tool | None,
        ask: Callable[[Mapping[str, object]], Mapping[str, object]],
    ) -> None:
        self.context, self.config, self._ask = context, config, ask
        self._black, self._flake8 = black, flake8

    def black(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted. Raises CheckError, NotCheckedError or ExcludedError."""
        if self._black is None:
            raise CheckError("black is not installed beside AI-Rails; install it with: pip install black")
        if any(_searches(pattern, f"/{path}") for pattern in self.config.black_exclude):
            raise ExcludedError
        decoded = decode_text(data)
        if decoded is None:
            raise NotCheckedError("it is not UTF-8 text")
        options = {**self.config.black, "requires-python": self.config.requires_python}
        request = {"op": "black", "text": decoded.text, "path": path, "options": options}
        key = ("black", self._black.version, repr(options), path.endswith(".pyi"), data)
        return self.context.once(key, lambda: decoded.encode(str(self._asked(request)["text"])))

    def flake8(self, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return flake8's findings. Raises CheckError, NotCheckedError or ExcludedError."""
        if self._flake8 is None:
            raise CheckError("flake8 is not installed beside AI-Rails; install it with: pip install flake8")
        if any(_excludes(pattern, path) for pattern in self.config.flake8_exclude):
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

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Return ignored flake8 configuration."""
        return tuple(("flake8", reason) for reason in self._missing())

    def _missing(self) -> tuple[str, ...]:
        wanted = [
            a.partition("=")[2] for a in self.config.flake8 or () if a.startswith(("--select=", "--extend-select="))
        ]
        codes = [code for part in wanted for code in re.split(r"[,\s]+", part) if code]
        known = self.context.known.get(("flake8 codes", self.config.flake8), ())
        missing = [code for code in codes if known and not any(code.startswith(k) or k.startswith(code) for k in known)]
        if not missing:
            return self.config.flake8_notes
        words = f"no installed plugin reports {', '.join(missing)}, which the project selects"
        return (*self.config.flake8_notes, words)

    def _found(self, path: str, text: str) -> tuple[Finding, ...]:
        arguments = self.config.flake8 or ()
        key = "flake8", self._flake8, arguments, path, text
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
        answer = self._ask(request)
        if not answer.get("ok"):
            raise CheckError(f"{request['op']} failed: {answer.get('error')}")
        return answer


def _searches(pattern: str, path: str) -> bool:
    """Match black's exclude pattern; black makes multi-line ones verbose."""
    try:
        return bool(re.search(pattern, path, re.VERBOSE if "\n" in pattern else 0))
    except re.error as error:
        raise CheckError(f"black's exclude pattern is not a regular expression: {error}") from error


def _excludes(pattern: str, path: str) -> bool:
    clean = pattern.strip().removeprefix("./").rstrip("/")
    parts = path.split("/")
    above = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    return any(fnmatch.fnmatch(text, clean) for text in (*above, *parts))
