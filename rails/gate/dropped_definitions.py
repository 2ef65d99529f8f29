"""Classes and functions that a file lost when it was written anew: a model forgets what its task is not about.

Three of eight answers of a small model to tasks in small projects did so, and each passed every other check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.text import plain_text
from rails.core.verdict import Author, Finding
from rails.data_formats.source import language_of, symbols
from rails.gate.weakened_tests import TEST_FILE

_REMEDY: Final = "Write the whole file, with everything in it that is to stay."


def findings(files: Sequence[tuple[str, bytes | None, bytes | None]], author: Author) -> Iterator[Finding]:
    """Yield a finding for each file that its author wrote anew without a definition that the task does not name.

    What begins with an underscore may go, and what is new in a place of the change. Tests have their own rule.
    """
    if not author.rewritten:
        return
    sides = {path: (_names(path, old), _names(path, new)) for path, old, new in files}
    moved = {_last(name) for was, now in sides.values() for name in now if name not in was}
    named = set(re.findall(r"\w+", author.task))
    for path, (was, now) in sides.items():
        if path not in author.rewritten or not now or TEST_FILE.search(path):
            continue
        lost = [name for name in was if name not in now and _parent(name) in ("", *now)]
        gone = [name for name in lost if _last(name) not in moved | named and not _last(name).startswith("_")]
        if gone:
            words = f"It takes away {', '.join(gone)}, which nobody asked for."
            yield Finding(path, 1, 1, "definition-dropped", words, "gate", remedy=_REMEDY)


def _names(path: str, data: bytes | None) -> list[str]:
    text = plain_text(data or b"") or ""
    return [one.name for one in symbols(text, language_of(path))]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _parent(name: str) -> str:
    return name.rpartition(".")[0]
