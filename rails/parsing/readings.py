"""Several readings of one block: were its backslashes escaped, or was the text pasted? The target decides.

A block whose strings hold raw line ends or escapes that JSON does not know was not written by a JSON writer, so
backslashes in it may mean themselves. Where that gives another value, both are parsed in the language of the file
that they would be written to. The one that parses is taken when exactly one does; otherwise the block is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.tool_request import PATH_KEYS, Json
from rails.data_formats import source
from rails.data_formats.strict_json import JsonFault, ParsedJson
from rails.parsing.lenient_json import KnownNames
from rails.parsing.lenient_tokens import Escapes
from rails.parsing.repairs import repair

#: Keys of whole texts of a file; anything else is a fragment, which no parser can judge.
_WHOLE: Final = frozenset({"content", "contents", "file_text", "text", "code", "source"})
_DOUBTFUL: Final = frozenset({"raw_control", "unknown_escape", "long_string"})
_DEPTH: Final = 8
#: The readings beside JSON's own.
_WAYS: Final[tuple[Escapes, ...]] = ("pasted", "literal")


def settle_readings(
    text: str, found: ParsedJson | JsonFault, *, known: KnownNames, closers: bool
) -> ParsedJson | JsonFault:
    """Return the one reading of a repaired block; ``found`` is what ``repair`` made of it."""
    if "\\" not in text:
        return found
    if isinstance(found, JsonFault):
        if found.code != "mixed_escapes":
            return found
        decoded = repair(text, known=known, closers=closers, escapes="decoded")
    else:
        if _DOUBTFUL.isdisjoint(note.name for note in found.repairs):
            return found
        decoded = found
    others = [repair(text, known=known, closers=closers, escapes=way) for way in _WAYS]
    readings = [one for one in (decoded, *others) if isinstance(one, ParsedJson)]
    if len(readings) <= len(_WAYS):
        return found if isinstance(found, JsonFault) else decoded
    chosen = next((one for one in readings if all(choose(one, other) is one for other in readings)), None)
    if chosen is not None and (chosen is not readings[0] or _only_one(readings) or not _is_long(readings[0])):
        return chosen
    at = found.offset if isinstance(found, JsonFault) else text.index("\\")
    return JsonFault(
        "mixed_escapes",
        "the backslashes of a string can be read in two ways: escaped for JSON, or as they are",
        at,
    )


def _only_one(readings: Sequence[ParsedJson]) -> bool:
    return all(one.value == readings[0].value for one in readings)


def _is_long(reading: ParsedJson) -> bool:
    """Return whether a string stood between back-ticks or three quotation marks, whose escapes are not JSON's."""
    return any(note.name == "long_string" for note in reading.repairs)


def choose(decoded: ParsedJson, literal: ParsedJson) -> ParsedJson | None:
    """Return the reading whose texts parse where they are written to, if only one does; None otherwise."""
    differing = list(_differing(decoded.value, literal.value, ""))
    verdicts = {_judged(key, path, one, other) for key, path, one, other in differing}
    if not verdicts or verdicts == {"decoded"}:
        return decoded
    return literal if verdicts == {"literal"} else None


def _differing(one: Json, other: Json, path: str, depth: int = 0) -> Iterator[tuple[str, str, str, str]]:
    """Yield (key, path of the file, text, other text) for each string that the two values do not share."""
    if depth > _DEPTH or one == other:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        own = next((value for name in PATH_KEYS if isinstance(value := one.get(name), str)), path)
        for key, value in one.items():
            against = other.get(key)
            if isinstance(value, str) and isinstance(against, str) and value != against:
                yield key, own, value, against
            else:
                yield from _differing(value, against, own, depth + 1)
    elif isinstance(one, list) and isinstance(other, list):
        for value, against in zip(one, other, strict=False):
            if isinstance(value, str):
                if value != against:
                    yield "", path, value, str(against)
            else:
                yield from _differing(value, against, path, depth + 1)


def _judged(key: str, path: str, decoded: str, literal: str) -> str:
    """Return which of two texts is the file's: "decoded", "literal", or "" where both or none could be."""
    language = source.language_of(path) if key in _WHOLE else ""
    first, second = source.parses(decoded, language), source.parses(literal, language)
    if first is None or second is None or first == second:
        return ""
    return "decoded" if first else "literal"
