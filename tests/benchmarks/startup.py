"""How long a command takes from its start to its end, beside Python's own start.

    python tests/benchmarks/startup.py [--rounds 15]

Wall time and processor time (user and system, of the whole tree) of processes in milliseconds, medians and minima;
"ratio" is the median of the ratios to the empty Python of the same round, of the wall times and of the processor
times. The rows take turns, so that a busy machine slows all of them alike. Caches are warm: every command runs once
before it is measured, each in a new copy of the project and with a configuration folder of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RAILS = [sys.executable, "-c", "from rails.cli import console; console()"]
CODE = "import os\n\n\ndef home() -> str:\n    return os.sep\n"
WRITTEN = """
import rails
done = rails.apply(open("answer.md").read(), ".", approve=lambda request: True)
assert done.status == "applied", done
"""
RULE = '[[rule]]\ndecision = "allow"\ntool = "write_file"\npath = "*.md"\n'
ANSWER = """I add the page.

```json
{"tool": "write_file", "path": "notes.md", "content": "# Notes\\n"}
```
"""


def commands(project: Path) -> dict[str, list[str]]:
    """Return what is measured, after making the files that it needs."""
    (project / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['E', 'F']\n", "utf-8")
    (project / "a.py").write_text(CODE, "utf-8")
    (project / "answer.md").write_text(ANSWER, "utf-8")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=project, check=True)
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "ai-rails --help": [*RAILS, "--help"],
        "ai-rails run --help": [*RAILS, "run", "--help"],
        "ai-rails gate a.py": [*RAILS, "gate", "a.py"],
        "ai-rails parse answer.md": [*RAILS, "parse", "answer.md"],
        "ai-rails apply answer.md --dry-run": [*RAILS, "apply", "answer.md", "--dry-run"],
        "ai-rails apply, a rule allows it": [*RAILS, "apply", "answer.md", "--approve", "policy"],
        "rails.apply(answer), written": [sys.executable, "-c", WRITTEN],
    }


def measured_ms(command: list[str], project: Path) -> tuple[float, float]:
    """Return the wall and processor time of ``command`` in a copy of ``project``. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(project, Path(folder, "project"))
        Path(folder, "ai-rails").mkdir()
        Path(folder, "ai-rails", "policy.toml").write_text(RULE, "utf-8")
        environment = {**os.environ, "XDG_CONFIG_HOME": folder}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, spent * 1000


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="Start-up of the commands.")
    options.add_argument("--rounds", type=int, default=15)
    rounds: int = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        measured = commands(project)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in measured}
        for number in range(rounds + 1):
            for name, command in measured.items():
                took = measured_ms(command, project)
                if number:
                    times[name].append(took)
    print(f"{'whole process, ms':36}{'median':>9}{'minimum':>9}{'ratio':>7}{'CPU':>9}{'minimum':>9}{'ratio':>7}")
    for name, took in times.items():
        shown = ""
        for column in range(2):
            mine, empty = ([one[column] for one in rows] for rows in (took, times["python -c pass"]))
            ratio = statistics.median(a / b for a, b in zip(mine, empty, strict=True))
            shown += f"{statistics.median(mine):9.1f}{min(mine):9.1f}{ratio:7.1f}"
        print(f"{name:36}{shown}")


if __name__ == "__main__":
    main()
