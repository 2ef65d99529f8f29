"""Runs in a sandbox, tries to get out, prints what was blocked.

A separate script (``python -I -S``), imports nothing of ours.
"""

import contextlib
import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path


def _held(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, ValueError):
        return True
    return False


def _write(path: str) -> None:
    with Path(path).open("r+b") as file:
        file.write(b"broken")


def _read_home(home: str) -> None:
    """Find more in the user's home than folders leading to something shown."""
    if not any(entry.is_file(follow_symlinks=False) for entry in os.scandir(home)):
        raise OSError


def _connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=2).close()


def _send(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        sender.send(b"out")
        sender.settimeout(0.05)
        with contextlib.suppress(TimeoutError):
            sender.recv(1)  # an empty loopback answers at once that nobody listens


def _signal_parent(pid: int, space: str) -> None:
    """Signal the starter; in a PID namespace its number is nobody's."""
    if str(Path("/proc/self/ns/pid").readlink()) != space:
        raise OSError
    os.kill(pid, 0)


def _mount() -> None:
    if ctypes.CDLL(None).mount(b"none", b"/tmp", b"tmpfs", 0, None):
        raise OSError


def _main(facts: dict[str, object]) -> None:
    tries: dict[str, Callable[[], object]] = {
        "write outside": lambda: _write(str(facts["outside"])),
        "read outside": lambda: Path(str(facts["outside"])).read_bytes(),
        "read home": lambda: _read_home(str(facts["home"])),
        "loopback": lambda: _connect(int(str(facts["tcp"]))),
        "UDP": lambda: _send(int(str(facts["udp"]))),
        "signal": lambda: _signal_parent(int(str(facts["pid"])), str(facts["space"])),
        "mount": _mount,
    }
    sys.stdout.write(json.dumps({name: _held(attempt) for name, attempt in tries.items()}))


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
