"""What the gate calls new, on a generated history of edits where every line knows where it came from.

Usage: python tests/benchmarks/newness.py [--files 300] [--seed 7]

Each file of about 200 lines gets a few edits of the kinds that agents make: insertions, deletions, rewritten
lines, moved and duplicated blocks, another indentation, a name changed everywhere, an import taken away. The
generator carries each line's origin along, so that nothing here rests on a diff. ruff lints both sides.
Noise: a finding called new although its line is untouched and had it before. Miss: a finding called old
although its untouched line did not have it. The alternatives are what other tools do.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate import SCRIPTS, pieces

from rails.core.verdict import Finding
from rails.gate.baseline import TextFindings, which_are_new, without_numbers

#: A line and the place in the old file that it came from, -1 for a line that the edit wrote.
Line = tuple[str, int]
SELECT = "E,W,F,B,UP,SIM,I,PLR"


@dataclass(frozen=True)
class Case:
    """One edited file: both texts, and for each new line where it came from."""

    old: list[str]
    new: list[str]
    origin: list[int]


def insert(lines: list[Line], chance: random.Random) -> None:
    """Put new code between two lines."""
    at = chance.randrange(len(lines))
    indent = re.match(r"\s*", lines[at][0])[0]  # type: ignore[index]
    code = chance.choice(["value = compute( 1 )", "import os", "if x == None: pass", "y = lambda: undefined_name", ""])
    lines[at:at] = [(indent + code, -1)] * chance.randint(1, 3)


def delete(lines: list[Line], chance: random.Random) -> None:
    """Take lines away."""
    at = chance.randrange(len(lines))
    del lines[at : at + chance.randint(1, 5)]


def rewrite(lines: list[Line], chance: random.Random) -> None:
    """Change one line."""
    at = chance.randrange(len(lines))
    lines[at] = (lines[at][0] + chance.choice(["  # changed", " ", " + 1", ";"]), -1)


def move(lines: list[Line], chance: random.Random) -> None:
    """Move a block, its origin with it."""
    at = chance.randrange(len(lines))
    block = lines[at : at + chance.randint(3, 25)]
    del lines[at : at + len(block)]
    to = chance.randrange(len(lines) + 1)
    lines[to:to] = block


def duplicate(lines: list[Line], chance: random.Random) -> None:
    """Copy a block: the copy is new."""
    at = chance.randrange(len(lines))
    block = [(text, -1) for text, _ in lines[at : at + chance.randint(2, 15)]]
    lines[at + len(block) : at + len(block)] = block


def indent(lines: list[Line], chance: random.Random) -> None:
    """Put a block under a condition: its lines are other lines now."""
    at = chance.randrange(len(lines))
    count = chance.randint(2, 12)
    lines[at : at + count] = [(textwrap.indent(text, "    "), -1) for text, _ in lines[at : at + count]]


def rename(lines: list[Line], chance: random.Random) -> None:
    """Change a name everywhere."""
    names = re.findall(r"\b[a-z_]{4,}\b", "\n".join(text for text, _ in lines))
    name = chance.choice(names or ["none"])
    for at, (text, origin) in enumerate(lines):
        changed = re.sub(rf"\b{name}\b", f"{name}_two", text)
        lines[at] = (changed, origin if changed == text else -1)


def unimport(lines: list[Line], chance: random.Random) -> None:
    """Take an import away: what it breaks is far from it."""
    imports = [at for at, (text, _) in enumerate(lines) if re.match(r"(?:import|from) \w", text)]
    if imports:
        del lines[chance.choice(imports)]


EDITS: Sequence[Callable[[list[Line], random.Random], None]] = (
    *(insert, insert, delete, rewrite, rewrite, move, duplicate, indent, rename, unimport),
)


def history(count: int, seed: int) -> list[Case]:
    """Return edited files that still parse."""
    chance = random.Random(seed)
    cases: list[Case] = []
    sources = pieces(150)
    while len(cases) < count:
        old = chance.choice(sources).split("\n")
        lines: list[Line] = [(text, at) for at, text in enumerate(old)]
        for _ in range(chance.randint(1, 4)):
            chance.choice(EDITS)(lines, chance)
            if not lines:
                break
        new = [text for text, _ in lines]
        try:
            ast.parse("\n".join(new))
        except SyntaxError:
            continue
        if new != old:
            cases.append(Case(old, new, [origin for _, origin in lines]))
    return cases


def lint(texts: Sequence[list[str]]) -> list[list[Finding]]:
    """Return ruff's findings in each text."""
    with tempfile.TemporaryDirectory(prefix="newness-") as folder:
        for number, lines in enumerate(texts):
            Path(folder, f"m{number}.py").write_text("\n".join(lines), "utf-8")
        words = ["check", "--isolated", "--no-cache", f"--select={SELECT}", "--output-format=json", folder]
        ran = subprocess.run([str(SCRIPTS / "ruff"), *words], capture_output=True, check=False)
    found: list[list[Finding]] = [[] for _ in texts]
    for item in json.loads(ran.stdout):
        number = int(Path(item["filename"]).stem[1:])
        place = item["location"]
        found[number].append(
            Finding(f"m{number}.py", place["row"], place["column"], str(item["code"]), item["message"], "ruff")
        )
    return found


Judge = Callable[[Case, list[Finding], list[Finding]], list[bool]]


def ours(case: Case, old: list[Finding], new: list[Finding]) -> list[bool]:
    """Follow lines through the diff, then compare texts."""
    return which_are_new(TextFindings(case.old, old), TextFindings(case.new, new))


def by_position(_case: Case, old: list[Finding], new: list[Finding]) -> list[bool]:
    """Compare rule, line and column, as editors' diagnostics are compared."""
    known = Counter((one.rule, one.line, one.column) for one in old)
    return [not known[one.rule, one.line, one.column] for one in new]


def by_changed_lines(case: Case, _old: list[Finding], new: list[Finding]) -> list[bool]:
    """Take what is on changed lines, as filters of diffs do."""
    return [case.origin[min(one.line, len(case.origin)) - 1] < 0 for one in new]


def by_text(case: Case, old: list[Finding], new: list[Finding]) -> list[bool]:
    """Compare rule and line text, as fingerprints do."""

    def key(one: Finding, lines: list[str]) -> tuple[str, str]:
        return one.rule, lines[min(one.line, len(lines)) - 1].strip()

    known = Counter(key(one, case.old) for one in old)
    marks = []
    for one in new:
        known[key(one, case.new)] -= 1
        marks.append(known[key(one, case.new)] < 0)
    return marks


def errors_of(case: Case, old: list[Finding], new: list[Finding], marks: list[bool]) -> tuple[int, int]:
    """Count noise and misses on untouched lines.

    A copy and its original are the same text; which of the two is called new is nobody's mistake.
    """
    had = Counter((one.rule, without_numbers(one.message), one.line - 1) for one in old)
    noise: Counter[tuple[str, str, str]] = Counter()
    copies: Counter[tuple[str, str, str]] = Counter()
    missed = 0
    for one, is_new in zip(new, marks, strict=True):
        at = min(one.line, len(case.origin)) - 1
        key, alike = (
            (one.rule, without_numbers(one.message), case.origin[at]),
            (one.rule, without_numbers(one.message), case.new[at]),
        )
        if case.origin[at] < 0:
            copies[alike] += not is_new
            continue
        known = had[key] > 0
        had[key] -= known
        noise[alike] += known and is_new
        missed += not known and not is_new
    return (noise - copies).total(), missed


def main() -> int:
    """Print the table; 1 when ours has noise or misses."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    cases = history(options.files, options.seed)
    before = lint([case.old for case in cases])
    after = lint([case.new for case in cases])
    print(f"{len(cases)} edits, {sum(map(len, after))} findings after them, ruff {SELECT}")
    print(f"{'method':<34} {'called new':>10} {'noise':>7} {'misses':>7} {'ms/file, median':>16}")
    worst = 0
    judges: dict[str, Judge] = {
        "diff-mapped line, then text (ours)": ours,
        "rule, line and column": by_position,
        "changed lines only": by_changed_lines,
        "rule and text of the line": by_text,
    }
    for name, judge in judges.items():
        called = noise = missed = 0
        times = []
        for case, old, new in zip(cases, before, after, strict=True):
            start = time.perf_counter()
            marks = judge(case, old, new)
            times.append((time.perf_counter() - start) * 1000)
            wrong = errors_of(case, old, new, marks)
            called += sum(marks)
            noise += wrong[0]
            missed += wrong[1]
        print(f"{name:<34} {called:>10} {noise:>7} {missed:>7} {sorted(times)[len(times) // 2]:>16.3f}")
        worst = max(worst, noise + missed) if judge is ours else worst
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
