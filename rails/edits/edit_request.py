"""One edit as requested, and the slips of copying that are corrected before giving up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.edits.text_view import flatten

_FENCE: Final = lazy(r"\A(`{3,40}+|~{3,40}+)[^\n`]*\n(.*?)\n?\1[ \t]*\n?\Z", re.S)
_NUMBERED: Final = lazy(r"\A[ \t]*+(\d{1,7})(?:\t|[ \t]*[|→│:])")
#: How line numbers are shown; numbers before a tab and no blank may be a table's own.
_SHOWN: Final = lazy(r"(?=[ \t]+\d+\t|[ \t]*\d+[ \t]*[|→│])[ \t]*(\d{1,7})")
_CHARACTERS: Final = {"lt;": "<", "gt;": ">", "amp;": "&", "quot;": '"', "#39;": "'", "#x27;": "'"}
_ENTITY: Final = "|".join(_CHARACTERS)


class EditRequest(Struct, frozen=True):
    """Replace ``old`` by ``new``, both literal.

    ``occurrence``: the n-th place, from 1. ``near_line``: the nearest. ``expected_count``: all, if so many.
    ``handle``: a place offered before. ``ignore_case``, ``regex``: see :mod:`rails.edits.match`. ``validate_after``: a
    text that the file must have afterwards. ``keep_placeholder``: left-out code is meant; a human decides.
    ``whole_lines``: ``old`` is lines, as in a patch. ``below``: lines, in order, above the place.
    """

    old: str = field(default="", name="old_string")
    new: str = field(default="", name="new_string")
    replace_all: bool = False
    occurrence: int | None = None
    near_line: int | None = None
    expected_count: int | None = None
    handle: str = ""
    ignore_case: bool = False
    regex: bool = field(default=False, name="use_regex")
    validate_after: str = ""
    keep_placeholder: bool = False
    whole_lines: bool = False
    below: tuple[str, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether the request chooses between several places."""
        numbers = (self.occurrence, self.near_line, self.expected_count)
        return self.replace_all or bool(self.handle) or any(number is not None for number in numbers)


def is_numbered(text: str) -> bool:
    """Return whether every line of a file begins with its number and a mark."""
    lines = text.removesuffix("\n").split("\n")
    return len(lines) > 2 and all((n := _SHOWN.match(line)) and int(n[1]) == at for at, line in enumerate(lines, 1))


def without_entities(wanted: EditRequest) -> EditRequest | None:
    """Return the edit without HTML entities, if all are escaped; else None."""
    texts = wanted.old, wanted.new
    if "&" not in wanted.old or any(re.search(f"[<>]|&(?!{_ENTITY})", text) for text in texts):
        return None
    old, new = (re.sub(f"&({_ENTITY})", lambda found: _CHARACTERS[found[1]], text) for text in texts)
    return replace(wanted, old=old, new=new)


def without_fence(wanted: EditRequest) -> EditRequest | None:
    """Return the edit without a code fence around its search text, or None."""
    old = _FENCE.match(flatten(wanted.old))
    new = _FENCE.match(flatten(wanted.new))
    if old is None or (new and new[0].partition("\n")[0] != old[0].partition("\n")[0]):
        return None  # no fence, or one that is to change
    end = "\n" if not new and flatten(wanted.new).endswith("\n") else ""
    return replace(wanted, old=f"{old[2]}{end}", new=new[2] if new else wanted.new)


def unnumbered(wanted: EditRequest) -> Iterator[tuple[EditRequest, int]]:
    """Yield the edit without line numbers, and the first; also without the blank after each.

    Only if all lines have one and they count up by one.
    """
    flat = flatten(wanted.old)
    lines = flat.removesuffix("\n").split("\n")
    numbers = [int(match[1]) for match in map(_NUMBERED.match, lines) if match]
    if len(numbers) < len(lines) or numbers != list(range(numbers[0], numbers[0] + len(lines))):
        return
    new = flatten(wanted.new)
    is_numbered = all(_NUMBERED.match(line) for line in new.split("\n") if line.strip())
    for blank in ("", " "):
        old, bare = (
            "\n".join(_NUMBERED.sub("", line, count=1).removeprefix(blank) for line in text.split("\n"))
            for text in (flat, new)
        )
        yield replace(wanted, old=old, new=bare if is_numbered else new), numbers[0]
