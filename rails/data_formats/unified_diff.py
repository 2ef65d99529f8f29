"""Unified diffs: ``--- a/x``, ``+++ b/x``, ``@@ … @@``, and git's headers.

Models write wrong hunk numbers or none, so lines count. Only if all numbers of a file fit, they choose between equal
places, and place a hunk without context.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from rails.core.builtin_tools import DELETE_FILE, INSERT_LINES, MOVE_FILE
from rails.core.lazy_pattern import lazy
from rails.data_formats.proposed import NotRead, Outcome, Proposed, edit_of, new_file

_NUMBERS: Final = lazy(r"@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_GIT: Final = lazy(r"(?s)diff --git \"?[a-z]/(?P<old>.*?)\"? \"?[a-z]/(?P<new>.*?)\"?\r?\Z")
#: What follows a name: a date, or which side it is.
_BEHIND: Final = lazy(
    r"(?:\t|(?<! ) +(?:\d{4}-\d\d-\d\d \d\d:\d\d|\((?:original|old|modified|updated|new)\)[ \r]*\Z)).*", re.I
)
#: Folders that stand for the two sides of a change.
_SIDES: Final = {"a": "b", "old": "new", "orig": "new", "original": "modified", "before": "after"}
_NO_FILE: Final = "/dev/null"
_NO_NEWLINE: Final = "\\"


class _Hunk(Struct):
    line: int
    numbers: tuple[int, ...]
    rows: list[str] = field(default_factory=list)
    #: How many rows begin with each sign: a hunk is asked whether it fits at every blank line.
    signs: Counter[str] = field(default_factory=Counter)

    def side(self, sign: str) -> list[str]:
        return [row[1:] for row in self.rows if row[:1] in (" ", sign)]

    def fits(self) -> bool:
        same = self.signs[" "]
        return self.numbers[1::2] == (same + self.signs["-"], same + self.signs["+"])

    def ends(self, sign: str) -> bool:
        last = max((n for n, row in enumerate(self.rows) if row[:1] in (" ", sign)), default=-1)
        return last < 0 or self.rows[last + 1 : last + 2] != [_NO_NEWLINE]


class _File(Struct):
    line: int  # or that of the fault, if it has one
    old: str = ""
    new: str = ""
    moved: bool = False
    fault: str = ""
    hunks: list[_Hunk] = field(default_factory=list)


#: The line above the version of git at the end of a mail.
_SIGNATURE: Final = "-- "


def diff_changes(text: str, name: str = "") -> Iterator[Outcome]:
    """Yield a diff's changes; ``name`` is the file where it names none."""
    for file in _files(text.split("\n")):
        file.old = file.old or name
        file.new = file.new or name
        yield from _changes(file)


def _files(lines: Sequence[str]) -> list[_File]:
    files: list[_File] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        file = files[-1] if files else None
        if found := _GIT.fullmatch(line):
            files.append(_File(at, found["old"], found["new"]))
        elif line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            if file is None or file.hunks or not _GIT.fullmatch(lines[file.line].rstrip("\r")):
                file = _File(at)
                files.append(file)
            file.old, file.new = _names(line[4:], lines[at + 1][4:])
            at += 1
        elif line.startswith("@@") or (at and lines[at - 1].startswith("+++ ") and line[:1] in (" ", "+", "-")):
            at -= not line.startswith("@@")  # nothing stands between the names and the lines
            if file is None:
                file = _File(at)
                files.append(file)
            at = _hunk(lines, at, file)
            continue
        elif file is not None and not file.fault:
            _header(line, file)
            file.line = at if file.fault else file.line
        at += 1
    return files


def _names(*sides: str) -> tuple[str, str]:
    old, new = (_BEHIND.sub("", side).rstrip("\r ").strip('"') for side in sides)
    old, new = (side.replace("\\", "/") if re.match(r"(?:\w+|\.)\\", side) else side for side in (old, new))
    (before, _, one), (after, _, other) = old.partition("/"), new.partition("/")
    single = len(before) == len(after) == 1 and before != after  # i/ and w/, c/ and i/: what was compared
    if one and one == other and (single or _SIDES.get(before) == after):
        return one, other
    if old.startswith("a/") and new == _NO_FILE:
        return old[2:], new
    if new.startswith("b/") and (old == _NO_FILE or old.startswith("a/")):
        return old.removeprefix("a/"), new[2:]
    return old, new


def _header(line: str, file: _File) -> None:
    word, _, rest = line.partition(" ")
    if word in ("rename", "copy") and rest.startswith(("from ", "to ")):
        side, _, path = rest.partition(" ")
        file.moved = True
        file.fault = "copies a file, which is not read" if word == "copy" else file.fault
        file.old, file.new = (path, file.new) if side == "from" else (file.old, path)
    elif line.startswith("new file mode"):
        file.old = _NO_FILE
        file.fault = "" if line.endswith("644") else f"makes a file of {line[9:]}, which is not read"
    elif line.startswith("deleted file mode"):
        file.new = _NO_FILE
    elif line.startswith("new mode"):
        file.fault = f"sets a {line}, which is not read"
    elif line.startswith(("GIT binary patch", "Binary files")):
        file.fault = "changes a binary file, which is not read"


def _hunk(lines: Sequence[str], at: int, file: _File) -> int:
    found = _NUMBERS.match(lines[at])
    numbers = tuple(1 if part is None else int(part) for part in found.groups()) if found else ()
    hunk = _Hunk(at, numbers)
    file.hunks.append(hunk)
    if lines[at].startswith("@@@"):
        file.line = at
        file.fault = file.fault or "is one of a merge, with several old sides (@@@), which is not read"
    at += 1
    while at < len(lines) and not _begins(lines, at):
        row = re.sub("^\u00a0", " ", lines[at].removesuffix("\r"))
        if row and row[0] not in " +-\\":
            if hunk.fits() or not row.strip():
                break
            if not file.fault:
                file.line = at
                file.fault = f"has a line that begins with neither a blank nor + or -: {row[:60]!r}"
        if row in ("", _SIGNATURE) and hunk.fits():
            break
        hunk.rows.append(row[:1] if row[:1] == _NO_NEWLINE else row or " ")
        hunk.signs[hunk.rows[-1][0]] += 1
        at += 1
    while hunk.rows[-1:] == [" "] and not hunk.fits():
        hunk.rows.pop()
        hunk.signs[" "] -= 1
    return max(at, hunk.line + 1)


def _begins(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    if line.startswith(("@@", "diff --git ")):
        return True
    return line.startswith("--- ") and lines[at + 1 : at + 2] != [] and lines[at + 1].startswith("+++ ")


def _changes(file: _File) -> Iterator[Outcome]:
    path = file.old if file.new == _NO_FILE else file.new
    fault = file.fault
    if not fault and file.old != file.new and _NO_FILE not in (file.old, file.new) and not file.moved:
        fault = f"names two files, {file.old} and {file.new}"
    if not path and not file.fault:
        yield NotRead(file.line, "the diff names no file", "Put the path of its file alone on the line above it.")
    elif fault:
        yield NotRead(file.line, f"the diff {fault}")
    elif file.new == _NO_FILE:
        yield _deletion(path, file)
    elif file.old == _NO_FILE:
        rows = [row for hunk in file.hunks for row in hunk.rows]
        if any(row[:1] in (" ", "-") for row in rows):
            yield NotRead(file.line, f"the diff creates {path} and has lines of an old file")
        else:
            yield new_file(
                path, [row[1:] for row in rows if row[:1] == "+"], ends=all(hunk.ends("+") for hunk in file.hunks)
            )
    else:
        certain = _is_certain(file.hunks)
        for hunk in file.hunks:
            yield _edit(file.old, hunk, certain=certain)
        if file.moved:
            yield Proposed(MOVE_FILE.name, {"file_path": file.old, "new_path": file.new})
        elif not file.hunks:
            yield NotRead(file.line, f"the diff of {path} has no hunk")


def _deletion(path: str, file: _File) -> Outcome:
    if any(hunk.side("+") for hunk in file.hunks):
        return NotRead(file.line, f"the diff deletes {path} and has lines that stay in it")
    gone = {"old_content": "\n".join(line for hunk in file.hunks for line in hunk.side("-"))} if file.hunks else {}
    return Proposed(DELETE_FILE.name, {"file_path": path, **gone})


def _is_certain(hunks: Sequence[_Hunk]) -> bool:
    shift = 0
    for hunk in hunks:
        if not hunk.fits():
            return False
        old, removed, new, added = hunk.numbers
        if new - old != shift + (removed == 0) - (added == 0):
            return False
        shift += added - removed
    return True


def _edit(path: str, hunk: _Hunk, *, certain: bool) -> Outcome:
    old = hunk.side("-")
    new = hunk.side("+")
    if not any(row.strip() for row in hunk.rows):
        return NotRead(hunk.line, "a hunk is empty")
    first = hunk.numbers[0] if hunk.numbers and certain else 0
    if not old:
        if first or certain:
            return Proposed(INSERT_LINES.name, {"file_path": path, "line": first + 1, "text": "\n".join(new) + "\n"})
        return NotRead(hunk.line, "a hunk adds lines and shows none around them, so their place is not known")
    ends = hunk.ends("-"), hunk.ends("+")
    if ends == (True, False) and new:
        return NotRead(hunk.line, "a hunk takes the line end off the last line, which is not read")
    made = edit_of(path, old, new, first)
    if ends[0] == ends[1]:
        return made
    texts = {
        name: f"{made.parameters[name]}\n" for name, has in zip(("old_string", "new_string"), ends, strict=True) if has
    }
    return Proposed(made.tool, {**made.parameters, **texts})
