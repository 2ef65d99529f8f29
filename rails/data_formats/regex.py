"""Regular expressions in linear time, by RE2, in the two dialects that people and models write.

``schema``: the subset that JSON Schema recommends (2020-12 §6.4: literals, classes, groups, alternatives, quantifiers,
``^`` and ``$``) with the meaning of ECMAScript: ``\\d`` and ``\\w`` are ASCII, ``\\s`` holds the no-break space, ``.``
stops at every line end, ``$`` is the end and not a newline before it. ``python``: what :mod:`re` understands with
``re.MULTILINE``, for replacements in files.

A pattern is translated token by token, so that what RE2 reads otherwise keeps its meaning and what it lacks is refused
by name: look-around, back-references, atomic groups, possessive quantifiers, conditions, comments, verbose patterns;
in the schema dialect also lazy quantifiers, named groups, flags, ``\\b`` and ``\\p``. Not covered: ``\\b`` at a letter
that is not ASCII.

Bounds: characters of a pattern, repetitions (RE2: 1,000), instructions of a program, and steps of one search. A step
is an instruction for a character of the text: what RE2 takes at the very worst, when its automaton cannot be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from time import thread_time
from typing import Any, Final, Literal, NoReturn, Protocol

from rails.core import limits
from rails.core.dataclass import NamedTuple
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line

Dialect = Literal["schema", "python"]

_MEMORY: Final = 8 << 20
#: RE2 takes no more.
_REPETITIONS: Final = 1_000

_ESCAPE: Final = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|0[0-7]{0,2}|[1-7][0-7]{2}|[1-9][0-9]?|.)"
_GROUP: Final = r"\(\?(?:P?<\w+>|<[=!]|P[=>]|[a-zA-Z-]+[:)]|.)?"
_TOKEN: Final = lazy(rf"{_ESCAPE}|{_GROUP}|[*+?][+?]?|\{{(?:\d+(?:,\d*)?|,\d*)\}}[+?]?|\[\^?|.", re.DOTALL)
_ITEM: Final = lazy(rf"{_ESCAPE}|.", re.DOTALL)
_GROUPS: Final = {
    "(?=": "a look-ahead",
    "(?!": "a negative look-ahead",
    "(?<=": "a look-behind",
    "(?<!": "a negative look-behind",
    "(?>": "an atomic group",
    "(?P=": "a back-reference",
    "(?P>": "a recursion",
    "(?(": "a condition",
    "(?#": "a comment",
}
_LETTERS: Final = {
    **{"p": "a Unicode property", "P": "a Unicode property", "k": "a back-reference", "N": "a character by its name"},
    **{"b": "a word boundary", "B": "a word boundary"},
}
_CONTROLS: Final = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
_SCHEMA_CLASSES: Final = {
    "d": "0-9",
    "D": r"\x{0}-/:-\x{10ffff}",
    "w": "0-9A-Z_a-z",
    "W": r"\x{0}-/:-@\[-\^`{-\x{10ffff}",
    "s": r"\x{9}-\x{d} \x{a0}\x{feff}\x{2028}\x{2029}",
    "S": r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{2027}\x{202a}-\x{fefe}\x{ff00}-\x{10ffff}",
}
_NOT_A_LINE_END: Final = r"[^\n\r\x{2028}\x{2029}]"
_LAST: Final = 0x10FFFF
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
    """A pattern of the schema dialect."""

    def __init__(self, text: str) -> None:
        self._translated = "".join(_Translator(text, "schema").pieces())
        self._whole = _compiled(self._translated, never_capture=True)
        if self._whole.programsize > limits.REGEX_INSTRUCTIONS:
            raise RegexError("it is too large when its repetitions are written out; use smaller counters")

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in ``text``."""
        return self._whole.search(_encodable(text)) is not None

    def lines(self, text: str) -> Iterator[int]:
        """Yield the 0-based numbers of the lines, ended by ``\\n`` or ``\\r\\n``, in which it matches."""
        data = _encodable(text.replace("\r\n", "\n").removesuffix("\r")).encode()
        by_line = _compiled(f"(?m){self._translated}", never_capture=True, never_nl=True)
        number = at = 0
        while found := by_line.search(data, at):
            number += data.count(b"\n", at, found.start())
            yield number
            at, number = data.find(b"\n", found.start()) + 1, number + 1
            if not at:
                return


@lru_cache(512)
def compile_pattern(text: str) -> Regex:
    """Return the pattern of the schema dialect that ``text`` is, compiled once. Raises RegexError."""
    return Regex(text)


def find_all(pattern: str, text: str, *, ignore_case: bool, most: int) -> list[RegexMatch]:
    """Return the matches of a pattern of the python dialect from left to right, at most ``most``, no empty ones.

    Raises RegexError, also where it would take too long.
    """
    compiled = _compiled_python(pattern, text.isascii(), ignore_case)
    plain = compiled if text.isascii() else _compiled_python(pattern, True, ignore_case)
    if plain.programsize * len(text) > limits.REGEX_STEPS:
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
def _compiled_python(pattern: str, only_ascii: bool, ignore_case: bool) -> _Compiled:
    translated = "".join(_Translator(pattern, "python", 127 if only_ascii else _LAST).pieces())
    return _compiled(f"(?m){translated}", case_sensitive=not ignore_case)


def _compiled(translated: str, **switches: bool) -> _Compiled:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    for name, value in switches.items():
        setattr(options, name, value)
    try:
        compiled: _Compiled = re2.compile(translated, options)
    except re2.error as error:
        said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        if "repetition" in said:
            said = f"repetitions within each other come to more than {_REPETITIONS}; use smaller counters"
        raise RegexError(one_line(said, 200)) from None
    return compiled


def _encodable(text: str) -> str:
    """Return the text with what UTF-8 cannot say, halves of surrogate pairs, as other characters of the same number."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


class _Translator:
    """Turns a pattern into RE2's dialect, one token after the other; ``last`` is the last character of the text."""

    def __init__(self, pattern: str, dialect: Dialect, last: int = _LAST) -> None:
        self.pattern, self.is_schema, self.last = pattern, dialect == "schema", last
        self.at = self.start = self.depth = 0
        #: What a quantifier would follow: nothing, an anchor, a quantifier or an atom.
        self.before = "nothing"

    def pieces(self) -> Iterator[str]:
        """Yield the pattern in RE2's dialect. Raises RegexError."""
        if len(self.pattern) > limits.REGEX_CHARS:
            raise RegexError(f"it has {len(self.pattern)} characters; {limits.REGEX_CHARS} are allowed")
        while self.at < len(self.pattern):
            self.start = self.at
            word = _TOKEN.match(self.pattern, self.at)
            assert word is not None, "every character is a token"
            yield self._piece(word[0])
        self.start = self.at
        if self.depth:
            self._fail("a group that is not closed")

    def _piece(self, word: str) -> str:
        first = word[0]
        if first in "*+?" or (first == "{" and len(word) > 1):
            return self._quantifier(word)
        if first == "[":
            return self._bracket(word)
        self.at += len(word)
        if first == "\\":
            return self._escape(word)
        if first == "(":
            return self._group(word)
        if first in "^$":
            return self._as("an anchor", word)
        if first == "|":
            return self._as("nothing", word)
        if first == ")":
            self.depth -= 1
            if self.depth < 0:
                self._fail("an unmatched )")
            return self._as("an atom", word)
        if first == "{" and self.is_schema:
            self._fail("a { that is no counter like {2} or {2,5}; write \\{ for the character")
        if first == ".":
            return self._as("an atom", _NOT_A_LINE_END if self.is_schema else ".")
        return self._as("an atom", _literal(ord(first)))

    def _as(self, before: str, piece: str) -> str:
        self.before = before
        return piece

    def _quantifier(self, word: str) -> str:
        kind = word[-1] if len(word) > 1 and word[-1] in "+?" else ""
        if self.before == "nothing":
            self._fail(f"a {word[0]} with nothing before it; write \\{word[0]} for the character")
        if self.before == "an anchor":
            self._fail("a quantifier after ^, $ or another place")
        if self.before == "a quantifier":
            self._fail("a quantifier after a quantifier")
        if kind == "+":
            self._fail("a possessive quantifier is not supported")
        if kind and self.is_schema:
            self._fail("a lazy quantifier is not supported")
        counter = word.removesuffix(kind)
        self.at += len(word)
        return self._as("a quantifier", (self._counter(counter) if counter[0] == "{" else counter) + kind)

    def _counter(self, word: str) -> str:
        low, comma, high = word[1:-1].partition(",")
        if not low and self.is_schema:
            self._fail("a { that is no counter like {2} or {2,5}; write \\{ for the character")
        if max(len(low), len(high)) > 4 or max(int(low or 0), int(high or 0)) > _REPETITIONS:
            self._fail(f"a counter above {_REPETITIONS}")
        if high and int(high) < int(low or 0):
            self._fail("a counter whose end is below its start")
        return f"{{{low or 0}{comma}{high}}}"

    def _group(self, word: str) -> str:
        if (name := _GROUPS.get(word)) is not None:
            self._fail(f"{name} is not supported")
        flags = word[2:-1] if word[-1] in ":)" else ""
        if flags.strip("ims-") or (word != "(" and not flags and word != "(?:" and word[-1] != ">"):
            self._fail(f"{'a verbose pattern' if 'x' in flags else word} is not supported")
        if self.is_schema and word not in ("(", "(?:"):
            self._fail(f"{'a flag' if flags else 'a named group'} is not supported")
        self.depth += word[-1] != ")"
        return self._as("nothing", word)

    def _bracket(self, word: str) -> str:
        """Return a class, from its opening bracket to its closing one."""
        self.at += len(word)
        items: list[str] = []
        start = self.at
        while self._next() != "]" or (self.at == start and not self.is_schema):
            content, low = self._item()
            if self._next() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                _, high = self._item()
                if low is None or high is None or high < low:
                    self._fail("a range in [ ] that does not go from one character up to another")
                content = f"{content}-{_literal(high)}"
            items.append(content)
        self.at += 1
        if not items:
            return self._as("an atom", r"[\x{0}-\x{10ffff}]" if word == "[^" else r"[^\x{0}-\x{10ffff}]")
        return self._as("an atom", f"{word}{''.join(items)}]")

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            self._fail("a [ that is not closed")
        return self.pattern[self.at]

    def _item(self) -> tuple[str, int | None]:
        """Return the content of one item of a class, and its character if it is only one."""
        self._next()
        word = _ITEM.match(self.pattern, self.at)
        assert word is not None, "every character is an item"
        self.at += len(word[0])
        if word[0][0] != "\\":
            return _literal(ord(word[0])), ord(word[0])
        if word[0][1:] in _SCHEMA_CLASSES:
            return self._class(word[0][1:]), None
        point = 8 if word[0] == "\\b" else self._point(word[0])
        return _literal(point), point

    def _escape(self, word: str) -> str:
        letter = word[1:]
        if letter in _SCHEMA_CLASSES:
            return self._as("an atom", f"[{self._class(letter)}]")
        if not self.is_schema and letter in ("b", "B", "A", "Z"):
            return self._as("an anchor", "\\z" if letter == "Z" else word)
        return self._as("an atom", _literal(self._point(word)))

    def _class(self, letter: str) -> str:
        return _SCHEMA_CLASSES[letter] if self.is_schema else _python_class(letter, self.last)

    def _point(self, word: str) -> int:
        """Return the character that an escape stands for."""
        letter, digits = word[1:2], word[2:]
        if letter in "xuU" and digits and (letter != "U" or not self.is_schema):
            return min(int(digits, 16), _LAST)
        if letter == "0" or (len(word) == 4 and not self.is_schema):
            if digits and self.is_schema:
                self._fail(f"{word} is not supported")
            return int(word[1:], 8)
        if letter.isdigit():
            self._fail("a back-reference is not supported")
        if letter in _CONTROLS or (letter == "a" and not self.is_schema):
            return _CONTROLS.get(letter, 7)
        if not letter:
            self._fail("a backslash at the end")
        if letter.isascii() and letter.isalnum():
            self._fail(f"{_LETTERS.get(letter, word)} is not supported")
        return ord(letter)

    def _fail(self, what: str) -> NoReturn:
        shown = one_line(self.pattern, 200)
        raise RegexError(f"{what} (at character {min(self.start + 1, len(self.pattern))} of '{shown}')")


def _literal(point: int) -> str:
    return chr(point) if chr(point).isascii() and chr(point).isalnum() else f"\\x{{{point:x}}}"


@cache
def _python_class(letter: str, last: int) -> str:
    """Return what Python's class holds up to a character, as the content of a class of RE2."""
    runs: list[Any] = re.findall(rf"\{letter}+", "".join(map(chr, range(last + 1))))
    return "".join(f"{_literal(ord(run[0]))}-{_literal(ord(run[-1]))}" for run in runs)
