"""The warm Node process with ESLint and Prettier (``node_worker.cjs``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.tool_request import Json
from rails.gate.support.check_command import program
from rails.gate.support.warm_processes import Pipe
from rails.sandbox import probe
from rails.sandbox.places import around_program, own_packages
from rails.sandbox.run import start
from rails.sandbox.values import SandboxView

#: Syntax trees die young: the collector copies what is left of them the more rarely, the more room there is.
_YOUNG: Final = ("--min-semi-space-size=48", "--max-semi-space-size=48")


def tool_folder() -> Path:
    """Return the folder of ``doctor --install javascript``."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("ai-rails")) / "javascript"


def find_node(project: Path) -> str | None:
    """Return Node.js's absolute path from ``PATH``, never inside the project."""
    found = Path(program("node", project))
    return str(found.resolve()) if found.is_absolute() else None


class NodeWorker:
    """One Node process for a project, contained as well as this machine can.

    ``home`` is the project itself where ``project`` replaces it. ``packages``: installed packages may load. ``stamps``
    are digests of loaded programs by folder.
    """

    def __init__(self, node: str, project: Path, home: Path | None = None, *, packages: bool = True) -> None:
        self.packages = packages
        self.stamps = dict[str, str]()
        script = Path(__file__).with_name("node_worker.cjs")
        own = tool_folder()
        flags = ["--no-warnings", "--experimental-vm-modules", "--max-old-space-size=1024", *_YOUNG]
        real = home or project
        around = [found for one in (real, *real.parents) for found in own_packages(one / "node_modules")]
        view = SandboxView(
            project,
            None,
            (script, script.with_name("globals.txt"), own, own.resolve(), real, *around, *around_program(Path(node))),
        )
        running = start((node, *flags, str(script)), view, label=probe.label())
        self._pipe = Pipe("The Node worker", running.process, running.end)
        self.about = self.ask({"op": "about", "roots": [*([str(project)] if packages else []), str(own)]})

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._pipe.alive

    def ask(self, request: Mapping[str, Json]) -> dict[str, Json]:
        """Return the answer. Raises CheckError for a crash, timeout or invalid answer."""
        try:
            return self._pipe.ask_json(request)
        except CheckError:
            self.close()
            raise

    def close(self) -> None:
        """Stop the process."""
        self._pipe.close()
