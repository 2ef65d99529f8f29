"""Files and folders that are swapped for links while we work never get a byte written outside."""

import os
import subprocess
import sys

import pytest

from rails.core.changes import ChangeSet
from rails.core.errors import WorkspaceError
from rails.edits.apply import write

from .helpers import change, save

pytestmark = pytest.mark.usefixtures("quick_disk")


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
    project = tmp_path / "project"
    elsewhere = tmp_path / "elsewhere"
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
from rails.core.errors import WorkspaceError
from rails.edits.apply import read_file, write
project, name = Path(sys.argv[1]), paths.parse_path("counter.txt")
done = 0
while done < 25:
    try:
        now = read_file(project, name)
        write(ChangeSet((FileChange(name, now, b"%d" % (int(now) + 1)),)), project)
        done += 1
    except WorkspaceError:
        pass  # another one wrote meanwhile, or writes for too long
"""


def test_two_processes_never_lose_each_others_writes(tmp_path):
    save(tmp_path, "counter.txt", b"0")
    command = [sys.executable, "-c", HAMMER, str(tmp_path)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(100) for process in running] == [0, 0, 0]
    assert (tmp_path / "counter.txt").read_bytes() == b"75"
