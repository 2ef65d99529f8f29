"""A session of 500 turns on a model with a window of 100,000 tokens: never over, flat in time and memory.

The server counts, in its own way, what it is sent; the session runs in a process of its own, which tells its processor
time and memory after every turn.
"""

import json
import re
import statistics
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest

from rails.core.conversation import NativeCall
from rails.testing.wire import anthropic_events

TURNS = 500
#: The turn by which the gate's store of 64 texts is full: every fifth turn writes a file, which has two.
FULL = 350
WINDOW = 100_000
SESSION = """
import json, resource, sys, time
from pathlib import Path
from rails.agents.template import load_agents
from rails.approval.terminal.scripted import ScriptedApprover
from rails.core.app_dirs import builtin_folder
from rails.edits.builtin_runners import BUILTIN_RUNNERS
from rails.log.writer import SessionLog
from rails.models.anthropic import AnthropicModel
from rails.session.job import SessionJob, log_session_start
from rails.session.run import Session
from rails.tools.loader import load_definitions

url, project, turns, window = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
model = AnthropicModel("stub", api_key="k", base_url=url, window=window, max_tokens=8000)
registry = load_definitions([builtin_folder("mcp_definitions")]).with_runners(BUILTIN_RUNNERS)
agents = dict(load_agents([builtin_folder("agent_templates")]))
job = SessionJob(project, (("coder", "the task"),), max_turns=turns + 10)

def memory():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()

def watch(record):
    if record.event_type in ("FEEDBACK_SENT", "CONTEXT_REDUCED"):
        print(json.dumps([record.event_type, time.process_time(), memory(), record.message]), flush=True)

with SessionLog.create(project / ".rails") as log:
    log_session_start(job, log, "stub")
    approver = ScriptedApprover(["approve"] * turns)
    ending = Session(job, log, registry, agents, model.for_agent, approver, watch=watch).run()
    print(json.dumps(["END", 0, 0, ending.outcome]))
"""


class Counting(ThreadingHTTPServer):
    """A model that reads and edits on, and keeps what it was sent in numbers."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answering)
        self.turn = 0
        self.most = 0
        self.sent = 0
        self.new = 0
        self.before = []

    def take(self, body):
        text = json.dumps(body["messages"])
        tokens = len(json.dumps(body)) // 4
        self.most = max(self.most, tokens)
        messages = [
            json.dumps(one) for one in json.loads(re.sub(r', "cache_control": {"type": "ephemeral"}', "", text))
        ]
        kept = next(
            (n for n, (a, b) in enumerate(zip(messages, self.before, strict=False)) if a != b), len(self.before)
        )
        self.sent += sum(map(len, messages))
        self.new += sum(map(len, messages[kept:]))
        self.before = messages
        if "SUMMARY WANTED" in messages[-1]:
            return tokens, ["We work on the parts, one after the other."], "end_turn"
        self.turn += 1
        if self.turn > TURNS:
            return tokens, ["Done."], "end_turn"
        number = self.turn % 40
        arguments = {"file_path": f"part{number}.txt"}
        tool = "read_file"
        if self.turn % 5 == 0:
            tool = "write_file"
            arguments = {"file_path": f"notes{number}.txt", "content": f"turn {self.turn}\n" * 200}
        call = NativeCall(f"c{self.turn}", tool, json.dumps(arguments))
        return tokens, [f"Turn {self.turn}.", call], "tool_use"


class Answering(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tokens, parts, stop = self.server.take(body)
        data = b"".join(anthropic_events(parts, stop, "stub", 4_000))
        data = re.sub(rb'"input_tokens": ?11\b', b'"input_tokens": %d' % tokens, data)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.mark.timeout(1_500)
def test_a_session_of_500_turns_is_never_over_its_window_and_as_cheap_at_its_end_as_at_its_beginning(tmp_path, capsys):
    project = tmp_path / "project"
    project.mkdir()
    for number in range(40):
        (project / f"part{number}.txt").write_text("".join(f"part {number}, line {n}\n" for n in range(600)))
    server = Counting()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        words = [sys.executable, "-c", SESSION, url, str(project), str(TURNS), str(WINDOW)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1_400, check=False)
    finally:
        server.shutdown()
        server.server_close()
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[-1][3] == "changed", (told[-1], done.stderr[-2_000:])
    steps = sum(kind == "CONTEXT_REDUCED" for kind, *_ in told)
    turns = [(cpu, rss) for kind, cpu, rss, _ in told if kind == "FEEDBACK_SENT"]
    cpu = [after[0] - before[0] for before, after in pairwise(turns)]
    early = statistics.median(cpu[5:25])
    late = statistics.median(cpu[-20:])
    with capsys.disabled():
        print(
            f"\n{len(turns)} turns, {steps} steps; most tokens in a prompt {server.most:,} of {WINDOW:,}; of "
            f"{server.sent / 1e6:.1f} MB sent {server.new / 1e6:.1f} MB were not a prefix of what was sent before "
            f"({server.new / server.sent:.1%}); CPU of a turn {early * 1e3:.1f} ms early, {late * 1e3:.1f} ms late "
            f"({late / early:.2f}x); memory in MB at turns 20, "
            f"{FULL} and {TURNS}: {', '.join(f'{turns[n][1] / 1e6:.1f}' for n in (20, FULL, -1))}"
        )
    assert len(turns) == TURNS
    assert server.most <= WINDOW
    assert late <= 1.3 * early
    assert turns[-1][1] <= 1.05 * turns[FULL][1], "what is remembered of files and results has bounds"
