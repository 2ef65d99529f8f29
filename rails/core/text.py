"""Printable text, decoding of bytes, and places of offsets.

Only :func:`printable` leads from untrusted text to a screen. Invisible characters are shown: without them different
texts look equal.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, cast

from rails.core import charsets
from rails.core.lazy_pattern import lazy

Eol = Literal["\n", "\r\n", "\r"]

# Categories that draw nothing, move the cursor, reorder text or have no agreed look. Of the spaces (Zs)
# only U+0020 is one; the others look like it and are not.
_HIDDEN: Final = str.split("Cc Cf Co Cs Cn Zl Zp Zs")
# Letters and marks that Unicode calls visible and fonts draw as nothing: the default-ignorable ones that
# are not of a category above (Unicode 15.1, DerivedCoreProperties), and those with an empty glyph.
_BLANK_LETTERS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159"
)
# What surely is visible and stands alone, so that most texts pass in one step: ASCII, Latin, punctuation, arrows
# and other symbols, in ranges without a gap or a hidden character.
_PLAIN: Final = " -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u23ff\u2500-\u27bf"
_PLAIN_LINE: Final = f"[{_PLAIN}]*"
_PLAIN_TEXT: Final = f"[{_PLAIN}\n\t]*"
#: Marks on one letter that are drawn; more would run over the lines above and below. Real scripts need four.
_LITTLE: Final = 1 << 14  # bytes that are hashed before OpenSSL would be loaded
_MARKS_SHOWN: Final = 4


def _is_hidden(char: str) -> bool:
    if char == " ":
        return False
    if unicodedata.category(char) in _HIDDEN or char in _BLANK_LETTERS:
        return True
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def printable(text: str, *, keep: str = "\n\t") -> str:
    """Return ``text`` with every character that could deceive a reader as an escape.

    Control, format, bidirectional, private-use, surrogate and unassigned characters, spaces but U+0020, emoji
    selectors, and combining marks that have no letter or pile up become ``\\xNN``, ``\\uNNNN`` or ``\\UNNNNNNNN``.
    ``keep`` passes; the rest satisfies ``str.isprintable``.
    """
    if (text.isascii() and text.isprintable()) or re.fullmatch(_PLAIN_TEXT if keep == "\n\t" else _PLAIN_LINE, text):
        return text
    shown = []
    marks = _MARKS_SHOWN
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        if char in keep:
            marks = _MARKS_SHOWN
            shown.append(char)
        elif _is_hidden(char) or marks > _MARKS_SHOWN:
            marks = _MARKS_SHOWN
            shown.append(_escape(char))
        else:
            shown.append(char)
    return "".join(shown)


#: What nobody sees, and what turns the order of letters; a joiner within a word or a picture is none.
_UNSEEN: Final = lazy(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]|(?<![^\0-\u02ff])[\u200c\u200d]|[\u200c\u200d](?![^\0-\u02ff])"
)


def with_unseen_escaped(text: str) -> tuple[str, int]:
    """Return ``text`` with unseen characters as escapes, and their number."""
    return _UNSEEN.subn(lambda found: _escape(found[0]), text)


def counted(count: int, thing: str, things: str = "") -> str:
    """Return a count and its noun; ``things``: irregular plural."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def one_line(text: str, limit: int = 160) -> str:
    """Return printable ``text`` on one line, cut to ``limit``, the rest counted."""
    flat = printable(text[: limit * 4], keep="").strip()
    if len(flat) <= limit and len(text) <= limit * 4:
        return flat
    return f"{flat[:limit]}… (+{max(len(text), len(flat)) - limit} characters)"


def _escape(char: str) -> str:
    point = ord(char)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def line_column(text: str, offset: int, first: tuple[int, int] = (1, 1)) -> tuple[int, int]:
    """Return line and column (in characters) of ``offset``; lines end at ``\\n``.

    ``first``: where the text begins.
    """
    offset = max(0, min(offset, len(text)))
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + first[0], (offset - before if before >= 0 else offset + first[1])


def excerpt(text: str, offset: int, width: int = 60) -> str:
    """Return what surrounds ``offset`` on one printable line, ``…`` where cut."""
    start = max(0, offset - width)
    end = offset + width
    body = printable(text[start:end], keep="").strip()
    return f"{'…' if start else ''}{body}{'…' if end < len(text) else ''}"


def head_and_tail(text: str, limit: int) -> tuple[str, int]:
    """Cut the middle out, to about ``limit`` characters. Return the text and the number cut."""
    if len(text) <= limit:
        return text, 0
    head = text[: limit * 2 // 3]
    tail = text[-limit // 3 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters left out …]\n{tail}", left_out


def sha256(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in hexadecimal."""
    return str(_sha256(len(data) > _LITTLE)(data).hexdigest())


@cache
def _sha256(much: bool) -> Callable[[bytes], Any]:
    """Return Python's own, or for much data the faster one, which loads OpenSSL first."""
    for name in () if much else ("_sha2", "_sha256"):  # from Python 3.12 on, and before
        with suppress(ImportError):
            return cast("Callable[[bytes], Any]", import_module(name).sha256)
    return cast("Callable[[bytes], Any]", import_module("hashlib").sha256)


class Decoded(NamedTuple):
    """A file's text and what is needed to write the same bytes again.

    ``text`` keeps line endings, without the byte-order mark ``mark``; ``encoding`` is a Python codec.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def bom(self) -> bool:
        """Whether a byte-order mark begins the file."""
        return bool(self.mark)

    @property
    def eol(self) -> Eol:
        """The most frequent line ending."""
        return main_eol(self.text)[0]

    @property
    def mixed_eol(self) -> bool:
        """Whether line endings differ."""
        return main_eol(self.text)[1]

    @property
    def whole(self) -> str:
        """The text with the byte-order mark's character."""
        return f"\ufeff{self.text}" if self.mark else self.text

    @property
    def label(self) -> str:
        """The encoding's name for people."""
        return _LABELS.get(self.encoding, self.encoding.upper())

    def recoded_from(self, old: Decoded) -> str:
        """Return the file's old and new encoding; "" if no byte of it changes so."""
        both = old.text + self.text
        same = both.encode(self.encoding, "replace") == both.encode(old.encoding, "replace")
        return "" if same else f"changes its encoding from {old.label} to {self.label}"

    def encode(self, text: str) -> bytes:
        """Return ``text`` so encoded, with mark. Raises UnicodeEncodeError."""
        return self.mark + text.encode(self.encoding)

    def text_of(self, data: bytes) -> str:
        """Return other bytes as text, decoded the same way."""
        return data.removeprefix(self.mark).decode(self.encoding)

    def size(self, text: str) -> int:
        """Return the bytes of ``text``, without mark."""
        return len(text.encode(self.encoding))


def decode_text(data: bytes) -> Decoded | None:
    """Decode a text file, so that it encodes to the same bytes; ``None`` for no text (:func:`why_not_text`).

    UTF-8, UTF-16, UTF-32, the encoding it names, or Latin-1 (:mod:`rails.core.charsets`).
    """
    if b"\0" not in data:
        if data.isascii():
            return Decoded(data.decode(), charsets.declared(data) or "utf-8")
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        try:
            return Decoded(data.removeprefix(mark).decode(), "utf-8", mark)
        except UnicodeDecodeError:
            if mark:
                return None
    found = charsets.found(data)
    return None if found is None else Decoded(*found)


def why_not_text(data: bytes) -> str:
    """Return why :func:`decode_text` returns ``None``."""
    if b"\0" in data:
        return "it has NUL bytes and is not UTF-16 or UTF-32"
    read = data.decode(errors="surrogateescape")
    line = re.split("[\udc80-\udcff]", read, maxsplit=1)[0].count("\n") + 1
    return f"line {line} is not UTF-8, and the file does not name its encoding"


def plain_text(data: bytes) -> str | None:
    """Return UTF-8 ``data`` without byte-order mark, else ``None``."""
    if b"\0" in data:
        return None
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        return None


def control_in(text: str, known: str = "") -> tuple[int, str] | None:
    """Return the line and escape of the first control character.

    Tab, line ends, form feed and those in ``known`` do not count.
    """
    for found in charsets.CONTROL.finditer(text):
        if found[0] not in known:
            return line_column(text, found.start())[0], _escape(found[0])
    return None


_LABELS: Final = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32-le": "UTF-32 LE",
    "utf-32-be": "UTF-32 BE",
    "iso8859-1": "Latin-1",
    "cp1252": "Windows-1252",
    "cp932": "Shift-JIS",
    "cp949": "EUC-KR",
}


def main_eol(text: str) -> tuple[Eol, bool]:
    """Return the commonest line ending (``\\n`` if none), and whether there are others."""
    crlf = text.count("\r\n")
    counts: dict[Eol, int] = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=counts.__getitem__), sum(map(bool, counts.values())) > 1


#: The signs that lines of the live view begin with, and what a screen reader is to read instead.
_SIGNS: Final = {"🔧 ": "", "✅ ": "done: ", "❌ ": "failed: ", "→ ": "", "── ": ""}


def in_words(line: str) -> str:
    """Return a live view's line with its leading sign in words, without rules."""
    body = line.lstrip()
    sign = body[: body.find(" ") + 1]
    if sign not in _SIGNS:
        return line
    return f"{line[: len(line) - len(body)]}{_SIGNS[sign]}{body.removeprefix(sign).rstrip('─ ')}"


def unfenced(text: str) -> str:
    """Remove a Markdown fence around the whole ``text``."""
    stripped = text.strip()
    first, newline, rest = stripped.partition("\n")
    if newline and first.rstrip().casefold() in ("```json", "```") and rest.rstrip().endswith("```"):
        return rest.rstrip().removesuffix("```")
    return stripped
