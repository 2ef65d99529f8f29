"""Regular expressions in linear time, in RE2's own dialect (https://github.com/google/re2/wiki/Syntax).

Look-around and back-references do not exist there; ``\\d``, ``\\s`` and ``\\b`` are ASCII. Three spellings of other
dialects are read as they are meant there: ``\\w`` as the letters and digits of all scripts, ``\\uXXXX``, and ``\\Z``.
``$`` is the end of the text in a schema, and of a line in a replacement.

Bounds: characters of a pattern, repetitions (RE2: 1,000), instructions of a program, and steps of one search. A step
is an instruction for a character of the text: what RE2 takes at the very worst, when its automaton cannot be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from time import thread_time
from typing import Final, Protocol

from rails.core import limits
from rails.core.dataclass import NamedTuple
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line

_MEMORY: Final = 8 << 20
_WORDS: Final = lazy(r"\\(?:u[0-9a-fA-F]{4}|.)?|\[:\^?\w+:\]|\[\^?\]?|.", re.DOTALL)
#: Letters and digits of all scripts, inside of ``[ ]``.
_WORD: Final = r"\p{L}\p{N}_"
#: What RE2 spells in another way, outside and inside of ``[ ]``.
_ESCAPES: Final = {
    ("\\Z", False): "\\z",
    ("\\w", False): f"[{_WORD}]",
    ("\\W", False): f"[^{_WORD}]",
    ("\\w", True): _WORD,
}
_REFERENCE: Final = lazy(r"\$(\$|&|[1-9][0-9]?)")


class RegexError(ValueError):
    """The pattern is wrong, or uses something that is not covered; the text says what, and where."""


class RegexMatch(NamedTuple):
    """A match: where it is in the text, and what its groups hold (``None``: had no part in it)."""

    start: int
    end: int
    groups: tuple[str | None, ...]


class _Match(Protocol):
    def start(self) -> int: ...
    def span(self, group: int = 0, /) -> tuple[int, int]: ...


class _Compiled(Protocol):
    """What is used of RE2's Python package, which has no types."""

    programsize: int
    groups: int

    def search(self, text: str | bytes, pos: int = 0, /) -> _Match | None: ...
    def finditer(self, text: str, /) -> Iterator[_Match]: ...


class Regex:
    """A pattern of a schema or a search."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._whole = _compiled(text, never_capture=True)
        if self._whole.programsize > limits.REGEX_INSTRUCTIONS:
            raise RegexError("it is too large when its repetitions are written out; use smaller counters")

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in ``text``."""
        return self._whole.search(_encodable(text)) is not None

    def lines(self, text: str) -> Iterator[int]:
        """Yield the 0-based numbers of the lines, ended by ``\\n`` or ``\\r\\n``, in which it matches."""
        data = _encodable(text.replace("\r\n", "\n").removesuffix("\r")).encode()
        by_line = _compiled(f"(?m){self._text}", never_capture=True, never_nl=True)
        number = at = 0
        while found := by_line.search(data, at):
            number += data.count(b"\n", at, found.start())
            yield number
            at, number = data.find(b"\n", found.start()) + 1, number + 1
            if not at:
                return


@lru_cache(512)
def compile_pattern(text: str) -> Regex:
    """Return the pattern that ``text`` is, compiled once. Raises RegexError."""
    return Regex(text)


def find_all(pattern: str, text: str, *, ignore_case: bool, most: int) -> list[RegexMatch]:
    """Return the matches from left to right, at most ``most``, no empty ones; ``^`` and ``$`` are those of lines.

    Raises RegexError, also where it would take too long.
    """
    compiled = _compiled(f"(?m){pattern}", case_sensitive=not ignore_case)
    if compiled.programsize * len(text) > limits.REGEX_STEPS:
        raise RegexError(f"it is too large for a text of {len(text)} characters; make it simpler")
    end = thread_time() + limits.REGEX_SECONDS
    found: list[RegexMatch] = []
    for match in compiled.finditer(_encodable(text)):
        start, stop = match.span()
        if start < stop:
            spans = (match.span(group) for group in range(1, compiled.groups + 1))
            found.append(RegexMatch(start, stop, tuple(None if low < 0 else text[low:high] for low, high in spans)))
        if len(found) >= most:
            break
        if thread_time() > end:
            raise RegexError(f"it was not done after {limits.REGEX_SECONDS:g} s; make it simpler")
    return found


def fill_in(template: str, whole: str, groups: tuple[str | None, ...]) -> str:
    """Return a replacement with ``$1`` to ``$99``, ``$&`` (the whole match) and ``$$`` (a dollar) filled in.

    Everything else is literal, also the number of a group that there is not.
    """

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name in "$&":
            return whole if name == "&" else "$"
        return match[0] if int(name) > len(groups) else groups[int(name) - 1] or ""

    return _REFERENCE.sub(one, template)


@lru_cache(64)
def _compiled(pattern: str, **switches: bool) -> _Compiled:
    import re2  # type: ignore[import-untyped]

    if len(pattern) > limits.REGEX_CHARS:
        raise RegexError(f"it has {len(pattern)} characters; {limits.REGEX_CHARS} are allowed")
    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    for name, value in switches.items():
        setattr(options, name, value)
    try:
        compiled: _Compiled = re2.compile(_as_re2(pattern), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise RegexError(f"{one_line(reason, 200)} (RE2 has no look-around and no back-references)") from None
    return compiled


def _as_re2(pattern: str) -> str:
    """Return a pattern with the escapes that RE2 spells in another way."""
    pieces: list[str] = []
    in_brackets = False
    for word in _WORDS.findall(_encodable(pattern)):
        if word[0] == "[" and ":" not in word:
            in_brackets = True
        elif word == "]":
            in_brackets = False
        is_unicode = word.startswith("\\u") and len(word) == 6
        pieces.append(f"\\x{{{word[2:]}}}" if is_unicode else _ESCAPES.get((word, in_brackets), word))
    return "".join(pieces)


def _encodable(text: str) -> str:
    """Return the text with what UTF-8 cannot say, halves of surrogate pairs, as other characters of the same number."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
