"""Changes to the tests themselves: tests that go, are skipped or ask for less, and expectations fitted to the code.

A test that is only renamed, moved or added to is fine, and so is one that goes together with the code it tested.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.verdict import Author, Finding, Severity
from rails.data_formats.python_code import parse_tree, statements
from rails.gate.baseline import split_lines
from rails.gate.read_tests import FUNCTIONS, Test, Tests, names_of, tests_of

TEST_FILE: Final = lazy(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.pyw?$|(?:^|/)tests?/.*\.py$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)__tests__/.*\.[cm]?[jt]sx?$"
)
_LITERAL: Final = lazy(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|-?\b\d[\w.]*|\b(?:True|False|None|true|false|null)\b"
)
_EXACT: Final = lazy(
    r"==|\.assert(?:\w*Equals?|Is|DictEqual|ListEqual)\(|\.to(?:Be|Equal|StrictEqual)\(|deepEqual|strictEqual"
)
#: Lines of an output within which an old and a new value stand side by side as expected and received.
_SIDE_BY_SIDE: Final = 5
_BRANCH: Final = lazy(r"\bif\b[^\n]*==[^\n]*:\s*return\b")
_READ: Final = 200
#: Names in a conftest.py that decide which tests run, and how they end.
_DECIDES: Final = lazy(r"pytest_\w+|collect_ignore(?:_glob)?")

#: A file of the change: its path, and its text before and after; empty where there is none.
Sides = tuple[str, str, str]


def findings(project: Path, files: Iterable[tuple[str, bytes | None, bytes | None]], author: Author) -> list[Finding]:
    """Return what a change does to tests, and where code gives the very answers that tests expect."""
    sides = [(path, plain_text(old or b"") or "", plain_text(new or b"") or "") for path, old, new in files]
    tests = [one for one in sides if TEST_FILE.search(one[0])]
    code = [one for one in sides if not TEST_FILE.search(one[0])]
    old = {path: tests_of(path, before) or {} for path, before, _ in tests}
    # What does not parse is a finding of its own, and takes no test away.
    new = {path: old[path] if (made := tests_of(path, after)) is None else made for path, _, after in tests}
    found = [finding for path in old for finding in _weaker(path, old[path], new, code, author)]
    found += [
        _finding(path, test.line, "test-skipped", f"The new test {name} is skipped", "What never runs shows nothing.")
        for path, after in new.items()
        for name, test in after.items()
        if test.skips and name not in old[path]
    ]
    found += [finding for path, after in new.items() for finding in _vain(path, after, old[path])]
    found += [finding for one in tests if one[0].endswith("conftest.py") for finding in _decided(*one)]
    return found + list(_hard_coded(project, code, tests))


def _vain(path: str, after: Tests, old: Tests) -> Iterator[Finding]:
    """Yield each new test that asserts nothing and does nothing that could fail."""
    for name, test in after.items():
        if name not in old and not test.skips and not test.asserts and test.is_idle:
            words = f"The new test {one_line(name, 80)} asserts nothing"
            yield _finding(path, test.line, "test-asserts-nothing", words, "Assert what it is for.", mild=True)


def _decided(path: str, before: str, after: str) -> Iterator[Finding]:
    """Yield what a change does to the hooks and lists by which pytest chooses tests and judges them."""
    sides = []
    for text in (before, after):
        try:
            body = parse_tree(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        found = ((name, one) for one in body for name in names_of(one) if _DECIDES.fullmatch(name))
        sides.append({name: (ast.dump(one), one.lineno) for name, one in found})
    old, new = sides
    for name in sorted(old.keys() | new.keys()):
        if old.get(name, ("",))[0] != new.get(name, ("",))[0]:
            words = f"It changes which tests run, or how they end: {name}"
            line = new[name][1] if name in new else 1
            yield _finding(path, line, "gate-config-changed", words, "Say why, or leave it as it was.", mild=True)


def _weaker(
    path: str, old: Tests, after: Mapping[str, Tests], code: Sequence[Sides], author: Author
) -> Iterator[Finding]:
    changed = False
    for name, was in old.items():
        now = after[path].get(name) or _moved(path, name, was, old, after)
        if now is None:
            gone = f"The test {one_line(name, 80)} is taken away"
            if not _went_with_its_code(was, code):
                changed = True
                yield _finding(path, 1, "test-removed", gone, "Put it back, or ask the human to take it out.")
            continue
        weaker = list(_asks_less(path, name, was, now, author.outputs))
        changed = changed or bool(weaker) or was.asserts != now.asserts[: len(was.asserts)]
        yield from weaker
    if changed and author.given_tests_only and not _is_given(path, old, author.task):
        words = "This role changes only tests that its task names, and this file is none of them"
        yield _finding(
            path, 1, "test-not-given", words, "Leave the test as it was; say in words what is wrong with it."
        )


def _asks_less(path: str, name: str, was: Test, now: Test, outputs: Sequence[str]) -> Iterator[Finding]:
    shown, less = one_line(name, 80), len(was.asserts) - len(now.asserts)
    if now.skips + now.conditional > was.skips + was.conditional:
        yield _finding(path, now.line, "test-skipped", f"{shown} is skipped now", "Correct what it shows.")
    if less > 0:
        words = f"{shown} asserts less than before: {less} of {len(was.asserts)} gone"
        yield _finding(path, now.line, "assertion-removed", words, "Put them back, or ask the human.")
    elif _exact(now) < _exact(was):
        words = f"{shown} compares less exactly than before"
        yield _finding(path, now.line, "assertion-removed", words, "Compare with the exact value, as before.")
    for before, after in zip(was.asserts, now.asserts, strict=False):
        if before != after and _LITERAL.sub("…", before) == _LITERAL.sub("…", after):
            pairs = zip(_LITERAL.findall(before), _LITERAL.findall(after), strict=True)
            copied = [(a, b) for a, b in pairs if a != b and _stood_together(a, b, outputs)]
            for _, value in copied[:1]:
                words = f"{shown} expects {one_line(value, 40)} now, which is what the failing run printed"
                yield _finding(path, now.line, "expected-value-copied", words, "Correct the code, not the expectation.")


def _stood_together(old: str, new: str, outputs: Sequence[str]) -> bool:
    """Whether a run printed both values side by side, as expected and received."""
    wanted = [re.compile(rf"(?<![\w.]){re.escape(one.strip(chr(39) + chr(34) + '`'))}(?![\w.])") for one in (old, new)]
    for output in outputs:
        lines = split_lines(output)
        first = [number for number, line in enumerate(lines) if wanted[0].search(line)]
        for number in first[:_READ]:
            near = lines[max(0, number - _SIDE_BY_SIDE) : number + _SIDE_BY_SIDE]
            if any(wanted[1].search(line) for line in near):
                return True
    return False


def _exact(test: Test) -> int:
    vague = r"== (?:None|True|False)$|\bexpect\.any"
    return sum(bool(_EXACT.search(one)) and not re.search(vague, one) for one in test.asserts)


def _moved(path: str, name: str, was: Test, old: Tests, after: Mapping[str, Tests]) -> Test | None:
    """Return the test as it stands under another name or in another file; ``None`` where it is gone."""
    here = (test for other, test in after[path].items() if other not in old and test.asserts == was.asserts)
    elsewhere = (tests[name] for file, tests in after.items() if file != path and name in tests)
    return next(here, None) or next(elsewhere, None)


def _went_with_its_code(test: Test, code: Sequence[Sides]) -> bool:
    """Whether what the test names was defined before the change and is defined nowhere after it."""
    pattern = r"\b(?:def|class|function|const|let|var)\s+(\w+)"
    before, after = ({name for side in code for name in re.findall(pattern, side[at])} for at in (1, 2))
    return bool((before - after) & set(re.findall(r"\w+", test.text)))


def _is_given(path: str, tests: Tests, task: str) -> bool:
    name = path.rpartition("/")[2]
    names = (name, name.partition(".")[0], *(one.rpartition(".")[2] for one in tests))
    return any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", task) for one in names)


def _hard_coded(project: Path, code: Sequence[Sides], tests: Sequence[Sides]) -> Iterator[Finding]:
    """Yield where new code returns one literal for another, and a test asserts exactly that of the function."""
    asserted: list[str] | None = None
    for path, before, after in code:
        if not path.endswith(".py"):
            continue
        known = _answers(before)
        for (name, key, value), line in _answers(after).items():
            if (name, key, value) in known:
                continue
            if asserted is None:
                asserted = [one for test in _all_tests(project, tests) for one in test.asserts]
            wanted = (rf"\b{re.escape(name)}\b", *(rf"(?<![\w.]){re.escape(one)}(?![\w.])" for one in (key, value)))
            if any(all(re.search(one, text) for one in wanted) for text in asserted):
                words = (
                    f"{name} returns {one_line(value, 40)} for {one_line(key, 40)}, as a test expects it, word for word"
                )
                yield _finding(path, line, "hard-coded-answer", words, "Compute the answer for every input.")


def _answers(text: str) -> dict[tuple[str, str, str], int]:
    """Return function, input and output of each ``if name == literal: return literal``, with its line."""
    try:
        tree = parse_tree(text) if _BRANCH.search(text) else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for function in (one for one in statements(tree) if isinstance(one, FUNCTIONS)):
        for node in statements(function):
            match node:
                case ast.If(
                    test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant() | ast.Tuple() | ast.List() as key]),
                    body=[ast.Return(value=ast.Constant() | ast.List() | ast.Dict() | ast.Tuple() as value)],
                ):
                    found[function.name, ast.unparse(key).strip("()[]"), ast.unparse(value)] = node.lineno
    return found


def _all_tests(project: Path, changed: Sequence[Sides]) -> Iterator[Test]:
    """Yield the tests of the change and of the project, so many files of them."""
    texts = {path: after for path, _, after in changed}
    for folder, inner, files in os.walk(project):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name != "node_modules")
        names = (Path(folder, name).relative_to(project).as_posix() for name in sorted(files) if name.endswith(".py"))
        for name in (one for one in names if TEST_FILE.search(one) and one not in texts):
            if len(texts) >= _READ:
                inner.clear()
                break
            place = project / name
            is_plain = place.is_file() and not place.is_symlink() and place.stat().st_size < 1_000_000
            texts[name] = place.read_text("utf-8", "replace") if is_plain else ""
    for path, text in texts.items():
        yield from (tests_of(path, text) or {}).values()


def _finding(path: str, line: int, rule: str, words: str, remedy: str, *, mild: bool = False) -> Finding:
    severity: Severity = "warning" if mild else "error"
    return Finding(path, line, 1, rule, f"{words}.", "gate", severity, end_line=line, remedy=remedy)
