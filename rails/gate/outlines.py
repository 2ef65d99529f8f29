"""What a proposal means, in words: for the files whose lines of text say little to a human."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from rails.core.changes import ChangeSet, FileChange
from rails.core.text import one_line

if TYPE_CHECKING:
    from rails.core.change_summary import Outline

#: An outline helps to read; a change of very many files is not read one by one.
_MOST: Final = 20


def outlines(proposal: ChangeSet) -> tuple[Outline, ...]:
    """Return an outline for each n8n workflow of ``proposal``."""
    return tuple(islice(_made(proposal), _MOST))


def _made(proposal: ChangeSet) -> Iterator[Outline]:
    for change in proposal.changes:
        if change.path.text.lower().endswith(".json") and b'"nodes"' in (change.after or change.before or b""):
            made = _outline(change)
            if made is not None:
                yield made


def _outline(change: FileChange) -> Outline | None:
    from rails.n8n.compare import summary

    try:
        return summary.outline(change.before, change.after, change.path.text)
    except Exception as error:  # what only helps to read must not keep the verdict from anybody
        return Outline(
            change.path.text, f"no outline could be made: {type(error).__name__}: {one_line(str(error))}", ()
        )
