"""Answers from a list, for the demo and for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from rails.approval.decision import ApprovalRequest, Choice, Decision
from rails.core.errors import UsageError
from rails.core.text import one_line

_ANSWERS: Final = ("approve", "deny", "abort")


class ScriptedApprover:
    """Gives ``answers`` in order: ``"approve"``, ``"deny: the reason"``, ``"abort"``.

    ``show`` gets each request first. After the last answer it denies. Raises UsageError for other answers.
    """

    def __init__(
        self,
        answers: Sequence[str | Decision],
        show: Callable[[ApprovalRequest], object] = lambda _: None,
        *,
        by: str = "script",
    ) -> None:
        self._answers = [answer if isinstance(answer, Decision) else _parse(answer) for answer in answers]
        self._show = show
        self._by = by
        self._next = 0

    @property
    def remaining(self) -> int:
        """Return the number of unused answers."""
        return len(self._answers) - self._next

    def decide(self, request: ApprovalRequest) -> Decision:
        """Return the script's next answer, whatever the question."""
        self._show(request)
        if not self.remaining:
            return Decision("deny", "The script has no more answers.", self._by, of=request.digest)
        scripted = self._answers[self._next]
        self._next += 1
        return Decision(scripted.answer, scripted.reason, self._by, scope=scripted.scope, of=request.digest)


def _parse(text: str) -> Decision:
    answer, _, reason = text.partition(":")
    if answer.strip() not in _ANSWERS:
        raise UsageError(f'{one_line(text)!r} is not an answer. Write "approve", "deny: reason" or "abort".')
    return Decision(cast(Choice, answer.strip()), reason.strip(), "script")
