"""Every fault of the disk at every place: the log says so, stops, and nothing that it had promised is lost."""

import contextlib
import errno

import pytest

from rails.core.errors import LogError
from rails.core.events.base import UnknownEvent
from rails.log.reader import read_strict, verify
from rails.log.writer import SessionLog
from rails.testing import RecordingDisk

EVENTS = [
    UnknownEvent("WORKFLOW_START", "start", {"task": "x"}),
    UnknownEvent("TOOL_STATUS", "plain"),
    UnknownEvent("LLM_RESPONSE", "large", {"text": "y" * 9_000}),
    UnknownEvent("EXECUTION_STARTED", "durable"),
]


def work(state, promised):
    """Write a session and go on with it; note in ``promised`` what was acknowledged, ``synced`` what is durable."""
    with SessionLog.create(state, session_id="s") as log:
        for event in EVENTS:
            promised.append(log.append(event).message)
    with SessionLog.reopen(state, "s") as log:
        promised.append(log.append(UnknownEvent("HUMAN_DECISION", "after")).message)


def outcome_of(work, *given):
    """Return what the LogError says that ``work`` raises, "" if it raises none; any other error is one."""
    try:
        work(*given)
    except LogError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("failing", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_fault_anywhere_is_a_clear_error_and_keeps_what_was_promised(tmp_path, error, failing):
    with RecordingDisk() as disk:
        work(tmp_path / "whole", [])
    places = len(disk.operations)
    assert places > 30
    survived = 0
    for place in range(1, places + 1):
        state = tmp_path / f"{place}"
        promised = []
        with RecordingDisk(fail_at=place, error=error, failing=failing):
            said = outcome_of(work, state, promised)
        survived += said == ""
        assert said == "" or "No space left" in said or "Input/output error" in said or "no longer" in said
        log = state / "sessions" / "s" / "log.jsonl"
        if not log.exists():
            assert promised == []
            continue
        SessionLog.reopen(state, "s").close()
        kept = [record.message for record in read_strict(log) if record.event_type != "LOG_RECOVERED"]
        assert kept[: len(promised)] == promised
        assert len(kept) <= len(promised) + 1
        assert verify(log)
    assert survived == 0, "a fault passed without being noticed"


def test_nothing_durable_is_acknowledged_before_it_is_on_the_disk(tmp_path):
    with RecordingDisk() as disk, SessionLog.create(tmp_path / "s") as log:
        log.group_s = 3_600
        before = len(disk.operations)
        log.append(UnknownEvent("LLM_RESPONSE", "large", {"text": "y" * 9_000}))
        done = [(o.name, o.path.rpartition("/")[2][-9:]) for o in disk.operations[before:]]
    names = [name for name, _ in done]
    assert names[-2:] == ["write", "fdatasync"]
    assert done[-1][1] == done[-2][1] == "log.jsonl"
    assert names.index("link") > names.index("fdatasync"), "a blob is whole before it has its name"
    assert names.index("link") < names.index("fsync") < len(names) - 2, "and has it before a record points to it"


def test_the_double_leaves_the_disk_as_it_was(tmp_path):
    import os

    real = os.write, os.open
    with contextlib.suppress(OSError), RecordingDisk(fail_at=1):
        os.mkdir(tmp_path / "x")
    assert (os.write, os.open) == real
    assert not (tmp_path / "x").exists()
