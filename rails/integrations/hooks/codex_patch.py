"""Codex's patch format (``*** Begin Patch``), applied as by the host.

A hunk is searched from the end of the last: exact, without trailing blanks, without blanks on both sides and with
typographic signs as plain ones; ``@@ text`` first moves to that line. The host refuses a patch without a match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from rails.integrations.hooks.contract import UnjudgedError

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
_FILE: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.*)\n(?:\*\*\* Move to: (.*)\n)?", re.MULTILINE)
_HUNK: Final = re.compile(r"^@@(.*)\n", re.MULTILINE)
_END_OF_FILE: Final = "*** End of File\n"
_SIGNS: Final = (
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
    "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_PLAIN: Final = str.maketrans(_SIGNS, "-" * 7 + "'" * 4 + '"' * 4 + " " * 13)
#: How two lines are compared, the strictest first.
_ALIKE: Final[tuple[Callable[[str], str], ...]] = (str, str.rstrip, lambda line: line.translate(_PLAIN).strip())


class FilePatch(Struct):
    """A patch of one file: what is done to it, its path, the new one if it moves, and the lines."""

    kind: str
    path: str
    moved: str
    body: str


def read_patch(text: str) -> list[FilePatch]:
    """Return the files of the patch in what follows its first line. Raises UnjudgedError."""
    body = text.rpartition(END)[0].replace("\r\n", "\n")
    before, *parts = _FILE.split(body)
    if before.strip() or not parts:
        raise UnjudgedError("the patch cannot be applied here: it does not begin and end as a patch does")
    files = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
    return [FilePatch(kind, path.strip(), (moved or "").strip(), lines) for kind, path, moved, lines in files]


def patched(text: str, patch: FilePatch) -> str:
    """Return the text of an added or updated file. Raises UnjudgedError without a match."""
    if patch.kind == "Add":
        return "".join(f"{line[1:]}\n" for line in patch.body.split("\n") if line.startswith("+"))
    lines = text.removesuffix("\n").split("\n") if text else []
    at = 0
    parts = _HUNK.split(f"@@\n{patch.body}")
    for anchor, body in zip(parts[1::2], parts[2::2], strict=True):
        shown = body.removesuffix(_END_OF_FILE)
        old, new = _sides(shown)
        if anchor.strip():
            at = _seek(lines, [anchor.strip()], at) + 1
        if not old:
            lines += new
            continue
        if shown != body:
            at = max(at, len(lines) - len(old))
        at = _seek(lines, old, at)
        lines[at : at + len(old)] = new
        at += len(new)
    return "".join(f"{line}\n" for line in lines)


def _sides(body: str) -> tuple[list[str], list[str]]:
    """Return the lines of a hunk before and after. Raises UnjudgedError."""
    old, new = [], []
    for line in body.split("\n")[:-1]:
        sign = line[:1]
        if sign not in "+- ":
            why = f"a line of a hunk begins with neither blank, - nor +: {line[:80]!r}"
            raise UnjudgedError(f"the patch cannot be applied here: {why}")
        if sign != "+":
            old.append(line[1:])
        if sign != "-":
            new.append(line[1:])
    return old, new


def _seek(lines: Sequence[str], wanted: Sequence[str], start: int) -> int:
    """Return the place of ``wanted`` by the strictest comparison that matches. Raises UnjudgedError."""
    for alike in _ALIKE:
        goal = [alike(line) for line in wanted]
        for place in range(start, len(lines) - len(goal) + 1):
            if all(alike(lines[place + n]) == one for n, one in enumerate(goal)):
                return place
    raise UnjudgedError(f"the patch cannot be applied here: its lines are not in the file, from {wanted[0][:80]!r}")
