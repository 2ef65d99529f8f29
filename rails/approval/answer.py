"""What somebody answered outside the run (the page, the review application), read strictly.

Anything odd is no answer, and says why.
"""

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

    ``rule``, ``uses`` and ``minutes`` are of a grant: the rule as it was shown. "widen" lets the approval hold for the
    session, "revoke" ends all grants and decides nothing. An edit has the new text of
    ``files`` by path, the numbers of pieces that are ``left_out`` by path (counted from 0), or asks for
    the agent's ``original`` again. Where there are options, ``choice`` is the word of one.
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
        """Return what :func:`read_answer` reads."""
        value: dict[str, Json] = msgspec.to_builtins(self)
        return value


def read_answer(value: object) -> PageAnswer:
    """Read an answer. Raises UsageError."""
    try:
        json.dumps(value, ensure_ascii=False).encode()  # text that no file could hold is none
        answer = msgspec.convert(value, PageAnswer)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"This is no answer: {error}") from error
    return msgspec.structs.replace(answer, reason=answer.reason.strip())
