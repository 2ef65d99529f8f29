"""Whether a Python file compiles: if not, one finding with CPython's message and the cause."""

from __future__ import annotations

import re

from rails.core import charsets
from rails.core.text import decode_text, one_line
from rails.core.verdict import Finding
from rails.data_formats.python_code import alone, parse_tree
from rails.gate.support.diagnostics import RULE


def error_in(path: str, data: bytes) -> Finding | None:
    """Compile ``data`` without running it; return what is wrong, or ``None``."""
    line = column = 1
    end_line = end_column = 0
    try:
        with alone():
            compile(data, path, "exec", dont_inherit=True)
        return None
    except SyntaxError as error:
        message = error.msg or "invalid syntax"
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        end_line, end_column = max(error.end_lineno or line, line), max(error.end_offset or column, 1)
    except ValueError as error:
        message = str(error)
    except (RecursionError, MemoryError, OverflowError):
        message = "the code is nested too deeply for Python to compile"
    from rails.gate.support.parse_hints import with_cause

    decoded = decode_text(data)
    message, remedy = with_cause(decoded.text if decoded else "", line, one_line(message, 200), column)
    return Finding(
        path,
        line,
        column,
        RULE,
        message,
        "python",
        end_line=end_line,
        end_column=end_column,
        remedy=remedy,
    )


def same_program(one: bytes, other: bytes) -> bool:
    """Return whether two Python texts differ in layout only, by our own parser; of docstrings only the words count."""
    from tokenize import TokenError

    try:
        return _program(one) == _program(other)
    except (SyntaxError, TokenError, ValueError, RecursionError, MemoryError):
        return False


def _program(data: bytes) -> object:
    """Return a text's program and comments, comparably. Raises what ``ast.parse`` and ``tokenize`` raise."""
    import ast  # only what is formatted needs trees
    import io
    import tokenize

    tree = parse_tree(data)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None  # formatters drop the u of u""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = re.sub(r"\W", "", str(node.value.value))
    comments = [
        token.string.strip("# \t\xa0")
        for token in tokenize.tokenize(io.BytesIO(data).readline)
        if token.type == tokenize.COMMENT
    ]
    return ast.dump(tree), comments


def encoding_error(path: str, data: bytes) -> Finding | None:
    """Return the error if Python decodes a program differently from people."""
    head = b"\n".join(data.split(b"\n", 2)[:2])
    name = charsets.misleading(head) if b"coding" in head else ""
    words = f"Python reads this file as {name}, where it is a different program than shown"
    return Finding(path, 1, 1, RULE, words, "python", remedy="Declare UTF-8, or nothing.") if name else None
