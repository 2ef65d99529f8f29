"""Where temporary files may be: in a folder ``scratch/``. A new one elsewhere is a finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.verdict import Finding

#: Names that say of themselves that nobody wants to keep them.
_TEMPORARY: Final = lazy(
    r"~$|\.(?:tmp|temp|bak|orig|rej|old|swp|swo)$"
    r"|^(?:tmp|temp|scratch|untitled)(?:[ _.-]?\d+)?(?:\.\w+)?$|^(?:tmp|scratch|delete_?me)[_-]"
    r"|[ _.-](?:tmp|backup|copy|bak)(?:[ _.-]?\d+)?\.\w+$|\(\d+\)\.\w+$",
    re.I,
)


def misplaced(created: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for each new file that is temporary by its name and stands outside of a scratch folder."""
    for path in created:
        *folders, name = path.split("/")
        if "scratch" not in folders and _TEMPORARY.search(name):
            words = f"{name} looks like a temporary file; those are kept in scratch/ only."
            remedy = f"Write it to scratch/{name}, or give it the name of what it is."
            yield Finding(path, 1, 1, "misplaced-temporary", words, "gate", end_line=1, remedy=remedy)
