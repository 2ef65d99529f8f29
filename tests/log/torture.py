"""A writer to be killed, and the judge of what it left. Used by the suite (bounded) and the benchmark (1,000 kills).

The writer acknowledges each record by printing its number after ``append`` returned; the judge kills it
at a random moment and looks whether everything acknowledged is in the log.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from rails.log.reader import read_strict, verify
from rails.log.writer import SessionLog

WRITER = """
import random, sys
from pathlib import Path
from rails.core.events.base import UnknownEvent
from rails.core.events.record import DURABLE
from rails.log.writer import SessionLog

state, session_id, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
chance = random.Random(seed)
kinds = [*sorted(DURABLE), *["TOOL_STATUS"] * 20]
begun = (state / "sessions" / session_id / "log.jsonl").exists()
log = SessionLog.reopen(state, session_id) if begun else SessionLog.create(state, session_id=session_id)
while True:
    size = chance.choice([10, 300, 3_000, 7_500, 7_500, 20_000])
    record = log.append(UnknownEvent(chance.choice(kinds), "event", {"text": "x" * size}))
    sys.stdout.write(f"{record.seq}\\n")
    sys.stdout.flush()
"""


@dataclass
class Result:
    """What a torture came to. ``records`` were acknowledged, ``lost`` of them are gone; the rest counts lives."""

    kills: int = 0
    records: int = 0
    lost: int = 0
    torn: int = 0
    recovered: int = 0
    broken: int = 0


def torture(state, kills, seed, deadline_s=3600.0):
    """Kill writers of one log ``kills`` times at random moments and count what went wrong."""
    chance = random.Random(seed)
    result = Result()
    end = time.monotonic() + deadline_s
    own = state / "sessions" / "s"
    known = 0
    while result.kills < kills and time.monotonic() < end:
        acknowledged = _one_life(state, chance, early=known > 0 and chance.random() < 0.3)
        result.kills += 1
        found = verify(own / "log.jsonl")
        result.records += len(acknowledged)
        known = max([known, *acknowledged])
        result.lost += max(0, known - found.end.seq)
        result.torn += found.in_flight > 0
        result.broken += any(item.offset < found.last_offset for item in found.damage)
        if found.end.offset > 2_000_000:
            result.recovered += settle(state)
            own.rename(state / "sessions" / f"done-{result.kills}")
            known = 0
    return result


def settle(state):
    """Reopen the log as the next session would, and return how many torn lines it marks."""
    SessionLog.reopen(state, "s").close()
    return len(verify(state / "sessions" / "s" / "log.jsonl").recovered)


def _one_life(state, chance, *, early):
    """Start a writer, kill it after a moment, return the numbers that it acknowledged.

    ``early``: do not wait for the first records, so that the opening and the recovery are hit as well.
    """
    command = [sys.executable, "-c", WRITER, str(state), "s", str(chance.randrange(1 << 30))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        first = b"" if early else b"".join(process.stdout.readline() for _ in range(4))
        time.sleep(chance.random() * (0.3 if early else 0.03))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    output = first + process.stdout.read()
    process.stdout.close()
    process.wait()
    return [int(line) for line in output.split(b"\n")[:-1] if line]


def strict(state):
    """Read every log of the torture strictly; raises where one cannot be replayed."""
    return [read_strict(path) for path in sorted(state.glob("sessions/*/log.jsonl"))]
