"""Weakened tests: removed, skipped or asserting less; and code with hard-coded answers.

Renaming, moving, and removal with the tested code are fine. Python is compared test by test, JavaScript counted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.verdict import Author, Finding
from rails.data_formats.source import language_of, symbols
from rails.gate.support.advice import remedy_of
from rails.gate.support.config_files import read_config_file

TEST_FILE: Final = lazy(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.pyw?$|^(?>(?:.*?/)?tests?/).*\.py$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|^(?>(?:.*?/)?__tests__/).*\.[cm]?[jt]sx?$"
)
#: The head of a function or method of Python, and what asserts in one; not what holds whatever the code does.
_HEAD: Final = lazy(r"^(?=\S|.*\((?:self|cls)\b)[ \t]*(?:async )?def (\w+)", re.M)
_ASSERTS: Final = lazy(
    r"^[ \t]*(?:assert (?!(?:True|\d+|\"[^\"\n]*\"|'[^'\n]*')\s*(?:#.*)?$|.* or True\s*$)"
    r"|(?:(?:async )?with |await |return )?(?:\w+\.)*(?:assert\w*|raises|warns|fail)\((?!True[,)])).*",
    re.M,
)
#: Nothing of a function is reached below.
_ENDS: Final = lazy(r"^    (?:return|raise)\b", re.M)
#: What each rule counts, the words for more or fewer of it, and whether more or fewer are wrong. What is skipped under
#: a condition runs somewhere. Comments of scripts begin their line.
_SKIPPED: Final = "More tests are skipped than before"
_OF_PYTHON: Final = (
    (
        "test-skipped",
        lazy(
            r"\b(?:pytest|unittest|mark|self|cls)\.(?:skip(?:Test)?\b|xfail|SkipTest|expectedFailure|skip\w+\((?:True|False|\d))"
            r"|(?<![\w.])(?:skip(?:Test)?|xfail|SkipTest)\(|\b__test__ ="
        ),
        _SKIPPED,
        1,
    ),
)
_OF_SCRIPTS: Final = tuple(
    (rule, lazy(rf"^(?![ \t]*(?://|/?\*)).*{pattern}", re.M), words, sign)
    for rule, pattern, words, sign in (
        ("test-removed", r"\b[xf]?(?:it|test|specify)(?:\.\w+)*\s*\(", "It has fewer tests than before", -1),
        ("assertion-removed", r"\b(?:expect|assert(?:\.\w+)?)\s*\(", "It asserts less than before", -1),
        (
            "test-skipped",
            r"\b(?:(?:it|test|describe)\.(?:skip|todo|fails?|only)\b|[xf](?:it|test|describe)\s*\()",
            _SKIPPED,
            1,
        ),
    )
)
#: The head of a function, or a branch that returns a constant.
_BRANCH: Final = lazy(
    r"^[ \t]*(?:(?:async )?def (\w+)|(?:el)?if [^\n]*==[ \t]*+([^\n:=]++):\s*return\s++([\"'\[({\d-][^\n]*)$)", re.M
)
#: A line of a test by which something is shown.
_SHOWS: Final = lazy(r".*\b(?:assert\w*|expect|raises)\b.*")
_PYTHON: Final = (".py", ".pyw")
_DEFINED: Final = re.compile(r"\b(?:def|class)\s+(\w+)")
#: Test files that are read to see which answers they expect.
_FILES: Final = 200
_NOT_GIVEN: Final = "This role changes only tests that its task names, and this file is none of them"
_REMEDY: Final = "Write the whole file, with everything in it that is to stay."

#: A file of the change: its path, and its text before and after; empty where there is none.
Sides = tuple[str, str, str]


def findings(
    project: Path, files: Iterable[tuple[str, bytes | None, bytes | None]], author: Author
) -> Iterator[Finding]:
    """Yield weakened tests, and code that hard-codes expected answers."""
    sides = [(path, plain_text(old or b"") or "", plain_text(new or b"") or "") for path, old, new in files]
    tests = [one for one in sides if TEST_FILE.search(one[0])]
    code = [one for one in sides if one not in tests]
    python = [one for one in tests if one[0].endswith(_PYTHON)]
    scripts = [one for one in tests if one not in python]
    yield from islice(_counted(scripts, _OF_SCRIPTS), 1)
    yield from _counted(python, _OF_PYTHON)
    yield from _python(python, code)
    if author.given_tests_only:
        yield from _not_given(tests, author.task)
    yield from _hard_coded(project, code, tests)


def _counted(sides: Sequence[Sides], rules: Iterable[tuple[str, re.Pattern[str], str, int]]) -> Iterator[Finding]:
    for rule, pattern, words, sign in rules:
        grown = {path: sign * (len(pattern.findall(new)) - len(pattern.findall(old))) for path, old, new in sides}
        if sum(grown.values()) > 0:
            yield _finding(max(grown, key=grown.__getitem__), 1, rule, words)


def _python(tests: Sequence[Sides], code: Sequence[Sides]) -> Iterator[Finding]:
    """Yield the tests that went or assert less. A test may go with the code that it names."""
    was, now = (set(_DEFINED.findall("\n".join(one[side] for one in code))) for side in (1, 2))
    kept = set(_DEFINED.findall("\n".join(after for _, _, after in tests)))
    for path, before, after in tests:
        old = _functions(before)
        new = _functions(after)
        renamed = [_asserts(name, new) for name in new if name not in old and _is_test(name)]
        for name in filter(_is_test, old):
            asserts = _asserts(name, old)
            less = len(asserts) - len(_asserts(name, new)) if name in new else 0
            if less > 0:
                words = f"{one_line(name, 80)} asserts less than before: {less} of {len(asserts)} gone"
                yield _finding(path, 1, "assertion-removed", words)
            elif name not in kept and asserts not in renamed and (was - now).isdisjoint(_words(old[name])):
                yield _finding(path, 1, "test-removed", f"The test {one_line(name, 80)} is removed")


def _is_test(name: str) -> bool:
    return name.startswith("test")


def _functions(text: str) -> dict[str, str]:
    """Return the functions and what is reached in them; of several with one name, all."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    _, *parts = _HEAD.split(text)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        found[name].append(_ENDS.split(body)[0])
    return {name: "\n".join(bodies) for name, bodies in found.items()}


def _asserts(name: str, functions: Mapping[str, str]) -> list[str]:
    """Return the assertions of a test, and of the helpers that it names."""
    helpers = [word for word in _words(functions[name]) if word in functions and not _is_test(word)]
    bodies = map(functions.__getitem__, [name, *helpers])
    return [line.strip() for body in bodies for line in _ASSERTS.findall(body)]


def _words(text: str) -> dict[str, None]:
    return dict.fromkeys(re.findall(r"\w+", text))


def _not_given(sides: Sequence[Sides], task: str) -> Iterator[Finding]:
    asked = _words(task)
    for path, before, after in sides:
        names = [Path(path).name.partition(".")[0], *_DEFINED.findall(before)]
        lines = _SHOWS.findall(after)
        if not set(_SHOWS.findall(before)).issubset(lines) and not any(name in asked for name in names):
            yield _finding(path, 1, "test-not-given", _NOT_GIVEN)


def _hard_coded(project: Path, code: Sequence[Sides], tests: Sequence[Sides]) -> Iterator[Finding]:
    expected: list[str] = []
    for path, before, after in code:
        function = ""
        for found in _BRANCH.finditer(after) if path.endswith(_PYTHON) else ():
            name, key, value = (one.strip().strip("()[]") for one in found.groups(""))
            function = name or function
            if name or found[0] in before:
                continue
            if not expected:
                places = islice(project.rglob("*test*.py"), _FILES)
                texts = [read_config_file(place).decode("utf-8", "replace") for place in places]
                expected = _SHOWS.findall("\n".join([*texts, *(one[2] for one in tests)]))
            if any(function in line and key in line and value in line for line in expected):
                words = f"{function} returns {one_line(value, 40)} for {one_line(key, 40)}, as a test expects it"
                yield _finding(path, after.count("\n", 0, found.start()) + 1, "hard-coded-answer", words)


def _finding(path: str, line: int, rule: str, words: str) -> Finding:
    return Finding(path, line, 1, rule, f"{words}.", "gate", end_line=line, remedy=remedy_of(rule))


def dropped_definitions(files: Sequence[tuple[str, bytes | None, bytes | None]], author: Author) -> Iterator[Finding]:
    """Yield a finding for each file that its author wrote anew without a definition that the task does not name.

    What begins with an underscore may go, and what is new in a place of the change. Tests have their own rule.
    """
    if not author.rewritten:
        return
    sides = [(path, _names(path, old), _names(path, new)) for path, old, new in files]
    brought = [name for _, was, now in sides for name in now if name not in was]
    may_go = _words(f"{author.task} {' '.join(name.rpartition('.')[2] for name in brought)}")
    for path, was, now in sides:
        if not now or path not in author.rewritten or TEST_FILE.search(path):
            continue
        lost = [name.rpartition(".") for name in was if name not in now and "._" not in f".{name}"]
        gone = ["".join(name) for name in lost if name[0] in ("", *now) and name[2] not in may_go]
        if gone:
            words = f"It takes away {', '.join(gone)}, which nobody asked for."
            yield Finding(path, 1, 1, "definition-dropped", words, "gate", remedy=_REMEDY)


def _names(path: str, data: bytes | None) -> list[str]:
    text = plain_text(data or b"") or ""
    return [one.name for one in symbols(text, language_of(path))]
