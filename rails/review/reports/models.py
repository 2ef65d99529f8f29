"""How well models and prompts do, from your own logs: rates with intervals, and no rank that chance explains. Pure.

A *step* is one thing that an agent did with tool requests: a first attempt and the tries that followed it.
A first attempt passes when its requests are valid, can be carried out and pass the checks; what a human
thought of it is counted apart.

Intervals are Wilson's score intervals for a share (E. B. Wilson, 1927), at 95 %: they hold for few cases
and near 0 and 1, where the usual formula does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final

from rails.config.prices import Prices
from rails.core.conversation import Usage
from rails.core.dataclass import dataclass, field
from rails.projections.attempts import failures_of
from rails.projections.common import SessionView, TurnView
from rails.projections.share import Share
from rails.render.blocks import Cell, CellStyle, Table, cells

#: Steps that a row needs before it is compared with another.
ENOUGH: Final = 10


@dataclass(slots=True)
class ModelRow:
    """One model in one role with one prompt (the beginning of its SHA-256)."""

    model: str
    role: str
    prompt: str
    sessions: int = 0
    turns: int = 0
    steps: int = 0
    passed: int = 0
    tries: int = 0
    requests: int = 0
    repaired: int = 0
    approved: int = 0
    denied: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None

    @property
    def first(self) -> Share:
        """First attempts that passed."""
        return Share(self.passed, self.steps)


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Rows by model, role and prompt, and what can be said of their differences."""

    sessions: int
    rows: tuple[ModelRow, ...]
    differences: tuple[str, ...]
    prices: Prices = field(default_factory=Prices)


def model_report(views: Iterable[SessionView], prices: Prices | None = None) -> ModelReport:
    """Return how models and prompts did in these sessions."""
    prices = prices or Prices()
    rows: dict[tuple[str, str, str], ModelRow] = {}
    count = 0
    for view in views:
        count += 1
        seen = set()
        fresh: dict[str, bool] = {}
        for turn in view.turns:
            key = (turn.model, turn.agent, view.prompts.get(turn.agent, ""))
            row = rows.setdefault(key, ModelRow(*key))
            row.sessions += key not in seen
            seen.add(key)
            _count(row, turn, fresh.get(turn.agent, True))
            if turn.requests or turn.refusals or turn.failed:
                fresh[turn.agent] = not (turn.failed or failures_of(turn))
    for row in rows.values():
        row.cost = prices.cost(row.model, Usage(row.input_tokens, row.output_tokens, row.cached_tokens))
    ordered = tuple(rows[key] for key in sorted(rows, key=lambda key: (key[1], key[0], key[2])))
    return ModelReport(count, ordered, tuple(_differences(ordered)), prices)


def _count(row: ModelRow, turn: TurnView, fresh: bool) -> None:
    row.turns += turn.number > 0
    row.input_tokens += turn.input_tokens
    row.output_tokens += turn.output_tokens
    row.cached_tokens += turn.cached_tokens
    row.seconds += turn.seconds.get("model", 0.0)
    row.requests += len(turn.requests)
    row.repaired += sum(bool(request.repairs) for request in turn.requests)
    row.approved += sum(approval.answer == "approve" for approval in turn.approvals)
    row.denied += sum(approval.answer in ("deny", "abort") for approval in turn.approvals)
    if not (turn.requests or turn.refusals):
        return
    row.tries += 1
    row.steps += fresh
    row.passed += fresh and turn.outcome not in ("refused", "findings", "failed", "open")


def _differences(rows: tuple[ModelRow, ...]) -> Iterator[str]:
    """Say which rows of a role differ by more than chance."""
    for one, other in combinations(rows, 2):
        if one.role != other.role or min(one.steps, other.steps) < ENOUGH:
            continue
        (low, high), (other_low, other_high) = one.first.interval, other.first.interval
        if low > other_high or other_low > high:
            better, worse = (one, other) if low > other_high else (other, one)
            yield f"{one.role}: {_name(better)} passes more often at first than {_name(worse)}."


def _name(row: ModelRow) -> str:
    return f"{row.model or 'a saved answer'} (prompt {row.prompt or 'unknown'})"


def models_table(report: ModelReport) -> Table:
    """Return the report as a table."""
    money = any(row.cost is not None for row in report.rows)
    heads = (
        *("role", "model", "prompt", "sessions", "turns", "steps", "first try passed", "95 % interval"),
        *("tries a step", "repaired", "denied", "tokens in", "out", "model s a turn"),
    )
    notes = [
        "A step is a first attempt with tool requests and the tries that followed it. It passed at first when its "
        "requests were valid and the checks found nothing new.",
        *report.differences,
    ]
    if not report.differences:
        notes.append(
            f"No two rows of a role with {ENOUGH} steps or more differ by more than chance: their intervals overlap."
        )
    if money:
        notes.append(f"Cost by your prices.toml, as of {report.prices.as_of or 'no date given'}.")
    return Table(
        "Models and prompts",
        (*heads, *(("cost",) if money else ())),
        tuple(_row(row, report.prices, money=money) for row in report.rows),
        numeric=frozenset(range(3, len(heads) + 1)) if money else frozenset(range(3, len(heads))),
        optional=(13, 4, 10, 9, 12, 11, 3),
        notes=tuple(notes),
    )


def _row(row: ModelRow, prices: Prices, *, money: bool) -> tuple[Cell, ...]:
    low, high = row.first.interval
    style: CellStyle = "dim" if row.steps < ENOUGH else "good" if low >= 0.5 else "bad" if high < 0.5 else ""
    return cells(
        row.role,
        Cell(row.model or "(saved answer)", "head"),
        row.prompt or "unknown",
        row.sessions,
        row.turns,
        row.steps,
        Cell(percent(row.passed, row.steps), style),
        Cell(f"{100 * low:.0f}–{100 * high:.0f} %", style, span=(low, row.passed / row.steps, high))
        if row.steps
        else "",
        f"{row.tries / row.steps:.2f}" if row.steps else "",
        percent(row.repaired, row.requests),
        percent(row.denied, row.approved + row.denied),
        row.input_tokens + row.cached_tokens,
        row.output_tokens,
        f"{row.seconds / row.turns:.1f}" if row.turns else "",
        *((prices.text(row.cost),) if money else ()),
    )


def percent(hits: int, of: int) -> str:
    """Return a share in percent; "" when nothing was counted."""
    return f"{100 * hits / of:.0f} %" if of else ""
