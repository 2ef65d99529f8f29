"""A job as a function, without terminal, current directory or user settings.

The work tree is removed, the log stays. Faults of machine, model or spec are results with an ``error``, which no rate
counts and another run may fix. The gate's Python workers stay warm.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.batch.job_spec import JobCheck, JobCheckResult, JobResult, JobSpec
from rails.batch.licences import licence_of
from rails.batch.shared_limits import limited
from rails.config.prices import Price
from rails.core.app_dirs import choose_config_folder, take_back
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import FAULT, CheckError, RailsError, UsageError
from rails.core.events.changes import CheckpointEvent
from rails.core.events.record import Record
from rails.core.outcomes import is_good, outcome_for
from rails.core.paths import WorkspacePath, exact_path
from rails.core.scratch import kept_folder
from rails.core.text import one_line
from rails.core.verdict import Finding, NotChecked, Verdict
from rails.gate.command_checks import CommandFailedError, run_check_command
from rails.gate.gate import Gate
from rails.gate.support import check_command, known_tools
from rails.gate.support.check_command import CheckCommand
from rails.gate.support.warm_processes import PythonPool
from rails.git import revisions
from rails.git.worktrees import JobTree, work_tree
from rails.log.writer import SessionLog
from rails.models.model import Model, ModelOptions
from rails.models.providers import named_server, open_model
from rails.projections.common import SessionView
from rails.projections.session import session_view
from rails.session.job import SessionJob
from rails.session.unattended import TEMPLATES, unattended_session

#: Policies by name, for a tree that is thrown away.
POLICIES: Final = {
    "deny": "",
    "edits": '[[rule]]\ndecision = "allow"\npath = "**"\nkind = ["create", "modify", "delete"]\n',
}
_FINDINGS: Final = 50
_DIFF_CHARS: Final = 2_000_000
#: The temperature of a local model from a job's second seed on: its likeliest words would be the same each time.
_REPEATED: Final = 0.7


def run_job(spec: JobSpec) -> JobResult:
    """Run a job; never raises for its faults."""
    return run_job_with(spec, lambda: model_of(spec))


def run_job_with(spec: JobSpec, model: Callable[[], Model]) -> JobResult:
    """Run a job as :func:`run_job`, with the caller's model."""
    try:
        Path.cwd()
    except FileNotFoundError:
        os.chdir("/")  # a worker whose folder is gone: what a library imports would be looked for in it
    result = JobResult.of(spec)
    state, place = Path(spec.folder) if spec.folder else kept_folder("job"), None
    try:
        if not (Path(spec.repo).is_absolute() and state.is_absolute()):
            raise UsageError(f"A job names its places absolutely, not {one_line(spec.repo)!r}. It was not begun.")
        (state / "work").mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f"{spec.name}-", dir=state / "work"))
        return _result(result, spec, model, state, place)
    except (RailsError, OSError) as error:
        return replace(result, error=one_line(f"{type(error).__name__}: {error}", 600))
    except FAULT as error:  # a fault of ours is an outcome too
        return replace(result, error=f"a fault of AI-Rails: {one_line(repr(error), 500)}")
    finally:
        if place and not spec.keep:
            shutil.rmtree(place, ignore_errors=True)


def _result(result: JobResult, spec: JobSpec, model: Callable[[], Model], state: Path, place: Path) -> JobResult:
    began, config = time.monotonic(), place / "config"
    with contextlib.ExitStack() as stack:
        _write_config(spec, config)
        stack.callback(take_back, choose_config_folder(config))
        tree = work_tree(Path(spec.repo), spec.commit, place)
        prepared = time.monotonic()
        judge = stack.enter_context(Gate(tree.folder, pool=_pool(), wait=True))
        log = stack.enter_context(_log(spec, result.name, state))
        session = unattended_session(
            _session_job(spec, tree),
            log,
            limited(model(), spec),
            config,
            judge if spec.gate == "on" else _OpenGate(tree.folder),
            prices={name: Price(*one) for name, one in spec.prices.items()},
        )
        records: list[Record] = []
        session.watch = records.append
        ending = session.run()
        log.sync()
        view = session_view(records)
        raised, tries = _tries(view)
        outcome = outcome_for(ending.outcome)  # "error": the model, or we, failed, which says nothing of the agent
        made = replace(
            result,
            commit=tree.commit,
            ending=outcome,
            error=one_line(ending.message.partition(" Nothing is lost:")[0], 600) if outcome == "error" else "",
            first_try=not any(turn.failed for turn in view.turns),
            turns=view.totals.turns,
            input_tokens=sum(turn.input_tokens + turn.cached_tokens for turn in view.turns),
            output_tokens=view.totals.output_tokens,
            cost=None if session.budget.unpriced else session.budget.cost,
            raised=raised,
            tries=tries,
            log=str(log.path),
            head=records[-1].hash if records else "",
        )
        ran = time.monotonic()
        made = _scored(made, spec, tree, judge, _written(records))
        own = {"prepare": round(prepared - began, 4), "score": round(time.monotonic() - ran, 4)}
        return replace(made, seconds={**own, **view.totals.seconds})


def _log(spec: JobSpec, name: str, state: Path) -> SessionLog:
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    free = next(one for one in names if not (state / "sessions" / one).exists())
    return SessionLog.create(state, session_id=free, secrets=[*_environment(spec).values()])


def _scored(made: JobResult, spec: JobSpec, tree: JobTree, judge: Gate, paths: Sequence[str]) -> JobResult:
    changes = _changes(tree, paths)
    verdict = judge.judge(changes) if changes else Verdict("pass", changes)
    new = [finding for finding in verdict.findings if finding.new]
    checks, error = [], made.error
    if not error:
        for check in spec.checks:
            try:
                checks.append(_checked(check, tree.folder, spec))
            except CheckError as fault:
                error = f"a check could not run: {one_line(str(fault), 500)}"
    passed = not error and (all(one.passed for one in checks) if checks else verdict.status == "pass")
    tracked = all(one.before is not None for one in changes.changes)
    diff = tree.diff(paths, tracked=tracked)
    return replace(
        made,
        passed=passed and (bool(checks) or is_good(made.ending)),
        first_try=passed and made.first_try,
        verdict=verdict.status,
        findings=tuple(_in_words(one) for one in new[:_FINDINGS]),
        checks=tuple(checks),
        diff=diff if len(diff) <= _DIFF_CHARS else f"{diff[:_DIFF_CHARS]}\n[cut: {len(diff)} characters]\n",
        error=error,
        licence=licence_of(tree.folder),
        tree=str(tree.folder) if spec.keep else "",
    )


class _OpenGate(Gate):
    """No gate: everything passes, noted as unchecked."""

    def judge(self, changes: ChangeSet, **_: object) -> Verdict:
        said = tuple(
            NotChecked(str(one.path), "gate", "this job runs without", required=False) for one in changes.changes
        )
        return Verdict("pass", changes, not_checked=said)


@cache
def _pool() -> PythonPool:
    return PythonPool(1)


def _write_config(spec: JobSpec, config: Path) -> None:
    templates = config / TEMPLATES
    templates.mkdir(parents=True)
    policy = config / "policy.toml"
    policy.write_text(POLICIES.get(spec.policy, spec.policy), "utf-8")
    policy.chmod(0o600)
    for name, text in spec.templates.items():
        if not name.replace("-", "").isalnum():
            raise UsageError(f"{one_line(name)!r} is not the name of an agent. The job was not begun.")
        (templates / f"{name}.md").write_text(text, "utf-8")


def model_of(spec: JobSpec) -> Model:
    """Open the job's model with its keys. Raises UsageError or ModelError."""
    name, url = named_server(spec.model)
    options = ModelOptions(base_url=url, environment=_environment(spec), seed=spec.seed or None)
    model = open_model(name, options=options)
    return model.at(_REPEATED) if spec.seed > 1 and model.local else model


def _environment(spec: JobSpec) -> dict[str, str]:
    return {name: os.environ[name] for name in spec.env if name in os.environ}


def _session_job(spec: JobSpec, tree: JobTree) -> SessionJob:
    bounds = spec.budgets
    return SessionJob(
        tree.folder,
        tuple((role.strip(), spec.task) for role in spec.agent.split(",")),
        max_attempts=bounds.max_attempts,
        max_turns=bounds.max_turns,
        approve="policy",
        max_tokens=bounds.max_tokens,
        max_seconds=bounds.max_seconds,
        max_cost=bounds.max_cost,
        escalate=spec.escalate,
    )


def _written(records: Sequence[Record]) -> list[str]:
    events = (record.event for record in records)
    return [*dict.fromkeys(path for one in events if isinstance(one, CheckpointEvent) for path in one.paths)]


def _changes(tree: JobTree, paths: Sequence[str]) -> ChangeSet:
    found = []
    for name, old in revisions.contents(tree.folder, tree.commit, paths).items():
        path = exact_path(name)
        file = tree.folder / name
        new = file.read_bytes() if file.is_file() and not file.is_symlink() else None
        if isinstance(path, WorkspacePath) and old != new:
            found.append(FileChange(path, old, new))
    return ChangeSet(tuple(found))


def _tries(view: SessionView) -> tuple[int, int]:
    stood = Counter[tuple[str, ...]]()
    for turn in view.turns:
        for gate in turn.gates:
            stood.update({(turn.agent, f.path, f.rule, f.message) for f in gate.verdict.findings if f.new})
    return len(stood), stood.total()


def _checked(check: str | JobCheck, tree: Path, spec: JobSpec) -> JobCheckResult:
    """Run a check with the hidden files. Raises CheckError if it cannot start."""
    command = _command(check, tree)
    began = time.monotonic()
    if wrong := [path for path in spec.hidden if not isinstance(exact_path(path), WorkspacePath)]:
        raise CheckError(f"{one_line(repr(wrong[0]))} is not the path of a hidden file")
    hidden: dict[str, bytes | None] = {path: text.encode() for path, text in spec.hidden.items()}
    try:
        words = [_in_words(one) for one in run_check_command(command, tree, hidden)]
    except CommandFailedError as failed:
        words = [one_line(str(failed), 300)]
    return JobCheckResult(command.name, not words, len(words), tuple(words[:10]), round(time.monotonic() - began, 3))


def _command(check: str | JobCheck, tree: Path) -> CheckCommand:
    if isinstance(check, str):
        if named := known_tools.named_command(check, tree):
            return named
        words = shlex.split(check)
        check = JobCheck(one_line(check, 60), tuple(words))
    if not check.argv:
        raise CheckError("a check has no command")
    argv = (check_command.program(check.argv[0], tree), *check.argv[1:])
    usual = CheckCommand(check.name, argv, check.reads, report=check.report, timeout_s=check.seconds)
    codes = frozenset(range(126)) if check.reads == "exit" else usual.ok_codes
    return replace(usual, ok_codes=codes, pattern=check.pattern or usual.pattern)


def _in_words(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line}: " if finding.line else "" if finding.path == "." else f"{finding.path}: "
    return one_line(f"{place}{finding.rule} {finding.message}", 300)
