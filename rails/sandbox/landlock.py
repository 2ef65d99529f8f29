"""Level 1, without namespaces: Landlock, a system-call filter and a supervisor, on a copy.

Covered: writes outside the copy, reads of all but system, interpreters and copy, sockets, signals (Landlock 6),
leftover processes. Not covered: existence and size of files, process names, total memory.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rails.sandbox import bounds, seccomp
from rails.sandbox.layer import CACHES
from rails.sandbox.none import on_copy
from rails.sandbox.places import MINIMAL_ETC, SYSTEM, hidden_places, roots
from rails.sandbox.process import Launch, libc
from rails.sandbox.values import SandboxLimits, SandboxView

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_BENEATH: Final = 1
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _DROP_BOUND = 38, 22, 24
_FILTER: Final = 2
_CAPABILITIES: Final = 0x20080522
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}
#: Rights on files, as many as each version of Landlock knows.
_KNOWN: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_LOOK: Final = _EXECUTE | _READ | _LIST
_OF_FILES: Final = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")


@cache
def landlock_version() -> int:
    """Return the kernel's Landlock version, or 0."""
    if not seccomp.supported():
        return 0
    return max(0, int(libc().syscall(_CREATE, None, 0, 1)))


def launch(argv: Sequence[str], view: SandboxView, limits: SandboxLimits, join: Callable[[], None]) -> Launch:
    """Return how to start ``argv`` on the copy."""
    return on_copy(argv, view, _prepare(view, limits, join))


def _prepare(view: SandboxView, limits: SandboxLimits, join: Callable[[], None]) -> Callable[[], None]:
    """Return what the new process runs first; each step only removes rights."""
    library, abi, most = libc(), landlock_version(), limits.processes + bounds.own_threads()
    rules = list(_rules(view))
    handled = (1 << _KNOWN.get(abi, 16)) - 1
    # An older kernel takes a longer structure, if what it does not know is zero.
    attributes = struct.pack("QQQ", handled, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    code = ctypes.create_string_buffer(seccomp.syscall_filter(namespaces=False))
    capset = _CAPSET[os.uname().machine]

    def prepare() -> None:
        join()
        bounds.bound_process(limits)
        bounds.bound_processes(most)
        if os.geteuid() == 0:
            for number in range(64):
                library.prctl(_DROP_BOUND, number, 0, 0, 0)
            library.syscall(capset, struct.pack("II", _CAPABILITIES, 0), struct.pack("IIIIII", *(0,) * 6))
        ruleset = library.syscall(_CREATE, attributes, len(attributes), 0)
        if ruleset < 0:
            raise OSError(ctypes.get_errno(), "no Landlock")
        for place, rights in rules:
            descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            library.syscall(_ADD, ruleset, _BENEATH, struct.pack("=Qi", rights & handled, descriptor), 0)
            os.close(descriptor)
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if library.syscall(_RESTRICT, ruleset, 0):
            raise OSError(ctypes.get_errno(), "Landlock was refused")
        filtered = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(code))
        if library.prctl(_SET_SECCOMP, _FILTER, filtered, 0, 0):
            raise OSError(ctypes.get_errno(), "the filter of system calls was refused")

    return prepare


def _rules(view: SandboxView) -> Iterator[tuple[str, int]]:
    layer = view.layer
    assert layer
    shut = [place for place, _ in hidden_places(view)]
    if layer.writable:
        yield str(layer.root), -1
    else:
        yield from _without(layer.root, shut)
    yield str(layer.temporary), -1
    yield str(layer.output), _LOOK
    installed = [place for name in (".git", *CACHES) if not (place := view.project / name).is_symlink()]
    system = (*SYSTEM, Path("/proc"), *(Path("/etc", name) for name in MINIMAL_ETC))
    for place in (*system, *installed, *roots(view)):
        if place.exists():
            yield from _without(place, shut)
    for name in _DEVICES:
        yield f"/dev/{name}", _READ | _WRITE | _IOCTL


def _without(place: Path, hidden: Sequence[Path]) -> Iterator[tuple[str, int]]:
    """Yield read rights around the hidden paths; names can still be listed."""
    inside = [one for one in hidden if place in one.parents]
    if not inside:
        yield str(place), _LOOK if place.is_dir() else _READ | _EXECUTE
        return
    yield str(place), _LIST
    for entry in place.iterdir():
        if entry not in hidden and not entry.is_symlink():
            yield from _without(entry, inside)
