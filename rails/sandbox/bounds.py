"""What one command may use: limits of its processes, where root runs us a control group besides, and the disk."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rails.sandbox.view import SandboxLimits

#: Address space is only bounded against a runaway: engines of JavaScript reserve far more than they use.
_RESERVED: Final = 64 << 30
_FILES: Final = 4_096
#: Where the control groups of version 1 and 2 are.
_GROUPS: Final = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory", "/sys/fs/cgroup")
#: How long a command runs before it is looked at what it has written, and at least between two looks.
_LOOK_SECONDS: Final = 1.0


class DiskBound:
    """Ends a command once all files of its layer together take more than ``most`` bytes on the disk.

    Not covered: what is written between two looks; one file has a bound of its own in the kernel.
    """

    def __init__(self, folder: Path, most: int, end: Callable[[], object]) -> None:
        self.exceeded = False
        self._folder, self._most, self._end = folder, most, end
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="watches the disk").start()

    def _watch(self) -> None:
        pause = _LOOK_SECONDS
        while not self._over.wait(pause):
            began = time.monotonic()
            if _on_disk(self._folder) > self._most:
                self.exceeded = True
                self._end()
                return
            pause = max(_LOOK_SECONDS, 10 * (time.monotonic() - began))

    def close(self) -> None:
        """Look no more."""
        self._over.set()


def _on_disk(folder: Path) -> int:
    """Return what all below a folder takes; what is gone meanwhile, or shut, is left out."""
    total, waiting = 0, [os.fspath(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total


def bound_process(limits: SandboxLimits) -> None:
    """Set the limits of the calling process and all that it starts, but not on how many those are."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_AS: max(_RESERVED, limits.memory),
        resource.RLIMIT_NOFILE: _FILES,
    }
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))


def bound_processes(most: int) -> None:
    """Bound how many processes the user of the calling process may have here."""
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    value = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (value, value))


def own_threads() -> int:
    """Return how many threads this user has: where no namespace counts for itself, the limit counts them all."""
    count = 0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if entry.name.isdigit() and entry.stat().st_uid == os.geteuid():
                count += len(list(Path("/proc", entry.name, "task").iterdir()))
    return count


@contextlib.contextmanager
def control_group(limits: SandboxLimits) -> Iterator[Callable[[], None]]:
    """Yield what puts the calling process into a control group of its own; nothing where there can be none.

    The kernel does not count the processes of root. Only root may make groups, as a rule, so this is for root alone.
    """
    name, made = f"ai-rails-{uuid.uuid4().hex[:12]}", []
    for base in map(Path, _GROUPS if os.geteuid() == 0 else ()):
        group = base / name
        with contextlib.suppress(OSError):
            if not (base / "cgroup.procs").exists():
                continue
            group.mkdir()
            made.append(group)
            _set(group, "pids.max", limits.processes)
            _set(group, "memory.max", 2 * limits.memory)
            _set(group, "memory.limit_in_bytes", 2 * limits.memory)
    places = [_entrance(group) for group in made if _bounds(group)]

    def join() -> None:
        for place in places:
            with contextlib.suppress(OSError), place.open("w") as procs:
                procs.write("0")

    try:
        yield join
    finally:
        for group in made:
            _remove(group)


def _entrance(group: Path) -> Path:
    """Return where a process puts itself into a group.

    Version 1 lets a single thread in, for which the kernel does not wait until all others stand still.
    """
    return next(file for name in ("tasks", "cgroup.procs") if (file := group / name).exists())


def _remove(group: Path) -> None:
    """Remove a group; the last process of a killed namespace leaves it a moment after the first one."""
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.002)
        else:
            return


def _set(group: Path, name: str, value: int) -> None:
    with contextlib.suppress(OSError):  # a group has no file for what it does not bound, and takes none
        (group / name).write_text(str(value))


def _bounds(group: Path) -> bool:
    return any((group / name).exists() for name in ("pids.max", "memory.max", "memory.limit_in_bytes"))
