"""Session outcomes: a closed set of words, from the log, never from a model's claims."""

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
#: What a pause, an applied answer, and a log of an earlier version call them; all other words are an error.
_OTHER_WORDS: Final[Mapping[str, SessionEnd]] = {
    "done": "changed",
    "nothing_done": "gave_up",
    "aborted": "stopped",
    "left": "stopped",
    "waiting": "asked",
    "unanswered": "asked",
    "denied": "stopped",
    "refused": "gave_up",
}


def outcome_for(word: str) -> SessionEnd:
    """Return a logged ``word``'s outcome; "error" if unknown."""
    if word in MEANINGS:
        return word  # type: ignore[return-value]
    return _OTHER_WORDS.get(word, "error")


def is_good(word: str) -> bool:
    """Return whether work may go on after this outcome."""
    return outcome_for(word) in GOOD
