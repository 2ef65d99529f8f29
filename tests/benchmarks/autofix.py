"""How much the gate corrects by itself on code as models write it, and whether it breaks any of it.

Usage: python tests/benchmarks/autofix.py [--files 150] [--seed 1]

Pieces of the standard library of about 200 lines, degraded by what models do: unused imports, typing of old
versions, blanks at line ends, long comments and strings, missing final newlines, old formatting calls. Beside
it: ruff's own safe fixes and its formatter, run to the end.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from gate import SCRIPTS, pieces

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate

SELECT = "E,W,F,I,UP"
_AT_ONCE = 200
CONFIG = f"[tool.ruff]\ntarget-version = 'py310'\n[tool.ruff.lint]\nselect = {SELECT.split(',')}\n"
CONFIG += "[tool.ruff.format]\nquote-style = 'double'\n"
IMPORTS = [
    "import os",
    "import sys, json",
    "from typing import Dict, List, Optional",
    "import datetime as dt",
    "import re",
]
HELPERS = [
    'def load(path, mode = None):\n    """Load the items."""\n    if mode is None: mode = "r"\n'
    "    # Open the file and read all of its lines so that they can be processed by the caller of this "
    "function later on\n"
    "    with open(path, mode) as f:\n        return [line for line in f]",
    "def describe(name: Optional[str]=None) -> Dict[str, List[int]]:\n"
    '    message = "The values were computed and are being returned to the caller as a dictionary of lists of '
    'numbers"\n'
    '    print("Hello {}, your result is being computed by the function named describe: {}".format(name, message))\n'
    "    return {}",
    "class Item(object):\n    def __init__(self, value):\n        super(Item, self).__init__()\n"
    "        self.value=value",
    "if __name__ == '__main__':\n    try:\n        print(f\"done\")\n    except Exception as error:\n"
    "        print('Error: {}'.format(error))   # say what went wrong, so that whoever runs this can correct it and "
    "try again",
]


def degrade(text: str, chance: random.Random) -> str:
    """Return ``text`` with the marks of a model."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if chance.random() < (0.1 if not line.strip() else 0.02):
            lines[number] = line + "    "
    place = next((n for n, line in enumerate(lines) if re.match(r"(?:import|from) (?!__future__)", line)), 0)
    lines[place:place] = chance.sample(IMPORTS, chance.randint(1, 3)) if place else []
    for helper in chance.sample(HELPERS, chance.randint(1, 3)):
        lines += ["", helper]
    return "\n".join(lines).rstrip("\n") + ("\n" if chance.random() < 0.3 else "")


def count(folder: Path, texts: dict[str, str]) -> Counter[str]:
    """Return ruff's findings by rule."""
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    words = ["check", "--isolated", "--no-cache", f"--select={SELECT}", "--target-version=py310"]
    ran = subprocess.run(
        [str(SCRIPTS / "ruff"), *words, "--output-format=json", *texts], cwd=folder, capture_output=True, check=False
    )
    for name in texts:
        (folder / name).unlink()
    return Counter(str(item["code"]) for item in json.loads(ran.stdout))


def by_gate(folder: Path, texts: dict[str, str]) -> dict[str, str]:
    """Return what the gate proposes for new files."""
    made: dict[str, str] = {}
    names = list(texts)
    with Gate(folder) as gate:
        for at in range(0, len(names), _AT_ONCE):
            some = names[at : at + _AT_ONCE]
            changes = tuple(FileChange(WorkspacePath(name), None, texts[name].encode()) for name in some)
            proposal = gate.judge(ChangeSet(changes)).proposal
            made |= {str(change.path): (change.after or b"").decode() for change in proposal.changes}
    return made


def by_ruff(folder: Path, texts: dict[str, str]) -> dict[str, str]:
    """Return what ``ruff check --fix`` and ``ruff format`` make of the files."""
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    for words in (["check", "--fix", "-q"], ["format", "-q"], ["check", "--fix", "-q"]):
        subprocess.run(
            [str(SCRIPTS / "ruff"), *words, "--no-cache", *texts], cwd=folder, capture_output=True, check=False
        )
    made = {name: (folder / name).read_text("utf-8") for name in texts}
    for name in texts:
        (folder / name).unlink()
    return made


def broken(texts: dict[str, str]) -> int:
    """Count texts that do not compile."""
    wrong = 0
    for name, text in texts.items():
        try:
            compile(text, name, "exec", dont_inherit=True)
        except SyntaxError:
            wrong += 1
    return wrong


def main() -> int:
    """Print the table; 1 when a file stopped compiling or a second round changed one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    # A piece that was cut out of a module lacks names that its __all__ and its star imports speak of.
    whole = [text for text in pieces(2 * options.files) if "__all__" not in text and "import *" not in text]
    # Where there are fewer pieces than files, each is degraded again, in another way.
    texts = {f"m{n}.py": degrade(whole[n % len(whole)], chance) for n in range(options.files)}
    texts = {name: text for name, text in texts.items() if not broken({name: text})}
    folder = Path(tempfile.mkdtemp(prefix="autofix-"))
    (folder / "pyproject.toml").write_text(CONFIG)
    before = count(folder, texts)
    print(f"{len(texts)} files, {before.total()} findings of {SELECT}")
    results = {}
    for name, work in (("the gate", by_gate), ("ruff check --fix, ruff format", by_ruff)):
        made = results[name] = work(folder, texts)
        left = count(folder, made)
        share = 1 - left.total() / before.total()
        most = ", ".join(f"{rule} {number}" for rule, number in left.most_common(6))
        print(f"{name:<32} {share:>6.1%} corrected, {broken(made)} stopped compiling; left: {most}")
    ours = results["the gate"]
    moved = sum(again != ours[name] for name, again in by_gate(folder, ours).items())
    print(f"a second round of the gate changed {moved} files")
    return 1 if moved or broken(ours) else 0


if __name__ == "__main__":
    sys.exit(main())
