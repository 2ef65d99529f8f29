"""How far a set of jobs is, while ``ai-rails batch run`` runs it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rails.core.text import one_line

if TYPE_CHECKING:
    from rich.table import Table

    from rails.batch.run_set import SetProgress

_LINE_SECONDS: Final = 10.0


@contextmanager
def shown_progress() -> Iterator[Callable[[SetProgress], object]]:
    """Yield what shows progress: a live table at a terminal, a line now and then elsewhere."""
    if not sys.stdout.isatty():
        yield _Lines()
        return
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        yield lambda progress: live.update(_table(progress), refresh=True)


class _Lines:
    """Prints how far it is when something has changed, at most every ten seconds."""

    def __init__(self) -> None:
        self._said, self._at = -1, time.monotonic()

    def __call__(self, progress: SetProgress) -> None:
        if len(progress.done) != self._said and time.monotonic() - self._at > _LINE_SECONDS:
            self._said, self._at = len(progress.done), time.monotonic()
            print(f"  {_far(progress)}", flush=True)


def _far(progress: SetProgress) -> str:
    from rails.render.units import seconds_text

    left = progress.seconds_left
    ahead = f", {seconds_text(left)} left" if left else ""
    done = f"{progress.skipped + len(progress.done)} of {progress.total} done, {progress.running} running"
    return f"{done}{money_text(progress)}{ahead}"


def _table(progress: SetProgress) -> Table:
    from rich import box
    from rich.table import Table as RichTable

    names = ("model", "agent", "gate", "done", "passed", "errors", "turns", "cost")
    table = RichTable(*names, title=_far(progress), box=box.SIMPLE, title_justify="left")
    rows: dict[tuple[str, str, str], list[float]] = {}
    for result in progress.done:
        row = rows.setdefault((result.model, result.agent, result.gate), [0.0] * 5)
        for at, value in enumerate((1, result.passed, bool(result.error), result.turns, result.cost or 0.0)):
            row[at] += value
    for key, (done, *counts, cost) in sorted(rows.items()):
        table.add_row(*(one_line(word, 60) for word in key), *(f"{one:.0f}" for one in (done, *counts)), f"{cost:.4g}")
    return table


def money_text(progress: SetProgress) -> str:
    """Say what was spent; nothing where nothing is known of it."""
    more = " and what has no price" if progress.unpriced and progress.cost else ""
    return f", cost {progress.cost:.4g}{more}" if progress.cost else ""
