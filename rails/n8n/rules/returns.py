"""The values that a Code node returns, as far as written out: n8n takes items, or one item.

Anchor: n8n-nodes-base 2.41, ``Code/result-validation``. Computed values are not judged but for well-known functions
(``returned_by`` of the facts). A shape: a text, a number (any), ``None``, a list or object of shapes,
a tuple of the shapes that it has by turns, or ``_UNKNOWN``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from rails.data_formats.python_code import parse_tree
from rails.n8n.facts import FACTS
from rails.n8n.javascript import syntax
from rails.n8n.javascript.early_errors import FUNCTIONS, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_Shape: TypeAlias = Any
_ITEM_KEYS: Final = frozenset({"json", "binary", "pairedItem", "error", "index"})
#: A value that is computed: of it nothing is known.
_UNKNOWN: Final = object()
#: JavaScript's ``undefined``: no code writes this number as one literal.
_UNDEFINED: Final = -1
_SCOPES: Final = FUNCTIONS | {"class_body", "generator_function_declaration"}
_PLAIN: Final = {
    "string": "text", "template_string": "text", "number": 0, "true": 0, "false": 0, "null": None,
    "undefined": _UNDEFINED, "arrow_function": 0, "function_expression": 0,
}  # fmt: skip
#: What a function gives, by its name, or by that of a method after a dot.
_RETURNED_BY: Final[Mapping[str, _Shape]] = FACTS["returned_by"]
_MOST: Final = 20_000


class Returned(NamedTuple):
    """A return: character offsets, n8n's refusal or "", always reached or not."""

    start: int
    end: int
    said: str
    is_sure: bool


def returns(code: str, language: str, *, each: bool) -> Iterator[Returned]:
    """Yield the returns of sound code; ``each``: run for each item."""
    for shape, start, end, is_sure in _javascript(code) if language == "javaScript" else _python(code):
        yield Returned(start, end, _fault(shape, each=each), is_sure)


def _fault(shape: _Shape, *, each: bool) -> str:
    if isinstance(shape, tuple):
        faults = [_fault(one, each=each) for one in shape]
        return faults[0] if all(faults) else ""
    if isinstance(shape, list) and each:
        return "a list is given back, and in this mode n8n takes one item"
    if isinstance(shape, str | int | float):
        return "what is given back is no object and no list, and n8n takes items"
    items = shape if isinstance(shape, list) else [shape]
    if isinstance(shape, list) and any(_is_no_object(item, _UNKNOWN) for item in items):
        return "the list holds what is no object, and n8n takes items"
    objects = [item for item in items if isinstance(item, dict)]
    for key, allowed in (("json", _UNKNOWN), ("binary", _UNDEFINED)):
        if any(_is_no_object(item.get(key, _UNKNOWN), allowed) for item in objects):
            return f"`{key}` of an item must be an object"
    keyed = any(_ITEM_KEYS & item.keys() for item in objects)
    extra = [key for item in objects for key in item if key not in _ITEM_KEYS]
    if keyed and extra and (each or isinstance(shape, list)):
        return f"`{extra[0]}` is beside `json`; n8n expects it inside"
    return ""


def _is_no_object(shape: _Shape, allowed: _Shape) -> bool:
    if isinstance(shape, tuple):
        return all(_is_no_object(one, allowed) for one in shape)
    return shape != allowed and (shape is None or isinstance(shape, str | int | list))


def _javascript(code: str) -> Iterator[tuple[_Shape, int, int, bool]]:
    parsed = syntax.parse_javascript(code)
    root = parsed.tree.root_node if parsed is not None else None
    names = dict(_names(root, code)) if root is not None else {}
    for node in _own_returns(root):
        values = _children(node)
        start = len(code.encode()[: node.start_byte].decode(errors="ignore"))
        end = len(code.encode()[: node.end_byte].decode(errors="ignore"))
        is_written = not values or values[0].type not in ("call_expression", "identifier")
        yield _shape(values[0], names) if values else 0, start, end, is_written and node.parent == root
        if node.parent == root:
            return


def _own_returns(body: Node | None) -> Iterator[Node]:
    todo = [] if body is None else [body]
    for _ in range(_MOST):
        if not todo:
            return
        node = todo.pop()
        if node.type == "return_statement":
            yield node
        elif node.type not in _SCOPES:
            todo.extend(reversed(node.named_children))


def _names(root: Node, code: str) -> Iterator[tuple[str, Node]]:
    """Yield top-level names with values: what stays, a text that only gets longer, or what is used once."""
    for statement in root.named_children:
        for one in statement.named_children if statement.type.endswith("_declaration") else ():
            name = text_of(one.child_by_field_name("name"))
            value = one.child_by_field_name("value")
            uses = len(re.findall(rf"(?<![\w$.]){re.escape(name)}(?![\w$])", code))
            if value is None:
                continue
            given = len(re.findall(rf"(?<![\w$.]){re.escape(name)}\s*=(?![=>])", code))
            is_text = _PLAIN.get(value.type) == "text" and given == 1
            is_fixed = value.type in _PLAIN and text_of(statement).startswith("const")
            if uses == 2 or is_fixed or is_text:
                yield name, value


def _children(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _shape(node: Node | None, names: dict[str, Node]) -> _Shape:
    if node is None:
        return _UNKNOWN
    children = _children(node)
    if node.type == "identifier":
        return _shape(names.pop(text_of(node), None), names)
    if node.type == "call_expression":
        return _called(node, names)
    if node.type == "member_expression":
        return 0 if text_of(node).endswith(".length") else _UNKNOWN
    if node.type == "parenthesized_expression" and len(children) == 1:
        return _shape(children[0], names)
    if node.type == "array":
        return [_shape(child, names) for child in children]
    if node.type == "object" and all(child.type != "spread_element" for child in children):
        return _object(children, names)
    if node.type == "unary_expression":
        return 0
    if node.type == "binary_expression":
        return _joined(text_of(node.child_by_field_name("operator")), [_shape(child, names) for child in children])
    if node.type == "ternary_expression":
        first = _shape(node.child_by_field_name("consequence"), names)
        second = _shape(node.child_by_field_name("alternative"), names)
        return first if first == second else (first, second)
    return _PLAIN.get(node.type, _UNKNOWN)


def _joined(operator: str, sides: list[_Shape]) -> _Shape:
    """Return an operation's shape: ``+`` gives a text with a text, a number of two."""
    if operator in ("&&", "||", "??"):
        return _UNKNOWN
    if operator != "+" or all(isinstance(side, int) for side in sides):
        return 0
    return "text" if all(isinstance(side, str | int) for side in sides) or "text" in sides else _UNKNOWN


def _object(children: list[Node], names: dict[str, Node]) -> _Shape:
    made: dict[str, _Shape] = {}
    for child in children:
        key = child.child_by_field_name("key") or child.child_by_field_name("name") or child
        made[text_of(key).strip("'\"")] = _shape(child.child_by_field_name("value"), names)
    return made if not any(key.startswith("[") for key in made) else _UNKNOWN


def _called(call: Node, names: dict[str, Node]) -> _Shape:
    name = text_of(call.child_by_field_name("function"))
    given = call.child_by_field_name("arguments")
    maker = given.named_children[0] if name.endswith(".map") and given and given.named_children else None
    if maker is None or maker.type not in ("arrow_function", "function_expression"):
        return _returned_by(name)
    body = maker.child_by_field_name("body")
    if body is not None and body.type == "statement_block":
        found = [_children(one) for one in _own_returns(body)]
        body = found[0][0] if len(found) == 1 and found[0] else None
    return [_shape(body, names)]


def _returned_by(name: str) -> _Shape:
    return _RETURNED_BY.get(name, _RETURNED_BY.get(f".{name.rpartition('.')[2]}" if "." in name else name, _UNKNOWN))


def _python(code: str) -> Iterator[tuple[_Shape, int, int, bool]]:
    try:
        tree = parse_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    todo: list[ast.AST] = [*reversed(tree.body)]
    lines = code.splitlines(keepends=True)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return):
            start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
            yield _python_shape(node.value), start, start + len("return"), node in tree.body
            if node in tree.body:
                return
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))


def _python_shape(node: ast.expr | None) -> _Shape:
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.JoinedStr():
            return "text"
        case ast.Compare() | ast.UnaryOp():
            return 0
        case ast.BinOp(op=ast.Add()):
            return _joined("+", [_python_shape(node.left), _python_shape(node.right)])
        case ast.List() | ast.Tuple():
            return [_python_shape(one) for one in node.elts]
        case ast.ListComp():
            return [_python_shape(node.elt)]
        case ast.Call():
            return _returned_by(ast.unparse(node.func))
        case ast.Dict() if all(isinstance(key, ast.Constant) for key in node.keys):
            keys = [str(key.value) for key in node.keys if isinstance(key, ast.Constant)]
            return dict(zip(keys, map(_python_shape, node.values), strict=True))
    return _UNKNOWN
