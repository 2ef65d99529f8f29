"""The project's tests on a proposal, before anybody is asked."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from rails.core.builtin_tools import RUN_TESTS
from rails.core.changes import ChangeSet
from rails.core.errors import CheckError
from rails.core.events.changes import ToolExecutionResult
from rails.core.text import head_and_tail, one_line
from rails.session.ask_user import UserQuestion, ask
from rails.session.turn_context import TurnContext

_SHOWN_CHARS: Final = 2_500


class ProposedTests(Struct, frozen=True):
    """A test run with the change in place: its last line, and its output."""

    ok: bool
    summary: str
    output: str
    seconds: float

    def event(self) -> ToolExecutionResult:
        """Return the log's event: a run that nobody asked for."""
        text = f"{self.summary}\n{self.output}"
        return ToolExecutionResult(ids=(), ok=self.ok, text=text, tool=RUN_TESTS.name, duration_ms=self.seconds * 1000)


def run_proposed_tests(context: TurnContext, changes: ChangeSet) -> ProposedTests | None:
    """Run the project's tests on a change; ``None`` where unwanted or nothing can run."""
    if not _wanted(context):
        return None
    try:
        ran = context.contained.test(changes)
    except CheckError:
        return None
    if ran is None:
        return None
    lines = [line for line in ran.out.splitlines() if line.strip()]
    summary = one_line(lines[-1].strip("= "), 120) if lines else ran.status
    output, _ = head_and_tail(ran.out.strip(), _SHOWN_CHARS)
    return ProposedTests(ran.ok, f"tests: {summary}", context.mask(output), ran.seconds)


def _wanted(context: TurnContext) -> bool:
    if context.tests != "ask":
        return context.tests == "on"
    contained = context.contained
    human = contained.human
    if contained.tests_agreed is None and human is not None and contained.finds_tests():
        contained.tests_agreed = ask(human, context.publish, _QUESTION).answer == "yes"
    return contained.tests_agreed is True


_QUESTION: Final = UserQuestion(
    "tests",
    (
        "── Run the project's tests on each change before you see it? ".ljust(78, "─"),
        "  They run in the sandbox, without network. Failures go back to the agent twice.",
        "  --tests on or off answers this beforehand.",
    ),
    {"y": ("yes", "run them, in this session"), "n": ("no", "leave them to me")},
    "no",
)
