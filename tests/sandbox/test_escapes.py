"""No try gets out of the sandbox, on any level, as whoever runs the tests: root or an ordinary user."""

import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rails.sandbox.run import layer_for, run
from rails.sandbox.values import OVERLAY, SandboxLimits, SandboxView
from tests.sandbox import escapes
from tests.sandbox.conftest import LEVELS, label_of

SCRIPT = Path(escapes.__file__)
LIBC = ctypes.CDLL(None)


def tree(folder):
    """Return every name, kind, mode, owner, time and byte of a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        body = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (info.st_mode, info.st_uid, info.st_mtime_ns, info.st_nlink, body)
    return found


def effects(level, base):
    """Run all tries at a level; return what each came to, and what was seen outside."""
    label = label_of(level)
    outside = base / "outside"
    project = base / "project"
    for folder in (outside, project / ".git" / "hooks", project / ".rails", project / ".venv" / "bin"):
        folder.mkdir(parents=True)
    (outside / "file").write_text("untouched")
    (project / ".git" / "config").write_text("[core]\n")
    (project / ".git" / "HEAD").write_text("ref: x\n")
    (project / ".venv" / "bin" / "tool").write_text("tool")
    home_file = Path.home() / f".ai-rails-escape-{os.getpid()}"
    home_file.write_text("secret")
    before = (tree(outside), tree(project))
    flag = f"canary-{os.getpid()}"
    with (
        subprocess.Popen(["sleep", "300"], cwd=outside) as victim,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
        layer_for(project, label=label) as layer,
    ):
        udp.bind(("127.0.0.1", 0))
        place = str(base / "s")
        unix.bind(place)
        datagrams.bind(f"{place}d")
        abstract.bind(f"\0{flag}")
        for one in (unix, abstract):
            one.listen()
        facts = {
            "outside": str(outside),
            "home_file": str(home_file),
            "victim": victim.pid,
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": place,
            "abstract": flag,
            "space": str(Path("/proc/self/ns/pid").readlink()),
            "linked": level == 1,  # git's folder is a link there, which is the copy's own to rename
            "overlay": level == OVERLAY,
            "namespaces": level > 1,
            "shm": LIBC.shmget(0, 4096, 0o1600),
            "harness": os.getpid(),
        }
        nice = os.getpriority(os.PRIO_PROCESS, victim.pid)
        Path("/dev/shm", flag).write_text("secret")
        argv = (sys.executable, "-I", "-S", str(SCRIPT), json.dumps(facts))
        view = SandboxView(project, layer, (SCRIPT,))
        result = run(argv, view, limits=SandboxLimits(seconds=60), label=label, collect=False)
        seen = {"outside": tree(outside) == before[0], "project": tree(project) == before[1]}
        seen["the process lives"] = victim.poll() is None
        seen["its priority"] = os.getpriority(os.PRIO_PROCESS, victim.pid) == nice
        seen["the shared memory"] = LIBC.shmctl(facts["shm"], 2, ctypes.create_string_buffer(256)) == 0
        LIBC.shmctl(facts["shm"], 0, None)
        Path("/dev/shm", flag).unlink()
        for name, one in (("udp", udp), ("datagrams", datagrams), ("tcp", tcp), ("unix", unix), ("abstract", abstract)):
            one.setblocking(False)
            try:
                one.accept() if one in (tcp, unix, abstract) else one.recv(1)
                seen[name] = False
            except BlockingIOError:
                seen[name] = True
        victim.kill()
    home_file.unlink()
    assert result.out, result.err
    return json.loads(result.out), seen


@pytest.mark.parametrize("level", LEVELS)
def test_no_try_gets_out_and_nothing_is_seen_outside(level, tmp_path):
    tried, seen = effects(level, tmp_path)
    assert tried == dict.fromkeys(escapes.TRIES, False)
    assert all(seen.values()), seen
