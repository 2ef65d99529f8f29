"""What a command costs: bare, and at each level of the sandbox; in a project of 100 files and in one of 100,000.

    python tests/benchmarks/sandbox.py [--files 100,100000] [--runs 25]

Prints medians of wall time in milliseconds for ``/bin/true``, with the layer made once before (as in a session), what
is above the command itself, what making the layer costs, and the demo project's tests. Nothing of peers is compared.
"""

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from rails.core.app_dirs import builtin_folder
from rails.sandbox import probe
from rails.sandbox.copied import CopyLayer
from rails.sandbox.overlay import OverlayLayer
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import SandboxView
from rails.tools.project_tests import command_for_tests


def times(works, runs):
    """Return the median of each work's wall time in ms; they take turns, so that a busy machine is so for all."""
    taken = [[] for _ in works]
    for _ in range(runs):
        for work, own in zip(works, taken, strict=True):
            began = time.perf_counter()
            work()
            own.append((time.perf_counter() - began) * 1000)
    return [statistics.median(own) for own in taken]


def project_of(folder, files):
    for number in range(files):
        place = folder / f"d{number // 200}" / f"f{number}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{number}\n")
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", default="100,100000")
    parser.add_argument("--runs", type=int, default=25)
    options = parser.parse_args()
    labels = {level: found for level in (1, 2, 3) if (found := probe.at_level(level)).level == level}
    print(
        f"{'files':>8}  {'bare':>8}" + "".join(f"  {f'level {one}':>8}  {'above':>8}  {'layer':>8}" for one in labels)
    )
    for count in map(int, options.files.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            project = project_of(Path(folder, "p"), count)
            row = f"{count:8}"
            for level, label in labels.items():
                bare, inside, made = measured(project, label, options.runs if level == 3 or count < 10_000 else 3)
                row += f"  {bare:8.1f}" if level == min(labels) else ""
                row += f"  {inside:8.1f}  {inside - bare:8.1f}  {made:8.1f}"
            print(row, flush=True)
    for level, label in labels.items():
        bare, inside = own_tests(label, options.runs)
        print(f"run_tests of the demo, level {level}: bare {bare:.0f}, inside {inside:.0f}, {inside / bare:.2f} times")


def measured(project, label, runs):
    """Return what /bin/true costs bare and inside, and what the layer costs once."""
    began = time.perf_counter()
    with OverlayLayer(project) if label.level == 3 else CopyLayer(project, links=label.level == 1) as layer:
        made = (time.perf_counter() - began) * 1000
        view = SandboxView(project, layer)
        works = lambda: subprocess.run(["/bin/true"], check=True), lambda: run(("/bin/true",), view, label=label)
        return *times(works, runs), made


def own_tests(label, runs):
    """Return what the demo project's own tests cost, bare and inside."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "todo")
        shutil.copytree(builtin_folder("workspace") / "todo", project, ignore=shutil.ignore_patterns("__pycache__"))
        argv = command_for_tests(project)
        with layer_for(project, label=label) as layer:
            view = SandboxView(project, layer)
            works = (
                lambda: subprocess.run(argv, cwd=project, check=True, capture_output=True),
                lambda: run(argv, view, label=label, together=True),
            )
            times(works, 2)  # compiled modules stay in the project, and in the layer
            return times(works, runs)


if __name__ == "__main__":
    main()
