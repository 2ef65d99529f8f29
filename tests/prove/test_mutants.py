"""Nine of ten small changes of the modules that carry promises are noticed by their tests; a seeded sample of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: How many; "all" takes minutes for each module.
MUTANTS = os.environ.get("AI_RAILS_PROVE_MUTANTS", "60")
SEED = os.environ.get("AI_RAILS_PROVE_SEED") or "1"


@pytest.mark.timeout(4 * 3_600)
def test_small_changes_of_what_carries_promises_are_noticed():
    words = ["--all"] if MUTANTS == "all" else ["--sample", MUTANTS]
    command = [sys.executable, str(HERE / "mutants.py"), *words, "--seed", SEED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent.parent)
    print(done.stdout)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-8_000:]}{done.stderr[-8_000:]}"
