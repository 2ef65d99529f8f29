"""Replacements of a located text: unchanged lines as the file has them, new ones with its indentation and
endings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rails.core.diff import line_diff
from rails.core.errors import WorkspaceError
from rails.core.text import Decoded
from rails.edits.pieces import piece_at
from rails.edits.strategies import FoundPlaces, LinePlaces, TextPlaces, map_at
from rails.edits.text_view import View, indent


class Replacement(Struct, frozen=True):
    """The replacement of the file's characters ``start`` to ``end``."""

    start: int
    end: int
    text: str
    first_line: int
    last_line: int


def replacement_at(view: View, found: FoundPlaces, place: int) -> Replacement | None:
    """Return what to write at a place; None if a new line's indentation is unclear."""
    return _piece_span(view, found, place) if isinstance(found, TextPlaces) else _block_span(view, found, place)


def line_at(view: View, found: FoundPlaces, place: int) -> int:
    """Return the 1-based line of a place."""
    return view.line_of(place) if isinstance(found, TextPlaces) else place + 1


def lines_at(view: View, found: FoundPlaces, place: int) -> tuple[int, int]:
    """Return the first and last line of a place, from 1."""
    first = line_at(view, found, place)
    return first, first + (found.old.count("\n") if isinstance(found, TextPlaces) else len(found.old) - 1)


def _piece_span(view: View, found: TextPlaces, start: int) -> Replacement | None:
    first, last = lines_at(view, found, start)
    piece = piece_at(view, found, start)
    if piece is None:
        return None
    start, end, text = piece
    if "\n" in text and "\r" in view.text:
        text = _with_ends(view, replace(found, old=view.flat[start:end], new=text), start)
    return Replacement(view.real(start), view.real(end), text, first, last)


def _with_ends(view: View, found: TextPlaces, start: int) -> str:
    index = view.line_of(start) - 1
    old = found.old.split("\n")
    new = found.new.split("\n")
    real = [(text, view.real_line(index + n)[1]) for n, text in enumerate(old)]
    return _weave(real, old, new, str, view.eol)


def _block_span(view: View, found: LinePlaces, start: int) -> Replacement | None:
    stop = start + len(found.old)
    real = [view.real_line(number) for number in range(start, stop)]
    begin = view.real(view.starts[start])
    if found.new is None:
        end = view.real(view.starts[stop]) if stop < len(view.lines) else len(view.text)
        return Replacement(begin, end, "", start + 1, stop)
    translate = _translator(view, found, start)
    try:
        text = _weave(real, found.old, found.new, translate, view.eol)
    except _UnclearError:
        return None
    end = view.real(view.starts[stop - 1] + len(view.lines[stop - 1]))
    return Replacement(begin, end, text, start + 1, stop)


class _UnclearError(Exception):
    """A new line has an indentation that the map does not cover."""


def _translator(view: View, found: LinePlaces, start: int) -> Callable[[str], str]:
    known = map_at(view, start, found)
    shown = all(line.startswith(" ") for line in found.old if line.strip())  # as the context of a diff is

    def translate(line: str) -> str:
        if not line.strip():
            return ""
        blanks = indent(line)
        there = known.translate(blanks) if known else None
        if there is None or (shown and line.startswith("+")):
            raise _UnclearError
        return there + line[len(blanks) :]

    return translate


def _weave(
    real: Sequence[tuple[str, str]],
    old: Sequence[str],
    new: Sequence[str],
    translate: Callable[[str], str],
    eol: str,
) -> str:
    out: list[tuple[str, str]] = []
    for equal, i1, i2, j1, j2 in line_diff(old, new).blocks:
        if equal:
            out.extend(real[i1:i2])
        else:
            last = min(max(i1, i2 - 1), len(real) - 1)
            ends = (real[min(i1 + n, last)][1] or real[max(0, last - 1)][1] or eol for n in range(j2 - j1))
            out.extend(zip((translate(line) for line in new[j1:j2]), ends, strict=True))
    return "".join(line + (end or eol) for line, end in out[:-1]) + out[-1][0]


class Stage(Struct):
    """A text and the disjoint spans to replace, in file order."""

    coded: Decoded
    view: View
    spans: list[Replacement]


def line_replacement(view: View, line: int, last: int, text: str, count: int) -> Replacement:
    """Return whole lines' replacement, with the file's line endings, and a final one where lines follow."""
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
    return Replacement(start, end, body.replace("\n", view.eol), line, max(line, last))


def replace_all(stage: Stage) -> bytes:
    """Return the bytes with every span replaced; all others are taken from the file.

    Raises WorkspaceError if they do not read as planned: a fault of ours.
    """
    coded = stage.coded
    text = stage.view.text
    before = coded.encode(text)
    mark = len(coded.mark)
    data = [coded.mark]
    words = []
    at = 0
    read = mark
    for span in stage.spans:
        kept = text[at : span.start]
        data += [before[read : read + coded.size(kept)], coded.encode(span.text)[mark:]]
        words += [kept, span.text]
        read += coded.size(text[at : span.end])
        at = span.end
    after = b"".join([*data, before[read:]])
    if after != coded.encode("".join([*words, text[at:]])):
        raise WorkspaceError("An edit would have changed bytes outside its place. Nothing was planned.")
    return after
