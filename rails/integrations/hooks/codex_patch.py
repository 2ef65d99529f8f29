"""Codex's patch format (``*** Begin Patch``), applied as by the host.

A hunk is searched from the end of the last: exact, without trailing blanks, without blanks on both sides, with
typographic signs as plain ones; ``@@ text`` first moves to that line. The host refuses a patch without a match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
_NAMED: Final = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_MOVE: Final = "*** Move to: "
_END_OF_FILE: Final = "*** End of File"
_SIGNS: Final = (
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
    "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_PLAIN: Final = str.maketrans(_SIGNS, "-" * 7 + "'" * 4 + '"' * 4 + " " * 13)
#: How two lines are compared, the strictest first.
_ALIKE: Final[tuple[Callable[[str], str], ...]] = (
    str,
    str.rstrip,
    str.strip,
    lambda line: line.translate(_PLAIN).strip(),
)


class Hunk(Struct):
    """A replacement: line to seek first ("": none), old and new lines, at the file's end."""

    anchor: str = ""
    old: list[str] = []
    new: list[str] = []
    at_end: bool = False


class FilePatch(Struct):
    """A patch of one file; of an added one the new lines are the file. ``moved``: the new path."""

    kind: str
    path: str
    hunks: list[Hunk]
    moved: str = ""


class PatchError(ValueError):
    """An unreadable patch, or no match."""


def patch_in(text: str) -> str:
    """Return the patch in a text, such as a here-document; or ""."""
    start = text.find(BEGIN)
    end = text.rfind(END)
    return text[start : end + len(END)] if 0 <= start < end else ""


def read_patch(text: str) -> list[FilePatch]:
    """Return a patch's files. Raises PatchError."""
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise PatchError("it does not begin and end as a patch does")
    found: list[FilePatch] = []
    for line in lines[1:-1]:
        within = found and found[-1].kind == "Update"  # where a line may be of the file, and name no other
        if named := _NAMED.match(line if within else line.strip()):
            found.append(FilePatch(named[1], named[2].strip(), [Hunk()]))
        elif found:
            _take(found[-1], line)
        elif line.strip():
            raise PatchError(f"a line names no file: {line[:80]!r}")
    return found


def _take(file: FilePatch, line: str) -> None:
    hunk = file.hunks[-1]
    if line.startswith("+"):
        hunk.new.append(line[1:])
    elif file.kind != "Update":
        return
    elif line.startswith(_MOVE) and file.hunks == [Hunk()]:
        file.moved = line.removeprefix(_MOVE).strip()
    elif line == _END_OF_FILE:
        hunk.at_end = True
    elif line.startswith("@@"):
        file.hunks.append(Hunk(line[2:].strip()))
    elif line[:1] in ("", " ", "-"):
        hunk.old.append(line[1:])
        hunk.new += [] if line.startswith("-") else [line[1:]]
    else:
        raise PatchError(f"a line of a hunk begins with neither blank, - nor +: {line[:80]!r}")


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """Return the patched text. Raises PatchError without a match."""
    lines = text.removesuffix("\n").split("\n") if text else []
    at = 0
    for hunk in hunks:
        if not hunk.old and not hunk.new:
            continue
        if hunk.anchor:
            at = _seek(lines, [hunk.anchor], at, at_end=False) + 1
        place = _seek(lines, hunk.old, at, at_end=hunk.at_end) if hunk.old else len(lines)
        lines[place : place + len(hunk.old)] = hunk.new
        at = place + len(hunk.new)
    return "".join(f"{line}\n" for line in lines)


def _seek(lines: Sequence[str], wanted: Sequence[str], start: int, *, at_end: bool) -> int:
    """Return the place of ``wanted`` by the strictest comparison that matches. Raises PatchError."""
    last = len(lines) - len(wanted)
    for begin in (max(last, start), start) if at_end else (start,):
        for alike in _ALIKE:
            goal = [alike(line) for line in wanted]
            for place in range(begin, last + 1):
                if all(alike(lines[place + n]) == one for n, one in enumerate(goal)):
                    return place
    raise PatchError(f"its lines are not in the file, from {wanted[0][:80]!r}")
