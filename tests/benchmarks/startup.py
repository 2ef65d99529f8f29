"""How long a command takes from its start to its end, beside Python's own start.

    python tests/benchmarks/startup.py [--rounds 15]

Wall time of whole processes in milliseconds, median and minimum; the rows take turns, so that a busy machine slows
all of them alike. Caches are warm: every command runs once before it is measured.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RAILS = [sys.executable, "-c", "from rails.cli import console; console()"]
CODE = "import os\n\n\ndef home() -> str:\n    return os.sep\n"
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
    }


def wall_ms(command: list[str], project: Path) -> float:
    """Return the milliseconds from the start of ``command`` to its end. Raises CalledProcessError if it fails."""
    start = time.perf_counter()
    subprocess.run(command, cwd=project, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="Start-up of the commands.")
    options.add_argument("--rounds", type=int, default=15)
    rounds: int = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        measured = commands(project)
        times: dict[str, list[float]] = {name: [] for name in measured}
        for number in range(rounds + 1):
            for name, command in measured.items():
                took = wall_ms(command, project)
                if number:
                    times[name].append(took)
    print(f"{'whole process, ms':36}{'median':>9}{'minimum':>9}")
    for name, took in times.items():
        print(f"{name:36}{statistics.median(took):9.1f}{min(took):9.1f}")


if __name__ == "__main__":
    main()
