"""Killed by a tracer at every system call of apply, undo and redo, ours and git's; and a walk of 5,000 steps.

The tracer is strace: where it is not installed, the test says so and is skipped; tests/edits/test_kills.py is its
portable twin. Which process dies is the tracer's business: the one that makes the call for the n-th time, so
that git is killed as well as we are.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ..edits.kills import OPERATIONS, check, prepare
from ..edits.walk import Walk

ROOT = Path(__file__).parent.parent.parent
STEPS = int(os.environ.get("AI_RAILS_PROVE_STEPS", "5000"))
#: Every n-th of the calls, for a shorter run.
STRIDE = int(os.environ.get("AI_RAILS_PROVE_STRIDE", "1"))
#: Calls that change the disk, and those by which git is started and fed. A call not named here changes nothing.
CALLS = (
    *("write", "pwrite64", "ftruncate", "fsync", "fdatasync", "fchmod", "chmod", "rename", "renameat", "renameat2"),
    *("link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "flock", "vfork", "clone3", "clone"),
    *("execve", "pipe2", "wait4", "poll", "epoll_wait", "openat", "close", "read", "newfstatat"),
)
#: These are made hundreds of times while Python starts: only those on the project's own files count.
EVERYWHERE = ("openat", "close", "read", "newfstatat")
CHILD = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.edits.kills import OPERATIONS
OPERATIONS[sys.argv[1]](Path(sys.argv[2]))
"""


def own_paths(project):
    found = [path for path in project.rglob("*") if "objects" not in path.parts and "hooks" not in path.parts]
    return [str(path) for path in (project, *found, project / "made", project / "made/here")]


def run(project, name, call, number):
    """Run one operation under the tracer. Returns whether somebody was killed."""
    trace = project.parent / f"{project.name}.trace"
    command = ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={call}"]
    if call in EVERYWHERE:
        for path in own_paths(project):
            command += ["-P", path]
    command += ["-e", f"inject={call}:signal=SIGKILL:when={number}"]
    command += [sys.executable, "-c", CHILD.format(root=str(ROOT)), name, str(project)]
    subprocess.run(command, capture_output=True, check=False, cwd=ROOT, timeout=120)
    return "killed by SIGKILL" in trace.read_text(errors="replace")


def sweep(folder, made, name, call):
    """Kill one operation at every such call. Returns how often, and what was wrong."""
    kills = 0
    wrong = []
    for number in range(1, 400, STRIDE):
        project = folder / f"{name}-{call}-{number}"
        shutil.copytree(made[name], project)
        if not run(project, name, call, number):
            break
        kills += 1
        if problem := check(project, name, made):
            wrong.append(f"{name}, {call} {number}: {problem}")
        else:
            shutil.rmtree(project)
    return kills, wrong


@pytest.mark.timeout(14_400)
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_killed_at_every_system_call(tmp_path):
    made = prepare(tmp_path / "made")
    jobs = [(tmp_path, made, name, call) for name in OPERATIONS for call in CALLS]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda job: sweep(*job), jobs))
    kills = sum(count for count, _ in results)
    print(f"{kills} kills")
    assert [line for _, wrong in results for line in wrong] == []
    assert kills * STRIDE >= 500


@pytest.mark.timeout(3_600)
def test_killed_at_every_call_of_ours_and_of_git():
    """The suite takes some of these calls; here it takes all of them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/edits/test_kills.py"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "AI_RAILS_EVERY_CALL": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=3_000,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(14_400)
def test_a_long_walk_is_what_the_model_says(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    seed = int(os.environ.get("AI_RAILS_PROVE_SEED") or int.from_bytes(os.urandom(3)))
    print(f"seed {seed}")
    walk = Walk(tmp_path, seed)
    walk.run(STEPS)
    print(walk.done)
    assert min(walk.done.values()) > 0
