"""Sessions counted by model, rule, tool or decision. Pure.

A *step*: a first attempt and its retries; passed first if requests were valid with no new findings. Intervals: Wilson
score, 95 %.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from rails.config.prices import Prices
from rails.core.conversation import Usage
from rails.core.diff import changed_lines
from rails.core.text import counted
from rails.core.tool_request import Json
from rails.projections.attempts import failures_of, hardly_read
from rails.projections.common import SessionView, TurnView
from rails.projections.share import Share
from rails.render.blocks import Block, Table, cells

#: Sessions that are counted, the newest ones.
REPORT_SESSIONS: Final = 500
_FAILED_FIRST: Final = ("refused", "findings", "failed", "open")
Row: TypeAlias = dict[str, str | int | float]
_Tallies: TypeAlias = defaultdict[tuple[str, ...], Counter[str]]


class ReviewReport(Struct, frozen=True):
    """A report: name, sentences and tables, and the same for programs."""

    title: str
    blocks: tuple[Block, ...]
    value: Json


def count_sessions(by: str, views: Iterable[SessionView], prices: Prices) -> ReviewReport:
    """Return the sessions counted by one of :data:`GROUPS`."""
    seen: list[str] = []

    def each() -> Iterator[SessionView]:
        for view in views:
            seen.append(view.session_id)
            yield view

    rows = list(GROUPS[by](each(), prices))
    words = f"{'' if rows else 'Nothing to count in '}{counted(len(seen), 'session')}."
    heads = tuple(rows[0]) if rows else (by,)
    numeric = frozenset(at for at, head in enumerate(heads) if rows and not isinstance(rows[0][head], str))
    table = Table(
        f"By {by}",
        heads,
        tuple(cells(*row.values()) for row in rows),
        numeric=numeric,
        optional=tuple(range(6, len(heads) - 1)),
        notes=(words,),
    )
    return ReviewReport(table.title, (table,), [{**row} for row in rows])


def _by_model(views: Iterable[SessionView], prices: Prices) -> Iterator[Row]:
    tallies: _Tallies = defaultdict(Counter)
    for view in views:
        fresh: dict[str, bool] = {}
        for turn in view.turns:
            row = tallies[turn.model, turn.agent]
            _count_turn(row, turn, fresh.get(turn.agent, True))
            if turn.requests or turn.refusals or turn.failed:
                fresh[turn.agent] = not (turn.failed or failures_of(turn))
    for (model, role), row in sorted(tallies.items()):
        usage = Usage(row["in"], row["out"], row["cached"])
        yield {
            "model": model or "(saved answer)",
            "role": role,
            "turns": row["turns"],
            "steps": row["steps"],
            "first try passed": row["passed"],
            "95 % interval": _interval(Share(row["passed"], row["steps"])),
            "requests": row["requests"],
            "repaired": row["repaired"],
            "corrected": row["corrected"],
            "denied": row["denied"],
            "tokens in": row["in"] + row["cached"],
            "tokens out": row["out"],
            "cost": prices.text(prices.cost(model, usage)),
        }


def _count_turn(row: Counter[str], turn: TurnView, fresh: bool) -> None:
    row["turns"] += turn.number > 0
    row["in"] += turn.input_tokens
    row["out"] += turn.output_tokens
    row["cached"] += turn.cached_tokens
    row["requests"] += len(turn.requests)
    row["repaired"] += sum(bool(request.repairs) for request in turn.requests)
    row["corrected"] += sum(one.taken for one in turn.corrections)
    row["denied"] += sum(approval.answer in ("deny", "abort") for approval in turn.approvals)
    if turn.requests or turn.refusals:
        row["steps"] += fresh
        row["passed"] += fresh and turn.outcome not in _FAILED_FIRST


def _interval(share: Share) -> str:
    if not share.of:
        return ""
    low, high = share.interval
    return f"{100 * low:.0f}–{100 * high:.0f} %"


def _by_rule(views: Iterable[SessionView], _prices: Prices) -> Iterator[Row]:
    tallies: _Tallies = defaultdict(Counter)
    sessions: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for view in views:
        for turn in view.turns:
            for gate in turn.gates:
                for finding in (one for one in gate.verdict.findings if one.new):
                    pair = (finding.rule, finding.tool)
                    tallies[pair]["found"] += 1
                    sessions[pair].add(view.session_id)
            left = turn.gates[-1].verdict.findings if turn.gates else ()
            approved = any(approval.answer == "approve" for approval in turn.approvals)
            for pair in {(one.rule, one.tool) for one in left if one.new}:
                tallies[pair]["turns"] += turn.failed
                tallies[pair]["waived"] += approved
    for key, row in sorted(tallies.items(), key=lambda item: (-item[1]["found"], item[0])):
        yield {
            "rule": key[0],
            "tool": key[1],
            "found": row["found"],
            "sessions": len(sessions[key]),
            "failed turns": row["turns"],
            "approved anyway": row["waived"],
        }


def _by_tool(views: Iterable[SessionView], _prices: Prices) -> Iterator[Row]:
    tallies: _Tallies = defaultdict(Counter)
    for turn in (turn for view in views for turn in view.turns):
        for request in turn.requests:
            row = tallies[(request.tool,)]
            row["requests"] += 1
            row["invalid"] += request.valid is False
            row["repaired"] += bool(request.repairs)
        for approval in turn.approvals:
            for tool in approval.tools:
                tallies[(tool,)]["denied"] += approval.answer in ("deny", "abort")
        for result in turn.results:
            if result.tool:
                tallies[(result.tool,)]["failed"] += not result.ok
    for (tool,), row in sorted(tallies.items(), key=lambda item: (-item[1]["requests"], item[0])):
        yield {"tool": tool, **{name: row[name] for name in ("requests", "invalid", "repaired", "denied", "failed")}}


def _by_decision(views: Iterable[SessionView], _prices: Prices) -> Iterator[Row]:
    tallies: _Tallies = defaultdict(Counter)
    seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for view in views:
        for turn in view.turns:
            undone = bool(set(view.undone) & set(turn.checkpoints))
            for asked in (one for one in turn.approvals if one.answer != "dry_run"):
                lines = changed_lines(asked.diff)
                pair = (asked.answer or "no answer", asked.by)
                row = tallies[pair]
                seconds[pair].append(asked.seconds)
                row["count"] += 1
                row["lines"] += lines
                row["undone"] += undone and asked.answer == "approve"
                row["reflex"] += hardly_read(asked, lines)
    for key, row in sorted(tallies.items()):
        yield {
            "decision": key[0],
            "by": key[1],
            "count": row["count"],
            "median seconds": round(statistics.median(seconds[key]), 1),
            "changed lines": row["lines"],
            "undone later": row["undone"],
            "hardly read": row["reflex"],
        }


#: What sessions can be counted by.
GROUPS: Final[dict[str, Callable[[Iterable[SessionView], Prices], Iterator[Row]]]] = {
    "model": _by_model,
    "rule": _by_rule,
    "tool": _by_tool,
    "decision": _by_decision,
}
