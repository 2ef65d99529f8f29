"""The state of a session: a fold over its log. Nothing is carried out twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.conversation import Message, ModelAnswer, TextPart
from rails.core.errors import UsageError
from rails.core.events.changes import ExecutionStarted, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    Escalation,
    Handoff,
    HumanSteered,
    SessionLimits,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import ContextReduced, FeedbackSent, LlmCall, LlmResponse
from rails.core.outcomes import is_good
from rails.core.text import sha256
from rails.core.tool_request import ToolResult
from rails.edits.apply import recover
from rails.log.reader import read_strict
from rails.log.session_stats import worked
from rails.log.writer import SessionLog
from rails.session import feedback
from rails.session.context_window import Measured, reduced
from rails.session.feedback import RequestResult
from rails.session.turn_context import content_of

#: How an agent ended that a human may let try again, with a hint or an answer.
AGAIN: Final = ("gave_up", "asked")


class ResumeState(Struct, frozen=True):
    """A session's state when its log ended.

    ``finished`` pairs (agent, task) are over. ``pending`` is an answer not fully carried out, ``done`` its results,
    ``begun`` its executions without one. ``seen`` maps path to SHA-256. On this step: ``codes``, each turn's kinds of
    failure, oldest first; ``words``, the last if failed; ``rung``, the escalation step; ``taken``, all turns on the
    task.

    ``handed`` is the agent's input; ``offered`` the last hand-off file, ``agreed`` whether it may go on.
    ``stopped`` and ``why``: the last agent's end when not done; ``rejected``: how often a reviewer's was so;
    ``again``: a human wants a retry. ``seconds`` is time worked. ``talking``: a person speaks next. ``measured`` and
    ``asked_tokens``: the last answered and asked prompt's tokens.
    """

    tasks: tuple[tuple[str, str], ...]
    finished: int = 0
    turns: int = 0
    messages: tuple[Message, ...] = ()
    pending: ModelAnswer | None = None
    done: Mapping[str, RequestResult] = {}
    codes: tuple[tuple[str, ...], ...] = ()
    seen: Mapping[str, str] = {}
    ended: bool = False
    words: str = ""
    taken: int = 0
    rung: str = ""
    handed: str = ""
    offered: str = ""
    agreed: bool = False
    stopped: str = ""
    rejected: int = 0
    why: str = ""
    again: bool = False
    advice: str = ""
    seconds: float = 0.0
    limits: SessionLimits = field(default_factory=lambda: SessionLimits(None, None))
    records: tuple[Record, ...] = ()
    begun: Mapping[tuple[str, ...], ExecutionStarted] = {}
    talking: bool = False
    measured: Measured = Measured()
    asked_tokens: int = 0


def where(project: Path, log: SessionLog) -> ResumeState:
    """Return an interrupted session's state. Raises LogError for a damaged log."""
    recover(project)
    return resume_state(read_strict(log.path), project)


def resume_state(records: Sequence[Record], project: Path) -> ResumeState:
    """Fold the records of a session. Raises UsageError without a session's start."""
    state = _folded(records)
    done = dict(state.done)
    for begun in state.begun.values():
        done |= _interrupted(begun, project)
    seconds = sum(worked(one.timestamp, other) for one, other in pairwise(records))
    return replace(state, done=done, records=tuple(records), seconds=seconds)


def _folded(records: Sequence[Record]) -> ResumeState:
    state: ResumeState | None = None
    for record in records:
        event = record.event
        if isinstance(event, WorkflowStart):
            tasks = tuple((task.agent, task.task) for task in event.tasks)
            state = ResumeState(tasks, handed=event.handed, limits=event.limits)
        elif state is not None and isinstance(event, HumanSteered) and event.about == "rewind":
            before = _folded([one for one in records if one.seq < int(event.answer)])
            state = replace(before, turns=state.turns, begun={}, taken=0)
        elif state is not None:
            state = _after(state, record)
    if state is None:
        raise UsageError("This session's log has no start, so it cannot be resumed. Nothing was changed.")
    return state


def _after(state: ResumeState, record: Record) -> ResumeState:
    state = steps_after(state, record)
    match record.event:
        case AgentEngage(first_message=first, stands_for=stands_for):
            return replace(_restarted(state, first, stands_for), seen={})
        case Escalation(first_message=str(first), stands_for=stands_for):
            return _restarted(state, first, stands_for or 0)
        case LlmCall(tokens=tokens):
            return replace(state, asked_tokens=tokens)
        case ContextReduced() as step:
            return replace(state, messages=reduced(state.messages, step))
        case LlmResponse() as event:
            return _answered(state, record, event)
        case FeedbackSent() as event:
            if state.pending is None and not state.talking:
                return state
            if event.reply is None:
                raise UsageError(
                    f"The feedback in record {record.seq} cannot be read, so the session cannot be resumed. "
                    "Nothing was changed."
                )
            answered = (state.pending.message,) if state.pending else ()
            words = answer_words(answered[0]) if event.codes and answered else ""
            codes = state.codes if state.talking else (*state.codes, event.codes)
            messages = (*state.messages, *answered, event.reply)
            return replace(state, messages=messages, pending=None, done={}, codes=codes, words=words, talking=False)
        case ExecutionStarted() as event:
            return replace(state, begun={**state.begun, event.ids: event})
        case ToolExecutionResult() as event:
            begun = {ids: one for ids, one in state.begun.items() if ids != event.ids}
            result = RequestResult(event.ids, "result" if event.ok else "failed", event.text)
            if event.tool:
                result = feedback.result(event.ids, event.tool, ToolResult(event.ok, event.text), event.text)
            done = {**state.done, **dict.fromkeys(event.ids, result)}
            return replace(state, begun=begun, done=done, seen={**state.seen, **_saw(event)})
        case _:
            return state


def steps_after(state: ResumeState, record: Record) -> ResumeState:
    """Return a session's state with what a record says of its steps: whose turn it is, and with what."""
    match record.event:
        case AgentEngage():
            return replace(state, taken=0, rung="", again=False, why="", advice="")
        case LlmResponse():
            return replace(state, turns=state.turns + 1, taken=state.taken + 1)
        case Escalation(rung=rung):
            return replace(state, rung=rung)
        case AgentFinished(outcome=outcome):
            over = replace(state, pending=None, done={}, messages=(), offered="", agreed=False)
            if outcome and not is_good(outcome):
                rejected = state.rejected + (outcome == "rejected")
                return replace(over, stopped=outcome, why=record.message, rejected=rejected)
            return replace(over, finished=state.finished + 1)
        case Handoff(file=file):
            return replace(state, offered=file, agreed=False)
        case HumanSteered(about="handoff", answer="go", text=text):
            return replace(state, agreed=True, handed=text or "")
        case HumanSteered(about="handoff", answer="back", text=text):
            return replace(
                state,
                finished=max(0, state.finished - 1),
                agreed=True,
                handed=text or "",
                offered="",
                stopped="",
                why="",
            )
        case HumanSteered(about="follow_up"):
            return replace(state, talking=True, taken=0, codes=(), words="", rung="", begun={})
        case WorkflowEnd():
            return replace(state, ended=True)
        case SessionResumed(advice=advice) if state.stopped in AGAIN and state.ended:
            # A human wants an agent that had given up to try again, or answers it; any other session just goes on.
            return replace(state, ended=False, stopped="", again=True, advice=advice)
        case _:
            return state


def _answered(state: ResumeState, record: Record, event: LlmResponse) -> ResumeState:
    try:
        answer = event.answer()
    except ValueError as error:
        raise UsageError(
            f"The answer in record {record.seq} cannot be read ({error}), so the session cannot be resumed. "
            "Nothing was changed."
        ) from error
    measured = Measured(state.asked_tokens, answer.usage.prompt_tokens)
    return replace(state, pending=answer, done={}, begun={}, measured=measured)


def answer_words(answer: Message) -> str:
    """Return an answer's words, to detect repeats."""
    return "\n".join((answer.text, *(call.arguments for call in answer.calls))).strip()


def _restarted(state: ResumeState, first_message: str, stands_for: int) -> ResumeState:
    first = Message("user", (TextPart(first_message),), stands_for)
    return replace(state, messages=(first,), pending=None, done={}, codes=(), words="")


def _interrupted(begun: ExecutionStarted, project: Path) -> dict[str, RequestResult]:
    """Compare a write with the disk; a command stays in doubt."""
    ids = begun.ids
    if not begun.changes:
        return dict.fromkeys(ids, feedback.not_done("in_doubt", ids, tool=begun.tool))
    for change in begun.changes:
        data = content_of(project, change.path)
        if change.after_sha256 != (None if data is None else sha256(data)):
            return {}
    paths = ", ".join(change.path for change in begun.changes)
    return dict.fromkeys(ids, RequestResult(ids, "result", f"Written before an interruption: {paths}"))


def _saw(event: ToolExecutionResult) -> dict[str, str]:
    seen = {change.path: change.after_sha256 or "" for change in event.changes or ()}
    facts = event.facts or {}
    path = facts.get("path")
    digest = facts.get("sha256")
    return {**seen, path: digest or ""} if isinstance(path, str) and isinstance(digest, str | None) else seen
