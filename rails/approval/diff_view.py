"""A change as styled lines for a terminal (:func:`draw`) or a page, from the bytes that would be written. Pure.

Omitted lines are counted; the last line of a file is always shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from rails.core.changes import FileChange
from rails.core.diff import LineDiff, line_diff, line_map
from rails.core.text import Decoded, counted, decode_text, one_line, why_not_text
from rails.core.verdict import Finding
from rails.render.blocks import Diff, DiffLine, DiffStyle, show

#: Lines of one file's diff that are shown unless the reader asks for all.
FILE_LINES: Final = 400
#: Findings that are drawn in one file.
FINDINGS_SHOWN: Final = 50
#: Diff lines of one question that are shown unless the reader asks for all; every file gets a share.
_REQUEST_LINES: Final = 1_200
_LEAST_LINES: Final = 12
_BLANK_RUN: Final = 5
_INEXACT: Final = (
    "Too many lines changed their order to be compared one by one: everything between the first and the last "
    "difference is shown as removed and added."
)


class _Row(NamedTuple):
    style: DiffStyle
    text: str
    old: int
    new: int


def card_lines(files: int) -> int:
    """Return the shown lines of each file's diff."""
    return min(FILE_LINES, max(_LEAST_LINES, _REQUEST_LINES // max(1, files)))


def file_diff(
    change: FileChange, findings: Iterable[Finding] = (), *, context: int = 3, max_lines: int | None = FILE_LINES
) -> Diff:
    """Draw ``change`` with its ``findings``. ``max_lines=None`` shows every line in full."""
    found = [finding for finding in findings if finding.path == str(change.path)]
    texts = [decode_text(data or b"") for data in (change.before, change.after)]
    old, new = texts
    if old is None or new is None:
        return _binary(change)
    notes = tuple(_file_notes(change, old, new))
    before = _split(old.text)
    after = _split(new.text)
    if _all_crlf(old.text) and _all_crlf(new.text):
        before, after = ([line.removesuffix("\r") for line in lines] for lines in (before, after))
    diff = line_diff(before, after)
    notes = notes if diff.exact else (*notes, DiffLine("note", _INEXACT))
    rows = _attributed(_rows(diff, before, after), change, after)
    kept, hidden = _capped([*notes, *_lines(rows, found, context, full=max_lines is None)], max_lines)
    styles = [row.style for row in rows]
    cut = [row for row in kept if isinstance(row, _Row) and row.style != "context" and _is_shortened(row.text)]
    return Diff(
        path=str(change.path),
        kind=change.kind,
        lines=tuple(_drawn(row, full=max_lines is None) for row in kept),
        added=styles.count("add") + styles.count("tool_add"),
        removed=styles.count("remove") + styles.count("tool_remove"),
        by_tools=styles.count("tool_add") + styles.count("tool_remove"),
        hidden=hidden,
        shortened=0 if max_lines is None else len(cut),
        digest=change.after_sha256 or change.before_sha256 or "",
    )


def _is_shortened(text: str) -> bool:
    return "[…" in text or show(text) != show(text, full=True)


def _binary(change: FileChange) -> Diff:
    sizes = ["absent" if data is None else counted(len(data), "byte") for data in (change.before, change.after)]
    line = DiffLine(
        "note", f"This is not text: {sizes[0]} before, {sizes[1]} after; SHA-256 after: {change.after_sha256}"
    )
    whys = (
        DiffLine("note", f"{side}: {why_not_text(data)}.")
        for side, data in (("Before", change.before), ("After", change.after))
        if data is not None and decode_text(data) is None
    )
    return Diff(str(change.path), change.kind, (line, *whys), 0, 0, 0, 0)


def _file_notes(change: FileChange, was: Decoded, will_be: Decoded) -> Iterator[DiffLine]:
    old = was.text
    new = will_be.text
    coded = was if change.after is None else will_be
    if change.kind == "modify" and (recoded := will_be.recoded_from(was)):
        yield DiffLine("note", f"The file {recoded}.")
    elif coded.encoding != "utf-8":
        yield DiffLine("note", f"Encoding: {coded.label}.")
    if change.kind == "modify" and was.bom != will_be.bom:
        yield DiffLine("note", f"The byte-order mark is {'added' if will_be.bom else 'removed'}.")
    elif will_be.bom and change.before is None:
        yield DiffLine("note", "Starts with a byte-order mark.")
    if not old and not new and change.kind != "modify":
        yield DiffLine("note", "The file is empty.")
    if old and new and _all_crlf(old) != _all_crlf(new):
        yield DiffLine("note", f"Line endings: {_eol(old)} before, {_eol(new)} after.")
    for name, text in (("before", old), ("after", new)):
        if text and not text.endswith("\n"):
            yield DiffLine("note", f"No newline at the end of the file {name}.")


def _eol(text: str) -> str:
    return "CRLF" if _all_crlf(text) else "mixed" if "\r\n" in text else "LF"


def _all_crlf(text: str) -> bool:
    return "\n" in text and text.count("\r") == text.count("\r\n") == text.count("\n")


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _rows(diff: LineDiff, before: Sequence[str], after: Sequence[str]) -> list[_Row]:
    rows: list[_Row] = []
    for block in diff.blocks:
        old = range(block.old_start, block.old_end)
        new = range(block.new_start, block.new_end)
        if block.equal:
            rows += [_Row("context", after[j], i + 1, j + 1) for i, j in zip(old, new, strict=True)]
        else:
            rows += [_Row("remove", before[i], i + 1, 0) for i in old]
            rows += [_Row("add", after[j], 0, j + 1) for j in new]
    return rows


def _attributed(rows: list[_Row], change: FileChange, after: Sequence[str]) -> list[_Row]:
    proposed = decode_text(change.proposed) if change.proposed is not None else None
    if proposed is None:
        return rows
    written = _split(proposed.text)
    if _all_crlf(proposed.text):
        written = [line.removesuffix("\r") for line in written]
    agents_new = {line for line, place in enumerate(line_map(written, after), 1) if place >= 0}
    before = [row.text for row in rows if row.old]
    kept_by_agent = {place + 1 for place in line_map(before, written)}
    return [_author(row, agents_new, kept_by_agent) for row in rows]


def _author(row: _Row, agents_new: set[int], kept_by_agent: set[int]) -> _Row:
    if row.style == "add" and row.new not in agents_new:
        return row._replace(style="tool_add")
    if row.style == "remove" and row.old in kept_by_agent:
        return row._replace(style="tool_remove")
    return row


def _drawn(row: _Row | DiffLine, *, full: bool) -> DiffLine:
    if isinstance(row, DiffLine):
        return row
    return DiffLine(row.style, show(row.text, full=full, changed=row.style != "context"), row.old, row.new)


def _lines(rows: Sequence[_Row], found: Sequence[Finding], context: int, *, full: bool) -> Iterator[_Row | DiffLine]:
    by_line: dict[int, list[Finding]] = defaultdict(list)
    for finding in found[:FINDINGS_SHOWN]:
        by_line[finding.line].append(finding)
    drawn: set[int] = set()
    for start, end in _wanted(rows, context, set(by_line)):
        yield _hunk_line(rows[start:end])
        for row in rows[start:end] if full else _collapsed(rows[start:end]):
            yield row
            if row.new and row.new in by_line and row.new not in drawn:
                drawn.add(row.new)
                yield from (_finding_line(finding) for finding in by_line[row.new])
    for line in sorted(set(by_line) - drawn):
        yield from (_finding_line(finding) for finding in by_line[line])
    if len(found) > FINDINGS_SHOWN:
        yield DiffLine("cut", f"[… {counted(len(found) - FINDINGS_SHOWN, 'more finding')} in this file …]")


def _collapsed(rows: Sequence[_Row]) -> Iterator[_Row | DiffLine]:
    for (_, blank), run in groupby(rows, lambda row: (row.style, not row.text)):
        members = list(run)
        keep = _BLANK_RUN if blank and len(members) > _BLANK_RUN + 1 else len(members)
        yield from members[:keep]
        if len(members) > keep:
            yield DiffLine("cut", f"[… {counted(len(members) - keep, 'more blank line')} …]")


def _wanted(rows: Sequence[_Row], context: int, flagged: set[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for position, row in enumerate(rows):
        if row.style == "context" and row.new not in flagged:
            continue
        start = max(0, position - context)
        end = min(len(rows), position + context + 1)
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def _hunk_line(rows: Sequence[_Row]) -> DiffLine:
    old, new = ([number for row in rows if (number := row[column])] for column in (2, 3))
    sides = [f"{side[0] if side else 0},{len(side)}" for side in (old, new)]
    return DiffLine("hunk", f"@@ -{sides[0]} +{sides[1]} @@")


def _finding_line(finding: Finding) -> DiffLine:
    place = f"line {finding.line}" + (f", column {finding.column}" if finding.column else "")
    age = "" if finding.new else " (was there before)"
    return DiffLine(
        "finding", f"{place}: {one_line(finding.rule, 60)} {one_line(finding.message, 300)}{age}", 0, finding.line
    )


def _capped(lines: list[_Row | DiffLine], limit: int | None) -> tuple[list[_Row | DiffLine], int]:
    if limit is None or len(lines) <= limit:
        return lines, 0
    head = limit * 2 // 3
    tail = limit - head
    cut = lines[head:-tail]
    added = sum(line.style in ("add", "tool_add") for line in cut)
    removed = sum(line.style in ("remove", "tool_remove") for line in cut)
    note = DiffLine("cut", f"[… {counted(len(cut), 'line')} not shown, {added} of them added, {removed} removed …]")
    return [*lines[:head], note, *lines[-tail:]], len(cut)
