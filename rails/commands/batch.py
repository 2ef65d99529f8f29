"""``ai-rails batch``: run many jobs, report on them, export training data."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rails.commands.exit import code_after
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, ModelError, UsageError
from rails.core.text import counted, one_line, sha256

if TYPE_CHECKING:
    from rails.batch.engine import JobEngine
    from rails.batch.job_spec import JobResult, JobSpec
    from rails.batch.run_set import SetProgress
    from rails.batch.store import JobStore
    from rails.batch.tasks import Variants


OPTIONS = """
> Actions: run TASKS.jsonl --store DIR (skips jobs with a result), report DIR, export DIR. A task is a line of
    JSON: id, repo, commit, task, checks, hidden.
action run|report|export  what to do
place FILE|STORE  the file of tasks, or the store (a folder or a URL)
--store STORE  with run: where results go
--models LIST ()  PROVIDER:NAME[@URL], separated by commas
--templates LIST (coder)  agents: shipped ones, and your own (default: coder)
--gate LIST (on)  on, off or on,off: whether findings go back
--repeat N:count (1)  repeats of each job (default: 1)
--policy FILE  a policy file, or 'edits' (default: your policy.toml)
--env NAMES ()  environment variables that workers may read for keys
--workers N:count  at once (default: one for each core)
--ray ADDRESS  on Ray instead: auto, local or HOST:PORT
--max-cost N:number  start no more jobs once this is spent
--retry errors|failures...  run these again
--requests-per-minute N:count  of all jobs together
--tokens-per-minute N:count  of all jobs together
--max-turns N:count  turns of one job (default: the agent's)
--max-minutes N:number (30)  of one job (default: 30)
--keep  keep the work trees
--dry-run  show what would run
--html FILE  with report: write one self-contained page
--json  with report: the figures as JSON
--markdown  with report: as Markdown
--format sft|preferences (sft)  with export (default: sft)
"""


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    if options.action == "run":
        return _run(options)
    if options.action == "report":
        return _report(options)
    return _export(options)


def _run(options: argparse.Namespace) -> int:
    from rails.batch.store import JobStore
    from rails.batch.tasks import jobs_of, read_tasks

    if not options.store or not options.models:
        raise UsageError("batch run needs --store and --models. Nothing was run.")
    file = Path(options.place)
    store = JobStore(options.store)
    same = _same(options, store)
    return run_jobs(options, store, [*jobs_of(read_tasks(file), _variants(options), file.absolute().parent, same)])


def run_jobs(options: argparse.Namespace, store: JobStore, specs: Sequence[JobSpec]) -> int:
    """Run the jobs without a result; return the exit code."""
    from rails.batch.run_set import run_set, unfinished

    left, over = unfinished(store, specs, options.retry)
    print(f"{counted(len(specs), 'job')}, {len(over)} of them done before · {one_line(store.place)}")
    if broken := sum(bool(result.error) for result in over):
        print(f"  {broken} of them ended in an error, which --retry errors runs again")
    _check_models(options, left)
    if options.dry_run:
        for spec in left:
            words = f"{one_line(spec.id, 40)}  {spec.agent}  {one_line(spec.model, 60)}  gate {spec.gate}"
            print(f"  {spec.name}  {words}  seed {spec.seed}")
        return EXIT_OK
    if not left:
        return EXIT_FINDINGS if broken else EXIT_OK
    _check_prices(options, left)
    engine = _engine(options, store, len(left))
    try:
        progress = run_set(
            store,
            engine,
            specs,
            _ProgressLines(),
            retry=options.retry,
            max_cost=options.max_cost,
        )
    finally:
        engine.close()
    store.rows()
    return _ended(progress, store)


def _ended(progress: SetProgress, store: JobStore) -> int:
    passed = sum(result.passed for result in progress.done)
    errors = sum(bool(result.error) for result in progress.done)
    failed = len(progress.done) - passed - errors
    print(
        f"{counted(len(progress.done), 'job')} run: {passed} passed, {failed} failed, {counted(errors, 'error')}"
        f"{_money_text(progress)}"
    )
    for error in dict.fromkeys(result.error for result in progress.done if result.error):
        print(f"  error: {one_line(error, 300)}")
    if errors:
        print("  the same command with --retry errors runs what ended in an error again")
    if progress.elsewhere:
        print(f"  {counted(len(progress.elsewhere), 'job')} still being run by another process")
    if progress.stopped:
        print(f"stopped: {progress.stopped}. The same command resumes.")
    print(f"  report: ai-rails batch report {one_line(store.place)}")
    if progress.stopped == "Ctrl-C" or progress.stopped in signal.Signals.__members__:
        return code_after(progress.stopped)
    return EXIT_FINDINGS if progress.stopped or errors or progress.elsewhere else EXIT_OK


def _rows(place: str) -> list[JobResult]:
    """Raises UsageError without results."""
    from rails.batch.store import JobStore

    if rows := JobStore(place).rows():
        return rows
    raise UsageError(f"There is no result in {one_line(place)}. Run some first: ai-rails batch run.")


def _export(options: argparse.Namespace) -> int:
    from rails.batch.export import training_lines

    for line in training_lines(_rows(options.place), options.format):
        print(json.dumps(line))
    return EXIT_OK


def _report(options: argparse.Namespace) -> int:
    from rails.batch.report import batch_report, report_tables
    from rails.commands.review import show_report
    from rails.config.prices import PRICES_NAME, load_price_file
    from rails.core.app_dirs import config_folder
    from rails.review.reports.grouped import ReviewReport

    rows = _rows(options.place)
    found = batch_report(rows)
    currency = load_price_file(config_folder() / PRICES_NAME).currency
    about = f"{counted(len(rows), 'job')} of {one_line(options.place)}"
    return show_report(
        options, ReviewReport("Jobs compared", tuple(report_tables(found, currency)), found.value), about
    )


class _ProgressLines:
    def __init__(self) -> None:
        self._said = -1
        self._at = time.monotonic()

    def __call__(self, progress: SetProgress) -> None:
        if len(progress.done) != self._said and time.monotonic() - self._at > 10:
            self._said = len(progress.done)
            self._at = time.monotonic()
            print(f"  {_far(progress)}", flush=True)


def _far(progress: SetProgress) -> str:
    from rails.render.units import seconds_text

    left = progress.seconds_left
    ahead = f", {seconds_text(left)} left" if left else ""
    done = f"{progress.skipped + len(progress.done)} of {progress.total} done, {progress.running} running"
    return f"{done}{_money_text(progress)}{ahead}"


def _money_text(progress: SetProgress) -> str:
    more = " and what has no price" if progress.unpriced and progress.cost else ""
    return f", cost {progress.cost:.4g}{more}" if progress.cost else ""


# -- what is run, and by whom -----------------------------------------------------------------------


def _variants(options: argparse.Namespace) -> Variants:
    """Raises UsageError."""
    from rails.batch.tasks import Variants

    gates = _list(options.gate)
    if not set(gates) <= {"on", "off"}:
        raise UsageError(f"--gate takes on, off or both, not {one_line(options.gate)!r}. Nothing was run.")
    agents, texts = _agents(_list(options.templates))
    models = [_absolute(model) for model in _list(options.models)]
    return Variants(models, agents, ["on" if gate == "on" else "off" for gate in gates], options.repeat, texts)


def _same(options: argparse.Namespace, store: JobStore) -> dict[str, object]:
    from rails.batch.job_spec import JobBudgets, SharedLimits
    from rails.commands.models import price_table
    from rails.core.app_dirs import config_folder

    limits = SharedLimits(requests=options.requests_per_minute or 0, tokens=options.tokens_per_minute or 0)
    if limits.requests or limits.tokens:
        name = f"ai-rails-{sha256(store.place.encode())[:12]}"
        folder = store.folder or config_folder() / name
        limits = msgspec.structs.replace(limits, place=f"ray:{name}" if options.ray else str(folder / "limits"))
    return {
        "policy": _policy(options.policy),
        "env": _keys(options),
        "prices": price_table(),
        "budgets": JobBudgets(max_turns=options.max_turns, max_seconds=options.max_minutes * 60),
        "limits": limits,
        "keep": options.keep,
    }


def _list(words: str) -> list[str]:
    return [*dict.fromkeys(word.strip() for word in words.split(",") if word.strip())]


def _absolute(model: str) -> str:
    """Workers have another folder."""
    kind, _, file = model.partition(":")
    return f"recorded:{Path(file).absolute()}" if kind == "recorded" else model


def _keys(options: argparse.Namespace) -> tuple[str, ...]:
    usual = {f"{model.partition(':')[0].upper()}_API_KEY" for model in _list(options.models)}
    return tuple(sorted({*_list(options.env), *(usual - {"RECORDED_API_KEY"})}))


def _agents(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    from rails.agents.template import load_agents, named
    from rails.core.app_dirs import builtin_folder, config_folder

    own = config_folder() / "agent_templates"
    known = load_agents([builtin_folder("agent_templates"), own], trusted_folders=[own])
    agents = [named(known, name) for name in names]
    return [agent.name for agent in agents], {agent.name: agent.text for agent in agents if agent.origin == "user"}


def _policy(given: str | None) -> str:
    """Raises UsageError without a policy: all would be denied."""
    from rails.approval.policy.places import POLICY_NAME
    from rails.batch.run_job import POLICIES
    from rails.core.app_dirs import config_folder

    if given in POLICIES:
        return given
    file = Path(given) if given else config_folder() / POLICY_NAME
    if not file.is_file():
        words = f"There is no policy in {file}, so nothing that an agent does would be approved."
        raise UsageError(f"{words} --policy edits approves changes that pass the gate. Nothing was run.")
    return file.read_text("utf-8")


def _check_models(options: argparse.Namespace, specs: Sequence[JobSpec]) -> None:
    """Raise UsageError for an unknown model, ModelError for a missing key (printed in a dry run)."""
    from rails.batch.run_job import model_of

    for spec in {spec.model: spec for spec in specs}.values():
        try:
            model_of(spec)
        except UsageError as error:
            raise UsageError(f"{error}. Nothing was run.") from error
        except ModelError as error:
            if options.dry_run:
                print(f"  {one_line(spec.model, 60)} could not be used here: {error}")
            elif not options.ray:  # other machines have keys of their own
                raise


def _check_prices(options: argparse.Namespace, specs: Sequence[JobSpec]) -> None:
    from rails.config.prices import Price, no_price, price_of
    from rails.core.app_dirs import config_folder
    from rails.models.providers import named_server

    for spec in {spec.model: spec for spec in specs}.values() if options.max_cost is not None else ():
        name = named_server(spec.model)[0]
        name = name if name.startswith("recorded:") else name.partition(":")[2]
        if price_of(name, {key: Price(*one) for key, one in spec.prices.items()}) is None:
            raise no_price(name, config_folder())


def _engine(options: argparse.Namespace, store: JobStore, jobs: int) -> JobEngine:
    if options.ray:
        from rails.batch.ray_engine import RayEngine

        return RayEngine(str(store.folder or store.place), options.ray)
    from rails.batch.engine import PoolEngine

    return PoolEngine(store.place, min(options.workers or os.cpu_count() or 1, jobs))
