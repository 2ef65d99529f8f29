"""Python's own parser and compiler on texts that nothing is known of: one text at a time, and without a word.

Two things make one lock for the whole program necessary. Warning filters belong to the process, so that a thread
that silences its warnings silences, or wakes, those of the others. And CPython 3.11 counts how deep a syntax tree is
in a place that all threads share: two that build trees at once can end in a SystemError.
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
    """Keep other texts out, and what the compiler warns of in this one to ourselves, or make it an error."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter(warned)
        yield


def parse_tree(text: str, warned: Literal["ignore", "error"] = "ignore") -> ast.Module:
    """Return the syntax tree of ``text``. Raises what ``ast.parse`` raises, and Warning where those are errors."""
    import ast  # which a look at the syntax alone does not need

    with alone(warned):
        return ast.parse(text)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements inside, without the expressions, which are most of a tree."""
    waiting = [tree]
    while waiting:
        outer = waiting.pop()
        inner = [one for block in BLOCKS for one in getattr(outer, block, ())]
        yield from inner
        waiting += inner
