"""The readable places of a contained command, and its environment.

The repository has no say: links are shown only into our list (:data:`_INTERPRETERS`) or the user's (:data:`USERS`), and
of an interpreter's prefix only the interpreter, library, headers and shared libraries.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rails.core.plain_file import read_ordinary, real_path
from rails.sandbox.layer import CACHES, hidden_in
from rails.sandbox.values import COPY, SandboxView

#: Where a command has what is temporary, in namespaces of its own.
TEMPORARY: Final = "/tmp"  # noqa: S108
#: The variable with which a user names further folders that may be read, or that hold interpreters.
USERS: Final = "AI_RAILS_SANDBOX_READ"
#: What every command sees of the system.
SYSTEM: Final = tuple(Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"))
#: What programs need of ``/etc``: where libraries, alternatives, time zones and certificates are.
MINIMAL_ETC: Final = str.split(
    "ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone nsswitch.conf ssl/certs ssl/openssl.cnf"
    " ca-certificates.conf pki mime.types protocols services"
)
#: Folders that hold nothing but interpreters and environments, each in a folder of its own.
_INTERPRETERS: Final = str.split(
    "~/.pyenv/versions ~/.asdf/installs/python ~/.local/share/mise/installs/python ~/.rye/py ~/.local/share/uv/python"
    " ~/.local/share/uv/tools ~/.local/share/pipx/venvs ~/.local/share/hatch/env ~/.virtualenvs"
    " ~/.local/share/virtualenvs ~/.cache/pypoetry/virtualenvs ~/.conda/envs ~/miniconda3 ~/anaconda3 ~/miniforge3"
    " ~/mambaforge /opt"
)
_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*")
_WORKTREE: Final = re.compile(r"(?m)^[ \t]*worktree[ \t]*=[ \t]*+(.*\S)")
_GIT_BYTES: Final = 100_000
#: Where git notes whose objects a repository uses (``git clone --shared``): they are not shown.
_LENT: Final = "objects/info/alternates"
#: How many links lead from an environment's ``python`` to the program.
_MOST_LINKS: Final = 8


def roots(view: SandboxView) -> tuple[Path, ...]:
    """Return the read-only paths besides system and project."""
    found = [*_own_programs(), *_node_of(view.project), *_of_environments(view.project)]
    found += [*_users(), *common_git(view.project), *view.read_only]
    shown = [
        path for path in dict.fromkeys(path.absolute() for path in found) if path.exists() and _may_show(path, view)
    ]
    return tuple(path for path in shown if not any(other in path.parents for other in shown))


def hidden_places(view: SandboxView) -> list[tuple[Path, bool]]:
    """Return what a command may not see of its project and of what the view names, and whether it is a folder.

    Raises CheckError.
    """
    assert view.layer, "whoever asks without one is given one"
    named = [root for root in view.read_only if root.name not in CACHES]
    return [*view.layer.hidden(), *(one for root in named for one in hidden_in(root))]


def _may_show(path: Path, view: SandboxView) -> bool:
    """Return whether a folder holds only programs: no home, root, or parent of project or layer."""
    if path in (Path("/"), Path.home()) or any(path.is_relative_to(system) for system in SYSTEM):
        return False
    return not view.project.is_relative_to(path) and not (view.layer and view.layer.folder.is_relative_to(path))


@cache
def _prefixes() -> tuple[Path, ...]:
    found = (Path(sys.prefix), Path(sys.base_prefix), real_path(Path(sys.executable)).parent.parent)
    return tuple(dict.fromkeys(found))


@cache
def _own_programs() -> tuple[Path, ...]:
    shared = (Path.home(), Path.home() / ".local")
    own = [] if _prefixes()[0] in shared else [_prefixes()[0] / "bin"]
    return (*own, *(part for prefix in _prefixes() for part in _parts(prefix)))


def _parts(prefix: Path) -> Iterator[Path]:
    for program in prefix.glob("bin/py*"):
        if _PYTHON.fullmatch(program.name):
            yield program
    yield prefix / "pyvenv.cfg"
    yield prefix / "include"
    if (prefix / "conda-meta").is_dir():  # several hundred libraries, and nothing else
        yield prefix / "lib"
        return
    for pattern in ("lib/python*", "lib/pypy*", "lib/lib*.so*"):
        yield from prefix.glob(pattern)


def _node_of(project: Path) -> Iterator[Path]:
    outside = [
        one for one in os.get_exec_path() if one.startswith("/") and not real_path(Path(one)).is_relative_to(project)
    ]
    node = shutil.which("node", path=os.pathsep.join(outside))
    if node:
        yield from around_program(real_path(Path(node)))


def around_program(program: Path) -> tuple[Path, ...]:
    """Return Node.js, npm and global packages, so that nothing must be installed."""
    prefix = program.parents[1]
    patterns = ("bin/np[mx]", "bin/corepack", "lib/node_modules", "lib/lib*.so*")
    return (program, *(part for pattern in patterns for part in prefix.glob(pattern)))


def own_program(program: Path, project: Path) -> tuple[Path, ...]:
    """Return an installed program's place; nothing within the project."""
    return () if program.is_relative_to(project) else (program, real_path(program))


def own_packages(folder: Path) -> tuple[Path, ...]:
    """Return a folder ``node_modules``, never a link."""
    return () if folder.is_symlink() else (folder,)


def _users() -> list[Path]:
    return [
        Path(one).expanduser() for one in os.environ.get(USERS, "").split(os.pathsep) if one.startswith(("/", "~/"))
    ]


def _is_known(prefix: Path) -> bool:
    real = real_path(prefix)
    return any(real.is_relative_to(real_path(Path(one).expanduser())) for one in _INTERPRETERS)


def _of_environments(project: Path) -> Iterator[Path]:
    for name in CACHES[:2]:
        place = project / name
        if place.is_symlink():
            for prefix in _on_the_way(place):
                if _is_known(prefix) and (prefix / "bin" / "python").exists():
                    yield from _parts(prefix)
        for program in _on_the_way(place / "bin" / "python"):
            if _PYTHON.fullmatch(program.name) and program.is_file() and _is_known(program.parents[1]):
                yield from _parts(program.parents[1])


def _on_the_way(link: Path) -> Iterator[Path]:
    for _ in range(_MOST_LINKS):
        if not link.is_symlink():
            break
        link = Path(os.path.normpath(real_path(link.parent) / link.readlink()))
        yield link
    yield real_path(link)


def common_git(project: Path) -> tuple[Path, ...]:
    """Return what git needs outside a project, if surely its own.

    A ``.git`` file is only followed to a directory that names this project back: a linked worktree or submodule. A
    sub-folder gets its parent's, unless that is a home.
    """
    own = project / ".git"
    if own.is_symlink() or own.is_dir():
        return ()
    if not own.exists():
        above = next((one for one in project.parents if (one / ".git").exists()), Path("/"))
        kept = above in (Path.home(), Path("/")) or (above / ".git").is_symlink()
        return () if kept else (above / ".git", *common_git(above))
    with contextlib.suppress(OSError, ValueError):
        place = real_path(project / _line(own).removeprefix("gitdir:").strip())
        if place.parent.name == "worktrees" and real_path(place / _line(place / "gitdir")) == real_path(own):
            return (place.parents[1],)
        worktree = _WORKTREE.search(_line(place / "config"))
        if worktree and real_path(place / worktree[1]) == real_path(project):
            return (place,)
    return ()


def _line(file: Path) -> str:
    return os.fsdecode(read_ordinary(file, _GIT_BYTES, links=False)).strip()


def lacks_git(project: Path, level: int) -> bool:
    """Return whether a project is in a repository but git fails in its sandbox."""
    own = project / ".git"
    if own.is_dir():
        return own.is_symlink() or (own / _LENT).is_file()
    if not any((one / ".git").exists() for one in (project, *project.parents)):
        return False
    needed = common_git(project)
    if not needed or project.is_relative_to(needed[0]) or (needed[-1] / _LENT).is_file():
        return True
    return level < COPY and not (own.exists() and _line(own).startswith("gitdir: /"))


def told_on_card(project: Path, level: int) -> str:
    """Return what is read-only in a project, and that git fails if it does."""
    shown = [name for name in (".git", *CACHES) if (project / name).exists()]
    known = f"Read-only: {', '.join(shown)}." if shown else ""
    return f"{known} Git does not work: what it needs lies outside." if lacks_git(project, level) else known


def search_path(project: Path) -> str:
    """Return the ``PATH``: project environment, interpreters, system."""
    own = [project / name / "bin" for name in CACHES[:2]]
    own += [project / "node_modules" / ".bin", *(root / "bin" for root in _prefixes())]
    own += [program.parent for program in _node_of(project)][:1]
    folders = [str(folder) for folder in own if folder.is_dir()]
    return os.pathsep.join([*dict.fromkeys(folders), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"])


def contained_environment(
    view: SandboxView, temporary: str = TEMPORARY, *, socket: Path | None = None
) -> dict[str, str]:
    """Return an environment built only from the view, so that no key leaks. ``temporary``: where the home is, too."""
    built = {
        "PATH": search_path(view.project),
        "HOME": f"{temporary}/home",
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CI": "true",
        "AI_RAILS_SANDBOX": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
    }
    if socket:
        proxy = "http://127.0.0.1:3128"
        built |= dict.fromkeys(str.split("http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY"), proxy)
    return {**built, **view.environment}


def python_of(project: Path) -> str:
    """Return the project's Python, or ours."""
    places = (project / name / "bin" / "python" for name in CACHES[:2])
    return next((str(place) for place in places if os.access(place, os.X_OK)), sys.executable)


def shell_line(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return the arguments; a line goes to ``sh -c`` in the sandbox."""
    return ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
