"""Python's parser and compiler on unknown texts: one text at a time, without warnings.

One lock for the process: warning filters belong to the process, and CPython 3.11 counts a syntax tree's depth in a
place that threads share, so that two at once can end in a SystemError.
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
    """Hold the lock, and ignore the compiler's warnings or make them errors."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter(warned)
        yield


def parse_tree(text: str, warned: Literal["ignore", "error"] = "ignore") -> ast.Module:
    """Return the syntax tree of ``text``. Raises what ``ast.parse`` raises, and Warning if those are errors."""
    import ast  # which a look at the syntax alone does not need

    with alone(warned):
        return ast.parse(text)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements inside, skipping expressions, most of a tree."""
    waiting = [tree]
    while waiting:
        outer = waiting.pop()
        inner = [one for block in BLOCKS for one in getattr(outer, block, ())]
        yield from inner
        waiting += inner
