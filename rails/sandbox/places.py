"""What of this machine a contained command may read, and the environment that it gets."""

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

from rails.sandbox.layer import CACHES
from rails.sandbox.view import SandboxView

#: Where a command has its home and what is temporary, in namespaces of its own.
HOME: Final = "/tmp/home"  # noqa: S108
TEMPORARY: Final = "/tmp"  # noqa: S108
_SYSTEM: Final = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"), Path("/sbin"))


def roots(view: SandboxView) -> tuple[Path, ...]:
    """Return the folders besides the system that are there read-only: interpreters, and what the view names."""
    found = [*_prefixes(), *_of_environments(view.project), *view.read_only]
    wanted = dict.fromkeys(path.absolute() for path in found)
    shown = [path for path in wanted if path.exists() and _may_show(path, view)]
    return tuple(path for path in shown if not any(other in path.parents for other in shown))


def _may_show(path: Path, view: SandboxView) -> bool:
    """Whether a folder tells nothing but programs: no home, no root, nothing above the project or a layer."""
    if path in (Path("/"), Path.home()) or any(path.is_relative_to(system) for system in _SYSTEM):
        return False
    return not view.project.is_relative_to(path) and not (view.layer and view.layer.folder.is_relative_to(path))


@cache
def _prefixes() -> tuple[Path, ...]:
    """Return where our own interpreter, its packages and Node.js are."""
    found = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent]
    node = shutil.which("node")
    if node:
        found += around_program(Path(node).resolve())
    return tuple(found)


def around_program(program: Path) -> tuple[Path, ...]:
    """Return what a program needs of its own: its prefix, or where that is a person's folder, only it and packages."""
    prefix = program.parents[1]
    own = Path.home() in (prefix, prefix.parent)
    return (program, prefix / "lib" / "node_modules") if own else (prefix,)


def _of_environments(project: Path) -> Iterator[Path]:
    """Yield where the interpreters of the project's virtual environments are, and those that are links."""
    for name in CACHES:
        place = project / name
        if place.is_symlink() and (place / "pyvenv.cfg").is_file():
            yield place.resolve()
        python = (place / "bin" / "python").resolve()
        # A link may name anything: an interpreter lies among its own things, and not in a person's folder.
        if re.fullmatch(r"(python|pypy)[\d.]*", python.name) and (python.parents[1] / "lib" / python.name).is_dir():
            yield python.parents[1]
    for entry in _packages_of(project / "node_modules"):
        if entry.is_symlink() and "node_modules" in (target := entry.resolve()).parts and target.is_dir():
            yield target


def _packages_of(folder: Path) -> Iterator[Path]:
    """Yield a folder of packages, and the packages in it that are links."""
    yield folder
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_symlink():
                yield Path(entry)
            elif entry.name.startswith("@"):
                yield from _packages_of(Path(entry))


def named_on_card(project: Path) -> tuple[str, ...]:
    """Return the names of what is read-only in the project because it is installed, for a person."""
    return tuple(name for name in (".git", ".rails", *CACHES) if (project / name).exists())


def search_path(project: Path) -> str:
    """Return the ``PATH``: the project's own environment, the interpreters', the system's."""
    own = [project / name / "bin" for name in (".venv", "venv")]
    own += [project / "node_modules" / ".bin", *(Path(root, "bin") for root in _prefixes())]
    folders = [str(folder) for folder in own if folder.is_dir()]
    return os.pathsep.join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]))


def contained_environment(
    view: SandboxView, *, home: str = HOME, temporary: str = TEMPORARY, socket: Path | None = None
) -> dict[str, str]:
    """Return the environment: built from nothing but what the view names, so that no key leaks in."""
    built = {
        "PATH": search_path(view.project),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CI": "true",
        "AI_RAILS_SANDBOX": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    if socket:
        proxy = "http://127.0.0.1:3128"
        built |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), proxy)
    return {**built, **view.environment}


def python_of(project: Path) -> str:
    """Return the Python that runs the project's code: its own where it has one, else ours."""
    places = (project / name / "bin" / "python" for name in (".venv", "venv"))
    return next((str(place) for place in places if os.access(place, os.X_OK)), sys.executable)


def shell_line(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a command: a line is for ``sh -c`` inside the sandbox."""
    return ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
