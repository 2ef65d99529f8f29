"""Figures of writing, on the disk that holds the temporary folder; kills are in tests/prove/test_history_kills.py.

python tests/benchmarks/apply.py write       latency of a batch beside plain open().write()
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from rails.core import paths  # noqa: E402
from rails.core.changes import ChangeSet, FileChange  # noqa: E402
from rails.edits.apply import write  # noqa: E402
from rails.edits.safe_files import Disk  # noqa: E402

OLD = b"x = 1\n" * 700
NEW = b"x = 2\n" * 700


class NoSync(Disk):
    """The same calls without waiting for the disk."""

    def sync(self, descriptor):
        pass


def batch(project, count, before=OLD, after=NEW):
    changes = []
    for number in range(count):
        (project / f"f{number}.py").write_bytes(before)
        changes.append(FileChange(paths.parse_path(f"f{number}.py"), before, after))
    return ChangeSet(tuple(changes))


def plain(project, changes, sync):
    for change in changes.changes:
        with open(project / str(change.path), "wb") as file:
            file.write(change.after)
            if sync:
                file.flush()
                os.fsync(file.fileno())


def median_ms(job, prepare, times=25):
    taken = []
    for _ in range(times):
        prepared = prepare()
        start = time.perf_counter()
        job(prepared)
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def run_write():
    print("| Batch | apply | apply, no fsync | open().write() | open().write() + fsync |")
    print("|---|---|---|---|---|")
    for count in (1, 3, 50):
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder)
            jobs = (
                lambda changes, project=project: write(changes, project),
                lambda changes, project=project: write(changes, project, disk=NoSync()),
                lambda changes, project=project: plain(project, changes, False),
                lambda changes, project=project: plain(project, changes, True),
            )
            cells = [median_ms(job, lambda: batch(project, count)) for job in jobs]  # noqa: B023
        print(f"| {count} files | " + " | ".join(f"{cell:.2f} ms" for cell in cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write"])
    parser.parse_args()
    run_write()
