"""Long comments and string literals broken into lines, where the program stays the same.

Formatters leave both alone, and a model that gets a long line as feedback spends a turn on it. A comment is
wrapped or put above its line; a string literal becomes several, which the compiler joins to the very same
constant. Nothing here is taken on trust: the caller compares the syntax trees. Docstrings are not touched,
because their text would change.
"""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rails.core.dataclass import dataclass

#: Comments that a program reads: where they stand and how they are written matters.
_PRAGMA: Final = re.compile(
    r"#+(?:!|:|%%|\s*(?:noqa|type:|fmt:|yapf:|isort:|pylint:|pyright:|mypy:|ruff:|flake8:|pragma|nosec|coding[:=]"
    r"|-\*-|region\b|endregion\b|language=|///|TODO\(|cspell|spell))",
    re.I,
)
#: Comments whose layout means something: tables, drawings, commented-out code that continues.
_LAID_OUT: Final = re.compile(r"\S(?: {2,}|\t)\S|[|+][-=]{2,}|[-=*#~_]{6,}|>>>|[{(\[,\\]$")
_STATEMENT: Final = re.compile(
    r"(?:@|(?:def|class|import|from|return|raise|assert|del|elif|except|global|async|await|yield)\b.*[:(.=]"
    r"|[\w.\[\]'\"]+\s*(?:[-+*/|&]?=(?!=)|\()|(?:if|for|while|with|else|try)\b.*:$)"
)
_BULLET: Final = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_QUOTED: Final = re.compile(r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>['\"])(?P<body>.*)(?P=quote)\Z")
#: Another string literal.
_BESIDE: Final = re.compile(r"\s*[A-Za-z]{0,2}['\"]")
#: A piece of a string shorter than this on a line of its own reads worse than a long line.
_LEAST: Final = 12


@dataclass(frozen=True, slots=True)
class _Token:
    kind: int
    text: str
    row: int
    start: int
    end: int
    depth: int
    first: bool
    #: The row on which the statement of this token starts.
    statement: int


def shorten(text: str, limits: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with the named lines broken where that is possible; other lines keep every character.

    ``limits`` are lines (1-based) and how many columns each may have. ``text`` must be a Python program with
    ``\\n`` line ends.
    """
    wanted = dict(limits)
    lines = text.split("\n")
    try:
        tokens = list(_tokens(text, wanted))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return text
    replaced: dict[int, list[str]] = {}
    above: dict[int, list[str]] = {}
    for token in tokens:
        line, limit = lines[token.row - 1], wanted[token.row]
        if token.row in replaced:
            continue
        if token.kind == tokenize.STRING:
            new = _string(token, line, limit)
        elif token.first:
            new = _wrapped(token.text, line[: token.start], limit)
        else:
            row, comment = _lifted(token, lines, limit)
            above.setdefault(row, []).extend(comment)
            new = [line[: token.start].rstrip()] if comment else []
        if new:
            replaced[token.row] = new
    result: list[str] = []
    for number, line in enumerate(lines, 1):
        result += above.get(number, [])
        result += replaced.get(number, [line])
    return "\n".join(result)


def _tokens(text: str, wanted: Iterable[int]) -> Iterator[_Token]:
    """Yield the comments and one-line string literals on the ``wanted`` rows."""
    rows = set(wanted)
    depth, statement, last_row = 0, 0, 0
    begun: tuple[int, int, bool] | None = None
    nested = 0
    starts, ends = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.type == tokenize.NEWLINE:
            statement = 0
            continue
        if token.type != tokenize.COMMENT:
            statement = statement or row
        first = row != last_row and not lines[row - 1][:column].strip()
        last_row = token.end[0]
        if token.type == starts:  # Python 3.12 and later take f-strings apart
            begun = begun or (row, column, first)
            nested += 1
        elif token.type == ends:
            nested -= 1
            if not nested and begun and begun[0] == token.end[0] and row in rows:
                whole = lines[row - 1][begun[1] : token.end[1]]
                yield _Token(tokenize.STRING, whole, row, begun[1], token.end[1], depth, begun[2], statement)
            begun = begun if nested else None
        elif token.type == tokenize.OP and not nested:
            depth += (token.string in "([{") - (token.string in ")]}")
        elif row in rows and not nested and token.end[0] == row and token.type in (tokenize.COMMENT, tokenize.STRING):
            yield _Token(token.type, token.string, row, column, token.end[1], depth, first, statement or row)


def _lifted(token: _Token, lines: Sequence[str], limit: int) -> tuple[int, list[str]]:
    """Return a comment behind code as lines of their own, and before which row they belong."""
    code = lines[token.row - 1][: token.start].lstrip()
    # What closes a bracket ends a statement: its comment is about the statement.
    row = token.statement if code[:1] in (")", "]", "}") else token.row
    target = lines[row - 1]
    indent = target[: len(target) - len(target.lstrip())]
    whole = f"{indent}{token.text}"
    if len(whole) > limit or _PRAGMA.match(token.text):
        return row, _wrapped(token.text, indent, limit)
    return row, [whole]


def _wrapped(comment: str, indent: str, limit: int) -> list[str]:
    """Return a comment on several lines, none if it should stay as it is."""
    if _PRAGMA.match(comment) or "://" in comment:
        return []
    marks = re.match(r"#+\s*", comment)
    prefix, body = (marks[0], comment[len(marks[0]) :]) if marks else ("# ", comment)
    if not prefix.endswith(" ") or _LAID_OUT.search(body) or _STATEMENT.match(body):
        return []
    bullet = _BULLET.match(body)
    further = indent + prefix + " " * (len(bullet[0]) if bullet else 0)
    wrapper = textwrap.TextWrapper(
        width=limit,
        initial_indent=indent + prefix,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    made = wrapper.wrap(body)
    return made if len(made) > 1 and all(len(line) <= limit for line in made) else []


def _string(token: _Token, line: str, limit: int) -> list[str]:
    """Return a line with its string literal in pieces, nothing if it cannot be broken."""
    found = _QUOTED.match(token.text)
    if not found or found["body"][:1] == found["quote"] or (token.first and token.depth == 0):
        return []
    before, after = line[: token.start], line[token.end :]
    indent = line[: len(line) - len(line.lstrip())]
    stacked = token.first and token.depth > 0
    inner = before if stacked else f"{indent}    "
    room = limit - len(inner) - len(found["prefix"]) - 2
    pieces = _pieces(found["body"], "f" in found["prefix"].lower(), room, room - len(after) if stacked else room)
    if len(pieces) < 2:
        return []
    prefixes = _prefixes(found["prefix"], pieces)
    quoted = [
        f"{inner}{one}{found['quote']}{piece}{found['quote']}" for one, piece in zip(prefixes, pieces, strict=True)
    ]
    if stacked:
        return [*quoted[:-1], quoted[-1] + after]
    if _BESIDE.match(after) or before.rstrip().endswith(("'", '"')):
        return []  # one of several literals that are one string: in brackets of its own it would be another thing
    if len(before) + 1 > limit or len(indent) + 1 + len(after) > limit:
        return []
    return [f"{before}(", *quoted, f"{indent}){after}"]


def _prefixes(prefix: str, pieces: Sequence[str]) -> list[str]:
    """Leave the f away where a piece has no replacement field, but not everywhere: the literal stays formatted."""
    fields = ["{" in piece or "}" in piece for piece in pieces]
    bare = prefix.replace("f", "").replace("F", "")
    return [prefix if field or not any(fields) else bare for field in fields]


def _pieces(body: str, formatted: bool, room: int, last: int) -> list[str]:
    """Cut a literal's text after blanks into pieces of at most ``room`` columns, the last of at most ``last``."""
    places = list(_places(body, formatted))
    pieces: list[str] = []
    at = 0
    while len(body) - at > last:
        fits = [place for place in places if at + _LEAST <= place <= at + room and len(body) - place >= 1]
        if not fits:
            return []
        pieces.append(body[at : fits[-1]])
        at = fits[-1]
    return [*pieces, body[at:]]


def _places(body: str, formatted: bool) -> Iterator[int]:
    """Yield where a literal may be cut: after a blank that is no part of an escape or a replacement field."""
    depth = 0
    for index, char in enumerate(body):
        if formatted and char in "{}":
            depth += 1 if char == "{" else -1
        elif char == " " and depth == 0 and body[index - 1 : index] != "\\" and index + 1 < len(body):
            yield index + 1
