"""Calls written as Python, as Llama 4 and Gemini do: ``[write_file(path="a", content="b")]``, ``print(api.f(a=1))``.

Parsed, never evaluated; values must be literals.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from rails.core import limits
from rails.core.tool_request import Json
from rails.data_formats.python_code import parse_tree
from rails.parsing.call_formats.reader import FormCall, NotInForm

#: Longer texts, and more calls in one, are not read.
_CHARS = 400_000


def read(text: str) -> Sequence[FormCall]:
    """Return the calls of a list or several lines."""
    if len(text) > _CHARS:
        raise NotInForm("the calls are too long", 0)
    try:
        return _read(text.strip())
    except _NotCall as fault:
        lines = text[: len(text) - len(text.lstrip())], *text.strip().splitlines(keepends=True)[: fault.line - 1]
        raise NotInForm(str(fault), sum(map(len, lines))) from fault


class _NotCall(Exception):
    """The text is no call at ``line``, from 1."""

    def __init__(self, message: str, line: int | None = 1) -> None:
        super().__init__(message)
        self.line = line or 1


def _read(text: str) -> Sequence[FormCall]:
    try:
        tree = parse_tree(text, "error")  # an escape that Python does not know
    except (SyntaxError, ValueError, Warning, RecursionError, MemoryError) as error:
        words, line = (error.msg, error.lineno) if isinstance(error, SyntaxError) else (str(error), 1)
        raise _NotCall(f"the calls are not Python: {words}", line) from error
    nodes = [inner for one in tree.body for inner in _expressions(one)]
    if not nodes or len(nodes) > limits.REQUESTS_PER_ANSWER:
        raise _NotCall("there is no call, or there are too many")
    return [_call(node) for node in nodes]


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    if not isinstance(node, ast.Expr):
        raise _NotCall("a statement is not a call", node.lineno)
    yield from node.value.elts if isinstance(node.value, ast.List) else [node.value]


def _call(node: ast.expr) -> FormCall:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        raise _NotCall("a call must be name(key=value, …)", node.lineno)
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    arguments = {str(one.arg): _literal(one.value) for one in node.keywords if one.arg}
    if len(arguments) != len(node.keywords):
        raise _NotCall("an argument has no name, or comes twice", node.lineno)
    return FormCall(name, arguments)


def _literal(node: ast.expr) -> Json:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise _NotCall("a value is not a literal", node.lineno) from error
    return _json(value, node)


def _json(value: object, node: ast.expr) -> Json:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_json(item, node) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item, node) for key, item in value.items()}
    raise _NotCall("a value is not JSON", node.lineno)
