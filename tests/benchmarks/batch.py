"""What a set of jobs costs beside its models: warm and first jobs, memory, many that wait, a store of 100,000 results.

python tests/benchmarks/batch.py [overhead] [waiting] [store]
"""

import json
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from rails.batch.engine import PoolEngine  # noqa: E402
from rails.batch.job_spec import JobResult, JobSpec  # noqa: E402
from rails.batch.report import batch_report  # noqa: E402
from rails.batch.run_job import run_job  # noqa: E402
from rails.batch.run_set import run_set  # noqa: E402
from rails.batch.store import JobStore  # noqa: E402
from rails.testing import says  # noqa: E402
from tests.batch.conftest import PYTHON, RIGHT, TaskServer, edit, make_repository  # noqa: E402

JOBS, SLOTS, RESULTS = int(os.environ.get("JOBS", "1000")), 8, 100_000


def row(what, value):
    print(f"{what:<64} {value}", flush=True)


def spec(folder, server, number):
    return JobSpec(
        repo=str(folder / "sums"),
        commit=(folder / "commit").read_text("utf-8"),
        task="fix",
        id=f"t{number}",
        seed=number + 1,
        model=f"openai:m@{server.url}/v1",
        policy="edits",
    )


def prepared(folder):
    (folder / "commit").write_text(make_repository(folder / "sums", {"sums.py": PYTHON}), "utf-8")


def _measured(one):
    """Run a job; its wall time, the part of its model and checks, processor seconds, and memory stand in the result."""
    began = time.perf_counter()
    result = run_job(one)
    wall = time.perf_counter() - began
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    asked = result.seconds.get("model", 0.0) + result.seconds.get("gate", 0.0)
    return JobResult.of(one, json.dumps([result.passed, wall, wall - asked, cpu, own.ru_maxrss / 1024]))


def overhead(folder):
    prepared(folder)
    with TaskServer({"fix": [edit(RIGHT), says("Done.")]}) as server:
        engine = PoolEngine(str(folder / "runs"), 1, _measured)
        specs = [spec(folder, server, number) for number in range(41)]
        try:
            progress = run_set(JobStore(str(folder / "runs")), engine, specs)
        finally:
            engine.close()
    found = [json.loads(one.error) for one in progress.done]
    assert all(one[0] for one in found)
    row("first job of a worker, beside model and gate, s", f"{found[0][2]:.3f}")
    row("warm job, beside model and gate, s: median", f"{statistics.median(one[2] for one in found[1:]):.3f}")
    row("warm job, all of it, s: median", f"{statistics.median(one[1] for one in found[1:]):.3f}")
    row("warm job, processor seconds with its children", f"{(found[-1][3] - found[0][3]) / (len(found) - 1):.3f}")
    row("first job, processor seconds with what it imports", f"{found[0][3]:.3f}")
    row("memory of a worker, MB", f"{found[-1][4]:.0f}")


def waiting(folder):
    prepared(folder)
    with TaskServer({"fix": [says("Nothing to do.", hang_s=1.0)]}) as server:
        engine = PoolEngine(str(folder / "runs"), SLOTS)
        specs = [spec(folder, server, number) for number in range(JOBS)]
        began = time.perf_counter()
        try:
            progress = run_set(JobStore(str(folder / "runs")), engine, specs)
        finally:
            engine.close()
        took = time.perf_counter() - began
    assert len(progress.done) == JOBS
    assert not any(one.error for one in progress.done)
    ideal = JOBS / SLOTS
    load = os.getloadavg()[1]
    row(
        f"{JOBS:,} jobs that wait 1 s, {SLOTS} at once: s (load {load:.0f})", f"{took:.1f}, {ideal / took:.0%} of ideal"
    )


def store(folder):
    kept = JobStore(str(folder / "runs"))
    for number in range(RESULTS):
        facts = {"repo": "/r", "commit": "c", "model": f"m{number % 4}", "agent": "coder", "seed": number, "turns": 3}
        facts |= {"ending": "done", "passed": number % 3 > 0, "cost": 0.01, "seconds": {"model": 2.0}}
        result = JobResult(name=f"{number:024x}", task=f"t{number % 5_000}", **facts)
        kept.files.put(f"jobs/{result.name}/result.json", msgspec.json.encode(result))
        if number + 1 in (RESULTS // 10, RESULTS):
            for words in ("made anew", "looked at again"):
                began, cpu = time.perf_counter(), time.process_time()
                rows = JobStore(str(folder / "runs")).rows()
                row(f"index of {number + 1:,} results, {words}, s (of processor)", both(began, cpu))
                assert len(rows) == number + 1
            (folder / "runs/index.jsonl").unlink()
    began, cpu = time.perf_counter(), time.process_time()
    batch_report(rows)
    row(f"report of {RESULTS:,} results, s (of processor)", both(began, cpu))


def both(began, cpu):
    return f"{time.perf_counter() - began:.2f} ({time.process_time() - cpu:.2f})"


if __name__ == "__main__":
    multiprocessing.freeze_support()
    for name in sys.argv[1:] or ("overhead", "waiting", "store"):
        with tempfile.TemporaryDirectory() as place:
            {"overhead": overhead, "waiting": waiting, "store": store}[name](Path(place))
