"""The match strategies in order (:mod:`rails.edits.match`). They only locate, each comparison linear in the file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.edits import indent as indents
from rails.edits.edit_request import EditRequest
from rails.edits.text_view import (
    View,
    flatten,
    fold_with_offsets,
    folded_line,
    full_lines,
    line_places,
    text_places,
    tokens,
    without_spaces,
)

PLACES: Final = 100_000  # places looked at before a text counts as "everywhere"
_MAPPED: Final = 2_000  # places whose indentation is compared; with more, the text is "everywhere" anyway
_MIN_TOKENS: Final = 4


class TextPlaces(Struct, frozen=True):
    """Places of a text (strategies 1, 2, 4): flat offsets, and the two texts that apply there."""

    strategy: int
    at: tuple[int, ...]
    old: str
    new: str


class LinePlaces(Struct, frozen=True):
    """Places of whole lines (strategies 2 to 7): line indexes from 0. ``new`` is None when the lines go."""

    strategy: int
    at: tuple[int, ...]
    old: tuple[str, ...]
    new: tuple[str, ...] | None


FoundPlaces = TextPlaces | LinePlaces


def first_match(view: View, wanted: EditRequest) -> FoundPlaces | None:
    """Return the places of the first strategy that has any."""
    old = flatten(wanted.old)
    new = flatten(wanted.new)
    exact = text_places(old, view.flat, PLACES)
    if wanted.whole_lines:
        lines = [start for start in exact if _is_lines(view.flat, start, old, indented=True)]
        exact = [start for start in lines if _is_lines(view.flat, start, old)] or lines
    if exact:
        return TextPlaces(1, tuple(_whole_line(view, wanted, old, exact)), old, new)
    if old.endswith("\n") and old[:-1] and view.flat.endswith(old[:-1]):  # the last line, which has no line end
        return TextPlaces(1, (len(view.flat) - len(old) + 1,), old[:-1], new.removesuffix("\n"))
    block = as_lines(old, new)
    if not any(line.strip() for line in block.old):
        return None
    found = _climb_lines(view, block) or _climb_bare(view, block)
    return found if found or wanted.whole_lines else _inside_a_line(view, old, new)


def _whole_line(view: View, wanted: EditRequest, old: str, at: Sequence[int]) -> Sequence[int]:
    """Return the one place of an indented text that is whole lines, else all."""
    if wanted.is_counted or old[0] not in " \t" or len(at) < 2:
        return at
    whole = [start for start in at if _is_lines(view.flat, start, old)]
    return whole if len(whole) == 1 else at


def _is_lines(flat: str, start: int, old: str, *, indented: bool = False) -> bool:
    before = flat[flat.rfind("\n", 0, start) + 1 : start]
    end = start + len(old)
    begins = not before or (indented and not before.strip() and old[0] != "\n")
    return begins and (old[-1] == "\n" or flat[end : end + 1] in ("\n", ""))


def _inside_a_line(view: View, old: str, new: str) -> FoundPlaces | None:
    if "\n" in old:
        return None
    (hay, offsets), (needle, _) = fold_with_offsets(view.flat), fold_with_offsets(old)
    if not needle.strip():
        return None
    # A place counts where it begins and ends between characters of the file, not within one that folds to several.
    at = [
        (offsets[start], offsets[start + len(needle)])
        for start in text_places(needle, hay, PLACES)
        if (not start or offsets[start] != offsets[start - 1])
        and offsets[start + len(needle) - 1] != offsets[start + len(needle)]
    ]
    texts = {view.flat[start:end] for start, end in at}
    return TextPlaces(4, tuple(start for start, _ in at), texts.pop(), new) if len(texts) == 1 else None


def as_lines(old: str, new: str) -> LinePlaces:
    """Split both texts into lines, without the final line endings of both."""
    if not old.endswith("\n"):
        return LinePlaces(0, (), tuple(old.split("\n")), tuple(new.split("\n")))
    lines = tuple(old[:-1].split("\n"))
    return LinePlaces(0, (), lines, tuple(new.removesuffix("\n").split("\n")) if new else None)


def _climb_lines(view: View, block: LinePlaces) -> FoundPlaces | None:
    for strategy, key in _KEYS:
        at = line_places(block.old, view.lines, key, PLACES)
        if strategy == 5:
            at = _mapped_places(view, block, at)
        elif strategy == 6:
            at = _token_places(view, block, at)
        if at:
            return replace(block, strategy=strategy, at=tuple(at))
    return None


def _climb_bare(view: View, block: LinePlaces) -> FoundPlaces | None:
    head, tail = _blank_borders(block.old)
    if not head and not tail:
        return None
    new = block.new
    if new is not None:
        first, last = _blank_borders(new)
        new = new[min(head, first) : len(new) - min(tail, last)]
    bare = LinePlaces(7, (), block.old[head : len(block.old) - tail], new)
    found = _climb_lines(view, bare)
    return replace(found, strategy=7) if found else None


def _blank_borders(lines: Sequence[str]) -> tuple[int, int]:
    full = full_lines(lines)
    return (full[0], len(lines) - 1 - full[-1]) if full else (0, 0)


_KEYS: Final[tuple[tuple[int, Callable[[str], Hashable]], ...]] = (
    (3, str.rstrip),
    (4, lambda line: folded_line(line).rstrip()),
    (5, str.strip),
    (5, lambda line: folded_line(line).strip()),
    (6, without_spaces),
)


def _token_places(view: View, block: LinePlaces, at: Sequence[int]) -> list[int]:
    wanted = [tokens(line) for line in block.old]
    if sum(len(line) for line in wanted) < _MIN_TOKENS:
        return []
    found = cache(tokens)
    equal = [start for start in at if all(found(view.lines[start + n]) == line for n, line in enumerate(wanted))]
    return _mapped_places(view, block, equal)


def _mapped_places(view: View, block: LinePlaces, at: Sequence[int]) -> list[int]:
    return [
        start
        for number, start in enumerate(at)
        if number >= _MAPPED or indents.pairs(block.old, view.lines[start : start + len(block.old)])
    ]


def map_at(view: View, start: int, block: LinePlaces) -> indents.IndentMap | None:
    """Return a block's indentation map."""
    window = view.lines[start : start + len(block.old)]
    near = view.lines[max(0, start - 1_000) : start + 1_000]
    return indents.learn_indent(block.old, window, (*block.old, "", *(block.new or ())), near)
