"""Figures of the session log. Run: python tests/benchmarks/log.py [appends|kills|index|all] [--records N] [--kills N]

``appends``: records a second, plain (no sync), grouped (synced every quarter of a second) and durable
(synced each). ``kills``: a writer killed at N random moments, and what it had acknowledged and lost.
``index``: building the index over N records, searches, windows, and the same without an index.
"""

import argparse
import importlib.util
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from rails.core.events.base import UnknownEvent
from rails.log import event_codec
from rails.log.reader import Tail, read_lenient, verify
from rails.log.scan import records_from, search
from rails.log.summaries import Summaries
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


def generate(state, records, sessions):
    """Write sessions of realistic records without the writer's care: it is the reader that is measured."""
    chance = random.Random(3)
    kinds = ["TOOL_STATUS"] * 6 + ["MCP_REQUEST_FORMULATED", "LLM_RESPONSE", "GATE_VERDICT", "HUMAN_DECISION"]
    for number in range(sessions):
        folder = state / "sessions" / f"20261121-{number:06d}-aaaa"
        folder.mkdir(parents=True)
        prev = ""
        with (folder / "log.jsonl").open("wb") as file:
            for seq in range(1, records // sessions + 1):
                kind = chance.choice(kinds)
                details = {
                    "text": f"{chance.choice(WORDS)} {chance.choice(WORDS)}",
                    "path": f"src/m{chance.randrange(500)}.py",
                }
                details |= {"status": "fail" if chance.random() < 0.1 else "pass"} if kind == "GATE_VERDICT" else {}
                details |= {"needle": "haystackneedle"} if seq == 7 else {}
                line, record = event_codec.encode_record(
                    seq, "2026-11-21T12:00:00.000000Z", folder.name, agent_role="coder", llm_model_used="m",
                    event_type=kind, message="a message", details=details, prev=prev,
                )  # fmt: skip
                prev = record.hash
                file.write(line)


def timed(call, repeat=5):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append((time.perf_counter() - start) * 1e3)
    return f"{statistics.median(times):8.2f} ms", result


def scan(folder, records):
    state = folder / "state"
    generate(state, records, sessions=10)
    log = next(iter(sorted((state / "sessions").iterdir()))) / "log.jsonl"
    total = sum(path.stat().st_size for path in state.glob("sessions/*/log.jsonl"))
    say(f"{records:,} records in 10 sessions", f"{total / 1e6:.0f} MB")
    say(f"verify one session ({records // 10:,} records)", timed(lambda: verify(log), 1)[0])
    say(f"read one session leniently ({records // 10:,} records)", timed(lambda: read_lenient(log), 1)[0])
    say("first 200 records of a session without an index", timed(lambda: list(Tail(log).read(200)))[0])
    summaries = Summaries(state)
    say("stats of all sessions, counted anew", timed(lambda: Summaries(state).newest(10), 1)[0])
    say("stats of all sessions, kept", timed(lambda: summaries.newest(10))[0])
    say("a window of 200 in the middle", timed(lambda: records_from(state, log.parent.name, records // 20, 200))[0])
    queries = ("encode", "haystackneedle", "detail*", '"hash of the record"', "path:src/m7.py is:failed", "nobodywrote")
    for query in (*queries, "is:denied", "text:aystackneedl", "text:aystackneedle?"):
        figure, page = timed(lambda query=query: search(state, query))
        say(f"search {query}", f"{figure}   {len(page.hits)} hits")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="all", choices=["appends", "kills", "scan", "all"])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what in ("appends", "all"):
            appends(folder)
        if options.what in ("scan", "all"):
            scan(folder, options.records)
        if options.what in ("kills", "all"):
            kills(folder, options.kills)


if __name__ == "__main__":
    sys.exit(main())
