"""Changed words and syntax colours of diff lines. Pure.

Pygments reads the shown lines as if complete; only colours depend on it. Words are compared between equal numbers of
added and removed lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from rails.core.diff import line_diff
from rails.core.lazy_pattern import lazy
from rails.render.blocks import Diff, DiffLine

#: Diffs with more lines are shown without.
_MOST: Final = 3_000
_WORD: Final = lazy(r"\w+|\s+|.")
#: Pairs of lines of one diff whose words are compared.
_PAIRS: Final = 300
#: Languages by the end of a file's name, as Pygments calls them: looking through all that it knows takes longer.
_LANGUAGES: Final = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "cjs", "mjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "cts", "mts", "tsx"), "typescript"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("sh", "bash"), "bash"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cpp", "hpp", "cc"), "cpp"),
    **{one: one for one in ("json", "toml", "html", "css", "go", "java", "sql", "php")},
    **{"rs": "rust", "rb": "ruby", "cs": "csharp", "kt": "kotlin", "swift": "swift"},
}
#: The part of a pair of lines that may differ before their words are no longer compared.
_LIKE: Final = 0.4
_KINDS: Final = (("Comment", "c"), ("String", "s"), ("Keyword", "k"), ("Number", "m"), ("Name.Function", "f"))
_ADDED: Final = ("add", "tool_add")
_REMOVED: Final = ("remove", "tool_remove")


class Span(NamedTuple):
    """A part: kind ("c" comment, "s" string, "k" keyword, "m" number, "f" name, "" other), changed."""

    text: str
    kind: str
    changed: bool


def spans(diff: Diff) -> list[list[Span]]:
    """Return each line's parts; joined they are its text."""
    if len(diff.lines) > _MOST:
        return [[Span(line.text, "", False)] for line in diff.lines]
    changed = _changed_words(diff.lines)
    kinds = _kinds(diff)
    return [list(_cut(line.text, kinds.get(n, []), changed.get(n, []))) for n, line in enumerate(diff.lines)]


def _cut(text: str, kinds: list[tuple[int, int, str]], changed: list[tuple[int, int]]) -> Iterator[Span]:
    if not kinds and not changed:
        yield Span(text, "", False)
        return
    of = [""] * len(text)
    for start, end, kind in kinds:
        of[start:end] = [kind] * (min(end, len(text)) - start)
    new = [False] * len(text)
    for start, end in changed:
        new[start:end] = [True] * (end - start)
    at = 0
    for (kind, is_new), run in groupby(zip(of, new, strict=True)):
        length = len(list(run))
        yield Span(text[at : at + length], kind, is_new)
        at += length


def _changed_words(lines: Sequence[DiffLine]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    removed: list[int] = []
    added: list[int] = []
    for number, line in enumerate((*lines, DiffLine("hunk", ""))):
        if line.style in _ADDED:
            added.append(number)
        elif line.style in _REMOVED and not added:
            removed.append(number)
        elif line.style != "finding":
            if len(removed) == len(added) and len(found) < 2 * _PAIRS:
                for old, new in zip(removed, added, strict=True):
                    found |= dict(_pair(lines, old, new))
            removed, added = [number] if line.style in _REMOVED else [], []
    return found


def _pair(lines: Sequence[DiffLine], old: int, new: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    before, after = (_WORD.findall(lines[at].text) for at in (old, new))
    blocks = line_diff(before, after).blocks
    same = sum(len(word) for b in blocks if b.equal for word in before[b.old_start : b.old_end] if not word.isspace())
    if same < _LIKE * max(len(lines[old].text.replace(" ", "")), len(lines[new].text.replace(" ", ""))):
        return
    yield old, [_place(before, b.old_start, b.old_end) for b in blocks if not b.equal and b.old_end > b.old_start]
    yield new, [_place(after, b.new_start, b.new_end) for b in blocks if not b.equal and b.new_end > b.new_start]


def _place(words: Sequence[str], start: int, end: int) -> tuple[int, int]:
    at = sum(map(len, words[:start]))
    return at, at + sum(map(len, words[start:end]))


def _kinds(diff: Diff) -> dict[int, list[tuple[int, int, str]]]:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    language = _LANGUAGES.get(diff.path.rpartition(".")[2].casefold())
    if language is None:
        return {}
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    found: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for shown in (_ADDED, _REMOVED):
        side = [n for n, line in enumerate(diff.lines) if line.style in ("context", *shown)]
        for number, place in _tokens(lexer.get_tokens("\n".join(diff.lines[n].text for n in side)), side):
            if shown is _ADDED or diff.lines[number].style in _REMOVED:
                found[number].append(place)
    return found


def _tokens(tokens: Iterable[tuple[object, str]], side: Sequence[int]) -> Iterator[tuple[int, tuple[int, int, str]]]:
    row = at = 0
    for token, value in tokens:
        name = str(token).removeprefix("Token.").removeprefix("Literal.")
        kind = next((short for long, short in _KINDS if name.startswith(long)), "")
        for number, piece in enumerate(value.split("\n")):
            if number:
                row += 1
                at = 0
            if kind and piece.strip() and row < len(side):
                yield side[row], (at, at + len(piece), kind)
            at += len(piece)
