"""Errors that JavaScript has before it runs and the tolerant grammar misses.

Anchor: ECMA-262, 17, "early errors", those that people and models make: a missing argument, a name declared twice,
``await`` outside async, ``a?.b = 1``, ``a ?? b || c``, ``1++``, ``-1 ** 2``. ``forms.json`` has those of a grammar
query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree

_NAMED_TWICE: Final = re.compile(r"\b(?:const|let|class)\s+([A-Za-z_$][\w$]*)")
FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_declaration", "function_expression", "method_definition", "generator_function"}
)
#: Forms of the grammar that are refused, with what is wrong: in all JavaScript, and in expressions of n8n.
_FORMS: Final = json.loads(Path(__file__).with_name("forms.json").read_text("utf-8"))
_MOST_PARENTS: Final = 300
#: Nodes of one kind that are looked at.
_MOST: Final = 2_000


class Early(NamedTuple):
    """An error: byte offsets into the code, message."""

    start: int
    end: int
    message: str


def error_at(node: Node, message: str) -> Early:
    """Return an error at a part of the code."""
    return Early(node.start_byte, node.end_byte, message)


def errors(code: str, tree: Tree) -> Iterator[Early]:
    """Yield the early errors of code that parses; top-level ``await`` is allowed."""
    yield from forms(tree, "everywhere")
    found = map(_waits, _nodes(tree, "(await_expression) @found")) if "await" in code else ()
    blocks = _nodes(tree, "[(program) (statement_block)] @found") if _names_twice(code) else ()
    yield from (one for one in (*found, *map(_declared_twice, blocks)) if one is not None)


def forms(tree: Tree, where: str) -> Iterator[Early]:
    """Yield the forms of ``forms.json`` refused "everywhere", or in an "expression"."""
    found = _captured(tree, _forms_query(where))
    for number, (_, message) in enumerate(_FORMS[where]):
        yield from (error_at(node, message) for node in found.get(f"found{number}", ()))


def _nodes(tree: Tree, query: str) -> list[Node]:
    return _captured(tree, query).get("found", [])


def _captured(tree: Tree, query: str) -> dict[str, list[Node]]:
    from tree_sitter import QueryCursor

    return {name: nodes[:_MOST] for name, nodes in QueryCursor(_query(query)).captures(tree.root_node).items()}


@cache
def _query(query: str) -> Query:
    from tree_sitter import Query

    return Query(grammar(), query)


@cache
def _forms_query(where: str) -> str:
    return "\n".join(form.replace("@found", f"@found{number}") for number, (form, _) in enumerate(_FORMS[where]))


@cache
def grammar() -> Language:
    """Return JavaScript's grammar. Raises ImportError."""
    import tree_sitter_javascript
    from tree_sitter import Language

    return Language(tree_sitter_javascript.language())


def inside_parentheses(node: Node | None) -> Node | None:
    """Return ``node`` without its parentheses."""
    for _step in range(_MOST_PARENTS):
        if node is None or node.type != "parenthesized_expression" or not node.named_children:
            return node
        node = next((child for child in node.named_children if child.type != "comment"), node.named_children[0])
    return node


def _nearest(node: Node, kinds: Collection[str]) -> Node | None:
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
    """Yield each ``await`` outside functions: n8n allows it in Code nodes."""
    for node in _nodes(tree, "(await_expression) @found") if "await" in code else ():
        if _nearest(node, FUNCTIONS) is None:
            yield error_at(node, "await is in a function that is not async")


def _declared_twice(node: Node) -> Early | None:
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
    """Return the code of a part, or ""."""
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def _names_twice(code: str) -> bool:
    names = _NAMED_TWICE.findall(code)
    return bool(names) and (len(set(names)) < len(names) or "function" in code or "var " in code or "=>" in code)
