"""A logged unified diff as numbered lines with findings. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from rails.core.lazy_pattern import lazy
from rails.core.text import counted, one_line
from rails.render.blocks import Diff, DiffLine, DiffStyle, show

_HUNK: Final = lazy(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_FILE: Final = "/dev/null"
#: Lines of one diff that a page shows.
DIFF_LINES: Final = 2_000


class DiffFinding(Protocol):
    """A placed finding; ``new``: introduced by the change."""

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def line(self) -> int: ...  # noqa: D102
    @property
    def column(self) -> int: ...  # noqa: D102
    @property
    def rule(self) -> str: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def tool(self) -> str: ...  # noqa: D102
    @property
    def new(self) -> bool: ...  # noqa: D102


def read_diff(text: str, findings: Iterable[DiffFinding] = (), limit: int = DIFF_LINES) -> tuple[Diff, ...]:
    """Return a unified diff's files; anything else becomes notes. Never raises.

    New findings are below their line, others at the file's end.
    """
    by_path: dict[str, list[DiffFinding]] = defaultdict(list)
    for finding in findings:
        if finding.new:
            by_path[finding.path].append(finding)
    return tuple(_file(path, kind, lines, by_path.get(path, []), limit) for path, kind, lines in _files(text))


def _file(path: str, kind: str, lines: list[DiffLine], findings: list[DiffFinding], limit: int) -> Diff:
    placed = list(_with_findings(lines, findings))
    added, removed = (sum(line.style == style for line in lines) for style in ("add", "remove"))
    hidden = max(0, len(placed) - limit)
    if hidden:
        note = DiffLine("cut", f"[… {counted(hidden, 'line')} not shown …]")
        placed = [*placed[: limit * 2 // 3], note, *placed[-(limit - limit * 2 // 3) :]]
    return Diff(path, kind, tuple(placed), added, removed, hidden=hidden)


def _files(text: str) -> list[tuple[str, str, list[DiffLine]]]:
    rows = text.split("\n")
    reader = _Reader()
    for row, following in zip(rows, [*rows[1:], ""], strict=True):
        reader.feed(row, following)
    reader.end_file()
    return reader.files


class _Reader:
    """Reads rows in order. A hunk's counts bound it, so that lines like headers stay lines."""

    def __init__(self) -> None:
        self.files: list[tuple[str, str, list[DiffLine]]] = []
        self._path = self._kind = ""
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
            self._old, self._new = int(hunk[1]), int(hunk[3])
            self._old_left, self._new_left = (1 if count is None else int(count) for count in (hunk[2], hunk[4]))
            self._lines.append(DiffLine("hunk", one_line(hunk[0])))
        elif row:
            if row.startswith("Binary file "):
                self.end_file()
            self._lines.append(DiffLine("note", one_line(row, 400)))

    def end_file(self) -> None:
        if self._lines:
            self.files.append((self._path, self._kind, self._lines))
        self._path, self._kind, self._lines = "", "", []

    def _hunk_row(self, mark: str, text: str) -> None:
        old, new = mark != "+", mark != "-"
        style: DiffStyle = "add" if mark == "+" else "remove" if mark == "-" else "context"
        line = DiffLine(style, show(text, changed=style != "context"), self._old if old else 0, self._new if new else 0)
        self._lines.append(line)
        self._old, self._old_left = self._old + old, self._old_left - old
        self._new, self._new_left = self._new + new, self._new_left - new


def _names(old: str, new: str) -> tuple[str, str]:
    if old == _NO_FILE:
        return new.removeprefix("b/"), "create"
    if new == _NO_FILE:
        return old.removeprefix("a/"), "delete"
    return new.removeprefix("b/"), "modify"


def _with_findings(lines: list[DiffLine], findings: list[DiffFinding]) -> Iterator[DiffLine]:
    waiting: dict[int, list[DiffFinding]] = defaultdict(list)
    for finding in findings:
        waiting[finding.line].append(finding)
    for line in lines:
        yield line
        if line.new:
            yield from (_finding(finding) for finding in waiting.pop(line.new, []))
    for rest in waiting.values():
        yield from (_finding(finding) for finding in rest)


def _finding(finding: DiffFinding) -> DiffLine:
    place = f"line {finding.line}" + (f", column {finding.column}" if finding.column else "")
    words = f"{one_line(finding.rule, 60)} {one_line(finding.message, 300)}"
    return DiffLine("finding", f"{place}: {words} ({one_line(finding.tool, 30)})", 0, finding.line)
