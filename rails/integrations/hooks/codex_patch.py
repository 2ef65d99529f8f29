"""Codex's patch format (``*** Begin Patch``), applied as by the host.

A hunk is searched from the end of the last: exact, without trailing blanks, without blanks on both sides, with
typographic signs as plain ones; ``@@ text`` first moves to that line. The host refuses a patch without a match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
_NAMED: Final = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_MOVE = "*** Move to: "
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


class Hunk(Struct, frozen=True):
    """A replacement: line to seek first ("": none), old and new lines, at the file's end."""

    anchor: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool = False


class FilePatch(Struct, frozen=True):
    """A patch of one file. ``lines``: of an added file; ``moved``: the new path."""

    kind: Literal["add", "update", "delete"]
    path: str
    lines: tuple[str, ...] = ()
    hunks: tuple[Hunk, ...] = ()
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
    found: list[tuple[str, str, list[str]]] = []
    for line in lines[1:-1]:
        within = found and found[-1][0] == "update"  # where a line may be of the file, and name no other
        if named := _NAMED.match(line if within else line.strip()):
            found.append((named[1].lower(), named[2].strip(), []))
        elif found:
            found[-1][2].append(line)
        elif line.strip():
            raise PatchError(f"a line names no file: {line[:80]!r}")
    return [_file(*one) for one in found]


def _file(kind: Any, path: str, body: Sequence[str]) -> FilePatch:  # noqa: ANN401 - a kind of FilePatch
    if kind != "update":
        return FilePatch(kind, path, tuple(line[1:] for line in body if line.startswith("+")))
    moved = body[0].removeprefix(_MOVE).strip() if body and body[0].startswith(_MOVE) else ""
    return FilePatch(kind, path, (), tuple(_hunks(body[1:] if moved else body)), moved)


def _hunks(body: Sequence[str]) -> Iterator[Hunk]:
    hunks: list[tuple[str, list[str], list[str], list[str]]] = [("", [], [], [])]
    for line in body:
        anchor, old, new, ends = hunks[-1]
        if line == _END_OF_FILE:
            ends.append(line)
        elif line.startswith("@@"):
            hunks.append((line[2:].strip(), [], [], []))
        elif line[:1] in ("", " ", "-", "+"):
            old += [] if line.startswith("+") else [line[1:]]
            new += [] if line.startswith("-") else [line[1:]]
        else:
            raise PatchError(f"a line of a hunk begins with neither blank, - nor +: {line[:80]!r}")
    for anchor, old, new, ends in hunks:
        if old or new:
            yield Hunk(anchor, tuple(old), tuple(new), bool(ends))


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """Return the patched text. Raises PatchError without a match."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    at = 0
    for hunk in hunks:
        if hunk.anchor:
            found = _seek(lines, (hunk.anchor,), at, at_end=False)
            if found is None:
                raise PatchError(f"there is no line {hunk.anchor[:80]!r}")
            at = found + 1
        place = _seek(lines, hunk.old, at, at_end=hunk.at_end) if hunk.old else len(lines)
        if place is None:
            raise PatchError(f"its lines are not in the file, from {hunk.old[0][:80]!r}")
        lines[place : place + len(hunk.old)] = hunk.new
        at = place + len(hunk.new)
    return "".join(f"{line}\n" for line in lines)


def _seek(lines: Sequence[str], wanted: Sequence[str], start: int, *, at_end: bool) -> int | None:
    """Return the place of ``wanted`` by the strictest comparison that matches."""
    last = len(lines) - len(wanted)
    begin = last if at_end and last >= start else start
    for alike in _ALIKE:
        goal = [alike(line) for line in wanted]
        for place in range(begin, last + 1):
            if all(alike(lines[place + n]) == one for n, one in enumerate(goal)):
                return place
    return _seek(lines, wanted, start, at_end=False) if at_end and begin != start else None


def added_text(patch: FilePatch) -> str:
    """Return an added file's text."""
    return "".join(f"{line}\n" for line in patch.lines)
