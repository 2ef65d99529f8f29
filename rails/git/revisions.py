"""The content of files at a git revision; nothing of the repository's is run."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError, UsageError, WorkspaceError
from rails.core.plain_file import real_path
from rails.core.text import one_line

#: Instead of a revision: what is staged.
INDEX: Final = ":0"
#: The tree without a file, which every repository has.
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def contents(project: Path, revision: str, paths: Sequence[str]) -> dict[str, bytes | None]:
    """Return each path's bytes at ``revision`` (or in the :data:`INDEX`), or None.

    Raises UsageError without a repository or revision, CheckError when git fails.
    """
    root, git_dir = repository(project)
    prefix = project.resolve().relative_to(root).as_posix()
    prefix = "" if prefix == "." else f"{prefix}/"
    if revision != INDEX and (not revision or "\n" in revision):
        raise UsageError(f"{one_line(revision)!r} is not a git revision.")
    known = EMPTY_TREE if revision == INDEX else f"{revision}^{{commit}}"
    names = [known, *(f"{revision}:{prefix}{path}" for path in paths)]
    from rails.git.program import CLEAN, run_git  # which only those need that compare

    asked = os.fsencode("".join(f"{name}\n" for name in names))
    words = [f"--git-dir={git_dir}", "cat-file", "--batch"]
    try:
        code, out, complaint = run_git(words, root, {**CLEAN, **index_in_use(project)}, asked)
    except WorkspaceError as error:
        raise CheckError(str(error)) from error
    if code != 0:
        raise CheckError(f"git cat-file ended with code {code}: {one_line(complaint, 300)}")
    objects = read_objects(out, len(names))
    if objects[0] is None and revision != INDEX:
        raise UsageError(f"There is no git revision {one_line(revision)!r} in {root}.")
    return dict(zip(paths, objects[1:], strict=True))


def repository(project: Path) -> tuple[Path, Path]:
    """Return the work tree and git folder of ``project``."""
    for folder in (project.resolve(), *project.resolve().parents):
        entry = folder / ".git"
        if entry.is_dir():
            return folder, entry
        if entry.is_file():
            target = entry.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
            return folder, real_path(folder / target)
    raise UsageError(f"{project} is not in a git repository, so there is nothing to compare with: git init makes one.")


def shared_folder(folder: Path) -> Path:
    """Return the git folder shared by all work trees."""
    common = folder / "commondir"
    return real_path(folder / common.read_text(encoding="utf-8").strip()) if common.is_file() else folder


def index_in_use(project: Path) -> dict[str, str]:
    """Return the variable with the index of a commit in progress (``commit -a``), if any."""
    if not (named := os.environ.get("GIT_INDEX_FILE", "")):
        return {}
    root, folder = repository(project)
    place = real_path(root / named)
    return {"GIT_INDEX_FILE": str(place)} if place.parent == real_path(folder) else {}


def read_objects(out: bytes, count: int) -> list[bytes | None]:
    """Read the output of ``git cat-file --batch``: a header line, the object, a newline."""
    found: list[bytes | None] = []
    at = 0
    for _ in range(count):
        end = out.find(b"\n", at)
        header = out[at:end].split()
        at = end + 1
        if len(header) == 3 and header[2].isdigit() and header[1] in (b"blob", b"commit"):
            size = int(header[2])
            found.append(out[at : at + size])
            at += size + 1
        elif len(header) == 3 and header[2].isdigit():
            found.append(None)
            at += int(header[2]) + 1
        else:
            found.append(None)
    return found


def ignored(project: Path, names: Collection[str]) -> set[str]:
    """Return the ignored paths (a folder's ends in ``/``); none without a repository."""
    from rails.git.program import CLEAN, run_git

    try:
        repository(project)
    except UsageError:
        return set()
    code, out, complaint = run_git(
        ["check-ignore", "--no-index", "-z", "--stdin"],
        project,
        CLEAN,
        "\0".join([*names, ""]).encode("utf-8", "surrogateescape"),
    )
    if code not in (0, 1):  # 1: none of them
        raise CheckError(f"git could not list what the project ignores: {one_line(complaint, 200)}")
    return set(out.decode("utf-8", "surrogateescape").split("\0")) - {""}
