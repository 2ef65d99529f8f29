"""The search line: words, ``"phrases"``, ``begin*``, ``-not``, fields; all must hold.

    gate E501 tool:edit_file is:failed -session:20261121-232415-7f3a after:2026-11-21

Fields: ``type role model tool path rule code by is session``, ``after`` (inclusive), ``before`` (exclusive; UTC),
``since`` (``yesterday``, ``today``, ``8h``, ``3d``, ``2w``, local). Values may end with ``*``. ``text:"rse_req"`` is a
substring. Unknown fields are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.errors import UsageError
from rails.log.terms import Words, folded_words

FACETS: Final = ("type", "role", "model", "tool", "path", "rule", "code", "by", "is")
_PIECE: Final = re.compile(r'(?P<not>-)?(?:(?P<field>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))')
_AGO: Final = re.compile(r"(\d{1,4})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 168}
_TIME: Final = re.compile(r"\d{4}-\d\d(-\d\d(T\d\d(:\d\d(:\d\d(\.\d{1,6})?)?)?)?)?Z?")


class Phrase(Struct, frozen=True):
    """Consecutive words; with ``begin``, the last is a prefix."""

    words: tuple[str, ...]
    begin: bool = False
    negative: bool = False


class Facet(Struct, frozen=True):
    """A field and its lower-case value; with ``begin``, a prefix."""

    name: str
    value: str
    begin: bool = False
    negative: bool = False


class Query(Struct, frozen=True):
    """A search line, understood."""

    phrases: tuple[Phrase, ...] = ()
    facets: tuple[Facet, ...] = ()
    sessions: tuple[str, ...] = ()
    not_sessions: tuple[str, ...] = ()
    after: str = ""
    before: str = ""
    pieces: tuple[str, ...] = ()

    def takes_session(self, session_id: str) -> bool:
        """Return whether records of this session may match."""
        return session_id not in self.not_sessions and (not self.sessions or session_id in self.sessions)

    def takes_time(self, timestamp: str) -> bool:
        """Return whether a record of this time may match."""
        return self.after <= timestamp and (not self.before or timestamp < self.before)

    def has_phrases(self, words: Words) -> bool:
        """Return whether these words include all required and no excluded phrases."""
        return all(_has_phrase(words, phrase) is not phrase.negative for phrase in self.phrases)

    def has_facets(self, facets: frozenset[tuple[str, str]]) -> bool:
        """Return whether these fields include all required and no excluded ones."""
        return all(_has_facet(facets, facet) is not facet.negative for facet in self.facets)


def parse_query(line: str) -> Query:
    """Return the parsed line. Raises UsageError for bad times or length."""
    if len(line) > limits.QUERY_CHARS:
        raise UsageError(f"The search has {len(line)} characters; {limits.QUERY_CHARS} are allowed.")
    phrases: list[Phrase] = []
    facets: list[Facet] = []
    times = {"after": "", "before": ""}
    sessions: dict[bool, list[str]] = {False: [], True: []}
    pieces: list[str] = []
    for piece in _PIECE.finditer(line):
        negative = piece["not"] is not None
        field = piece["field"]
        value = piece["plain"] if piece["quoted"] is None else piece["quoted"]
        begin = piece["quoted"] is None and value.endswith("*")
        value = value.rstrip("*") if begin else value
        if field in FACETS:
            facets.append(Facet(field, value.lower(), begin, negative))
        elif field == "session":
            sessions[negative].append(value)
        elif field in times:
            times[field] = _time(field, value)
        elif field == "since":
            times["after"] = since_time(value)
        elif field == "text" and not negative and value:
            pieces.append(f"{value}*" if begin else value)
        else:
            phrases += _phrases(f"{field} {value}" if field else value, begin, negative)
    return Query(
        tuple(phrases), tuple(facets), tuple(sessions[False]), tuple(sessions[True]), **times, pieces=tuple(pieces)
    )


def since_time(value: str, now: datetime | None = None) -> str:
    """Return the UTC time of ``since:``, relative to ``now`` or local midnight. Raises UsageError."""
    now = (now or datetime.now()).astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    if value in days:
        return _stamp(days[value])
    if ago := _AGO.fullmatch(value):
        return _stamp(now - timedelta(hours=int(ago[1]) * _HOURS[ago[2]]))
    if not _TIME.fullmatch(value):
        raise UsageError(f"since:{value} is not a time. Write yesterday, today, 8h, 3d, 2w or 2026-11-21.")
    return value.rstrip("Z")


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _phrases(text: str, begin: bool, negative: bool) -> Iterator[Phrase]:
    if words := folded_words(text):
        yield Phrase(tuple(words), begin, negative)


def _time(field: str, value: str) -> str:
    if not _TIME.fullmatch(value):
        raise UsageError(f"{field}:{value} is not a time. Write it as {field}:2026-11-21 or {field}:2026-11-21T23:30.")
    return value.rstrip("Z")


def _has_phrase(words: Words, phrase: Phrase) -> bool:
    needle = f" {' '.join(phrase.words)}{'' if phrase.begin else ' '}"
    return needle in words.body or needle in words.parts


def _has_facet(facets: frozenset[tuple[str, str]], facet: Facet) -> bool:
    if not facet.begin:
        return (facet.name, facet.value) in facets
    return any(name == facet.name and value.startswith(facet.value) for name, value in facets)
