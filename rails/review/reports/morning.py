"""The morning report: what needs a person, changes, damaged logs. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Final

from rails.config.prices import Prices
from rails.core.conversation import Usage
from rails.core.text import counted, one_line
from rails.log.session_stats import DENIED, SessionStats
from rails.projections.common import SessionView, TurnView
from rails.render.blocks import Block, Cell, Remark, Table, cells
from rails.render.units import minute_text
from rails.review.reports.grouped import ReviewReport
from rails.review.reports.session import ending_badge, task_line
from rails.review.reports.sessions import states

#: What needs a person, the most urgent first, and what they can do about it.
_NEEDS: Final = {
    "asks": ("Asks", "ai-rails answer SESSION WORDS, or ai-rails serve"),
    "waiting": ("Waits", "answer where it runs or in ai-rails serve; ai-rails run --resume SESSION asks again"),
    "asked": ("Asks you", "ai-rails run --resume SESSION WORDS"),
    "rejected": ("The reviewer rejected it", "ai-rails review SESSION"),
    "claimed": ("Claims what the log does not show", "ai-rails review SESSION"),
    "unattended": ("Denied: nobody was there to ask", "ai-rails apply --denied SESSION"),
    "unfinished": ("Unfinished", "ai-rails run --resume SESSION"),
    "error": ("Broke off with an error", "ai-rails run --resume SESSION"),
    "gave_up": ("Gave up", "ai-rails review SESSION"),
    "damaged": ("Its log is damaged", "ai-rails log verify SESSION"),
}
_FILES: Final = 100


def morning(
    cards: Sequence[SessionStats], prices: Prices, whole: Mapping[str, bool], running: Collection[str], about: str
) -> ReviewReport:
    """Return the report; ``whole`` says of each log whether it verifies, ``running`` which sessions still work."""
    needs = [(card, need) for card in cards if (need := _need(card, card.session_id in running))]
    needs.sort(key=lambda pair: [*_NEEDS].index(pair[1]))
    changed = [card for card in cards if card.files]
    blocks: list[Block] = [_needs_table(needs), _changed_table(changed, prices)]
    blocks += [_files_table(changed)] if changed else []
    blocks.append(_verified(whole))
    value = {
        "needs_you": [{"session_id": card.session_id, "why": need, "task": card.task} for card, need in needs],
        "changed": [_changed_json(card, prices) for card in changed],
        "logs": dict(whole),
    }
    return ReviewReport(f"{counted(len(cards), 'session')}, {about}", tuple(blocks), value)  # type: ignore[arg-type]


def _need(card: SessionStats, running: bool) -> str:
    holds = {*states(card)}
    if card.waiting and card.asks:
        holds.add("asks")
    if running:
        holds -= {"unfinished", "error"}
    return next((need for need in _NEEDS if need in holds), "")


def _needs_table(needs: Sequence[tuple[SessionStats, str]]) -> Table:
    rows = []
    for card, need in needs:
        name = Cell(card.session_id, "head", session=card.session_id, record=card.waiting)
        more = shorten(card.question or card.message, 40, placeholder=" …")
        why = ": ".join(filter(None, (_NEEDS[need][0], more)))
        badge = ending_badge("" if need == "unattended" else card.ending)  # what was denied is not green
        rows.append(cells(name, Cell(why, badge.tone), _agents(card), task_line(card.task)))
    there = dict.fromkeys(need for _, need in needs)
    notes = tuple(f"{_NEEDS[need][0]}: {_NEEDS[need][1]}" for need in there) or ("Nothing needs you.",)
    return Table("Needs you", ("session", "why", "agent", "task"), tuple(rows), wide=frozenset({1, 3}), notes=notes)


def _changed_table(changed: Sequence[SessionStats], prices: Prices) -> Table:
    heads = (
        "session",
        "started",
        "agent",
        "outcome",
        "files",
        "+",
        "-",
        "tested",
        "turns",
        "failed",
        "tokens",
        "cost",
        "task",
    )
    rows = tuple(_changed_row(card, prices) for card in changed)
    notes = () if rows else ("No file was changed.",)
    numeric = frozenset({4, 5, 6, 8, 9, 10})
    return Table("Changed", heads, rows, numeric, frozenset({12}), (10, 9, 1, 8, 11, 2), notes)


def _changed_row(card: SessionStats, prices: Prices) -> tuple[Cell, ...]:
    facts = _changed_json(card, prices)
    tested = Cell("yes", "good") if card.tested else Cell("no", "open")
    ended = ending_badge(card.ending)
    return cells(
        Cell(card.session_id, "head", session=card.session_id),
        minute_text(card.started),
        _agents(card),
        Cell(ended.words.lower(), ended.tone),
        len(card.files),
        facts["added"],
        facts["removed"],
        tested,
        card.turns,
        facts["failed_attempts"],
        facts["tokens"],
        facts["cost"],
        task_line(card.task),
    )


def _changed_json(card: SessionStats, prices: Prices) -> dict[str, object]:
    """Return a session's changes; ``cost`` is "" without prices for all of its models."""
    costs = [prices.cost(model, Usage(*counts)) for model, counts in card.used.items()]
    known = [cost for cost in costs if cost is not None]
    return {
        "session_id": card.session_id,
        "outcome": card.ending,
        "files": {**card.files},
        "added": sum(added for added, _ in card.files.values()),
        "removed": sum(removed for _, removed in card.files.values()),
        "tested": card.tested,
        "turns": card.turns,
        "failed_attempts": card.failed,
        "tokens": sum(sum(counts) for counts in card.used.values()),
        "cost": prices.text(sum(known)) if known and len(known) == len(costs) else "",
    }


def _files_table(changed: Sequence[SessionStats]) -> Table:
    totals: dict[str, list[int]] = {}
    for card in changed:
        for path, (added, removed) in card.files.items():
            total = totals.setdefault(path, [0, 0, 0])
            total[0] += added
            total[1] += removed
            total[2] += 1
    ordered = sorted(totals.items(), key=lambda item: (-item[1][0] - item[1][1], item[0]))
    rows = tuple(cells(Cell(one_line(path, 200), "head"), *counts) for path, counts in ordered[:_FILES])
    left = len(ordered) - _FILES
    notes = (f"and {counted(left, 'more file')}",) if left > 0 else ()
    return Table("Files", ("file", "+", "-", "sessions"), rows, frozenset({1, 2, 3}), notes=notes)


def _verified(whole: Mapping[str, bool]) -> Remark:
    damaged = [name for name, holds in whole.items() if not holds]
    if not damaged:
        return Remark(f"{counted(len(whole), 'log')} verified: nothing is missing or changed.", "good")
    return Remark(f"{len(damaged)} of {counted(len(whole), 'log')} do not verify: {', '.join(damaged[:10])}.", "bad")


def _agents(card: SessionStats) -> str:
    return ", ".join(card.agents[:3])


def denied_answers(view: SessionView) -> list[tuple[str, str]]:
    """Return each turn with unattended denials as its agent and an answer, without those that were applied later."""
    asked: dict[str, str] = {}
    for turn in view.turns:
        if any((asked.answer, asked.by) == ("deny", "headless") for asked in turn.approvals):
            answer = "\n".join(_calls(turn))
            asked.pop(answer, None)
            asked[answer] = turn.agent
        if any(note.startswith(f"{DENIED}: ") for note in turn.notes):
            asked.clear()
    return [(agent, answer) for answer, agent in asked.items()]


def _calls(turn: TurnView) -> Iterator[str]:
    done = {request_id for result in turn.results for request_id in result.ids}
    for request in turn.requests:
        if request.id not in done:
            call = {"tool": request.tool, "parameters": request.parameters, "explanation": request.explanation}
            yield f"```json\n{json.dumps(call, ensure_ascii=False)}\n```\n"
