"""The tree never grows: syntax nodes a package, modules, and cases stay below a bound that only ever falls.

A line can be packed and a syntax node cannot, so nodes are what is bounded. A commit that makes a package smaller
lowers its row. Nothing here is ever raised: what comes in makes room first.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Syntax nodes of each package of ``rails/`` (``.``: its own modules), docstrings left out.
PACKAGES = {
    ".": 1_055,
    "agents": 9_487,
    "approval": 26_968,
    "batch": 13_787,
    "commands": 44_388,
    "config": 5_703,
    "core": 20_804,
    "data_formats": 11_257,
    "edits": 36_362,
    "gate": 55_409,
    "git": 4_259,
    "integrations": 18_958,
    "json_schema": 8_498,
    "log": 19_215,
    "models": 12_894,
    "n8n": 57_968,
    "parsing": 41_326,
    "processes": 1_629,
    "projections": 10_448,
    "render": 13_996,
    "review": 29_045,
    "sandbox": 16_748,
    "session": 45_998,
    "testing": 3_782,
    "tools": 27_185,
    "trust": 851,
}
MODULES = 542
TESTS = 550_934
CASES = 5_761
#: Modules of ``rails/`` with more than eight nodes a line of code: new ones breathe.
PACKED = 364

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def measured(path: Path) -> tuple[int, int]:
    """Return the syntax nodes of a module and its lines of code, both without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    docstrings = [node.body[0] for node in nodes if isinstance(node, DOCUMENTED) and ast.get_docstring(node)]
    ignored = {id(part) for docstring in docstrings for part in ast.walk(docstring)}
    kept = [node for node in nodes if id(node) not in ignored]
    return len(kept), len(lines_of(kept) - lines_of(docstrings))


def lines_of(nodes: list[ast.AST]) -> set[int]:
    placed = (node for node in nodes if hasattr(node, "lineno"))
    return {line for node in placed for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def package(path: Path) -> str:
    parts = path.relative_to(ROOT / "rails").parts
    return parts[0] if len(parts) > 1 else "."


@pytest.mark.parametrize("name", sorted({package(path) for path in modules("rails")}))
def test_a_package_never_grows(name: str) -> None:
    nodes = sum(measured(path)[0] for path in modules("rails") if package(path) == name)
    assert nodes <= PACKAGES[name], "make room in the same package first; the bound is not raised"


def test_there_are_never_more_modules() -> None:
    assert len(modules("rails")) <= MODULES


def test_the_tests_never_grow() -> None:
    assert sum(measured(path)[0] for path in modules("tests")) <= TESTS


def test_there_are_never_more_cases(request: pytest.FixtureRequest) -> None:
    assert len(request.session.items) <= CASES


def test_there_are_never_more_packed_modules() -> None:
    packed = [path for path in modules("rails") for nodes, lines in [measured(path)] if nodes > 8 * max(lines, 10)]
    assert len(packed) <= PACKED, [str(path.relative_to(ROOT)) for path in packed]
