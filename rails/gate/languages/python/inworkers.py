"""black and flake8 in the Python workers: each answer is kept, and nothing is clean that was not looked at."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from rails.core.errors import CheckError
from rails.core.text import decode
from rails.core.verdict import Finding
from rails.gate.languages.python import canaries
from rails.gate.languages.python.config import PythonSettings
from rails.gate.support.advice import REMEDIES
from rails.gate.support.check import Desk
from rails.gate.support.language import ExcludedError, NotCheckedError
from rails.processes.programs import Tool

if TYPE_CHECKING:
    from rails.core.tool_request import Json

T = TypeVar("T")


class InWorkers:
    """The tools that are kept warm for one project; ``None`` is one that is not installed."""

    def __init__(self, desk: Desk, config: PythonSettings, black: Tool | None, flake8: Tool | None) -> None:
        self.desk, self.config = desk, config
        self._black, self._flake8 = black, flake8

    def black(self, path: str, data: bytes) -> bytes:
        """Return ``data`` as black formats it. Raises CheckError, NotCheckedError or ExcludedError."""
        if self._black is None:
            raise CheckError("black is not installed beside AI-Rails; install it with: pip install black")
        if any(_searches(pattern, f"/{path}") for pattern in self.config.black_exclude):
            raise ExcludedError
        decoded = decode(data)
        if decoded is None:
            raise NotCheckedError("it is not UTF-8 text")
        options = {**self.config.black, "requires-python": self.config.requires_python}
        request: dict[str, Json] = {"op": "black", "text": decoded.text, "path": path, "options": options}
        key = ("black", self._black.version, repr(options), path.endswith(".pyi"), data)
        return self._slowly(key, lambda: decoded.encode(str(self._asked(request)["text"])))

    def flake8(self, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return flake8's findings in ``data``. Raises CheckError, NotCheckedError or ExcludedError."""
        if self._flake8 is None:
            raise CheckError("flake8 is not installed beside AI-Rails; install it with: pip install flake8")
        if any(_excludes(pattern, path) for pattern in self.config.flake8_exclude):
            raise ExcludedError
        if not self._found(path, canaries.LINT_CANARY.decode()):
            raise NotCheckedError("the project's configuration selects no flake8 code for this file")
        decoded = decode(data)
        if decoded is None:
            raise NotCheckedError("it is not UTF-8 text")
        return self._found(path, decoded.text)

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Say what of the project's flake8 configuration cannot be honoured here, and why."""
        return tuple(("flake8", reason) for reason in self._missing())

    def _missing(self) -> tuple[str, ...]:
        wanted = [
            a.partition("=")[2] for a in self.config.flake8 or () if a.startswith(("--select=", "--extend-select="))
        ]
        codes = [code for part in wanted for code in re.split(r"[,\s]+", part) if code]
        known = self.desk.known.get(("flake8 codes", self.config.flake8), ())
        missing = [code for code in codes if known and not any(code.startswith(k) or k.startswith(code) for k in known)]
        if not missing:
            return self.config.flake8_notes
        words = f"no installed plugin reports {', '.join(missing)}, which the project selects"
        return (*self.config.flake8_notes, words)

    def _found(self, path: str, text: str) -> tuple[Finding, ...]:
        arguments = list(self.config.flake8 or ())
        request: dict[str, Json] = {
            "op": "flake8",
            "text": text,
            "path": path,
            "arguments": cast("list[Json]", arguments),
        }
        version = self._flake8.version if self._flake8 else ""
        key = ("flake8", version, tuple(arguments), path, text)
        return self._slowly(key, lambda: self._looked(path, request))

    def _looked(self, path: str, request: Mapping[str, Json]) -> tuple[Finding, ...]:
        answer = self._asked(request)
        if answer.get("skipped"):
            raise NotCheckedError(str(answer["skipped"]))
        found = answer["findings"]
        self.desk.known["flake8 codes", self.config.flake8] = answer["codes"]
        if not isinstance(found, list):
            raise CheckError("flake8 answered something unknown.")
        return tuple(
            Finding(path, line, column, code, text, "flake8", end_line=line, remedy=REMEDIES.get(code, ""))
            for code, line, column, text in found
        )

    def _slowly(self, key: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return a known result, or wait for it as long as it matters."""
        if key in self.desk.known:
            return self.desk.once(key, work)
        return self.desk.patience.wait_for(lambda: self.desk.once(key, work))

    def _asked(self, request: Mapping[str, Json]) -> Mapping[str, object]:
        answer = self.desk.pool.ask(request)
        if not answer.get("ok"):
            raise CheckError(f"{request['op']} failed: {answer.get('error')}")
        return answer


def _searches(pattern: str, path: str) -> bool:
    """Whether black's exclude pattern matches; black writes them verbose when they span lines."""
    try:
        return bool(re.search(pattern, path, re.VERBOSE if "\n" in pattern else 0))
    except re.error as error:
        raise CheckError(f"black's exclude pattern is not a regular expression: {error}") from error


def _excludes(pattern: str, path: str) -> bool:
    """Whether flake8's exclude pattern matches the path, one of its folders or one of its names."""
    clean = pattern.strip().removeprefix("./").rstrip("/")
    parts = path.split("/")
    above = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    return any(fnmatch.fnmatch(text, clean) for text in (*above, *parts))
