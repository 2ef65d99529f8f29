"""``ai-rails n8n try``: a workflow run without n8n, on sample or pinned data."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from rails.commands import common
from rails.core import limits
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, CheckError, UsageError
from rails.core.scratch import scratch_folder
from rails.core.text import one_line
from rails.gate.languages.javascript.node_worker import find_node, tool_folder
from rails.gate.support.warm_processes import Pipe
from rails.n8n import model
from rails.n8n.model import Workflow
from rails.n8n.try_run.engine import TrySetting, is_zone, start_of, try_workflow
from rails.n8n.try_run.faults import NotModelled
from rails.n8n.try_run.javascript import PROGRAM, Engine
from rails.sandbox import probe
from rails.sandbox.places import around_program
from rails.sandbox.run import start
from rails.sandbox.view import SandboxView

#: Files beside the workflow among which another is looked for.
_MOST_FILES: Final = 500
#: Longer than any answer: what prints more without an end is ended.
_LONGEST_LINE: Final = 32_000_000
_NO_NODE: Final = (
    "Node.js is not installed, and expressions and Code nodes need it: install Node.js, and for dates luxon with "
    "`ai-rails doctor --install javascript`; plain values, and branches whose conditions need no expression, were "
    "tried without it."
)


def try_flow(options: argparse.Namespace, words: list[str]) -> int:
    """Print what a dry run comes to. Returns 1 where a node fails, as it would in n8n, or a bound is reached."""
    from rails.n8n.try_run import report

    if len(words) != 1:
        raise UsageError("Write: ai-rails n8n try FLOW.json [--data SAMPLE.json] [--json].")
    file = Path(words[0])
    workflow = model.build(_object(_read(file), file))
    data, now, zone = _data(options.data, workflow, options.start), _now(options.now), _known_zone(options.timezone)
    node = NodeProcess(file.name)
    with node.close:
        setting = TrySetting(data=data, now=now, zone=zone, load=lambda name: _other(file, name), engine=node.engine)
        result = try_workflow(workflow, setting, start=options.start)
    if options.json:
        common.print_json(report.try_json(result, workflow))
    else:
        print("\n".join(report.text_lines(result, workflow, file.name)))
    if node.missing:
        raise CheckError(_NO_NODE)
    return EXIT_FINDINGS if result.failed else EXIT_OK


def _read(file: Path) -> Any:  # noqa: ANN401 - any JSON
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{one_line(str(file))} cannot be read: {error.strerror}.") from error
    if len(data) > limits.FILE_BYTES:
        raise UsageError(f"{one_line(str(file))} is larger than {limits.FILE_BYTES:,} bytes.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{one_line(str(file))} is not JSON: {one_line(str(error))}. Nothing was run.") from error


def _object(value: Any, file: Path) -> Mapping[str, Any]:  # noqa: ANN401
    if not isinstance(value, dict) or not isinstance(value.get("nodes"), list):
        raise UsageError(
            f"{one_line(str(file))} is not an n8n workflow in JSON. `ai-rails gate FILE` says what is wrong with it."
        )
    return value


def _data(named: str | None, workflow: Workflow, start: str) -> Mapping[str, Any]:
    """Return sample data by node: a file of items is for the node that the run starts at."""
    if named is None:
        return {}
    given = _read(Path(named))
    if isinstance(given, dict) and given and set(given) <= set(workflow.by_name):
        return given
    return {start_of(workflow, start).name: given}


def _now(given: str | None) -> float:
    if given is None:
        return time.time() * 1000
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(f"{one_line(given)} is not a date: write 2026-01-31T12:00:00Z.") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000


def _known_zone(name: str) -> str:
    if name and not is_zone(name):
        raise UsageError(f"{one_line(name)} is not a time zone that is known here: write Europe/Berlin or UTC.")
    return name


def _other(file: Path, name: str) -> Workflow | None:
    """Return the workflow of this id, name or file name among the files beside ``file``."""
    for other in sorted(file.resolve().parent.glob("*.json"))[:_MOST_FILES]:
        try:
            value = _read(other)
        except UsageError:
            continue
        is_flow = isinstance(value, dict) and isinstance(value.get("nodes"), list)
        if is_flow and name in (value.get("id"), value.get("name"), other.stem):
            return model.build(value)
    return None


class NodeProcess:
    """Node, started in the sandbox at the first question; where that does not contain it, a person has to agree.

    ``missing`` says that there was a question, and no Node. ``name`` is the workflow that is tried.
    """

    def __init__(self, name: str) -> None:
        self._name, self.missing, self._may_run, self.close = name, False, False, contextlib.ExitStack()
        self._pipe: Pipe | None = None
        program = tool_folder() / "node_modules" / "luxon" / "build" / "global" / "luxon.min.js"
        self.engine = Engine(self.ask, self.end, program.read_text("utf-8") if program.is_file() else "")

    def ask(self, question: bytes, seconds: float) -> bytes:
        """Return the answer to a question. Raises CheckError when the process ended or does not answer."""
        pipe = self._pipe or self._started()
        pipe.send(question)
        return pipe.receive(time.monotonic() + seconds)

    def end(self) -> None:
        """End the process; the next question starts another."""
        self._pipe = None
        self.close.close()

    def _started(self) -> Pipe:
        node = find_node(Path.cwd())
        if node is None:
            self.missing = True
            raise NotModelled("an expression or code: Node.js is not installed")
        if not self._may_run and not probe.label().contained:
            self._agreed()
        self._may_run = True
        folder = self.close.enter_context(scratch_folder("n8n-try"))  # it sees nothing of the project
        view = SandboxView(Path(folder), None, (PROGRAM, *around_program(Path(node))))
        running = start((node, "--no-warnings", "--max-old-space-size=256", str(PROGRAM)), view, label=probe.label())
        self._pipe = Pipe("Node", running.process, _line, running.end)
        self.close.callback(self._pipe.close)
        return self._pipe

    def _agreed(self) -> None:
        """Ask a person whether the workflow's JavaScript may run as they could. Raises UsageError."""
        words = f"The expressions and code of {one_line(self._name)} run in a process of Node. Here that is"
        print(f"{words} {probe.label()}.\nType yes to run it: ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip() != "yes":
            raise UsageError("Nothing was run. `ai-rails doctor` says what contains it here.")


def _line(output: IO[bytes]) -> bytes | None:
    line = output.readline(_LONGEST_LINE)
    return line if line.endswith(b"\n") else None
