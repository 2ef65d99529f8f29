"""Weakened tests: removed, skipped or asserting less; and code with hard-coded answers.

Renaming, moving, and removal with the tested code are fine. Python is read by syntax tree; JavaScript is counted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.verdict import Author, Finding
from rails.data_formats.python_code import parse_tree
from rails.data_formats.source import language_of, symbols
from rails.gate.support.advice import remedy_of
from rails.gate.support.config_files import read_config_file

TEST_FILE: Final = lazy(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.pyw?$|^(?>(?:.*?/)?tests?/).*\.py$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|^(?>(?:.*?/)?__tests__/).*\.[cm]?[jt]sx?$"
)
_SKIPS: Final = lazy(
    r"(?:pytest|unittest|mark|self|cls)\.(?:skip\w*|xfail|importorskip|SkipTest|expectedFailure)\b"
    r"|^(?:skip\w*|xfail|SkipTest|importorskip)\($|\b__test__$"
)
_CONDITIONAL: Final = re.compile(r"skip(?:[iI]f|Unless)\(?$|importorskip\(?$")
_ASSERTS: Final = re.compile(r"(?:\w+\.)*(?:assert\w*|raises|warns|fail)")
#: Of a script: what each rule counts, the words for more or fewer of it, and whether more or fewer are wrong.
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
_DEFINED: Final = re.compile(r"\b(?:def|class)\s+(\w+)")
#: Test files that are read to see which answers they expect.
_FILES: Final = 200
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_PYTHON: Final = (".py", ".pyw")
_NOT_GIVEN: Final = "This role changes only tests that its task names, and this file is none of them"

#: A file of the change: its path, and its text before and after; empty where there is none.
Sides = tuple[str, str, str]


class Test(Struct, frozen=True):
    """A test or a helper: its first line, the names in it, its assertions and its skips."""

    line: int
    names: frozenset[str]
    asserts: tuple[str, ...]
    skips: tuple[str, ...]


Tests = Mapping[str, Test]


def findings(project: Path, files: Iterable[tuple[str, bytes | None, bytes | None]], author: Author) -> list[Finding]:
    """Return weakened tests, and code that hard-codes expected answers."""
    sides = [(path, plain_text(old or b"") or "", plain_text(new or b"") or "") for path, old, new in files]
    tests = [one for one in sides if TEST_FILE.search(one[0])]
    code = [one for one in sides if one not in tests]
    scripts = [one for one in tests if not one[0].endswith(_PYTHON)]
    python = [one for one in tests if one not in scripts]
    return [*_scripts(scripts), *_python(python, code, author), *_hard_coded(project, code, tests)]


def _python(sides: Sequence[Sides], code: Sequence[Sides], author: Author) -> Iterator[Finding]:
    old = {path: _tests_of(before) or {} for path, before, _ in sides}
    # What does not parse is a finding of its own, and takes no test away.
    new = {path: old[path] if (made := _tests_of(after)) is None else made for path, _, after in sides}
    was, now = (set(_DEFINED.findall("\n".join(texts[side] for texts in code))) for side in (1, 2))
    for path, known in old.items():
        weaker = [*_weaker(path, known, new, was - now)]
        yield from weaker
        if author.given_tests_only and (weaker or not _holds(known, new[path])) and not _is_given(path, known, author):
            yield _finding(path, 1, "test-not-given", _NOT_GIVEN)


def _weaker(path: str, old: Tests, after: Mapping[str, Tests], gone: set[str]) -> Iterator[Finding]:
    """Yield what shows less; ``gone`` is the code that went, and its tests may."""
    for name, was in old.items():
        now = after[path].get(name) or _moved(path, name, old, after)
        shown = one_line(name, 80)
        if now is None:
            if not gone & was.names:
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


def _holds(old: Tests, new: Tests) -> bool:
    """Return whether each test asserts at least what it did, in the same words."""
    return all(name in new and new[name].asserts[: len(was.asserts)] == was.asserts for name, was in old.items())


def _moved(path: str, name: str, old: Tests, after: Mapping[str, Tests]) -> Test | None:
    """Return a removed test under its new name, or as it is in another file."""
    for other, test in after[path].items():
        if other not in old and test.asserts == old[name].asserts:
            return test
    return next((tests[name] for tests in after.values() if name in tests), None)


def _is_given(path: str, tests: Tests, author: Author) -> bool:
    names = {path.rpartition("/")[2].partition(".")[0], *map(_last, tests)}
    return not names.isdisjoint(re.findall(r"\w+", author.task) + re.findall(r"[\w-]+", author.task))


def _tests_of(text: str) -> Tests | None:
    """Return the tests by name, or None if unparsable. Named helpers' assertions count."""
    try:
        found = dict(_functions(parse_tree(text), "", ()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    tests = {name: one for name, one in found.items() if _last(name).startswith("test")}
    helpers = {_last(name): one.asserts for name, one in found.items() if name not in tests}
    for name, test in tests.items():
        helped = [helpers[word] for word in sorted(test.names & helpers.keys())]
        tests[name] = replace(test, asserts=(*test.asserts, *chain.from_iterable(helped)))
    return tests


def _functions(node: ast.Module | ast.ClassDef, inside: str, skips: tuple[str, ...]) -> Iterator[tuple[str, Test]]:
    skips += _skips(one for one in node.body if not isinstance(one, (*_FUNCTIONS, ast.ClassDef)))
    for one in node.body:
        if isinstance(one, ast.ClassDef):
            yield from _functions(one, f"{inside}{one.name}.", skips + _skips(one.decorator_list))
        elif isinstance(one, _FUNCTIONS):
            names = frozenset(getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(one))
            asserts = (*_cases(one), *_asserted(one))
            yield f"{inside}{one.name}", Test(one.lineno, names, asserts, skips + _skips([one]))


def _skips(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    parts = [one for node in nodes for one in ast.walk(node)]
    names = [ast.unparse(one) for one in parts if isinstance(one, ast.Attribute | ast.Name)]
    called = [f"{one.func.id}(" for one in parts if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    return tuple(filter(_SKIPS.search, (*names, *called)))


def _cases(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) > 1:
            yield from map(ast.unparse, getattr(mark.args[1], "elts", ()))


def _asserted(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assert) and not _is_vacuous(node.test):
        yield ast.unparse(node.test)
    if isinstance(node, ast.Call) and _ASSERTS.fullmatch(ast.unparse(node.func)):
        yield from () if any(map(_is_vacuous, node.args[:1])) else [ast.unparse(node)]
    for _, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _asserted(child)
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
        for path, *texts in sides:
            was, now = (len(pattern.findall(_BLOCK.sub("", text))) for text in texts)
            grown[path] = (now - was) * sign
        if sum(grown.values()) > 0:
            path = max(grown, key=grown.__getitem__)
            yield _finding(path, 1, rule, f"{grown[path]} {words}")
            return


def _hard_coded(project: Path, code: Sequence[Sides], tests: Sequence[Sides]) -> Iterator[Finding]:
    for path, before, after in code:
        branches = [one for one in _BRANCH.finditer(after) if one[0] not in before and path.endswith(".py")]
        expected = _expected(project, tests) if branches else []
        for branch in branches:
            key, value = (one.strip().strip("()[]") for one in branch.groups())
            for name in _FUNCTION.findall(after[: branch.start()])[-1:]:
                if any(name in line and key in line and value in line for line in expected):
                    words = f"{name} returns {one_line(value, 40)} for {one_line(key, 40)}, as a test expects it"
                    line = after.count("\n", 0, branch.start()) + 1
                    yield _finding(path, line, "hard-coded-answer", words)


def _expected(project: Path, changed: Sequence[Sides]) -> list[str]:
    places = islice(chain(project.rglob("test_*.py"), project.rglob("*_test.py")), _FILES)
    read = (read_config_file(place).decode("utf-8", "replace") for place in places)
    return [
        line for text in (*(after for _, _, after in changed), *read) for line in text.splitlines() if "assert" in line
    ]


def _finding(path: str, line: int, rule: str, words: str) -> Finding:
    return Finding(path, line, 1, rule, f"{words}.", "gate", end_line=line, remedy=remedy_of(rule))


_REMEDY: Final = "Write the whole file, with everything in it that is to stay."


def dropped_definitions(files: Sequence[tuple[str, bytes | None, bytes | None]], author: Author) -> Iterator[Finding]:
    """Yield a finding for each file that its author wrote anew without a definition that the task does not name.

    What begins with an underscore may go, and what is new in a place of the change. Tests have their own rule.
    """
    if not author.rewritten:
        return
    sides = {path: (_names(path, old), _names(path, new)) for path, old, new in files}
    may_go = {_last(name) for was, now in sides.values() for name in now if name not in was}
    may_go.update(re.findall(r"\w+", author.task))
    for path, (was, now) in sides.items():
        if path not in author.rewritten or not now or TEST_FILE.search(path):
            continue
        lost = [name for name in was if name not in now and name.rpartition(".")[0] in ("", *now)]
        gone = [name for name in lost if _last(name) not in may_go and not _last(name).startswith("_")]
        if gone:
            words = f"It takes away {', '.join(gone)}, which nobody asked for."
            yield Finding(path, 1, 1, "definition-dropped", words, "gate", remedy=_REMEDY)


def _names(path: str, data: bytes | None) -> list[str]:
    text = plain_text(data or b"") or ""
    return [one.name for one in symbols(text, language_of(path))]


def _last(name: str) -> str:
    return name.rpartition(".")[2]
