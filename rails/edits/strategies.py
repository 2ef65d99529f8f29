"""The match strategies in order: the first one (:mod:`rails.edits.match`) that finds a text at all.

Strategies only locate. Every comparison is linear in the file, whatever is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from rails.core.dataclass import dataclass, replace
from rails.edits import indent as indents
from rails.edits.edit_request import EditRequest
from rails.edits.text_view import (
    View,
    flatten,
    indent,
    line_places,
    text_places,
    tokens,
    with_ascii_punctuation,
    without_spaces,
)

PLACES: Final = 100_000  # places looked at before a text counts as "everywhere"
_MAPPED: Final = 2_000  # places whose indentation is compared; with more, the text is "everywhere" anyway
_MIN_TOKENS: Final = 4


@dataclass(frozen=True, slots=True)
class TextPlaces:
    """Places of a text (strategies 1, 2, 4): flat offsets, and the two texts that apply there."""

    strategy: int
    at: tuple[int, ...]
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class LinePlaces:
    """Places of whole lines (strategies 2 to 7): line indexes from 0. ``new`` is None when the lines go."""

    strategy: int
    at: tuple[int, ...]
    old: tuple[str, ...]
    new: tuple[str, ...] | None


FoundPlaces = TextPlaces | LinePlaces


def first_match(view: View, wanted: EditRequest) -> FoundPlaces | None:
    """Return the places of the first strategy that has any, or ``None``."""
    old, new = flatten(wanted.old), flatten(wanted.new)
    exact = _pieces(1, view.flat, old, new)
    if exact is None and old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
        if old and view.flat.endswith(old):  # the last line of the file, which has no line end
            exact = TextPlaces(1, (len(view.flat) - len(old),), old, new)
    if exact and not _is_shallower(view, exact):
        return exact
    block = as_lines(old, new)
    if not any(line.strip() for line in block.old):
        return exact
    return _climb_lines(view, block, inside="\n" not in old) or _climb_bare(view, block) or exact


def _pieces(strategy: int, hay: str, old: str, new: str) -> TextPlaces | None:
    at = text_places(old, hay, PLACES) if old else []
    return TextPlaces(strategy, tuple(at), old, new) if at else None


def _is_shallower(view: View, found: TextPlaces) -> bool:
    """Whether the text only fits into the middle of a deeper indentation, and has further lines.

    Those lines would then stand too far left, so the indentation strategy is asked first.
    """
    blanks = indent(found.old)
    if not blanks or len(found.at) > 1 or "\n" not in found.new or indent(found.new) != blanks:
        return False
    line_start = view.flat.rfind("\n", 0, found.at[0]) + 1
    return found.at[0] > line_start and view.flat[line_start : found.at[0]].isspace()


def as_lines(old: str, new: str) -> LinePlaces:
    """Take both texts as lines; the final line ends are dropped together."""
    if not old.endswith("\n"):
        return LinePlaces(0, (), tuple(old.split("\n")), tuple(new.split("\n")))
    lines = tuple(old[:-1].split("\n"))
    return LinePlaces(0, (), lines, tuple(new.removesuffix("\n").split("\n")) if new else None)


def _climb_lines(view: View, block: LinePlaces, *, inside: bool) -> FoundPlaces | None:
    """Strategies 3 to 6. ``inside``: the text is a piece of a line, so strategy 4 may find it inside one."""
    for strategy, key in _KEYS:
        if strategy == 4 and inside and block.new is not None:
            found = _pieces(
                4, with_ascii_punctuation(view.flat), with_ascii_punctuation(block.old[0]), "\n".join(block.new)
            )
            if found:
                return replace(found, old=block.old[0])
        at = line_places(block.old, view.lines, key, PLACES)
        if strategy == 5:
            at = _mapped_places(view, block, at)
        elif strategy == 6:
            at = _token_places(view, block, at)
        if at:
            return replace(block, strategy=strategy, at=tuple(at))
    return None


def _climb_bare(view: View, block: LinePlaces) -> FoundPlaces | None:
    """Strategy 7: drop the blank lines at both ends of the search text, and the same of the replacement."""
    lines = block.old
    head = next(n for n, line in enumerate(lines) if line.strip())
    tail = next(n for n, line in enumerate(reversed(lines)) if line.strip())
    if not head and not tail:
        return None
    new = block.new
    if new is not None:
        first = next((n for n, line in enumerate(new) if line.strip()), 0)
        last = next((n for n, line in enumerate(reversed(new)) if line.strip()), 0)
        new = new[min(head, first) : len(new) - min(tail, last)]
    bare = LinePlaces(7, (), lines[head : len(lines) - tail], new)
    if at := line_places(bare.old, view.lines, str, PLACES):
        return replace(bare, at=tuple(at))
    found = _climb_lines(view, bare, inside=False)
    return replace(found, strategy=7) if found else None


def _fold_line(line: str) -> str:
    return with_ascii_punctuation(line).rstrip()


def _fold_strip(line: str) -> str:
    return with_ascii_punctuation(line).strip()


_KEYS: Final[tuple[tuple[int, Callable[[str], Hashable]], ...]] = (
    (3, str.rstrip),
    (4, _fold_line),
    (5, str.strip),
    (5, _fold_strip),
    (6, without_spaces),
)


def _token_places(view: View, block: LinePlaces, at: Sequence[int]) -> list[int]:
    """Keep the places whose every line has the same tokens, if there are enough tokens to mean it."""
    wanted = [tokens(line) for line in block.old]
    if sum(len(line) for line in wanted) < _MIN_TOKENS:
        return []
    seen: dict[tuple[int, str], bool] = {}

    def equal(start: int) -> bool:
        for offset, line_tokens in enumerate(wanted):
            key = (offset, view.lines[start + offset])
            if key not in seen:
                seen[key] = tokens(key[1]) == line_tokens
            if not seen[key]:
                return False
        return True

    return _mapped_places(view, block, [start for start in at if equal(start)])


def _mapped_places(view: View, block: LinePlaces, at: Sequence[int]) -> list[int]:
    """Keep the places where the indentation has the same structure; of very many, only the first are asked."""
    return [
        start
        for number, start in enumerate(at)
        if number >= _MAPPED or indents.pairs(block.old, view.lines[start : start + len(block.old)]) is not None
    ]


def map_at(view: View, start: int, block: LinePlaces) -> indents.IndentMap | None:
    """Return the indentation map of a block at a line index, learned from the lines there."""
    window = view.lines[start : start + len(block.old)]
    near = view.lines[max(0, start - 1_000) : start + 1_000]
    return indents.learn_indent(block.old, window, (*block.old, "", *(block.new or ())), near)
