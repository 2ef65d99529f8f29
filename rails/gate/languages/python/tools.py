"""ruff, black and flake8 behind one interface, with cached and proven answers.

A linter prints "no findings" for a clean file and for one that it skips. So a canary is linted and formatted in each
file's place (one for all files with the same configuration); if a tool ignores it, the file is "not checked".
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePath

from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.verdict import Finding
from rails.gate.languages.python import config as settings
from rails.gate.languages.python import own_tools, syntax
from rails.gate.languages.python.config import PythonSettings, RuffSettings
from rails.gate.languages.python.in_workers import BROKEN_CANARY, FORMAT_CANARY, LINT_CANARY, InWorkers
from rails.gate.languages.python.own_tools import OwnTool, own_tool
from rails.gate.languages.python.ruff import RuffCli
from rails.gate.support import suppressions
from rails.gate.support.check import CheckContext
from rails.gate.support.diagnostics import SYNTAX, Diagnostic
from rails.gate.support.fix_and_lint import ExcludedError, NotCheckedError, NotNeededError
from rails.gate.support.warm_processes import PythonPool
from rails.processes import programs
from rails.processes.programs import Tool, ToolRun


class PythonTools(InWorkers):
    """The tools for one project and one state of its configuration."""

    parser: str = "python"
    linter: str = "ruff"

    def __init__(self, context: CheckContext, config: PythonSettings, created: str = "") -> None:
        """``created``: a folder with empty files for the Python files that the change creates, or ""."""
        self.context = context
        self.created = created
        self.config = config
        self.home = context.home or context.project
        self.own: dict[str, OwnTool] = {}
        self.used: set[str] = set()
        self.not_run = "to let the project's own run: ai-rails gate --trust"
        self.ruff_tool = self._chosen(programs.find_ruff())
        self.black_tool = self._chosen(programs.find_module("black")) if config.formatter == "black" else None
        self.flake8_tool = self._chosen(programs.find_module("flake8")) if config.flake8 is not None else None
        self.ruff_settings_seen: dict[str, RuffSettings] = {}
        self._linted: set[str] = set()

    def _chosen(self, ours: Tool | None) -> Tool | None:
        """Return the project's version of a tool if it differs and may run, else ours."""
        own = own_tool(self.context.project, ours.name) if ours else None
        if ours is None or own is None or own.version == ours.version:
            return ours
        self.own[own.name] = own
        if not own.is_installed or not own_tools.may_run(self.home):
            return ours
        try:
            self.own_pool.ask({"op": "ping"})
        except CheckError as error:
            self.not_run = f"which cannot be run here: {error}"
            return ours
        self.used.add(own.name)
        return Tool(own.name, (str(self.home / own.place / "bin" / own.name),), own.version)

    @cached_property
    def own_pool(self) -> PythonPool:
        """The process of the project's own Python."""
        kept = self.context.resources.get("own tools")
        if isinstance(kept, PythonPool):
            return kept
        made = self.context.resources["own tools"] = own_tools.workers(self.context.project, self.home)
        return made

    def _by_own(self, argv: list[str], data: bytes) -> ToolRun:
        answer = self.own_pool.ask({"op": "run", "argv": argv, "data": data.decode("latin-1")})
        if not answer.get("ok"):
            raise CheckError(f"{argv[0]} could not be run: {answer.get('error')}")
        code, out, err = (answer[key] for key in ("code", "out", "err"))
        return ToolRun(int(str(code)), str(out).encode("latin-1"), str(err).encode("latin-1"))

    # -- parsing ----------------------------------------------------------------------------------

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return what keeps the file from compiling, in CPython's words.

        Syntax newer than the Python that runs AI-Rails is left to ruff, which knows the project's Python.
        """
        if (misread := syntax.encoding_error(path, data)) is not None:
            return misread
        found = syntax.error_in(path, data)
        is_newer = found is not None and self._read_by_ruff(path, data) and self._too_new(data)
        return None if is_newer else found

    def excused(self, data: bytes) -> bool:
        """Whether a comment excuses the whole file from ruff."""
        return suppressions.excuses_whole_file(data)

    def same_program(self, _path: str, one: str, other: str) -> bool:
        """Return whether only their layout differs, by our own parser."""
        return syntax.same_program(one.encode(), other.encode())

    def _too_new(self, data: bytes) -> bool:
        """Return whether ruff refuses a text for the Python that runs AI-Rails."""
        ours = RuffSettings(False, (("target-version", f"py3{sys.version_info.minor}"),))
        return any(found.rule == SYNTAX for found in self.ruff.lint("newer.py", data, ours))

    def _read_by_ruff(self, path: str, data: bytes) -> bool:
        try:
            return not any(found.rule == SYNTAX for found in self.lint(path, data))
        except (CheckError, NotCheckedError):
            return False

    # -- ruff -------------------------------------------------------------------------------------

    @cached_property
    def ruff(self) -> RuffCli:
        """The ruff to ask. Raises CheckError when it isn't installed."""
        if self.ruff_tool is None:
            raise CheckError("ruff is not installed beside AI-Rails; install it with: pip install ruff")
        if "ruff" in self.used:
            return RuffCli(self.ruff_tool, self.context.project, self._by_own)
        return RuffCli(self.ruff_tool, self.context.project)

    def ruff_settings(self, path: str) -> RuffSettings:
        """Ruff's settings for ``path``."""
        folder = path.rpartition("/")[0]
        if folder not in self.ruff_settings_seen:
            self.ruff_settings_seen[folder] = settings.ruff_for(self.context.project, path, self.config, self.created)
        return self.ruff_settings_seen[folder]

    def lint(self, path: str, data: bytes) -> tuple[Diagnostic, ...]:
        """Return ruff's findings in ``data``. Raises CheckError or NotCheckedError."""
        how = self.ruff_settings(path)
        canary = how.canary_of(path)
        if canary not in self._linted:
            self._must_be_linted(canary, how)
            self._linted.add(canary)
        return self._looked(path, data, how)

    def _must_be_linted(self, path: str, how: RuffSettings) -> None:
        """Raise NotCheckedError unless ruff finds what is wrong with a canary in the file's place."""
        canary = self._looked(path, LINT_CANARY, how)
        if not canary and not self._looked(path, BROKEN_CANARY, how):
            raise self._excluded(how)
        if not _has_rule(canary):
            beside = str(PurePath(how.origin).with_name("canary.py"))  # the configuration in force, not the root's
            elsewhere = self._looked(beside, LINT_CANARY, how)
            if _has_rule(elsewhere):
                raise ExcludedError
            raise NotCheckedError("the project's configuration selects no ruff rule for this file")

    def _looked(self, path: str, data: bytes, how: RuffSettings) -> tuple[Diagnostic, ...]:
        key = "ruff", self.ruff.tool.version, how, path, data
        return self.context.once(key, lambda: self._asked_ruff(path, data, how))

    def _asked_ruff(self, path: str, data: bytes, how: RuffSettings) -> tuple[Diagnostic, ...]:
        """Ask ruff; of many syntax errors only the first is reported, and the project's own ruff writes nothing."""
        found = self.ruff.lint(path, data, how)
        broken = [one for one in found if one.rule == SYNTAX][:1]
        listed = (one for one in found if one.rule != SYNTAX or one in broken)
        return tuple(replace(one, safe=False) if "ruff" in self.used else one for one in listed)

    def _excluded(self, how: RuffSettings) -> NotCheckedError:
        """Return why the project's configuration excludes a file from ruff."""
        alone = RuffSettings(False)
        key = ("ruff canary", self.ruff.tool)
        if how.project and self.context.once(key, lambda: self.ruff.lint("canary.py", BROKEN_CANARY, alone)):
            return ExcludedError()
        return NotCheckedError("ruff does not look at this file")

    # -- formatting -------------------------------------------------------------------------------

    @property
    def formatter_name(self) -> str:
        """The formatter as reports call it."""
        names = {"ruff": "ruff format", "undecided": "ruff format", "black": "black"}
        return names.get(self.config.formatter, "format")

    @cached_property
    def other_format(self) -> str:
        """Return both versions of the formatter, ours and the project's, if they format differently; else ""."""
        tool = self.black_tool if self.config.formatter == "black" else self.ruff_tool
        own = self.own.get(tool.name) if tool and self.config.formatter else None
        if tool is None or own is None or own.formats_like(tool.version):
            return ""
        words = f"the project has {own} and AI-Rails {tool.version}: differences are noted, not fixed"
        return f"{words}; {self.not_run}" if own.is_installed else words

    def about(self, name: str) -> tuple[str, str, str]:
        """Return a tool's version, where its rules are from (and its other version, if any), and its command."""
        if name == "python":
            return sys.version.split()[0], "", ""
        rules = ", ".join(sorted({how.origin for how in self.ruff_settings_seen.values()}))
        tools = {
            "ruff": (self.ruff_tool, " check -", rules),
            "ruff format": (self.ruff_tool, " format -", rules),
            "black": (self.black_tool, " -", self.config.black_origin),
            "flake8": (self.flake8_tool, " -", self.config.flake8_origin),
        }
        tool, does, origin = tools.get(name, (None, "", ""))
        if tool is None:
            return "", "", ""
        if tool.name in self.used:
            origin = f"{origin}; by {self.own[tool.name]}, AI-Rails has {programs.version_of(tool.name)}"
        elif tool.name in self.own:
            origin = f"{origin}; the project has {self.own[tool.name]}"
        return tool.version, origin, f"{' '.join(tool.argv)}{does}"

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted. Raises CheckError, NotCheckedError or NotNeededError."""
        formatted = self._formatted(path, data)
        if self.used - {"flake8"} and not syntax.same_program(data, formatted):
            raise NotNeededError("the project's own formatter changed more than layout, so its result was not used")
        return formatted

    def _formatted(self, path: str, data: bytes) -> bytes:
        if self.config.formatter == "black":
            return self.black(path, data)
        if not self.config.formatter:
            raise NotNeededError
        how = self.ruff_settings(path)
        if self._ruff_format(how.canary_of(path), FORMAT_CANARY) == FORMAT_CANARY:
            raise self._excluded(how)
        return self._ruff_format(path, data)

    def _ruff_format(self, path: str, data: bytes) -> bytes:
        how = self.ruff_settings(path)
        key = "ruff format", self.ruff.tool.version, how, path, data
        return self.context.once(key, lambda: self.ruff.format(path, data, how))

    # -- what the Python workers run ----------------------------------------------------------------

    def ask(self, request: Mapping[str, object]) -> Mapping[str, object]:
        """Return the answer of a worker, the project's own if it may run."""
        pool = self.own_pool if request["op"] in self.used else self.context.pool
        return pool.ask(request)

    def others(self) -> tuple[str, ...]:
        """flake8, when the project wants it."""
        return () if self.config.flake8 is None else ("flake8",)

    def other(self, name: str, path: str, data: bytes) -> tuple[Finding, ...]:
        """Return flake8's findings in ``data``. Raises CheckError or NotCheckedError."""
        if syntax.error_in(path, data):
            raise NotCheckedError(
                f"{name} runs on Python {sys.version_info[0]}.{sys.version_info[1]}, which cannot read it"
            )
        return self.flake8(path, data)


def _has_rule(found: Sequence[Diagnostic]) -> bool:
    """Return whether a selected rule reported; syntax errors have none."""
    return any(one.rule != SYNTAX for one in found)
