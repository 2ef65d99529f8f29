"""The files of an approval card: differences with their findings, parts that can be left out, texts to edit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.approval.diff_view import file_diff
from rails.approval.edit import sides
from rails.approval.terminal.screen import LEGEND
from rails.core.changes import FileChange
from rails.core.diff import line_diff
from rails.core.events.approval import ApprovalOpened, AskedFile
from rails.core.text import one_line
from rails.core.verdict import Finding
from rails.render.blocks import Diff, DiffLine
from rails.render.html_page.blocks import MARKS, diff_line
from rails.render.html_page.markup import Html, el, html_text, join

#: Diff lines of one file that a card shows; the rest is counted.
_FILE_LINES: Final = 1_500
_BY_TOOL: Final = ("tool_add", "tool_remove")
_CHANGED: Final = ("add", "remove", *_BY_TOOL)


def files_html(asked: ApprovalOpened, *, can_edit: bool, full: bool = False) -> Html:
    """Return every file of a question, drawn; what cannot be drawn is said. ``full`` leaves nothing out."""
    findings = asked.verdict.findings if asked.verdict else ()
    editable = dict(editable_texts(asked)) if can_edit else {}
    drawn = [_file(one, findings, editable, can_edit=can_edit, full=full) for one in asked.files]
    by_tools = any(file.proposed is not None for file in asked.files)
    return join(*drawn, el("p", html_text(LEGEND), class_="meta") if by_tools else None)


def editable_texts(asked: ApprovalOpened) -> Iterator[tuple[str, str]]:
    """Yield the files whose text can be edited in a page: one kind of line end, and nothing masked."""
    for file in asked.files:
        after = file.after
        if after is None or file.masked:
            continue
        crlf = after.count("\r\n")
        if after.count("\r") == crlf and crlf in (0, after.count("\n")):
            yield file.path, after.removeprefix("\ufeff")


def _file(
    file: AskedFile, findings: Sequence[Finding], editable: dict[str, str], *, can_edit: bool, full: bool
) -> Html:
    change = file.change()
    path = one_line(file.path, 300)
    if change is None:
        digest = file.after_sha256 or "none"
        words = f"{path} ({file.kind}): not text, or too large to show here. SHA-256 after: {digest}"
        return el("p", html_text(words), class_="box bad")
    diff = file_diff(change, findings, max_lines=None if full else _FILE_LINES)
    pieces = NumberedPieces(change) if can_edit else None
    counts = f" {diff.kind} +{diff.added} −{diff.removed}"
    counts += f", {diff.by_tools} of these lines by a formatter" if diff.by_tools else ""
    masked = "A secret is masked here; the file would hold its real value." if file.masked else ""
    edit = (
        el("button", html_text("Edit the text"), type="button", data_edit=str(change.path))
        if path in editable
        else None
    )
    table = el("table", el("tbody", [_row(line, pieces) for line in diff.lines]), aria_label=f"Changes of {path}")
    return el(
        "details",
        el("summary", el("code", html_text(path)), el("span", html_text(counts))),
        el("p", html_text(masked), class_="box bad") if masked else None,
        _hidden(diff),
        el("div", table, class_="scroll", tabindex=0),
        el("p", edit, class_="file-edit") if edit else None,
        class_="diff",
        open=True,
        data_path=str(change.path),
    )


def _hidden(diff: Diff) -> Html | None:
    if not diff.hidden:
        return None
    every = el("button", html_text("Show every line"), type="button", data_do="full")
    return el("p", html_text(f"{diff.hidden} lines are not shown. "), every, class_="box bad")


class NumberedPieces:
    """The differing pieces of a change, found by line number, numbered as ``rails.approval.edit`` does.

    Each is offered once, at its first drawn line; where there is only one, there is nothing to choose.
    """

    def __init__(self, change: FileChange) -> None:
        self.count = 0
        self._lines: dict[tuple[bool, int], int] = {}
        self._offered: set[int] = set()
        both = sides(change)
        if both is None or change.before is None or change.after is None:
            return
        for block in line_diff(*both).changed:
            old, new = range(block.old_start, block.old_end), range(block.new_start, block.new_end)
            self._lines |= {(False, line + 1): self.count for line in old}
            self._lines |= {(True, line + 1): self.count for line in new}
            self.count += 1

    def of(self, line: DiffLine) -> int | None:
        """Return the piece that a line belongs to."""
        if self.count < 2 or line.style not in _CHANGED:
            return None
        return self._lines.get((bool(line.new), line.new or line.old))

    def offer(self, piece: int | None) -> bool:
        """Say whether this is the first line of a piece."""
        if piece is None or piece in self._offered:
            return False
        self._offered.add(piece)
        return True


def _row(line: DiffLine, pieces: NumberedPieces | None) -> Html:
    piece = pieces.of(line) if pieces else None
    old, new, text = diff_line(line)
    tool = (
        el("span", html_text("~"), class_="by-tool", title="by a formatter or fixer")
        if line.style in _BY_TOOL
        else None
    )
    return el(
        "tr",
        el("td", _choice(piece) if pieces.offer(piece) else None, class_="take")
        if pieces and pieces.count > 1
        else None,
        old,
        new,
        el("td", html_text(MARKS.get(line.style, " ")), tool, class_="mark"),
        text,
        class_=line.style,
        data_of=piece,
    )


def _choice(piece: int | None) -> Html:
    words = f"Take part {(piece or 0) + 1}; without it, these lines stay as they are"
    return el("input", type="checkbox", checked=True, data_piece=piece, aria_label=words, title=words)
