"""Figures of the edit engine: drift beside real peers, and speed.

    python tests/benchmarks/edits.py drift [--each 100] [--seed 1] [--peers FOLDER ...] [--show KIND]
    python tests/benchmarks/edits.py speed

``--peers`` names folders with unpacked packages (``pip install --no-deps --target FOLDER aider-chat`` and the
like, ``npm install --ignore-scripts --prefix FOLDER @google/gemini-cli-core``); the peers' own matching functions are
read from there, unmodified, and run in this process, those of JavaScript in Node. A peer that is not there is left
out, and the table says so. Cell: correct / refused / **silently wrong**.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import drift  # noqa: E402
from peers import find_peers  # noqa: E402

from rails.core import paths  # noqa: E402
from rails.edits.edit_request import EditRequest  # noqa: E402
from rails.edits.file_draft import Draft  # noqa: E402
from rails.edits.match import locate  # noqa: E402
from rails.edits.plan_result import EditError  # noqa: E402
from rails.edits.safe_files import Snapshot  # noqa: E402
from rails.edits.text_view import View  # noqa: E402


def ours(case):
    """The whole engine, without the disk. Returns bytes, or None for a refusal."""
    draft = Draft(paths.parse_path("piece.py"), Snapshot(case.data, 0o644, 1, (0, 0), (0, 0)))
    try:
        draft.edit(EditRequest(case.old, case.new), case.more.get("base_hash", ""))
        return draft.finish().after
    except EditError:
        return None


def verdict(case, result):
    if result is None or result == case.data:
        return "refused"
    return "right" if any(right == result for right in case.right) else "wrong"


def run_drift(options):
    contestants = {"AI-Rails": ours, **find_peers(options.peers)}
    score = {name: {} for name in contestants}
    seconds = Counter()
    for case in drift.cases(options.each, options.seed):
        for name, function in contestants.items():
            if case.more and name != "AI-Rails":
                continue  # there is no way to tell a peer
            start = time.perf_counter()
            result = function(case)
            seconds[name] += time.perf_counter() - start
            said = verdict(case, result)
            score[name].setdefault(case.kind, Counter())[said] += 1
            if (
                name == "AI-Rails"
                and options.show in (case.kind, "all")
                and said != ("refused" if case.must_refuse else "right")
            ):
                print(f"--- {case.kind}: {said}\n{case.old}\n--- new\n{case.new}\n--- result")
                print(result and result.decode("utf-8", "replace"))
    print_table(contestants, score)
    for name in contestants:
        print_totals(name, score[name], seconds[name])


def print_table(contestants, score):
    print("| Kind | " + " | ".join(contestants) + " |")
    print("|---" * (len(contestants) + 1) + "|")
    for kinds, mark in ((drift.RECOVERABLE, ""), (drift.EITHER, " (either)"), (drift.REFUSABLE, " (refuse)")):
        for kind in kinds:
            cells = []
            for name in contestants:
                seen = score[name].get(kind)
                if not seen:
                    cells.append("–")
                    continue
                good = seen["refused"] if kinds is drift.REFUSABLE else seen["right"]
                missed = 0 if kinds is drift.REFUSABLE else seen["refused"]
                wrong = f"**{seen['wrong']}**" if seen["wrong"] else "0"
                cells.append(f"{good}/{missed}/{wrong}")
            print(f"| {kind}{mark} | " + " | ".join(cells) + " |")


def print_totals(name, kinds, seconds):
    right = sum(kinds[kind]["right"] for kind in drift.RECOVERABLE)
    cases = sum(sum(kinds[kind].values()) for kind in drift.RECOVERABLE)
    held = [kinds[kind] for kind in drift.REFUSABLE if kind in kinds]
    refused = sum(seen["refused"] for seen in held)
    refusable = sum(sum(seen.values()) for seen in held)
    wrong = sum(seen["wrong"] for seen in kinds.values())
    print(
        f"{name}: {right}/{cases} recoverable applied ({right / cases:.2%}), {refused}/{refusable} others refused, "
        f"{wrong} silently wrong, {seconds:.1f} s"
    )


def median_us(function, least=15, budget=2.0):
    function()
    taken = []
    end = time.perf_counter() + budget
    while len(taken) < least or (time.perf_counter() < end and len(taken) < 2000):
        start = time.perf_counter()
        function()
        taken.append((time.perf_counter() - start) * 1e6)
    return statistics.median(taken)


def run_speed(_options):
    print("| File | exact, match only | exact, whole plan | indentation rung, match only | refused, with candidates |")
    print("|---|---|---|---|---|")
    for count in (200, 2_000, 20_000):
        lines = [f"    value_{n} = compute(first_{n}, second_{n % 97})" for n in range(count)]
        text = "\n".join(lines) + "\n"
        data = text.encode()
        at = count * 2 // 3
        old = "\n".join(lines[at : at + 5])
        bare = "\n".join(line.strip() for line in lines[at : at + 5])
        jobs = (
            lambda text=text, old=old: locate(View(text), EditRequest(old, old + "\n    more = 1")),
            lambda data=data, old=old: ours(drift.Case("", data, old, old + "\n    more = 1")),
            lambda text=text, bare=bare: locate(View(text), EditRequest(bare, bare + "\nmore = 1")),
            lambda text=text, bare=bare: locate(View(text), EditRequest(bare.replace("compute", "gone"), "x")),
        )
        print(f"| {count} lines | " + " | ".join(f"{median_us(job):,.0f} µs" for job in jobs) + " |")
    print()
    for name, job in bounds().items():
        start = time.perf_counter()
        said = job()
        print(f"{name}: {time.perf_counter() - start:.2f} s ({said})")


def bounds():
    """The cases that must stay within stated bounds or be refused quickly."""
    big = "".join(
        f"line {n} of a file that is ten megabytes long, with some text to fill it up\n" for n in range(125_000)
    )
    near = "".join("            return self._value\n" for _ in range(100_000))
    needle = "            return self._value\n" * 500 + "            return self._other\n"

    def thousand():
        draft = Draft(paths.parse_path("big.txt"), Snapshot(big.encode(), 0o644, 1, (0, 0), (0, 0, 0, 0)))
        for n in range(1000):
            draft.edit(EditRequest(f"line {n * 100} of a file", f"LINE {n * 100} of a file"), "")
        return f"{len(draft.finish().after):,} bytes"

    def one(text, old, new="x"):
        found = locate(View(text), EditRequest(old, new))
        return getattr(found, "code", f"rung {getattr(found, 'rung', 0)}")

    return {
        "10 MB file, exact edit": lambda: one(big, "line 99999 of"),
        "10 MB file, token rung": lambda: one(
            big, "line 99999 of a file that is ten megabytes long,with some text to fill it up"
        ),
        "10 MB file, refused": lambda: one(big, "line 99999 of a file that was ten megabytes long\nand more"),
        "10 MB file, 1,000 edits in one batch": thousand,
        "100,000 almost equal lines, near miss": lambda: one(near, needle),
        "100,000 equal lines, ambiguous": lambda: one(near, "return self._value"),
        "100,000 equal lines, indented search": lambda: one(near, ("return self._value\n" * 50).rstrip("\n"), "y"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["drift", "speed"])
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", type=Path, nargs="*", default=[])
    parser.add_argument("--show", default="")
    options = parser.parse_args()
    {"drift": run_drift, "speed": run_speed}[options.what](options)


if __name__ == "__main__":
    main()
