"""Levels 3 and 2: bubblewrap, in a user namespace with a mounted overlay.

Covered: files, network (own loopback only), processes (none outlives the command, or us), capabilities, new namespaces,
the terminal. Not covered: kernel faults, processor time. :func:`_mount` mounts the overlay, as bubblewrap 0.8 (Debian)
does not. Mounts end with the namespace's last process, also after a SIGKILL.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.processes.programs import first_program
from rails.sandbox import bounds, seccomp
from rails.sandbox.layer import CACHES
from rails.sandbox.overlay import OverlayLayer
from rails.sandbox.places import MINIMAL_ETC, SYSTEM, contained_environment, hidden_places, roots
from rails.sandbox.process import Launch, libc
from rails.sandbox.values import SandboxLimits, SandboxView

_NEW_NAMESPACES: Final = 0x10000000 | 0x00020000  # user and mount
_PRIVATE: Final = 0x40000 | 0x4000
_NOSUID_NODEV: Final = 2 | 4
#: What to do where there are no namespaces.
_REMEDY: Final = (
    "In Docker: --security-opt seccomp=unconfined; "
    "on Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
)
#: The user that a command is, to itself; outside it is whoever runs us, without any privilege.
_NOBODY: Final = "65534"
#: Bytes of the private ``/tmp`` and ``/dev/shm``.
_SCRATCH: Final = str(1 << 30)


@cache
def find() -> str:
    """Return bubblewrap's absolute path, or ""."""
    return first_program("bwrap", ("/usr/bin", "/usr/local/bin", "/bin")) or ""


@contextlib.contextmanager
def launch(
    argv: Sequence[str], view: SandboxView, limits: SandboxLimits, join: Callable[[], None], socket: Path | None
) -> Iterator[Launch]:
    """Yield how to start ``argv`` in namespaces; ``socket``: the proxy's."""
    assert view.layer, "whoever asks without one is given one"
    kept = status, filtered = os.memfd_create("status"), os.memfd_create("filter")
    try:
        os.write(filtered, seccomp.syscall_filter(namespaces=True))
        os.lseek(filtered, 0, os.SEEK_SET)
        words = [
            find(),
            *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", _NOBODY, "--gid", _NOBODY),
            *("--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
            *("--json-status-fd", str(status), "--seccomp", str(filtered)),
            *_mounts(view, socket),
            *("--chdir", str(view.project / view.folder)),
        ]
        for name, value in contained_environment(view, socket=socket).items():
            words += ["--setenv", name, value]
        yield Launch(
            (*words, "--", *argv),
            {},
            view.layer.folder,
            _prepare(limits, join, overlaid=isinstance(view.layer, OverlayLayer)),
            keep=kept,
            first=lambda: first_process(_report(status)),
            check=lambda errors: check_status(_report(status), errors),
        )
    finally:
        for descriptor in kept:
            os.close(descriptor)


def _report(status: int) -> bytes:
    return os.pread(status, 65_536, 0)


def _mounts(view: SandboxView, socket: Path | None) -> Iterator[str]:
    for place in SYSTEM:
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        else:
            yield from ("--ro-bind-try", str(place), str(place))
    yield from ("--proc", "/proc", "--dev", "/dev", "--size", _SCRATCH, "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--size", _SCRATCH, "--tmpfs", "/tmp", "--dir", "/tmp/home")  # noqa: S108
    layer = view.layer
    assert layer
    for name in MINIMAL_ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for file in layer.etc.iterdir():
        yield from ("--ro-bind", str(file), f"/etc/{file.name}")
    yield from ("--ro-bind", str(layer.output), "/tmp/output")  # noqa: S108
    for root in roots(view):
        yield from ("--ro-bind-try", str(root), str(root))
    yield from ("--bind" if layer.writable else "--ro-bind", str(layer.root), str(view.project))
    for name in (".git", *CACHES) if layer.writable else ():
        place = view.project / name
        if place.exists() and not place.is_symlink():
            yield from ("--ro-bind", str(place), str(place))
    for hid, is_folder in hidden_places(view):
        there = str(hid)
        yield from ("--tmpfs", there, "--remount-ro", there) if is_folder else ("--ro-bind", str(layer.empty), there)
    if socket:
        yield from ("--bind", str(socket), "/tmp/proxy")  # noqa: S108
    # Files of /proc/sys belong to root, which is who root's command is outside: no capability is asked for there.
    yield from ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")


def _prepare(limits: SandboxLimits, join: Callable[[], None], *, overlaid: bool) -> Callable[[], None]:
    library = libc()
    user = os.geteuid()
    group = os.getegid()
    identity = (("setgroups", b"deny"), ("uid_map", b"0 %d 1" % user), ("gid_map", b"0 %d 1" % group))

    def isolate() -> None:
        join()
        bounds.bound_process(limits)
        if library.unshare(_NEW_NAMESPACES):
            _fail("no user namespace")
        for name, text in identity:
            descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
            os.write(descriptor, text)
            os.close(descriptor)
        # After the namespace, which counts for itself: the other processes of this user are none of ours.
        bounds.bound_processes(limits.processes)
        if library.mount(None, b"/", None, _PRIVATE, None):
            _fail("no private mounts")
        if overlaid and library.mount(b"overlay", b"merged", b"overlay", _NOSUID_NODEV, OverlayLayer.OPTIONS):
            _fail("no overlay")

    def prepare() -> None:
        try:
            isolate()
        except OSError as error:  # nothing but this text comes through: it is read where bubblewrap's would be
            os.write(2, f"{error.strerror}. {_REMEDY}".encode())
            os._exit(1)

    return prepare


def _fail(what: str) -> None:
    raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def first_process(report: bytes) -> int:
    """Return the namespace's first process, with which all end; 0 if none yet."""
    found = re.search(rb'"child-pid": (\d+)', report)
    return int(found[1]) if found else 0


def check_status(report: bytes, errors: str) -> None:
    """Raise CheckError if bubblewrap could not start the command; no other way is tried."""
    if not first_process(report):
        words = errors.strip().splitlines()[-1:] or ["there was no message"]
        raise CheckError(f"The sandbox could not be made: {words[0][:300]}. Nothing was run.")
