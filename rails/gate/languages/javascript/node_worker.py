"""The Node process that keeps ESLint and Prettier warm, and where it comes from (``node_worker.cjs``)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.tool_request import Json
from rails.gate.support.warm_processes import Pipe, json_line
from rails.sandbox import probe
from rails.sandbox.places import around_program, own_packages
from rails.sandbox.run import start
from rails.sandbox.values import SandboxView

#: Syntax trees die young: the collector copies what is left of them the more rarely, the more room there is.
_YOUNG: Final = ("--min-semi-space-size=48", "--max-semi-space-size=48")


def tool_folder() -> Path:
    """Return the folder of the user's own JavaScript tools, where ``doctor --install javascript`` puts them."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("ai-rails")) / "javascript"


def find_node(project: Path) -> str | None:
    """Return Node.js by absolute path, from the user's ``PATH`` without what lies in the project."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [
        folder
        for folder in folders
        if Path(folder).is_absolute() and project not in Path(folder, "x").resolve().parents
    ]
    found = shutil.which("node", path=os.pathsep.join(safe))
    return str(Path(found).resolve()) if found else None


class NodeWorker:
    """One Node process for one project (``node_worker.cjs``), contained as well as this machine can.

    ``home`` is the project itself where ``project`` is a folder that stands for it. ``packages`` is whether it may load
    what the project has installed. ``stamps`` are digests of the programs that it has loaded, by their folders.
    """

    def __init__(self, node: str, project: Path, home: Path | None = None, *, packages: bool = True) -> None:
        self.packages, self.stamps = packages, dict[str, str]()
        script, own = Path(__file__).with_name("node_worker.cjs"), tool_folder()
        flags = ["--no-warnings", "--experimental-vm-modules", "--max-old-space-size=1024", *_YOUNG]
        real = home or project
        around = [found for one in (real, *real.parents) for found in own_packages(one / "node_modules")]
        view = SandboxView(
            project,
            None,
            (script, script.with_name("globals.txt"), own, own.resolve(), real, *around, *around_program(Path(node))),
        )
        running = start((node, *flags, str(script)), view, label=probe.label())
        self._pipe = Pipe("The Node worker", running.process, json_line, running.end)
        self.about = self.ask({"op": "about", "roots": [*([str(project)] if packages else []), str(own)]})

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._pipe.alive

    @property
    def pid(self) -> int:
        """The process id, for reports and tests."""
        return self._pipe.pid

    def ask(self, request: Mapping[str, Json]) -> dict[str, Json]:
        """Return the worker's answer. Raises CheckError if it crashes, hangs or answers nonsense."""
        try:
            return self._pipe.ask_json(request)
        except CheckError:
            self.close()
            raise

    def close(self) -> None:
        """Stop the process."""
        self._pipe.close()
