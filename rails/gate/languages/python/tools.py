"""ruff, black and flake8 behind one interface, with cached and proven answers.

A linter prints "no findings" for a clean file and for one that it skips. So a canary is linted and formatted in each
file's place (one for all files with the same configuration); if a tool ignores it, the file is "not checked".
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.verdict import Finding
from rails.gate.languages.python import config as settings
from rails.gate.languages.python import own_tools, syntax
from rails.gate.languages.python.config import PythonSettings, RuffSettings
from rails.gate.languages.python.in_workers import BROKEN_CANARY, FORMAT_CANARY, LINT_CANARY, Black, Flake8
from rails.gate.languages.python.own_tools import OwnTool, own_tool
from rails.gate.languages.python.ruff import RuffCli
from rails.gate.support import suppressions
from rails.gate.support.check import CheckContext, ExcludedError, NotNeededError
from rails.gate.support.diagnostics import SYNTAX, Diagnostic
from rails.gate.support.fix_and_lint import Language
from rails.gate.support.warm_processes import PythonPool
from rails.processes import programs
from rails.processes.programs import Tool, ToolRun


class PythonTools(Language):
    """The tools for one project and one state of its configuration."""

    parser: str = "python"
    linter: str = "ruff"

    def __init__(self, context: CheckContext, config: PythonSettings, created: str = "") -> None:
        """``created``: a folder with empty files for the Python files that the change creates, or ""."""
        self.context = context
        self.created = created
        self.config = config
        self.also = "" if config.flake8 is None else "flake8"
        self.home = context.home or context.project
        self.own: dict[str, OwnTool] = {}
        self.used: set[str] = set()
        self.not_run = "to let the project's own run: ai-rails gate --trust"
        found = [programs.find_ruff()]
        found += [programs.find_module("black")] if config.formatter == "black" else []
        found += [programs.find_module("flake8")] if config.flake8 is not None else []
        self.tools = {tool.name: self._chosen(tool) for tool in found if tool}
        self.ruff_settings_seen: dict[str, RuffSettings] = {}
        self._linted: set[str] = set()

    def _chosen(self, ours: Tool) -> Tool:
        """Return the project's version of a tool if it differs and may run, else ours."""
        own = own_tool(self.context.project, ours.name)
        if own is None or own.version == ours.version:
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

    def _tool(self, name: str) -> Tool:
        if name not in self.tools:
            raise CheckError(f"{name} is not installed beside AI-Rails; install it with: pip install {name}")
        return self.tools[name]

    @cached_property
    def own_pool(self) -> PythonPool:
        """The process of the project's own Python."""
        resources = self.context.resources
        if "own tools" not in resources:
            resources["own tools"] = own_tools.workers(self.context.project, self.home)
        own: PythonPool = resources["own tools"]
        return own

    def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Return the answer of a worker, the project's own if it may run."""
        pool = self.own_pool if request["op"] in self.used else self.context.pool
        return pool.ask(request)

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
        ours = RuffSettings(False, (("target-version", f"py3{sys.version_info.minor}"),))
        return any(found.rule == SYNTAX for found in self.ruff.lint("newer.py", data, ours))

    def _read_by_ruff(self, path: str, data: bytes) -> bool:
        try:
            return not any(found.rule == SYNTAX for found in self.lint(path, data))
        except CheckError:
            return False

    # -- ruff -------------------------------------------------------------------------------------

    @cached_property
    def ruff(self) -> RuffCli:
        """The ruff to ask. Raises CheckError when it isn't installed."""
        ask = self._by_own if "ruff" in self.used else programs.run_tool
        return RuffCli(self._tool("ruff"), self.context.project, ask)

    def _by_own(self, argv: list[str], *, data: bytes) -> ToolRun:
        answer = self.own_pool.ask({"op": "run", "argv": argv, "data": data.decode("latin-1")})
        out, err = (answer[key].encode("latin-1") for key in ("out", "err"))
        return ToolRun(answer["code"], out, err)

    def ruff_settings(self, path: str) -> RuffSettings:
        """Ruff's settings for ``path``."""
        folder = path.rpartition("/")[0]
        if folder not in self.ruff_settings_seen:
            self.ruff_settings_seen[folder] = settings.ruff_for(self.context.project, path, self.config, self.created)
        return self.ruff_settings_seen[folder]

    def lint(self, path: str, data: bytes) -> tuple[Diagnostic, ...]:
        """Return ruff's findings in ``data``. Raises CheckError."""
        how = self.ruff_settings(path)
        canary = how.canary_of(path)
        if canary not in self._linted:
            self._must_be_linted(canary, how)
            self._linted.add(canary)
        return self._looked(path, data, how)

    def _must_be_linted(self, path: str, how: RuffSettings) -> None:
        """Raise CheckError unless ruff finds what is wrong with a canary in the file's place."""
        if self._breaks_rules(path, how):
            return
        if not self._looked(path, BROKEN_CANARY, how):
            raise self._excluded(how)
        if self._breaks_rules(str(PurePath(how.origin).with_name("canary.py")), how):  # beside the configuration
            raise ExcludedError
        raise CheckError("the project's configuration selects no ruff rule for this file")

    def _breaks_rules(self, path: str, how: RuffSettings) -> bool:
        """Return whether a selected rule reports a canary; syntax errors have none."""
        return any(found.rule != SYNTAX for found in self._looked(path, LINT_CANARY, how))

    def _looked(self, path: str, data: bytes, how: RuffSettings) -> tuple[Diagnostic, ...]:
        key = "ruff", self.ruff.tool.version, how, path, data
        return self.context.once(key, lambda: self._asked_ruff(path, data, how))

    def _asked_ruff(self, path: str, data: bytes, how: RuffSettings) -> tuple[Diagnostic, ...]:
        """Ask ruff; of many syntax errors only the first is reported, and the project's own ruff writes nothing."""
        found = self.ruff.lint(path, data, how)
        broken = [one for one in found if one.rule == SYNTAX][:1]
        listed = (one for one in found if one.rule != SYNTAX or one in broken)
        return tuple(replace(one, safe=False) if "ruff" in self.used else one for one in listed)

    def _excluded(self, how: RuffSettings) -> CheckError:
        """Return why ruff does not look at a file: the configuration excludes it, if ruff works."""
        if how.project and self._looked("canary.py", BROKEN_CANARY, RuffSettings(False)):
            return ExcludedError()
        return CheckError("ruff does not look at this file")

    # -- formatting -------------------------------------------------------------------------------

    @property
    def formatter_name(self) -> str:
        """The formatter as reports call it."""
        names = {"ruff": "ruff format", "undecided": "ruff format", "black": "black"}
        return names.get(self.config.formatter, "format")

    @cached_property
    def other_format(self) -> str:
        """Return both versions of the formatter, ours and the project's, if they format differently; else ""."""
        name = self.formatter_name.partition(" ")[0]
        own = self.own.get(name)
        if own is None or own.formats_like(self.tools[name].version):
            return ""
        words = f"the project has {own} and AI-Rails {self.tools[name].version}: differences are noted, not fixed"
        return f"{words}; {self.not_run}" if own.is_installed else words

    def about(self, name: str) -> tuple[str, str, str]:
        """Return a tool's version, where its rules are from (and its other version, if any), and its command."""
        if name == "python":
            return sys.version.split()[0], "", ""
        tool = self.tools.get(name.partition(" ")[0])
        if tool is None:
            return "", "", ""
        rules = ", ".join(sorted({how.origin for how in self.ruff_settings_seen.values()}))
        flake8 = self.config.flake8.origin if self.config.flake8 else ""
        origin = {"black": self.config.black.origin, "flake8": flake8}.get(name, rules)
        if tool.name in self.used:
            origin = f"{origin}; by {self.own[tool.name]}, AI-Rails has {programs.version_of(tool.name)}"
        elif tool.name in self.own:
            origin = f"{origin}; the project has {self.own[tool.name]}"
        verb = {"ruff": "check ", "ruff format": "format "}.get(name, "")
        return tool.version, origin, f"{' '.join(tool.argv)} {verb}-"

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted. Raises CheckError, also NotNeededError."""
        if not self.config.formatter:
            raise NotNeededError
        if self.config.formatter == "black":
            black = Black(self._tool("black"), self.context, self._ask, self.config.black)
            formatted = black.format(path, data)
        else:
            formatted = self._formatted_by_ruff(path, data)
        if self.used - {"flake8"} and not syntax.same_program(data, formatted):
            raise NotNeededError("the project's own formatter changed more than layout, so its result was not used")
        return formatted

    def _formatted_by_ruff(self, path: str, data: bytes) -> bytes:
        how = self.ruff_settings(path)
        if self._ruff_format(how.canary_of(path), FORMAT_CANARY, how) == FORMAT_CANARY:
            raise self._excluded(how)
        return self._ruff_format(path, data, how)

    def _ruff_format(self, path: str, data: bytes, how: RuffSettings) -> bytes:
        key = "ruff format", self.ruff.tool.version, how, path, data
        return self.context.once(key, lambda: self.ruff.format(path, data, how))

    # -- flake8 -----------------------------------------------------------------------------------

    def look_also(self, path: str, data: bytes, /) -> tuple[Finding, ...]:
        """Return flake8's findings in ``data``. Raises CheckError."""
        if syntax.error_in(path, data):
            version = f"{sys.version_info[0]}.{sys.version_info[1]}"
            raise CheckError(f"flake8 runs on Python {version}, which cannot read it")
        return self._flake8.find(path, data) if self._flake8 else ()

    def left_out(self, _path: str, /) -> tuple[tuple[str, str], ...]:
        """Return ignored flake8 configuration."""
        notes = self._flake8.notes() if "flake8" in self.tools and self._flake8 else ()
        return tuple(("flake8", reason) for reason in notes)

    @cached_property
    def _flake8(self) -> Flake8 | None:
        config = self.config.flake8
        return Flake8(self._tool("flake8"), self.context, self._ask, config) if config else None
