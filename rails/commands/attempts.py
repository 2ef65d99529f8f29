"""``ai-rails run --attempts N``: N agents in work trees of the last commit; the best that passes gate and tests is
proposed: fewest findings, then smallest diff.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from rails.batch.job_spec import JobBudgets, JobCheck, JobResult, JobSpec
from rails.batch.run_job import run_job
from rails.commands import common
from rails.commands.models import price_table
from rails.core.atomic_file import replace_file
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, UsageError
from rails.core.text import counted, one_line
from rails.git import listing, revisions
from rails.git.worktrees import commit_named
from rails.models.providers import PROVIDERS
from rails.session.project import state_of
from rails.tools.project_tests import command_for_tests

_KEYS: Final = tuple({name for one in PROVIDERS.values() for name in (one.key, one.url_key) if name})


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    project = common.project_of(options)
    specs = _specs(options, project)
    results = []
    for number, spec in enumerate(specs, start=1):
        print(f"attempt {number} of {len(specs)}: {one_line(spec.model, 80)} …", flush=True)
        results.append(run_job(spec))
        print(f"  {_told(results[-1])}", flush=True)
    passing = [number for number, one in enumerate(results) if one.passed and one.diff]
    if not passing:
        print("No attempt passed and changed something, so none is proposed and nothing was written.")
        return EXIT_BROKEN if all(one.error for one in results) else EXIT_FINDINGS
    picked = min(passing, key=lambda number: _rank(results[number]))
    print(f"{len(passing)} of {counted(len(specs), 'attempt')} passed; the others stay in the log.")
    print(f"The one with the fewest findings, then the smallest diff, is proposed: attempt {picked + 1}.", flush=True)
    file = state_of(project) / "attempt.diff"
    replace_file(file, f"```diff\n{results[picked].diff.rstrip()}\n```\n".encode())
    from rails.cli import main

    flags = ["--plain"] if options.plain else []
    flags += ["--approve", options.approve] if options.approve else []
    return main(["apply", str(file), "--agent", specs[0].agent, "--project", str(project), *flags])


def _specs(options: argparse.Namespace, project: Path) -> list[JobSpec]:
    """Return a job per attempt. Raises UsageError if the disk differs from the last commit."""
    if not options.task or options.resume is not None or options.then or options.plan:
        raise UsageError("--attempts takes one task for one agent, and cannot resume. Nothing was started.")
    if not listing.knows(project, "HEAD"):
        raise UsageError(f"--attempts begin at the last commit, and {project} has none. Nothing was started.")
    commit = commit_named(project, "HEAD")
    from rails.commands.gate import known_files

    names = known_files(project)
    kept = revisions.contents(project, commit, names)
    if changed := [name for name in names if kept.get(name) != _bytes(project / name)]:
        shown = ", ".join(one_line(name, 80) for name in changed[:5])
        raise UsageError(
            f"Attempts begin at the last commit, and "
            f"{counted(len(changed), 'file differs', 'files differ')} from it ({shown}). Commit or "
            "remove them first. Nothing was started."
        )
    tests = command_for_tests(project)
    models = options.attempt_model or [options.model or common.DEFAULT_MODEL]
    bounds = JobBudgets(
        max_turns=options.max_turns,
        max_attempts=options.max_attempts,
        max_tokens=options.max_tokens,
        max_seconds=(options.max_minutes or 30) * 60,
        max_cost=options.max_cost,
    )
    return [
        JobSpec(
            repo=str(project),
            commit=commit,
            task=options.task,
            model=_model(models[number % len(models)], options.base_url),
            agent=options.agent or "coder",
            checks=(JobCheck("tests", tests),) if tests else (),
            budgets=bounds,
            seed=number + 1,
            policy="edits",
            env=_KEYS,
            prices=price_table(),
            folder=str(state_of(project)),
        )
        for number in range(options.attempts)
    ]


def _model(spec: str, base_url: str | None) -> str:
    kind, _, name = spec.partition(":")
    if kind == "recorded":
        return f"recorded:{Path(name).resolve()}"
    return f"{spec}@{base_url}" if base_url and "@http" not in spec else spec


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def _told(result: JobResult) -> str:
    tests = "; ".join(f"{one.name} {'passed' if one.passed else 'failed'}" for one in result.checks) or "no tests known"
    cost = "" if result.cost is None else f", cost {result.cost:.4g}"
    words = f"{'passes' if result.passed and result.diff else 'does not pass'}: gate {result.verdict or 'not asked'}; "
    words += f"{tests}; {counted(result.turns, 'turn')}, {result.input_tokens + result.output_tokens:,} tokens{cost}"
    return one_line(f"{words}; ai-rails review {Path(result.log).parent.name}" if result.log else words, 400) + (
        f"\n  {one_line(result.error, 400)}" if result.error else ""
    )


def _rank(result: JobResult) -> tuple[int, int]:
    return len(result.findings), len(result.diff)
