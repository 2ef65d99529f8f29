"""What the disk is asked for: every change in the folder that is held, new files private, links never followed."""

import os

from rails.edits import safe_files
from rails.edits.safe_files import Disk


def test_every_call_that_changes_the_disk_is_made_in_the_folder_that_is_held(monkeypatch):
    calls = []
    disk = Disk()

    class System:
        def __getattr__(self, name):
            return lambda *words, **named: calls.append((name, words, named)) or 7

    monkeypatch.setattr(safe_files, "os", System())
    assert disk.create("new", 3) == 7
    disk.set_owner(4, (11, 12))
    disk.set_mode(4, 0o640)
    disk.sync(4)
    disk.rename("one", "two", 3)
    disk.link("one", "two", 3, 5)
    disk.unlink("one", 3)
    disk.make_folder("one", 3)
    disk.remove_folder("one", 3)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    within = {"src_dir_fd": 3, "dst_dir_fd": 3}
    assert calls == [
        ("open", ("new", flags, 0o600), {"dir_fd": 3}),
        ("fchown", (4, 11, 12), {}),
        ("fchmod", (4, 0o640), {}),
        ("fsync", (4,), {}),
        ("rename", ("one", "two"), within),
        ("link", ("one", "two"), {"src_dir_fd": 3, "dst_dir_fd": 5, "follow_symlinks": False}),
        ("unlink", ("one",), {"dir_fd": 3}),
        ("mkdir", ("one", 0o777), {"dir_fd": 3}),
        ("rmdir", ("one",), {"dir_fd": 3}),
    ]
