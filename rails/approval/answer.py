"""What somebody answered outside the run (the page, the review application), read strictly.

Anything odd is no answer, and says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast, get_args

from rails.approval.policy.grants import MINUTES, USES
from rails.core import limits
from rails.core.dataclass import dataclass, field
from rails.core.errors import UsageError
from rails.core.json_text import json_object
from rails.core.tool_request import Json

AnswerAction = Literal["approve", "deny", "abort", "grant", "widen", "revoke", "edit", "choose"]
#: Where it was answered: in the page, or in the application of ``ai-rails review``.
AnswerPlace = Literal["page", "review"]

_KNOWN: Final = (
    "do",
    "digest",
    "reason",
    "rule",
    "uses",
    "minutes",
    "files",
    "left_out",
    "original",
    "place",
    "choice",
)
_DOES: Final = get_args(AnswerAction)
_PLACES: Final = ("page", "review")
_DIGEST: Final = 64


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """An answer to the question with ``digest``.

    ``rule``, ``uses`` and ``minutes`` are of a grant: the rule as it was shown. "widen" lets the approval hold for the
    session, "revoke" ends all grants and decides nothing. An edit has the new text of
    ``files`` by path, the numbers of pieces that are ``left_out`` by path (counted from 0), or asks for
    the agent's ``original`` again. Where there are options, ``choice`` is the word of one.
    """

    do: AnswerAction
    digest: str
    reason: str = ""
    rule: str = ""
    uses: int = USES
    minutes: int = MINUTES
    files: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    original: bool = False
    place: AnswerPlace = "page"
    choice: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return what :func:`read_answer` reads."""
        return json_object(self)


def read_answer(value: object) -> PageAnswer:
    """Read an answer. Raises UsageError."""
    given = _object(value, "An answer")
    if unknown := sorted(set(given) - set(_KNOWN)):
        raise UsageError(f"{unknown[0][:40]!r} means nothing in an answer.")
    do, digest = _text(given, "do", 20), _text(given, "digest", _DIGEST)
    if do not in _DOES:
        raise UsageError(f"do has to be one of {', '.join(_DOES)}.")
    if (place := given.get("place", "page")) not in _PLACES:
        raise UsageError(f"place has to be one of {', '.join(_PLACES)}.")
    if len(digest) != _DIGEST:
        raise UsageError("The digest of what is answered is missing.")
    return PageAnswer(
        do=cast(AnswerAction, do),
        digest=digest,
        reason=_text(given, "reason", limits.REASON_CHARS).strip(),
        rule=_text(given, "rule", limits.REASON_CHARS),
        uses=_count(given, "uses", USES),
        minutes=_count(given, "minutes", MINUTES),
        files={path: _text({"text": text}, "text", limits.PAGE_BODY_BYTES) for path, text in _inner(given, "files")},
        left_out={path: _numbers(numbers) for path, numbers in _inner(given, "left_out")},
        original=given.get("original", False) is True,
        place=place,
        choice=_text(given, "choice", limits.REASON_CHARS),
    )


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise UsageError(f"{what} has to be an object.")
    return value


def _inner(given: Mapping[str, object], key: str) -> list[tuple[str, object]]:
    found = _object(given.get(key, {}), key)
    if len(found) > limits.FILES_PER_CHANGE:
        raise UsageError(f"{key} names more than {limits.FILES_PER_CHANGE} files.")
    return list(found.items())


def _text(given: Mapping[str, object], key: str, most: int) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise UsageError(f"{key} has to be a text.")
    if len(value) > most:
        raise UsageError(f"{key} has {len(value)} characters; {most} are allowed.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{key} is not text that a file could hold.") from error
    return value


def _count(given: Mapping[str, object], key: str, most: int) -> int:
    value = given.get(key, most)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise UsageError(f"{key} has to be a number from 1 to {most}.")
    return value


def _numbers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not all(type(number) is int and number >= 0 for number in value):
        raise UsageError("left_out has to list the numbers of the pieces.")
    return tuple(value)
