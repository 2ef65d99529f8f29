"""`gate --fix` on very many files, as a user types it: seconds, memory, and what stands at the end.

Usage: python tests/benchmarks/fix_many.py [--files 10000]

Files of ten lines, each with an unused import, bad layout and blanks at line ends, in folders of a hundred, in a git
repository. The command line is a process of its own. The run fails where a file is not what ruff's own `check --fix`
and `format` make of it, where progress is not told for each step, or where one `undo` does not bring all of it back.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = "[tool.ruff]\nline-length = 100\n[tool.ruff.format]\n[tool.ruff.lint]\nselect = ['E', 'F', 'W', 'I']\n"
TEXT = """import os
import json
def load_{0}( path,mode = 'r' ):
    with open(path,mode) as file:
        return json.load(file){1}


class Items{0}:
    def first(self): return [{0},{0}+1][0]
"""


def state(project: Path) -> str:
    """Return a hash over all Python files."""
    found = hashlib.sha256()
    for file in sorted(project.rglob("*.py")):
        found.update(f"{file.relative_to(project)}\0".encode() + file.read_bytes())
    return found.hexdigest()


def run(project: Path, *words: str) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Run one command of ours; return wall seconds, CPU seconds and the process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    command = [sys.executable, "-m", "rails", *words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=environment(project))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, spent, done


def environment(project: Path) -> dict[str, str]:
    """Return the environment with a configuration folder of its own."""
    return {**os.environ, "AI_RAILS_CONFIG_DIR": str(project.parent / "config"), "HOME": str(project.parent)}


def main() -> int:
    """Make the project, run the commands, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    files = parser.parse_args().files
    folder = Path(tempfile.mkdtemp(prefix="fix-many-")).resolve()
    try:
        return measured(folder, files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measured(folder: Path, files: int) -> int:
    """Return 0 where everything is as it should be."""
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(CONFIG)
    for number in range(files):
        place = project / f"p{number // 100:03}" / f"m{number:05}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(TEXT.format(number, " " * 3))
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    before = state(project)
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
    shutil.copytree(project, folder / "by_ruff")
    for words in (["check", "--fix", "-q"], ["format", "-q"]):
        subprocess.run([ruff, *words, "--no-cache", "."], cwd=folder / "by_ruff", check=False, capture_output=True)
    wall, spent, fixed = run(project, "gate", "--fix")
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    after = state(project)
    told = [line for line in fixed.stderr.splitlines() if line.startswith("gate: ") and " files, " in line]
    undo_wall, undo_spent, undone = run(project, "undo")
    rows = {
        "files": files,
        "gate --fix, seconds": f"{wall:.1f} (CPU {spent:.1f})",
        "undo, seconds": f"{undo_wall:.1f} (CPU {undo_spent:.1f})",
        "largest process, MB": f"{largest:.0f}",
        "lines of progress": len(told),
        "the last of them": told[-1] if told else "none",
        "as ruff's own --fix and format": after == state(folder / "by_ruff"),
        "undone to the byte": state(project) == before,
        "exit codes": f"{fixed.returncode}, {undone.returncode}",
    }
    for name, value in rows.items():
        print(f"{name:34} {value}")
    good = after == state(folder / "by_ruff") and state(project) == before and told and not undone.returncode
    if not good:
        print(fixed.stderr[-2_000:], fixed.stdout[-2_000:], undone.stderr[-2_000:])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
