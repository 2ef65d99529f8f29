"""A project's own black, ruff and flake8: in its environment, or named by a lock file, a pin or pre-commit.

Their stability policies say which versions format alike: black's style holds for a year, ruff's for a minor version.
Tools of the environment run under its Python, contained, once a person agreed to their names and versions
(``gate-trust.json``, under the environment's folder). Packages are not compared by content: a contained formatter can
only return text, taken if it is the same program (``PythonTools.format``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rails.core.plain_file import read_ordinary
from rails.sandbox.values import NONE, SandboxView
from rails.trust import consent

if TYPE_CHECKING:
    from rails.gate.support.warm_processes import PythonPool

Numbers = tuple[int, ...]

#: The folders of a project's own environment.
_ENVIRONMENTS: Final = (".venv", "venv")
#: A lock file lists every package with its files.
_BYTES: Final = 20_000_000
_LOCKED: Final = r'(?m)^name = "{0}"\nversion = "([^"]+)"'
_HOOK: Final = (
    r"repo:\s*\S{{0,300}}/{0}(?:-pre-commit(?:-mirror)?)?(?:\.git)?/?['\"]?\s*(?:#.*)?\n\s*rev:\s*['\"]?v?([\d.]+)"
)
_PINNED: Final = (
    r"(?mi)^[^#\n]*?(?<![\w.-]){0}(?:\[[^\]\n]*\])?[ \t]*(?:=[ \t]*(?:\{{[^}}\n]*version\s*=\s*)?[\"'])?"
    r"([<>=~!^]*=?\s*\d[^\"'#;\n]*)"
)
#: Where versions are named, by their form, the surest first.
_PLACES: Final = {
    _LOCKED: ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"),
    _PINNED: (
        "pyproject.toml",
        "*requirements*.txt",
        "requirements/*.txt",
        "constraints*.txt",
        "Pipfile",
        "setup.cfg",
        "tox.ini",
    ),
    _HOOK: (".pre-commit-config.yaml",),
}
#: The first versions that are asked as we ask them.
_OLDEST: Final[Mapping[str, Numbers]] = {"black": (22,), "flake8": (5,), "ruff": (0, 3)}
_CLAUSE: Final = re.compile(r"([<>=~!^]{0,3})[ \t]{0,9}(\d[\d.]*)")
_ORDERS: Final[Mapping[str, Callable[[Numbers, Numbers], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class OwnTool(Struct, frozen=True):
    """A project's tool: the version, or a condition such as ``>=23,<24``, and its source."""

    name: str
    version: str
    place: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.place})"

    @property
    def is_installed(self) -> bool:
        """Whether it can run: it is in the project's environment, and not too old."""
        return self.place in _ENVIRONMENTS and _numbers(self.version) >= _OLDEST[self.name]

    def formats_like(self, version: str) -> bool:
        """Return whether another version formats like this one, by the tool's own policy."""
        other = _numbers(version)
        style = other[: 2 if other[:1] == (0,) else 1]
        for sign, text in _CLAUSE.findall(self.version):
            wanted = _numbers(text)
            if sign in _ORDERS:
                fits = _ORDERS[sign](other[: len(wanted)], wanted)
            else:
                known = wanted[:-1] if sign == "~=" else wanted
                fits = sign == "!=" or style[: len(known)] == known[: len(style)]
            if not fits:
                return False
        return True


def own_tool(project: Path, name: str) -> OwnTool | None:
    """Return a project's own black, ruff or flake8, or None if nothing names it."""
    return next(_known(project, name), None)


def installed_tools(project: Path) -> tuple[OwnTool, ...]:
    """Return the project's tools that can run."""
    return tuple(own for own in (own_tool(project, name) for name in sorted(_OLDEST)) if own and own.is_installed)


def agree(project: Path) -> None:
    """Record that a person lets the tools of a project's environment run. Raises UsageError."""
    if tools := installed_tools(project):
        consent.give_consent(project / tools[0].place, _names(tools))


def may_run(project: Path) -> bool:
    """Return whether a person agreed to these versions, and a sandbox works here."""
    from rails.sandbox.probe import label

    tools = installed_tools(project)
    agreed = consent.agreed_digest(project / tools[0].place) if tools else ""
    return bool(agreed) and agreed == _names(tools) and label().level > NONE


def workers(project: Path, home: Path) -> PythonPool:
    """Return a process with the Python of ``home``'s environment that reads ``project``, which may replace it."""
    from rails.gate.support.warm_processes import SCRIPT, PythonPool, contained

    python = home / installed_tools(home)[0].place / "bin" / "python"
    view = SandboxView(project, None, (SCRIPT, home))
    return PythonPool(1, contained((str(python), "-I", str(SCRIPT)), view), "The project's own Python")


def _names(tools: tuple[OwnTool, ...]) -> str:
    return ", ".join(map(str, tools))


def _known(project: Path, name: str) -> Iterator[OwnTool]:
    for folder in _ENVIRONMENTS:
        for found in (project / folder).glob(f"lib/python*/site-packages/{name}-*.dist-info"):
            yield OwnTool(name, found.name.removesuffix(".dist-info").rpartition("-")[2], folder)
    for form, patterns in _PLACES.items():
        for file in (file for pattern in patterns for file in sorted(project.glob(pattern))):
            if said := re.search(form.format(name), _text(file)):
                yield OwnTool(name, said[1].strip(), file.relative_to(project).as_posix())


def _text(file: Path) -> str:
    try:
        return read_ordinary(file, _BYTES).decode(errors="replace")
    except OSError:
        return ""


def _numbers(version: str) -> Numbers:
    return tuple(map(int, re.findall(r"\d+", version)))
