"""Level 0: limits and a supervisor on a copy. Contains nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rails.sandbox import bounds
from rails.sandbox.layer import real_place
from rails.sandbox.output import Kept
from rails.sandbox.places import contained_environment
from rails.sandbox.process import Launch, Running, converse, start_process
from rails.sandbox.values import Result, SandboxLimits, SandboxView


def launch(argv: Sequence[str], view: SandboxView, limits: SandboxLimits, join: Callable[[], None]) -> Launch:
    """Return how to start ``argv`` there."""

    def prepare() -> None:
        join()
        bounds.bound_process(limits)

    return on_copy(argv, view, prepare)


def on_copy(argv: Sequence[str], view: SandboxView, prepare: Callable[[], None]) -> Launch:
    """Return how to start ``argv`` on the view's copy; ``prepare`` runs in the new process first."""
    assert view.layer, "whoever asks without one is given one"
    temporary = view.layer.temporary
    real_place(temporary, "home/any")  # a folder again, whatever the last command made of it
    built = contained_environment(view, str(temporary))
    return Launch(tuple(argv), built, view.layer.root / view.folder, prepare, supervised=True)


def run_as_user(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes, timeout: float
) -> Result:
    """Run a user-defined program. Raises CheckError if it cannot start."""
    running = start_as_user(argv, folder, environment, stdin=bool(stdin))
    out, err = Kept(), Kept()
    try:
        timed_out = converse(running, stdin, out, err, timeout)
    finally:
        running.end()
    return Result(running.process.returncode, out.text(), err.text(), timed_out, out.total + err.total, timeout)


def start_as_user(argv: Sequence[str], folder: Path, environment: Mapping[str, str], *, stdin: bool = True) -> Running:
    """Start a user-defined program. Raises CheckError if it cannot start."""
    return start_process(Launch(tuple(argv), environment, folder), stdin=stdin)
