"""Figures of writing and of the history, on the disk that holds the temporary folder.

python tests/benchmarks/apply.py write       latency of a batch beside plain open().write()
python tests/benchmarks/apply.py history     a change with its checkpoint in projects of 100, 10,000 and 100,000 files
python tests/benchmarks/apply.py strace      kill -9 at every system call that changes the disk
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from rails.core import paths  # noqa: E402
from rails.core.changes import ChangeSet, FileChange  # noqa: E402
from rails.edits.apply import recover, write  # noqa: E402
from rails.edits.checkpoint_commits import StepFacts  # noqa: E402
from rails.edits.checkpoints import History  # noqa: E402
from rails.edits.safe_files import Disk  # noqa: E402

OLD, NEW = b"x = 1\n" * 700, b"x = 2\n" * 700


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


def run_history():
    print("| Files in the project | first change | median of the next 20 | undo |")
    print("|---|---|---|---|")
    for count in (100, 10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder)
            for number in range(count):
                path = project / f"d{number % 500}" / f"{number}.txt"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(b"x")
            history = History(project)
            taken = []
            for _ in range(21):
                changes = batch(project, 1)
                start = time.perf_counter()
                write(changes, project, step=StepFacts("s", "m"))
                taken.append((time.perf_counter() - start) * 1000)
            start = time.perf_counter()
            history.undo("s")
            undo = (time.perf_counter() - start) * 1000
        print(f"| {count:,} | {taken[0]:.1f} ms | {statistics.median(taken[1:]):.1f} ms | {undo:.1f} ms |")


CHILD = """
import sys
from pathlib import Path
from rails.core import paths
from rails.core.changes import ChangeSet, FileChange
from rails.edits.apply import write
old, new = b"old\\n" * 500, b"new\\n" * 700
files = [("a.txt", old, new), ("made/b.txt", None, new), ("gone.txt", old, None)]
write(ChangeSet(tuple(FileChange(paths.parse_path(n), b, a) for n, b, a in files)), Path(sys.argv[1]))
"""
CALLS = [
    "openat",
    "write",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "linkat",
    "unlinkat",
    "mkdirat",
    "fchmod",
    "ftruncate",
    "pwrite64",
]
ERRORS = ("EIO", "ENOSPC")


def run_strace():
    if not shutil.which("strace"):
        print("strace is not installed: nothing was run. tests/edits/test_faults.py is its portable twin.")
        return
    with tempfile.TemporaryDirectory() as folder:
        before, after = snapshot(fresh(Path(folder) / "before")), None
        done = fresh(Path(folder) / "after")
        subprocess.run([sys.executable, "-c", CHILD, str(done)], cwd=ROOT, check=True)
        after = snapshot(done)
        runs = bad = 0
        for call in CALLS:
            for fault in ("signal=SIGKILL", *(f"error={error}" for error in ERRORS)):
                for number in range(1, 60):
                    project = fresh(Path(folder) / "run")
                    hit, failed = one_run(project, call, fault, number)
                    if not hit:
                        break
                    runs += 1
                    recover(project)
                    left = [p for p in project.rglob("*") if "ai-rails" in p.name or p.suffix == ".journal"]
                    if snapshot(project) not in (before, after) or left:
                        bad += 1
                        print(f"INCONSISTENT: {call} {fault} when={number} {left}")
                    elif not failed and snapshot(project) != after:
                        bad += 1
                        print(f"REPORTED BUT NOT DONE: {call} {fault} when={number}")
        print(f"{runs} faults over {len(CALLS)} system calls, {bad} inconsistent")


def one_run(project, call, fault, number):
    """Run the child under strace. Returns whether the fault was reached, and whether the child failed."""
    log = project.parent / "strace.log"
    command = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}"]
    if call == "openat":  # Python itself opens hundreds of files; count only those of the project
        for path in (*places(project), *(str(project / name) for name in ("a.txt", "gone.txt", "made", "made/b.txt"))):
            command += ["-P", path]
    command += ["-e", f"inject={call}:{fault}:when={number}", sys.executable, "-c", CHILD, str(project)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    text = log.read_text(errors="replace")
    return "(INJECTED)" in text or "killed by SIGKILL" in text, done.returncode != 0


def places(project):
    return [str(project / ".rails"), str(project / ".rails/journal"), str(project / ".rails/journal/lock")]


def fresh(project):
    if project.exists():
        shutil.rmtree(project)
    project.mkdir()
    (project / "a.txt").write_bytes(b"old\n" * 500)
    (project / "gone.txt").write_bytes(b"old\n" * 500)
    return project


def snapshot(project):
    files = (p for p in sorted(project.rglob("*")) if p.is_file() and ".rails" not in p.parts)
    return {str(p.relative_to(project)): p.read_bytes() for p in files}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "history", "strace"])
    {"write": run_write, "history": run_history, "strace": run_strace}[parser.parse_args().what]()
