"""What a rule may require beyond who, what and where: circumstances, findings, size, how often. Pure.

What is not known counts the careful way: an ``allow`` does not hold, a ``deny`` or an ``ask`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final

from rails.core.dataclass import dataclass, field

_SPAN: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What holds while something is asked.

    ``model`` is its name as the log has it, ``interactive`` whether a human could answer, ``minute`` the
    minute of the day in local time (``None``: not known), ``seen`` how many things each rule has matched that
    were approved in this run, by the rule's source and number.
    """

    model: str = ""
    interactive: bool = True
    minute: int | None = None
    seen: Mapping[tuple[str, int], int] = field(default_factory=dict)


UNKNOWN: Final = Circumstances()


@dataclass(frozen=True, slots=True)
class Seen:
    """What the checks found in a change set, and its size: (rule, severity) of each new finding, bytes after."""

    findings: tuple[tuple[str, str], ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Conditions:
    """The further keys of a rule; what is empty or ``None`` requires nothing.

    ``model``: globs. ``interactive``: whether a human could be asked. ``between``: minutes of the day, from and
    to. ``finding`` (globs) and ``severity``: of new findings; an ``allow`` needs all of them to fit, the others
    one. ``max_bytes``: of the files after the change. ``adjusted``: something was repaired, converted or
    matched leniently. ``from_nth``: from the n-th matching thing of a run on. ``first``: only the first n.
    """

    model: tuple[str, ...] = ()
    interactive: bool | None = None
    between: tuple[int, int] | None = None
    finding: tuple[str, ...] = ()
    severity: tuple[str, ...] = ()
    max_bytes: int | None = None
    adjusted: bool | None = None
    from_nth: int | None = None
    first: int | None = None

    @property
    def counts(self) -> bool:
        """Whether it matters how often the rule has matched."""
        return self.from_nth is not None or self.first is not None

    def hold(self, allows: bool, around: Circumstances, seen: Seen, adjusted: bool) -> bool:
        """Say whether everything but the count is as required; ``allows``: the rule is an ``allow``."""
        return (
            self._of_model(allows, around.model)
            and self.interactive in (None, around.interactive)
            and self._in_time(allows, around.minute)
            and self._found(allows, seen)
            and (self.max_bytes is None or seen.size <= self.max_bytes)
            and self.adjusted in (None, adjusted)
        )

    def count_holds(self, before: int, now: int) -> bool:
        """Say whether the count is as required: ``before`` things in this run, ``now`` more of them."""
        return (self.from_nth is None or before + now >= self.from_nth) and (
            self.first is None or before + now <= self.first
        )

    def _of_model(self, allows: bool, model: str) -> bool:
        if not self.model or not model:
            return not self.model or not allows
        return any(fnmatchcase(model, glob) for glob in self.model)

    def _in_time(self, allows: bool, minute: int | None) -> bool:
        if self.between is None or minute is None:
            return self.between is None or not allows
        start, end = self.between
        return start <= minute < end if start <= end else minute >= start or minute < end

    def _found(self, allows: bool, seen: Seen) -> bool:
        """An ``allow`` covers all findings; the others speak as soon as there is one of theirs."""
        if not self.finding and not self.severity:
            return True
        quantify: Callable[[list[bool]], bool] = all if allows else any
        return quantify(
            [
                (not self.finding or any(fnmatchcase(rule, glob) for glob in self.finding))
                and (not self.severity or severity in self.severity)
                for rule, severity in seen.findings
            ]
        )


def minutes(text: str) -> tuple[int, int] | None:
    """Read "09:00-17:30" as minutes of the day; it may go over midnight. ``None`` for anything else."""
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    start, end = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    return None if start == end else (start, end)


def minute_of(at: datetime | None = None) -> int:
    """Return the minute of the day, local time, of ``at`` or of now."""
    local = (at or datetime.now(UTC)).astimezone()
    return local.hour * 60 + local.minute
