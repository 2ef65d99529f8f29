"""A thread that swaps folders and files for links while we work never gets a byte written outside."""

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from rails.core.changes import ChangeSet
from rails.core.errors import WorkspaceError
from rails.edits.apply import read_file, recover, write

from .helpers import at, change, save, tree

RACES = 1000
pytestmark = pytest.mark.usefixtures("quick_disk")


class Swapper(threading.Thread):
    """Swaps ``project/sub`` between a real folder and a link to a folder outside, as fast as it can."""

    def __init__(self, project, outside):
        super().__init__(daemon=True)
        self.project, self.outside = project, outside
        self.stopped, self.swaps = threading.Event(), 0

    def run(self):
        real, aside = self.project / "sub", self.project / "aside"
        while not self.stopped.wait(random.choice([0, 0, 0.0005, 0.002])):
            with suppress(OSError):
                os.rename(real, aside)
                os.symlink(self.outside, real)
                os.unlink(real)
                os.rename(aside, real)
                self.swaps += 1


def test_a_thousand_races_with_a_swapped_folder_write_nothing_outside(tmp_path):
    project, outside = tmp_path / "project", tmp_path / "outside"
    save(outside, "a.txt", "precious")
    save(project, "sub/a.txt", b"0")
    swapper = Swapper(project, outside)
    swapper.start()
    written, refused, last = 0, 0, b"0"
    number, end = 0, time.monotonic() + 60
    # On a busy machine one of the two may win every time for long.
    while number < RACES or (not (written and refused) and time.monotonic() < end):
        number += 1
        now = None
        with suppress(WorkspaceError):
            now = read_file(project, at("sub/a.txt"))
        assert now != b"precious", "a link was followed"
        before = now or last
        changes = ChangeSet((change("sub/a.txt", before, b"%d" % number), change("sub/n/new.txt", None, b"x")))
        try:
            write(changes, project)
            written, last = written + 1, b"%d" % number
        except WorkspaceError:
            refused += 1
        assert tree(outside) == {"a.txt": (b"precious", 0o644)}
        for folder in ("sub", "aside"):
            shutil.rmtree(project / folder / "n", ignore_errors=True)
    swapper.stopped.set()
    swapper.join(10)
    recover(project)
    assert tree(outside) == {"a.txt": (b"precious", 0o644)}
    assert os.listdir(outside) == ["a.txt"]
    assert written + refused >= RACES
    assert swapper.swaps > 100
    assert written > 0
    assert refused > 0


def test_a_file_swapped_for_a_link_between_look_and_write_is_not_followed(tmp_path):
    project = tmp_path / "project"
    outside = save(tmp_path, "outside.txt", "old")
    save(project, "a.txt", "old")

    def swap():
        (project / "a.txt").unlink()
        (project / "a.txt").symlink_to(outside)

    with pytest.raises(WorkspaceError):
        write(ChangeSet((change("a.txt", b"old", b"new"),)), project, on_intent=swap)
    assert outside.read_text() == "old"
    assert (project / "a.txt").is_symlink(), "the link is somebody else's and is put back"


def test_a_folder_moved_out_of_the_project_takes_nothing_along(tmp_path):
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    save(project, "sub/a.txt", "old")
    with pytest.raises(WorkspaceError, match="moved while we worked"):
        write(
            ChangeSet((change("sub/a.txt", b"old", b"new"),)),
            project,
            on_intent=lambda: os.rename(project / "sub", elsewhere),
        )
    assert (elsewhere / "a.txt").read_text() == "old"


HAMMER = """
import sys
from pathlib import Path
from rails.core import paths
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import StaleError
from rails.edits.apply import read_file, write
project, name = Path(sys.argv[1]), paths.parse_path("counter.txt")
done = 0
while done < 25:
    now = read_file(project, name)
    try:
        write(ChangeSet((FileChange(name, now, b"%d" % (int(now) + 1)),)), project)
        done += 1
    except StaleError:
        pass
"""


def test_two_processes_never_lose_each_others_writes(tmp_path):
    save(tmp_path, "counter.txt", b"0")
    command = [sys.executable, "-c", HAMMER, str(tmp_path)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert (tmp_path / "counter.txt").read_bytes() == b"75"
