"""From a task file to jobs: each task by model, agent, setting and repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import msgspec

from rails.batch.job_spec import GateMode, JobBudgets, JobCheck, JobSpec
from rails.core.errors import UsageError
from rails.core.text import one_line
from rails.git.worktrees import commit_named

_HIDDEN_FILES: Final = 1_000


class TaskLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a task file. ``hidden``: files (path to text), or a folder beside it."""

    id: str
    repo: str
    task: str
    commit: str = "HEAD"
    agent: str = ""
    checks: tuple[str | JobCheck, ...] = ()
    hidden: Mapping[str, str] | str = {}
    budgets: JobBudgets | None = None


class Variants(msgspec.Struct, frozen=True):
    """The dimensions of a set; ``templates``: agents not shipped."""

    models: Sequence[str]
    agents: Sequence[str] = ("coder",)
    gates: Sequence[GateMode] = ("on",)
    repeat: int = 1
    templates: Mapping[str, str] = msgspec.field(default_factory=dict)


def read_tasks(file: Path) -> list[TaskLine]:
    """Read a task file. Raises UsageError that names the line."""
    tasks: dict[str, TaskLine] = {}
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"The tasks in {file} cannot be read: {error.strerror or error}. Nothing was run.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            task = msgspec.json.decode(line, type=TaskLine)
        except msgspec.MsgspecError as error:
            raise UsageError(f"{file}:{number}: no task: {one_line(str(error), 300)}. Nothing was run.") from error
        if task.id in tasks:
            raise UsageError(f"{file}:{number}: there is a task {one_line(task.id)!r} already. Nothing was run.")
        tasks[task.id] = task
    if not tasks:
        raise UsageError(f"{file} holds no task. Nothing was run.")
    return [*tasks.values()]


def jobs_of(
    tasks: Sequence[TaskLine], chosen: Variants, folder: Path, same: Mapping[str, Any] | None = None
) -> Iterator[JobSpec]:
    """Yield all jobs; ``folder``: base of relative paths; ``same``: common fields. Raises UsageError."""
    for task in tasks:
        own: dict[str, Any] = {**(same or {}), **({"budgets": task.budgets} if task.budgets else {})}
        try:
            repo = _repository(task.repo, folder)
            own |= {"repo": str(repo), "commit": _commit(repo, task.commit), "id": task.id, "task": task.task}
            own |= {"checks": task.checks, "hidden": _hidden(task.hidden, folder)}
        except UsageError as error:
            raise UsageError(f"Task {one_line(task.id)}: {error} Nothing was run.") from error
        agents = (task.agent,) if task.agent else chosen.agents
        for agent, model, gate in product(agents, chosen.models, chosen.gates):
            texts = {name: text for name, text in chosen.templates.items() if name in agent.split(",")}
            for seed in range(1, chosen.repeat + 1):
                yield JobSpec(agent=agent, model=model, gate=gate, seed=seed, templates=texts, **own)


_commit = cache(commit_named)


def _repository(place: str, folder: Path) -> Path:
    place = place.removeprefix("file://")
    if "://" in place or place.startswith("git@"):
        raise UsageError(f"{one_line(place, 200)} is not on this machine. Clone it, and name the clone.")
    return (folder / place).resolve()


def _hidden(given: Mapping[str, str] | str, folder: Path) -> Mapping[str, str]:
    if not isinstance(given, str):
        return given
    root = folder / given
    files = sorted(path for path in root.rglob("*") if path.is_file())
    if not 0 < len(files) <= _HIDDEN_FILES:
        raise UsageError(f"{root} has {len(files)} hidden files.")
    try:
        return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in files}
    except UnicodeDecodeError as error:
        raise UsageError(f"A hidden file of {root} is not UTF-8 text.") from error
