"""What a session came to: one closed set of words, the same in exit codes, summaries, lists, pages, events and results.

An outcome comes from what the log shows, never from what a model says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

SessionEnd = Literal[
    "changed", "answered", "asked", "unchanged", "claimed", "rejected", "gave_up", "stopped", "error", "dry_run"
]

#: Each outcome with what it means, for people.
MEANINGS: Final[Mapping[SessionEnd, str]] = {
    "changed": "files were changed",
    "answered": "the role's answer is complete",
    "asked": "a question is open",
    "unchanged": "nothing was changed, with a reason",
    "claimed": "it claims what the log does not show",
    "rejected": "the reviewer rejected it",
    "gave_up": "it could not be done",
    "stopped": "a person stopped it",
    "error": "a model, a machine or AI-Rails failed",
    "dry_run": "tried without writing",
}
#: Outcomes after which the work may go on: the next agent begins, the exit code is 0.
GOOD: Final = frozenset({"changed", "answered", "unchanged"})
#: What a pause, an applied answer, and a log of an earlier version call them.
_OTHER_WORDS: Final[Mapping[str, SessionEnd]] = {
    "done": "changed",
    "nothing_done": "gave_up",
    "aborted": "stopped",
    "left": "stopped",
    "waiting": "asked",
    "unanswered": "asked",
    "model_failed": "error",
    "internal_error": "error",
    "partial": "error",
    "denied": "stopped",
    "refused": "gave_up",
}


def outcome_for(word: str) -> SessionEnd:
    """Return the outcome that ``word`` of a log means; "error" for one that no version has written."""
    if word in MEANINGS:
        return word  # type: ignore[return-value]
    return _OTHER_WORDS.get(word, "error")


def is_good(word: str) -> bool:
    """Return whether the work may go on after the outcome ``word``."""
    return outcome_for(word) in GOOD
