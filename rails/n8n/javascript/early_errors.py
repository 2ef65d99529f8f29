"""Errors that JavaScript has before it runs and the tolerant grammar does not see.

Anchor: ECMAScript's "early errors" (ECMA-262, 17), of them those that people and models write: an argument
left out, a name declared twice, ``await`` in a function that is not async, an assignment to ``a?.b``,
``a ?? b || c``. A cheap look at the text decides whether the tree is searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from rails.core.dataclass import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree

_NAMED_TWICE: Final = re.compile(r"\b(?:const|let|class)\s+([A-Za-z_$][\w$]*)")
FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_declaration", "function_expression", "method_definition", "generator_function"}
)
_ASSIGNMENTS: Final = ("assignment_expression", "augmented_assignment_expression")
_MIXED: Final = frozenset({"??", "||", "&&"})
_MOST_PARENTS: Final = 300
#: Nodes of one kind that are looked at.
_MOST: Final = 2_000


class Early(NamedTuple):
    """An error: byte offsets into the code, and what is wrong there."""

    start: int
    end: int
    message: str


def error_at(node: Node, message: str) -> Early:
    """Return the error that a part of the code is."""
    return Early(node.start_byte, node.end_byte, message)


def errors(code: str, tree: Tree) -> Iterator[Early]:
    """Yield the early errors of code that parses. At its top level ``await`` may stand, as n8n allows it."""
    for applies, kinds, judge in _RULES:
        if applies(code):
            for node in _nodes(tree, kinds):
                found = judge(node)
                if found is not None:
                    yield found


def _nodes(tree: Tree, kinds: tuple[str, ...]) -> list[Node]:
    from tree_sitter import QueryCursor

    return QueryCursor(_query(kinds)).captures(tree.root_node).get("found", [])[:_MOST]


@cache
def _query(kinds: tuple[str, ...]) -> Query:
    from tree_sitter import Query

    return Query(grammar(), "\n".join(f"({kind}) @found" for kind in kinds))


@cache
def grammar() -> Language:
    """Return the grammar of JavaScript. Raises ImportError where it is not installed."""
    import tree_sitter_javascript
    from tree_sitter import Language

    return Language(tree_sitter_javascript.language())


def _left_out(node: Node) -> Early | None:
    """An empty place between commas, which only arrays may have."""
    before = ""
    for child in node.children:
        if child.type == "," and before in {",", "(", "{"}:
            return error_at(child, "a value is missing before this comma")
        if child.type != "comment":
            before = child.type
    return None


def _optional_target(node: Node) -> Early | None:
    left = node.child_by_field_name("left")
    part = inside_parentheses(left)
    for _step in range(_MOST_PARENTS):
        if part is None or part.type not in {"member_expression", "subscript_expression"}:
            return None
        if part.child_by_field_name("optional_chain") is not None and left is not None:
            return error_at(left, 'nothing can be assigned to a place with "?."')
        part = part.child_by_field_name("object")
    return None


def _mixed(node: Node) -> Early | None:
    """Return the error of ``??`` beside ``||`` or ``&&`` without parentheses."""
    operator = _operator(node)
    for side in (node.child_by_field_name("left"), node.child_by_field_name("right")):
        other = _operator(side)
        if {operator, other} <= _MIXED and "??" in (operator, other) and other != operator:
            return error_at(node, f"{operator} and {other} need parentheses between them")
    return None


def _operator(node: Node | None) -> str:
    if node is None or node.type != "binary_expression":
        return ""
    return text_of(node.child_by_field_name("operator"))


def inside_parentheses(node: Node | None) -> Node | None:
    """Return what stands in the parentheses that ``node`` is, or ``node``."""
    for _step in range(_MOST_PARENTS):
        if node is None or node.type != "parenthesized_expression" or not node.named_children:
            return node
        node = next((child for child in node.named_children if child.type != "comment"), node.named_children[0])
    return node


def _nearest(node: Node, kinds: Collection[str]) -> Node | None:
    """Return the nearest of those parts of one of ``kinds`` that ``node`` is in."""
    here = node.parent
    for _step in range(_MOST_PARENTS):
        if here is None or here.type in kinds:
            return here
        here = here.parent
    return None


def _waits(node: Node) -> Early | None:
    around = _nearest(node, FUNCTIONS | {"class_static_block"})
    if around is None or around.type not in FUNCTIONS or any(child.type == "async" for child in around.children):
        return None
    return Early(node.start_byte, node.start_byte + 5, "await is in a function that is not async")


def outer_await(code: str, tree: Tree) -> Iterator[Early]:
    """Yield the errors of ``await`` outside of all functions, which n8n allows in a Code node only."""
    for node in _nodes(tree, ("await_expression",)) if "await" in code else ():
        if _nearest(node, FUNCTIONS) is None:
            yield error_at(node, "await is in a function that is not async")


def _declared_twice(node: Node) -> Early | None:
    """A name that a block declares by ``let``, ``const`` or ``class`` and again in any way."""
    seen = dict.fromkeys(_parameters(node), True)
    for child in node.named_children:
        is_free = child.type in {"function_declaration", "generator_function_declaration", "variable_declaration"}
        for name in _declared(child):
            text = text_of(name)
            if text in seen and not (is_free and seen[text]):
                return error_at(name, f"{text[:40]!r} is declared a second time")
            seen[text] = is_free
    return None


def _parameters(block: Node) -> Iterator[str]:
    """Yield the plain parameters of the function that a block is the body of."""
    parent = block.parent
    if parent is None or parent.type not in FUNCTIONS:
        return
    found = parent.child_by_field_name("parameters") or parent.child_by_field_name("parameter")
    for one in found.named_children if found is not None and found.type == "formal_parameters" else [found]:
        if one is not None and one.type == "identifier":
            yield text_of(one)


def _declared(statement: Node) -> Iterator[Node]:
    if statement.type in {"lexical_declaration", "variable_declaration"}:
        names = [one.child_by_field_name("name") for one in statement.named_children]
    elif statement.type in {"class_declaration", "function_declaration", "generator_function_declaration"}:
        names = [statement.child_by_field_name("name")]
    else:
        return
    yield from (name for name in names if name is not None and name.type == "identifier")


def text_of(node: Node | None) -> str:
    """Return the code of a part, empty where there is none."""
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def _names_twice(code: str) -> bool:
    names = _NAMED_TWICE.findall(code)
    return bool(names) and (len(set(names)) < len(names) or "function" in code or "var " in code or "=>" in code)


_Judge = Callable[["Node"], Early | None]
_RULES: Final[tuple[tuple[Callable[[str], object], tuple[str, ...], _Judge], ...]] = (
    (re.compile(r"[(,{]\s*,").search, ("arguments", "object"), _left_out),
    (re.compile(r"\?\.[^;\n]*=").search, _ASSIGNMENTS, _optional_target),
    (re.compile(r"\?\?").search, ("binary_expression",), _mixed),
    (re.compile(r"\bawait\b").search, ("await_expression",), _waits),
    (_names_twice, ("program", "statement_block"), _declared_twice),
)
