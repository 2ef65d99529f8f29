"""Does a Python file compile? One finding when it does not, in CPython's words, with the cause named."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rails.core.dataclass import replace
from rails.core.text import decode, one_line
from rails.core.verdict import Finding

if TYPE_CHECKING:
    import ast

RULE: Final = "syntax-error"
# Warning filters belong to the whole process, so only one thread at a time may change them.
_LOCK: Final = threading.Lock()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep the compiler's warnings about the code at hand to ourselves."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def error_in(path: str, data: bytes) -> Finding | None:
    """Compile ``data`` without running it; return what is wrong, or ``None``."""
    found = _compile_error(path, data)
    if found is None or (decoded := decode(data)) is None:
        return found
    from rails.gate.checks.text import cause

    why, remedy = cause(decoded.text, found.line, found.message, found.column)
    return replace(found, message=f"{found.message}. {why}" if why else found.message, remedy=remedy)


def same_program(one: str, other: str) -> bool:
    """Whether two Python texts have the same syntax tree."""
    import ast  # here and below, because only what is repaired needs trees

    try:
        with quietly():
            trees = ast.parse(one), ast.parse(other)
        return _same(*trees, one.splitlines(), other.splitlines())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _same(one: ast.AST, other: ast.AST, lines: list[str], others: list[str]) -> bool:
    """Compare two trees, skipping statements whose text is the same: dumping a whole file takes 10 ms."""
    import ast

    with_body = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.stmt) and isinstance(other, ast.stmt):
        ours, theirs = lines[one.lineno - 1 : one.end_lineno], others[other.lineno - 1 : other.end_lineno]
        if ours == theirs:
            return True
    if not isinstance(one, with_body) or not isinstance(other, with_body):
        return ast.dump(one) == ast.dump(other)
    heads = ([(name, value) for name, value in ast.iter_fields(node) if name != "body"] for node in (one, other))
    if len(one.body) != len(other.body) or [_dumped(head) for head in next(heads)] != [_dumped(h) for h in next(heads)]:
        return False
    return all(_same(ours, theirs, lines, others) for ours, theirs in zip(one.body, other.body, strict=True))


def _dumped(field: tuple[str, object]) -> tuple[str, list[str]]:
    import ast

    name, value = field
    parts = value if isinstance(value, list) else [value]
    return name, [ast.dump(part) if isinstance(part, ast.AST) else repr(part) for part in parts]


def _compile_error(path: str, data: bytes) -> Finding | None:
    try:
        with quietly():
            compile(data, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        return Finding(
            path,
            line,
            column,
            RULE,
            one_line(error.msg or "invalid syntax", 200),
            "python",
            end_line=max(error.end_lineno or line, line),
            end_column=max(error.end_offset or column, 1),
        )
    except ValueError as error:
        return Finding(path, 1, 1, RULE, one_line(str(error), 200), "python")
    except (RecursionError, MemoryError, OverflowError):
        return Finding(path, 1, 1, RULE, "the code is nested too deeply for Python to compile", "python")
    return None
