"""What one command may use is bounded exactly (limits, group, disk), and no bound loosens one that is there."""

import json
import os
import resource
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from rails.sandbox import bounds
from rails.sandbox.values import SandboxLimits

CHILD = """
import json, resource, sys
from rails.sandbox.bounds import bound_process, bound_processes
from rails.sandbox.values import SandboxLimits
facts = json.loads(sys.argv[1])
for kind, value in facts["before"].items():
    resource.setrlimit(getattr(resource, kind), (value, value))
bound_process(SandboxLimits(**facts["limits"]))
bound_processes(facts["processes"])
kinds = ("CORE", "FSIZE", "DATA", "AS", "NOFILE", "NPROC")
print(json.dumps({kind: resource.getrlimit(getattr(resource, f"RLIMIT_{kind}")) for kind in kinds}))
"""


def limits_of(before=None, processes=777, **limits):
    facts = json.dumps({"before": before or {}, "limits": limits, "processes": processes})
    done = subprocess.run([sys.executable, "-c", CHILD, facts], capture_output=True, text=True, check=True)
    return {kind: tuple(value) for kind, value in json.loads(done.stdout).items()}


def test_a_process_gets_each_limit_soft_and_hard_but_never_more_than_it_had():
    given = limits_of(memory=3 << 30, file_bytes=5 << 20)
    hard = {kind: resource.getrlimit(getattr(resource, f"RLIMIT_{kind}"))[1] for kind in given}
    wanted = {"CORE": 0, "FSIZE": 5 << 20, "DATA": 3 << 30, "AS": 64 << 30, "NOFILE": 4_096, "NPROC": 777}
    most = {
        kind: value if hard[kind] == resource.RLIM_INFINITY else min(value, hard[kind])
        for kind, value in wanted.items()
    }
    assert given == {kind: (value, value) for kind, value in most.items()}
    before = {"RLIMIT_NOFILE": 100, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_NPROC": 700}
    less = limits_of(before, memory=100 << 30, file_bytes=5 << 20)
    assert {kind: less[kind][1] for kind in ("NOFILE", "FSIZE", "NPROC", "AS")} == {
        **{"NOFILE": 100, "FSIZE": 1 << 20, "NPROC": 700},
        "AS": 100 << 30,
    }


def test_what_lies_on_the_disk_is_counted_at_every_depth_and_no_link_is_followed(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "other").write_bytes(b"x" * 10_000)
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 30)
    (tmp_path / "link").symlink_to("/usr")
    places = [tmp_path / "a", inner, inner / "file", tmp_path / "other", tmp_path / "sparse", tmp_path / "link"]
    assert bounds._on_disk(tmp_path) == sum(place.lstat().st_blocks * 512 for place in places) > 100_000
    assert bounds._on_disk(tmp_path / "gone") == 0


@pytest.mark.parametrize(("more", "exceeded"), [(0, False), (-1, True)])
def test_a_command_is_ended_once_its_layer_takes_more_than_it_may(tmp_path, monkeypatch, more, exceeded):
    monkeypatch.setattr(bounds, "_LOOK_SECONDS", 0.01)
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    looked = threading.Semaphore(0)
    ended = threading.Event()
    counted = bounds._on_disk
    monkeypatch.setattr(bounds, "_on_disk", lambda folder: looked.release() or counted(folder))
    bound = bounds.DiskBound(tmp_path, counted(tmp_path) + more, ended.set)
    assert looked.acquire(timeout=60)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "watches the disk")
    if exceeded:
        assert ended.wait(60)
    else:
        assert looked.acquire(timeout=60), "it goes on looking"
    bound.close()
    assert (bound.exceeded, ended.is_set()) == (exceeded, exceeded)


def test_the_threads_of_this_user_are_counted_and_of_nobody_else(monkeypatch):
    class Entry:
        def __init__(self, name, uid):
            self.name = name
            self.uid = uid

        def stat(self):
            return os.stat_result((0, 0, 0, 0, self.uid, 0, 0, 0, 0, 0))

    own = str(os.getpid())
    gone = "999999999"
    entries = [
        Entry("self", os.geteuid()),
        Entry(gone, os.geteuid()),
        Entry("1", os.geteuid() + 1),
        Entry(own, os.geteuid()),
    ]
    monkeypatch.setattr(os, "scandir", lambda _: entries)
    go = threading.Event()
    waiting = [threading.Thread(target=go.wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    counted = bounds.own_threads(), len(os.listdir("/proc/self/task"))
    go.set()
    assert counted[0] == counted[1] >= 4


@dataclass
class Groups:
    """A folder in the place of the kernel's, which makes the files of a group when its folder is made."""

    base: Path
    files: tuple[str, ...]

    def made(self):
        return [place for place in self.base.iterdir() if place.is_dir()]


@pytest.fixture(params=[("pids.max", "memory.max", "cgroup.procs"), ("memory.limit_in_bytes", "tasks", "cgroup.procs")])
def groups(request, tmp_path, monkeypatch):
    found = Groups(tmp_path / "groups", request.param)
    found.base.mkdir()
    (found.base / "cgroup.procs").touch()
    make = Path.mkdir

    def mkdir(place, *arguments, **more):
        make(place, *arguments, **more)
        if place.parent == found.base:
            for name in found.files:
                (place / name).touch()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(bounds, "_GROUPS", (str(tmp_path / "none"), str(found.base)))
    monkeypatch.setattr(bounds, "_remove", lambda group: [file.unlink() for file in group.iterdir()] and group.rmdir())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return found


def test_a_group_bounds_processes_and_memory_takes_who_joins_and_is_removed(groups):
    limits = SandboxLimits(memory=1 << 30, processes=50)
    with bounds.control_group(limits) as join:
        (group,) = groups.made()
        join()
        said = {file.name: file.read_text() for file in group.iterdir()}
    entrance = "tasks" if "tasks" in groups.files else "cgroup.procs"
    wanted = {"pids.max": "50", "memory.max": str(2 << 30), "memory.limit_in_bytes": str(2 << 30), entrance: "0"}
    assert said == {name: wanted.get(name, "") for name in groups.files}
    assert groups.made() == []


def test_a_group_is_removed_also_where_what_it_was_for_fails(groups):
    with pytest.raises(KeyError), bounds.control_group(SandboxLimits()):
        raise KeyError
    assert groups.made() == []


def test_a_group_that_bounds_nothing_is_not_joined(groups):
    groups.files = ("cgroup.procs",)
    with bounds.control_group(SandboxLimits()) as join:
        join()
        assert [file.read_text() for group in groups.made() for file in group.iterdir()] == [""]
    assert groups.made() == []


def test_only_root_makes_groups(groups, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    with bounds.control_group(SandboxLimits()) as join:
        join()
        assert groups.made() == []


def test_a_group_whose_last_process_ends_a_moment_later_is_removed_then(tmp_path, monkeypatch):
    group = tmp_path / "group"
    tries = []
    group.mkdir()
    remove = Path.rmdir

    def rmdir(place):
        tries.append(place)
        if len(tries) < 3:
            raise OSError(16, "Device or resource busy")
        remove(place)

    monkeypatch.setattr(Path, "rmdir", rmdir)
    bounds._remove(group)
    assert (len(tries), group.exists()) == (3, False)
