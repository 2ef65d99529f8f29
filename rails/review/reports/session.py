"""A session as blocks: facts, figures, warnings. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.outcomes import outcome_for
from rails.core.text import head_and_tail, one_line
from rails.log.event_codec import NEWER
from rails.log.session_stats import SessionStats, seconds_between
from rails.projections.common import SessionView
from rails.render.blocks import Badge, Counts, Facts, Notes, Times
from rails.render.units import seconds_text, time_text

ENDINGS: Final = {
    "": Badge("…", "open", "Unfinished"),
    "changed": Badge("✓", "good", "Changed"),
    "answered": Badge("✓", "good", "Answered"),
    "unchanged": Badge("·", "dim", "Unchanged"),
    "asked": Badge("?", "open", "Asked"),
    "claimed": Badge("!", "open", "Claimed"),
    "rejected": Badge("✕", "bad", "Rejected"),
    "gave_up": Badge("✕", "bad", "Gave up"),
    "stopped": Badge("■", "open", "Stopped"),
    "error": Badge("✕", "bad", "Error"),
    "dry_run": Badge("·", "dim", "Dry run"),
}
#: What a count is called where it is 1.
_ONE: Final = {
    "turns": "turn",
    "requests": "request",
    "retries": "retry",
    "findings": "finding",
    "files changed": "file changed",
}
#: Of a task among the facts.
_TASK_CHARS: Final = 800
_STAGES: Final = ("model", "gate", "human", "write", "run")


def session_facts(view: SessionView, more: Mapping[str, str] | None = None) -> Facts:
    """Return what identifies a session, with ``more`` of it."""
    facts = {
        "session": view.session_id,
        "task": view.task,
        "started": time_text(view.started),
        "took": seconds_text(seconds_between(view.started, view.ended)) if view.ended else "",
        "agents": ", ".join(view.agents),
        "models": ", ".join(view.models),
        "project": view.project,
        **(more or {}),
    }
    return Facts(tuple((name, tuple(_lines(value))) for name, value in facts.items() if value))


def _lines(text: str) -> Iterator[str]:
    for line in head_and_tail(text.strip(), _TASK_CHARS)[0].splitlines():
        if line.strip():
            yield one_line(line, _TASK_CHARS)


def session_figures(view: SessionView) -> tuple[Counts, Times]:
    """Return a session's counts and times."""
    all_ = view.totals
    cached = sum(turn.cached_tokens for turn in view.turns)
    counts = {
        "turns": all_.turns,
        "requests": all_.requests,
        "repaired": all_.repairs,
        "refused": all_.refusals,
        "retries": all_.retries,
        "findings": all_.findings,
        "fixed": all_.findings_fixed,
        "approved": all_.approved,
        "denied": all_.denied,
        "files changed": all_.files_changed,
    }
    if all_.input_tokens or cached:
        counts |= {"tokens in": all_.input_tokens, **({"from the cache": cached} if cached else {})}
        counts["tokens out"] = all_.output_tokens
    return _counts(counts), Times(tuple((one, all_.seconds[one]) for one in _STAGES if one in all_.seconds))


def _counts(counts: Mapping[str, int]) -> Counts:
    return Counts(tuple((_ONE.get(name, name) if count == 1 else name, count) for name, count in counts.items()))


def stats_figures(stats: SessionStats) -> tuple[Counts, Times]:
    """Return the same from the stats of a session too long to be read whole."""
    counts = {
        "turns": stats.turns,
        "requests": stats.requests,
        "refused": stats.refused,
        "findings": sum(stats.rules.values()),
        "approved": stats.approved,
        "denied": stats.denied,
        "files changed": len(stats.paths),
        "tokens in": stats.input_tokens,
        "from the cache": stats.cached_tokens,
        "tokens out": stats.output_tokens,
    }
    return _counts(counts), Times(tuple((one, stats.stages[one]) for one in _STAGES if one in stats.stages))


def session_warnings(view: SessionView) -> Iterator[Notes]:
    """Yield warnings and the log's damage."""
    if view.attention:
        yield Notes("look", "Worth a second look", view.attention, "bad")
    if view.damage:
        newer = all(NEWER in words for words in view.damage)
        yield Notes("newer" if newer else "damaged", "Newer log" if newer else "Damaged log", view.damage, "bad")


def session_history(view: SessionView) -> Facts:
    """Return later actions on the session and its log's identity."""
    facts = {
        "resumed": f"{view.resumed} times" if view.resumed else "",
        "undone": f"steps {', '.join(map(str, view.undone))}" if view.undone else "",
        "unknown": f"{view.unknown_events} records of types that this version does not know"
        * bool(view.unknown_events),
        "log": f"{view.records:,} records; the last hash covers them all: {view.head}" if view.head else "",
    }
    return Facts(tuple((name, (words,)) for name, words in facts.items() if words))


def task_line(task: str) -> str:
    """Return a task as a line: its line ends are blanks."""
    return " ".join(task.split())


def ending_badge(outcome: str) -> Badge:
    """Return the badge of an outcome."""
    return ENDINGS[outcome_for(outcome) if outcome else ""]
