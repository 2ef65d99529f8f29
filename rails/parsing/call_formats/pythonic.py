"""Calls written as Python, as Llama 4 and Gemini do: ``[write_file(path="a", content="b")]``, ``print(api.f(a=1))``.

Nothing is evaluated: the text is parsed, and values must be literals.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from rails.core import limits
from rails.core.tool_request import Json
from rails.data_formats.python_code import parse_tree
from rails.parsing.call_formats.form import FormCall, NotInForm

#: Longer texts, and more calls in one, are not read.
_CHARS = 400_000


def read(text: str) -> Sequence[FormCall]:
    """Return the calls of a list or of several lines."""
    if len(text) > _CHARS:
        raise NotInForm("the calls are too long", 0)
    try:
        tree = parse_tree(text.strip(), "error")  # an escape that Python does not know
    except (SyntaxError, ValueError, Warning, RecursionError, MemoryError) as error:
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        raise NotInForm(f"the calls are not Python: {words}", 0) from error
    nodes = [inner for one in tree.body for inner in _expressions(one)]
    if not nodes or len(nodes) > limits.REQUESTS_PER_ANSWER:
        raise NotInForm("there is no call, or there are too many", 0)
    return [_call(node) for node in nodes]


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    if not isinstance(node, ast.Expr):
        raise NotInForm("a statement is not a call", node.col_offset)
    yield from node.value.elts if isinstance(node.value, ast.List) else [node.value]


def _call(node: ast.expr) -> FormCall:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        raise NotInForm("a call must be name(key=value, …)", node.col_offset)
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    arguments = {str(one.arg): _literal(one.value) for one in node.keywords if one.arg}
    if len(arguments) != len(node.keywords):
        raise NotInForm("an argument has no name, or comes twice", node.col_offset)
    return FormCall(name, arguments)


def _literal(node: ast.expr) -> Json:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise NotInForm("a value is not a literal", node.col_offset) from error
    return _json(value, node)


def _json(value: object, node: ast.expr) -> Json:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_json(item, node) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item, node) for key, item in value.items()}
    raise NotInForm("a value is not JSON", node.col_offset)
