"""A session's plan. A pure fold, needing only the records that ``SessionStats`` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    Escalation,
    Handoff,
    HumanSteered,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import FeedbackSent
from rails.core.outcomes import is_good

#: "next": to come; "stopped": it ended without being done, or the session did while it was at work.
StepState = Literal["done", "working", "stopped", "next"]
#: Agents of a plan that are kept; sessions have a handful.
_MOST: Final = 100


class PlanStep(Struct, frozen=True):
    """An agent's task. ``first`` record (0: not begun); ``failed`` of ``limit`` since the last success; ``rung``: "",
    squash, model, human. ``handoff``: file for ``receiver``; ``handed`` "", "go", "edited", "stop" ``by`` a human.
    """

    agent: str
    task: str
    state: StepState = "next"
    first: int = 0
    outcome: str = ""
    rung: str = ""
    failed: int = 0
    limit: int = 0
    handoff: str = ""
    receiver: str = ""
    handed: str = ""
    by: str = ""


def plan_of(records: Iterable[Record]) -> tuple[PlanStep, ...]:
    """Return a session's steps from all or some of its records."""
    plan = PlanFold()
    for record in records:
        plan.add(record)
    return tuple(plan.steps)


def current_step_text(plan: tuple[PlanStep, ...]) -> str:
    """Return "Step 2 of 3", "" for a single or no step."""
    at = next((n for n, step in enumerate(plan, start=1) if step.state == "working"), 0)
    return f"Step {at} of {len(plan)}" if at and len(plan) > 1 else ""


class PlanFold:
    """Takes a session's records in order; ``steps`` so far."""

    def __init__(self) -> None:
        self.steps: list[PlanStep] = []
        self._finished = 0

    def add(self, record: Record) -> None:
        """Take in one record."""
        match record.event:
            case WorkflowStart(tasks=tasks):
                self.steps = [PlanStep(task.agent, task.task) for task in tasks[:_MOST]]
                self._finished = 0
            case AgentEngage() as event if self._finished < _MOST:
                self._engage(record, event)
            case Escalation(rung=rung):
                self._at_work(state=("stopped" if rung == "human" else "working"), rung=rung, failed=0)
            case FeedbackSent(attempt=attempt, limit=limit):
                self._at_work(failed=attempt, limit=limit)
            case AgentFinished(outcome=outcome) if self._finished < len(self.steps):
                done = not outcome or is_good(outcome)
                self._at_work(state="done" if done else "stopped", outcome=outcome)
                self._finished += done
            case Handoff(file=file, receiver=receiver):
                self._last_done(handoff=file, receiver=receiver, handed="", by="")
            case HumanSteered(about="handoff", answer=answer, edited=edited, by=by):
                self._last_done(handed="edited" if answer == "go" and edited else answer, by=by)
                self._finished -= answer == "back"
            case WorkflowEnd(outcome=outcome):
                self._end(outcome)

    def _engage(self, record: Record, event: AgentEngage) -> None:
        agent, task = event.agent or record.agent_role, event.task
        if self._finished >= len(self.steps):  # a log that does not say at its start what is to be done
            self.steps.append(PlanStep(agent, task))
        planned = self.steps[self._finished]
        self.steps[self._finished] = PlanStep(agent, planned.task or task, "working", record.seq)

    def _at_work(self, **changed: object) -> None:
        if self._finished < len(self.steps) and self.steps[self._finished].first:
            self.steps[self._finished] = replace(self.steps[self._finished], **changed)

    def _last_done(self, **changed: str) -> None:
        if 0 < self._finished <= len(self.steps):
            at = self._finished - 1
            self.steps[at] = replace(self.steps[at], **changed)

    def _end(self, outcome: str) -> None:
        """Take the session's end; an answer from a file has an agent that never began."""
        if is_good(outcome):
            self.steps = [replace(step, state="done") for step in self.steps]
            return
        at = self._finished
        nobody_engaged = not any(step.first for step in self.steps)
        if at < len(self.steps) and (nobody_engaged or self.steps[at].state == "working"):
            self.steps[at] = replace(self.steps[at], state="stopped", outcome=outcome)
