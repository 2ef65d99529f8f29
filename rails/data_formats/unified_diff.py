"""Unified diffs: ``--- a/x``, ``+++ b/x``, ``@@ … @@``, and git's headers.

Models write wrong hunk numbers or none, so lines count. Only if all numbers of a file fit, they choose between equal
places, and place a hunk without context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from rails.core.builtin_tools import DELETE_FILE, INSERT_LINES, MOVE_FILE
from rails.core.lazy_pattern import lazy
from rails.data_formats.proposed import NotRead, Outcome, Proposed, edit_of, new_file

_NUMBERS: Final = lazy(r"@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_GIT: Final = lazy(r"diff --git \"?[a-z]/(?P<old>.*?)\"? \"?[a-z]/(?P<new>.*?)\"?", re.S)
_HEADER: Final = lazy(r"(rename from|rename to|copy|new file|deleted file|new mode|GIT binary|Binary files) (.*)", re.S)
_UNREAD: Final = {
    "copy": "copies a file",
    "new mode": "sets a new mode",
    "GIT binary": "changes a binary file",
    "Binary files": "changes a binary file",
}
#: What follows a name: a date, or which side it is.
_BEHIND: Final = lazy(
    r"(?:\t|(?<! ) +(?:\d{4}-\d\d-\d\d \d\d:\d\d|\((?:original|old|modified|updated|new)\)[ \r]*\Z)).*", re.I
)
#: Folders that stand for the two sides of a change.
_SIDES: Final = {"a": "b", "old": "new", "orig": "new", "original": "modified", "before": "after"}
_NO_FILE: Final = "/dev/null"
#: The line above the version of git at the end of a mail.
_SIGNATURE: Final = "-- "


class _Hunk(Struct):
    line: int
    numbers: tuple[int, ...]
    #: How many lines are to come, if the numbers are right; below 0: there are none.
    old_left: int
    new_left: int
    rows: list[str] = field(default_factory=list)
    #: The signs of rows without a line end.
    torn: str = ""

    def add(self, row: str) -> None:
        if row[0] == "\\":
            self.torn += self.rows[-1][0] if self.rows else ""
            return
        self.rows.append(row)
        self.old_left -= row[0] in " -"
        self.new_left -= row[0] in " +"

    def fits(self) -> bool:
        return self.old_left == self.new_left == 0

    def side(self, sign: str) -> list[str]:
        return [row[1:] for row in self.rows if row[0] in (" ", sign)]

    def ends(self, sign: str) -> bool:
        return not {" ", sign} & {*self.torn}


class _File(Struct):
    line: int  # or that of the fault, if it has one
    old: str = ""
    new: str = ""
    #: Its names may still come in lines of their own.
    open: bool = False
    moved: bool = False
    fault: str = ""
    hunks: list[_Hunk] = field(default_factory=list)

    def refuse(self, line: int, fault: str) -> None:
        if not self.fault:
            self.line = line
            self.fault = f"{fault}, which is not read"


def diff_changes(text: str, name: str = "") -> Iterator[Outcome]:
    """Yield a diff's changes; ``name`` is the file where it names none."""
    for file in _files([*(line.removesuffix("\r") for line in text.split("\n")), ""], name):
        yield from _changes(file)


def _files(lines: Sequence[str], name: str) -> list[_File]:
    files: list[_File] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        is_hunk = line.startswith("@@")
        if found := _GIT.fullmatch(line):
            files.append(_File(at, found["old"], found["new"], open=True))
        elif _is_pair(lines, at):
            if not files or not files[-1].open:
                files.append(_File(at))
            file = files[-1]
            file.open = False
            file.old, file.new = _names(line[4:], lines[at + 1][4:])
            at += 1
            is_hunk = lines[at + 1][:1] in (" ", "+", "-") and not _is_pair(lines, at + 1)
        elif files and not is_hunk:
            _header(at, line, files[-1])
        if is_hunk and not files:
            files.append(_File(at, name, name))
        at = _hunk(lines, at, files[-1]) if is_hunk else at + 1
    return files


def _is_pair(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")


def _names(*sides: str) -> tuple[str, str]:
    old, new = (_BEHIND.sub("", side).rstrip("\r ").strip('"') for side in sides)
    old, new = (side.replace("\\", "/") if re.match(r"(?:\w+|\.)\\", side) else side for side in (old, new))
    (before, _, one), (after, _, other) = old.partition("/"), new.partition("/")
    single = len(before) == len(after) == 1 and before != after  # i/ and w/, c/ and i/: what was compared
    if one and one == other and (single or _SIDES.get(before) == after):
        return one, other
    if (before == "a" or old == _NO_FILE) and (after == "b" or new == _NO_FILE):
        return old.removeprefix("a/"), new.removeprefix("b/")
    return old, new


def _header(at: int, line: str, file: _File) -> None:
    found = _HEADER.match(line)
    kind, value = found.groups() if found else ("", "")
    if kind == "rename from":
        file.moved = True
        file.old = value
    elif kind == "rename to":
        file.moved = True
        file.new = value
    elif kind == "new file":
        file.old = _NO_FILE
        if not line.endswith("644"):
            file.refuse(at, f"makes a file of {value}")
    elif kind == "deleted file":
        file.new = _NO_FILE
    elif kind:
        file.refuse(at, _UNREAD[kind])


def _hunk(lines: Sequence[str], at: int, file: _File) -> int:
    """Read the hunk whose head is the line at ``at``; return the place of the line behind it."""
    found = _NUMBERS.match(lines[at])
    numbers = tuple(int(part) for part in found.groups("1")) if found else ()
    hunk = _Hunk(at, numbers, *(numbers[1::2] or (-1, -1)))  # type: ignore[arg-type]
    file.hunks.append(hunk)
    if lines[at].startswith("@@@"):
        file.refuse(at, "is one of a merge, with several old sides (@@@)")
    at += 1
    while at < len(lines) and not lines[at].startswith(("@@", "diff --git ")) and not _is_pair(lines, at):
        row = re.sub("^\u00a0", " ", lines[at])
        if row in ("", _SIGNATURE) and hunk.fits():
            break
        if row and row[0] not in " +-\\":
            if hunk.fits() or not row.strip():
                break
            file.refuse(at, f"has a line that begins with neither a blank nor + or -: {row[:60]!r}")
        hunk.add(row or " ")
        at += 1
    while hunk.rows[-1:] == [" "] and not hunk.fits():
        hunk.rows.pop()
        hunk.old_left += 1
        hunk.new_left += 1
    return at


def _changes(file: _File) -> Iterator[Outcome]:
    sides = {file.old, file.new}
    if len(sides - {_NO_FILE}) == 2 and not file.moved:
        file.refuse(file.line, f"names two files, {file.old} and {file.new}")
    if file.fault:
        yield NotRead(file.line, f"the diff {file.fault}")
    elif not file.new:
        yield NotRead(file.line, "the diff names no file", "Put the path of its file alone on the line above it.")
    elif _NO_FILE in sides:
        yield _whole(file)
    else:
        certain = _is_certain(file.hunks)
        for hunk in file.hunks:
            yield _edit(file.old, hunk, certain=certain)
        if file.moved:
            yield Proposed(MOVE_FILE.name, {"file_path": file.old, "new_path": file.new})
        elif not file.hunks:
            yield NotRead(file.line, f"the diff of {file.new} has no hunk")


def _whole(file: _File) -> Outcome:
    gone = file.new == _NO_FILE
    path = file.old if gone else file.new
    if any(hunk.side("+" if gone else "-") for hunk in file.hunks):
        what = (
            f"deletes {path} and has lines that stay in it" if gone else f"creates {path} and has lines of an old file"
        )
        return NotRead(file.line, f"the diff {what}")
    lines = [row[1:] for hunk in file.hunks for row in hunk.rows]
    if not gone:
        return new_file(path, lines, ends=all(hunk.ends("+") for hunk in file.hunks))
    known = {"old_content": "\n".join(lines)} if file.hunks else {}
    return Proposed(DELETE_FILE.name, {"file_path": path, **known})


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
    first = hunk.numbers[0] if certain else 0
    if not old and certain:
        return Proposed(INSERT_LINES.name, {"file_path": path, "line": first + 1, "text": "\n".join(new) + "\n"})
    if not old:
        return NotRead(hunk.line, "a hunk adds lines and shows none around them, so their place is not known")
    if new and hunk.ends("-") and not hunk.ends("+"):
        return NotRead(hunk.line, "a hunk takes the line end off the last line, which is not read")
    made = edit_of(path, old, new, first)
    if not new or hunk.ends("-") == hunk.ends("+"):
        return made
    return Proposed(made.tool, {**made.parameters, "new_string": f"{made.parameters['new_string']}\n"})
