"""What a start and a turn cost in processor time, beside other agents on the same stub of a model.

    python tests/benchmarks/overhead.py [--rounds 3] [--turns 11] [--peers FOLDER]

A run of one answer is the start; what a run of more answers costs beyond that, by answer, is the turn. Processor time
of whole process trees, medians; the rows take turns, so that a busy machine slows all of them alike. ``--peers``: the
folder of virtual environments ``aider`` (aider-chat) and ``mini`` (mini-swe-agent), made and filled where they are
missing, which takes minutes; without it only AI-Rails is measured. ``nan``: the peer did not ask as often as it was to.
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
from collections.abc import Callable
from pathlib import Path

from rails.core.conversation import NativeCall
from rails.testing import Reply, StubServer, says

PEERS = {"aider": "aider-chat", "mini": "mini-swe-agent"}
#: What a peer needs besides, and does not say.
ALSO = {"mini": ["mcp"]}
POLICY = '[[rule]]\ndecision = "allow"\ntool = ["*"]\npath = "**"\n'
MINI_DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def ours(wire: str) -> Callable[[Path, int], float]:
    def run(place: Path, turns: int) -> float:
        reads = [
            says("I read.", NativeCall(f"c{n}", "read_file", json.dumps({"file_path": "a.txt", "offset": n + 1})))
            for n in range(turns - 1)
        ]
        with StubServer([*reads, says("Done.")]) as stub:
            url = stub.url if wire == "anthropic" else f"{stub.url}/v1"
            words = [
                "run",
                "read",
                "--model",
                f"{wire}:stub",
                "--base-url",
                url,
                "--approve",
                "policy",
                "--max-turns",
                "99",
            ]
            return asked(stub, turns, cpu([str(Path(sys.executable).with_name("ai-rails")), *words, "--plain"], place))

    return run


def aider(program: Path, wire: str) -> Callable[[Path, int], float]:
    def run(place: Path, turns: int) -> float:
        with StubServer([says("I looked.")] * turns) as stub:
            lines = "".join(f"look again {n}\n" for n in range(turns)) + "/exit\n"
            words = ["--model", f"{wire}/stub", "--no-git", "--yes-always", "--no-auto-lint", "--no-check-update"]
            words += ["--no-show-model-warnings", "--no-pretty", "--analytics-disable", "--map-tokens", "0"]
            return asked(stub, turns, cpu([str(program), *words], place, lines, server(stub)))

    return run


def mini(program: Path, wire: str) -> Callable[[Path, int], float]:
    def run(place: Path, turns: int) -> float:
        def step(number: int) -> Reply:
            command = MINI_DONE if number == turns - 1 else "cat a.txt"
            return whole(wire, f"c{number}", "bash", {"command": command})

        with StubServer([step(n) for n in range(turns)]) as stub:
            words = ["--model", f"{wire}/stub", "--task", "read", "--yolo", "--exit-immediately", "--cost-limit", "0"]
            return cpu(
                [str(program), *words],
                place,
                "",
                {**server(stub), "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"},
            )

    return run


def asked(stub: StubServer, turns: int, seconds: float) -> float:
    """Return the seconds, or nothing where the program has asked less often than it should have."""
    return seconds if len(stub.requests) >= turns else float("nan")


def whole(wire: str, number: str, tool: str, parameters: dict[str, str]) -> Reply:
    """Return an answer of one call for who does not ask for a stream."""
    if wire == "anthropic":
        content = [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": number, "name": tool, "input": parameters},
        ]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "stub", "content": content}
        body |= {"stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}}
    else:
        function = {"name": tool, "arguments": json.dumps(parameters)}
        message = {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": number, "type": "function", "function": function}],
        }
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        body = {
            "id": "m",
            "object": "chat.completion",
            "created": 1,
            "model": "stub",
            "choices": [choice],
            "usage": usage,
        }
    return Reply(raw=json.dumps(body).encode())


def server(stub: StubServer) -> dict[str, str]:
    return {
        **{"OPENAI_API_BASE": f"{stub.url}/v1", "ANTHROPIC_API_BASE": stub.url, "ANTHROPIC_BASE_URL": stub.url},
        **{"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"},
    }


def cpu(words: list[str], place: Path, typed: str = "", more: dict[str, str] | None = None) -> float:
    """Return the processor seconds of a program and all that it started. Raises where it fails."""
    environment = {
        **os.environ, "XDG_CONFIG_HOME": str(place.parent / "config"), "HOME": str(place.parent),
        "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", **(more or {}),
    }  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        words, cwd=place, input=typed, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{words[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def installed(folder: Path, name: str) -> Path:
    """Return the program of a peer, installed into an environment of its own where it is not there."""
    program = folder / name / "bin" / name
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        subprocess.run(
            [str(folder / name / "bin/pip"), "install", "--quiet", PEERS[name], *ALSO.get(name, [])], check=True
        )
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--only", default="aider,mini", help="which peers")
    options = parser.parse_args()
    rows = {f"AI-Rails, {wire}": ours(wire) for wire in ("anthropic", "openai")}
    for name in options.only.split(",") if options.peers else ():
        program = installed(options.peers.resolve(), name)
        make = {"aider": aider, "mini": mini}[name]
        rows |= {f"{PEERS[name]}, {wire}": make(program, wire) for wire in ("anthropic", "openai")}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for _ in range(options.rounds):
        for name, run in rows.items():
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder) / "project"
                place.mkdir()
                (place / "a.txt").write_text("".join(f"line {n}\n" for n in range(100)))
                config = Path(folder) / "config/ai-rails"
                config.mkdir(parents=True)
                (config / "policy.toml").write_text(POLICY)
                (config / "policy.toml").chmod(0o600)
                start, whole = run(place, 1), run(place, options.turns)
                found[name].append((start, (whole - start) / (options.turns - 1)))
    print(f"{'':30}{'start, s CPU':>14}{'turn, ms CPU':>14}")
    for name, pairs in found.items():
        start, turn = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{name:30}{start:>14.2f}{turn * 1e3:>14.1f}")


if __name__ == "__main__":
    main()
