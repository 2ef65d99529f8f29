"""Files a second per core: ``rails.Gate`` and ``gate --jsonl`` beside black, flake8 and ``ruff server``, all warm.

    python tests/benchmarks/warm.py [--files 60] [--rounds 5]

The same files in the same order for each, other texts in every round, so that nothing is known beforehand. The tools
are one process with black and flake8 imported and one ``ruff server``, asked about one file after the other: no
comparison with what was there before, no change set, no verdict. The project configures nothing, so the gate's own
profile runs the same three. A core's second is processor time of all processes of a contestant; rows take turns.
"""

# ruff: noqa: E501 - a program in a text
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from gate import pieces

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate

TOOLS = """
import io, json, subprocess, sys
from black import FileMode, format_str
from flake8.main.application import Application
from flake8.checker import FileChecker
from flake8.processor import FileProcessor

server = subprocess.Popen([sys.argv[1], "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
def send(**message):
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\\r\\n\\r\\n" % len(data) + data)
    server.stdin.flush()
def answer(number):
    while True:
        size = 0
        while line := server.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        message = json.loads(server.stdout.read(size))
        if message.get("id") == number and "method" not in message:
            return message
options = {"settings": {"configuration": {"lint": {"select": ["E", "W", "F", "I", "UP", "B"]}}}}
folder = {"uri": "file://" + sys.argv[2], "name": "p"}
capabilities = {"textDocument": {"diagnostic": {}}}
send(id=0, method="initialize", params={"processId": None, "capabilities": capabilities, "workspaceFolders": [folder], "initializationOptions": options})
answer(0)
send(method="initialized", params={})
app = Application()
try:
    app.initialize(["--max-line-length=88", "--extend-ignore=E203,E501,E701,E704,W503,W504", "--isolated"])
except AttributeError:
    app.plugins, app.options = __import__("flake8.options.parse_args", fromlist=["x"]).parse_args(
        ["--isolated", "--max-line-length=88", "--extend-ignore=E203,E501,E701,E704,W503,W504"])
class Text(FileChecker):
    text = ""
    def _make_processor(self):
        return FileProcessor(self.filename, self.options, lines=io.StringIO(Text.text, newline="").readlines())
number = 0
for line in sys.stdin:
    item = json.loads(line)
    path, Text.text = sys.argv[2] + "/" + item["path"], item["after"]
    number += 1
    uri = "file://" + path
    send(method="textDocument/didOpen", params={"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": Text.text}})
    send(id=number, method="textDocument/diagnostic", params={"textDocument": {"uri": uri}})
    formatted = format_str(Text.text, mode=FileMode(line_length=88))
    _, found, _ = Text(filename=path, plugins=app.plugins.checkers, options=app.options).run_checks()
    ruff = answer(number)["result"]["items"]
    send(method="textDocument/didClose", params={"textDocument": {"uri": uri}})
    print(json.dumps([formatted == Text.text, len(found), len(ruff)]), flush=True)
"""


def texts(files: int, number: int) -> list[tuple[str, str]]:
    """Return names and formatted texts that nobody has seen."""
    import black

    mode = black.FileMode(line_length=88)
    return [(f"m{n}.py", black.format_str(f"{one}\nvalue_{number}_{n} = {number}\n", mode=mode)) for n, one in enumerate(pieces(files))]  # fmt: skip


def tree(root: int) -> list[int]:
    """Return a process and all that it has started."""
    found = [root]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def processor(root: int) -> float:
    """Return the processor seconds of a process tree, of what has ended in it as well."""
    fields = (Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in tree(root))
    return sum(int(word) for one in fields for word in one[11:15]) / os.sysconf("SC_CLK_TCK")


def through_gate(folder: Path) -> Callable[[list[tuple[str, str]]], float]:
    gate = Gate(folder)
    gate.__enter__()

    def measure(files: list[tuple[str, str]]) -> float:
        before = processor(os.getpid())
        for name, text in files:
            change = FileChange(WorkspacePath(name), None, text.encode())
            assert gate.judge(ChangeSet((change,))).status in ("pass", "fail")
        return processor(os.getpid()) - before

    return measure


def through_lines(words: list[str]) -> Callable[[list[tuple[str, str]]], float]:
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(files: list[tuple[str, str]]) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        before = processor(process.pid)
        for name, text in files:
            process.stdin.write(json.dumps({"path": name, "after": text}) + "\n")
            process.stdin.flush()
            assert process.stdout.readline(), "it has ended"
        return processor(process.pid) - before

    return measure


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="warm-bench-"))
    script, programs = folder / "tools.txt", Path(sys.executable).parent
    script.write_text(TOOLS)
    rows = {
        "black, flake8, ruff server": through_lines([sys.executable, str(script), str(programs / "ruff"), str(folder)]),
        "rails.Gate": through_gate(folder),
        "gate --jsonl": through_lines([str(programs / "ai-rails"), "gate", "--jsonl", "--project", str(folder)]),
    }
    spent: dict[str, list[float]] = {name: [] for name in rows}
    for number in range(options.rounds + 1):  # the first warms up
        files = texts(options.files, number)
        for name, measure in rows.items():
            spent[name].append(measure(files))
    first = [options.files / one for one in spent["black, flake8, ruff server"][1:]]
    print(f"{'':30}{'files a second per core':>26}{'of the tools':>14}   (load {os.getloadavg()[0]:.1f})")
    for name, seconds in spent.items():
        rates = [options.files / one for one in seconds[1:]]
        share = statistics.median(a / b for a, b in zip(rates, first, strict=True))
        print(f"{name:30}{statistics.median(rates):>26.1f}{share:>14.0%}")


if __name__ == "__main__":
    main()
