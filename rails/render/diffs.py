"""A logged unified diff as numbered lines with findings. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.core.text import counted, one_line, sha256
from rails.core.verdict import Finding
from rails.render.blocks import Diff, DiffLine, DiffStyle, show

_HUNK: Final = lazy(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_FILE: Final = "/dev/null"
#: Lines of one diff that a page shows.
DIFF_LINES: Final = 2_000


def read_diff(text: str, findings: Iterable[Finding] = (), limit: int = DIFF_LINES) -> tuple[Diff, ...]:
    """Return a unified diff's files; anything else becomes notes. Never raises.

    New findings are below their line, others at the file's end.
    """
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.new:
            by_path[finding.path].append(finding)
    return as_renames(_file(read, by_path.get(read.path, []), limit) for read in _files(text))


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
    placed = list(_with_findings(read.lines, findings))
    styles = [line.style for line in read.lines]
    hidden = max(0, len(placed) - limit)
    if hidden:
        note = DiffLine("cut", f"[… {counted(hidden, 'line')} not shown …]")
        placed = [*placed[: limit * 2 // 3], note, *placed[-(limit - limit * 2 // 3) :]]
    return replace(read, lines=tuple(placed), added=styles.count("add"), removed=styles.count("remove"), hidden=hidden)


def _files(text: str) -> list[Diff]:
    rows = text.split("\n")
    reader = _Reader()
    for row, following in zip(rows, [*rows[1:], ""], strict=True):
        reader.feed(row, following)
    reader.end_file()
    return reader.files


class _Reader:
    """Reads rows in order. A hunk's counts bound it, so that lines like headers stay lines."""

    def __init__(self) -> None:
        self.files: list[Diff] = []
        self._path = self._kind = self._digest = ""
        self._lines: list[DiffLine] = []
        self._old = self._new = self._old_left = self._new_left = 0

    def feed(self, row: str, following: str) -> None:
        if self._old_left > 0 or self._new_left > 0:
            self._hunk_row(row[:1], row[1:])
        elif row.startswith("--- ") and following.startswith("+++ "):
            self.end_file()
            self._path, self._kind = _names(row[4:], following[4:])
        elif row.startswith("+++ ") and not self._lines:
            pass
        elif hunk := _HUNK.match(row):
            self._old = int(hunk[1])
            self._new = int(hunk[3])
            self._old_left, self._new_left = (1 if count is None else int(count) for count in (hunk[2], hunk[4]))
            self._lines.append(DiffLine("hunk", one_line(hunk[0])))
        elif row:
            if row.startswith("Binary file "):
                self.end_file()
            self._lines.append(DiffLine("note", one_line(row, 400)))

    def end_file(self) -> None:
        if self._lines:
            self.files.append(Diff(self._path, self._kind, tuple(self._lines), 0, 0, digest=self._digest))
        self._path = self._kind = self._digest = ""
        self._lines = []

    def _hunk_row(self, mark: str, text: str) -> None:
        old = mark != "+"
        new = mark != "-"
        self._digest = sha256(f"{self._digest}{text}".encode("utf-8", "replace"))
        style: DiffStyle = "add" if mark == "+" else "remove" if mark == "-" else "context"
        line = DiffLine(style, show(text, changed=style != "context"), self._old if old else 0, self._new if new else 0)
        self._lines.append(line)
        self._old += old
        self._old_left -= old
        self._new += new
        self._new_left -= new


def _names(old: str, new: str) -> tuple[str, str]:
    if old == _NO_FILE:
        return new.removeprefix("b/"), "create"
    if new == _NO_FILE:
        return old.removeprefix("a/"), "delete"
    return new.removeprefix("b/"), "modify"


def _with_findings(lines: Iterable[DiffLine], findings: list[Finding]) -> Iterator[DiffLine]:
    waiting: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        waiting[finding.line].append(finding)
    for line in lines:
        yield line
        if line.new:
            yield from (_finding(finding) for finding in waiting.pop(line.new, []))
    for rest in waiting.values():
        yield from (_finding(finding) for finding in rest)


def _finding(finding: Finding) -> DiffLine:
    place = f"line {finding.line}" + (f", column {finding.column}" if finding.column else "")
    words = f"{one_line(finding.rule, 60)} {one_line(finding.message, 300)}"
    return DiffLine("finding", f"{place}: {words} ({one_line(finding.tool, 30)})", 0, finding.line)
