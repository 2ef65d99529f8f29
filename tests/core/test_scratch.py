"""Scratch folders are private and gone afterwards."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rails.core import scratch


def test_a_scratch_folder_is_private_named_and_gone_afterwards():
    with scratch.scratch_folder("check") as name:
        folder = Path(name)
        assert folder.name.startswith("ai-rails-check-")
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "below").mkdir()
        (folder / "below" / "file").touch()
    assert not folder.exists()


def test_a_kept_folder_stays_until_somebody_removes_it():
    folder = scratch.kept_folder("demo")
    try:
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o777 == 0o700
    finally:
        folder.rmdir()


MAKES = """
import sys, time
from pathlib import Path
from rails.core import scratch
folder = scratch.kept_folder("overlay")
(folder / "held.py").touch()
with scratch.scratch_folder("hook-test") as other:
    print(folder, other, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_process_leaves_is_removed_by_the_next_and_what_a_living_one_has_is_not(tmp_path, way):
    def started():
        command = [sys.executable, "-c", MAKES]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, text=True, **pipes)
        return process, [Path(name) for name in process.stdout.readline().split()]

    begun = [started() for _ in range(2)]
    (killed, left), (alive, held) = begun
    strangers = [tmp_path / "ai-rails-overlay-1-1-abc", tmp_path / "ai-rails-demo-abc", tmp_path / "ai-rails-x-y-z-a"]
    strangers.append(tmp_path / f"ai-rails-x-{9**30}-{scratch._numbers()}-a")
    for folder in strangers:  # of another container, of a demo, of nobody
        folder.mkdir()
    killed.send_signal(way)
    killed.wait(30)
    third, own = started()
    assert [folder.exists() for folder in (*left, *held, *own)] == [False] * 2 + [True] * 4
    assert all(folder.exists() for folder in strangers)
    for process in (alive, third):
        process.communicate("")
    assert not held[1].exists()
