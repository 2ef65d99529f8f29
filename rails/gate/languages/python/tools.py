"""ruff, black and flake8 behind one interface, with cached and proven answers.

A linter prints "no findings" for a clean file and for one that it skips. So a canary is linted and formatted in each
file's place (one for all files with the same configuration); if a tool ignores it, the file is "not checked".
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final

from msgspec.structs import replace

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.verdict import Finding
from rails.gate.languages.python import config as settings
from rails.gate.languages.python import own_tools, syntax
from rails.gate.languages.python.config import RuffSettings
from rails.gate.languages.python.own_tools import OwnTool, own_tool
from rails.gate.languages.python.ruff import RuffCli
from rails.gate.support import suppressions
from rails.gate.support.check import CheckContext, ExcludedError, NotNeededError
from rails.gate.support.diagnostics import SYNTAX, Diagnostic, not_listed
from rails.gate.support.fix_and_lint import Language
from rails.gate.support.warm_processes import PythonPool
from rails.processes import programs
from rails.processes.programs import Tool, ToolRun

#: Breaks at least one rule of nearly every family a project can select.
_LINT_CANARY: Final = """import sys,os
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
_FORMAT_CANARY: Final = "x = {  'a':1 }\n"
#: ruff reports this whatever rules are selected, unless it does not look at the file.
_BROKEN_CANARY: Final = "x = (\n"


class PythonTools(Language):
    """The tools for one project and one state of its configuration."""

    parser: str = "python"
    linter: str = "ruff"

    def __init__(self, context: CheckContext, paths: Sequence[str]) -> None:
        self.context = context
        self.config = settings.read_python_settings(context.project)
        self.also = "" if self.config.flake8 is None else "flake8"
        self.near = {
            path: settings.formatted_by_the_nearest(
                context.project,
                path,
                self.config,
            )
            for path in paths
        }
        self.home = context.home or context.project
        self.own: dict[str, OwnTool] = {}
        self.used: set[str] = set()
        self.not_run = "to let the project's own run: ai-rails gate --trust"
        wanted = {self.also, *map(self.formatter, paths)}.intersection(("black", "flake8"))
        found = [programs.find_ruff(), *map(programs.find_module, sorted(wanted))]
        self.tools = {tool.name: self._chosen(tool) for tool in found if tool}
        self.linted: set[str] = set()
        self.seen: dict[str, RuffSettings] = {}
        self.unknown_codes: list[str] = []

    # -- whose tools ------------------------------------------------------------------------------

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
        return Tool(
            own.name,
            (str(self.home / own.place / "bin" / own.name),),
            own.version,
        )

    def formatter(self, path: str, /) -> str:
        """Return the formatter as reports call it."""
        return {"black": "black", "": "format"}.get(
            self.near[path].formatter,
            "ruff format",
        )

    def other_format(self, path: str, /) -> str:
        """Return both versions of the formatter, ours and the project's, if they format differently; else ""."""
        name = self.formatter(path).partition(" ")[0]
        own = self.own.get(name)
        if own is None or own.formats_like(self.tools[name].version):
            return ""
        words = f"the project has {own} and AI-Rails {self.tools[name].version}: differences are noted, not fixed"
        return f"{words}; {self.not_run}" if own.is_installed else words

    def _tool(self, name: str) -> Tool:
        if name not in self.tools:
            raise CheckError(f"{name} is not installed beside AI-Rails; install it with: pip install {name}")
        return self.tools[name]

    @cached_property
    def own_pool(self) -> PythonPool:
        """The process of the project's own Python."""
        fresh = own_tools.workers(self.context.project, self.home)
        own: PythonPool = self.context.resources.setdefault("own tools", fresh)
        return own

    def about(self, name: str) -> tuple[str, str, str]:
        """Return a tool's version, where its rules are from (and its other version, if any), and its command."""
        if name == "python":
            return sys.version.split()[0], "", ""
        first = name.partition(" ")[0]
        tool = self.tools.get(first)
        if tool is None:
            return "", "", ""
        origins = {how.origin for how in self.seen.values()}
        if first == "black":
            origins = {near.black.origin for near in self.near.values()}
        elif first == "flake8" and self.config.flake8:
            origins = {self.config.flake8.origin}
        origin = ", ".join(sorted(origins))
        if first in self.own:
            origin += f"; the project has {self.own[first]}, AI-Rails has {programs.version_of(first)}"
        verb = {"ruff": "check ", "ruff format": "format "}.get(name, "")
        return tool.version, origin, f"{' '.join(tool.argv)} {verb}-"

    # -- parsing ----------------------------------------------------------------------------------

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return what keeps the file from compiling, in CPython's words.

        Syntax newer than the Python that runs AI-Rails is left to ruff, which knows the project's Python.
        """
        if (misread := syntax.encoding_error(path, data)) is not None:
            return misread
        found = syntax.error_in(path, data)
        return None if found and self._is_newer(path, data.decode("utf-8", "replace")) else found

    def _is_newer(self, path: str, text: str) -> bool:
        """Return whether ruff reads a text with the project's version of Python, and not with ours."""
        ours = RuffSettings(
            False,
            (("target-version", f"py3{sys.version_info.minor}"),),
        )
        try:
            read = not any(found.rule == SYNTAX for found in self.lint(path, text))
            return read and any(found.rule == SYNTAX for found in self.ruff.lint("newer.py", text, ours))
        except CheckError:
            return False

    def excused(self, text: str) -> bool:
        """Whether a comment excuses the whole file from ruff."""
        return suppressions.excuses_whole_file(text.encode())

    # -- ruff -------------------------------------------------------------------------------------

    @cached_property
    def ruff(self) -> RuffCli:
        """The ruff to ask. Raises CheckError when it isn't installed."""
        ask = self._by_own if "ruff" in self.used else programs.run_tool
        return RuffCli(self._tool("ruff"), self.context.project, ask)

    def _by_own(self, argv: list[str], *, data: bytes) -> ToolRun:
        answer = self.own_pool.ask({"op": "run", "argv": argv, "text": data.decode()})
        return ToolRun(
            answer["code"],
            answer["out"].encode(),
            answer["err"].encode(),
        )

    def ruff_settings(self, path: str) -> RuffSettings:
        """Ruff's settings for ``path``."""
        folder = path.rpartition("/")[0]
        if folder not in self.seen:
            self.seen[folder] = settings.ruff_for(
                self.context.project,
                path,
                self.config,
                self.context.created,
            )
        return self.seen[folder]

    def lint(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        """Return ruff's findings in ``text``. Raises CheckError."""
        how = self.ruff_settings(path)
        canary = how.canary_of(path)
        if canary not in self.linted and not self._breaks_rules(canary, how):
            if not self._looked(canary, _BROKEN_CANARY, how):
                raise self._excluded(how)
            if self._breaks_rules(
                str(PurePath(how.origin).with_name("canary.py")),
                how,
            ):  # beside the configuration
                raise ExcludedError
            raise CheckError("the project's configuration selects no ruff rule for this file")
        self.linted.add(canary)
        return self._looked(path, text, how)

    def _breaks_rules(self, path: str, how: RuffSettings) -> bool:
        """Return whether a selected rule reports a canary; syntax errors have none."""
        return any(found.rule != SYNTAX for found in self._looked(path, _LINT_CANARY, how))

    def _looked(self, path: str, text: str, how: RuffSettings) -> tuple[Diagnostic, ...]:
        """Ask ruff; of many syntax errors only the first is reported, and the project's own ruff writes nothing."""

        def look() -> tuple[Diagnostic, ...]:
            found = self.ruff.lint(path, text, how)
            first = next((one for one in found if one.rule == SYNTAX), None)
            listed = (one for one in found if one.rule != SYNTAX or one is first)
            return tuple(replace(one, safe=False) if "ruff" in self.used else one for one in listed)

        return self.context.once(
            ("ruff", self.ruff.tool.version, how, path, text),
            look,
        )

    def _excluded(self, how: RuffSettings) -> CheckError:
        """Return why ruff does not look at a file: the configuration excludes it, if ruff works."""
        if how.project and self._looked("canary.py", _BROKEN_CANARY, RuffSettings(False)):
            return ExcludedError()
        return CheckError("ruff does not look at this file")

    # -- formatting -------------------------------------------------------------------------------

    def format(self, path: str, text: str) -> str:
        """Return ``text`` formatted. Raises CheckError, also NotNeededError."""
        near = self.near[path]
        if not near.formatter:
            raise NotNeededError
        if near.formatter == "black":
            black = near.black
            below = path.removeprefix(black.origin.removesuffix("pyproject.toml"))
            formatted = str(
                self._in_worker(
                    "black",
                    below,
                    text,
                    options=black.options,
                )["text"]
            )
        else:
            how = self.ruff_settings(path)
            if self._ruff_format(how.canary_of(path), _FORMAT_CANARY, how) == _FORMAT_CANARY:
                raise self._excluded(how)
            formatted = self._ruff_format(path, text, how)
        if self.used - {"flake8"} and not syntax.same_program(text.encode(), formatted.encode()):
            raise NotNeededError("the project's own formatter changed more than layout, so its result was not used")
        return formatted

    def _ruff_format(self, path: str, text: str, how: RuffSettings) -> str:
        key = "ruff format", self.ruff.tool.version, how, path, text
        return self.context.once(
            key,
            lambda: self.ruff.format(path, text, how),
        )

    # -- in workers -------------------------------------------------------------------------------

    def _in_worker(self, name: str, path: str, text: str, **how: object) -> dict[str, Any]:
        """Return a tool's answer about a text. Raises CheckError, also ExcludedError."""
        tool = self._tool(name)
        pool = self.own_pool if name in self.used else self.context.pool
        request = {"op": name, "text": text, "path": path, **how}
        answer = self.context.once(
            (name, tool, repr(how), path, text),
            lambda: pool.ask(request),
        )
        if "excluded" in answer:
            raise ExcludedError
        return answer

    def look_also(self, path: str, text: str, /) -> tuple[Finding, ...]:
        """Return flake8's findings in ``text``. Raises CheckError, also ExcludedError."""
        if syntax.error_in(path, text.encode()):
            raise CheckError(f"flake8 runs on Python {sys.version.split()[0]}, which cannot read it")
        options = self.config.flake8.options if self.config.flake8 else {}

        def ask(path: str, text: str) -> dict[str, Any]:
            return self._in_worker("flake8", path, text, options=options, most=limits.FINDINGS_LISTED)

        answer = ask(path, text)
        # Only silence needs proof.
        if not answer["findings"] and not ask(path, _LINT_CANARY)["findings"]:
            if ask("canary.py", _LINT_CANARY)["findings"]:
                raise ExcludedError
            raise CheckError("the project's configuration selects no flake8 code for this file")
        self.unknown_codes = answer["unknown"]
        listed = [Diagnostic(code, text, (line, at), (line, 0)) for line, at, code, text in answer["findings"]]
        return tuple(one.as_finding(path, "flake8") for one in (*listed, *not_listed(answer["more"])))

    def left_out(self, _path: str, /) -> tuple[tuple[str, str], ...]:
        """Return ignored flake8 configuration."""
        notes = [*self.config.flake8.notes] if self.config.flake8 else []
        if self.unknown_codes:
            notes.append(f"no installed plugin reports {', '.join(self.unknown_codes)}, which the project selects")
        return tuple(("flake8", reason) for reason in notes)
