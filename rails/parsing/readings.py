"""Several readings of one block: were its backslashes escaped, or was the text pasted? The target decides.

Strings with raw line ends or unknown escapes were not written by a JSON writer. Every consistent reading
(``lenient_tokens.Escapes``) is parsed in its target's language, a fragment line by line (``source.pairs_up``). Exactly
one must pass, and not rest on escaped line ends *inside* a string of that language; else the block is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS, Json, Repair
from rails.data_formats import source
from rails.data_formats.strict_json import JsonFault, ParsedJson
from rails.parsing.lenient_json import KnownNames
from rails.parsing.lenient_tokens import ALL_ESCAPES, LEAST_CONFIDENCE, WRITTEN, DoubtfulText, Stop, decode_string
from rails.parsing.repairs import repair

#: Keys of whole texts of a file; anything else is a fragment, which no parser can judge.
WHOLE_TEXTS: Final = frozenset({"content", "contents", "file_text", "text", "code", "source"})
#: Keys of texts of a file, whole or not.
_OF_FILES: Final = WHOLE_TEXTS | {"old_string", "new_string", "oldString", "newString", "old_str", "new_str"}
_DOUBTFUL: Final = frozenset({"raw_control", "unknown_escape", "long_string"})
_TRIPLES: Final = ('"""', "'''")
#: What shows that an escape of a kind is there.
_SIGNS: Final = {
    "l": lazy(r"\\[nrt]"),
    "c": lazy(r"(?<!\\)(?:\\\\)*\\[bfuxU/]"),
    "d": lazy(r"\\\\"),
    "q": lazy(r"\\[\"`$]"),
    "s": lazy(r"\\'"),
    "t": lazy(r"\\[`$]"),
}
#: Shows that \\` and \\$ of a text are no habit of its writer.
_BARE_TEMPLATE: Final = lazy(r"(?<!\\)(?:`|\$\{)|\A(?=.*\\\$(?!\{)).*?(?<!\\)\$", re.S)
_MARKS: Final = {ord(mark): {"n": "\n", "r": "\r", "t": "\t"}[name] for name, mark in WRITTEN.items()}
_WRITTEN: Final = lazy(f"[{''.join(WRITTEN.values())}]")
#: A tab or a carriage return that was written as an escape, behind text of its line.
_WITHIN_LINE: Final = lazy(
    r"(?:\A|[\nN])(?:[^\S\n]|[TR])*+[^\nN]*[TR]".translate({ord(name.upper()): mark for name, mark in WRITTEN.items()})
)


#: What stands between two strings that an expression joins, in one language or another.
JOINED: Final = r"\s+|\s*(?:[+.&~\\]|\.\.|\|\||<>|/\*[^*]*\*/)\s*"
_JOIN: Final = lazy(rf"(?<![(\[{{=,:+ \t])([\"'])(?:{JOINED})\1")


class Undecided(Exception):
    """Two readings remain, or none, of a text that begins at an offset."""


def read_repaired(text: str, *, known: KnownNames, closers: bool) -> ParsedJson | JsonFault:
    """Return the one reading of a damaged block (``repairs.repair``)."""
    doubts = any(mark in text for mark in ("\\", *_TRIPLES))
    found = repair(text, known=known, closers=closers, doubts=doubts)
    if isinstance(found, ParsedJson) and found.repairs and confidence(found.repairs) < LEAST_CONFIDENCE:
        names = ", ".join(dict.fromkeys(note.name for note in found.repairs))
        return JsonFault("uncertain", f"it takes too many repairs to be sure of it ({names})", found.repairs[0].offset)
    if isinstance(found, JsonFault) or not doubts:
        return found
    if "\\'" not in text and _DOUBTFUL.isdisjoint(note.name for note in found.repairs):
        return found
    try:
        return found._replace(value=settled(found.value, {}))
    except Undecided as undecided:
        offset = undecided.args[0]
        what = "backslashes, or the marks at the ends," if text.startswith(_TRIPLES, offset) else "backslashes"
        message = f"the {what} of a string can be read in two ways: escaped for JSON, or as they are"
        return JsonFault("mixed_escapes", message, offset)


def confidence(repairs: Sequence[Repair]) -> float:
    """Return how sure repairs leave the meaning; each kind counts once."""
    return math.prod({note.name: note.confidence for note in repairs}.values())


def settled(value: Json, torn: Mapping[str, DoubtfulText], key: str = "", path: str = "") -> Json:
    """Return a value with the doubtful texts that parse in their target. Raises Undecided.

    ``torn``: what stands for texts with unescaped marks; an escaped line end in a long string of one of them is one if
    the lines look like it.
    """
    if isinstance(value, str):
        one = torn.get(value, value)
        return _text(one, key, path, bool(torn)) if isinstance(one, DoubtfulText) else value
    if isinstance(value, list):
        return [settled(item, torn, key, path) for item in value]
    if not isinstance(value, dict):
        return value
    own = next((text for name in PATH_KEYS if isinstance(text := value.get(name), str)), path)
    return {name: settled(item, torn, name, own) for name, item in value.items()}


def _texts(one: DoubtfulText) -> Iterator[tuple[frozenset[str], str]]:
    kinds = "lcdst" if one.doubt in ("", "long") or "\n" in one.raw else "cdst"
    kinds += "q" if one.doubt in ("torn", "long") else ""
    there = [kind for kind in kinds if _SIGNS[kind].search(one.raw)]
    every = ALL_ESCAPES.difference("t" if _BARE_TEMPLATE.search(one.raw) else "")
    for kept in chain.from_iterable(combinations(there, count) for count in range(len(there) + 1)):
        escapes = every.difference(kept)
        with suppress(Stop):
            yield escapes, decode_string(one.raw, one.mark, one.offset, escapes, one.doubt)[0]


def _text(one: DoubtfulText, key: str, path: str, layout: bool) -> str:
    language = source.language_of(path) if key in _OF_FILES else ""
    whole = key in WHOLE_TEXTS
    judge = source.parses if whole else source.pairs_up
    readings = [*_texts(one)]
    if _WRITTEN.search(one.raw) or not readings:
        raise Undecided(one.offset)
    if key not in _OF_FILES:
        readings = [reading for reading in readings if "s" in reading[0]] or readings
    texts = {plain(text): text for _, text in reversed(readings)}
    text, *others = texts
    if others or (whole and language and _WRITTEN.search(texts[text])):
        verdicts = [judge(text, language) for text in texts]
        if verdicts != [None]:  # which no language judges
            good = [text for text, verdict in zip(texts, verdicts, strict=True) if verdict]
            if None in verdicts or len(good) != 1:
                raise Undecided(one.offset)
            text, marked = good[0], texts[good[0]]
            written = [mark.start() for mark in _WRITTEN.finditer(marked)]
            judged = source.within_strings(text, language, written, layout=layout) if whole and written else False
            if judged or (not whole and _WITHIN_LINE.search(marked)):
                raise Undecided(one.offset)
    if one.needs_voucher and not _vouches(language, text, one.mark, judge):
        raise Undecided(one.offset)
    return text


def plain(text: str) -> str:
    """Return a text with escaped line ends and tabs decoded."""
    return text.translate(_MARKS) if _WRITTEN.search(text) else text


def _vouches(language: str, text: str, mark: str, judge: Callable[[str, str], bool | None]) -> bool:
    """Return whether a language accepts a text, and not what it would be as a string, or several.

    Nor with ``mark`` doubled, tripled or one too many around it, or one too many in a fragment.
    """
    bare = text.strip()
    runs = [len(run) for run in re.findall(f"{mark}+", bare)]
    quoted = bare[:1] == bare[-1:]
    others = [_JOIN.sub("", bare), bare.strip("\"'") if quoted else bare]
    others += [bare.removeprefix(mark), bare.removesuffix(mark)]
    if bare.startswith(mark) and runs[0] % 3 == runs[-1] % 3 == 2:
        others.append(bare[2:-2])
    if all(run % 2 == 0 for run in runs):
        others.append(text.replace(mark * 2, mark))
    if judge is source.pairs_up:
        lines = [line for line in text.split("\n") if mark in line]
        others += [line[:at] + line[at + 1 :] for line in lines for at in range(len(line)) if line[at] == mark]
    others = [one for one in others if one not in ("", bare, text)]
    return bool(judge(text, language)) and all(judge(one, language) is False for one in others)
