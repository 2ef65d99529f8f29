"""Regular expressions that cannot run away: linear time, and the meaning JSON Schema gives them.

Python's ``re`` needs 20 seconds for ``^(a+)+$`` against 28 characters, lets ``$`` match before a final
newline, and lets ``\\d`` match digits of every script. This is the subset that JSON Schema recommends
(2020-12 §6.4: literals, classes, groups, alternatives, quantifiers, ``^`` and ``$``), as a Thompson
automaton whose sets of states are remembered: one step for each character, whatever the pattern.

Not covered, and refused: back-references, look-around, lazy quantifiers, ``\\b``, ``\\p``, flags.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from rails.core import limits
from rails.core.dataclass import dataclass, field

#: Inclusive ranges of code points.
_Ranges = tuple[tuple[int, int], ...]

_LAST: Final = 0x10FFFF
_DIGIT: Final[_Ranges] = ((48, 57),)
_WORD: Final[_Ranges] = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Final[_Ranges] = ((9, 13), (32, 32), (160, 160), (0xFEFF, 0xFEFF), (0x2028, 0x2029))
_LINE_ENDS: Final[_Ranges] = ((10, 10), (13, 13), (0x2028, 0x2029))
_CLASSES: Final[dict[str, _Ranges]] = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS: Final = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}
_MANY: Final = -1
_SETS_KEPT: Final = 2_000


class RegexError(ValueError):
    """The pattern is wrong, or uses something that this subset refuses."""


@dataclass(frozen=True, slots=True)
class _Char:
    ranges: _Ranges


@dataclass(frozen=True, slots=True)
class _Anchor:
    at_end: bool


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    options: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    body: _Node
    low: int
    high: int


_Node = _Char | _Anchor | _Sequence | _Choice | _Repeat


class _Reader:
    """Recursive descent over the pattern text."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def read(self) -> _Node:
        node = self.choice()
        if self.at < len(self.text):
            self.fail("an unmatched )")
        return node

    def choice(self) -> _Node:
        self.depth += 1
        if self.depth > limits.SCHEMA_DEPTH * 2:
            self.fail("groups nested too deep")
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        self.depth -= 1
        return options[0] if len(options) == 1 else _Choice(tuple(options))

    def sequence(self) -> _Node:
        parts: list[_Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self.quantified())
        return _Sequence(tuple(parts))

    def quantified(self) -> _Node:
        node = self.atom()
        low, high = 1, 1
        if self.take("*"):
            low, high = 0, _MANY
        elif self.take("+"):
            low, high = 1, _MANY
        elif self.take("?"):
            low, high = 0, 1
        elif self.peek() == "{":
            low, high = self.counts()
        else:
            return node
        if self.peek() and self.peek() in "*+?{":
            self.fail("a quantifier after a quantifier (lazy and possessive ones are not supported)")
        if isinstance(node, _Anchor):
            self.fail("a quantifier after ^ or $")
        return _Repeat(node, low, high)

    def counts(self) -> tuple[int, int]:
        close = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : max(close, self.at + 1)].partition(",")
        if close < 0 or not low.isascii() or not low.isdigit() or (high and not (high.isascii() and high.isdigit())):
            self.fail("a { that is no counter like {2} or {2,5}; write \\{ for the character")
        self.at = close + 1
        if len(low) > 4 or len(high) > 4:
            self.fail("a counter above 9999")
        top = int(high) if high else (_MANY if comma else int(low))
        if top != _MANY and top < int(low):
            self.fail("a counter whose end is below its start")
        return int(low), top

    def atom(self) -> _Node:
        char = self.text[self.at]
        self.at += 1
        if char == "^":
            return _Anchor(at_end=False)
        if char == "$":
            return _Anchor(at_end=True)
        if char == ".":
            return _Char(_negate(_LINE_ENDS))
        if char == "(":
            return self.group()
        if char == "[":
            return _Char(self.bracket())
        if char == "\\":
            return _Char(self.escape(in_class=False))
        if char in "*+?{":
            self.fail(f"a {char} with nothing before it; write \\{char} for the character")
        return _Char(((ord(char), ord(char)),))

    def group(self) -> _Node:
        if self.take("?") and not self.take(":"):
            self.fail("look-around, named groups and flags are not supported")
        node = self.choice()
        if not self.take(")"):
            self.fail("a group that is not closed")
        return node

    def bracket(self) -> _Ranges:
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            if self.at >= len(self.text):
                self.fail("a [ that is not closed")
            first = self.class_item()
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self.class_item()
                if len(first) != 1 or len(last) != 1 or first[0][0] != first[0][1] or last[0][0] < first[0][0]:
                    self.fail("a range in [ ] that does not go from one character up to another")
                ranges.append((first[0][0], last[0][0]))
            else:
                ranges.extend(first)
        return _negate(ranges) if negated else tuple(ranges)

    def class_item(self) -> _Ranges:
        if self.at >= len(self.text):
            self.fail("a [ that is not closed")
        char = self.text[self.at]
        self.at += 1
        return self.escape(in_class=True) if char == "\\" else ((ord(char), ord(char)),)

    def escape(self, *, in_class: bool) -> _Ranges:
        if self.at >= len(self.text):
            self.fail("a backslash at the end")
        char = self.text[self.at]
        self.at += 1
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return ranges if char.islower() else _negate(ranges)
        if char in _CONTROLS:
            return ((_CONTROLS[char], _CONTROLS[char]),)
        if char in "xu":
            return self.code_point(2 if char == "x" else 4)
        if char == "b" and in_class:
            return ((8, 8),)
        if char.isascii() and char.isalnum():
            self.fail(f"\\{char} is not supported")
        return ((ord(char), ord(char)),)

    def code_point(self, width: int) -> _Ranges:
        digits = self.text[self.at : self.at + width]
        if len(digits) < width or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            self.fail(f"\\{'x' if width == 2 else 'u'} needs {width} hexadecimal digits")
        self.at += width
        return ((int(digits, 16), int(digits, 16)),)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, char: str) -> bool:
        if self.peek() != char:
            return False
        self.at += 1
        return True

    def fail(self, what: str) -> NoReturn:
        raise RegexError(f"{what} (at character {min(self.at, len(self.text))} of {self.text!r})")


def _negate(ranges: Sequence[tuple[int, int]]) -> _Ranges:
    found: list[tuple[int, int]] = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    if start <= _LAST:
        found.append((start, _LAST))
    return tuple(found)


@dataclass(slots=True)
class _State:
    """Either a character test that leads to ``then``, an anchor, or a fork to several states."""

    ranges: _Ranges | None = None
    anchor: bool | None = None
    then: list[int] = field(default_factory=list)


class _Builder:
    def __init__(self) -> None:
        self.states: list[_State] = []

    def add(self, state: _State) -> int:
        if len(self.states) >= limits.PATTERN_STATES:
            raise RegexError(f"the pattern needs more than {limits.PATTERN_STATES} states; use smaller counters")
        self.states.append(state)
        return len(self.states) - 1

    def build(self, node: _Node, then: int) -> int:
        """Add states that match ``node`` and go on at ``then``; return the first of them."""
        match node:
            case _Char(ranges):
                return self.add(_State(ranges=ranges, then=[then]))
            case _Anchor(at_end):
                return self.add(_State(anchor=at_end, then=[then]))
            case _Choice(options):
                return self.add(_State(then=[self.build(option, then) for option in options]))
            case _Sequence(parts):
                for part in reversed(parts):
                    then = self.build(part, then)
                return then
            case _Repeat():
                return self.repeat(node, then)

    def repeat(self, node: _Repeat, then: int) -> int:
        if node.high == _MANY:
            loop = self.add(_State())
            self.states[loop].then = [self.build(node.body, loop), then]
            then = loop
        else:
            for _ in range(node.high - node.low):
                then = self.add(_State(then=[self.build(node.body, then), then]))
        for _ in range(node.low):
            then = self.build(node.body, then)
        return then


class Pattern:
    """A compiled pattern. :meth:`search` says whether it matches anywhere in a text."""

    def __init__(self, text: str) -> None:
        builder = _Builder()
        self._accept = builder.add(_State())
        self._start = builder.build(_Reader(text).read(), self._accept)
        self._states = builder.states
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in ``text``. Linear in the text's length."""
        current = self._closure((self._start,), at_start=True, at_end=not text)
        begin = frozenset(self._closure((self._start,), at_start=False, at_end=False))
        states = frozenset(current)
        last = len(text) - 1
        for index, char in enumerate(text):
            if self._accept in states:
                return True
            if index == last:
                states = self._step(states, char, at_end=True)
                break
            key = (states, char)
            found = self._steps.get(key)
            if found is None:
                found = self._step(states, char, at_end=False) | begin
                if len(self._steps) < _SETS_KEPT:
                    self._steps[key] = found
            states = found
        return self._accept in states or (
            bool(text) and self._accept in self._closure((self._start,), at_start=False, at_end=True)
        )

    def _step(self, states: frozenset[int], char: str, *, at_end: bool) -> frozenset[int]:
        point = ord(char)
        following = [
            state.then[0]
            for state in (self._states[number] for number in states)
            if state.ranges is not None and any(low <= point <= high for low, high in state.ranges)
        ]
        return frozenset(self._closure(following, at_start=False, at_end=at_end))

    def _closure(self, numbers: Sequence[int], *, at_start: bool, at_end: bool) -> set[int]:
        """Follow every fork and every anchor that holds here."""
        reached: set[int] = set()
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            passes = state.anchor is None or (at_end if state.anchor else at_start)
            if state.ranges is None and passes:
                waiting.extend(state.then)
        return reached


@functools.lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern:
    """Compile ``text`` once. Raises :class:`RegexError`."""
    return Pattern(text)


def literal(text: str) -> str | None:
    """Return the plain text that ``text`` stands for when it has no special character, else ``None``."""
    return None if any(char in "\\^$.|?*+()[]{}" for char in text) else text


Matcher = Callable[[str], bool]


def matcher(text: str) -> Matcher:
    """Return a function that says whether a string contains a match; plain text uses a plain search.

    Raises :class:`RegexError`.
    """
    plain = literal(text)
    if plain is not None:
        return lambda line: plain in line
    compiled, needed = compile_pattern(text), _longest_run(_Reader(text).read())
    return lambda line: needed in line and compiled.search(line)


def _longest_run(node: _Node) -> str:
    """Return the longest plain text that every match contains; most lines lack it and need no automaton."""
    match node:
        case _Char(((low, high),)) if low == high:
            return chr(low)
        case _Repeat(body, low, _) if low > 0:
            return _longest_run(body)
        case _Sequence(parts):
            runs, run = [""], ""
            for part in parts:
                single = isinstance(part, _Char) and len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]
                run = run + _longest_run(part) if single else ""
                runs += [run, "" if single else _longest_run(part)]
            return max(runs, key=len)
    return ""
