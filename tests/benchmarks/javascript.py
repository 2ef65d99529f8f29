"""Processor time of a warm JavaScript turn beside the cold commands of ESLint and Prettier.

Usage: python tests/benchmarks/javascript.py [--rounds 5] [--pause 4]

Five sources of about 200 lines from ESLint's own library. Processor time, not wall time: of our process and the
warm Node worker for one turn on unseen text, and of both commands with all their children. Two turns start the
worker; then it is left alone for ``--pause`` seconds, as while a model writes, and repeats what it was asked. What
that costs once in a session is printed, too. The command runs the two rules of the configuration, we about sixty,
because nobody agreed that the configuration may be executed. Needs the packages
that ``ai-rails doctor --install javascript`` installs, or a folder named by AI_RAILS_JAVASCRIPT.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate import Gate, nodeworker

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", nodeworker.tool_folder())).resolve() / "node_modules"
CONFIG = "module.exports = [{ files: ['**/*.js'], rules: { 'no-debugger': 'error', 'no-unused-vars': 'error' } }];\n"


def sources(count: int) -> list[str]:
    """Return texts of about 200 lines."""
    files = sorted((REAL / "eslint" / "lib" / "rules").glob("*.js"))
    texts = [file.read_text("utf-8") for file in files]
    return [text for text in texts if 170 <= text.count("\n") <= 230][:count]


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


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=float, default=4.0)
    options = parser.parse_args()
    node = nodeworker.find_node(Path("/nonexistent"))
    if node is None or not (REAL / "eslint").is_dir():
        print("ESLint and Prettier are not installed: nothing was measured.")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="gate-js-"))
    (folder / "node_modules").symlink_to(REAL)
    (folder / "eslint.config.js").write_text(CONFIG)
    texts = sources(5)
    ours, theirs, practice = [], [], 0.0
    with Gate(folder) as gate:
        for number in range(options.rounds + 2):
            files = {f"m{n}.js": f"{text}\nconst  value{number} = {{n:{n}}}\n" for n, text in enumerate(texts)}
            changes = ChangeSet(tuple(FileChange(WorkspacePath(n), None, t.encode()) for n, t in files.items()))
            worker = gate._desk.resources.get("node")
            start = time.process_time() * 1000 + (of_process(worker.pid) if worker else 0.0)
            gate.judge(changes)
            worker = gate._desk.resources["node"]
            used = time.process_time() * 1000 + of_process(worker.pid) - start
            if number == 1:
                started = of_process(worker.pid)
                time.sleep(options.pause)
                practice = of_process(worker.pid) - started
            if number < 2:
                continue
            for name, text in files.items():
                (folder / name).write_text(text)
            commands = [["eslint/bin/eslint.js"], ["prettier/bin/prettier.cjs", "--check"]]
            words = [[node, str(REAL / one[0]), *one[1:], *files] for one in commands]
            ours.append(used)
            theirs.append(of_children(words, folder))
    mine, other = statistics.median(ours), statistics.median(theirs)
    print(f"{len(texts)} files, processor ms: ours {mine:.0f}, eslint + prettier {other:.0f}")
    print(f"once in a session, while nobody asks: {practice:.0f} in {options.pause:g} s")
    print(f"ratio {other / mine:.1f}x (G6 >= 12x)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
