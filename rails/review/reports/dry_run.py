"""A policy tried on past questions that a person or the demo answered. Pure.

Facts missing in a log count as the worst: a tool runs something, an emptied file is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

from msgspec import Struct

from rails.approval.policy.rules import Circumstances, ItemKind, Policy, PolicyItem, PolicyRule, Ruling
from rails.core.changes import ChangedFile
from rails.core.diff import changed_lines
from rails.core.text import counted, one_line, sha256
from rails.projections.common import ApprovalView, SessionView, TurnView

_EMPTY: Final = {sha256(b""), sha256(b"\n")}
_NOT_PEOPLE: Final = ("policy", "grant", "headless", "timeout", "end of input", "error")
_LISTED: Final = 10
#: How the risks begin for which no rule allows anything unasked (``rails.edits.plan``).
_DOUBTS: Final = ("Fuzzy match in ", "Merged: ")


class Case(Struct, frozen=True):
    """A past question: its place, its answer, and the policy's ruling."""

    session_id: str
    turn: int
    what: str
    answer: str
    reason: str
    ruling: Ruling
    why: str


class DryRunReport(Struct, frozen=True):
    """All questions, in the order of the sessions."""

    sessions: int
    cases: tuple[Case, ...]

    @property
    def slipped(self) -> tuple[Case, ...]:
        """Denied requests that the policy allows; none if it can be trusted."""
        return tuple(case for case in self.cases if case.ruling == "allow" and case.answer != "approve")

    @property
    def blocked(self) -> tuple[Case, ...]:
        """Approved requests that the policy denies."""
        return tuple(case for case in self.cases if case.ruling == "deny" and case.answer == "approve")

    def count(self, ruling: Ruling) -> int:
        """Return how many questions get this ruling."""
        return sum(case.ruling == ruling for case in self.cases)


def dry_run(policy: Policy, sessions: Iterable[SessionView]) -> DryRunReport:
    """Apply ``policy`` to every answered question."""
    views = tuple(sessions)
    return DryRunReport(len(views), tuple(case for view in views for case in _cases(policy, view)))


def rule_in_words(rule: PolicyRule, sessions: Iterable[SessionView]) -> str:
    """Return what ``rule`` alone would have allowed."""
    report = dry_run(Policy((rule,)), sessions)
    allowed = report.count("allow")
    text = f"In {counted(report.sessions, 'past session')} it would have answered "
    text += f"{allowed} of {counted(len(report.cases), 'question')}"
    if not report.slipped:
        return f"{text}{', none of which was denied' if allowed else ''}."
    return "\n".join((f"{text}; {len(report.slipped)} of them were denied:", *_listed(report.slipped)))


def dry_run_as_text(report: DryRunReport) -> str:
    """Return the report for a terminal, slips first."""
    counts = ", ".join(f"{report.count(ruling)} {word}" for ruling, word in _WORDS)
    lines = [f"{counted(len(report.cases), 'answered question')} in {counted(report.sessions, 'session')}: {counts}."]
    if report.slipped:
        lines += [f"{len(report.slipped)} would be allowed although they were denied:", *_listed(report.slipped)]
    if report.blocked:
        lines += [f"{len(report.blocked)} would be denied although they were approved:", *_listed(report.blocked)]
    return "\n".join(lines)


_WORDS: Final[tuple[tuple[Ruling, str], ...]] = (("allow", "allowed"), ("ask", "asked"), ("deny", "denied"))


def _listed(cases: tuple[Case, ...]) -> Iterator[str]:
    for case in cases[:_LISTED]:
        reason = f" ({case.reason})" if case.reason else ""
        place = f"{case.session_id}, turn {case.turn}"
        yield f"  {one_line(f'{place}: {case.what}: {case.answer}{reason}; {case.why}', 300)}"
    if len(cases) > _LISTED:
        yield f"  and {len(cases) - _LISTED} more"


def _cases(policy: Policy, view: SessionView) -> Iterator[Case]:
    for turn in view.turns:
        for approval in turn.approvals:
            if approval.answer in ("", "dry_run") or approval.by.startswith(_NOT_PEOPLE):
                continue
            items = tuple(_items(turn, approval))
            doubts = tuple(risk for risk in approval.risks if risk.startswith(_DOUBTS))
            judgement = policy.judge_items(items, doubts, Circumstances(turn.model))
            what = ", ".join(dict.fromkeys(item.path or item.tool for item in items)) or ", ".join(approval.tools)
            yield Case(
                view.session_id, turn.number, what, approval.answer, approval.reason, judgement.ruling, judgement.why
            )


def _items(turn: TurnView, approval: ApprovalView) -> Iterator[PolicyItem]:
    adjusted = bool(approval.notes)
    for tool in approval.tools or ("",):
        if approval.kind != "changes":
            yield PolicyItem(turn.agent, tool, "run", adjusted=adjusted)
            continue
        status = turn.gates[-1].verdict.status if turn.gates else "error"
        found = turn.gates[-1].verdict.findings if turn.gates else ()
        lines = changed_lines(approval.diff)
        findings = tuple((one.rule, one.severity) for one in found if one.new)
        for change in turn.planned:
            yield PolicyItem(
                turn.agent,
                tool,
                _kind(change),
                change.path,
                status,
                lines,
                adjusted,
                None,
                findings,
                len(approval.diff),
            )


def _kind(change: ChangedFile) -> ItemKind:
    if change.kind in ("create", "modify") and not (change.kind == "modify" and change.after_sha256 in _EMPTY):
        return cast(ItemKind, change.kind)
    return "delete"
