"""``ai-rails n8n try``: a workflow run without n8n, on sample or pinned data."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rails.commands import common
from rails.core import limits
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, CheckError, UsageError
from rails.core.scratch import scratch_folder
from rails.core.text import one_line
from rails.n8n import model
from rails.n8n.model import Workflow
from rails.n8n.try_run import values
from rails.n8n.try_run.context import CodeRunner
from rails.n8n.try_run.dates import DateTime
from rails.n8n.try_run.durations import zone
from rails.n8n.try_run.engine import TrySetting, start_of, try_workflow
from rails.n8n.try_run.values import NodeFault, NotModelled, OverBudget
from rails.sandbox import probe
from rails.sandbox.run import run
from rails.sandbox.view import SandboxLimits, SandboxView

#: Files beside the workflow among which another is looked for.
_MOST_FILES: Final = 500
_CODE_SECONDS: Final = 10.0
#: All runs of Node together: code that runs for each item starts one for each.
_ALL_CODE_SECONDS: Final = 60.0


def try_flow(options: argparse.Namespace, words: list[str]) -> int:
    """Print what a dry run comes to. Returns 1 where a node fails, as it would in n8n, or a bound is reached."""
    from rails.n8n.try_run import report

    if len(words) != 1:
        raise UsageError("Write: ai-rails n8n try FLOW.json [--data SAMPLE.json] [--json].")
    file = Path(words[0])
    workflow = model.build(_object(_read(file), file))
    runner = _runner(workflow, file) if options.run_code else None
    setting = TrySetting(
        data=_data(options.data, workflow, options.start),
        now=_now(options.now),
        zone=_known_zone(options.timezone),
        load=lambda name: _other(file, name),
        code_runner=runner,
    )
    result = try_workflow(workflow, setting, start=options.start)
    if options.json:
        common.print_json(report.try_json(result, workflow))
    else:
        print("\n".join(report.text_lines(result, workflow, file.name)))
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
            f"{one_line(str(file))} is no n8n workflow in JSON. `ai-rails gate FILE` says what is wrong with it."
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


def _now(given: str | None) -> DateTime:
    if given is None:
        return TrySetting().now
    found = DateTime.read(given, zone("UTC"))
    if found.at is None:
        raise UsageError(f"{one_line(given)} is no date: write 2026-01-31T12:00:00Z.")
    return found


def _known_zone(name: str) -> str:
    try:
        zone(name or "UTC")
    except NotModelled:
        raise UsageError(f"{one_line(name)} is no time zone that is known here: write Europe/Berlin or UTC.") from None
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


def _runner(workflow: Workflow, file: Path) -> CodeRunner | None:
    """Return what runs Code nodes with Node in the sandbox; a person has to agree where that does not hold.

    ``None`` where there is no such node.
    """
    from rails.gate.languages.javascript.node_worker import find_node

    names = [node.name for node in workflow.nodes if node.type == "n8n-nodes-base.code" and not node.disabled]
    if not names:
        return None
    node = find_node(Path.cwd())
    if node is None:
        raise UsageError("Node.js is not installed. Leave --run-code out: Code nodes are then modelled.")
    here = probe.label()
    if not here.contained:
        print(
            f"The code of {len(names)} Code nodes of {one_line(file.name)} ({one_line(', '.join(names), 200)}) runs "
            f"in a process of Node bounded to 10 seconds and 256 MB. Here that is {here}.\nType yes to run it: ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        if sys.stdin.readline().strip() != "yes":
            raise UsageError("Nothing was run. Leave --run-code out: Code nodes are then modelled, without Node.")
    until = time.monotonic() + _ALL_CODE_SECONDS

    def run_one(code: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if time.monotonic() >= until:
            raise OverBudget(f"{_ALL_CODE_SECONDS:g} seconds for all Code nodes")
        return _run_code(node, code, given)

    return run_one


def _run_code(node: str, code: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    script = Path(__file__).with_name("n8n_code.cjs").read_text("utf-8")
    asked = str(values.stringified({"code": code, **given})).encode("utf-8", "surrogatepass")
    bounds = SandboxLimits(seconds=_CODE_SECONDS, output=limits.FILE_BYTES)
    try:
        with scratch_folder("n8n-code") as folder:  # it sees nothing of the project
            argv = [node, "--max-old-space-size=256", "-e", script]
            ran = run(argv, SandboxView(Path(folder)), limits=bounds, stdin=asked)
    except CheckError as error:
        raise NodeFault(f"the code could not be run: {error}") from None
    try:
        answer = json.loads(ran.out)
    except ValueError:
        raise NodeFault(f"the code ended without an answer: {ran.status}. {one_line(ran.err, 300)}") from None
    if answer["ok"] is not True:
        raise NodeFault(str(answer["said"]))
    return answer["value"]
