"""A file's lock has one holder, ends with it, and nobody waits for it for ever."""

import os
import subprocess
import sys
import threading
import time

import pytest

from rails.core import lock

HOLDER = (
    "import sys, pathlib; from rails.core import lock\n"
    "with lock.held(pathlib.Path(sys.argv[1])) as had:\n"
    "    print(had, flush=True); sys.stdin.read()"
)


def holder(file):
    """Start a process that holds the lock until its input is closed."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"True\n"
    return process


def test_another_process_has_it_until_it_ends_or_dies(tmp_path):
    file = tmp_path / "lock"
    for end in ("close", "kill"):
        process = holder(file)
        with lock.held(file) as had:
            assert had is False
        process.kill() if end == "kill" else process.stdin.close()
        process.wait(30)
        with lock.held(file) as had:
            assert had is True
        process.stdout.close()
        process.stdin.close()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_wait_ends_when_the_lock_is_free_and_at_the_latest_when_its_time_is_up(tmp_path):
    file = tmp_path / "lock"
    first = os.open(file, os.O_RDWR | os.O_CREAT)
    second = os.open(file, os.O_RDWR)
    try:
        assert lock.acquire(first)
        start = time.monotonic()
        assert lock.acquire(second, 0.05) is False
        assert time.monotonic() - start >= 0.05
        had = []
        waiting = threading.Thread(target=lambda: had.append(lock.acquire(second, 60)))
        waiting.start()
        os.close(first)
        waiting.join(60)
        assert had == [True]
    finally:
        os.close(second)


def test_readers_share_a_lock_and_a_writer_does_not(tmp_path):
    descriptors = [os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT) for _ in range(3)]
    try:
        assert lock.acquire(descriptors[0], shared=True)
        assert lock.acquire(descriptors[1], shared=True)
        assert not lock.acquire(descriptors[2])
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), lock.held(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()
