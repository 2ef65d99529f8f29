"""The encoding of a text that is not UTF-8: by its mark or declaration, or Latin-1; else none.

It must give the same bytes back; Latin-1 (or Windows-1252) only where its letters make words.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

from rails.core.lazy_pattern import lazy

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Bytes in which a file says how it is encoded.
_HEAD: Final = 1_024
_NAMED: Final = lazy(rb"(?:coding[:=][ \t]*|charset[ \t]*=[ \t]*[\"']?|@charset[ \t]+\"|encoding=[\"'])([-\w.]+)")
#: Encodings that a file may declare: supersets of ASCII in which every character stands for itself.
_DECLARED: Final = lazy(
    r"iso8859-\d+|cp(?:125\d|437|85[0258]|86[0-9]|874|932|949|950)|koi8-[rut]|shift_jis(?:_2004|x0213)?|euc_j(?:p|is_2004)"
    r"|euc_kr|gb2312|gbk|gb18030|big5(?:hkscs)?|mac-\w+|tis-620|hp-roman8"
)
_WIDER: Final = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "cp950"}
#: NUL bytes at every other place: this part of them makes UTF-16 without a mark.
_MOSTLY: Final = 0.7
_SHORTEST: Final = 8
_CONTROL: Final = lazy("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f]")

Found = tuple[str, str, bytes]


def found(data: bytes, *, may_name: bool) -> Found | None:
    """Return text, encoding and mark, or ``None``. ``may_name``: a declaration counts."""
    for mark, name in _MARKS:
        if data.startswith(mark) and (text := _text(data[len(mark) :], name)) is not None and "\0" not in text:
            return text, name, mark
    for name in _sixteen(data) if b"\0" in data else _by_bytes(data, may_name=may_name):
        text = _text(data, name)
        if text is not None and not _CONTROL.search(text):
            return text, name, b""
    return None


def declared(data: bytes) -> str:
    """Return the usable encoding that a text names, or ``""``."""
    name = _named_codec(data[:_HEAD])
    return _WIDER.get(name, name) if _DECLARED.fullmatch(name) else ""


def misleading(head: bytes) -> str:
    """Return the encoding that a text names, if programs read another text in it."""
    name = _named_codec(head)
    return "" if name in ("", "utf-8", "utf-8-sig", "ascii") or _DECLARED.fullmatch(name) else name


def _named_codec(head: bytes) -> str:
    named = _NAMED.search(head)
    try:
        return codecs.lookup(named[1].decode()).name if named else ""
    except (LookupError, UnicodeError):
        return ""


def first_fault(data: bytes) -> int:
    """Return the offset at which ``data`` stops being UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def _text(data: bytes, name: str) -> str | None:
    try:
        text = data.decode(name)
        return text if text.encode(name) == data else None
    except UnicodeError:
        return None


def _sixteen(data: bytes) -> Iterator[str]:
    low = data[::2]
    high = data[1::2]
    if len(data) >= _SHORTEST and len(low) == len(high):
        if high.count(0) >= _MOSTLY * len(high) and 0 not in low:
            yield "utf-16-le"
        elif low.count(0) >= _MOSTLY * len(low) and 0 not in high:
            yield "utf-16-be"


def _by_bytes(data: bytes, *, may_name: bool) -> Iterator[str]:
    if may_name and _NAMED.search(data[:_HEAD]):
        return filter(None, [declared(data)])
    return _western(data)


_LETTER: Final = rb"[\xc0-\xd6\xd8-\xf6\xf8-\xff\x8a\x8c\x8e\x9a\x9c\x9e\x9f]"
#: A letter or two beside one of ASCII, or one of those that are a word alone.
_IN_WORD: Final = lazy(
    rb"(?<=[A-Za-z])%b{1,2}|%b{1,2}(?=[A-Za-z])|(?<![\x80-\xff])[\xe0\xe8\xe9\xf3\xf6\xe5\xc0\xc9\xd6\xc5](?![\x80-\xff])"
    % (_LETTER, _LETTER)
)
#: What no word has: a sign between two letters, or an opening quote right behind one.
_ODD: Final = lazy(
    rb"[A-Za-z][\x80-\x84\x86-\x89\x8b\x8d-\x91\x93-\x95\x98\x9d\xa1-\xac\xae-\xb6\xb8-\xbf][A-Za-z\xc0-\xff]"
    rb"|[A-Za-z][\x82\x84\x8b\x91\x93]"
)


def _western(data: bytes) -> Iterator[str]:
    letters = len(re.findall(_LETTER, data))
    in_words = sum(map(len, _IN_WORD.findall(data)))
    signs = sum(byte > 0x7F for byte in data) - letters
    if _ODD.search(data) or in_words < 0.7 * letters or (not letters and signs * 3 > len(data)) or _is_mixed(data):
        return
    yield "cp1252" if re.search(rb"[\x80-\x9f]", data) else "iso8859-1"


def _is_mixed(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    return len(re.findall("[^\0-\x7f\udc80-\udcff]", text)) >= len(re.findall("[\udc80-\udcff]", text))
