"""Changed words and syntax colours of diff lines. Pure.

Pygments reads the shown lines as if complete; only colours depend on it. Words are compared between equal numbers of
added and removed lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
#: Pygments' languages with the ends of their files' names: looking through all that it knows takes longer.
_LANGUAGES: Final = """\
python py pyi
javascript js cjs mjs jsx
typescript ts cts mts tsx
yaml yaml yml
bash sh bash
c c h
cpp cpp hpp cc
json json
toml toml
html html
css css
go go
java java
sql sql
php php
rust rs
ruby rb
csharp cs
kotlin kt
swift swift"""
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
    changed = dict(_changed_words(diff.lines))
    kinds = dict(_kinds(diff))
    return [list(_cut(line.text, kinds.get(n), changed.get(n))) for n, line in enumerate(diff.lines)]


def _cut(text: str, kinds: list[str] | None, changed: list[bool] | None) -> Iterator[Span]:
    """Yield the parts of a line from the kind and the change of each character."""
    plain = not text.strip()
    marks = zip([""] * len(text) if plain or kinds is None else kinds, changed or [False] * len(text), strict=True)
    at = 0
    for mark, run in groupby(marks):
        end = at + len(list(run))
        yield Span(text[at:end], *mark)
        at = end


def _changed_words(lines: Sequence[DiffLine]) -> Iterator[tuple[int, list[bool]]]:
    left = _PAIRS
    removed: list[int] = []
    added: list[int] = []
    for number, line in enumerate((*lines, DiffLine("hunk", ""))):
        if line.style in _ADDED:
            added.append(number)
        elif line.style in _REMOVED and not added:
            removed.append(number)
        elif line.style != "finding":
            for old, new in zip(removed, added, strict=True) if len(removed) == len(added) and left > 0 else ():
                left -= 1
                yield from zip((old, new), _compared(lines[old].text, lines[new].text), strict=False)
            removed, added = [number] if line.style in _REMOVED else [], []


def _compared(old: str, new: str) -> Sequence[list[bool]]:
    """Return for each character of two lines whether its word changed; nothing for lines that differ too much."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    blocks = line_diff(before, after).blocks
    gone = [not b.equal for b in blocks for word in before[b.old_start : b.old_end] for _ in word]
    come = [not b.equal for b in blocks for word in after[b.new_start : b.new_end] for _ in word]
    same = sum(not is_gone and not char.isspace() for is_gone, char in zip(gone, old, strict=True))
    longest = max(len(old.replace(" ", "")), len(new.replace(" ", "")))
    return (gone, come) if same >= _LIKE * longest else ()


def _kinds(diff: Diff) -> Iterator[tuple[int, list[str]]]:
    """Yield the kind of each character of the lines of a known language."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    end = diff.path.rpartition(".")[2].casefold()
    languages = [name for name, *ends in map(str.split, _LANGUAGES.splitlines()) if end in ends]
    for shown in (_REMOVED, _ADDED) if languages else ():
        side = [n for n, line in enumerate(diff.lines) if line.style in ("context", *shown)]
        text = "\n".join(diff.lines[n].text for n in side)
        tokens = get_lexer_by_name(languages[0], stripnl=False, ensurenl=False).get_tokens(text)
        kinds = [kind for token, value in tokens for kind in [_kind(str(token))] * len(value)]
        at = 0
        for number in side if len(kinds) == len(text) else ():
            size = len(diff.lines[number].text)
            yield number, kinds[at : at + size]
            at += size + 1


def _kind(token: str) -> str:
    name = token.removeprefix("Token.").removeprefix("Literal.")
    return next((short for long, short in _KINDS if name.startswith(long)), "")
