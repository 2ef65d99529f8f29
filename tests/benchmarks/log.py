"""Figures of the session log. Run: python tests/benchmarks/log.py [appends|kills|all] [--kills N]

``appends``: records a second, plain (no sync), grouped (synced every quarter of a second) and durable
(synced each). ``kills``: a writer killed at N random moments, and what it had acknowledged and lost.
"""

import argparse
import importlib.util
import random
import sys
import tempfile
import time
from pathlib import Path

from rails.core.events.base import UnknownEvent
from rails.log import event_codec
from rails.log.writer import SessionLog

WORDS = [
    line.strip()
    for line in Path(event_codec.__file__).read_text(encoding="utf-8").split("\n")
    if len(line.strip()) > 20
]


def say(name, figure):
    print(f"{name:<58} {figure}", flush=True)


def event(chance, kind="TOOL_STATUS"):
    """Make an event of about the size of a real one (some 400 bytes as a line)."""
    return (
        UnknownEvent(kind, "status of a request", {"id": f"t{chance.randrange(99)}.1", "text": chance.choice(WORDS)}),
        "coder",
    )


def appends(folder):
    chance = random.Random(1)
    for name, kind, group, count in (
        ("plain", "TOOL_STATUS", 3_600.0, 50_000),
        ("grouped", "TOOL_STATUS", 0.25, 50_000),
        ("durable each", "EXECUTION_STARTED", 0.25, 2_000),
    ):
        with SessionLog.create(folder / name) as log:
            log.group_s = group
            events = [event(chance, kind) for _ in range(count)]
            times = []
            start = time.perf_counter()
            for item in events:
                begun = time.perf_counter()
                log.append(*item)
                times.append(time.perf_counter() - begun)
            took = time.perf_counter() - start
        size = log.path.stat().st_size / count
        times.sort()
        p50, p99 = times[count // 2] * 1e6, times[count * 99 // 100] * 1e6
        say(
            f"append {name} ({size:.0f} bytes a record)", f"{count / took:,.0f}/s   p50 {p50:.0f} µs   p99 {p99:.0f} µs"
        )


def kills(folder, count):
    path = Path(__file__).parent.parent / "log" / "torture.py"
    spec = importlib.util.spec_from_file_location("log_torture", path)
    torture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(torture)
    start = time.perf_counter()
    result = torture.torture(folder / "kills", count, seed=2026)
    say(f"{count} kills in {time.perf_counter() - start:.0f} s", result)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="all", choices=["appends", "kills", "all"])
    parser.add_argument("--kills", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what in ("appends", "all"):
            appends(folder)
        if options.what in ("kills", "all"):
            kills(folder, options.kills)


if __name__ == "__main__":
    sys.exit(main())
