"""Globs over paths: ``*`` and ``?`` stay within a name, ``**`` spans folders."""

from __future__ import annotations

from fnmatch import fnmatchcase


def glob_match(glob: str, path: str, fold: bool = False, *, sets: bool = False) -> bool:
    """Match a path from the project folder. ``sets``: ``[ab]`` is one of these, else literal.

    Quadratic at worst in the number of names.
    """
    if fold:
        glob = glob.casefold()
        path = path.casefold()
    names = path.split("/")
    reached = {0}
    for part in (parts := glob.strip("/").split("/")):
        if part == "**":
            least = min(reached, default=len(names)) + (part is parts[-1])
            reached = set(range(least, len(names) + 1))
        else:
            pattern = part if sets else part.replace("[", "[[]")
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], pattern)}
    return len(names) in reached
