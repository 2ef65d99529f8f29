"""Values: what a contained command sees, may use, and did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from rails.core.changes import ChangeSet
from rails.core.lazy_pattern import lazy

if TYPE_CHECKING:
    from rails.sandbox.layer import Layer

#: Levels, the highest first. See ``docs/sandbox.md`` for what each of them holds.
OVERLAY, COPY, PARTIAL, NONE = 3, 2, 1, 0


class SandboxLimits(Struct, frozen=True):
    """Bounds of a command; ``seconds`` None: as long as we live.

    ``memory``: writable bytes per process; ``disk_bytes``: all files of a layer; ``output``: bytes kept of its output.
    """

    seconds: float | None = 120.0
    memory: int = 4 << 30
    file_bytes: int = 1 << 30
    disk_bytes: int = 4 << 30
    processes: int = 512
    output: int = 1_000_000


class SandboxView(Struct, frozen=True):
    """The view of a command: the project at its own path, the system, nothing else.

    Without ``layer`` the project is read-only. ``read_only``: further folders. ``environment``: added to a built one.
    ``folder``: where it starts.
    """

    project: Path
    layer: Layer | None = None
    read_only: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."


class Result(Struct, frozen=True):
    """A finished command; ``exit_code`` is negative for a signal.

    ``left_out``: what is not proposed, in words. ``out`` and ``err`` are cut in the middle; ``printed`` counts bytes.
    """

    exit_code: int
    out: str
    err: str = ""
    timed_out: bool = False
    printed: int = 0
    seconds: float = 0.0
    changes: ChangeSet = field(default_factory=ChangeSet)
    left_out: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def status(self) -> str:
        """The end of the command, in words."""
        if self.timed_out:
            return f"stopped after {self.seconds:.3g} s (the time limit)"
        return f"ended by signal {-self.exit_code}" if self.exit_code < 0 else f"exit code {self.exit_code}"


class Label(Struct, frozen=True):
    """The level of containment, as probed.

    ``open``: what is not contained; ``why``: why no better, and what to install.
    """

    level: int
    tool: str = ""
    open: tuple[str, ...] = ()
    why: str = ""

    @property
    def contained(self) -> bool:
        """Whether nothing is open."""
        return self.level >= COPY and not self.open

    def __str__(self) -> str:
        if self.level == NONE:
            return f"NOT sandboxed: commands run as you, because {self.why}"
        held = [name for name in ("files", "network", "processes") if name not in self.open]
        rest = f". Not sandboxed: {', '.join(self.open)}" if self.open else ""
        return f"sandboxed: {', '.join(held)} ({self.tool}){rest}"


#: A host that a command may reach: ``name``, ``*.name``, with ``:port`` for another than 80 and 443.
HOST: Final = lazy(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,250})(:\d{1,5})?", re.ASCII)
#: No network at all.
OFFLINE: Final[tuple[str, ...]] = ()
