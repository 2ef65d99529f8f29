"""Two sessions side by side: where they part, and what differs in the end. Pure.

Turns are aligned by who asked for what and the result (``rails.review.reports.compare``). Findings are named
as SARIF names them against a baseline, the first session: unchanged, new, absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, Literal, TypeAlias

from rails.config.prices import Prices
from rails.core.conversation import Usage
from rails.core.dataclass import dataclass
from rails.projections.attempts import causes_of, what_was_said
from rails.projections.common import SessionView, TurnView

_CELLS: Final = 1_000_000
_Key: TypeAlias = tuple[str, frozenset[str], str, tuple[str, ...]]
Pairs: TypeAlias = Iterator[tuple[TurnView | None, TurnView | None]]


def align_turns(first: Sequence[TurnView], second: Sequence[TurnView]) -> Pairs:
    """Yield pairs of turns in order; ``None`` stands beside a turn that has no partner."""
    if len(first) * len(second) > _CELLS:
        yield from zip_longest(first, second)
        return
    ones, others = [_key(turn) for turn in first], [_key(turn) for turn in second]
    best = _scores(ones, others)
    i = j = 0
    while i < len(first) and j < len(second):
        score = _likeness(ones[i], others[j])
        if score and best[i][j] == score + best[i + 1][j + 1]:
            yield first[i], second[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield first[i], None
            i += 1
        else:
            yield None, second[j]
            j += 1
    yield from ((turn, None) for turn in first[i:])
    yield from ((None, turn) for turn in second[j:])


def _scores(ones: Sequence[_Key], others: Sequence[_Key]) -> list[list[int]]:
    """Return the best score of what is left, from each pair of positions on."""
    best = [[0] * (len(others) + 1) for _ in range(len(ones) + 1)]
    for i in range(len(ones) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(others) - 1, -1, -1):
            row[j] = max(_likeness(ones[i], others[j]) + below[j + 1], below[j], row[j + 1])
    return best


def _key(turn: TurnView) -> _Key:
    asked = frozenset(f"{request.tool} {' '.join(request.paths)}" for request in turn.requests)
    return turn.agent, asked, turn.outcome, causes_of(turn)


def _likeness(one: _Key, other: _Key) -> int:
    """Return how alike two turns are: 0 (different agents or requests) to 6."""
    agent, asked, outcome, causes = one
    if agent != other[0] or (asked != other[1] and not asked & other[1]):
        return 0
    return (
        2 * (asked == other[1]) + 1 + (outcome == other[2]) + bool(set(causes) & set(other[3])) + (one[2:] == other[2:])
    )


Likeness = Literal["same", "other answer", "other outcome", "only first", "only second"]
_STAGES: Final = ("model", "gate", "human", "write", "run")


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """A turn in short. ``causes`` say why it failed, ``record`` is its first log record."""

    number: int
    record: int
    agent: str
    asked: str
    outcome: str
    causes: tuple[str, ...]
    progress: str
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Turns that belong together, and how alike they are."""

    first: ComparedTurn | None
    second: ComparedTurn | None
    likeness: Likeness


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of both sessions, as text; ``better`` is 1 or 2 where less is better and one has less."""

    name: str
    first: str
    second: str
    better: Literal[0, 1, 2] = 0


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened in each."""

    name: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class FindingState:
    """A finding of either session, with the first as the baseline."""

    path: str
    rule: str
    message: str
    state: Literal["unchanged", "new", "absent"]


@dataclass(frozen=True, slots=True)
class FileState:
    """A file that either session wrote; ``state`` compares the bytes that each left behind."""

    path: str
    state: Literal["same", "different", "only first", "only second"]


@dataclass(frozen=True, slots=True)
class Side:
    """What identifies one of the two."""

    session_id: str
    started: str
    task: str
    outcome: str
    models: tuple[str, ...]
    prompts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """Two sessions compared. ``parted`` is the index of the first pair that is not the same, -1: there is none."""

    first: Side
    second: Side
    same_task: bool
    measures: tuple[Measure, ...]
    pairs: tuple[Pair, ...]
    parted: int
    failures: tuple[Count, ...]
    rules: tuple[Count, ...]
    findings: tuple[FindingState, ...]
    files: tuple[FileState, ...]


def compare_sessions(first: SessionView, second: SessionView, prices: Prices | None = None) -> SessionComparison:
    """Return what is the same and what differs in two sessions; the first is the baseline."""
    pairs = tuple(_pair(one, other) for one, other in align_turns(first.turns, second.turns))
    parted = next((index for index, pair in enumerate(pairs) if pair.likeness != "same"), -1)
    return SessionComparison(
        first=_side(first),
        second=_side(second),
        same_task=first.task.strip() == second.task.strip(),
        measures=tuple(_measures(first, second, prices or Prices())),
        pairs=pairs,
        parted=parted,
        failures=_counts(_causes(first), _causes(second)),
        rules=_counts(_rules(first), _rules(second)),
        findings=tuple(_findings(first, second)),
        files=tuple(_files(first, second)),
    )


def _side(view: SessionView) -> Side:
    prompts = tuple(f"{agent} {digest or 'unknown'}" for agent, digest in view.prompts.items())
    return Side(view.session_id, view.started, view.task, view.outcome, view.models, prompts)


def _pair(one: TurnView | None, other: TurnView | None) -> Pair:
    if one is None or other is None:
        return Pair(_step(one), _step(other), "only second" if one is None else "only first")
    alike: Likeness = "same"
    if (one.outcome, causes_of(one)) != (other.outcome, causes_of(other)):
        alike = "other outcome"
    elif what_was_said(one) != what_was_said(other):
        alike = "other answer"
    return Pair(_step(one), _step(other), alike)


def _step(turn: TurnView | None) -> ComparedTurn | None:
    if turn is None:
        return None
    asked = "; ".join(f"{r.tool} {', '.join(r.paths)}".strip() for r in turn.requests) or "text only"
    tokens = turn.input_tokens + turn.cached_tokens + turn.output_tokens
    seconds = round(sum(turn.seconds.values()), 3)
    return ComparedTurn(
        turn.number, turn.first_seq, turn.agent, asked, turn.outcome, causes_of(turn), turn.progress, tokens, seconds
    )


def _measures(first: SessionView, second: SessionView, prices: Prices) -> Iterator[Measure]:
    one, other = first.totals, second.totals
    yield Measure("outcome", first.outcome or "unfinished", second.outcome or "unfinished")
    counts = (
        ("turns", one.turns, other.turns),
        ("failed turns", _failed(first), _failed(second)),
        ("requests", one.requests, other.requests),
        ("JSON repairs", one.repairs, other.repairs),
        ("refusals", one.refusals, other.refusals),
        ("findings", one.findings, other.findings),
        ("denied", one.denied, other.denied),
        ("tokens in", _read(first), _read(second)),
        ("tokens out", one.output_tokens, other.output_tokens),
    )
    for name, a, b in counts:
        yield Measure(name, f"{a:,}", f"{b:,}", _less(a, b))
    costs = [_cost(view, prices) for view in (first, second)]
    if costs[0] is not None and costs[1] is not None:
        yield Measure("cost", prices.text(costs[0]), prices.text(costs[1]), _less(costs[0], costs[1]))
    for stage in _STAGES:
        spent, other_spent = one.seconds.get(stage, 0.0), other.seconds.get(stage, 0.0)
        if spent or other_spent:
            yield Measure(f"{stage} time", f"{spent:.1f} s", f"{other_spent:.1f} s", _less(spent, other_spent))
    yield Measure("files changed", f"{one.files_changed:,}", f"{other.files_changed:,}")


def _failed(view: SessionView) -> int:
    return sum(turn.failed for turn in view.turns)


def _read(view: SessionView) -> int:
    return sum(turn.input_tokens + turn.cached_tokens for turn in view.turns)


def _cost(view: SessionView, prices: Prices) -> float | None:
    costs = [
        prices.cost(t.model, Usage(t.input_tokens, t.output_tokens, t.cached_tokens)) for t in view.turns if t.number
    ]
    return None if None in costs or not costs else sum(cost for cost in costs if cost is not None)


def _less(a: float, b: float) -> Literal[0, 1, 2]:
    return 0 if a == b else 1 if a < b else 2


def _counts(first: Counter[str], second: Counter[str]) -> tuple[Count, ...]:
    names = sorted({*first, *second}, key=lambda name: (-(first[name] + second[name]), name))
    return tuple(Count(name, first[name], second[name]) for name in names)


def _causes(view: SessionView) -> Counter[str]:
    return Counter(cause for turn in view.turns for cause in causes_of(turn))


def _rules(view: SessionView) -> Counter[str]:
    return Counter(f.rule for turn in view.turns for gate in turn.gates for f in gate.verdict.findings if f.new)


def _findings(first: SessionView, second: SessionView) -> Iterator[FindingState]:
    baseline, others = _found(first), _found(second)
    for key in sorted({*baseline, *others}):
        yield FindingState(*key, "absent" if key not in others else "unchanged" if key in baseline else "new")


def _found(view: SessionView) -> set[tuple[str, str, str]]:
    return {(f.path, f.rule, f.message) for t in view.turns for g in t.gates for f in g.verdict.findings if f.new}


def _files(first: SessionView, second: SessionView) -> Iterator[FileState]:
    one, other = _left(first), _left(second)
    for path in sorted({*one, *other}):
        if path not in other:
            yield FileState(path, "only first")
        elif path not in one:
            yield FileState(path, "only second")
        else:
            yield FileState(path, "same" if one[path] == other[path] else "different")


def _left(view: SessionView) -> Mapping[str, str | None]:
    """Return the hash that each file had after the session wrote it last; undone steps are left out."""
    left: dict[str, str | None] = {}
    for turn in view.turns:
        if set(turn.checkpoints) & set(view.undone):
            continue
        for result in turn.results:
            if result.ok:
                left.update({change.path: change.after_sha256 for change in result.changes or ()})
    return left
