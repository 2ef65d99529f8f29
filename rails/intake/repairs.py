"""Named, syntax-only repairs: read what has one reading, refuse the rest with its place.

The reader below accepts a superset of JSON and records each departure from JSON as a ``Repair``. No
string, number or key is added, dropped or changed: only what stands between them, and how they are
quoted. Tiers, after ``reference`` design notes on measured repair libraries:

    A  between tokens   comments, odd white space, literal \\n, doubled and trailing commas, missing commas,
                        bare keys, Python literals, quote style, extra closers, text before and after
    B  inside strings   raw control characters; an unknown escape keeps its backslash
    C  closers          missing } and ] at the end, when the caller knows that nothing was cut off
    D  whole block      escaped once more, or sent as one JSON string

Refused: elisions, placeholders, expressions, joined strings, strings that mix unknown escapes with
escapes that mean something (Windows paths), unclosed strings, a second value for a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from rails.core import limits
from rails.core.requests import Json, Repair
from rails.intake.jsontext import Fault, Parsed, has_surrogate, prefix, real, strict, too_deep

#: The decoder's own string scanner: (text, start after the quotation mark, strict) to (value, end).
_scanstring: Final[Callable[[str, int, bool], tuple[str, int]]] = json.decoder.scanstring  # type: ignore[attr-defined]

#: How sure a repair is to be what was meant; the names are the vocabulary of the log.
CONFIDENCE: Final = {
    "byte_order_mark": 1.0,
    "odd_space": 1.0,
    "comment": 1.0,
    "trailing_comma": 1.0,
    "extra_comma": 0.95,
    "raw_control": 1.0,
    "quote_style": 1.0,
    "bare_key": 1.0,
    "python_literal": 1.0,
    "number_style": 1.0,
    "literal_newline": 0.95,
    "missing_comma": 0.95,
    "extra_closers": 0.95,
    "trailing_text": 0.9,
    "leading_text": 0.9,
    "unknown_escape": 0.9,
    "missing_closers": 0.9,
    "double_encoded": 0.95,
    "inner_quotes": 0.8,
}

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_ODD_SPACE: Final = re.compile(
    "[\ufeff\u00a0\u200b-\u200d\u2060\u2000-\u200a\u202f\u205f\u3000\x0b\x0c\u2028\u2029\x85]+"
)
_COMMENT: Final = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.S)
_ELISION: Final = re.compile(
    r"\.\.\.|…|\b(rest|remain\w*|existing|omitted|unchanged|same as|other|more|etc)\b", re.IGNORECASE
)
_LITERAL_SPACE: Final = re.compile(r"(?:\\[nrt])+")
_BARE_KEY: Final = re.compile(r"[A-Za-z_$][\w$-]*(?=[ \t\n\r]*:)")
_WORD: Final = re.compile(r"[^\s,\[\]{}:\"'“”‘’`/#\\]+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LOOSE_NUMBER: Final = re.compile(r"([+-]?)(0|[1-9][0-9]*)?(?:(\.)([0-9]*))?([eE][+-]?[0-9]+)?")
_LITERALS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_PYTHON: Final[dict[str, Json]] = {"True": True, "False": False, "None": None}
#: What may close a string opened by each quotation mark.
_CLOSERS: Final = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"', "‘": "‘’'", "’": "‘’'"}
_RUN: Final = {mark: re.compile(rf"[^\\{ends}]*(?:\\.[^\\{ends}]*)*", re.S) for mark, ends in _CLOSERS.items()}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.S)
_MEANT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SELF: Final = frozenset("\"\\/'")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_BRACKET_OR_QUOTE: Final = re.compile(r"[{}\[\]\"]")
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
#: What no remark behind a block contains: brackets, or a quotation mark next to a colon.
_STRUCTURE: Final = re.compile(r"[{}\[\]]|[\"'“”‘’]\s*:|:\s*[\"“]")
#: A comma at the end of a raw line: inside a list's item it is more likely the list's own.
_ITEM_BREAK: Final = re.compile(r",[ \t]*\r?\n")
_COMPLETE_KEY: Final = re.compile(r"(?:\"([^\"\\\n]{1,80})\"|'([^'\\\n]{1,80})'|([A-Za-z_$][\w$-]*))[ \t\n\r]*:")
_LEADING: Final = re.compile(r"[^{}\[\]\"'=(`“”]*[:\n]\s*\Z|\s*json\s*\Z", re.IGNORECASE)
_SIMPLE_MEMBER: Final = re.compile(
    r"""[ \t\n\r]*+(["'])((?:(?!\1)[^\\\x00-\x1f]){0,200}+)\1[ \t\n\r]*+:[ \t\n\r]*+"""
    r"""(?:"([^"\\\x00-\x1f]*+)"|'([^'\\\x00-\x1f]*+)')[ \t\n\r]*+([,}])"""
)
_ESCAPED_BLOCK: Final = re.compile(r"\s*(?:\\[nrt]|\s)*[{\[](?:\\[nrt]|\s|[{\[])*\\\"")


#: Returns property names; called only when a repair depends on them.
Known: TypeAlias = Callable[[], frozenset[str]]
#: A step reads one thing and returns the next step, or nothing at the end.
Step: TypeAlias = "Callable[[], Step | None]"


class Stop(Exception):
    """Ends the reading with a fault."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.fault = Fault(code, message, offset)


def repair(text: str, *, known: Known = frozenset, closers: bool = False) -> Parsed | Fault:
    """Read ``text`` as one value, repairing syntax where there is one reading.

    ``known`` returns the property names that a missing comma may stand before on one line. ``closers``
    allows tier C: the caller vouches that the text was not cut off.
    """
    if len(text) > limits.BLOCK_CHARS:
        return Fault("too_long", f"the block has {len(text)} characters; {limits.BLOCK_CHARS} are allowed")
    try:
        outer = _escaped_once_more(text)
        if outer is not None:
            return _inside(outer, known)
        return _checked(_Reader(text, known, closers).read(), text)
    except Stop as stop:
        return stop.fault


def _checked(parsed: Parsed, text: str) -> Parsed | Fault:
    if too_deep(parsed.value):
        return Fault("depth", f"values are nested more than {limits.JSON_DEPTH} deep")
    if (not text.isascii() or "\\" in text) and has_surrogate(parsed.value):
        return Fault("surrogate", "there is a lone surrogate, which is not a character")
    return parsed


def _escaped_once_more(text: str) -> str | None:
    """Return the inner text of a block whose every quote is escaped, or that is one JSON string (tier D)."""
    if _ESCAPED_BLOCK.match(text):
        body = text.strip()
        if re.search(r'(?<!\\)(?:\\\\)*"', body):
            raise Stop("mixed_escaping", "some quotes of the block are escaped and some are not", text.find('"'))
        try:
            inner: str = json.JSONDecoder(strict=False).decode(f'"{body}"')
        except ValueError as error:
            raise Stop("mixed_escaping", f"the escaped block cannot be unescaped ({error})", 0) from error
        return inner
    stripped = text.strip()
    if stripped[:1] != '"' or '\\"' not in stripped[:200]:
        return None
    outer = strict(stripped)
    inner_text = outer.value if isinstance(outer, Parsed) else None
    return inner_text if isinstance(inner_text, str) and inner_text.lstrip()[:1] in ("{", "[") else None


def _inside(inner: str, known: Known) -> Parsed | Fault:
    note = Repair("double_encoded", 0, "escaped block", "block", CONFIDENCE["double_encoded"])
    parsed = strict(inner)
    if isinstance(parsed, Fault):
        parsed = _checked(_Reader(inner, known, closers=False).read(), inner)
    return parsed if isinstance(parsed, Fault) else replace(parsed, repairs=(note, *parsed.repairs))


class _Reader:
    """One pass over a text, without recursion: ``stack`` holds the open containers, ``keys`` their pending key."""

    def __init__(self, text: str, known: Known, closers: bool) -> None:
        self.text, self.known, self.closers = text, known, closers
        self.pos = 0
        self.repairs: list[Repair] = []
        self.stack: list[dict[str, Json] | list[Json]] = []
        self.keys: list[str] = []
        self.result: Json = None
        self.mended: set[int] = set()
        self.closed_by_us = False

    def note(self, name: str, offset: int, before: str, after: str) -> None:
        self.repairs.append(Repair(name, offset, before[:80], after[:80], CONFIDENCE[name]))

    def read(self) -> Parsed:
        """Read the value and what follows it."""
        self._lead()
        whole = prefix(self.text, self.pos)
        if isinstance(whole, Fault):
            raise Stop(whole.code, whole.message, whole.offset)
        if whole is not None:
            self.result, self.pos = whole
            self._tail()
            return Parsed(self.result, tuple(self.repairs))
        step: Step | None = self._value
        while step is not None:
            step = step()
        return Parsed(self.result, tuple(self.repairs), self.closed_by_us)

    # -- between tokens ---------------------------------------------------------------------------

    def _lead(self) -> None:
        """Pass what stands before the first bracket."""
        self._space()
        start = self.pos
        if self.text[start : start + 1] in ("{", "["):
            return
        found = re.compile(r"[{\[]").search(self.text, start)
        if not found:
            raise Stop("syntax", "there is no JSON object here", start)
        before = self.text[start : found.start()]
        if not _LEADING.match(before) or len(before) > 400 or _ELISION.search(before[-20:]):
            raise Stop("syntax", "the block does not start with a JSON object", start)
        self.note("leading_text", start, before, "")
        self.pos = found.start()

    def _space(self, *, after_value: bool = False) -> bool:
        """Pass white space and comments. Returns whether a line end was passed.

        ``after_value``: what looks like a comment may be the rest of a string that ended too early, so it
        must stand apart and hold no quotation mark.
        """
        text = self.text
        start = self.pos
        while True:
            self.pos = _SPACE.match(text, self.pos).end()  # type: ignore[union-attr]
            char = text[self.pos : self.pos + 1]
            if char in "/#" and char and after_value and self.pos == start and self.stack:
                raise Stop("syntax", "expecting ',' or a closing bracket after a value", self.pos)
            if char in _PLAIN_NEXT or not (self._comment(after_value) if char in "/#" else self._odd_space()):
                return "\n" in text[start : self.pos] or "\\n" in text[start : self.pos]

    def _comment(self, after_value: bool) -> bool:
        found = _COMMENT.match(self.text, self.pos)
        if not found or (after_value and _BRACKET_OR_QUOTE.search(found[0])):
            return False
        if not found[0].startswith("/*") and "\\n" in found[0]:
            raise Stop("syntax", "a comment seems to run on over a line end that is written as \\n", self.pos)
        if _ELISION.search(found[0]):
            raise Stop("elision", "a comment stands for something left out", self.pos)
        self.note("comment", self.pos, found[0], "")
        self.pos = found.end()
        return True

    def _odd_space(self) -> bool:
        for pattern, name in ((_ODD_SPACE, "odd_space"), (_LITERAL_SPACE, "literal_newline")):
            found = pattern.match(self.text, self.pos)
            if found:
                self.note(
                    "byte_order_mark" if found[0] == "\ufeff" and self.pos == 0 else name, self.pos, found[0], " "
                )
                self.pos = found.end()
                return True
        return False

    # -- steps: each reads one thing and returns the next step --------------------------------------

    def _value(self) -> Step | None:
        self._space()
        char = self.text[self.pos : self.pos + 1]
        if char in ("{", "["):
            return self._open(char)
        if char in _CLOSERS and char:
            return self._put(self._string())
        return self._put(self._scalar())

    def _open(self, char: str) -> Step | None:
        if len(self.stack) >= limits.JSON_DEPTH:
            raise Stop("depth", f"values are nested more than {limits.JSON_DEPTH} deep", self.pos)
        container: dict[str, Json] | list[Json] = {} if char == "{" else []
        self.stack.append(container)
        self.keys.append("")
        self.pos += 1
        return self._member if char == "{" else self._element

    def _put(self, value: Json) -> Step | None:
        """Store a complete value in its container; at the top, finish."""
        if not self.stack:
            self.result = value
            return self._tail
        container = self.stack[-1]
        if isinstance(container, dict):
            container[self.keys[-1]] = value
        else:
            container.append(value)
        return self._after

    def _close(self) -> Step | None:
        container = self.stack.pop()
        self.keys.pop()
        return self._put(container)

    def _member(self) -> Step | None:
        """Read a key and its colon, or the end of the object."""
        simple = _SIMPLE_MEMBER.match(self.text, self.pos)
        if simple:
            return self._simple_member(simple)
        self._space()
        char = self.text[self.pos : self.pos + 1]
        if char == "}":
            self.pos += 1
            return self._close()
        if char == ",":
            self.note("extra_comma", self.pos, ",", "")
            self.pos += 1
            return self._member
        start = self.pos
        key = self._key(char)
        self._space()
        if self.text[self.pos : self.pos + 1] != ":":
            code = "inner_quotes" if char in ('"', "'") else "syntax"
            raise Stop(code, "expecting ':' after a key", self.pos)
        self.pos += 1
        container = self.stack[-1]
        if key in container:
            raise Stop("duplicate_key", f'the key "{key[:80]}" occurs twice in one object', start)
        self.keys[-1] = key
        return self._value

    def _simple_member(self, found: re.Match[str]) -> Step | None:
        """Store a member that needs no repair: a plain key, a plain string, and what must follow."""
        mark, key, double, single, after = found.groups()
        container = self.stack[-1]
        if key in container:
            raise Stop("duplicate_key", f'the key "{key[:80]}" occurs twice in one object', found.start(1))
        if isinstance(container, dict):
            container[key] = double if single is None else single
        if mark == "'" or double is None:
            self.quote_style(found.start(1) if mark == "'" else found.start(4) - 1, "'")
        self.pos = found.end()
        if after == "}":
            return self._close()
        self.pos -= 1
        return self._comma(True)

    def _key(self, char: str) -> str:
        if char in _CLOSERS and char:
            return self._string()
        bare = _BARE_KEY.match(self.text, self.pos)
        if not bare:
            raise Stop("syntax" if char else "cut", "expecting a key in quotes", self.pos)
        self.note("bare_key", self.pos, bare[0], f'"{bare[0]}"')
        self.pos = bare.end()
        return bare[0]

    def _element(self) -> Step | None:
        """Read an element, or the end of the array."""
        self._space()
        if self.text[self.pos : self.pos + 1] == "]":
            self.pos += 1
            return self._close()
        return self._value

    def _after(self) -> Step | None:
        """Read what follows a complete value: a comma, a closer, or one of the faults that can be mended."""
        value_end = self.pos
        new_line = self._space(after_value=True)
        char = self.text[self.pos : self.pos + 1]
        in_object = isinstance(self.stack[-1], dict)
        if char == ",":
            return self._comma(in_object)
        if char == ("}" if in_object else "]"):
            self.pos += 1
            return self._close()
        if char in ("}", "]", ""):
            return self._missing_closer(char, value_end)
        if self._comma_is_missing(in_object, new_line, self.text[value_end - 1], self.pos > value_end):
            if self.text[value_end - 2] == ",":
                raise Stop("syntax", "a comma seems to have slipped into a string", value_end - 2)
            self.note("missing_comma", value_end, "", ",")
            return self._member if in_object else self._value
        code = "inner_quotes" if self.text[value_end - 1] in "\"'”’" else "syntax"
        raise Stop(code, "expecting ',' or a closing bracket after a value", self.pos)

    def _comma(self, in_object: bool) -> Step | None:
        start = self.pos
        self.pos += 1
        self._space()
        if self.text[self.pos : self.pos + 1] in ("}", "]"):
            self.note("trailing_comma", start, ",", "")
            return self._after if self.text[self.pos] != ("}" if in_object else "]") else self._shut
        return self._member if in_object else self._value

    def _shut(self) -> Step | None:
        self.pos += 1
        return self._close()

    def _comma_is_missing(self, in_object: bool, new_line: bool, before: str, apart: bool) -> bool:
        if in_object:
            key = _COMPLETE_KEY.match(self.text, self.pos)
            if not key:
                return False
            name = key[1] or key[2] or key[3]
            if new_line or before in "}]":
                return True
            # On one line, a string could also go on here: only a quoted, known key that stands apart ends it.
            return key[3] is None and apart and (before not in "\"'”’" or name in self.known())
        return (new_line or before in "}]") and self.text[self.pos] in "{[\"'0123456789-tfnTFN"

    def _missing_closer(self, char: str, value_end: int) -> Step | None:
        """Add closers at the end, or a } before a ] (tier C)."""
        if not self.closers:
            raise Stop("cut", "a closing bracket is missing", self.pos)
        if char == "":
            if value_end == len(self.text) and self.text[-1:].isdigit():
                raise Stop("cut", "the text ends inside a number", self.pos)
            ends = "".join("}" if isinstance(one, dict) else "]" for one in reversed(self.stack))
            self.note("missing_closers", self.pos, "", ends)
            self.closed_by_us = True
            while len(self.stack) > 1:
                self._close()
            return self._close()
        mate = "}" if char == "]" else "]"
        if char == "}" and not re.fullmatch(r"[\s}\]]*", self.text[self.pos : self.pos + 400]):
            raise Stop("syntax", "expecting ']' before '}'", self.pos)
        if not any(isinstance(one, dict) == (char == "}") for one in self.stack[:-1]):
            raise Stop("syntax", f"expecting '{mate}', found '{char}'", self.pos)
        self.note("missing_closers", self.pos, "", mate)
        return self._close()

    def _tail(self) -> None:
        """Judge what follows the value: closers and plain remarks may go, anything else may not."""
        self._space(after_value=True)
        start = self.pos
        extra = re.compile(r"[\s}\]]*").match(self.text, start)
        rest_at = extra.end() if extra else start
        if self.text[start:rest_at].strip():
            self.note("extra_closers", start, self.text[start:rest_at].strip(), "")
        self.pos = rest_at
        self._space(after_value=True)
        rest = self.text[self.pos :]
        if not rest:
            return
        if rest[0] in ",:\"'“”" or _STRUCTURE.search(rest):
            raise Stop("extra_data", "there is more data after the value", self.pos)
        self.note("trailing_text", self.pos, rest, "")

    # -- tokens -------------------------------------------------------------------------------------

    def _scalar(self) -> Json:
        found = _WORD.match(self.text, self.pos)
        if not found:
            code = "syntax" if self.pos < len(self.text) else "cut"
            raise Stop(code, "expecting a value", self.pos)
        word, start = found[0], self.pos
        self.pos = found.end()
        if word in _LITERALS:
            return _LITERALS[word]
        if word in _PYTHON:
            self.note("python_literal", start, word, json.dumps(_PYTHON[word]))
            return _PYTHON[word]
        try:
            return self._number(word, start)
        except ValueError as error:
            raise Stop("number", str(error), start) from error

    def _number(self, word: str, start: int) -> Json:
        exact = _NUMBER.fullmatch(word)
        if exact:
            if len(word) > limits.NUMBER_CHARS and not exact[1] and not exact[2]:
                raise Stop("number", f"a number has more than {limits.NUMBER_CHARS} digits", start)
            return real(word) if exact[1] or exact[2] else int(word)
        loose = _LOOSE_NUMBER.fullmatch(word)
        if not loose or not (loose[2] or loose[4]):
            code = "elision" if word.startswith(("...", "…")) else "syntax"
            raise Stop(code, f"{word[:40]!r} is not a JSON value", start)
        fraction = f".{loose[4]}" if loose[4] else ".0" if loose[3] else ""
        plain = f"{'-' if loose[1] == '-' else ''}{loose[2] or '0'}{fraction}{loose[5] or ''}"
        self.note("number_style", start, word, plain)
        return real(plain) if fraction or loose[5] else int(plain)

    def _string(self) -> str:
        start, mark = self.pos, self.text[self.pos]
        if mark == '"':
            try:
                value, self.pos = _scanstring(self.text, start + 1, False)
            except ValueError:
                return self._damaged_string(start)
            if not value.isprintable():
                self._raw_controls(start + 1, self.pos - 1)
            return value
        self.quote_style(start, mark)
        return self._damaged_string(start)

    def _raw_controls(self, start: int, end: int) -> None:
        """Note the first raw control character of a string; its value keeps them all."""
        control = _CONTROL.search(self.text, start, end)
        if control:
            if self.stack and isinstance(self.stack[-1], list) and _ITEM_BREAK.search(self.text, start, end):
                raise Stop("syntax", "a quotation mark seems to be missing in a list", start - 1)
            self.note("raw_control", control.start(), control[0], json.dumps(control[0])[1:-1])

    def quote_style(self, start: int, mark: str) -> None:
        """Note the foreign quotation mark once per kind, so that a long block is not a long list."""
        if ord(mark) not in self.mended:
            self.mended.add(ord(mark))
            self.note("quote_style", start, mark, '"')

    def _damaged_string(self, start: int) -> str:
        text, mark = self.text, self.text[start]
        end = _RUN[mark].match(text, start + 1).end()  # type: ignore[union-attr]
        if end >= len(text):
            raise Stop("unclosed_string", "a string is not closed", start)
        raw = text[start + 1 : end]
        self.pos = end + 1
        self._raw_controls(start + 1, end)
        value, unknown = decode_string(raw, mark, start + 1)
        if unknown >= 0:
            self.note("unknown_escape", unknown, text[unknown : unknown + 2], "\\" + text[unknown : unknown + 2])
        return value


_PLAIN_NEXT: Final = frozenset(["", *'{}[]",:0123456789-tfn'])


def decode_string(raw: str, mark: str, offset: int) -> tuple[str, int]:
    """Decode the inside of a string: JSON's escapes, and an unknown escape keeps its backslash.

    Returns the value and the offset of the first unknown escape (-1: none). Raises Stop where the
    string mixes escapes that mean something with escapes that do not, and for a backslash at a line end.
    """
    if "\\" not in raw:
        return raw, -1
    unknown, meant = -1, False

    def one(match: re.Match[str]) -> str:
        nonlocal unknown, meant
        body = match[1]
        if body in _SELF or body == mark:
            return body
        if body in _MEANT or (body[0] == "u" and len(body) == 5):
            meant = True
            return _MEANT.get(body) or chr(int(body[1:], 16))
        if len(body) > 1 and mark == "'":
            meant = True
            return chr(int(body[1:], 16))
        half_unicode = body == "u" and raw[match.end() : match.end() + 1] in _HEX
        if body in "\n\r“”‘’" or len(body) > 1 or half_unicode:
            raise Stop("ambiguous_escape", "a backslash here can be read in two ways", offset + match.start())
        unknown = match.start() if unknown < 0 else unknown
        return match[0]

    value = _ESCAPE.sub(one, raw)
    if unknown >= 0 and meant:
        raise Stop(
            "mixed_escapes",
            "a string mixes escapes such as \\n with backslashes that are not escaped",
            offset + unknown,
        )
    if not value.isascii():
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace" if _lone(value) else "strict")
    return value, (offset + unknown if unknown >= 0 else -1)


def _lone(value: str) -> bool:
    try:
        value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise Stop("surrogate", "there is a lone surrogate, which is not a character", 0) from None
    return False
