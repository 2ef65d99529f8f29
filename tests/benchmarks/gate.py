"""How long the gate takes beside the tools' own commands, measured in one run, interleaved.

Usage: python tests/benchmarks/gate.py [--rounds 7] [--large]

Inputs are files of about 200 lines cut from the standard library at statement borders. Every round uses
other texts, so that nothing is known beforehand, except where the row says so. Medians of wall time in
milliseconds; "ratio" is the alternative divided by ours.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rails.core.changes import ChangeSet, FileChange
from rails.core.diff import line_map
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate

SCRIPTS = Path(sys.executable).parent
RUFF_PROJECT = "[tool.ruff.lint]\nselect = ['E', 'W', 'F']\n[tool.ruff.format]\nline-ending = 'auto'\n"
FLAKE8 = "[flake8]\nmax-line-length = 88\n"
BLACK_PROJECT = "[tool.ruff.lint]\nselect = ['E', 'W', 'F']\n[tool.black]\nline-length = 88\n"


def pieces(count: int) -> list[str]:
    """Return texts of about 200 lines of dense human code that compile."""
    found: list[str] = []
    sources = sorted(path for path in Path(os.__file__).parent.rglob("*.py") if "site-packages" not in path.parts)
    random.Random(11).shuffle(sources)
    for source in sources:
        try:
            text = source.read_text("utf-8")
            body = ast.parse(text).body
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        lines = text.split("\n")
        ends = [node.end_lineno or 0 for node in body if 160 <= (node.end_lineno or 0) <= 240]
        if ends:
            found.append("\n".join(lines[: ends[-1]]) + "\n")
        if len(found) == count:
            break
    return found


def clock(work: Callable[[], object]) -> float:
    """Return the milliseconds that ``work`` takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


class Bench:
    """One project folder, its files on disk, and a warm gate."""

    def __init__(self, config: dict[str, str], texts: list[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gate-bench-"))
        for name, text in config.items():
            (self.folder / name).write_text(text)
        self.texts = texts
        self.round = 0
        self.gate = Gate(self.folder)
        self.turn()  # starts the workers
        self.turn()

    def files(self) -> list[tuple[str, str]]:
        """Return names and texts that no tool has seen yet."""
        self.round += 1
        return [
            (f"m{n}.py", f"{text}\nvalue_{self.round}_{n} = [ {n},{self.round} ]\n")
            for n, text in enumerate(self.texts)
        ]

    def change_set(self, files: list[tuple[str, str]]) -> ChangeSet:
        """Return ``files`` as edits of the same texts without their last line."""
        return ChangeSet(
            tuple(
                FileChange(WorkspacePath(name), text.rpartition("\nvalue_")[0].encode(), text.encode())
                for name, text in files
            )
        )

    def turn(self) -> float:
        """Time one judgement of unseen texts."""
        changes = self.change_set(self.files())
        return clock(lambda: self.gate.judge(changes))

    def again(self) -> float:
        """Time a judgement whose texts were judged before (as after speculation)."""
        changes = self.change_set(self.files())
        self.gate.judge(changes)
        return clock(lambda: self.gate.judge(changes))

    def on_disk(self) -> list[str]:
        """Write unseen texts and return their paths."""
        files = self.files()
        for name, text in files:
            (self.folder / name).write_text(text)
        return [str(self.folder / name) for name, _ in files]


def command(*words: str) -> None:
    """Run one tool to its end, quietly."""
    subprocess.run([str(SCRIPTS / words[0]), *words[1:]], capture_output=True, check=False)


def ruff_pair(paths: list[str]) -> None:
    """Start ruff check and ruff format together and wait for both."""
    quiet = subprocess.DEVNULL
    ruff = str(SCRIPTS / "ruff")
    pair = [
        subprocess.Popen([ruff, *words, "--no-cache", *paths], stdout=quiet, stderr=quiet)
        for words in (("check",), ("format", "--diff"))
    ]
    for process in pair:
        process.wait()


def four(paths: list[str]) -> None:
    """Run the four usual commands one after the other."""
    command("ruff", "check", "--no-cache", *paths)
    command("ruff", "format", "--diff", "--no-cache", *paths)
    command("flake8", "-j1", *paths)
    command("black", "--check", "-q", "-W1", *paths)


def row(name: str, ours: list[float], theirs: list[float], target: str) -> None:
    """Print one comparison."""
    mine = statistics.median(ours)
    other = statistics.median(theirs)
    print(f"{name:<58} {mine:>9.1f} {other:>9.1f} {other / mine:>7.1f}x   {target}")


def compare(name: str, ours: Callable[[], float], theirs: Callable[[], float], target: str, rounds: int) -> None:
    """Measure interleaved pairs and print their medians."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    row(name, [pair[0] for pair in pairs], [pair[1] for pair in pairs], target)


def python_turns(rounds: int) -> None:
    """Warm turns beside cold commands."""
    five = pieces(5)
    for count in (1, 5):
        bench = Bench({"pyproject.toml": RUFF_PROJECT}, five[:count])
        name = f"{count} file{'s' * (count > 1)}, ruff project, warm"
        compare(
            f"{name} | four commands in sequence",
            bench.turn,
            lambda b=bench: clock(lambda: four(b.on_disk())),
            "G1 >= 40x",
            rounds,
        )  # type: ignore[misc]
        compare(
            f"{name} | ruff check + format together",
            bench.turn,
            lambda b=bench: clock(lambda: ruff_pair(b.on_disk())),
            "G1 >= 1x",
            rounds,
        )  # type: ignore[misc]
        bench.gate.close()
    with_flake8 = Bench({"pyproject.toml": RUFF_PROJECT, ".flake8": FLAKE8}, five)
    compare(
        "5 files, + flake8, warm | four commands",
        with_flake8.turn,
        lambda: clock(lambda: four(with_flake8.on_disk())),
        "G2 >= 8x",
        rounds,
    )
    with_flake8.gate.close()
    all_three = Bench({"pyproject.toml": BLACK_PROJECT, ".flake8": FLAKE8}, five)
    compare(
        "5 files, + flake8 + black, warm | four commands",
        all_three.turn,
        lambda: clock(lambda: four(all_three.on_disk())),
        "G3 >= 3x",
        rounds,
    )
    compare(
        "5 files, + flake8 + black, seen before | four commands",
        all_three.again,
        lambda: clock(lambda: four(all_three.on_disk())),
        "G3 >= 50x",
        rounds,
    )
    all_three.gate.close()


def one_shot(rounds: int) -> None:
    """A single check from a shell beside Python's own start and the cold ruff pair."""
    bench = Bench({"pyproject.toml": RUFF_PROJECT}, pieces(5))
    paths = bench.on_disk()
    names = [Path(path).name for path in paths]
    code = (
        "import sys\nfrom pathlib import Path\nfrom rails.core.paths import WorkspacePath\n"
        "from rails.gate.gate import Gate\n"
        "with Gate(Path(sys.argv[1])) as gate:\n"
        "    gate.check_files([WorkspacePath(p) for p in sys.argv[2:]])\n"
    )

    # As installed: with compiled modules, which a machine may be told not to write.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def ours() -> float:
        words = [sys.executable, "-c", code, str(bench.folder), *names]
        return clock(lambda: subprocess.run(words, check=True, env=environment))

    def command_line() -> float:
        words = [sys.executable, "-m", "rails", "gate", *names]
        quiet = subprocess.DEVNULL
        return clock(lambda: subprocess.run(words, check=False, env=environment, cwd=bench.folder, stdout=quiet))

    ours()

    def theirs() -> float:
        floor = clock(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
        return floor + clock(lambda: ruff_pair(paths))

    compare("5 files, one shot | python -c pass + ruff pair", ours, theirs, "G5 >= 0.4x", rounds)
    compare("5 files, ai-rails gate | python -c pass + ruff pair", command_line, theirs, "G5 >= 0.4x", rounds)
    bench.gate.close()


def many(rounds: int) -> None:
    """Fifty files on disk beside the four commands, five hundred beside one ruff process."""
    for count, alternative, target in (
        (50, four, "G7 >= 20x"),
        (500, lambda paths: command("ruff", "check", "--no-cache", *paths), "G7 >= 0.77x"),
    ):
        bench = Bench({"pyproject.toml": RUFF_PROJECT}, pieces(count))

        def ours(bench: Bench = bench) -> float:
            names = [WorkspacePath(Path(path).name) for path in bench.on_disk()]
            return clock(lambda: bench.gate.check_files(names))

        compare(
            f"{count} files on disk | {'four commands' if count == 50 else 'ruff check'}",
            ours,
            lambda b=bench, a=alternative: clock(lambda: a(b.on_disk())),
            target,
            rounds,
        )  # type: ignore[misc]
        if count == 500:
            names = [WorkspacePath(Path(path).name) for path in bench.on_disk()]
            bench.gate.check_files(names)
            compare(
                "500 files on disk, seen before | ruff check",
                lambda b=bench, n=names: clock(lambda: b.gate.check_files(n)),
                lambda b=bench, a=alternative, n=names: clock(lambda: a([str(b.folder / str(name)) for name in n])),
                target,
                rounds,
            )  # type: ignore[misc]
        bench.gate.close()


def line_maps() -> None:
    """The line map alone, on small edits of real files."""
    chance = random.Random(3)
    times = []
    for text in pieces(100):
        old = text.split("\n")
        new = list(old)
        for _ in range(6):
            new.insert(chance.randrange(len(new)), f"added = {chance.random()}")
        times.append(clock(lambda o=old, n=new: line_map(o, n)))  # type: ignore[misc]
    print(f"{'line map, 200 lines, 6 inserted':<58} {statistics.median(times):>9.3f}                      G8 <= 0.5")


def memory() -> None:
    """Resident memory of a warm Python session's processes."""
    bench = Bench({"pyproject.toml": BLACK_PROJECT, ".flake8": FLAKE8}, pieces(5))
    pids = [worker.pid for worker in bench.gate._context.pool.workers if worker.pid]
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
    total = sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
    print(f"{f'memory of {len(pids)} warm processes, MB':<58} {total:>9.1f}                      G14 <= 110")
    bench.gate.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--large", action="store_true", help="also 50 and 500 files")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"median wall ms, {options.rounds} interleaved rounds, {os.cpu_count()} cores, load {load:.1f}")
    print(f"{'ours | alternative':<58} {'ours':>9} {'other':>9} {'ratio':>8}   target")
    python_turns(options.rounds)
    one_shot(options.rounds)
    if options.large:
        many(max(1, options.rounds // 3))
    line_maps()
    memory()


if __name__ == "__main__":
    main()
