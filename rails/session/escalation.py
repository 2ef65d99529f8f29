"""Escalation, once attempts run out: an agent's failures on one page, for whoever continues.

That is: other answers of a small model, the same model restarted, a stronger one (a human agrees), the human. Pages are
masked as the log is, and the same after a resume.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from rails.agents.prompt import REMINDERS, Protocol, as_data
from rails.core import limits
from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.conversation import ToolSpec
from rails.core.events.changes import ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, Escalation, HumanSteered
from rails.core.events.turn import LlmResponse
from rails.core.text import counted, head_and_tail, one_line, printable
from rails.projections.failures import failures_in
from rails.session.text_answers import fenced

#: How far escalation may go by itself: not at all, to other answers of a small model, to a fresh start from a page,
#: or to a stronger model if a human agrees.
Escalate = Literal["off", "again", "squash", "model"]
EscalationStep = Literal["again", "squash", "model"]
RUNGS: Final[Mapping[Escalate, tuple[EscalationStep, ...]]] = {
    "off": (),
    "again": ("again",),
    "squash": ("again", "squash"),
    "model": ("again", "squash", "model"),
}
#: How often a model of this machine that is asked in text answers its task again, and at which temperature. Of other
#: answers to the task alone, about one in thirteen passed the tests (14 of 186).
AGAIN: Final = 8
#: What a small model is not told: it sent the failed answer again word for word (41 of 46 times), and none passed. Told
#: that its file is so already, it says that all is done.
REPEATED: Final = ("tests", "gate", "unchanged")
WARM: Final = 0.7

HEADER: Final = "--- EARLIER ATTEMPTS ---"
#: Characters of one failure, of all of them, and of the last answer, on a page of ``limits.PAGE_CHARS``.
_FAILURE_CHARS: Final = 600
_FAILURES_CHARS: Final = limits.PAGE_CHARS // 2
_ANSWER_CHARS: Final = limits.PAGE_CHARS // 4
#: Distinct failures that are remembered, the newest.
_FAILURES: Final = 1_000


class Tried(Struct):
    """A fold over records: one agent's work on its task.

    ``failures`` are distinct, oldest first, with counts. ``written`` maps files to what was done; ``said``: a person's
    words since the task.
    """

    agent: str = ""
    task: str = ""
    answers: int = 0
    failures: dict[str, int] = {}
    written: dict[str, str] = {}
    said: list[str] = []
    rungs: list[str] = []
    last: LlmResponse | None = None

    @property
    def answer(self) -> str:
        """The last answer as ``ai-rails apply`` reads it, native calls as blocks."""
        if self.last is None:
            return ""
        parts = [self.last.text]
        for call in self.last.calls:
            arguments = call.arguments.strip() or "{}"
            name = one_line(call.name, 80).replace('"', "")
            body = f'{{"type": "tool_request", "tool_name": "{name}", "explanation": "", "parameters": {arguments}}}'
            parts.append(fenced("", body, "json").lstrip())
        return "\n\n".join(part.rstrip("\n") for part in parts if part.strip()) + "\n"

    def after(self, record: Record) -> Tried:
        """Return this with a record; a new one where an agent begins."""
        match record.event:
            case AgentEngage() as begun:
                return Tried(begun.agent, begun.task)
            case LlmResponse() as answer:
                self.answers = self.answers + 1
                self.last = answer
            case Escalation(rung=rung):
                self.rungs.append(rung)
            case HumanSteered(about=about, text=str(text)) if text and about not in ("handoff", "conversation"):
                self.said.append(text)
        for failure in dict.fromkeys(failures_in(record)):
            # Seen again, it is the newest: the page keeps what came last.
            self.failures[failure] = self.failures.pop(failure, 0) + 1
        while len(self.failures) > _FAILURES:
            del self.failures[next(iter(self.failures))]
        if isinstance(done := record.event, ToolExecutionResult) and done.ok:
            self.written |= {change.path: change.kind for change in done.changes or ()}
        return self


def search_tool(tools: Sequence[ToolSpec]) -> str:
    """Return the name of the user's tool that searches outside the project, or ""."""
    return next((one.name for one in tools if "search" in one.name.casefold() and one.name not in BUILTIN_TOOLS), "")


def page(task: str, tried: Tried, why: str, protocol: Protocol, *, advice: str = "", search: str = "") -> str:
    """Return a restarted conversation's first message in ``protocol``: at most ``limits.PAGE_CHARS`` below the task.

    ``advice`` is a human's, ``search`` a tool.
    """
    parts = [
        task.rstrip(),
        HEADER,
        f"{counted(tried.answers, 'answer')} to this task did not get through. The last reason: {one_line(why, 300)}. "
        "That conversation is closed; this is what it came to. What you had read of the files is gone with it.",
        f"The state now: {state(tried.written)}",
        f"What failed, each once, the newest last:\n{failures_text(tried)}",
    ]
    parts.append(
        f"The last answer, which was not executed:\n{as_data(head_and_tail(tried.answer.strip(), _ANSWER_CHARS)[0])}"
    )
    if advice:
        parts.append(f"Human Feedback: {head_and_tail(advice.strip(), _ANSWER_CHARS)[0]}")
    if search:
        parts.append(f"Before you try again, search for what failed with {search}, and work with what it finds.")
    parts.append(
        "Say in one sentence what these failures have in common, then do the task another way. If it cannot be done "
        "as asked, explain why."
    )
    if protocol in REMINDERS:
        parts.append(REMINDERS[protocol])
    return "\n\n".join(parts) + "\n"


def state(written: Mapping[str, str]) -> str:
    """Return what the agent's work left in the project."""
    if not written:
        return "nothing was written; all files are as they were."
    files = ", ".join(f"{one_line(path)} ({kind})" for path, kind in islice(written.items(), 20))
    more = f" and {len(written) - 20} more" if len(written) > 20 else ""
    return f"written and kept: {files}{more}. What failed was not written."


def newest(texts: Sequence[str], chars: int) -> str:
    """Return texts as a list, the newest last, the oldest shortened or left out."""
    lines = list[str]()
    for text in reversed(texts):
        line = f"- {head_and_tail(text.strip(), chars)[0]}"
        chars -= len(line)
        if chars < 0 and lines:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def failures_text(tried: Tried) -> str:
    """Return the newest failures, set apart as data."""
    return as_data(newest([one_line(text, _FAILURE_CHARS) for text in _failures(tried)], _FAILURES_CHARS))


def _failures(tried: Tried) -> list[str]:
    return [text if count == 1 else f"{text} ({count} times)" for text, count in tried.failures.items()]


def for_human(tried: Tried, why: str, *, session: str, project: Path, answer: str, stronger: str) -> str:
    """Return the page for the human who takes over, with the exact commands to go on.

    ``answer`` is the last one's file in the project; ``stronger`` a model, or "".
    """
    shown = _failures(tried)[-limits.FINDINGS_TOLD * 3 :]
    failures = "\n".join(f"{number}. {printable(text)}" for number, text in enumerate(shown, start=1))
    rungs = {"again": "the task again", "squash": "a fresh start from one page", "model": "a stronger model"}
    climbed = ", ".join(words for rung, words in rungs.items() if rung in tried.rungs) or "nothing else"
    session = shlex.quote(session)
    saved = shlex.quote(answer)
    undo = f"\nTake back what was written:\n\n    ai-rails undo {session} --all\n" if tried.written else ""
    other = stronger or "PROVIDER:NAME"
    return (
        f"# Manual Intervention Required: {tried.agent} could not do it\n\n"
        f"Task: {printable(tried.task)}\n\n"
        f"Why it stopped: {printable(why)}\n\n"
        f"What was tried: {tried.answers} answers; then {climbed}.\n\n"
        f"The state now: {state(tried.written)}\n\n"
        f"## What failed\n\n{failures or 'Nothing that could be named.'}\n\n"
        f"## How to go on\n\nRun these in {project}.\n\n"
        f"Correct its last answer yourself, then run:\n\n"
        f"    ${{EDITOR:-vi}} {saved}\n    ai-rails apply {saved} --agent {tried.agent}\n\n"
        f"Tell it what it does not see, and let it try again from this page:\n\n"
        f'    ai-rails run --resume {session} "hint for the model"\n\n'
        f"The same with another model:\n\n"
        f"    ai-rails run --resume {session} --model-for {tried.agent}={shlex.quote(other)}\n\n"
        f"Look at every turn:\n\n    ai-rails review {session}\n{undo}"
    )
