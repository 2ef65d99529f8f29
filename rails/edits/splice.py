"""A text and the spans that an answer wants changed in it: put together, and proven to change nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from rails.core.dataclass import dataclass
from rails.core.errors import WorkspaceError
from rails.edits.codec import Coded
from rails.edits.replace import Span
from rails.edits.text_view import View


@dataclass(slots=True)
class Stage:
    """A text and the disjoint spans that this answer wants changed in it, in file order."""

    coded: Coded
    view: View
    spans: list[Span]


def line_span(view: View, line: int, last: int, text: str, count: int) -> Span:
    """Return the span of whole lines; ``text`` gets the file's line ends and a final one where lines follow."""
    body = text.replace("\r\n", "\n")
    start = len(view.text) if line > count else view.real(view.starts[line - 1])
    if last >= len(view.lines):
        end = len(view.text)
    else:
        end = start if last < line else view.real(view.starts[last])
    follows = end < len(view.text) or view.text.endswith(view.eol)
    if body and not body.endswith("\n") and follows:
        body += "\n"
    if line > count and view.text and not view.text.endswith(view.eol):
        body = "\n" + body.removesuffix("\n")
    return Span(start, end, body.replace("\n", view.eol), line, max(line, last))


def splice(stage: Stage) -> bytes:
    """Return the bytes with every span replaced, and prove that nothing else has changed.

    Raises WorkspaceError if it has: that would be a fault of ours, and nothing is written then.
    """
    text, pieces, gaps, at = stage.view.text, [], [], 0
    for span in stage.spans:
        gaps.append((at, span.start))
        pieces += [text[at : span.start], span.text]
        at = span.end
    gaps.append((at, len(text)))
    pieces.append(text[at:])
    before, after = stage.coded.encode(text), stage.coded.encode("".join(pieces))
    _prove(stage, before, after, gaps)
    return after


def _prove(stage: Stage, before: bytes, after: bytes, gaps: Sequence[tuple[int, int]]) -> None:
    """Compare the bytes outside the spans, before and after. Raises WorkspaceError: then it is our fault."""
    coded, text, spans = stage.coded, stage.view.text, stage.spans
    old_at = new_at = 0
    for number, (start, end) in enumerate(gaps):
        length = coded.size(text[start:end]) + (len(coded.mark) if number == 0 else 0)
        if before[old_at : old_at + length] != after[new_at : new_at + length]:
            raise WorkspaceError("An edit would have changed bytes outside its place. Nothing was planned.")
        old_at, new_at = old_at + length, new_at + length
        if number < len(spans):
            old_at += coded.size(text[spans[number].start : spans[number].end])
            new_at += coded.size(spans[number].text)
    if old_at != len(before) or new_at != len(after):
        raise WorkspaceError("An edit would have changed bytes outside its place. Nothing was planned.")
