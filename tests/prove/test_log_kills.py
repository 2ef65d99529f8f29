"""A writer of the log is killed a thousand times at random moments: nothing that it acknowledged is lost."""

import importlib.util
import os
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("log_torture", Path(__file__).parent.parent / "log" / "torture.py")
torture = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(torture)

KILLS = int(os.environ.get("AI_RAILS_PROVE_KILLS", "1000"))


@pytest.mark.timeout(3_600)
def test_a_thousand_kills_lose_no_acknowledged_record(tmp_path):
    state = tmp_path / ".rails"
    result = torture.torture(state, kills=KILLS, seed=int.from_bytes(os.urandom(3)))
    assert result.kills == KILLS
    assert result.records > KILLS
    assert (result.lost, result.broken) == (0, 0), result
    if (state / "sessions" / "s").exists():
        torture.settle(state)
    assert all(torture.strict(state))
