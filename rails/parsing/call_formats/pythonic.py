"""Calls written as Python, as Llama 4 and Gemini do: ``[write_file(path="a", content="b")]``, ``print(api.f(a=1))``.

Parsed, never evaluated; values must be literals.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence

from rails.core.tool_request import Json
from rails.data_formats.python_code import parse_tree
from rails.parsing.call_formats.json_calls import Call
from rails.parsing.call_formats.reader import NotInForm

#: Longer texts are not read.
_CHARS = 400_000
_SHOWN = 60


def read(text: str) -> Sequence[Call]:
    """Return the calls of a list or several lines."""
    if len(text) > _CHARS:
        raise NotInForm("the calls are too long", 0)
    try:
        tree = parse_tree(text.strip(), "error")  # an escape that Python does not know
        calls = [_call(inner) for one in tree.body for inner in _expressions(one)]
    except (SyntaxError, ValueError, Warning, RecursionError, MemoryError) as error:
        raise NotInForm(f"the calls are not Python: {error}", 0) from error
    if not calls:
        raise NotInForm("there is no call", 0)
    return calls


def _expressions(node: ast.stmt) -> Iterator[ast.AST]:
    value = node.value if isinstance(node, ast.Expr) else node
    yield from value.elts if isinstance(value, ast.List) else [value]


def _call(node: ast.AST) -> Call:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        raise ValueError(f"{ast.unparse(node)[:_SHOWN]!r} is not name(key=value, …)")
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    arguments = {one.arg: _literal(one.value) for one in node.keywords if one.arg}
    if len(arguments) != len(node.keywords):
        raise ValueError(f"an argument of {name} has no name, or comes twice")
    return Call(name, arguments)


def _literal(node: ast.expr) -> Json:
    try:
        value: Json = json.loads(json.dumps(ast.literal_eval(node), allow_nan=False))
    except (ValueError, TypeError, SyntaxError) as error:
        raise ValueError(f"{ast.unparse(node)[:_SHOWN]!r} is no value of JSON") from error
    return value
