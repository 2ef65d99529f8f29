"""Several readings of one block: were its backslashes escaped, or was the text pasted? The target decides.

A block whose strings hold raw line ends or escapes that JSON does not know was not written by a JSON writer, so
backslashes in it may mean themselves. Every consistent way to read them is tried (``lenient_tokens.Escapes``). Where
they give different texts, each is parsed in the language of the file that it would be written to. The one that parses
is taken when exactly one does; otherwise the block is refused. So it is where that one rests on line ends that were
written as escapes *inside* a string of that language, because there the same writer may have meant the escape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

from rails.core.tool_request import PATH_KEYS, Json
from rails.data_formats import source
from rails.data_formats.strict_json import JsonFault, ParsedJson
from rails.parsing.lenient_json import KnownNames
from rails.parsing.lenient_tokens import ALL_ESCAPES, WRITTEN
from rails.parsing.repairs import repair

#: Keys of whole texts of a file; anything else is a fragment, which no parser can judge.
_WHOLE: Final = frozenset({"content", "contents", "file_text", "text", "code", "source"})
#: Keys of texts of a file, whole or not.
_OF_FILES: Final = _WHOLE | {"old_string", "new_string", "oldString", "newString", "old_str", "new_str"}
_DOUBTFUL: Final = frozenset({"raw_control", "unknown_escape", "long_string"})
_DEPTH: Final = 8
#: What shows that an escape of a kind is there.
_SIGNS: Final = {
    "l": re.compile(r"\\[nrt]"),
    "c": re.compile(r"\\[bfuxU/]"),
    "d": re.compile(r"\\\\"),
    "q": re.compile(r"\\\""),
    "s": re.compile(r"\\'"),
}
_MARKS: Final = {ord(mark): {"n": "\n", "r": "\r", "t": "\t"}[name] for name, mark in WRITTEN.items()}
_WRITTEN: Final = re.compile(f"[{''.join(WRITTEN.values())}]")


class Undecided(Exception):
    """Two readings remain, or none."""


class Reading(NamedTuple):
    """A block as one consistent way to read its escapes has it."""

    escapes: frozenset[str]
    value: Json


def ways(text: str, kinds: str) -> Iterator[frozenset[str]]:
    """Yield every choice of which ``kinds`` of escapes are decoded, of those in ``text``; all of them first."""
    there = [kind for kind in kinds if _SIGNS[kind].search(text)]
    kept = chain.from_iterable(combinations(there, count) for count in range(len(there) + 1))
    return (ALL_ESCAPES.difference(one) for one in kept)


def settle_readings(
    text: str, found: ParsedJson | JsonFault, *, known: KnownNames, closers: bool
) -> ParsedJson | JsonFault:
    """Return the one reading of a repaired block; ``found`` is what ``repair`` made of it."""
    if "\\" not in text:
        return found
    if isinstance(found, JsonFault):
        if found.code != "mixed_escapes":
            return found
    elif "\\'" not in text and _DOUBTFUL.isdisjoint(note.name for note in found.repairs):
        return found
    if _WRITTEN.search(text):
        return _undecided(text, found)
    kinds = "lcds" + ("q" if '"""' in text or "`" in text else "")
    tried = [(way, repair(text, known=known, closers=closers, escapes=way)) for way in ways(text, kinds)]
    readings = [(way, one) for way, one in tried if isinstance(one, ParsedJson)]
    try:
        value = settled([Reading(way, one.value) for way, one in readings])
    except Undecided:
        return _undecided(text, found)
    return readings[0][1]._replace(value=value)


def _undecided(text: str, found: ParsedJson | JsonFault) -> JsonFault:
    at = found.offset if isinstance(found, JsonFault) else text.index("\\")
    message = "the backslashes of a string can be read in two ways: escaped for JSON, or as they are"
    return JsonFault("mixed_escapes", message, at)


def settled(
    readings: Sequence[Reading], key: str = "", path: str = "", depth: int = 0, *, layout: bool = False
) -> Json:
    """Return the value whose texts are those that parse where they are written to. Raises Undecided.

    ``layout``: a line end inside a long string that was written as an escape is one if the lines look like it.
    """
    if not readings or depth > _DEPTH:
        raise Undecided
    first = readings[0].value
    if any(type(one.value) is not type(first) for one in readings):
        raise Undecided
    if isinstance(first, dict):
        own = next((value for name in PATH_KEYS if isinstance(value := first.get(name), str)), path)
        members = [(one.escapes, one.value) for one in readings if isinstance(one.value, dict)]
        if any(list(value) != list(first) for _, value in members):
            raise Undecided
        return {
            name: settled([Reading(way, value[name]) for way, value in members], name, own, depth + 1, layout=layout)
            for name in first
        }
    if isinstance(first, list):
        lists = [(one.escapes, one.value) for one in readings if isinstance(one.value, list)]
        if any(len(value) != len(first) for _, value in lists):
            raise Undecided
        return [
            settled([Reading(way, value[at]) for way, value in lists], key, path, depth + 1, layout=layout)
            for at in range(len(first))
        ]
    return _text(readings, key, path, layout) if isinstance(first, str) else first


def _text(readings: Sequence[Reading], key: str, path: str, layout: bool) -> str:
    """Return the one text of a string that its language accepts."""
    language = source.language_of(path) if key in _WHOLE else ""
    if key not in _OF_FILES or (not language and _all_escaped(readings)):
        readings = [one for one in readings if "s" in one.escapes] or readings
    texts: Mapping[str, str] = {plain(str(one.value)): str(one.value) for one in reversed(readings)}
    if len(texts) == 1 and not (language and _WRITTEN.search(next(iter(texts.values())))):
        return next(iter(texts))
    verdicts = {text: source.parses(text, language) for text in texts}
    good = [text for text, verdict in verdicts.items() if verdict]
    if len(good) != 1 or None in verdicts.values():
        raise Undecided
    written = [mark.start() for mark in _WRITTEN.finditer(texts[good[0]])]
    if written and source.within_strings(good[0], language, written, layout=layout):
        raise Undecided
    return good[0]


def _all_escaped(readings: Sequence[Reading]) -> bool:
    """Return whether every apostrophe of a string is escaped, so that it is a habit and not part of the text."""
    kept = [str(one.value) for one in readings if "s" not in one.escapes]
    return all(text.count("'") == text.count("\\'") for text in kept)


def plain(text: str) -> str:
    """Return a text with the line ends and tabs that were written as escapes."""
    return text.translate(_MARKS) if _WRITTEN.search(text) else text


def language_of_call(parameters: Mapping[str, Json]) -> str:
    """Return the language that judges the text which a call writes; "" where it writes none, or nothing judges it."""
    path = next((value for name in PATH_KEYS if isinstance(value := parameters.get(name), str)), "")
    return source.language_of(path) if _WHOLE & parameters.keys() else ""


def whole_texts_parse(value: Json, path: str = "") -> bool:
    """Return whether a call writes whole texts, and all of them parse in their languages."""
    if not isinstance(value, dict):
        return False
    own = next((found for name in PATH_KEYS if isinstance(found := value.get(name), str)), path)
    texts = [text for key, text in value.items() if key in _WHOLE and isinstance(text, str)]
    inner = [one for one in value.values() if isinstance(one, dict)]
    if not texts:
        return any(whole_texts_parse(one, own) for one in inner)
    return all(_vouches(source.language_of(own), text) for text in texts)


def _vouches(language: str, text: str) -> bool:
    """Return whether a language accepts a text, and not what is left of it without quotation marks around it."""
    bare = text.strip()
    inner = bare.strip("\"'") if bare[:1] == bare[-1:] and bare[:1] in ("'", '"') else ""
    return bool(source.parses(text, language)) and not (inner and source.parses(inner, language))
