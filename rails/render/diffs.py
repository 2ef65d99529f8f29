"""A logged unified diff as numbered lines with findings. Pure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.core.text import counted, one_line, sha256
from rails.core.verdict import Finding
from rails.render.blocks import Diff, DiffLine, DiffStyle, show

_HUNK: Final = lazy(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_FILE: Final = "/dev/null"
_STYLES: Final[dict[str, DiffStyle]] = {"+": "add", "-": "remove"}
#: Lines of one diff that a page shows.
DIFF_LINES: Final = 2_000


def read_diff(text: str, findings: Iterable[Finding] = (), limit: int = DIFF_LINES) -> tuple[Diff, ...]:
    """Return a unified diff's files; anything else becomes notes. Never raises.

    New findings are below their line, others at the file's end.
    """
    new = [finding for finding in findings if finding.new]
    return as_renames(_file(read, [one for one in new if one.path == read.path], limit) for read in _files(text))


def as_renames(diffs: Iterable[Diff]) -> tuple[Diff, ...]:
    """Return the differences; a deleted and a new file of the same text are one, ``old → new``."""
    shown = list(diffs)
    gone = {diff.digest: diff for diff in shown if diff.kind == "delete" and diff.removed}
    for new in tuple(shown):
        if new.kind == "create" and (old := gone.pop(new.digest, None)):
            rest = [line for line in new.lines if line.style in ("finding", "note")]
            lines = (DiffLine("note", "The text stays the same."), *rest)
            shown.remove(old)
            shown[shown.index(new)] = Diff(f"{old.path} → {new.path}", "rename", lines, 0, 0)
    return tuple(shown)


def _file(read: Diff, findings: list[Finding], limit: int) -> Diff:
    places = {line.new: at for at, line in enumerate(read.lines) if line.new}
    below = [(places.get(finding.line, len(read.lines)), _finding(finding)) for finding in findings]
    placed = [line for _, line in sorted((*enumerate(read.lines), *below), key=itemgetter(0))]
    styles = [line.style for line in read.lines]
    hidden = max(0, len(placed) - limit)
    if hidden:
        note = DiffLine("cut", f"[… {counted(hidden, 'line')} not shown …]")
        placed = [*placed[: limit * 2 // 3], note, *placed[-(limit - limit * 2 // 3) :]]
    return replace(read, lines=tuple(placed), added=styles.count("add"), removed=styles.count("remove"), hidden=hidden)


class _File:
    """A file's lines, and their text as logged."""

    def __init__(self, path: str = "", kind: str = "") -> None:
        self.path = path
        self.kind = kind
        self.lines: list[DiffLine] = []
        self.raw: list[str] = []


def _files(text: str) -> Iterator[Diff]:
    rows = deque(text.split("\n"))
    files = [_File()]
    while rows:
        row = rows.popleft()
        if row.startswith("--- ") and rows and rows[0].startswith("+++ "):
            files.append(_File(*_names(row[4:], rows.popleft()[4:])))
        elif hunk := _HUNK.match(row):
            files[-1].lines.append(DiffLine("hunk", one_line(hunk[0])))
            _read_hunk(rows, hunk, files[-1])
        elif row:
            if row.startswith("Binary file "):
                files.append(_File())
            files[-1].lines.append(DiffLine("note", one_line(row, 400)))
    for file in files:
        if file.lines:
            digest = sha256("\n".join(file.raw).encode("utf-8", "replace"))
            yield Diff(file.path, file.kind, tuple(file.lines), 0, 0, digest=digest)


def _read_hunk(rows: deque[str], hunk: re.Match[str], file: _File) -> None:
    """Take a hunk's rows; its counts bound it, so that lines like headers stay lines."""
    old, old_count, new, new_count = (1 if number is None else int(number) for number in hunk.groups())
    old_end = old + old_count
    new_end = new + new_count
    while rows and (old < old_end or new < new_end):
        row = rows.popleft()
        style: DiffStyle = _STYLES.get(row[:1], "context")
        is_old = style != "add"
        is_new = style != "remove"
        file.raw.append(row[1:])
        file.lines.append(DiffLine(style, show(row[1:], changed=not (is_old and is_new)), old * is_old, new * is_new))
        old += is_old
        new += is_new


def _names(old: str, new: str) -> tuple[str, str]:
    if old == _NO_FILE:
        return new.removeprefix("b/"), "create"
    if new == _NO_FILE:
        return old.removeprefix("a/"), "delete"
    return new.removeprefix("b/"), "modify"


def _finding(finding: Finding) -> DiffLine:
    place = f"line {finding.line}" + (f", column {finding.column}" if finding.column else "")
    words = f"{one_line(finding.rule, 60)} {one_line(finding.message, 300)}"
    return DiffLine("finding", f"{place}: {words} ({one_line(finding.tool, 30)})", 0, finding.line)
