"""Temporary files belong in a folder ``scratch/``; a new one elsewhere is a finding.

Names tell by habits of editors, patches and agents (``x.py.bak``, ``tmp.py``), a copy (``x_old.py``) only beside its
original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.verdict import Finding

#: Names that say of themselves that nobody wants to keep them.
_LEFTOVER: Final = lazy(
    # of editors, patches and office programs
    r"~$|\.(?:tmp|temp|bak|old|orig|rej|sw[nop])(?:[ _.-]?\d[\d_.-]*)?$|^\.?#.|^~\$.|^\.~lock\."
    # a word and nothing else, perhaps with a number: tmp.py, scratch_2.js, test_tmp3.py
    r"|^(?:tmp|temp|scratch|untitled|delete[_-]?me)(?:[ _.-]?\d+)?(?:\.\w+)?$"
    r"|^test_(?:tmp|(?:temp|scratch|untitled)(?=[_.-]?\d))(?:[_.-]?\d+)?\.\w+$"
    # what is tried once: tmp_probe.txt, scratch-test.py; and the names that systems give
    r"|^(?:tmp|temp|scratch)[_-](?:probe|try|test|debug|check|demo|fix|patch|script|run|foo|bar|out(?:put)?|notes?|\d++)"
    r"(?:[_-]?\d+)?\.\w+$|^tmp(?=[a-z]*\d[a-z])[a-z0-9]{8}(?:\.\w+)?$",
    re.IGNORECASE,
)
_COPY_WORD: Final = r"copy|old|backup|bak|orig|original|tmp|temp"
#: What a copy is called, with the name of what it is a copy of.
_COPIES: Final = (
    lazy(
        rf"(.+?)(?:(?<![ _.-])[ _.-]+(?:{_COPY_WORD})(?:[ _.-]?\d+| ?\(\d+\))?| ?\(\d+\))((?:\.\w+){{0,4}})",
        re.IGNORECASE,
    ),
    lazy(rf"(?:copy[ _-]of[ _-]|(?:{_COPY_WORD})[ _.-])(.+)", re.IGNORECASE),
    lazy(r"(.+\.\w+)[_.-](?:copy|save|backup|prev|\d+)", re.IGNORECASE),
)


def misplaced(created: Iterable[str], stands: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield a finding for each new temporary file outside scratch folders.

    ``stands`` says whether the changed project has a file.
    """
    for path in created:
        *folders, name = path.split("/")
        if "scratch" not in folders and _is_temporary(path.removesuffix(name), name, stands):
            words = f"{name} looks like a temporary file; those are kept in scratch/ only."
            yield Finding(
                path,
                1,
                1,
                "misplaced-temporary",
                words,
                "gate",
                end_line=1,
                remedy=f"Write it to scratch/{name}, or give it the name of what it is.",
            )


def _is_temporary(folder: str, name: str, stands: Callable[[str], bool]) -> bool:
    if _LEFTOVER.search(name):
        return True
    found = filter(None, (pattern.fullmatch(name) for pattern in _COPIES))
    return any(stands(f"{folder}{''.join(one.groups())}") for one in found)
