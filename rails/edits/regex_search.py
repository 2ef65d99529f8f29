"""Search by regular expression or without regard to case, in bounded time.

A regular expression runs in a process of its own that is ended when its time is up: no pattern, however
hostile, can hold the session. The replacement knows ``$1`` to ``$99``, ``$&`` (the whole match) and ``$$``
(a dollar); everything else in it is literal. Without a regular expression the replacement is literal.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Final

from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.text import one_line
from rails.edits.edit_request import EditRequest
from rails.edits.text_view import View, flatten

_SECONDS: Final = limits.PATTERN_SECONDS
_PLACES: Final = 10_000
_PATTERN_CHARS: Final = 10_000
_REFERENCE: Final = re.compile(r"\$(\$|&|[1-9][0-9]?)")
#: Reads [pattern, flags, limit, text] and prints the matches as [[[start, end], group, group, ...], ...].
_CHILD: Final = """
import json, re, sys
pattern, flags, limit, text = json.load(sys.stdin)
found = []
for match in re.finditer(pattern, text, flags):
    found.append([match.span(), *match.groups()])
    if len(found) >= limit:
        break
json.dump(found, sys.stdout)
"""


class SearchPatternError(Exception):
    """A pattern that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """One match: flat offsets, and what takes its place."""

    start: int
    end: int
    text: str


def pattern_matches(view: View, wanted: EditRequest) -> list[PatternMatch]:
    """Return every match in file order, empty ones left out. Raises PatternError."""
    old, new = flatten(wanted.old), flatten(wanted.new)
    flags = re.IGNORECASE if wanted.ignore_case else 0
    if not wanted.regex:
        return [PatternMatch(*match.span(), new) for match in re.finditer(re.escape(old), view.flat, flags)]
    found = _in_child(old, flags | re.MULTILINE, view.flat)
    if len(found) >= _PLACES:
        raise SearchPatternError(f"The regular expression matches {_PLACES} times or more.")
    return [
        PatternMatch(start, end, _expand(new, view.flat[start:end], groups))
        for (start, end), *groups in found
        if end > start
    ]


def _in_child(pattern: str, flags: int, text: str) -> list[list[tuple[int, int]]]:
    if len(pattern) > _PATTERN_CHARS:
        raise SearchPatternError(f"The regular expression has {len(pattern)} characters; {_PATTERN_CHARS} are allowed.")
    try:
        re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise SearchPatternError(f"The regular expression is not valid: {one_line(str(error))}.") from error
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=json.dumps([pattern, flags, _PLACES, text]),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise SearchPatternError(
            f"The regular expression was not done after {_SECONDS:g} s; make it simpler."
        ) from error
    except (subprocess.CalledProcessError, OSError) as error:
        raise SearchPatternError("The regular expression could not be run.") from error
    found: list[list[tuple[int, int]]] = json.loads(done.stdout)
    return found


def _expand(template: str, whole: str, groups: list[str | None] | list[tuple[int, int]]) -> str:
    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name == "$":
            return "$"
        if name == "&":
            return whole
        if int(name) > len(groups):
            return match[0]
        return str(groups[int(name) - 1] or "")

    return _REFERENCE.sub(one, template)
