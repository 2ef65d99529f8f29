"""The warm Node process with ESLint and Prettier (``node_worker.cjs``)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rails.gate.support.check_command import program
from rails.gate.support.warm_processes import Worker, contained
from rails.sandbox.places import around_program, own_packages
from rails.sandbox.values import SandboxView

_SCRIPT: Final = Path(__file__).with_name("node_worker.cjs")
#: Syntax trees die young: the collector copies what is left of them the more rarely, the more room there is.
_YOUNG: Final = ("--min-semi-space-size=48", "--max-semi-space-size=48")
_FLAGS: Final = (
    "--no-warnings",
    "--experimental-vm-modules",
    "--max-old-space-size=1024",
    *_YOUNG,
)


def tool_folder() -> Path:
    """Return the folder of ``doctor --install javascript``."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("ai-rails")) / "javascript"


def find_node(project: Path) -> str | None:
    """Return Node.js's absolute path from ``PATH``, never inside the project."""
    found = Path(program("node", project))
    return str(found.resolve()) if found.is_absolute() else None


class NodeWorker(Worker):
    """One Node process for a project, contained as well as this machine can.

    ``home`` is the project itself where ``project`` replaces it. ``packages``: installed packages may load. ``stamps``
    are digests of loaded programs by folder.
    """

    def __init__(self, node: str, project: Path, home: Path | None = None, *, packages: bool = True) -> None:
        self.packages = packages
        self.stamps = dict[str, str]()
        own = tool_folder()
        real = home or project
        roots = (str(project), str(own)) if packages else (str(own),)
        needed = [
            _SCRIPT,
            _SCRIPT.with_name("globals.txt"),
            own,
            own.resolve(),
            real,
        ]
        for folder in (real, *real.parents):
            needed += own_packages(folder / "node_modules")
        needed += around_program(Path(node))
        view = SandboxView(project, None, tuple(needed))
        super().__init__("The Node worker", contained((node, *_FLAGS, str(_SCRIPT), *roots), view))
