"""What a turn costs in processor time, and the memory, from the first turn of a long session to its last.

    python tests/benchmarks/long_session.py [--turns 500] [--window 100000]

``ai-rails run`` on a stub of a model that reads on and on, on both wires. The stub looks at the clock of its client's
process whenever a request has come. The same bodies are then sent by a bare client, which has nothing to do but that:
urllib, given the text, which is the least that it can do, and given the object, as it is commonly used.
What the least of it takes is not ours. ``fullest``: the twenty largest prompts of the session.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rails.core.conversation import NativeCall
from rails.testing import Reply, StubServer, says
from rails.testing.server import Request

POLICY = '[[rule]]\ndecision = "allow"\ntool = ["*"]\npath = "**"\n'
LINES = 30
BARE = """
import json, sys
from pathlib import Path
wire, url, bodies, how = sys.argv[1:]
bodies = [line for line in Path(bodies).read_bytes().splitlines()]
path = "/v1/messages" if wire == "anthropic" else "/v1/chat/completions"
import urllib.request
for body in bodies:
    body = body if how == "text" else json.dumps(json.loads(body)).encode()
    asked = urllib.request.Request(url + path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answered:
        for _ in answered: pass
"""


class Watching(StubServer):
    """Keeps, of every request, its size and the processor time and memory of the process that sent it."""

    client: subprocess.Popen[bytes]

    def __init__(self, replies: Sequence[Reply]) -> None:
        super().__init__(replies)
        self.seen: list[tuple[int, float, int]] = []

    def next_reply(self, request: Request) -> Reply:
        clock = (~self.client.pid << 3) | 2  # what clock_getcpuclockid(3) returns on Linux
        pages = int(Path(f"/proc/{self.client.pid}/statm").read_text().split()[1])
        size = int(request.headers["content-length"])
        self.seen.append((size, time.clock_gettime(clock), pages * resource.getpagesize()))
        return super().next_reply(request)

    def run(self, words: Sequence[str], place: Path) -> None:
        environment = {**os.environ, "XDG_CONFIG_HOME": str(place.parent / "config"), "ANTHROPIC_API_KEY": "k"}
        environment["AI_RAILS_CONFIG_DIR"] = str(place.parent / "config/ai-rails")
        log = place.parent / "output"
        with log.open("wb") as output:
            self.client = subprocess.Popen(words, cwd=place, env=environment, stdout=output, stderr=output)
            if self.client.wait(1_500):
                raise SystemExit(f"{words[:3]} failed:\n{log.read_text()[-2_000:]}")


def session(wire: str, place: Path, turns: int) -> tuple[list[tuple[int, float, int]], list[bytes]]:
    """Return what was seen at each request of a session of ``turns``, and the bodies."""
    reads = ({"file_path": f"f{n % 25}.txt", "offset": n // 25 % 20 * LINES + 1, "limit": LINES} for n in range(turns))
    replies = [says("I read.", NativeCall(f"c{n}", "read_file", json.dumps(one))) for n, one in enumerate(reads)]
    with Watching([*replies, says("Done.")]) as stub:
        url = stub.url if wire == "anthropic" else f"{stub.url}/v1"
        words = ["run", "read", "--model", f"{wire}:stub", "--base-url", url, "--approve", "policy", "--plain"]
        program = str(Path(sys.executable).with_name("ai-rails"))
        stub.run([program, *words, "--max-turns", str(turns + 9)], place)
        return stub.seen, [json.dumps(one.body).encode() for one in stub.requests]


def bare(wire: str, place: Path, bodies: Iterable[bytes], how: str) -> list[float]:
    """Return what each body took the bare client, in seconds; of the last nothing is known."""
    bodies = list(bodies)
    file = place.parent / "bodies"
    file.write_bytes(b"\n".join(bodies))
    with Watching([says("I read.")] * len(bodies)) as stub:
        stub.run([sys.executable, "-c", BARE, wire, stub.url, str(file), how], place)
        return between(stub.seen)


def between(seen: Sequence[tuple[Any, float, Any]]) -> list[float]:
    return [after[1] - before[1] for before, after in pairwise(seen)]


def project(folder: str, window: int) -> Path:
    """Return the project, beside a configuration that allows all and knows the model's window."""
    place, config = Path(folder) / "project", Path(folder) / "config/ai-rails"
    place.mkdir()
    config.mkdir(parents=True)
    for n in range(25):
        text = "".join(f"file {n}, line {line}: some words of it\n" for line in range(20 * LINES + 1))
        (place / f"f{n}.txt").write_text(text)
    (config / "policy.toml").write_text(POLICY)
    (config / "policy.toml").chmod(0o600)
    (config / "prices.toml").write_text(f'[models."stub"]\ninput = 1\noutput = 1\nwindow = {window}\n')
    return place


def measured(wire: str, turns: int, window: int) -> tuple[list[tuple[int, float, int]], list[list[float]]]:
    """Return what was seen of each request, and what each turn took: the session, the bare clients."""
    with tempfile.TemporaryDirectory() as folder:
        place = project(folder, window)
        seen, bodies = session(wire, place, turns)
        return seen, [between(seen), *(bare(wire, place, bodies, how) for how in ("text", "object"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--window", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3, help="of each turn the least counts")
    parser.add_argument("--wires", default="anthropic,openai")
    options = parser.parse_args()
    for wire in options.wires.split(","):
        rounds = [measured(wire, options.turns, options.window) for _ in range(options.rounds)]
        seen = rounds[0][0]
        took, least, common = (
            [min(one) * 1e3 for one in zip(*(each[1][kind] for each in rounds), strict=False)] for kind in range(3)
        )
        numbers = range(len(least))
        steps = [n for n in numbers[:-1] if seen[n + 1][0] < seen[n][0]]
        calm = sorted(set(numbers) - set(steps))
        rows = {f"turn {n}": [m for m in calm if abs(m - n) <= 5] for n in (10, 100, options.turns)}
        rows["fullest"] = sorted(calm, key=lambda n: seen[n][0])[-20:]
        rows[f"{len(steps)} steps"] = steps
        print(f"{wire:12}{'prompt, kB':>12}{'turn, ms':>10}{'bare':>8}{'ours':>8}{'object':>13}{'RSS, MB':>9}")
        first: list[float] = []
        for name, places in rows.items():
            size, memory = (statistics.median(seen[n][at] for n in places) for at in (0, 2))
            whole, sent, object_ = (statistics.median(one[n] for n in places) for one in (took, least, common))
            first = first or [whole, whole - sent]
            ratios = f"   x {whole / first[0]:.2f}, ours x {(whole - sent) / first[1]:.2f}"
            row = f"{name:12}{size / 1e3:>12.0f}{whole:>10.1f}{sent:>8.1f}{whole - sent:>8.1f}{object_:>13.1f}"
            print(f"{row}{memory / 1e6:>9.0f}{ratios}")


if __name__ == "__main__":
    main()
