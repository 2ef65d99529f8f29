"""The encoding of a text that is not UTF-8: by its mark or declaration, or Latin-1; else none.

It must give the same bytes back; Latin-1 only where each letter is in a word or alone, and no byte is a control.
"""

from __future__ import annotations

import codecs
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
#: In the first line or lines of a file: what may be the name of its encoding.
_MAY_NAME: Final = lazy(rb"(?i)\s*<(?:\?xml|!doctype|html)|@charset|(?:.*\n)?[ \t\f]*#.*?coding")
_NAMED: Final = lazy(rb"(?:coding[:=][ \t]*|charset[ \t]*=[ \t]*[\"']?|@charset[ \t]+\"|encoding=[\"'])([-\w.]+)")
#: Encodings that a file may declare: supersets of ASCII in which every character stands for itself.
_DECLARED: Final = lazy(
    r"iso8859-\d+|cp(?:125\d|437|85[0258]|86[0-9]|874|932|949|950)|koi8-[rut]|shift_jis(?:_2004|x0213)?|euc_j(?:p|is_2004)"
    r"|euc_kr|gb2312|gbk|gb18030|big5(?:hkscs)?|mac-\w+|tis-620|hp-roman8"
)
_WIDER: Final = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "cp950"}
#: Control characters but tab, line ends and form feed.
CONTROL: Final = lazy("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f]")
#: A sign or one-letter word beside ASCII, or one or two letters beside a letter of ASCII.
_WESTERN: Final = lazy(
    rb"(?:[^\x80-\xff]++|(?<![\x80-\xff])[\xa0-\xbf\xc0\xc5\xc9\xd6\xe0\xe5\xe8\xe9\xf3\xf6](?![\x80-\xff])"
    rb"|(?<=[A-Za-z])[\xc0-\xff]{1,2}(?![\x80-\xff])|(?<![\x80-\xff])[\xc0-\xff]{1,2}(?=[A-Za-z]))*+"
)


def found(data: bytes) -> tuple[str, str, bytes] | None:
    """Return text, encoding and mark, or ``None``."""
    for mark, name in _MARKS:
        if data.startswith(mark) and (text := _text(data[len(mark) :], name)) is not None and "\0" not in text:
            return text, name, mark
    named = _MAY_NAME.match(data, 0, _HEAD) and _NAMED.search(data, 0, _HEAD)
    western = "iso8859-1" if not named and _WESTERN.fullmatch(data) else ""
    name = declared(data) or western
    text = _text(data, name) if name else None
    return None if text is None or CONTROL.search(text) else (text, name, b"")


def declared(data: bytes) -> str:
    """Return the usable encoding that a text names, or ``""``."""
    name = _named_codec(data[:_HEAD]) if _MAY_NAME.match(data, 0, _HEAD) else ""
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


def _text(data: bytes, name: str) -> str | None:
    try:
        text = data.decode(name)
        return text if text.encode(name) == data else None
    except UnicodeError:
        return None
