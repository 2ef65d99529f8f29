"""The plan of a session and where it stands: its agents in order, each with its task. A pure fold over records.

Of the records that come every turn only the newest feedback matters, so that a session of a million records has its
plan from a handful: those that :class:`rails.log.session_stats.SessionStats` names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from rails.config.prices import Prices
from rails.core import record_fields as d
from rails.core.conversation import Usage
from rails.core.dataclass import dataclass, replace
from rails.core.events.record import Record
from rails.core.record_fields import Details
from rails.core.text import one_line
from rails.log.session_stats import SessionStats

#: "next": to come; "stopped": it ended without being done, or the session did while it was at work.
StepState = Literal["done", "working", "stopped", "next"]
#: Agents of a plan that are kept; sessions have a handful.
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One agent and its task. ``first`` is the record it began with (0: it has not), ``outcome`` how it ended.

    ``failed`` of ``limit`` attempts have failed since the last success, on the escalation step ``rung`` (""; squash;
    model; human). ``handoff`` is the file that was written of its result for ``receiver``, ``handed`` what a human
    said to it: "" (not yet), "go", "edited" or "stop", and ``by`` who that was.
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
    """Return the steps of a session from its records, or from as many of them as there are."""
    plan = _Plan()
    for record in records:
        plan.add(record)
    return tuple(plan.steps)


def current_step_text(plan: tuple[PlanStep, ...]) -> str:
    """Say in a few words which step is at work: "Step 2 of 3"; "" for a plan of one, and where none is."""
    at = next((n for n, step in enumerate(plan, start=1) if step.state == "working"), 0)
    return f"Step {at} of {len(plan)}" if at and len(plan) > 1 else ""


class _Plan:
    def __init__(self) -> None:
        self.steps: list[PlanStep] = []
        self._finished = 0

    def add(self, record: Record) -> None:
        facts = record.details
        match record.event_type:
            case "WORKFLOW_START":
                tasks = d.objects(facts, "tasks")[:_MOST]
                self.steps = [PlanStep(d.shortened(task, "agent"), d.shortened(task, "task")) for task in tasks]
                self._finished = 0
            case "AGENT_ENGAGE" if self._finished < _MOST:
                self._engage(record)
            case "ESCALATION":
                rung = d.shortened(facts, "rung")
                state: StepState = "stopped" if rung == "human" else "working"
                self._at_work(state=state, rung=rung, failed=0)
            case "FEEDBACK_SENT":
                self._at_work(failed=d.integer(facts, "attempt"), limit=d.integer(facts, "limit"))
            case "AGENT_FINISHED" if self._finished < len(self.steps):
                done = d.shortened(facts, "outcome") in ("", "done")
                self._at_work(state="done" if done else "stopped", outcome=d.shortened(facts, "outcome"))
                self._finished += done
            case "HANDOFF":
                file, receiver = d.shortened(facts, "file"), d.shortened(facts, "receiver")
                self._last_done(handoff=file, receiver=receiver, handed="", by="")
            case "HUMAN_STEERED" if facts.get("about") == "handoff":
                self._last_done(handed=_handed(facts), by=d.shortened(facts, "by"))
            case "WORKFLOW_END":
                self._end(d.shortened(facts, "outcome"))

    def _engage(self, record: Record) -> None:
        agent, task = d.shortened(record.details, "agent") or record.agent_role, d.shortened(record.details, "task")
        if self._finished >= len(self.steps):  # a log that does not say at its start what is to be done
            self.steps.append(PlanStep(agent, task))
        planned = self.steps[self._finished]
        self.steps[self._finished] = PlanStep(agent, planned.task or task, "working", record.seq)

    def _at_work(self, **changed: object) -> None:
        """Change the step that is not done; before any agent began there is nothing to say of it."""
        if self._finished < len(self.steps) and self.steps[self._finished].first:
            self.steps[self._finished] = replace(self.steps[self._finished], **changed)  # type: ignore[arg-type]

    def _last_done(self, **changed: str) -> None:
        if 0 < self._finished <= len(self.steps):
            at = self._finished - 1
            self.steps[at] = replace(self.steps[at], **changed)  # type: ignore[arg-type]

    def _end(self, outcome: str) -> None:
        """Take the session's end; an answer that was applied from a file has an agent that never began."""
        if outcome == "done":
            self.steps = [replace(step, state="done") for step in self.steps]
            return
        nobody_engaged = not any(step.first for step in self.steps)
        for at, step in enumerate(self.steps[self._finished :][:1], start=self._finished):
            if step.state == "working" or nobody_engaged:
                self.steps[at] = replace(step, state="stopped", outcome=outcome)


def _handed(facts: Details) -> str:
    answer = d.shortened(facts, "answer")
    return "edited" if answer == "go" and d.flag(facts, "edited") else answer


_MINUTE: Final = 60
_SO_FAR: Final = "(so far: the log is still being read)"


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """Words for people: ``tokens`` used, ``cost`` ("" without prices), what is ``left`` of each bound that was set.

    ``note`` says what is wrong with the table of prices, if anything is. ``partial``: the log is not all read yet,
    so more was used and less is left.
    """

    tokens: str = ""
    cost: str = ""
    left: tuple[str, ...] = ()
    note: str = ""
    partial: bool = False

    @property
    def line(self) -> str:
        """Everything in one line, for the strip of what happens now."""
        left = f"Left: {', '.join(self.left)}" if self.left else ""
        words = " · ".join(filter(None, (self.tokens, self.cost, left)))
        return f"{words} {_SO_FAR}" if words and self.partial else words

    @property
    def facts(self) -> dict[str, str]:
        """The facts for a session's header; names of empty ones have no value."""
        facts = {"Cost": self.cost or self.note, "Budget left": ", ".join(self.left)}
        return {name: f"{words} {_SO_FAR}" if words and self.partial else words for name, words in facts.items()}


def session_usage(
    card: SessionStats, prices: Prices, *, since_last_s: float = 0.0, note: str = "", partial: bool = False
) -> SessionUsage:
    """Return what the session of ``card`` (its stats) has used.

    ``since_last_s`` is how long the last record of a running session is ago, in seconds: that time counts, as it does
    in the run. ``note`` and ``partial`` are passed on.
    """
    used = {model: Usage(*counts) for model, counts in card.used.items()}
    costs = {model: prices.cost(model, usage) for model, usage in used.items()}
    known = [cost for cost in costs.values() if cost is not None]
    unknown = [one_line(model, 60) for model, cost in costs.items() if cost is None]
    spent = sum(known) if known else None
    beside = f" without {', '.join(unknown)} (no price)" if known and unknown else ""
    left = _left(card, prices, spent, card.seconds + max(0.0, since_last_s))
    return SessionUsage(_tokens(list(used.values())), prices.text(spent) + beside, tuple(left), note, partial)


def _tokens(counts: Sequence[Usage]) -> str:
    read = sum(usage.input_tokens + usage.cache_write_tokens for usage in counts)
    cached, written = sum(usage.cache_read_tokens for usage in counts), sum(usage.output_tokens for usage in counts)
    if not (read or cached or written):
        return ""
    again = f" and {cached:,} from the cache" if cached else ""
    return f"{read:,} tokens in{again}, {written:,} out"


def _left(card: SessionStats, prices: Prices, spent: float | None, seconds: float) -> Iterator[str]:
    """Yield what is left of each bound, counted as the run counts it (``rails.session.budget.SessionBudget``)."""
    tokens, most_seconds, most_cost = (d.number(card.limits, f"max_{name}") for name in ("tokens", "seconds", "cost"))
    if tokens > 0:
        used = sum(sum(counts) for counts in card.used.values())
        yield f"{max(0, int(tokens) - used):,} of {int(tokens):,} tokens"
    if most_seconds > 0:
        yield f"{_minutes(max(0.0, most_seconds - seconds))} of {_minutes(most_seconds)} min"
    if most_cost > 0 and prices.models:
        rest = prices.text(max(0.0, most_cost - (spent or 0.0))).removesuffix(f" {prices.currency}")
        yield f"{rest} of {prices.text(most_cost)}"


def _minutes(seconds: float) -> str:
    return f"{seconds / _MINUTE:.1f}".removesuffix(".0")
