"""Comments that switch a check off. A new one is a finding: an agent may not excuse itself."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from rails.core.lazy_pattern import lazy
from rails.core.text import decode_text, one_line
from rails.core.verdict import Finding
from rails.gate.baseline import split_lines
from rails.gate.support.read_file import run_by_python

#: Suppressions and the lines that they are in, counted.
Comments = Counter[tuple[str, str]]
_PYTHON: Final = (
    r"#\s*(?:(?:ruff|flake8)\s*[:=]\s*(?:noqa|disable|ignore|file-ignore|enable)|noqa\b|type:\s*ignore|ty:\s*ignore|mypy:\s*(?:ignore|disable)"
    r"|pyright:\s*(?:ignore|basic|off)|pyre-(?:ignore|fixme)|pylint:\s*(?:disable|skip)|(?:[^#\n]*;\s*)?(?:fmt:\s*(?:off|skip)|yapf:\s*disable)"
    r"|(?:ruff:\s*)?isort:\s*(?:skip|off|split|dont-add)|autopep8:\s*off|pyrefly:\s*ignore|pytype:\s*(?:disable|skip)|nosec\b"
    r"|bandit:\s*skip|pragma:\s*no\s*(?:cover|branch))"
)
_SCRIPT: Final = (
    r"(?:eslint-disable(?:-next-line|-line)?|eslint-enable|eslint-env\b|/\*\s*(?:eslint\s+\S|globals?\s+\S|exported\s+\S)|@ts-(?:ignore|nocheck|expect-error)|prettier-ignore|(?<!\S)@no(?:format|prettier)\b|biome-ignore(?:-all)?"
    r"|\b[a-z-]{1,12}lint[-:](?:disable|ignore)|jshint\s+ignore|\$FlowFixMe|@flow-nocheck|dprint-ignore|(?:istanbul|[cv]8)\s+ignore)"
)
#: In every other text: what Prettier and Biome leave as it is, and what other linters call such a comment.
_ELSEWHERE: Final = (
    r"(?:(?:<!--|/\*|\{\{~?!(?:--)?)\s*|(?:#|//|--)[ \t]*)"
    r"(?:(?:prettier|biome|taplo)[-:]\s*ignore(?:-start|-attribute|-all)?\b"
    r"|(?:[a-z]{0,12}lint|shellcheck|sqlfluff)[-: ]+(?:disable|ignore|off|noqa)\b)|(?://|--)[ \t]*no(?:lint|qa)\b"
    r"|(?<!\S)@no(?:format|prettier)\b"
)
#: One of these is in whatever matches: a long text without them is not searched letter by letter.
_SIGNS: Final = {
    _SCRIPT: "lint global exported @ts- prettier @noformat biome jshint $flowfixme @flow- dprint istanbul ignore",
    _ELSEWHERE: "prettier biome taplo lint shellcheck sqlfluff noqa @noformat",
    _PYTHON: "#",
}
_SCRIPTS: Final = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"})
_FILE_LEVEL: Final = lazy(r"#\s*(?:ruff|flake8)\s*[:=]\s*noqa\s*(?:#.*)?$", re.I)


#: Comments that excuse one line, and those among them that excuse the one below.
_OF_A_LINE: Final = lazy(
    r"(?<!ruff: )(?<!ruff:)(?<!flake8: )(?<!flake8:)\bnoqa\b|disable-(?:next-)?line|biome-ignore(?!-)", re.I
)
_NEXT_LINE: Final = lazy(r"next-line|biome-ignore", re.I)
_LINE_END: Final = lazy(r"(\r\n|\r|\n)")
_ESCAPED: Final = lazy(r"(?<!\\)((?:\\\\)*)\\u00(2[013-9a-f]|[346][\da-f]|[57][\dabdef])", re.I)
#: How long the comment of a rule may be, to be read to its end.
_LONG: Final = 10_000


class Uncovered(NamedTuple):
    """A text without its line suppressions, and those lines with their comments."""

    text: bytes
    excused: dict[int, str]


def uncovered(path: str, data: bytes) -> Uncovered:
    """Return the text without line suppressions; places stay."""
    pieces = _LINE_END.split(_text(path, data))
    excused: dict[int, str] = {}
    for number, column, comment in _all(path, data):
        if _OF_A_LINE.search(comment):
            line = pieces[2 * number - 2]
            at = column - 1
            first, *more = split_lines(comment)
            pieces[2 * number - 2] = line[:at] + re.sub(r"\w", "x", first) + line[at + len(first) :]
            excused.setdefault(number + len(more) + bool(_NEXT_LINE.search(comment)), _key(comment))
    return Uncovered("".join(pieces).encode(), excused)


def left_out(path: str, before: bytes, after: bytes) -> Comments:
    """Return the suppressions missing in ``after``, with their whole lines."""
    return _with_lines(path, before) - _with_lines(path, after)


def _with_lines(path: str, data: bytes) -> Comments:
    lines = split_lines(_text(path, data))
    return Counter((_key(comment), _key(lines[line - 1])) for line, _, comment in _all(path, data))


def new_ones(path: str, before: bytes | None, after: bytes, moved: Comments | None = None) -> list[Finding]:
    """Return a finding for each new suppression of ``after``.

    ``moved`` left other files with their lines; each explains one and is then removed.
    """
    lines = split_lines(_text(path, after)) if moved else []
    known = Counter(_key(comment) for _, _, comment in _all(path, before or b""))
    findings = []
    for line, column, comment in _all(path, after):
        if known[_key(comment)]:
            known[_key(comment)] -= 1
            continue
        if moved and moved[place := (_key(comment), _key(lines[line - 1]))]:
            moved[place] -= 1
            continue
        findings.append(
            Finding(
                path,
                line,
                column,
                "declared-global" if re.match(r"/\*\s*global", comment) else "new-suppression",
                f"This comment switches a check off: {one_line(comment, 80)}",
                "gate",
                end_line=line,
                end_column=column + len(comment),
                remedy="Solve what it hides and remove it, or ask the human to allow it.",
            )
        )
    ends = sum(count for key, count in known.items() if "enable" in key)
    if ends and any("disable" in comment for _, _, comment in _all(path, after)):
        words = f"Comments that switch a check on again are gone ({ends}); what follows is hidden"
        findings.append(
            Finding(
                path,
                1,
                1,
                "new-suppression",
                words,
                "gate",
                end_line=1,
                remedy="Put them back, or remove what switches the check off.",
            )
        )
    return findings


def excuses_whole_file(data: bytes) -> bool:
    """Say whether a comment excuses the file from ruff, which honours flake8's, too."""
    return any(_FILE_LEVEL.match(comment) for _, _, comment in _all("x.py", data))


def _key(comment: str) -> str:
    return "".join(comment.split()).lower()


def _all(path: str, data: bytes) -> Iterator[tuple[int, int, str]]:
    text = _text(path, data)
    suffix = f".{path.rpartition('.')[2].lower()}"
    if suffix in (".py", ".pyi", ".pyw") or run_by_python(data):
        yield from _python(text)
        return
    pattern = _SCRIPT if suffix in _SCRIPTS else _PYTHON if suffix == ".ipynb" else _ELSEWHERE
    if not any(map(text.casefold().__contains__, _SIGNS[pattern].split())):
        return
    number = 1
    at = 0
    for found in re.finditer(pattern, text, re.I):
        number += len(_LINE_END.findall(text, at, at := found.start()))
        begun = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        yield number, at - begun + 1, text[at : _end(text, at, found.end())].rstrip("*/ ")


def _text(path: str, data: bytes) -> str:
    decoded = decode_text(data)
    text = decoded.text if decoded else ""
    if "\\u00" not in text or not path.lower().endswith(".ipynb"):
        return text
    return _ESCAPED.sub(lambda found: found[1] + chr(int(found[2], 16)), text)


def _end(text: str, start: int, end: int) -> int:
    line = _LINE_END.search(text, end)
    eol = line.start() if line else len(text)
    is_block = text.rfind("/*", max(start - _LONG, 0), end) > text.rfind("*/", max(start - _LONG, 0), start)
    return max(eol, text.find("*/", end, end + _LONG)) if is_block and "*/" not in text[end:eol] else eol


def _python(text: str) -> Iterator[tuple[int, int, str]]:
    if not re.search(_PYTHON, text, re.I):
        return
    import tokenize  # here, because most files have no such comment

    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT and (found := re.search(_PYTHON, token.string, re.I)):
                yield token.start[0], token.start[1] + found.start() + 1, token.string[found.start() :]
    except (tokenize.TokenError, SyntaxError):
        return
