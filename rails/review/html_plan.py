"""The plan of a session as HTML: its agents and how far each is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from rails.core.text import one_line
from rails.projections.progress import PlanStep
from rails.render.blocks import Badge
from rails.render.html_page.blocks import badge
from rails.render.html_page.markup import Html, el, join, titled
from rails.review.reports.session import ending_badge, task_line

_STATES: Final = {
    "done": Badge("✓", "good", "Done"),
    "working": Badge("●", "open", "Running"),
    "stopped": Badge("✕", "bad", "Stopped"),
    "next": Badge("○", "dim", "To come"),
}
_RUNGS: Final = {
    "squash": "Escalated: a fresh start from one page",
    "model": "Escalated: a stronger model",
    "human": "Escalated: your turn",
}
_HANDED: Final = {"": "", "go": "handed over", "edited": "edited, then handed over", "stop": "stopped here"}


def plan_html(plan: Sequence[PlanStep], *, session_id: str = "", at_work: bool = False) -> Html | None:
    """Return the plan; ``None`` without one or for a single finished step.

    ``session_id`` links agents to first records; ``at_work``: known to run (an interrupted log has no end, either).
    """
    alone = len(plan) == 1
    if not plan or (alone and plan[0].state == "done" and not any(_told(plan[0]))):
        return None
    done = sum(step.state == "done" for step in plan)
    title = join("Plan", None if alone else el("span", f"{done} of {len(plan)} done", class_="meta"))
    # One agent's task is the session's: it stands above already.
    shown = [replace(step, task="") for step in plan] if alone else plan
    steps = [_step(step, session_id, at_work=at_work) for step in shown]
    return titled("plan", title, el("ol", steps, class_="plan"), class_="why planned")


def _step(step: PlanStep, session_id: str, *, at_work: bool) -> Html:
    status = _status(step, at_work=at_work)
    name = one_line(step.agent, 60) or "agent"
    link = el("a", name, href=f"#/s/{session_id}/{step.first}") if session_id and step.first else el("b", name)
    told = [el("p", words, class_="meta") for words in _told(step)]
    return el(
        "li",
        el("p", link, badge(status), class_="who"),
        el("p", one_line(task_line(step.task), 300), class_="task") if step.task else None,
        *told,
        class_=f"{status.tone} now" if step.state == "working" else status.tone,
        aria_current="step" if step.state == "working" else None,
    )


def _status(step: PlanStep, *, at_work: bool) -> Badge:
    status = _STATES[step.state]
    if step.state == "stopped":
        return replace(status, words=ending_badge(step.outcome).words or status.words)
    return status if at_work or step.state != "working" else replace(status, words="Unfinished")


def _told(step: PlanStep) -> Iterator[str]:
    if step.state == "working" and step.limit > 0:
        yield f"Attempt {min(step.failed + 1, step.limit)} of {step.limit}"
    elif step.state == "stopped" and step.failed > 0 and step.limit > 0:
        yield f"{step.failed} of {step.limit} attempts failed"
    if step.rung in _RUNGS:
        yield _RUNGS[step.rung]
    if step.handoff:
        to = "you" if step.receiver == "human" else one_line(step.receiver, 60)
        by = f" by {one_line(step.by, 40)}" if step.by and step.handed else ""
        said = _HANDED.get(step.handed, one_line(step.handed, 40))
        yield f"→ {to}: {one_line(step.handoff, 120)}{f', {said}{by}' if said else ''}"
