"""The sandbox level of this machine, found by trying to break out.

A failed probe counts as an escape. Cached per process and, unless a higher level was tried in vain, which may pass, per
user for this boot and bubblewrap.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from rails.core.atomic_file import replace_file
from rails.core.errors import CheckError, RailsError
from rails.core.scratch import scratch_folder
from rails.sandbox import bubblewrap, landlock
from rails.sandbox.values import COPY, NONE, OVERLAY, PARTIAL, Label, SandboxLimits, SandboxView

#: What each try is about, by what the label says.
_ABOUT: Final = {
    "write outside": "files",
    "read outside": "files",
    "read home": "files",
    "loopback": "network",
    "UDP": "network",
    "signal": "processes",
    "mount": "processes",
}
#: What level 1 leaves open besides.
_PARTLY: Final = ("sizes of files, command lines of processes",)
_LEVELS: Final = (OVERLAY, COPY, PARTIAL)
_SECONDS: Final = 20.0
_INSTALL: Final = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)"

_known: dict[str, Label] = {}


def label(*, fresh: bool = False) -> Label:
    """Return the best level and what the probes found; ``fresh`` tries again."""
    found = None if fresh else _known.get("") or _cached()
    if found is None:
        found = _best()
        if all(_lack(level) for level in _LEVELS if level > found.level):
            _keep(found)
    _known[""] = found
    return found


def at_level(level: int) -> Label:
    """Return a level's findings, level 0 and why if it cannot be had."""
    if why := _lack(level):
        return Label(NONE, why=why)
    text = "Landlock, seccomp; sockets and semaphores fail" if level == PARTIAL else f"bubblewrap {_version()}"
    tool = text + {OVERLAY: ", overlay", COPY: ", copy"}.get(level, "")
    try:
        held = _tries(Label(level, tool))
    except (RailsError, OSError) as error:
        return Label(NONE, why=str(error).removesuffix(" Nothing was run.").removesuffix("."))
    broken = [name for name in _ABOUT if not held.get(name)]
    out = dict.fromkeys(_ABOUT[name] for name in broken)
    if "files" in out:
        return Label(NONE, why=f"{tool} did not hold ({', '.join(broken)})")
    return Label(level, tool, (*out, *(_PARTLY if level == PARTIAL else ())))


def _best() -> Label:
    """Return the first level that holds files, with why those above do not."""
    above: list[str] = []
    for level in _LEVELS:
        found = at_level(level)
        if found.level:
            break
        above.append(found.why)
    return replace(found, why="; ".join(dict.fromkeys(above)))


def _lack(level: int) -> str:
    if sys.platform != "linux":
        return f"there is no sandbox for {platform.system()} here; on Windows use WSL2"
    if level == PARTIAL:
        return "" if landlock.landlock_version() else "this kernel has no Landlock"
    return "" if bubblewrap.find() else f"bubblewrap is not installed; {_INSTALL}"


def _version() -> str:
    from rails.processes.programs import run_tool

    with contextlib.suppress(RailsError):
        return run_tool([bubblewrap.find(), "--version"], timeout=_SECONDS).out.decode().split()[-1].rsplit(".", 1)[0]
    return ""


def _tries(label: Label) -> dict[str, bool]:
    """Return for each probe whether it was contained. Raises CheckError if nothing starts."""
    from rails.sandbox.run import layer_for, run

    with scratch_folder("probe") as folder:
        project, outside = Path(folder, "project"), Path(folder, "outside")
        project.mkdir()
        outside.write_text("secret")
        with layer_for(project, label=label) as layer, _listeners() as ports:
            space = str(Path("/proc/self/ns/pid").readlink())
            facts = {"outside": str(outside), "home": str(Path.home()), "pid": os.getpid(), "space": space, **ports}
            argv = (sys.executable, "-I", "-S", str(Path(__file__).with_name("escape_probe.py")), json.dumps(facts))
            ran = run(
                argv,
                SandboxView(project, layer, (Path(__file__).parent,)),
                limits=SandboxLimits(seconds=_SECONDS),
                label=label,
            )
        got_out = outside.read_text() != "secret"
    if ran.timed_out:
        raise CheckError(f"There was no answer within {_SECONDS:g} s")
    try:
        held = {name: value is True for name, value in json.loads(ran.out).items()}
    except (ValueError, AttributeError):
        return {}
    return {**held, "write outside": held.get("write outside", False) and not got_out}


@contextlib.contextmanager
def _listeners() -> Iterator[dict[str, int]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))
        yield {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}


# -- kept for the next process ------------------------------------------------------------------------


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(cache, "ai-rails", "sandbox.json")


def _key() -> str:
    """Return what the answer depends on: boot, bubblewrap, user, namespaces."""
    own = sorted(Path(__file__).parent.glob("*.py"))
    stamps = [path.stat().st_mtime_ns for path in (*own, *map(Path, filter(None, [bubblewrap.find()])))]
    space = [str(Path("/proc/self/ns", name).readlink()) for name in ("user", "mnt", "net")]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    return json.dumps([boot, platform.release(), os.geteuid(), sys.executable, *space, *stamps])


def _cached() -> Label | None:
    with contextlib.suppress(OSError, ValueError):
        key, found = msgspec.json.decode(_file().read_bytes(), type=tuple[str, Label])
        return found if key == _key() else None
    return None


def _keep(found: Label) -> None:
    with contextlib.suppress(OSError):
        replace_file(_file(), msgspec.json.encode((_key(), found)), durable=False)
