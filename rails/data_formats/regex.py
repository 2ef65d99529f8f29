r"""Regular expressions in linear time, in RE2's dialect (https://github.com/google/re2/wiki/Syntax).

No look-around or back-references; ``\w``, ``\d``, ``\s`` and ``\b`` are ASCII, ``\pL`` and ``\pN`` all letters and
digits, a code point is ``\x{20ac}``. ``$`` ends the text in a schema, a line in a replacement.

Bounded: a pattern's characters, repetitions (RE2: 1,000), a program's instructions, and a search's steps (an
instruction for a character: RE2's worst case).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from time import thread_time
from typing import Any, Final, TypeAlias

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line

_MEMORY: Final = 8 << 20
_REFERENCE: Final = lazy(r"\$(\$|&|[1-9][0-9]?)")


class RegexError(ValueError):
    """The pattern is wrong or not covered; the text says what, and where."""


class Regex:
    """A pattern of a schema or a search."""

    def __init__(self, text: str) -> None:
        self._whole = _compiled(text, never_capture=True)
        if self._whole.programsize > limits.REGEX_INSTRUCTIONS:
            raise RegexError("it is too large when its repetitions are written out; use smaller counters")

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere."""
        return self._whole.search(_encodable(text)) is not None

    def lines(self, text: str) -> Iterator[int]:
        r"""Return the 0-based numbers of the lines (``\n``, ``\r\n``) in which it matches."""
        lines = enumerate(text.split("\n"))
        return (number for number, line in lines if self.search(line.removesuffix("\r")))


#: A match's place, and what replaces it.
Replaced: TypeAlias = tuple[int, int, str]


#: Returns a text as a pattern, compiled once. Raises RegexError.
compile_pattern: Final = lru_cache(512)(Regex)


def replacements(pattern: str, text: str, template: str, *, ignore_case: bool, most: int) -> list[Replaced]:
    r"""Return at most ``most`` matches, no empty ones; ``^`` and ``$`` are a line's.

    ``$1`` to ``$99``, ``$&`` (whole match) and ``$$`` in ``template`` are filled in. Raises RegexError, also if it
    takes too long, or ``\w`` would cut a word in two.
    """
    if not text.isascii() and ("\\w" in pattern or "\\W" in pattern):
        raise RegexError(
            "\\w and \\W know ASCII only, and the text has other letters; write [\\pL\\pN_] or [^\\pL\\pN_]"
        )
    compiled = _compiled(f"(?m){pattern}", case_sensitive=not ignore_case)
    if compiled.programsize * len(text) > limits.REGEX_STEPS:
        raise RegexError(f"it is too large for a text of {len(text)} characters; make it simpler")
    end = thread_time() + limits.REGEX_SECONDS
    found: list[Replaced] = []
    for match in compiled.finditer(_encodable(text)):
        start, stop = match.span()
        if start < stop:
            spans = [match.span(group) for group in range(compiled.groups + 1)]
            texts = {str(group): text[low:high] for group, (low, high) in enumerate(spans)}
            texts |= {"&": texts["0"], "$": "$"}
            filled = _REFERENCE.sub(lambda name, texts=texts: texts.get(name[1], name[0]), template)  # type: ignore[misc]
            found.append((start, stop, filled))
        if len(found) >= most:
            break
        if thread_time() > end:
            raise RegexError(f"it was not done after {limits.REGEX_SECONDS:g} s; make it simpler")
    return found


@lru_cache(64)
def _compiled(pattern: str, **switches: bool) -> Any:  # noqa: ANN401 - RE2's package has no types
    import re2  # type: ignore[import-untyped]

    if len(pattern) > limits.REGEX_CHARS:
        raise RegexError(f"it has {len(pattern)} characters; {limits.REGEX_CHARS} are allowed")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    for name, value in switches.items():
        setattr(options, name, value)
    try:
        return re2.compile(_encodable(pattern), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise RegexError(f"{one_line(reason, 200)} (RE2 has no look-around and no back-references)") from None


def _encodable(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
