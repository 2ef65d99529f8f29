"""Weakened tests: removed, skipped or asserting less; and code with hard-coded answers.

Renaming, moving, and removal with the tested code are fine. Python is read by syntax tree; JavaScript is counted.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.verdict import Author, Finding, Severity
from rails.data_formats.python_code import parse_tree
from rails.gate.support.advice import remedy_of

TEST_FILE: Final = lazy(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.pyw?$|^(?>(?:.*?/)?tests?/).*\.py$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|^(?>(?:.*?/)?__tests__/).*\.[cm]?[jt]sx?$"
)
_SKIPS: Final = lazy(
    r"(?:pytest|unittest|mark|self|cls)\.(?:skip\w*|xfail|importorskip|SkipTest|expectedFailure)\b|^(?:skip\w*|xfail|SkipTest|importorskip)$|\b__test__$"
)
_CONDITIONAL: Final = re.compile(r"skip(?:[iI]f|Unless)$|importorskip$")
_ASSERTS: Final = re.compile(r"(?:\w+\.)*(?:assert\w*|raises|warns|fail)")
#: Names in a conftest.py that decide which tests run, and how they end.
_DECIDES: Final = re.compile(r"pytest_\w+|collect_ignore(?:_glob)?")
#: Of a script: what each rule counts, and the words for more or fewer of it.
_COUNTED: Final = (
    ("test-removed", lazy(r"\b[xf]?(?:it|test|specify)(?:\.\w+)*\s*\("), "tests are removed", -1),
    (
        "assertion-removed",
        lazy(r"^(?![ \t]*//).*\b(?:expect|assert(?:\.\w+)?)\s*\(", re.M),
        "assertions are removed",
        -1,
    ),
    (
        "test-skipped",
        lazy(r"\b(?:it|test|describe)\.(?:skip|todo|fails?|only)\b|\b[xf](?:it|test|describe)\s*\("),
        "more tests are skipped",
        1,
    ),
)
_BLOCK: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_BRANCH: Final = lazy(r"^[ \t]*(?:el)?if [^\n]*==[ \t]*+([^\n:=]++):\s*return\s++([\"'\[({\d-][^\n]*)$", re.M)
_FUNCTION: Final = lazy(r"^[ \t]*(?:async )?def (\w+)", re.M)
#: Test files that are read to see which answers they expect, and the largest of them.
_FILES: Final = 200
_BYTES: Final = 1_000_000
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)

#: A file of the change: its path, and its text before and after; empty where there is none.
Sides = tuple[str, str, str]


class Test(Struct, frozen=True):
    """A test: first line, text, assertions, skips with and without condition."""

    line: int
    text: str
    asserts: tuple[str, ...]
    skips: tuple[str, ...]


Tests = Mapping[str, Test]


def findings(project: Path, files: Iterable[tuple[str, bytes | None, bytes | None]], author: Author) -> list[Finding]:
    """Return weakened tests, and code that hard-codes expected answers."""
    sides = [(path, plain_text(old or b"") or "", plain_text(new or b"") or "") for path, old, new in files]
    tests = [one for one in sides if TEST_FILE.search(one[0])]
    code = [one for one in sides if not TEST_FILE.search(one[0])]
    python = [one for one in tests if one[0].endswith((".py", ".pyw"))]
    found = list(_scripts([one for one in tests if one not in python]))
    old = {path: _tests_of(before) or {} for path, before, _ in python}
    after = dict(old)
    for path, _, text in python:
        made = _tests_of(text)
        if made is not None:  # what does not parse is a finding of its own, and takes no test away
            after[path] = made
    for path, known in old.items():
        weaker = list(_weaker(path, known, after, code))
        found += weaker
        altered = weaker or any(not _keeps(one, after[path].get(name)) for name, one in known.items())
        if altered and author.given_tests_only and not _is_given(path, known, author.task):
            words = "This role changes only tests that its task names, and this file is none of them"
            found.append(_finding(path, 1, "test-not-given", words))
    for one in python:
        found += _decided(*one) if one[0].endswith("conftest.py") else ()
    return found + list(_hard_coded(project, code, tests))


def _weaker(path: str, old: Tests, after: Mapping[str, Tests], code: Sequence[Sides]) -> Iterator[Finding]:
    for name, was in old.items():
        now = after[path].get(name) or _moved(path, name, was, old, after)
        shown = one_line(name, 80)
        if now is None:
            if not _went_with_its_code(was, code):
                yield _finding(path, 1, "test-removed", f"The test {shown} is removed")
            continue
        if len(now.skips) > len(was.skips):
            yield _finding(path, now.line, "test-skipped", f"{shown} is skipped now")
        less = len(was.asserts) - len(now.asserts)
        if less > 0:
            words = f"{shown} asserts less than before: {less} of {len(was.asserts)} gone"
            yield _finding(path, now.line, "assertion-removed", words)
    for name, test in after[path].items():
        if name not in old and not all(map(_CONDITIONAL.search, test.skips)):
            yield _finding(path, test.line, "test-skipped", f"The new test {one_line(name, 80)} is skipped")


def _keeps(was: Test, now: Test | None) -> bool:
    return now is not None and was.asserts == now.asserts[: len(was.asserts)]


def _moved(path: str, name: str, was: Test, old: Tests, after: Mapping[str, Tests]) -> Test | None:
    here = (test for other, test in after[path].items() if other not in old and test.asserts == was.asserts)
    elsewhere = (tests[name] for file, tests in after.items() if file != path and name in tests)
    return next(here, None) or next(elsewhere, None)


def _went_with_its_code(test: Test, code: Sequence[Sides]) -> bool:
    pattern = r"\b(?:def|class)\s+(\w+)"
    before = {name for _, was, _ in code for name in re.findall(pattern, was)}
    after = {name for _, _, now in code for name in re.findall(pattern, now)}
    return bool((before - after) & set(re.findall(r"\w+", test.text)))


def _is_given(path: str, tests: Tests, task: str) -> bool:
    name = path.rpartition("/")[2]
    names = (name, name.partition(".")[0], *(one.rpartition(".")[2] for one in tests))
    return any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", task) for one in names)


def _tests_of(text: str) -> Tests | None:
    """Return the tests by name, or None if unparsable. Named helpers' assertions count."""
    try:
        found = dict(_functions(parse_tree(text), text, "", ()))
    except _UNREADABLE:
        return None
    tests = {name: one for name, one in found.items() if name.rpartition(".")[2].startswith("test")}
    helpers = {name.rpartition(".")[2]: one.asserts for name, one in found.items() if name not in tests}
    for name, test in tests.items():
        helped = [one for word in re.findall(r"\w+", test.text) for one in helpers.get(word, ())]
        tests[name] = Test(test.line, test.text, (*test.asserts, *helped), test.skips)
    return tests


def _functions(
    node: ast.Module | ast.ClassDef, text: str, inside: str, skips: tuple[str, ...]
) -> Iterator[tuple[str, Test]]:
    left_out = (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
    skips += _skips(one for one in node.body if not isinstance(one, left_out))
    for one in node.body:
        if isinstance(one, ast.ClassDef):
            yield from _functions(one, text, f"{inside}{one.name}.", skips + _skips(one.decorator_list))
        elif isinstance(one, _FUNCTIONS):
            asserts = (*_cases(one), *_asserted(one))
            source = ast.get_source_segment(text, one) or ""
            yield f"{inside}{one.name}", Test(one.lineno, source, asserts, skips + _skips([one]))


def _skips(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    inner = [one for node in nodes for one in ast.walk(node)]
    named = [one for one in inner if isinstance(one, ast.Attribute) or getattr(one, "id", "") == "__test__"]
    called = [one.func for one in inner if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    words = (ast.unparse(one) for one in (*named, *called))
    return tuple(one for one in words if _SKIPS.search(one))


def _cases(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) > 1:
            yield from map(ast.unparse, getattr(mark.args[1], "elts", ()))


def _asserted(function: ast.AST) -> Iterator[str]:
    for one in _reached(function):
        if isinstance(one, ast.Assert) and not _is_vacuous(one.test):
            yield ast.unparse(one.test)
        elif isinstance(one, ast.Call) and _ASSERTS.fullmatch(ast.unparse(one.func)):
            yield from () if one.args and _is_vacuous(one.args[0]) else (ast.unparse(one),)


def _reached(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node's descendants, without those after a return or raise."""
    yield node
    for _, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _reached(child)
            if isinstance(child, ast.Return | ast.Raise):
                break


def _is_vacuous(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(_is_vacuous, test.values))
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Is):
        return ast.dump(test.left) == ast.dump(test.comparators[0])
    return isinstance(test, ast.Constant) and bool(test.value)


def _scripts(sides: Sequence[Sides]) -> Iterator[Finding]:
    for rule, pattern, words, sign in _COUNTED:
        grown = {}
        for path, before, after in sides:
            was, now = (len(pattern.findall(_BLOCK.sub("", text))) for text in (before, after))
            grown[path] = (now - was) * sign
        if sum(grown.values()) > 0:
            path, count = max(grown.items(), key=lambda pair: pair[1])
            yield _finding(path, 1, rule, f"{count} {words}")
            return


def _decided(path: str, before: str, after: str) -> Iterator[Finding]:
    sides = []
    for text in (before, after):
        try:
            body = parse_tree(text).body
        except _UNREADABLE:
            return
        named = [(getattr(one, "name", None) or ast.unparse(one).partition(" ")[0], one) for one in body]
        sides.append({name: (ast.dump(one), one.lineno) for name, one in named if _DECIDES.fullmatch(name)})
    old, new = sides
    for name in sorted(old.keys() | new.keys()):
        code, line = new.get(name, ("", 1))
        if code != old.get(name, ("", 1))[0]:
            words = f"It changes which tests run, or how they end: {name}"
            yield _finding(path, line, "gate-config-changed", words, "warning")


def _hard_coded(project: Path, code: Sequence[Sides], tests: Sequence[Sides]) -> Iterator[Finding]:
    lines: list[str] | None = None
    for path, before, after in [one for one in code if one[0].endswith(".py")]:
        known = Counter(_BRANCH.findall(before))
        for found in _BRANCH.finditer(after):
            key, value = (one.strip().strip("()[]") for one in found.groups())
            name = _FUNCTION.findall(after[: found.start()])[-1:]
            if known[found.groups()] or not name:
                continue
            if lines is None:
                lines = [line for text in _test_texts(project, tests) for line in text.splitlines() if "assert" in line]
            if any(name[0] in line and key in line and value in line for line in lines):
                words = f"{name[0]} returns {one_line(value, 40)} for {one_line(key, 40)}, as a test expects it"
                line = after.count("\n", 0, found.start()) + 1
                yield _finding(path, line, "hard-coded-answer", words)


def _test_texts(project: Path, changed: Sequence[Sides]) -> Iterator[str]:
    yield from (after for _, _, after in changed)
    for pattern in ("test_*.py", "*_test.py"):
        for place in islice(project.rglob(pattern), _FILES):
            if place.is_file() and not place.is_symlink() and place.stat().st_size < _BYTES:
                yield place.read_text("utf-8", "replace")


def _finding(path: str, line: int, rule: str, words: str, severity: Severity = "error") -> Finding:
    return Finding(path, line, 1, rule, f"{words}.", "gate", severity, end_line=line, remedy=remedy_of(rule))
