"""What a change of a workflow means, as HTML: its picture, and what happens to each node and wire."""

from __future__ import annotations

from typing import Final

from rails.approval.diff_view import show
from rails.core.change_summary import ChangeSummary, SummaryLine
from rails.core.text import one_line
from rails.n8n.draw import picture
from rails.review.markup import Html, el, html_text

_MARKS: Final = {"add": "+", "remove": "−", "change": "~", "note": ""}
_INDENTS: Final = 2


def summary_part(outline: ChangeSummary) -> Html:
    """Return the outline of one file, its picture first."""
    path = one_line(outline.path, 300)
    title = el("summary", el("code", html_text(path)), el("span", html_text(f" {one_line(outline.title, 300)}")))
    lines = [_line(line) for line in outline.lines]
    if outline.hidden:
        lines.append(el("li", html_text(f"{outline.hidden} lines are not shown"), class_="note"))
    # The picture is made by our own code, which escapes every text in it.
    drawn = Html(picture.svg(outline.drawing, label=f"The workflow in {path}: {one_line(outline.title, 300)}"))
    figure = el("div", drawn, class_="scroll picture", tabindex=0) if drawn else None
    return el("details", title, figure, el("ul", lines, class_="outline"), class_="diff", open=True)


def _line(line: SummaryLine) -> Html:
    if line.indent:
        return el("li", html_text(show(line.text)), class_=f"{line.style} in-{min(line.indent, _INDENTS)}")
    mark = el("span", html_text(_MARKS[line.style]), class_="sign", aria_hidden="true")
    return el("li", mark, html_text(show(line.text)), class_=line.style)
