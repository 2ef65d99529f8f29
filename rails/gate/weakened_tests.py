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

from rails.core.dataclass import dataclass, replace
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.verdict import Author, Finding
from rails.data_formats.python_code import parse_tree, statements
from rails.gate.baseline import split_lines

TEST_FILE: Final = lazy(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.pyw?$|(?:^|/)tests?/.*\.py$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)__tests__/.*\.[cm]?[jt]sx?$"
)
_SCRIPT_TEST: Final = lazy(r"\b(x|f)?(?:it|test|specify)((?:\.\w+)*)\s*(?:\([^()]*\)\s*)?\(\s*(['\"`])(.*?)\3")
_SCRIPT_ASSERTION: Final = lazy(r"^.*\b(?:expect|assert(?:\.\w+)?)\s*\(.*$", re.M)
_SCRIPT_SKIPS: Final = lazy(
    r"\b(?:it|test|specify|describe|context|suite)\.(?:skip|todo|failing|fails|only)\b|\b[xf](?:it|test|describe)\s*\("
)
_SKIPS: Final = frozenset({"skip", "xfail", "skipTest", "SkipTest", "expectedFailure"})
_CONDITIONAL: Final = frozenset({"skipif", "skipIf", "skipUnless", "importorskip"})
_MARK: Final = lazy(r"(?:pytest|unittest|mark|self|cls)\.")
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
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

#: A file of the change: its path, and its text before and after; empty where there is none.
Sides = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Test:
    line: int
    text: str
    asserts: tuple[str, ...]
    skips: int = 0
    conditional: int = 0


_Tests = Mapping[str, _Test]


def findings(project: Path, files: Iterable[tuple[str, bytes | None, bytes | None]], author: Author) -> list[Finding]:
    """Return what a change does to tests, and where code gives the very answers that tests expect."""
    sides = [(path, plain_text(old or b"") or "", plain_text(new or b"") or "") for path, old, new in files]
    tests = [one for one in sides if TEST_FILE.search(one[0])]
    code = [one for one in sides if not TEST_FILE.search(one[0])]
    old = {path: _tests(path, before) or {} for path, before, _ in tests}
    # What does not parse is a finding of its own, and takes no test away.
    new = {path: old[path] if (made := _tests(path, after)) is None else made for path, _, after in tests}
    found = [finding for path in old for finding in _weaker(path, old[path], new, code, author)]
    found += [
        _finding(path, test.line, "test-skipped", f"The new test {name} is skipped", "What never runs shows nothing.")
        for path, after in new.items()
        for name, test in after.items()
        if test.skips and name not in old[path]
    ]
    return found + list(_hard_coded(project, code, tests))


def _weaker(
    path: str, old: _Tests, after: Mapping[str, _Tests], code: Sequence[Sides], author: Author
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


def _asks_less(path: str, name: str, was: _Test, now: _Test, outputs: Sequence[str]) -> Iterator[Finding]:
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


def _exact(test: _Test) -> int:
    return sum(bool(_EXACT.search(one)) and not re.search(r"== (?:None|True|False)$", one) for one in test.asserts)


def _moved(path: str, name: str, was: _Test, old: _Tests, after: Mapping[str, _Tests]) -> _Test | None:
    """Return the test as it stands under another name or in another file; ``None`` where it is gone."""
    here = (test for other, test in after[path].items() if other not in old and test.asserts == was.asserts)
    elsewhere = (tests[name] for file, tests in after.items() if file != path and name in tests)
    return next(here, None) or next(elsewhere, None)


def _went_with_its_code(test: _Test, code: Sequence[Sides]) -> bool:
    """Whether what the test names was defined before the change and is defined nowhere after it."""
    pattern = r"\b(?:def|class|function|const|let|var)\s+(\w+)"
    before, after = ({name for side in code for name in re.findall(pattern, side[at])} for at in (1, 2))
    return bool((before - after) & set(re.findall(r"\w+", test.text)))


def _is_given(path: str, tests: _Tests, task: str) -> bool:
    name = path.rpartition("/")[2]
    names = (name, name.partition(".")[0], *(one.rpartition(".")[2] for one in tests))
    return any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", task) for one in names)


def _tests(path: str, text: str) -> _Tests | None:
    """Return the tests of a text by name, ``None`` where it does not parse.

    What a helper of the same file asserts counts where it is named.
    """
    if not path.endswith((".py", ".pyw")):
        return dict(_script_tests(text)) if text else {}
    try:
        found = dict(_python_functions(parse_tree(text), text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    tests = {name: test for name, test in found.items() if name.rpartition(".")[2].startswith("test")}
    helpers = {name.rpartition(".")[2]: test.asserts for name, test in found.items() if name not in tests}
    for name, test in tests.items():
        helped = (one for word in re.findall(r"\w+", test.text) for one in helpers.get(word, ()))
        tests[name] = replace(test, asserts=(*test.asserts, *helped))
    return tests


def _script_tests(text: str) -> Iterator[tuple[str, _Test]]:
    starts = list(_SCRIPT_TEST.finditer(text))
    ends = [*(found.start() for found in starts[1:]), len(text)][: len(starts)]
    yield "the file", _script_test(text[: starts[0].start()] if starts else text, 1)
    for found, end in zip(starts, ends, strict=True):
        yield found[4], _script_test(text[found.start() : end], text.count("\n", 0, found.start()) + 1)


def _script_test(body: str, line: int) -> _Test:
    asserts = tuple(one.strip() for one in _SCRIPT_ASSERTION.findall(body) if not one.lstrip().startswith("//"))
    return _Test(line, body, asserts, len(_SCRIPT_SKIPS.findall(body)))


def _python_functions(tree: ast.Module, text: str) -> Iterator[tuple[str, _Test]]:
    waiting: list[tuple[str, ast.stmt, tuple[int, int]]] = [("", one, (0, 0)) for one in reversed(tree.body)]
    outer = _skips(
        one for one in tree.body if not isinstance(one, (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))
    )
    while waiting:
        inside, node, around = waiting.pop()
        if isinstance(node, ast.ClassDef):
            marks = _skips([*node.decorator_list, *(one for one in node.body if isinstance(one, ast.Assign))])
            both = (around[0] + marks[0], around[1] + marks[1])
            waiting += [(f"{inside}{node.name}.", one, both) for one in reversed(node.body)]
        elif isinstance(node, _FUNCTIONS):
            own = _skips([node])
            asserts = (*_cases(node), *_asserted(_reached(node.body)))
            body = ast.get_source_segment(text, node) or ""
            skips, conditional = (own[at] + around[at] + outer[at] for at in (0, 1))
            yield f"{inside}{node.name}", _Test(node.lineno, body, asserts, skips, conditional)


def _skips(nodes: Iterable[ast.AST]) -> tuple[int, int]:
    inner = [one for node in nodes for one in ast.walk(node)]
    names = [one.attr for one in inner if isinstance(one, ast.Attribute) and _MARK.match(ast.unparse(one))]
    names += [one.func.id for one in inner if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    names += [one.id for one in inner if isinstance(one, ast.Name) and one.id == "expectedFailure"]
    return sum(name in _SKIPS for name in names), sum(name in _CONDITIONAL for name in names)


def _cases(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield each case that a test is given; one less is an assertion less."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) > 1:
            values = mark.args[1]
            yield from (ast.unparse(one) for one in values.elts) if isinstance(values, ast.List | ast.Tuple) else ()


def _reached(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what a body can come to: nothing after a return, under ``if False`` or where failures are caught."""
    for node in body:
        caught = isinstance(node, ast.Try) and any(_swallows(one) for one in node.handlers)
        never = isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        if not caught and not never:
            yield node
        if isinstance(node, ast.Return | ast.Raise):
            return


def _swallows(handler: ast.ExceptHandler) -> bool:
    kind = ast.unparse(handler.type) if handler.type else "Exception"
    return bool(re.search(r"\b(?:AssertionError|(?:Base)?Exception)\b", kind)) and not any(
        isinstance(one, ast.Raise | ast.Assert | ast.Call) for node in handler.body for one in ast.walk(node)
    )


def _asserted(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.Assert) and not _is_vacuous(one.test):
                yield f"assert {ast.unparse(one.test)}"
            elif isinstance(one, ast.Call):
                name = ast.unparse(one.func).rpartition(".")[2]
                is_true = name in ("assertTrue", "assert_") and bool(one.args) and _is_vacuous(one.args[0])
                if re.match(r"assert|raises$|warns$|fail$", name) and not is_true:
                    yield ast.unparse(one)


def _is_vacuous(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(_is_vacuous(one) for one in test.values)
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        return isinstance(test.ops[0], ast.Eq | ast.Is) and ast.dump(test.left) == ast.dump(test.comparators[0])
    return isinstance(test, ast.Constant) and bool(test.value)


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
    for function in (one for one in statements(tree) if isinstance(one, _FUNCTIONS)):
        for node in statements(function):
            match node:
                case ast.If(
                    test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant() | ast.Tuple() | ast.List() as key]),
                    body=[ast.Return(value=ast.Constant() | ast.List() | ast.Dict() | ast.Tuple() as value)],
                ):
                    found[function.name, ast.unparse(key).strip("()[]"), ast.unparse(value)] = node.lineno
    return found


def _all_tests(project: Path, changed: Sequence[Sides]) -> Iterator[_Test]:
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
        yield from (_tests(path, text) or {}).values()


def _finding(path: str, line: int, rule: str, words: str, remedy: str) -> Finding:
    return Finding(path, line, 1, rule, f"{words}.", "gate", end_line=line, remedy=remedy)
