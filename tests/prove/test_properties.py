"""The properties of the suite, with many more examples than the suite has time for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


@pytest.mark.timeout(7200)
def test_every_property_holds_for_many_more_examples():
    """Those that say themselves how many they try (the dear ones) keep to that."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-p", "no:cacheprovider", str(TESTS)]
    done = subprocess.run(
        [*command, "--timeout", "3600"],
        check=False,
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        env={**os.environ, "AI_RAILS_EXAMPLES": "1000"},
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
