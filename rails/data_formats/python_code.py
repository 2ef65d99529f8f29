"""Python's parser and compiler on unknown texts, without warnings.

One lock: warning filters belong to the process, and in CPython 3.11 threads share the count of a syntax tree's depth
(SystemError).
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import ast

_LOCK: Final = threading.RLock()
#: Where statements have statements inside.
BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


@contextlib.contextmanager
def alone(warned: Literal["ignore", "error"] = "ignore") -> Iterator[None]:
    """Hold the lock, with compiler warnings ignored or errors."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter(warned)
        yield


def parse_tree(text: str | bytes, warned: Literal["ignore", "error"] = "ignore") -> ast.Module:
    """Return the syntax tree. Raises what ``ast.parse`` raises, and Warning if those are errors."""
    import ast  # which a look at the syntax alone does not need

    with alone(warned):
        return ast.parse(text)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements inside, without expressions."""
    waiting = [tree]
    while waiting:
        outer = waiting.pop()
        inner = [one for block in BLOCKS for one in getattr(outer, block, ())]
        yield from inner
        waiting += inner
