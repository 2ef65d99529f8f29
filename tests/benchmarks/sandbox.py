"""What a command costs: bare, and at each level of the sandbox; in a project of 100 files and in one of 100,000.

    python tests/benchmarks/sandbox.py [--files 100,100000] [--runs 25]

Prints the median of wall time in milliseconds for ``/bin/true``, with the layer made once before (as in a session), and
what making the layer costs. Nothing of peers is compared.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from rails.sandbox import probe
from rails.sandbox.copied import CopyLayer
from rails.sandbox.overlay import OverlayLayer
from rails.sandbox.run import run
from rails.sandbox.view import SandboxView


def median(work, runs):
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


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
    labels = {level: probe.at_level(level) for level in (1, 2, 3)}
    print(f"{'files':>8}  {'bare':>8}" + "".join(f"  {f'level {level}':>8}  {'layer':>8}" for level in labels))
    for count in map(int, options.files.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            project = project_of(Path(folder, "p"), count)
            row = f"{count:8}  {median(lambda: subprocess.run(['/bin/true'], check=True), options.runs):8.1f}"
            for level, label in labels.items():
                if label.level != level:
                    row += f"  {'-':>8}  {'-':>8}"
                    continue
                began = time.perf_counter()
                with OverlayLayer(project) if level == 3 else CopyLayer(project, links=level == 1) as layer:
                    made = (time.perf_counter() - began) * 1000
                    view = SandboxView(project, layer)
                    runs = options.runs if level == 3 or count < 10_000 else 3
                    row += f"  {median(lambda: run(('/bin/true',), view, label=label), runs):8.1f}  {made:8.1f}"  # noqa: B023
            print(row, flush=True)


if __name__ == "__main__":
    main()
