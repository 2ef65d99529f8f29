"""What a set of jobs costs beside its models: warm and first jobs, memory, many that wait, a store of 100,000 results.

python tests/benchmarks/batch.py [overhead] [waiting] [store] [peers=FOLDER]

``peers``: ``ai-rails batch run`` beside mini-swe-agent's own batch runner, in one run; FOLDER as in overhead.py. Its
data set is a list of ours, and its environment the local one instead of a container, which would cost it more. Its jobs
share one folder and nothing judges them; ours have a work tree, a gate, an approval by policy and a log each.
"""

import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/benchmarks")]
from overhead import MINI_DONE, installed, whole  # noqa: E402
from overhead import server as stub_names  # noqa: E402

from rails.batch.engine import PoolEngine  # noqa: E402
from rails.batch.job_spec import JobResult, JobSpec  # noqa: E402
from rails.batch.report import batch_report  # noqa: E402
from rails.batch.run_job import run_job  # noqa: E402
from rails.batch.run_set import run_set  # noqa: E402
from rails.batch.store import JobStore  # noqa: E402
from rails.testing import says  # noqa: E402
from tests.batch.conftest import PYTHON, RIGHT, TaskServer, edit, make_repository  # noqa: E402

JOBS = int(os.environ.get("JOBS", "1000"))
SLOTS = 8
RESULTS = 100_000


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
                began = time.perf_counter()
                cpu = time.process_time()
                rows = JobStore(str(folder / "runs")).rows()
                row(f"index of {number + 1:,} results, {words}, s (of processor)", both(began, cpu))
                assert len(rows) == number + 1
            (folder / "runs/index.jsonl").unlink()
    began = time.perf_counter()
    cpu = time.process_time()
    batch_report(rows)
    row(f"report of {RESULTS:,} results, s (of processor)", both(began, cpu))


RUNNER = """
import json, sys, types
lines, sets = open(sys.argv.pop()).readlines(), types.ModuleType("datasets")
sets.load_dataset = lambda *_, **__: [json.loads(line) for line in lines]
sys.modules["datasets"] = sets
from minisweagent.run.benchmarks.swebench import app
app()
"""


def peers(folder, environments):
    program = installed(Path(environments).resolve(), "mini").with_name("python")
    commit = make_repository(folder / "sums", {"sums.py": PYTHON})
    (folder / "runner.py").write_text(RUNNER)
    many = int(os.environ.get("JOBS", "30"))
    names = ("AI-Rails", "mini-swe-agent")
    found = {name: [] for name in names}
    for number in range(int(os.environ.get("ROUNDS", "3"))):
        for jobs in (1, many + 1):
            place = folder / f"{number}-{jobs}"
            place.mkdir()
            ids = [f"t{number}-{jobs}-{one}" for one in range(jobs)]
            tasks = [{"id": one, "repo": str(folder / "sums"), "commit": commit, "task": "fix"} for one in ids]
            (place / "tasks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in tasks))
            with TaskServer({"fix": [edit(RIGHT), says("Done.")]}) as server:
                words = [str(Path(sys.executable).with_name("ai-rails")), "batch", "run", str(place / "tasks.jsonl")]
                words += ["--models", f"openai:m@{server.url}/v1", "--policy", "edits", "--workers", "1"]
                spent = measured([*words, "--store", str(place / "runs")], place, {})
                assert len(server.requests) == 2 * jobs
            found["AI-Rails"].append((jobs, *spent))
            steps = [
                whole("openai", "c1", "bash", {"command": "true"}),
                whole("openai", "c2", "bash", {"command": MINI_DONE}),
            ]
            with TaskServer({"fix": steps}) as server:
                data = [{"instance_id": one, "problem_statement": "fix"} for one in ids]
                (place / "set.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in data))
                words = [
                    str(program),
                    str(folder / "runner.py"),
                    "--subset",
                    "x",
                    "-o",
                    str(place / "theirs"),
                    "-w",
                    "1",
                ]
                words += ["-m", "openai/stub", "--environment-class", "local", "-c", "swebench.yaml"]
                words += ["-c", "environment.cwd=.", "-c", "model.cost_tracking=ignore_errors"]
                spent = measured([*words, str(place / "set.jsonl")], place, stub_names(server))
                assert len(server.requests) == 2 * jobs, len(server.requests)
            found["mini-swe-agent"].append((jobs, *spent))
    print(f"{'':20}{'one job, s CPU':>16}{'a further job, s CPU':>22}{'s wall':>9}{'largest process, MB':>21}")
    for name in names:
        ones, others = ([one for one in found[name] if (one[0] == 1) is single] for single in (True, False))
        cpu, wall = ([(b[at] - a[at]) / many for a, b in zip(ones, others, strict=True)] for at in (1, 2))
        start = statistics.median(one[1] for one in ones)
        memory = max(one[3] for one in others)
        print(f"{name:20}{start:>16.2f}{statistics.median(cpu):>22.3f}{statistics.median(wall):>9.3f}{memory:>21.0f}")


MEASURE = """
import contextlib, ctypes, json, os, resource, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1)  # what is left behind becomes ours, so that it is counted
began = time.perf_counter()
code = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
wall = time.perf_counter() - began
with contextlib.suppress(ChildProcessError):
    while True:
        os.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(json.dumps([code, used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024]))
"""


def measured(words, place, more):
    """Return the processor seconds of a program and all that it started, its wall time, and its largest process."""
    environment = {
        **os.environ, "HOME": str(place), "XDG_CONFIG_HOME": str(place / "config"), "OPENAI_API_KEY": "k",
        "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", **more,
    }  # fmt: skip
    told = place / "measured.json"
    subprocess.run([sys.executable, "-c", MEASURE, str(told), *words], cwd=place, env=environment, check=True)
    code, *found = json.loads(told.read_text())
    assert code == 0, words
    return found


def both(began, cpu):
    return f"{time.perf_counter() - began:.2f} ({time.process_time() - cpu:.2f})"


if __name__ == "__main__":
    multiprocessing.freeze_support()
    for word in sys.argv[1:] or ("overhead", "waiting", "store"):
        name, _, more = word.partition("=")
        with tempfile.TemporaryDirectory() as place:
            {"overhead": overhead, "waiting": waiting, "store": store, "peers": peers}[name](
                Path(place), *filter(None, [more])
            )
