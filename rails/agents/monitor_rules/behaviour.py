"""Rules about how an agent works: loops, cycles, stalling, inventions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rails.agents.monitor_rules.alert import AFRESH, REPEATS, WatchRule, alert, asked_of
from rails.core.events.approval import HumanDecision
from rails.core.events.base import Event
from rails.core.events.changes import ChangeRefused, ExecutionStarted, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentFinished, OverseerAlert
from rails.core.events.turn import LlmResponse, McpRequestFormulated, OutputRefused, ToolRequestValidationFailed
from rails.core.outcomes import is_good
from rails.core.verdict import Verdict
from rails.log import suspicious_text as patterns

_MANY: Final = 5
#: Answers without one thing that worked; the attempts of each kind have bounds of their own.
_STALLED: Final = 6
#: The longest cycle of states of one file that is recognised.
_CYCLE: Final = 3


def repeated_failures() -> WatchRule:
    """Alert when the same refusal or finding repeats: once as a habit, once as a loop.

    A restarted agent starts at zero.
    """
    counts: Counter[tuple[str, str]] = Counter()

    def look(record: Record, event: Event) -> Iterator[OverseerAlert]:
        if isinstance(event, AFRESH):
            _forget(counts, record.agent_role)
            return
        for text in set(_failure_texts(event)):
            key = (record.agent_role, text)
            counts[key] += 1
            if counts[key] in (REPEATS, _MANY):
                yield alert(
                    record,
                    "CRITICAL" if counts[key] == _MANY else "WARNING",
                    "Quality Issue",
                    description=f"The same failure came back {counts[key]} times.",
                    evidence=text,
                    recommendation="Stop the agent, or tell it what it does not see.",
                    prompt="The same correction has failed several times. Explain what you think is wrong first.",
                )

    return look


def _failure_texts(event: Event) -> Iterator[str]:
    match event:
        case (
            ToolRequestValidationFailed(refusals=refusals)
            | ChangeRefused(refusals=refusals)
            | OutputRefused(refusals=refusals)
        ):
            yield from (refusal.message for refusal in refusals)
        case GateVerdict(verdict=verdict):
            yield from (f"{one.path}: {one.rule} {one.message}" for one in verdict.findings if one.new)


def repeated_requests() -> WatchRule:
    """Alert when a request repeats without a change in between."""
    counts: Counter[tuple[str, str]] = Counter()

    def look(record: Record, event: Event) -> Iterator[OverseerAlert]:
        if isinstance(event, AFRESH):
            _forget(counts, record.agent_role)
        elif isinstance(event, ToolExecutionResult):
            if event.ok and event.changes:
                counts.clear()
        elif isinstance(event, McpRequestFormulated):
            asked = asked_of(event.request)
            counts[record.agent_role, asked] += 1
            if counts[record.agent_role, asked] == REPEATS:
                yield alert(
                    record,
                    "WARNING",
                    "Quality Issue",
                    description=f"The same request was sent {REPEATS} times.",
                    evidence=asked,
                    recommendation="See whether the agent reads what comes back.",
                    prompt="You have sent the same request several times. Say what you learned from its result.",
                )

    return look


def oscillation() -> WatchRule:
    """Alert when a file goes A, B, A, B (or A, B, C twice), its initial state included."""
    states: dict[str, list[str | None]] = defaultdict(list)

    def look(record: Record, event: Event) -> Iterator[OverseerAlert]:
        if not isinstance(event, ExecutionStarted):
            return
        for change in event.changes or ():
            history = states[change.path]
            if not history:
                history.append(change.before_sha256)
            history.append(change.after_sha256)
            if _cycles(history):
                history.clear()
                yield alert(
                    record,
                    "WARNING",
                    "Quality Issue",
                    description="A file goes back and forth between the same states.",
                    evidence=change.path,
                    recommendation="Decide which state is right and say so.",
                    prompt=f"Your changes to {change.path} undo each other. Say which state is right, and why.",
                )

    return look


def _cycles(history: Sequence[str | None]) -> bool:
    return any(
        len(history) >= 2 * size and history[-size:] == history[-2 * size : -size] and len(set(history[-size:])) > 1
        for size in range(2, _CYCLE + 1)
    )


def invented_results(record: Record, event: Event) -> Iterator[OverseerAlert]:
    """Alert when an answer contains a tool's result."""
    if not isinstance(event, LlmResponse):
        return
    found = patterns.invented(event.text)
    if found:
        yield alert(
            record,
            "WARNING",
            "Quality Issue",
            description="The answer holds a tool's result that no tool gave.",
            evidence=found,
            recommendation="Do not rely on what the agent says it saw.",
            prompt="Results come to you in the next message. Ask for the tool and stop there.",
        )


def stalling() -> WatchRule:
    """Alert on a row of answers without success, once the last one failed."""
    since: defaultdict[str, list[int]] = defaultdict(list)
    told: dict[str, int] = {}

    def look(record: Record, event: Event) -> Iterator[OverseerAlert]:
        answers = since[record.agent_role]
        if isinstance(event, LlmResponse):
            answers.append(record.seq)
        elif isinstance(event, AFRESH) or (isinstance(event, ToolExecutionResult) and event.ok):
            answers.clear()
        elif _failed(event) and len(answers) == _STALLED and told.get(record.agent_role) != answers[0]:
            told[record.agent_role] = answers[0]
            yield alert(
                record,
                "WARNING",
                "Quality Issue",
                description=f"{_STALLED} answers in a row, and nothing that was asked for worked.",
                evidence=f"since record {answers[0]}",
                recommendation="See whether the task can be done with the tools that the agent has.",
                prompt="Nothing of your last answers worked. Say in words what stops you.",
            )

    return look


def _failed(event: Event) -> bool:
    match event:
        case (
            ToolExecutionResult(ok=False)
            | GateVerdict(verdict=Verdict(status="fail"))
            | HumanDecision(answer="deny")
            | ToolRequestValidationFailed()
            | ChangeRefused()
            | OutputRefused()
        ):
            return True
    return False


def empty_answers(record: Record, event: Event) -> Iterator[OverseerAlert]:
    """Alert when an agent ends without a sentence."""
    if isinstance(event, AgentFinished) and is_good(event.outcome) and len(record.message.strip()) < 3:
        yield alert(
            record,
            "INFO",
            "Quality Issue",
            description="The agent finished without saying what it did.",
            evidence=record.message or "(nothing)",
            recommendation="Read the changes before you rely on them.",
        )


def _forget(counts: Counter[tuple[str, str]], role: str) -> None:
    for key in [key for key in counts if key[0] == role]:
        del counts[key]
