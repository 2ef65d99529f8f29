"""Bounds of a command: process limits, a control group under root, the disk."""

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

from rails.sandbox.values import SandboxLimits

#: Address space is only bounded against a runaway: engines of JavaScript reserve far more than they use.
_RESERVED: Final = 64 << 30
_FILES: Final = 4_096
#: Where the control groups of version 1 and 2 are.
_GROUPS: Final = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory", "/sys/fs/cgroup")
#: How long a command runs before it is looked at what it has written, and at least between two looks.
_LOOK_SECONDS: Final = 1.0


class DiskBound:
    """Ends a command once its layer's files take more than ``most`` bytes on disk.

    Not covered: writes between two looks; one file has its own bound in the kernel.
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
        """Stop looking."""
        self._over.set()


def _on_disk(folder: Path) -> int:
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
    """Set all limits but the number of processes, for the calling process and its children."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_AS: max(_RESERVED, limits.memory),
        resource.RLIMIT_NOFILE: _FILES,
    }
    for kind, most in wanted.items():
        _bound(kind, most)


def bound_processes(most: int) -> None:
    """Bound the number of processes of this user."""
    _bound(resource.RLIMIT_NPROC, most)


def _bound(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (value, value))


def own_threads() -> int:
    """Return this user's threads: without a namespace, the limit counts them all."""
    count = 0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if entry.name.isdigit() and entry.stat().st_uid == os.geteuid():
                count += len(list(Path("/proc", entry.name, "task").iterdir()))
    return count


@contextlib.contextmanager
def control_group(limits: SandboxLimits) -> Iterator[Callable[[], None]]:
    """Yield what moves the calling process into its own control group, if possible.

    Only for root: the kernel does not count root's processes, and only root may make groups.
    """
    name = f"ai-rails-{uuid.uuid4().hex[:12]}"
    made = []
    for base in map(Path, () if os.geteuid() else _GROUPS):
        group = base / name
        with contextlib.suppress(OSError):
            if (base / "cgroup.procs").exists():
                group.mkdir()
                made.append(group)
    places = [_entrance(group) for group in made if _is_bounded(group, limits)]

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
    """Return the file to enter a group. Version 1 takes single threads, without the kernel's wait for the others."""
    return next(file for name in ("tasks", "cgroup.procs") if (file := group / name).exists())


def _remove(group: Path) -> None:
    """Remove a group; the last process of a killed namespace may leave it late."""
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.002)
        else:
            return


def _is_bounded(group: Path, limits: SandboxLimits) -> bool:
    memory = 2 * limits.memory
    wanted = {"pids.max": limits.processes, "memory.max": memory, "memory.limit_in_bytes": memory}
    there = {name: value for name, value in wanted.items() if (group / name).exists()}
    for name, value in there.items():
        with contextlib.suppress(OSError), (group / name).open("r+") as file:
            file.write(f"{value}")
    return bool(there)
