"""No text makes parsing raise, hang or run what is quoted, and no document makes the check of n8n workflows raise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Inputs of one run; another seed every time, and it is printed, so that a failure can be seen again.
INPUTS = os.environ.get("AI_RAILS_PROVE_INPUTS", "20000")
SEED = os.environ.get("AI_RAILS_PROVE_SEED") or str(int.from_bytes(os.urandom(3)))


def fuzzed(script, *words):
    command = [sys.executable, str(HERE / script), *words, "--seed", SEED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent.parent)
    return done.returncode, f"{' '.join(command)}\n{done.stdout[-8_000:]}{done.stderr[-8_000:]}"


@pytest.mark.timeout(3_600)
def test_parsing_survives_every_text(tmp_path):
    code, output = fuzzed("parsing_fuzz.py", "--inputs", INPUTS, "--save", str(tmp_path / "cases"))
    assert code == 0, output
    assert f"{INPUTS} inputs" in output


@pytest.mark.timeout(3_600)
def test_the_check_of_workflows_survives_every_document():
    code, output = fuzzed("n8n_fuzz.py", "--count", INPUTS)
    assert code == 0, output
    assert f"{INPUTS} documents, 0 exceptions" in output
