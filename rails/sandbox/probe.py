"""The sandbox level of this machine, found by trying to break out.

A failed probe counts as an escape. Cached per process, and per user for this boot and bubblewrap, except after passing
faults (memory, descriptors, time).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from rails.core.atomic_file import replace_file
from rails.core.errors import RailsError
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
_SECONDS: Final = 20.0
_PASSING: Final = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.ETIMEDOUT)
)
_INSTALL: Final = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)"

_known: dict[str, Label] = {}


def label(*, fresh: bool = False) -> Label:
    """Return the best level and what the probes found; ``fresh`` tries again."""
    found = None if fresh else _known.get("") or _cached()
    if found is None:
        found, lasting = _best()
        if lasting:
            _keep(found)
    _known[""] = found
    return found


def at_level(level: int) -> tuple[Label, bool]:
    """Return a level's findings (level 0 if unavailable), and whether they last."""
    ready, why = _tool(level)
    if not ready:
        return Label(NONE, why=why), True
    text = "Landlock, seccomp; sockets and semaphores fail" if level == PARTIAL else f"bubblewrap {_version()}"
    tool = text + {OVERLAY: ", overlay", COPY: ", copy"}.get(level, "")
    try:
        held = _tries(Label(level, tool))
    except (RailsError, OSError) as error:
        cause = error.__cause__ or error
        passing = isinstance(cause, OSError) and cause.errno in _PASSING
        return Label(NONE, why=str(error).removesuffix(" Nothing was run.").removesuffix(".")), not passing
    broken = [name for name in _ABOUT if not held.get(name)]
    out = tuple(dict.fromkeys(_ABOUT[name] for name in broken))
    if "files" in out:
        why = f"{tool} did not hold ({', '.join(broken)})"
        return Label(NONE, why=why), True
    return Label(level, tool, (*out, *(_PARTLY if level == PARTIAL else ()))), True


def _best() -> tuple[Label, bool]:
    """Return the first level that holds files, with why those above do not."""
    reasons: list[str] = []
    lasting = True
    for level in (OVERLAY, COPY, PARTIAL):
        found, lasts = at_level(level)
        lasting &= lasts
        if found.level:
            return Label(found.level, found.tool, found.open, "; ".join(dict.fromkeys(reasons))), lasting
        reasons.append(found.why)
    return Label(NONE, why="; ".join(dict.fromkeys(reasons))), lasting


def _tool(level: int) -> tuple[bool, str]:
    if sys.platform != "linux":
        return False, f"there is no sandbox for {platform.system()} here; on Windows use WSL2"
    if level == PARTIAL:
        return landlock.landlock_version() > 0, "this kernel has no Landlock"
    return bool(bubblewrap.find()), f"bubblewrap is not installed; {_INSTALL}"


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
        raise TimeoutError(errno.ETIMEDOUT, f"no answer within {_SECONDS:g} s")
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


class _Kept(msgspec.Struct):
    key: str
    label: Label


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
        kept = msgspec.json.decode(_file().read_bytes(), type=_Kept)
        if kept.key == _key():
            return kept.label
    return None


def _keep(found: Label) -> None:
    with contextlib.suppress(OSError):
        replace_file(_file(), msgspec.json.encode(_Kept(_key(), found)), durable=False)
