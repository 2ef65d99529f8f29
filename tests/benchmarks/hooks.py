"""What a host waits for: one hook call through the warm gate, beside the usual one-liner and an empty Python.

    python tests/benchmarks/hooks.py [ROUNDS]

Each round runs all of them once, in turn, with a text that was not seen before ("seen": one that was): a file of 200
lines in a project with ruff, and in one where black and flake8 apply, too. "cold" is the first call, which starts the
gate: each is in a runtime folder of its own, and stands beside an empty Python, ``ruff check`` and ``ruff format
--check``, run one after the other. The one-liner is ``ruff check && ruff format`` after the write, as many settings
have it. Wall time in ms, median and minimum; "ratio" is the median of the ratios of the pairs.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
BODY = "".join(f"def function_{n}(first, second):\n    return first + second + {n}\n\n\n" for n in range(50))
BLACK = "[tool.black]\nline-length = 100\n[tool.ruff]\nline-length = 100\n"


def timed(words, data=b"", **more):
    started = time.perf_counter()
    subprocess.run(words, input=data, capture_output=True, check=False, **more)
    return (time.perf_counter() - started) * 1000


def call(project, number):
    tool = {"file_path": str(project / "big.py"), "content": f"{BODY}LAST = {number}\n"}
    event = {"session_id": "bench", "cwd": str(project), "hook_event_name": "PreToolUse"}
    return json.dumps({**event, "tool_name": "Write", "tool_use_id": "t", "tool_input": tool}).encode()


def measure(kind, files, rounds, runtime):
    project = Path(tempfile.mkdtemp(prefix="bench"))
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for name, text in files.items():
        (project / name).write_text(text)
    (project / "big.py").write_text(BODY)
    environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
    hook = [str(BIN / "ai-rails"), "hook", "claude-code"]
    one_liner = ["sh", "-c", f"{BIN}/ruff check -q big.py && {BIN}/ruff format -q --check big.py"]
    rows = {"python -c pass": [], f"hook, {kind}": [], f"hook, {kind}, seen": [], "ruff check && ruff format": []}
    timed(hook, call(project, -1), env=environment, cwd=project)
    for number in range(rounds):
        rows["python -c pass"].append(timed([sys.executable, "-c", "pass"]))
        rows[f"hook, {kind}"].append(timed(hook, call(project, number), env=environment, cwd=project))
        rows[f"hook, {kind}, seen"].append(timed(hook, call(project, number), env=environment, cwd=project))
        rows["ruff check && ruff format"].append(timed(one_liner, env=environment, cwd=project))
    for name, found in rows.items():
        show(name, found, rows["python -c pass"])
    shutil.rmtree(project)
    return rows[f"hook, {kind}, seen"]


def measure_cold(files, rounds):
    one_by_one = f"{sys.executable} -c pass; {BIN}/ruff check -q big.py; {BIN}/ruff format -q --check big.py"
    cold = []
    beside = []
    for number in range(rounds):
        project = Path(tempfile.mkdtemp(prefix="bench"))
        runtime = tempfile.mkdtemp(prefix="ar", dir="/tmp")
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        for name, text in (*files.items(), ("big.py", BODY)):
            (project / name).write_text(text)
        words = [str(BIN / "ai-rails"), "hook", "claude-code"]
        beside.append(timed(["sh", "-c", one_by_one], cwd=project))
        cold.append(timed(words, call(project, number), env={**os.environ, "XDG_RUNTIME_DIR": runtime}, cwd=project))
        end(runtime)
        shutil.rmtree(project)
        shutil.rmtree(runtime)
    show("pass; ruff check; ruff format", beside, beside)
    show("hook, ruff, cold", cold, beside)


def show(name, found, beside):
    ratio = statistics.median(one / other for one, other in zip(found, beside, strict=True))
    print(f"{name:<34}{statistics.median(found):9.1f}{min(found):9.1f}{ratio:8.1f}", flush=True)


def end(runtime):
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and runtime.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    runtime = tempfile.mkdtemp(prefix="ar", dir="/tmp")
    print(f"{'':<34}{'median':>9}{'least':>9}{'ratio':>8}")
    try:
        ruff = measure("ruff", {"ruff.toml": "line-length = 100\n"}, rounds, runtime)
        flake8 = "[flake8]\nmax-line-length = 100\n"
        black = measure("black and flake8", {"pyproject.toml": BLACK, ".flake8": flake8}, rounds, runtime)
        show("black and flake8 to ruff, both seen", black, ruff)
        measure_cold({"ruff.toml": "line-length = 100\n"}, max(rounds // 3, 3))
    finally:
        end(runtime)
        shutil.rmtree(runtime)
