"""A set of jobs: run at once, kept, skipped, stopped, tried again, shared by two machines."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

import rails
from rails.batch import engine
from rails.batch.engine import PoolEngine
from rails.batch.job_spec import JobResult, JobSpec
from rails.batch.pace import Pace
from rails.batch.run_set import run_set, unfinished
from rails.batch.shared_limits import PaceFiles
from rails.batch.store import JobStore
from rails.batch.tasks import Variants, jobs_of, read_tasks
from rails.core.errors import RailsError, UsageError
from rails.testing import says
from tests.rows import walked

from .conftest import RIGHT, edit

ROOT = Path(rails.__file__).parent.parent


def specs_of(count, repo="/r"):
    return [JobSpec(repo=repo, commit="a" * 40, task=f"task {n}", id=f"t{n}", model="openai:m") for n in range(count)]


def result_of(spec, **more):
    facts = {"ending": "done", "passed": True, "cost": 1.0, **more}
    return JobResult(
        name=spec.name, task=spec.id, repo=spec.repo, commit=spec.commit, model="m", agent="coder", **facts
    )


class HereEngine:
    """Runs jobs at once, in this thread, one for each time that it is asked."""

    def __init__(self, run, slots=1):
        self.run, self.slots, self.begun, self.waiting, self.ended = run, slots, [], [], []

    @property
    def free(self):
        return self.slots - len(self.waiting)

    def submit(self, spec):
        self.begun.append(spec.id)
        self.waiting.append(spec)

    def finished(self, seconds):
        return [self.run(self.waiting.pop(0))]

    def close(self, *, at_once=False):
        self.ended.append(at_once)


def test_what_has_a_result_is_skipped_and_errors_are_tried_again_when_asked(tmp_path):
    store = JobStore(str(tmp_path))
    specs = specs_of(4)
    engine = HereEngine(lambda spec: result_of(spec, error="no network" if spec.id == "t1" else ""))
    assert run_set(store, engine, specs[:3]).skipped == 0
    again = HereEngine(result_of)
    progress = run_set(JobStore(str(tmp_path)), again, specs)
    assert (progress.skipped, again.begun) == (3, ["t3"])
    third = HereEngine(result_of)
    run_set(JobStore(str(tmp_path)), third, specs, retry=["errors"])
    assert third.begun == ["t1"]
    assert not any(row.error for row in JobStore(str(tmp_path)).rows())
    lines = (tmp_path / "index.jsonl").read_bytes().splitlines()
    assert sorted(json.loads(line)["result"]["task"] for line in lines) == ["t0", "t1", "t2", "t3"]


def test_a_set_stops_when_its_money_is_spent(tmp_path):
    spent = run_set(JobStore(str(tmp_path / "a")), HereEngine(result_of), specs_of(9), max_cost=3.0)
    assert len(spent.done) == 3
    assert "spent" in spent.stopped


def test_ctrl_c_ends_what_runs_and_leaves_no_claim(tmp_path):
    def run(spec):
        if spec.id == "t2":
            raise KeyboardInterrupt
        return result_of(spec)

    here = HereEngine(run)
    progress = run_set(JobStore(str(tmp_path)), here, specs_of(5))
    assert (progress.stopped, len(progress.done), here.ended) == ("Ctrl-C", 2, [True])
    assert free_to_others(tmp_path, specs_of(3)[2].name)
    assert len(run_set(JobStore(str(tmp_path)), HereEngine(result_of), specs_of(5)).done) == 3


def test_a_worker_that_is_ended_clears_up_what_its_job_made(tmp_path, monkeypatch):
    """SIGTERM counts once; the worker ends only when nothing of the job is left."""

    def run(spec):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            (tmp_path / "cleared").touch()

    def ended(code):
        raise SystemExit(code)

    monkeypatch.setattr(engine.os, "_exit", ended)
    with pytest.raises(SystemExit):
        engine._work(str(tmp_path), specs_of(1)[0], run)
    assert (tmp_path / "cleared").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_waits_until_a_worker_is_started(monkeypatch):
    came = []
    monkeypatch.setattr(signal, "raise_signal", came.append)
    with engine._undisturbed():
        os.kill(os.getpid(), signal.SIGTERM)
        assert not came
    assert came == [signal.SIGTERM]


def test_two_machines_on_one_folder_share_the_jobs(tmp_path):
    code = textwrap.dedent("""
        import sys, json, pathlib
        sys.path.insert(0, sys.argv[4])
        from rails.batch.run_set import run_set
        from rails.batch.store import JobStore
        from tests.batch.test_run_set import HereEngine, result_of, specs_of
        import time
        ready = pathlib.Path(sys.argv[1]) / "ready"
        while not ready.exists():
            time.sleep(0.01)
        engine = HereEngine(lambda spec: (time.sleep(0.01), result_of(spec, licence=sys.argv[2]))[1])
        progress = run_set(JobStore(sys.argv[1]), engine, specs_of(int(sys.argv[3])))
        print(json.dumps([engine.begun, progress.skipped]))
    """)
    words = [sys.executable, "-c", code, str(tmp_path)]
    both = [
        subprocess.Popen([*words, host, "60", str(ROOT)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for host in ("one", "two")
    ]
    (tmp_path / "ready").touch()
    begun = [json.loads(process.communicate(timeout=100)[0]) for process in both]
    assert sorted([*begun[0][0], *begun[1][0]]) == sorted(f"t{n}" for n in range(60)), "every job once"
    assert all(part for part, _ in begun), "both had some"
    assert [len(part) + skipped for part, skipped in begun] == [60, 60]
    assert len(JobStore(str(tmp_path)).rows()) == 60


CLAIMS = (
    "import sys; from rails.batch.store import JobStore; print(JobStore(sys.argv[1]).claim(sys.argv[2]), flush=True)"
)


def other_process(code, *words):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, cwd=ROOT
    )


def free_to_others(folder, name):
    with other_process(CLAIMS, folder, name) as other:
        return other.communicate(timeout=100)[0] == b"True\n"


def test_a_claim_is_another_s_until_its_process_has_ended_or_releases_it(tmp_path):
    first, second = (spec.name for spec in specs_of(2))
    store = JobStore(str(tmp_path))
    with other_process(f"{CLAIMS}; input()", tmp_path, first) as other:
        assert other.stdout.readline() == b"True\n"
        assert not store.claim(first)
        assert store.claim(second)
        assert not free_to_others(tmp_path, second)
        other.kill()
        other.wait(60)
    assert store.claim(first)
    store.release(second)
    assert free_to_others(tmp_path, second)


def test_the_index_is_made_again_from_the_folders(tmp_path):
    store = JobStore(str(tmp_path))
    specs = specs_of(5)
    for spec in specs:
        store.put_result(result_of(spec, diff="-a\n+b\n", findings=("f",)))
    first = store.rows()
    assert [row.diff for row in first] == [""] * 5
    (tmp_path / "index.jsonl").write_bytes(b"broken\n")
    assert JobStore(str(tmp_path)).rows() == first
    (tmp_path / "jobs" / specs[0].name / "result.json").write_bytes(b"{half")
    assert len(store.rows()) == 4
    assert len((tmp_path / "index.jsonl").read_bytes().splitlines()) == 4
    with pytest.raises(RailsError, match="cannot be read"):
        store.result(specs[0].name)


def test_a_store_may_be_any_url_of_fsspec(job, model):
    pytest.importorskip("fsspec")
    from rails.batch.run_job import run_job
    from rails.batch.store import work

    place = f"memory://runs-{os.getpid()}-{time.monotonic_ns()}"
    store = JobStore(place)
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        spec = job(server)
        result = work(place, spec, run_job)
    assert result.passed
    assert store.result(spec.name) == result
    assert store.files.read(result.log.removeprefix(f"{place}/")).startswith(b'{"v":1')
    assert [row.name for row in store.rows()] == [spec.name]
    assert unfinished(store, [spec])[0] == []


def _dies(spec):
    if spec.id == "t1":
        os._exit(3)
    return result_of(spec)


def test_a_worker_that_dies_costs_its_own_job_only(tmp_path):
    engine = PoolEngine(str(tmp_path), 2, _dies)
    try:
        progress = run_set(JobStore(str(tmp_path)), engine, specs_of(4))
    finally:
        engine.close()
    by_task = {result.task: result for result in progress.done}
    assert len(by_task) == 4
    assert "died" in by_task["t1"].error
    assert [by_task[name].passed for name in ("t0", "t2", "t3")] == [True] * 3


def test_the_workers_of_a_killed_run_end_and_the_next_run_does_the_rest(job, model, tmp_path):
    store = tmp_path / "runs"
    with model(quick=[edit(RIGHT), says("Done.")], slow=[says("x", hang_s=600.0)]) as server:
        specs = [job(server, task=name, id=name, folder="") for name in ("quick one", "slow one")]
        file = tmp_path / "specs.json"
        file.write_bytes(msgspec.json.encode(specs))
        code = textwrap.dedent("""
            import sys, msgspec
            from rails.batch.engine import PoolEngine
            from rails.batch.job_spec import JobSpec
            from rails.batch.run_set import run_set
            from rails.batch.store import JobStore
            if __name__ == "__main__":
                specs = msgspec.json.decode(open(sys.argv[1], "rb").read(), type=list[JobSpec])
                run_set(JobStore(sys.argv[2]), PoolEngine(sys.argv[2], 2), specs)
        """)
        script = tmp_path / "go.py"
        script.write_text(code, "utf-8")
        words = [sys.executable, str(script), str(file), str(store)]
        process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(ROOT)})
        try:
            wait_for((store / "jobs" / specs[0].name / "result.json").exists)
            wait_for(lambda: any("slow" in json.dumps(request.body) for request in server.requests))
        finally:
            process.kill()
            process.wait(20)
        asked = len(server.requests)
        server.scripts["slow"] = [edit(RIGHT), says("Done.")]
        engine = PoolEngine(str(store), 1)
        try:
            progress = run_set(JobStore(str(store)), engine, specs)
        finally:
            engine.close()
    assert (progress.skipped, [result.task for result in progress.done]) == (1, ["slow one"])
    assert progress.done[0].passed
    assert multiprocessing.active_children() == []
    assert not [*(store / "work").iterdir()], "the killed run's work tree is gone"
    assert len(server.requests) == asked + 1, "the finished job was not run again"
    assert Path(progress.done[0].log).parent.name == f"{specs[1].name}-2", "what the killed run logged is still there"


def wait_for(condition, seconds=90.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to it"
        threading.Event().wait(0.02)


def test_requests_and_tokens_of_all_go_at_one_pace(tmp_path):
    pace = Pace()
    starts = []
    for _ in range(3):
        start, pace = pace.after("ask", 100.0, 2.0)
        starts.append(start)
    assert starts == [100.0, 102.0, 104.0]
    assert pace.after("use", 100.0, 30.0)[1].after("ask", 101.0, 2.0)[0] == 130.0
    assert pace.after("pause", 100.0, 50.0)[1].after("ask", 101.0, 2.0)[0] == 150.0
    assert Pace(9e12, 0.0).after("ask", 101.0, 2.0)[0] == 101.0 + 3_600.0
    files = [PaceFiles(tmp_path) for _ in range(4)]
    found = []
    threads = [threading.Thread(target=lambda f=f: found.extend(f("p", "ask", 50.0) for _ in range(5))) for f in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found.sort()
    assert [round(b - a) for a, b in pairwise(found)] == [50] * 19
    files[0]("p", "pause", 3_000.0)
    assert files[1]("p", "ask", 1.0) - time.time() > 2_900


def test_a_job_that_is_told_to_wait_makes_the_others_wait(job, model, tmp_path):
    limits = {"place": str(tmp_path / "limits"), "requests": 6_000}
    with model(fix=[says(status=429, retry_after=2), says("Done.")], other=[says("Done.")]) as server:
        from rails.batch.run_job import run_job

        run_job(job(server, limits=limits, budgets={"max_seconds": 0.5}))
        pause = json.loads((tmp_path / "limits/openai.json").read_bytes())["request"] - time.time()
        began = time.time()
        run_job(job(server, task="other", limits=limits))
    assert pause < 2.1
    assert time.time() - began >= pause


def test_limits_change_nothing_about_how_a_model_is_asked(job, model, tmp_path):
    from rails.batch.run_job import run_job

    paced = {"limits": {"place": str(tmp_path / "limits"), "requests": 600_000}}
    asked = []
    for more in ({}, paced):
        with model(fix=[says("There is nothing to do.")]) as server:
            run_job(job(server, **more))
            asked.append([request.body.get("tools") is None for request in server.requests])
    assert asked == [[True], [True]], "a local model is asked in text, with limits and without"


def test_tasks_become_jobs_with_every_model_agent_and_setting(repository, tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/test_a.py").write_text("x = 1\n", "utf-8")
    lines = [
        {"id": "a", "repo": "sums", "task": "fix it", "hidden": "hidden", "checks": ["python test_a.py"]},
        {"id": "b", "repo": f"file://{repository}", "task": "more", "agent": "debugger"},
    ]
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    chosen = Variants(["openai:a", "openai:b"], ["coder", "terse"], ["on", "off"], 3, {"terse": "T"})
    specs = [*jobs_of(read_tasks(file), chosen, tmp_path)]
    assert len(specs) == 2 * 2 * 2 * 3 + 1 * 2 * 2 * 3
    assert len({spec.name for spec in specs}) == len(specs)
    assert {spec.repo for spec in specs} == {str(repository)}
    assert specs[0].hidden == {"test_a.py": "x = 1\n"}
    assert {len(spec.commit) for spec in specs} == {40}
    assert {spec.agent for spec in specs if spec.templates} == {"terse"}


@walked(
    ("line", "words"),
    [
        ('{"id": "a", "repo": "sums"}', "tasks.jsonl:1: no task: .*missing required field `task`"),
        ('{"id": "a", "repo": "sums", "task": "x", "chek": []}', "chek"),
        ("{", "tasks.jsonl:1"),
        ("", "holds no task"),
        ('{"id": "a", "repo": "https://host/r.git", "task": "x"}', "not on this machine"),
        ('{"id": "a", "repo": "nowhere", "task": "x"}', "not a git repository"),
        ('{"id": "a", "repo": "sums", "task": "x", "commit": "--all"}', "no commit"),
        ('{"id": "a", "repo": "sums", "task": "x", "hidden": "none"}', "0 hidden files"),
        ('{"id": "a", "repo": "sums", "task": "x"}\n{"id": "a", "repo": "sums", "task": "y"}', "already"),
    ],
)
def test_a_task_that_is_none_is_named_with_its_line(repository, tmp_path, line, words):
    file = tmp_path / "tasks.jsonl"
    file.write_text(line, "utf-8")
    with pytest.raises(UsageError, match=words):
        [*jobs_of(read_tasks(file), Variants(["openai:m"]), tmp_path)]
