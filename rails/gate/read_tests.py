"""The tests that a text holds, and what each of them asserts: of Python by its syntax, of scripts by their words.

Only what a test can come to counts, and only where its failure is one of the test: nothing behind a return, in a loop
over nothing, in a function that nobody calls, or between what catches it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from rails.core.dataclass import dataclass, replace
from rails.core.lazy_pattern import lazy
from rails.data_formats.python_code import parse_tree

_SCRIPT_TEST: Final = lazy(r"\b(x|f)?(?:it|test|specify)((?:\.\w+)*)\s*(?:\([^()]*\)\s*)?\(\s*(['\"`])(.*?)\3")
_SCRIPT_ASSERTION: Final = lazy(r"^.*\b(?:expect|assert(?:\.\w+)?)\s*\(.*$", re.M)
_SCRIPT_SKIPS: Final = lazy(
    r"\b(?:it|test|specify|describe|context|suite)\.(?:skip|todo|failing|fails|only)\b|\b[xf](?:it|test|describe)\s*\("
)
_SKIPS: Final = frozenset({"skip", "xfail", "skipTest", "SkipTest", "expectedFailure"})
_CONDITIONAL: Final = frozenset({"skipif", "skipIf", "skipUnless", "importorskip"})
_MARK: Final = lazy(r"(?:pytest|unittest|mark|self|cls)\.")
#: Calls behind which a test does not go on.
_ENDS: Final = frozenset({"exit", "_exit", "quit", "abort"})
#: What a test may fail at without asserting.
_WORKS = (ast.Call, ast.With, ast.AsyncWith, ast.Await, ast.Import, ast.ImportFrom, ast.Subscript, ast.Attribute)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Test:
    """One test: where it begins, its text, what it asserts, and how often it is skipped, always or on a condition."""

    line: int
    text: str
    asserts: tuple[str, ...]
    skips: int = 0
    conditional: int = 0
    is_fixture: bool = False
    is_idle: bool = False


Tests = Mapping[str, Test]


def tests_of(path: str, text: str) -> Tests | None:
    """Return the tests of a text by name, ``None`` where it does not parse.

    What a helper of the same file asserts counts where it is named.
    """
    if not path.endswith((".py", ".pyw")):
        return dict(_script_tests(text)) if text else {}
    try:
        found = dict(_python_functions(parse_tree(text), text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    named = (name for name, one in found.items() if not one.is_fixture)
    tests = {name: found[name] for name in named if name.rpartition(".")[2].startswith("test")}
    helpers = {name.rpartition(".")[2]: test.asserts for name, test in found.items() if name not in tests}
    for name, test in tests.items():
        helped = (one for word in re.findall(r"\w+", test.text) for one in helpers.get(word, ()))
        tests[name] = replace(test, asserts=(*test.asserts, *helped))
    return tests


def _script_tests(text: str) -> Iterator[tuple[str, Test]]:
    starts = list(_SCRIPT_TEST.finditer(text))
    ends = [*(found.start() for found in starts[1:]), len(text)][: len(starts)]
    yield "the file", _script_test(text[: starts[0].start()] if starts else text, 1)
    for found, end in zip(starts, ends, strict=True):
        yield found[4], _script_test(text[found.start() : end], text.count("\n", 0, found.start()) + 1)


def _script_test(body: str, line: int) -> Test:
    code = re.sub(r"^\s*(?://.*|/\*.*?\*/)", "", body, flags=re.M | re.S) if "/" in body else body
    asserts = tuple(one.strip() for one in _SCRIPT_ASSERTION.findall(code))
    return Test(line, body, asserts, len(_SCRIPT_SKIPS.findall(body)))


def _python_functions(tree: ast.Module, text: str) -> Iterator[tuple[str, Test]]:
    levels: list[tuple[str, list[ast.stmt], tuple[int, int]]] = [("", tree.body, (0, 0))]
    while levels:
        inside, body, around = levels.pop()
        plain = [one for one in body if not isinstance(one, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))]
        marks = _skips(one for one in plain if not inside or isinstance(one, ast.Assign))
        undone = Counter(name for one in plain for name in names_of(one))
        left = sum(not inside and _leaves(one) for one in plain)
        around = around[0] + marks[0] + undone["__test__"] + left, around[1] + marks[1]
        for node in body:
            own = _skips(node.decorator_list) if isinstance(node, ast.ClassDef) else _skips([node])
            skips, conditional = around[0] + own[0], around[1] + own[1]
            if isinstance(node, ast.ClassDef):
                levels.append((f"{inside}{node.name}.", node.body, (skips + undone[node.name], conditional)))
            elif isinstance(node, FUNCTIONS):
                reached = [*_reached(node)]
                yield (
                    f"{inside}{node.name}",
                    Test(
                        node.lineno,
                        ast.get_source_segment(text, node) or "",
                        (*_cases(node), *_asserted(reached)),
                        skips + undone[node.name],
                        conditional,
                        is_fixture=any("fixture" in ast.unparse(one) for one in node.decorator_list),
                        is_idle=not any(isinstance(one, _WORKS) for one in reached),
                    ),
                )


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


def _reached(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Yield every node that a function can come to, and whose failure is one of the function."""
    used = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
    waiting = [*_live(function.body, used)][::-1]
    while waiting:
        yield (node := waiting.pop())
        inner = [value if isinstance(value, list) else [value] for _, value in ast.iter_fields(node)]
        waiting += [one for some in inner for one in _live(some, used)][::-1]


def _live(nodes: Iterable[object], used: Collection[str]) -> Iterator[ast.AST]:
    """Yield those of ``nodes`` that are reached: none behind what ends a body."""
    for node in nodes:
        if isinstance(node, ast.AST):
            if not _is_vain(node, used):
                yield node
            if _leaves(node) or isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
                return


def _leaves(node: ast.AST) -> bool:
    """Whether a statement ends the program."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in _ENDS


def _is_vain(node: ast.AST, used: Collection[str]) -> bool:
    """Whether what a statement holds never runs, or fails without anybody knowing."""
    match node:
        case ast.Try(handlers=handlers):
            return any(_swallows(one) for one in handlers)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(
                re.match(r"(?:\w+\.)?suppress\(.*\b(?:AssertionError|(?:Base)?Exception)\b", ast.unparse(one))
                for one in items
            )
        case ast.If(test=ast.Constant(value=value)) | ast.While(test=ast.Constant(value=value)):
            return not value
        case ast.If(test=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "TYPE_CHECKING"
        case ast.For(iter=ast.Tuple(elts=[]) | ast.List(elts=[])):
            return True
        case ast.FunctionDef(name=name, decorator_list=[]) | ast.AsyncFunctionDef(name=name, decorator_list=[]):
            return name not in used
    return False


def _swallows(handler: ast.ExceptHandler) -> bool:
    kind = ast.unparse(handler.type) if handler.type else "Exception"
    return bool(re.search(r"\b(?:AssertionError|(?:Base)?Exception)\b", kind)) and not any(
        isinstance(one, ast.Raise | ast.Assert | ast.Call) for node in handler.body for one in ast.walk(node)
    )


def _asserted(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for one in nodes:
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


def names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module or class gives to something, or takes away."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [getattr(node, "target", None)]
    yield from (re.split(r"\W", ast.unparse(one))[0] for one in targets if one is not None)
