"""Exercises solved by a real model: AI-Rails in each protocol beside aider and mini-swe-agent, on the same server.

    python tests/benchmarks/exercises.py --exercises FILE.jsonl --server http://127.0.0.1:8091/v1 --model NAME \\
        [--count 24] [--seed 1] [--ways rails:auto,rails:edits,aider:whole] [--tries 1|2] [--results FILE] [--keep DIR]

FILE has one exercise a line: ``name``, ``task``, ``solution`` (the files to write), ``files`` (name to text, what is
given) and ``test`` (name to text). Every way gets the same task text, in a fresh git repository with the stub in it.
With one try the tests are not there, and judge afterwards; with two they are in the project: AI-Rails runs them on
what is proposed (``--tests``), aider by ``--auto-test``. What passes between a program and the server is counted by a
proxy on loopback: tokens as the server counts them, and seconds that the model took. A run goes on where it
stopped: what RESULTS holds is not done again. It takes about an hour for 24 exercises on two idle cores.

``exercises_aider.jsonl`` beside this file has aider's rows of one day and server (28 November 2026, Qwen2.5-Coder-1.5B,
Q4_K_M, llama.cpp, seed 3, one try, and the first fifteen exercises with two), which do not depend on this program: a
copy of it as RESULTS spares two hours.

Attempts apart from each other: ``--rails=--attempts --rails=5``.

Programs of peers are found as ``aider`` and ``mini`` in ``PATH`` or ``--peers DIR``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT = 1_200
#: Tokens of one answer, for every way: a small model may repeat itself without end.
LONGEST = 1_500
POLICY = """\
[[rule]]
decision = "allow"
tool = ["*"]
"""


@dataclass
class Seen:
    """What went through the proxy since it was emptied."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    traffic: list[dict] = field(default_factory=list)


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the model's server, and counts."""

    def __init__(self, server: str) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.target = urlsplit(server)
        self.seen = Seen()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.target.path}"


class Passing(BaseHTTPRequestHandler):
    """One request of a program to the model."""

    server: Proxy

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._pass("GET", b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = json.loads(body)
        asked.setdefault("temperature", 0)
        asked["max_tokens"] = min(asked.get("max_tokens") or LONGEST, LONGEST)
        if asked.get("stream"):
            asked["stream_options"] = {"include_usage": True}
        self._pass("POST", json.dumps(asked).encode())

    def _pass(self, method: str, body: bytes) -> None:
        began = time.monotonic()
        seen = self.server.seen
        link = http.client.HTTPConnection(self.server.target.hostname, self.server.target.port, timeout=TIMEOUT)
        link.request(method, self.path, body, {"Content-Type": "application/json"})
        answer = link.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        whole = b""
        try:
            while piece := answer.read1(65_536):
                whole += piece
                self.wfile.write(piece)
                self.wfile.flush()
        except OSError:
            return  # the program hung up
        finally:
            link.close()
        if method == "POST":
            seen.requests += 1
            seen.seconds += time.monotonic() - began
            seen.traffic.append({"request": json.loads(body), "answer": whole.decode("utf-8", "replace")})
            counted = re.findall(rb'"(prompt|completion)_tokens":\s*(\d+)', whole)
            last = {name: int(number) for name, number in counted}
            seen.tokens_in += last.get(b"prompt", 0)
            seen.tokens_out += last.get(b"completion", 0)


@dataclass
class Row:
    """What one way made of one exercise."""

    way: str
    exercise: str
    tries: int
    solved: bool
    tokens_in: int
    tokens_out: int
    requests: int
    harness_s: float
    model_s: float
    code: int
    changed: bool
    others: int
    said: str


def task_of(exercise: dict) -> str:
    """Return the task text, the same for every way."""
    names = ", ".join(exercise["solution"])
    return (
        f"{exercise['task'].strip()}\n\nWrite the solution into {names}. Keep the names of the functions and classes "
        "that are there: other code calls them. Use only the standard library."
    )


def prepared(exercise: dict, folder: Path, tests: bool) -> Path:
    project = folder / exercise["name"]
    for name, text in {**exercise["files"], **(exercise["test"] if tests else {})}.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    git = ["git", "-c", "user.name=Bench", "-c", "user.email=bench@localhost", "-C", str(project)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *words], check=True)
    return project


def passes(exercise: dict, project: Path) -> bool:
    """Run the exercise's own tests on what is there, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        for name in exercise["solution"]:
            if (project / name).is_file():
                shutil.copy(project / name, Path(folder, Path(name).name))
        for name, text in {**exercise["files"], **exercise["test"]}.items():
            if name not in exercise["solution"]:
                Path(folder, Path(name).name).write_text(text, "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", folder]
        try:
            return subprocess.run(command, check=False, capture_output=True, timeout=60, cwd=folder).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def started(command: list[str], project: Path, environment: dict[str, str]) -> subprocess.Popen:
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=project, env=environment, stdin=subprocess.DEVNULL, **out)


def rails(protocol: str, exercise: dict, project: Path, url: str, options: argparse.Namespace) -> subprocess.Popen:
    config = project.parent / f"config-{project.name}"
    config.mkdir(exist_ok=True)
    (config / "policy.toml").write_text(POLICY)
    command = [sys.executable, "-m", "rails", "run", task_of(exercise), "--approve", "policy", "--plain"]
    command += ["--model", f"openai:{options.model}", "--base-url", url, *options.rails]
    if protocol != "old":
        command += ["--protocol", protocol, "--tests", "on" if options.tries == 2 else "off"]
    environment = {**os.environ, "AI_RAILS_CONFIG_DIR": str(config), "PYTHONPATH": str(Path(__file__).parents[2])}
    return started(command, project, environment)


def aider(form: str, exercise: dict, project: Path, url: str, options: argparse.Namespace) -> subprocess.Popen:
    command = [found("aider", options), "--model", f"openai/{options.model}", "--edit-format", form, "--yes-always"]
    command += [
        "--no-auto-commits",
        "--no-gitignore",
        "--no-check-update",
        "--no-show-model-warnings",
        "--analytics-disable",
    ]
    command += ["--no-show-release-notes", "--no-pretty", "--map-tokens", "0"]
    command += ["--no-auto-lint", "--no-detect-urls"]
    if options.tries == 2:
        command += ["--auto-test", "--test-cmd", f"{sys.executable} -m pytest -q -x -p no:cacheprovider -p no:randomly"]
    command += ["--message", task_of(exercise), *exercise["solution"]]
    environment = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none", "HOME": str(project.parent)}
    return started(command, project, environment)


def mini(_form: str, exercise: dict, project: Path, url: str, options: argparse.Namespace) -> subprocess.Popen:
    command = [found("mini", options), "-y", "--exit-immediately", "-l", "0", "-m", f"openai/{options.model}"]
    command += ["-t", task_of(exercise), "-o", str(project.parent / f"{project.name}.json")]
    environment = {
        **os.environ, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none", "HOME": str(project.parent),
        "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors",
    }  # fmt: skip
    return started(command, project, environment)


def found(name: str, options: argparse.Namespace) -> str:
    places = [str(folder) for folder in options.peers or ()]
    path = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    return path or sys.exit(f"{name} is not installed; name its folder with --peers")


WAYS = {"rails": rails, "aider": aider, "mini": mini}


def measured(way: str, exercise: dict, proxy: Proxy, options: argparse.Namespace) -> Row:
    program, _, form = way.partition(":")
    proxy.seen = seen = Seen()
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        project = prepared(exercise, Path(folder), tests=options.tries == 2)
        began = time.monotonic()
        process = WAYS[program](form, exercise, project, proxy.url, options)
        try:
            said = process.communicate(timeout=TIMEOUT)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0].decode("utf-8", "replace") + "\n(stopped: too long)"
        spent = time.monotonic() - began
        asked = ["git", "-C", str(project), "status", "--porcelain"]
        status = subprocess.run(asked, check=False, capture_output=True, text=True)
        touched = {line[3:].strip('"') for line in status.stdout.splitlines()}
        touched = {name for name in touched if not name.startswith((".aider", ".rails"))}
        own = set(exercise["solution"])
        row = Row(
            way, exercise["name"], options.tries, passes(exercise, project), seen.tokens_in, seen.tokens_out,
            seen.requests, round(spent - seen.seconds, 2), round(seen.seconds, 1), process.returncode,
            bool(touched & own), len(touched - own), said[-1_500:],
        )  # fmt: skip
        if options.keep:
            place = options.keep / f"{way.replace(':', '-')}-{options.tries}-{exercise['name']}"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(project, place, ignore=shutil.ignore_patterns(".git"))
            (place / "said.txt").write_text(said, "utf-8")
            (place / "traffic.json").write_text(json.dumps(seen.traffic, indent=1, ensure_ascii=False), "utf-8")
    return row


def table(rows: list[dict]) -> None:
    print(f"{'way':16} {'tries':>5} {'solved':>8} {'tokens in':>10} {'out':>8} {'requests':>8} {'harness s':>9} "
          f"{'model s':>8} {'exit 0, unchanged':>17} {'other files':>11}")  # fmt: skip
    groups = defaultdict(list)
    for row in rows:
        groups[row["way"], row["tries"]].append(row)
    for (way, tries), mine in sorted(groups.items()):
        total = {
            name: sum(row[name] for row in mine)
            for name in ("tokens_in", "tokens_out", "requests", "model_s", "others")
        }
        idle = sum(row["code"] == 0 and not row["changed"] for row in mine)
        harness = sorted(row["harness_s"] for row in mine)[len(mine) // 2]
        print(f"{way:16} {tries:>5} {sum(row['solved'] for row in mine):>4}/{len(mine):<3} {total['tokens_in']:>10,} "
              f"{total['tokens_out']:>8,} {total['requests']:>8} {harness:>9} {total['model_s']:>8.0f} {idle:>17} "
              f"{total['others']:>11}")  # fmt: skip


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--exercises", type=Path, required=True)
    ask.add_argument("--server", default="http://127.0.0.1:8091/v1")
    ask.add_argument("--model", default="qwen2.5-coder-1.5b")
    ask.add_argument("--count", type=int, default=24)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--only", default="", help="names of exercises, with commas")
    ask.add_argument("--ways", default="rails:auto,aider:whole")
    ask.add_argument("--tries", type=int, choices=(1, 2), default=1)
    ask.add_argument("--results", type=Path)
    ask.add_argument("--keep", type=Path)
    ask.add_argument("--peers", type=Path, action="append")
    ask.add_argument("--rails", action="append", default=[], help="a further word for ai-rails run; may be repeated")
    options = ask.parse_args()
    exercises = [json.loads(line) for line in options.exercises.read_text("utf-8").splitlines()]
    exercises = random.Random(options.seed).sample(exercises, min(options.count, len(exercises)))
    if options.only:
        every = map(json.loads, options.exercises.read_text("utf-8").splitlines())
        exercises = [one for one in every if one["name"] in options.only.split(",")]
    rows = []
    if options.results and options.results.exists():
        rows = [json.loads(line) for line in options.results.read_text("utf-8").splitlines()]
    done = {(row["way"], row["exercise"], row["tries"]) for row in rows}
    proxy = Proxy(options.server)
    for exercise in exercises:
        for way in options.ways.split(","):
            if (way, exercise["name"], options.tries) in done:
                continue
            row = asdict(measured(way, exercise, proxy, options))
            rows.append(row)
            print(f"{way:14} {exercise['name']:24} {'solved' if row['solved'] else '-':7} in {row['tokens_in']:>6} "
                  f"out {row['tokens_out']:>5} exit {row['code']} {row['model_s']:.0f} s", flush=True)  # fmt: skip
            if options.results:
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    table(rows)


if __name__ == "__main__":
    main()
