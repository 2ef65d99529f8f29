"""A session's contained commands: one layer over the project, one label, one yes.

A command sees what the last one left. Decided changes leave the layer; what git ignores stays until the session ends.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rails.core import limits
from rails.core.builtin_tools import RUN_COMMAND, RUN_TESTS, RUNS_TESTS
from rails.core.changes import ChangeSet
from rails.core.errors import CheckError, RailsError
from rails.core.events.base import Event
from rails.core.events.session import SandboxFound
from rails.core.restrictions import Restrictions
from rails.core.text import head_and_tail
from rails.core.tool_request import Json, ToolResult
from rails.tools.registry import Command, Definition, Mcp

if TYPE_CHECKING:
    from rails.sandbox.layer import Layer
    from rails.sandbox.values import Label, Result
    from rails.session.ask_user import Person
    from rails.tools.runners.command import ContainedCall

#: What is typed, word for word, where nothing contains a command.
SENTENCE: Final = "let commands run as me"
#: What a tool is called with.
Parameters = Mapping[str, Json]
_TOOLS: Final = (RUN_COMMAND.name, RUN_TESTS.name)
_SECONDS: Final = 120.0
_NO_TESTS: Final = (
    "Nothing says how this project is tested: there is no pytest configuration, no test script in package.json, no "
    "test target in a Makefile and no test_*.py. Nothing was run. Use run_command with the command that does it."
)


class ContainedRuns(Struct):
    """Runs commands for one session. ``label`` is found when first needed, and logged.

    ``tests_agreed``: a human's yes to tests of proposals (``None``: not asked). No command outlasts ``time_left``, in
    seconds.
    """

    project: Path
    publish: Callable[[Event], object] = lambda _: None
    human: Person | None = None
    found: Label | None = None
    unlocked: bool = False
    tests_agreed: bool | None = None
    time_left: Callable[[], float] = lambda: math.inf
    _layer: Layer | None = None
    _count: int = 0

    @property
    def label(self) -> Label:
        """The sandbox level here."""
        if self.found is None:
            from rails.sandbox import probe

            self.found = probe.label()
            self.publish(SandboxFound(self.found.level, str(self.found), self.found.why))
        return self.found

    def holds(self, definition: Definition | None) -> bool:
        """Return whether the sandbox has the tool's program."""
        transport = definition.transport if definition else None
        own = isinstance(transport, Command | Mcp) and transport.contained
        return own or (definition is not None and definition.tool_name in _TOOLS)

    def notes(self, definition: Definition | None) -> tuple[str, ...]:
        """Return a card's sandbox lines."""
        if definition is None or not self.holds(definition):
            return ()
        from rails.sandbox.places import told_on_card
        from rails.sandbox.values import NONE

        notes = []
        if definition.tool_name == RUN_TESTS.name:
            argv = self._tests_argv()
            notes = [
                f"It runs {self._shown(argv)}, with the arguments." if argv else "It runs nothing: no tests are known."
            ]
        if self.label.level == NONE:
            return (*notes, f"{self.label}.")
        if hosts := getattr(definition.transport, "network", ()):
            notes.append(f"It may reach {', '.join(hosts)}.")
        label = f"{self.label}. {told_on_card(self.project, self.label.level)}".strip()
        return (*notes, label, "What it changes is shown and asked about afterwards.")

    def _tests_argv(self) -> Sequence[str]:
        from rails.tools.project_tests import command_for_tests

        return command_for_tests(self.project)

    def _shown(self, argv: Sequence[str]) -> str:
        program = Path(argv[0])
        own = program.is_relative_to(self.project)
        return shlex.join((str(program.relative_to(self.project) if own else program.name), *argv[1:]))

    def refused(self, tool: str) -> str:
        """Return why a command may not even be asked about, or "".

        Uncontained, a human has to type a sentence once a session.
        """
        from rails.sandbox.values import NONE

        if tool not in _TOOLS or self.label.level != NONE or self.unlocked:
            return ""
        why = f"Commands are not contained here ({self.label.why}), so {tool} is off."
        if self.human is not None:
            from rails.session.ask_user import UserQuestion, ask

            lines = (
                f"── {tool}: NOT sandboxed ".ljust(78, "─"),
                f"  {self.label}.",
                f"  To allow it for this session, type: {SENTENCE}",
            )
            question = UserQuestion("uncontained", lines, {"n": ("no", "leave it off")}, "no", sentence=SENTENCE)
            self.unlocked = ask(self.human, self.publish, question).answer == SENTENCE
        return "" if self.unlocked else f"{why} Only the user can switch it on. Nothing was run."

    def runners(self) -> Mapping[str, Callable[[Parameters, Path], ToolResult]]:
        """Return the built-in tools' runners, for ``Registry.with_runners``."""
        return {RUN_COMMAND.name: self._command, RUN_TESTS.name: self._tests}

    def run(self, argv: Sequence[str], seconds: float, folder: str = ".", *, persons: bool = False) -> Result:
        """Run a command in the layer. Raises CheckError when not containable or it changed too much.

        A person's has our standard input unless that is a terminal.
        """
        self._count += 1
        keep = self._opened().output / f"{self._count}.txt"
        inherited = persons and not os.isatty(0)
        result = self._run(argv, seconds, {"folder": folder}, together=not persons, keep=keep, inherited=inherited)
        if result.timed_out:
            self.settle()
        return result

    def _run(self, argv: Sequence[str], seconds: float, view: Mapping[str, Any], **more: Any) -> Result:  # noqa: ANN401
        from rails.sandbox.run import run
        from rails.sandbox.values import SandboxLimits, SandboxView

        shown = SandboxView(self.project, self._opened(), **view)
        bounds = SandboxLimits(seconds=min(seconds, self.time_left()))
        try:
            return run(argv, shown, limits=bounds, label=self.label, **more)
        except BaseException:  # a person's stop, too: what it changed is not the next command's
            self.settle()
            raise

    def finds_tests(self) -> bool:
        """Return whether tests can run contained."""
        from rails.sandbox.values import NONE

        return bool(self._tests_argv()) and self.label.level != NONE

    def test(self, changes: ChangeSet) -> Result | None:
        """Run the tests with ``changes`` in their own layer; ``None`` without any. Raises CheckError."""
        from rails.sandbox.run import layer_for, run
        from rails.sandbox.values import SandboxLimits, SandboxView
        from rails.tools.project_tests import found_none

        if not self.finds_tests():
            return None
        argv = self._tests_argv()
        bounds = SandboxLimits(seconds=min(_SECONDS, self.time_left()))
        with layer_for(self.project, self.label, restrictions=Restrictions.of(self.project)) as layer:
            layer.put({str(change.path): change.after for change in changes.changes})
            view = SandboxView(self.project, layer)
            ran = run(argv, view, limits=bounds, label=self.label, together=True, collect=False)
        return None if found_none(ran.exit_code, ran.out) else ran

    def contain(self, call: ContainedCall) -> Result:
        """Run a definition's command in the layer. Raises RailsError."""
        view = {"environment": call.environment}
        return self._run(call.argv, call.seconds, view, network=call.network, stdin=call.stdin)

    def settle(self) -> None:
        """Forget decided proposals."""
        try:
            if self._layer:
                self._layer.drop()
        except (RailsError, OSError, RecursionError):  # it left what nobody can look through: away with all of it
            self.close()

    def close(self) -> None:
        """Remove the layer."""
        if self._layer:
            self._layer.close()
        self._layer = None

    def _opened(self) -> Layer:
        now = Restrictions.of(self.project)
        if self._layer is None:
            from rails.git import revisions
            from rails.sandbox.run import layer_for

            self._layer = layer_for(self.project, self.label, lambda names: revisions.ignored(self.project, names), now)
        self._layer.restrictions = now
        return self._layer

    def _command(self, parameters: Parameters, _project: Path) -> ToolResult:
        from rails.sandbox.places import shell_line

        command = parameters.get("command")
        argv = shell_line(command if isinstance(command, str) else [str(word) for word in _list(command)])
        return self._answer(RUN_COMMAND.name, argv, parameters)

    def _tests(self, parameters: Parameters, _project: Path) -> ToolResult:
        argv = self._tests_argv()
        if not argv:
            return ToolResult(False, _NO_TESTS)
        more = [str(word) for word in _list(parameters.get("arguments"))]
        between = ("--",) if more and argv[0] == "npm" else ()
        return self._answer(RUN_TESTS.name, (*argv, *between, *more), parameters)

    def _answer(self, tool: str, argv: Sequence[str], parameters: Parameters) -> ToolResult:
        seconds = float(str(parameters.get("timeout", _SECONDS)))
        folder = str(parameters.get("folder", "."))
        try:
            result = self.run(argv, seconds, folder)
        except CheckError as error:
            return ToolResult(False, f"{tool}: {error}")
        return ToolResult(
            result.ok,
            "\n".join(self._words(tool, argv, result)),
            facts={"exit_code": result.exit_code, "tests": bool(RUNS_TESTS.search(shlex.join(argv)))},
            changes=result.changes,
        )

    def _words(self, tool: str, argv: Sequence[str], result: Result) -> list[str]:
        ran = f" ({self._shown(argv)})" if tool == RUN_TESTS.name else ""
        lines = [f"{tool}{ran}: {result.status}"]
        shown, left_out = head_and_tail(result.out.rstrip("\n"), limits.RESULT_CHARS * 3 // 4)
        lines += [shown] if shown else ["It printed nothing."]
        if left_out or result.printed > len(result.out.encode()):
            lines.append(f"All of it is in /tmp/output/{self._count}.txt, for run_command (grep, sed -n).")
        lines += result.left_out
        if result.timed_out:
            lines.append("What it had changed by then was dropped.")
        return lines


def _list(value: Json | None) -> list[Json]:
    return value if isinstance(value, list) else []
