"""Answers from outside the run (page, review application), read strictly."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rails.approval.policy.grants import MINUTES, USES
from rails.core import limits
from rails.core.errors import UsageError
from rails.core.tool_request import Json

AnswerAction = Literal["approve", "deny", "abort", "grant", "widen", "revoke", "edit", "choose"]
#: Where it was answered: in the page, or in the application of ``ai-rails review``.
AnswerPlace = Literal["page", "review"]
_Words = Annotated[str, Meta(max_length=limits.REASON_CHARS)]
_Text = Annotated[str, Meta(max_length=limits.PAGE_BODY_BYTES)]
_OfFiles = Meta(max_length=limits.FILES_PER_CHANGE)


class PageAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer to the question with ``digest``.

    ``rule``, ``uses``, ``minutes``: of a grant. "widen" extends the approval to the session; "revoke" ends all grants,
    deciding nothing. An edit has new texts (``files``) or dropped hunks (``left_out``, from 0) by path, or asks for the
    agent's ``original``. ``choice``: an option's word.
    """

    do: AnswerAction
    digest: Annotated[str, Meta(min_length=64, max_length=64)]
    reason: _Words = ""
    rule: _Words = ""
    uses: Annotated[int, Meta(ge=1, le=USES)] = USES
    minutes: Annotated[int, Meta(ge=1, le=MINUTES)] = MINUTES
    files: Annotated[dict[str, _Text], _OfFiles] = {}
    left_out: Annotated[dict[str, tuple[Annotated[int, Meta(ge=0)], ...]], _OfFiles] = {}
    original: bool = False
    place: AnswerPlace = "page"
    choice: _Words = ""

    def to_json(self) -> dict[str, Json]:
        """Return the input of :func:`read_answer`."""
        value: dict[str, Json] = msgspec.to_builtins(self)
        return value


def read_answer(value: object) -> PageAnswer:
    """Read an answer. Raises UsageError."""
    try:
        json.dumps(value, ensure_ascii=False).encode()  # text that no file could hold is none
        answer = msgspec.convert(value, PageAnswer)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"This is not an answer: {error}") from error
    return msgspec.structs.replace(answer, reason=answer.reason.strip())
