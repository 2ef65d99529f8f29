"""Bytes to text and back, so that what is not edited comes back byte for byte.

Covered: UTF-8 with and without a byte-order mark, UTF-16 with one, and files that are not valid UTF-8
(their odd bytes pass through untouched, but only plain ASCII can be put in). Not covered: guessing an
encoding. Binary content is not text.
"""

from __future__ import annotations

import codecs
from typing import Final

from rails.core.dataclass import dataclass

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Coded:
    """A file's text and how to get the same bytes again. ``clean`` is False where bytes are not UTF-8."""

    text: str
    encoding: str
    mark: bytes
    clean: bool

    def encode(self, text: str) -> bytes:
        """Return ``text`` in this file's form. Raises UnicodeEncodeError for a lone surrogate."""
        errors = "strict" if self.clean else "surrogateescape"
        return self.mark + text.encode(self.encoding, errors)

    def text_of(self, data: bytes) -> str:
        """Return the text of other bytes in the same form."""
        return data[len(self.mark) :].decode(self.encoding, "strict" if self.clean else "surrogateescape")

    def size(self, text: str) -> int:
        """Return how many bytes ``text`` takes in this file."""
        return len(text) if text.isascii() and self.encoding == "utf-8" else len(self.encode(text)) - len(self.mark)

    def accepts(self, text: str) -> bool:
        """Whether ``text`` can be put into this file without guessing its encoding."""
        return text.isascii() if not self.clean else not any("\ud800" <= char <= "\udfff" for char in text)


def read(data: bytes) -> Coded | None:
    """Return the text of ``data``, or ``None`` for binary content."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    try:
        return Coded(body.decode(encoding), encoding, mark, clean=True)
    except UnicodeDecodeError:
        if b"\0" in data:
            return None
    return Coded(data.decode("utf-8", "surrogateescape"), "utf-8", b"", clean=False)
