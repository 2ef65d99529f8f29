"""The same jobs on every engine: a pool that is killed twice, two nodes of Ray of which one is lost, joblib, Dask.

Ray, joblib and Dask have to be installed for their parts; each part is skipped without.
"""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rails
from rails.batch.engine import PoolEngine
from rails.batch.job_spec import JobResult, JobSpec
from rails.batch.report import batch_report
from rails.batch.run_job import run_job
from rails.batch.run_set import run_set
from rails.batch.store import JobStore
from rails.batch.tasks import Variants, jobs_of, read_tasks
from rails.core.errors import UsageError
from rails.testing import says

ROOT = Path(rails.__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.batch.conftest import TaskServer, edit, make_repository  # noqa: E402

TOKEN = "0123456789abcdef" * 4
PY = '"""Sums."""\n\n\ndef add(a, b):\n    """Return the sum."""\n    return a - b\n'
JS = "export function add(a, b) {\n  return a - b;\n}\n"
FLOW = {
    "name": "flow",
    "nodes": [
        {
            "id": "1",
            "name": "a - b",
            "type": "n8n-nodes-base.manualTrigger",
            "typeVersion": 1,
            "position": [0, 0],
            "parameters": {},
        }
    ],
    "connections": {},
    "settings": {},
}
REPOSITORIES = {
    "sums": {"code.py": PY},
    "more": {"code.py": PY.replace("Sums", "More sums"), "other.py": '"""Other."""\n'},
    "script": {"code.js": JS, "package.json": '{"type": "module"}\n'},
    "flows": {"code.json": json.dumps(FLOW, indent=2) + "\n"},
}
KINDS = ("right", "late", "lost", "quiet", "broken", "nowhere")
#: By hand: right at once; after a finding or a refusal; after arguments that are no JSON; after a wrong place.
PASSES = {"right", "late", "broken", "nowhere"}


def scripts_of(repository, file):
    def change(new, old="a - b"):
        return edit({"file_path": file, "old_string": old, "new_string": new})

    wrong = {"code.py": "a + c", "code.js": "a + ;", "code.json": 'a + b", "name'}[file]
    broken = says(rails_call(file))
    return {
        f"{repository}-right": [change("a + b")],
        f"{repository}-late": [change(wrong), change("a + b")],
        f"{repository}-lost": [change(wrong), says("I give up.")],
        f"{repository}-quiet": [says("There is nothing to do.")],
        f"{repository}-broken": [broken, change("a + b")],
        f"{repository}-nowhere": [change("a + b", "not in it"), change("a + b")],
    }


def rails_call(file):
    from rails.core.conversation import NativeCall

    return NativeCall("c1", "edit_file", f'{{"file_path": "{file}", "old_string": ')


@pytest.fixture
def work(tmp_path):
    """Return a server, and a file with 24 tasks over four repositories, six kinds of each."""
    lines = []
    scripts = {}
    for name, files in REPOSITORIES.items():
        make_repository(tmp_path / name, files)
        file = next(iter(files))
        scripts |= scripts_of(name, file)
        score = {"score.py": f"assert 'a + b' in open({file!r}).read()\n"}
        for kind in KINDS:
            task = {"id": f"{name}-{kind}", "repo": name, "task": f"task {name}-{kind}"}
            lines.append({**task, "checks": ["python score.py"], "hidden": score})
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with TaskServer(scripts) as server:
        yield server, tmp_path


def specs_of(server, folder):
    chosen = Variants([f"openai:m@{server.url}/v1"])
    return [*jobs_of(read_tasks(folder / "tasks.jsonl"), chosen, folder, {"policy": "edits"})]


def told(results):
    """What two engines have to agree on."""
    return {
        (r.task, r.ending, r.error, r.passed, r.first_try, r.verdict, r.turns, r.raised, r.tries, r.diff)
        for r in results
    }


def whole(store):
    return [store.result(row.name) for row in store.rows()]


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to it"
        threading.Event().wait(0.05)


def test_a_set_that_is_killed_twice_loses_no_finished_job_and_runs_none_twice(work, monkeypatch):
    server, folder = work
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(folder / "config"))
    store = JobStore(str(folder / "runs"))
    words = ["batch", "run", "tasks.jsonl", "--store", "runs", "--policy", "edits", "--workers", "3"]
    words += ["--models", f"openai:m@{server.url}/v1"]
    finished = {}

    def asked():
        texts = [json.dumps(request.body) for request in server.requests]
        return {name: sum(f"task {name}" in text for text in texts) for name in server.scripts}

    for least in (5, 12):
        process = subprocess.Popen(
            [sys.executable, "-m", "rails", *words], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        wait_for(lambda least=least: len(store.files.results()) >= least)
        process.kill()
        process.wait(30)
        known = [row.task for row in store.rows()]  # first: whatever is finished had asked for all that it needed
        now = asked()
        finished |= {task: now[task] for task in known if task not in finished}
    done = subprocess.run(
        [sys.executable, "-m", "rails", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0
    last = asked()
    assert {name: last[name] for name in finished} == finished, "what was finished was not asked for again"
    results = whole(store)
    assert {result.task.rpartition("-")[2] for result in results if result.passed} == PASSES
    (row,) = batch_report(results).rows
    # By hand: 4 kinds of 6 pass in 4 repositories; one kind of them at the first try.
    assert (row.jobs, row.errors, row.passed.hits, row.passed.of, row.first.hits) == (24, 0, 16, 24, 4)
    engine = PoolEngine(str(folder / "again"), 2)
    try:
        run_set(JobStore(str(folder / "again")), engine, specs_of(server, folder))
    finally:
        engine.close()
    assert told(whole(JobStore(str(folder / "again")))) == told(results)


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two nodes of two slots, with a token."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    import ray
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _a_second(spec):
    time.sleep(1.0)
    return JobResult.of(spec)


@pytest.mark.timeout(300)
def test_a_lost_node_loses_no_job(cluster, tmp_path):
    from rails.batch.ray_engine import RayEngine

    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    specs = [JobSpec(repo="/r", commit="c", task=f"t{n}", id=f"t{n}", model="m") for n in range(40)]
    store = JobStore(str(tmp_path / "runs"))
    engine = RayEngine(str(tmp_path / "runs"), cluster.address, run=_a_second)
    killed = []
    seen = []

    def watch(progress):
        seen.append(len(progress.done))
        if len(progress.done) >= 12 and not killed:
            killed.append(time.monotonic())
            cluster.remove_node(node, allow_graceful=False)

    began = time.monotonic()
    try:
        progress = run_set(store, engine, specs, watch)
    finally:
        engine.close()
    took = time.monotonic() - began
    print(f"40 jobs of 1 s on two nodes of two, one killed after {killed[0] - began:.1f} s: {took:.1f} s")
    assert [result.error for result in progress.done] == [""] * 40
    assert len(store.rows()) == 40
    assert took < 60, "25 s on a machine that does nothing else"


@pytest.mark.timeout(300)
def test_two_nodes_give_what_a_pool_gives_within_shared_limits(cluster, work):
    from rails.batch.ray_engine import RayEngine

    server, folder = work
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    specs = specs_of(server, folder)
    pool = PoolEngine(str(folder / "pool"), 2)
    try:
        run_set(JobStore(str(folder / "pool")), pool, specs)
    finally:
        pool.close()
    limits = {"limits": {"place": "ray:pace", "requests": 600_000, "tokens": 60_000_000}}
    chosen = Variants([f"openai:m@{server.url}/v1"])
    paced = [*jobs_of(read_tasks(folder / "tasks.jsonl"), chosen, folder, {"policy": "edits", **limits})]
    assert [spec.name for spec in paced] == [spec.name for spec in specs]
    engine = RayEngine(str(folder / "ray"), cluster.address)
    try:
        progress = run_set(JobStore(str(folder / "ray")), engine, paced)
    finally:
        engine.close()
        cluster.remove_node(node)
    assert len(progress.done) == 24
    assert told(whole(JobStore(str(folder / "ray")))) == told(whole(JobStore(str(folder / "pool"))))


@pytest.mark.timeout(120)
def test_a_wrong_token_is_said_before_anything_is_begun(cluster, tmp_path):
    code = (
        "import sys, time\nfrom rails.batch.ray_engine import RayEngine\nbegan = time.monotonic()\n"
        "try:\n    RayEngine(sys.argv[1], sys.argv[2])\n"
        "except Exception as error:\n    print(type(error).__name__, round(time.monotonic() - began, 1), error)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path), cluster.address]
    environment = {**os.environ, "RAY_AUTH_TOKEN": "f" * 64, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment, check=True)
    kind, seconds, *said = done.stdout.split(" ")
    assert kind == UsageError.__name__
    assert "does not take this token" in " ".join(said)
    assert float(seconds) < 12, "Ray itself needs 20 s, and says less"


@pytest.mark.timeout(300)
def test_joblib_runs_jobs_as_they_are(work):
    joblib = pytest.importorskip("joblib")
    server, folder = work
    specs = [spec for spec in specs_of(server, folder) if "right" in spec.id]
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(run_job)(spec) for spec in specs)
    assert [(result.task, result.passed) for result in results] == [(spec.id, True) for spec in specs]


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
def test_dask_runs_jobs_as_they_are(work):
    distributed = pytest.importorskip("distributed")
    server, folder = work
    specs = [spec for spec in specs_of(server, folder) if "right" in spec.id]
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        results = client.gather([client.submit(run_job, spec, pure=False) for spec in specs])
    assert [(result.task, result.passed) for result in results] == [(spec.id, True) for spec in specs]
