"""Where a text stops being JSON, in words: line, column, the text around it, and what does not pair up."""

from __future__ import annotations

import re
from typing import Final

from rails.core.text import excerpt, line_column
from rails.data_formats.strict_json import Fault

_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)


def explain(text: str, fault: Fault) -> str:
    """Say what is wrong and where: message, line, column, the text around it, and what does not balance."""
    line, column = line_column(text, fault.offset)
    place = f"at line {line}, column {column} (character {fault.offset})"
    return f"{fault.message} {place}, near: {excerpt(text, fault.offset)}{balance(text)}"


def balance(text: str) -> str:
    """Return a sentence about brackets that do not pair up outside strings, or an empty string."""
    outside = _STRING.sub("", text)
    left = outside.find('"')
    open_string = len(text) - len(outside) + left if left >= 0 else -1
    outside = outside[:left] if left >= 0 else outside
    counts = {bracket: outside.count(bracket) for bracket in "{}[]"}
    parts = [_surplus(counts[a] - counts[b], a, b) for a, b in ("{}", "[]")]
    if open_string >= 0:
        line, column = line_column(text, open_string)
        parts.append(f"the string that starts at line {line}, column {column} is not closed")
    said = "; ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _surplus(count: int, opening: str, closing: str) -> str:
    if count > 0:
        return f"{count} closing {closing} missing"
    return f"{-count} closing {closing} too many (or {opening} missing)" if count < 0 else ""
