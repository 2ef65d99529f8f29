"""The tokens of damaged JSON, each departure noted: tiers A and B of ``rails.parsing.repairs``."""

from __future__ import annotations

import json
import re
from typing import Final, Literal

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, number_from_text

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
    "literal_newline": 0.95,
    "missing_comma": 0.95,
    "extra_closers": 0.95,
    "trailing_text": 0.9,
    "leading_text": 0.9,
    "unknown_escape": 0.9,
    "missing_closers": 0.9,
    "double_encoded": 0.95,
    "inner_quotes": 0.8,
    "missing_braces": 0.9,
    "missing_colon": 0.9,
    "colon_style": 1.0,
    "key_quote": 0.9,
    "long_string": 0.9,
}
#: What all repairs of a block must come to, the least sure of each kind multiplied; a block below is refused.
LEAST_CONFIDENCE: Final = 0.5
_SPACE: Final = lazy(r"[ \t\n\r]*")
#: What may stand between tokens beside white space, by the repair that passes over it.
_BETWEEN: Final = lazy(
    r"(?P<comment>//[^\n]*|#[^\n]*|/\*.*?\*/)|(?P<byte_order_mark>\A\ufeff)|(?P<literal_newline>(?:\\[nrt])+)"
    r"|(?P<odd_space>[\ufeff\u00a0\u200b-\u200d\u2060\u2000-\u200a\u202f\u205f\u3000\x0b\x0c\u2028\u2029\x85]+)",
    re.S,
)
ELISION: Final = lazy(
    r"\.\.\.|…|\b(?:rest of|remaining|omitted|unchanged|existing \w+|same as (?:above|before)|etc)\b"
    r"|\b(?:more|other) (?:edits|items|files|entries|keys|fields|lines)\b",
    re.IGNORECASE,
)
_WORD: Final = lazy(r"[^\s,\[\]{}:\"'“”‘’`/#\\]+")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_PYTHON: Final[dict[str, Json]] = {"True": True, "False": False, "None": None}
#: What may close a string opened by each quotation mark.
CLOSERS: Final = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"', "‘": "‘’'", "’": "‘’'"}
_RUN: Final = {mark: lazy(rf"[^\\{ends}]*+(?:\\.[^\\{ends}]*+)*+", re.S) for mark, ends in CLOSERS.items()}
_ESCAPE: Final = lazy(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.S)
_MEANT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BRACKET_OR_QUOTE: Final = lazy(r"[{}\[\]\"]")
_CONTROL: Final = lazy(r"[\x00-\x1f]")
#: A comma at the end of a raw line: inside a list's item it is more likely the list's own.
_ITEM_BREAK: Final = lazy(r",[ \t]*\r?\n")


#: Which escapes of a doubtful string are decoded; the others are characters of pasted text. "l": \\n, \\r and \\t; "c":
#: other characters; "d": doubled backslashes; "q": quotation marks; "s": \\' between double ones; "t": \\` and \\$,
#: which are no escapes of JSON. None: all that JSON has, and a string that mixes escapes with what is none is refused.
Escapes = frozenset[str] | None
#: Why a string is doubtful: raw control characters, unescaped quotation marks, or marks that are not JSON's.
Doubt = Literal["", "raw", "torn", "long"]
ALL_ESCAPES: Final = frozenset("lcdqst")
#: Stands for a line end or a tab that was written as an escape, until it is known whether it stands inside a string.
WRITTEN: Final = {"n": "\uf8f0", "r": "\uf8f1", "t": "\uf8f2"}
_EXPRESSION: Final = lazy(r"(?<!\\)(?:\\\\)*\$\{")
#: What only other languages than JSON read as an escape of one character: \\033, \\u{1f600}.
_FOREIGN_ESCAPE: Final = lazy(r"0[0-7]|u[0-9a-fA-F{]")
#: Stands for the backslash of an escaped quotation mark.
_ESCAPED: Final = "\uf8f3"
_KIND: Final = {**dict.fromkeys("nrt", "l"), **dict.fromkeys("bf", "c"), "\\": "d", "'": "s", '"': "q", "/": "c"}


class DoubtfulText(str):
    """A string with several readings; ``rails.parsing.readings`` chooses."""

    raw: str
    mark: str
    doubt: Doubt
    offset: int
    #: Whether a language must vouch for marks that may not be the string's own.
    needs_voucher: bool = False

    @classmethod
    def of(cls, value: str, raw: str, mark: str, doubt: Doubt, offset: int) -> DoubtfulText:
        """Return ``value`` with its source."""
        one = cls(value)
        one.raw, one.mark, one.doubt, one.offset = raw, mark, doubt, offset
        return one


class Stop(Exception):
    """Ends the reading with a fault."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.fault = JsonFault(code, message, offset)


class Tokens:
    """A text, a position, and the repairs so far. Methods read one token."""

    def __init__(self, text: str, doubts: bool = False) -> None:
        self.text, self.doubts = text, doubts
        self.pos = 0
        self.stack: list[dict[str, Json] | list[Json]] = []  # the open containers
        self.repairs: list[Repair] = []
        self.repaired: set[str] = set()

    def note(self, name: str, offset: int, before: str, after: str) -> None:
        """Note a repair."""
        self.repairs.append(Repair(name, offset, before[:80], after[:80], CONFIDENCE[name]))

    def space(self, *, after_value: bool = False) -> bool:
        """Pass white space and comments. Return whether a line end was passed.

        ``after_value``: a comment must be set apart and hold no quotation mark; it may be a string's rest.
        """
        text, start = self.text, self.pos
        if after_value and self.stack and text.startswith(("/", "#"), start):
            return False
        while self._between(after_value):
            pass
        return "\n" in text[start : self.pos] or "\\n" in text[start : self.pos]

    def _between(self, after_value: bool) -> bool:
        self.pos = _SPACE.match(self.text, self.pos).end()  # type: ignore[union-attr]
        found = _BETWEEN.match(self.text, self.pos)
        comment = found["comment"] if found else None
        if found is None or (comment and after_value and _BRACKET_OR_QUOTE.search(comment)):
            return False
        if comment and not comment.startswith("/*") and "\\n" in comment:
            raise Stop("syntax", "a comment seems to run on over a line end that is written as \\n", self.pos)
        if comment and ELISION.search(comment):
            raise Stop("elision", "a comment replaces omitted text", self.pos)
        self.note(str(found.lastgroup), self.pos, found[0], "" if comment else " ")
        self.pos = found.end()
        return True

    def scalar(self) -> Json:
        """Read a number or a word such as true."""
        found = _WORD.match(self.text, self.pos)
        if not found:
            code = "syntax" if self.pos < len(self.text) else "cut"
            raise Stop(code, "expecting a value", self.pos)
        word, start = found[0], self.pos
        self.pos = found.end()
        if word in _PYTHON:
            self.note("python_literal", start, word, json.dumps(_PYTHON[word]))
            return _PYTHON[word]
        if word in _WORDS:
            return _WORDS[word]
        number = number_from_text(word)
        if number is None:
            code = "elision" if word.startswith(("...", "…")) else "syntax"
            raise Stop(code, f"{word[:40]!r} is not a JSON value", start)
        return number

    def string(self) -> str:
        """Read a string in any quotation marks."""
        text, start = self.text, self.pos
        mark = text[start]
        if mark != '"' and mark not in self.repaired:  # told once per kind
            self.repaired.add(mark)
            self.note("quote_style", start, mark, '"')
        end = _RUN[mark].match(text, start + 1).end()  # type: ignore[union-attr]
        if end >= len(text):
            raise Stop("unclosed_string", "a string is not closed", start)
        raw = text[start + 1 : end]
        self.pos = end + 1
        control = _CONTROL.search(raw)
        if control:
            listed = bool(self.stack) and isinstance(self.stack[-1], list)
            if listed and _ITEM_BREAK.search(raw):
                raise Stop("syntax", "a quotation mark seems to be missing in a list", start)
            if raw.isspace() and "\n" in raw:
                raise Stop("syntax", "a string holds nothing but a line end; a quotation mark may be missing", start)
            self.note("raw_control", start + 1 + control.start(), control[0], json.dumps(control[0])[1:-1])
        try:
            value, unknown = decode_string(raw, mark, start + 1)
        except Stop as stop:
            if not self.doubts or stop.fault.code != "mixed_escapes":
                raise
            value, unknown = raw, stop.fault.offset
        if unknown >= 0:
            self.note("unknown_escape", unknown, text[unknown : unknown + 2], "\\" + text[unknown : unknown + 2])
        doubtful = control or unknown >= 0 or (mark == '"' and "\\'" in raw)
        if doubtful and self.doubts and re.search(rf"\\[^{mark}]", raw):
            return DoubtfulText.of(value, raw, mark, "raw" if control else "", start)
        return value

    def long_string(self) -> str:
        """Read a string between back-ticks or three marks, unchanged."""
        start, text = self.pos, self.text
        mark = "`" if text[start] == "`" else text[start] * 3
        begin = start + len(mark)
        end = re.compile(rf"(?<!\\){mark}(?=\s*[,}}\]])").search(text, begin)
        raw = text[begin : end.start()] if end else ""
        short = len(mark) > 1 and "\n" not in raw  # two of its marks on either side may be its own
        expression = mark == "`" and _EXPRESSION.search(raw)
        if end is None or re.search(rf"(?<!\\){mark}", raw) or "```" in raw or raw[-1:] == mark[0] or expression:
            code = "inner_quotes" if len(mark) > 1 else "syntax"
            raise Stop(code, f"a string between {mark} has no certain end, or is an expression", start)
        self.note("long_string", start, mark, '"')
        self.pos = end.end()
        if "\\" not in raw and not short:
            return raw
        if not self.doubts:
            code = "inner_quotes" if short else "mixed_escapes"
            raise Stop(code, f"a string between {mark} may hold marks or backslashes of its own", start)
        one = DoubtfulText.of(raw, raw, mark[0], "long", start)
        one.needs_voucher = short
        return one


def decode_string(raw: str, mark: str, offset: int, escapes: Escapes = None, doubt: Doubt = "") -> tuple[str, int]:
    """Decode the inside of a string; an unknown escape keeps its backslash.

    Returns the value and the first unknown escape's offset (-1: none). ``escapes``: which ones a doubtful string
    decodes. Raises Stop for a backslash at a line end, and, without ``escapes``, where unknown escapes are mixed with
    others.
    """
    if "\\" not in raw:
        return raw, -1
    unknowns = [found for found in _ESCAPE.finditer(raw) if not _kind(found[1], mark)]
    for found in unknowns:
        foreign = _FOREIGN_ESCAPE.match(raw, found.start(1)) and (found[1] == "u" or "\n" not in raw)
        if found[1] in "\n\r“”‘’" or len(found[1]) > 1 or foreign:
            what = "a line end" if found[1] in "\n\r" else repr(raw[found.start(1) : found.start(1) + 3])
            raise Stop("ambiguous_escape", f"a backslash before {what} can be read in two ways", offset + found.start())
    unknown = offset + unknowns[0].start() if unknowns else -1
    keep, mixed, bodies = frozenset[str](), False, set(_ESCAPE.findall(raw))
    if escapes is not None:
        apostrophe = "s" not in escapes and "'" in bodies and mark != "'"
        mixed = doubt in ("long", "torn") or unknown >= 0 or apostrophe
        keep = ALL_ESCAPES - escapes if mixed or doubt else keep
        keep = keep if (mixed and doubt != "torn") or "\n" in raw else keep - {"l"}
        keep = keep if doubt in ("long", "torn") else keep - {"q"}
    elif unknowns and any(_kind(body, mark) in ("l", "c", "d") for body in bodies):
        message = "a string mixes escapes such as \\n with backslashes that are not escaped"
        raise Stop("mixed_escapes", message, unknown)

    def chosen(found: re.Match[str]) -> str:
        body, kind = found[1], _kind(found[1], mark)
        if escapes is not None and "t" not in keep and mark != "`" and body in ("`", "$"):
            return body
        if not kind or kind in keep:
            return found[0]
        if mixed and kind == "l":
            return WRITTEN[body]
        return chr(int(body[1:], 16)) if len(body) > 1 else _MEANT.get(body, body)

    if "d" in keep and "q" not in keep:  # the writer escaped quotation marks and no backslashes
        raw = raw.replace(f"\\{mark}", _ESCAPED + mark)
    value = _ESCAPE.sub(chosen, raw).replace(_ESCAPED, "")
    try:
        value = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise Stop("surrogate", "there is a lone surrogate, which is not a character", 0) from None
    return value, unknown


def _kind(body: str, mark: str) -> str:
    if body == mark or (mark == "`" and body == "$"):
        return "q"
    if len(body) > 1:
        return "c" if mark == "'" or body[0] == "u" else ""
    return "" if body == "/" and mark == "'" else _KIND.get(body, "")
