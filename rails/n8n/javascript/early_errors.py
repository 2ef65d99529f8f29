"""Errors that JavaScript has before it runs and the tolerant grammar does not see.

Anchor: ECMAScript's "early errors" (ECMA-262, 17), of them those that people and models write: an argument
left out, a name declared twice, ``await`` in a function that is not async, an assignment to ``a?.b``, a
regular expression that does not parse. A cheap look at the text decides whether the tree is searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Query, Tree

_NAMED_TWICE: Final = re.compile(r"\b(?:const|let|class)\s+([A-Za-z_$][\w$]*)")
_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_declaration", "function_expression", "method_definition", "generator_function"}
)
_FLAGS: Final = frozenset("dgimsuvy")
_MOST_PARENTS: Final = 300
#: Nodes of one kind that are looked at.
_MOST: Final = 2_000


class Early(NamedTuple):
    """An error: byte offsets into the code, and what is wrong there."""

    start: int
    end: int
    message: str


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
    import tree_sitter_javascript
    from tree_sitter import Language, Query

    return Query(Language(tree_sitter_javascript.language()), "\n".join(f"({kind}) @found" for kind in kinds))


def _left_out(node: Node) -> Early | None:
    """An empty place between commas, which only arrays may have."""
    before = ""
    for child in node.children:
        if child.type == "," and before in {",", "(", "{"}:
            return Early(child.start_byte, child.end_byte, "a value is missing before this comma")
        if child.type != "comment":
            before = child.type
    return None


def _optional_target(node: Node) -> Early | None:
    left = node.child_by_field_name("left")
    part = left
    for _step in range(_MOST_PARENTS):
        if part is None or part.type not in {"member_expression", "subscript_expression"}:
            return None
        if part.child_by_field_name("optional_chain") is not None and left is not None:
            return Early(left.start_byte, left.end_byte, 'nothing can be assigned to a place with "?."')
        part = part.child_by_field_name("object")
    return None


def _pattern(node: Node) -> Early | None:
    flags, pattern = node.child_by_field_name("flags"), node.child_by_field_name("pattern")
    letters = _text(flags)
    if set(letters) - _FLAGS or len(set(letters)) < len(letters):
        return Early(node.start_byte, node.end_byte, f"a regular expression has no flags {letters[:20]!r}")
    said = None if "v" in letters else _unbalanced(_text(pattern))
    return Early(node.start_byte, node.end_byte, f"the regular expression has {said}") if said else None


def _unbalanced(pattern: str) -> str | None:
    depth, in_class, escaped = 0, False, False
    for char in pattern:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                return "a ) without its ("
    return "a ( without its )" if depth else None


def _waits(node: Node) -> Early | None:
    here = node.parent
    for _step in range(_MOST_PARENTS):
        if here is None:
            return None
        if here.type in _FUNCTIONS:
            if any(child.type == "async" for child in here.children):
                return None
            return Early(node.start_byte, node.start_byte + 5, "await is in a function that is not async")
        if here.type == "class_static_block":
            return None
        here = here.parent
    return None


def _declared_twice(node: Node) -> Early | None:
    """A name that a block declares by ``let``, ``const`` or ``class`` and again in any way."""
    seen = dict.fromkeys(_parameters(node), True)
    for child in node.named_children:
        is_free = child.type in {"function_declaration", "generator_function_declaration", "variable_declaration"}
        for name in _declared(child):
            text = _text(name)
            if text in seen and not (is_free and seen[text]):
                return Early(name.start_byte, name.end_byte, f"{text[:40]!r} is declared a second time")
            seen[text] = is_free
    return None


def _parameters(block: Node) -> Iterator[str]:
    """Yield the plain parameters of the function that a block is the body of."""
    parent = block.parent
    if parent is None or parent.type not in _FUNCTIONS:
        return
    found = parent.child_by_field_name("parameters") or parent.child_by_field_name("parameter")
    for one in found.named_children if found is not None and found.type == "formal_parameters" else [found]:
        if one is not None and one.type == "identifier":
            yield _text(one)


def _declared(statement: Node) -> Iterator[Node]:
    if statement.type in {"lexical_declaration", "variable_declaration"}:
        names = [one.child_by_field_name("name") for one in statement.named_children]
    elif statement.type in {"class_declaration", "function_declaration", "generator_function_declaration"}:
        names = [statement.child_by_field_name("name")]
    else:
        return
    yield from (name for name in names if name is not None and name.type == "identifier")


def _text(node: Node | None) -> str:
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def _names_twice(code: str) -> bool:
    names = _NAMED_TWICE.findall(code)
    return bool(names) and (len(set(names)) < len(names) or "function" in code or "var " in code or "=>" in code)


_Judge = Callable[["Node"], Early | None]
_RULES: Final[tuple[tuple[Callable[[str], object], tuple[str, ...], _Judge], ...]] = (
    (re.compile(r"[(,{]\s*,").search, ("arguments", "object"), _left_out),
    (
        re.compile(r"\?\.[^;\n]*=").search,
        ("assignment_expression", "augmented_assignment_expression"),
        _optional_target,
    ),
    (re.compile(r"/.+/").search, ("regex",), _pattern),
    (re.compile(r"\bawait\b").search, ("await_expression",), _waits),
    (_names_twice, ("program", "statement_block"), _declared_twice),
)
