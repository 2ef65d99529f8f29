"""What the code of a Code node gives back, as far as it is written out: n8n takes items, or one item.

Anchor: n8n-nodes-base 2.41, ``Code/result-validation``. A value that is computed is not judged.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from rails.data_formats.python_code import parse_tree
from rails.n8n.javascript import syntax
from rails.n8n.javascript.early_errors import FUNCTIONS, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_ITEM_KEYS: Final = frozenset({"json", "binary", "pairedItem", "error", "index"})
#: A value that is computed: of it nothing is known.
_UNKNOWN: Final = object()
_SCOPES: Final = FUNCTIONS | {"class_body", "generator_function_declaration"}
_PLAIN: Final = {
    "string": "text", "template_string": "text", "number": 0, "true": 0, "false": 0, "null": None,
    "arrow_function": 0, "function_expression": 0, "await_expression": _UNKNOWN,
}  # fmt: skip
#: Functions that give back a text, and those that give back a list, by the end of their name.
_TEXTS: Final = ("JSON.stringify", "String", ".join", ".toString", ".toISOString")
_LISTS: Final = ("$input.all", ".map", ".filter")
_MOST: Final = 20_000


#: What is given back, its character offsets, and whether every run that ends well comes to it.
_Returned: TypeAlias = "tuple[Any, int, int, bool]"


class WrongReturn(NamedTuple):
    """A return that n8n refuses: character offsets into the code, what is wrong, and whether every run comes to it."""

    start: int
    end: int
    said: str
    is_sure: bool


def wrong_returns(code: str, language: str, *, each: bool) -> Iterator[WrongReturn]:
    """Yield the returns that n8n refuses. ``each`` is whether the code runs once for each item."""
    found = _javascript(code) if language == "javaScript" else _python(code)
    for value, start, end, is_sure in found:
        said = _fault(value, each=each)
        if said:
            yield WrongReturn(start, end, said, is_sure)


def _fault(value: Any, *, each: bool) -> str:  # noqa: ANN401 - any value
    if isinstance(value, list) and each:
        return "a list is given back, and in this mode n8n takes one item"
    if isinstance(value, str | int):
        return "what is given back is no object and no list, and n8n takes items"
    items = value if isinstance(value, list) else [value]
    if isinstance(value, list) and any(item is None or isinstance(item, str | int | list) for item in items):
        return "the list holds what is no object, and n8n takes items"
    objects = [item for item in items if isinstance(item, dict)]
    for item in objects:
        if isinstance(item.get("json"), str | int | list):
            return "`json` of an item must be an object"
    if each or isinstance(value, list):
        keyed = any(_ITEM_KEYS & item.keys() for item in objects)
        extra = [key for item in objects for key in item if keyed and key not in _ITEM_KEYS]
        if extra:
            return f"`{extra[0]}` is beside `json`; n8n expects it inside"
    return ""


def _javascript(code: str) -> Iterator[_Returned]:
    parsed = syntax.parse_javascript(code)
    if parsed is None:
        return
    root = parsed.tree.root_node
    constants = dict(_constants(root))
    todo = [root]
    for _ in range(_MOST):
        if not todo:
            return
        node = todo.pop()
        if node.type == "return_statement":
            values = [child for child in node.named_children if child.type != "comment"]
            data = code.encode()
            start, end = (len(data[:offset].decode(errors="ignore")) for offset in (node.start_byte, node.end_byte))
            value = _shape(values[0], dict(constants)) if values else 0
            is_written = not values or values[0].type not in ("call_expression", "identifier")
            yield value, start, end, is_written and node.parent == root
        elif node.type not in _SCOPES:
            todo.extend(reversed(node.named_children))


def _constants(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield the names that the top level declares by ``const``, with their values."""
    for statement in root.named_children:
        is_constant = statement.type == "lexical_declaration" and text_of(statement).startswith("const")
        for one in statement.named_children if is_constant else ():
            value = one.child_by_field_name("value")
            if value is not None:
                yield text_of(one.child_by_field_name("name")), value


def _shape(node: Node, constants: dict[str, Node]) -> Any:  # noqa: ANN401
    """Return what a value is as far as it is written out. Each of the ``constants`` is looked up once."""
    children = [child for child in node.named_children if child.type != "comment"]
    if node.type == "undefined" or (node.type == "member_expression" and text_of(node).endswith(".length")):
        return 0
    if node.type == "identifier":
        value = constants.pop(text_of(node), None)
        return _UNKNOWN if value is None else _shape(value, constants)
    if node.type == "call_expression":
        return _called(node, constants)
    if node.type in _PLAIN:
        return _PLAIN[node.type]
    if node.type == "parenthesized_expression" and len(children) == 1:
        return _shape(children[0], constants)
    if node.type == "array":
        return [_shape(child, constants) for child in children]
    if node.type != "object" or any(child.type == "spread_element" for child in children):
        return _UNKNOWN
    made: dict[str, Any] = {}
    for child in children:
        key = child.child_by_field_name("key") or child.child_by_field_name("name") or child
        value = child.child_by_field_name("value")
        made[text_of(key).strip("'\"")] = _shape(value, constants) if value is not None else _UNKNOWN
    return made if not any(key.startswith("[") for key in made) else _UNKNOWN


def _called(call: Node, constants: dict[str, Node]) -> Any:  # noqa: ANN401
    """Return what a call gives back: a text, or a list of what an arrow function makes."""
    name, given = text_of(call.child_by_field_name("function")), call.child_by_field_name("arguments")
    if name.endswith(_TEXTS):
        return "text"
    if not name.endswith(_LISTS):
        return _UNKNOWN
    maker = given.named_children[0] if name.endswith(".map") and given and given.named_children else None
    body = maker.child_by_field_name("body") if maker and maker.type == "arrow_function" else None
    return [_UNKNOWN if body is None or body.type == "statement_block" else _shape(body, constants)]


def _python(code: str) -> Iterator[_Returned]:
    tree = _tree(code)
    todo: list[ast.AST] = [tree]
    lines = code.splitlines(keepends=True)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return):
            start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
            yield _python_shape(node.value), start, start + len("return"), node in tree.body
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))


def _tree(code: str) -> ast.Module:
    """Return the tree of Python that our own parser reads; of other code an empty one."""
    try:
        return parse_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _python_shape(node: ast.expr | None) -> Any:  # noqa: ANN401
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | None) else _UNKNOWN
    if isinstance(node, ast.JoinedStr):
        return "text"
    if isinstance(node, ast.List):
        return [_python_shape(one) for one in node.elts]
    if isinstance(node, ast.ListComp):
        return [_python_shape(node.elt)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return "text"
    if not isinstance(node, ast.Dict) or not all(isinstance(key, ast.Constant) for key in node.keys):
        return _UNKNOWN
    pairs = zip(node.keys, node.values, strict=True)
    return {str(key.value): _python_shape(value) for key, value in pairs if isinstance(key, ast.Constant)}
