"""Processor time of JavaScript turns beside the commands of ESLint and Prettier.

Usage: python tests/benchmarks/javascript.py [--sessions 3] [--turns 40] [--pause 0.2] [--same] [--daemons FOLDER]

A session is a new gate with a new worker. Each turn brings five new files of about 200 lines: sources of ESLint's
own library, ten sets in turn, with a line that nobody has seen. Processor time, not wall time: ours is that of our
process and of all threads of the worker (what compiles and collects in the background, too) from the start of a turn
to the start of the next, so that nothing hides in the pause; theirs is that of both commands with all their
children on the same texts. The commands run the same sixty rules as we, from an ``eslint.config.js`` without
plugins, and Prettier's own options. Theirs print what is wrong; ours also lints what Prettier wrote. Turns of every
session are put together by their number, and the median is taken. Rows by number, because V8 compiles what runs often
better and better: a session's third turn costs twice its thirtieth. With ``--same`` every turn brings the same five
sources with another line, as an agent does that works on the same files turn after turn.

``--daemons`` names a folder with eslint_d and @fsouza/prettierd in its ``node_modules``: their clients and their
daemons are measured warm, too. Needs the packages that ``ai-rails doctor --install javascript`` installs, or a folder
named by AI_RAILS_JAVASCRIPT.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.languages.javascript import node_worker

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())).resolve() / "node_modules"
FILES, EVERY = 5, 6


def configuration() -> str:
    """Return an ``eslint.config.js`` with the rules that the worker runs where a project has none."""
    code = Path(node_worker.__file__).with_suffix(".cjs").read_text("utf-8")
    found = re.search(r"const RULES = `([^`]*)`", code)
    rules: dict[str, object] = dict.fromkeys(found[1].split() if found else (), "error")
    rules["no-unused-vars"] = ["error", {"args": "none", "caughtErrors": "none", "vars": "local"}]
    rules["no-cond-assign"] = ["error", "always"]
    return f"module.exports = [{{ files: ['**/*.js'], rules: {json.dumps(rules)} }}];\n"


def sources() -> list[str]:
    """Return texts of about 200 lines."""
    files = sorted((REAL / "eslint" / "lib" / "rules").glob("*.js"))
    texts = [file.read_text("utf-8") for file in files]
    return [text for text in texts if 170 <= text.count("\n") <= 230]


def proposal(texts: list[str], number: int) -> dict[str, str]:
    """Return the files of a turn."""
    chosen = [texts[(number * FILES + n) % len(texts)] for n in range(FILES)]
    return {f"m{n}.js": f"{text}\nconst  value{number} = {{n:{n}}}\n" for n, text in enumerate(chosen)}


def of_children(work: list[list[str]], folder: Path) -> float:
    """Return the processor milliseconds of commands and what they start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for words in work:
        subprocess.run(words, cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def of_process(pid: int) -> float:
    """Return the processor milliseconds that a process has used so far (Linux: CPUCLOCK_SCHED of its number)."""
    return time.clock_gettime((~pid << 3) | 2) * 1000


def session(folder: Path, texts: list[str], turns: int, pause: float, theirs: Callable[[], float]) -> Iterator[float]:
    """Yield the processor milliseconds of each turn; ``theirs`` is called now and then, to be measured beside."""
    with Gate(folder) as gate:
        for number in range(turns):
            files = proposal(texts, number)
            changes = ChangeSet(tuple(FileChange(WorkspacePath(n), None, t.encode()) for n, t in files.items()))
            worker = gate._context.resources.get("node")
            start = time.process_time() * 1000 + (of_process(worker.pid) if worker else 0.0)
            verdict = gate.judge(changes)
            assert not any(miss.required for miss in verdict.not_checked), verdict.not_checked
            time.sleep(pause)
            yield time.process_time() * 1000 + of_process(gate._context.resources["node"].pid) - start
            if number % EVERY == 0:
                for name, text in files.items():
                    (folder / name).write_text(text)
                theirs()


def daemons(folder: Path, project: Path, names: list[str], rounds: int = 6) -> float:
    """Return the median of what warm eslint_d and prettierd, clients and daemons, use for the files of one turn."""
    programs = [folder / "node_modules" / ".bin" / name for name in ("eslint_d", "prettierd")]
    own = str(folder / "node_modules")

    def running() -> list[int]:
        pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in pids if own in Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")]

    def turn() -> float:
        pids = running()
        before = sum(map(of_process, pids))
        spent = of_children([[str(programs[0]), *names]], project)
        for name in names:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            with (project / name).open("rb") as text:
                subprocess.run([str(programs[1]), name], cwd=project, stdin=text, capture_output=True, check=False)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent += (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) * 1000
        return spent + sum(map(of_process, pids)) - before

    try:
        return statistics.median([turn() for _ in range(rounds + 2)][2:])
    finally:
        for program in programs:
            subprocess.run([str(program), "stop"], cwd=project, capture_output=True, check=False)


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.2)
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--daemons", type=Path)
    options = parser.parse_args()
    node = node_worker.find_node(Path("/nonexistent"))
    if node is None or not (REAL / "eslint").is_dir():
        print("ESLint and Prettier are not installed: nothing was measured.")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="gate-js-"))
    (folder / "node_modules").symlink_to(REAL)
    (folder / "eslint.config.js").write_text(configuration())
    texts = sources()[: FILES if options.same else None]
    names = list(proposal(texts, 0))
    commands = [["eslint/bin/eslint.js"], ["prettier/bin/prettier.cjs", "--check"]]
    words = [[node, str(REAL / one[0]), *one[1:], *names] for one in commands]
    theirs: list[float] = []
    runs = [
        list(session(folder, texts, options.turns, options.pause, lambda: theirs.append(of_children(words, folder))))
        for _ in range(options.sessions)
    ]
    other = statistics.median(theirs)
    print(f"{FILES} files a turn, processor ms (load {os.getloadavg()[0]:.1f}); eslint + prettier {other:.0f}")
    if options.daemons:
        used = daemons(options.daemons, folder, names)
        print(f"eslint_d + prettierd, warm (prettierd has one client a file): {used:.0f}")
    for first, last in ((1, 1), (2, 2), (3, 5), (6, 15), (16, 30), (31, 60), (61, 120)):
        turns = [one for run in runs for one in run[first - 1 : last]]
        if turns:
            mine = statistics.median(turns)
            name = f"turn {first}" if first == last else f"turns {first}-{min(last, options.turns)}"
            print(f"{name:14}{mine:6.0f}   {mine / other:.2f}x of theirs, 1/{other / mine:.1f}")
    print("G6: the first turn <= 0.70x, a warm turn <= 1/12")
    return 0


if __name__ == "__main__":
    sys.exit(main())
