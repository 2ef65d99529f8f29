"""A writer may be killed at any instant: what it acknowledged is in the log, and the log goes on."""

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("log_torture", Path(__file__).with_name("torture.py"))
torture = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(torture)


def test_kills_lose_no_acknowledged_record(tmp_path):
    state = tmp_path / ".rails"
    result = torture.torture(state, kills=10, seed=7, deadline_s=300)
    assert result.kills == 10
    assert result.records >= 20
    assert (result.lost, result.broken) == (0, 0)
    if (state / "sessions" / "s").exists():
        torture.settle(state)
    assert all(torture.strict(state))
