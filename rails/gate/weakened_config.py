"""Changes to the configuration of the checks themselves.

They never count for the change that adds them (configuration is read before it), and a weaker one is a
finding: an ignored rule more, a selected rule less, a longer line, a table taken away.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Final

from rails.core.dataclass import replace
from rails.core.errors import CheckError
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, plain_text
from rails.core.tool_request import Json
from rails.core.verdict import Finding
from rails.gate import weakened_commands
from rails.gate.baseline import split_lines
from rails.gate.config_options import HOOKS, OTHER_CHECKS, Flat, check_options, flat
from rails.gate.support import config_files

#: Tools whose configuration is what makes them run; a formatter that goes away is only a matter of taste.
_FINDERS: Final = frozenset({"ruff", "flake8", "mypy", "pylint", "pyright", "pytest", "bandit", "eslint"})
_IGNORE_FILES: Final = frozenset({".eslintignore", ".prettierignore"})
_LOOSER_LISTS: Final = lazy(
    r"(?:^|[._-])(?:(?:extend[-_]|per[-_]file[-_])?(?:ignores?|exclude)|force[-_]exclude|disable|omit|skips?|unfixable|unsafe"
    r"|norecursedirs|disable[-_]error[-_]code|exclude[-_](?:lines|also))\b"
)
_TIGHTER_LISTS: Final = lazy(r"(?:^|[._-])(?:extend[-_])?(?:select|enable|fixable|testpaths|(?:load[-_])?plugins)\b")
#: What data names as its schema.
_SCHEMA: Final = lazy(rb"(?:\$schema[\"']?\s*[:=]\s*|#:schema\s+)[\"']?([^\s\"',}]{1,300})")
_LIMITS: Final = lazy(r"(?:^|[._-])(?:max[-_][\w-]+|line[-_]length)$")
_FLOORS: Final = lazy(r"(?:^|[._-])(?:fail[-_]under|min(?:imum)?[-_]\w+|coverageThreshold\b.*)$")
#: How much a check says of what it finds, from nothing on.
_LADDER: Final = (
    "off none ignore allow skip silent 0",
    "hint info information",
    "warn warning basic 1",
    "standard normal",
    "error deny forbid strict 2",
)
_STRICT: Final = lazy(
    r"(?:^|[._-])(?:enabled|recommended|strict\w*|disallow\w*|warn\w*|check\w*|no[-_]implicit\w*|disable[-_]noqa|force-exclude)$"
)
_LENIENT: Final = lazy(r"(?:^|[._-])(?:ignore[-_](?:errors|missing[-_]imports)|allow\w*|exit[-_]zero)$")

#: Options that take whole files out of the checks.
_EXCLUDES: Final = lazy(r"(?:^|[._-])(?:extend[-_]|force[-_])?exclude$")

_TOML: Final = frozenset({"pyproject.toml", "ruff.toml", ".ruff.toml", ".rails.toml"})
#: A number that Python reads and has no text for; TOML's own have 64 bits.
_ENDLESS: Final = re.compile(rb"0[xob][\da-fA-F_]{3000}")


def findings(path: str, before: bytes | None, after: bytes | None) -> Iterator[Finding]:
    """Yield what the change of ``path`` does to the checks' configuration; nothing for any other file."""
    name = path.rpartition("/")[2].lower()
    yield from _without_schema(path, before, after)
    if name in _IGNORE_FILES:
        yield from _ignored(path, before, after)
        return
    for line, words, weaker in weakened_commands.command_changes(path, before, after):
        yield replace(_finding(path, after, "", words, weaker=weaker), line=line, end_line=line)
    if name in _TOML and any(_ENDLESS.search(data or b"") for data in (before, after)):
        yield _finding(path, after, "", "It holds a number that no tool can read.", weaker=True)
        return
    if name == ".rails.toml":
        yield from _gate_settings(path, before, after)
        return
    try:
        old, new = check_options(name, before), check_options(name, after)
    except (CheckError, ValueError, RecursionError):
        old = new = {}
    if name == HOOKS or OTHER_CHECKS.fullmatch(name):
        told = list(_compared(path, after, old, new))
        if name != HOOKS:
            told = [one for one in told if one.severity == "error"]
        yield from told or [_agreed(path, after)]
        return
    if before is None:  # scripts that a new manifest brings are no change of how anything was checked
        new = {key: value for key, value in new.items() if not key.startswith("scripts.")}
    if before is None and (excluding := {key: value for key, value in new.items() if _EXCLUDES.search(key)}):
        yield from _compared(path, after, {}, excluding)
        return
    if before is None and any(not key.endswith(".installed") for key in new):
        yield _finding(
            path, after, "", "It brings configuration for the checks; it counts from the next change on.", weaker=False
        )
        return
    yield from _compared(path, after, old, new)


def of_extended(path: str, before: bytes | None, after: bytes | None) -> Iterator[Finding]:
    """Yield what the change of a file does that the checks' configuration extends."""
    if path.endswith((".cfg", ".ini")):
        with contextlib.suppress(CheckError, ValueError):
            yield from _compared(path, after, *(check_options("setup.cfg", side) for side in (before, after)))
            return
    if not path.endswith(".toml"):
        if not OTHER_CHECKS.fullmatch(path.rpartition("/")[2].lower()):
            yield _agreed(path, after)
        return
    with contextlib.suppress(CheckError):
        old, new = (dict(flat("ruff", dict(config_files.parse_toml(side or b"", path)))) for side in (before, after))
        yield from _compared(path, after, old, new)


def _without_schema(path: str, before: bytes | None, after: bytes | None) -> Iterator[Finding]:
    """Yield whether data names the schema of the project no more by which it was judged."""
    if before and after is not None and path.lower().endswith((".json", ".jsonc", ".yaml", ".yml", ".toml")):
        was, now = (_SCHEMA.search(side) for side in (before, after))
        if was and b":" not in was[1] and (now is None or now[1] != was[1]):
            words = f"It is no longer judged by {one_line(was[1].decode('utf-8', 'replace'), 80)}"
            yield _finding(path, after, "$schema", words, weaker=True)


def _ignored(path: str, before: bytes | None, after: bytes | None) -> Iterator[Finding]:
    """Yield what an ignore file takes out of the checks: patterns more, or exceptions less."""
    old, new = _lines(before), _lines(after)
    taken = {line for line in new if line not in old and not line.startswith("!")}
    taken |= {line for line in old if line not in new and line.startswith("!")}
    if taken:
        words = f"It takes files out of the checks: {one_line(', '.join(sorted(taken)), 80)}"
        yield _finding(path, after, "", words, weaker=True)
    elif old != new:
        yield _finding(path, after, "", "It changes which files are checked.", weaker=False)


def _gate_settings(path: str, before: bytes | None, after: bytes | None) -> Iterator[Finding]:
    """Yield what became weaker in our own settings: an entry that checks gone, one that excuses new."""
    try:
        old, new = _gate_entries(before), _gate_entries(after)
    except (CheckError, ValueError, RecursionError):
        return
    weaker = [(kind, "excuses more", entry) for kind, entry, excuses in new - old if excuses]
    weaker += [(kind, "asks for less", entry) for kind, entry, excuses in old - new if not excuses]
    for kind, words, entry in sorted(weaker):
        yield _finding(path, after, kind, f"[[gate.{kind}]] {words}: {one_line(entry, 80)}", weaker=True)
    if old != new and not weaker:
        yield _finding(path, after, "gate", "It changes how files are checked from the next change on.", weaker=False)


def _gate_entries(data: bytes | None) -> set[tuple[str, str, bool]]:
    """Return the entries of ``[gate]``: kind, content, and whether it lets something through."""
    gate = config_files.table(config_files.parse_toml(data or b"", ".rails.toml"), "gate")
    found = set()
    for kind, entries in gate.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            mode = entry.get("mode", "blocking") if isinstance(entry, dict) else ""
            excuses = kind == "mode" and mode != "blocking"
            found.add((kind, json.dumps(entry, sort_keys=True, default=str), excuses))
    return found


def _compared(path: str, after: bytes | None, old: Flat, new: Flat) -> Iterator[Finding]:
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    weaker = [(key, words) for key in changed if (words := _weaker(key, old.get(key), new.get(key)))]
    told = " ".join(key for key, _ in weaker)
    gone = (tool for tool in sorted(_tools(old) - _tools(new)) if tool not in told)
    weaker += [(tool, f"{tool} is no longer configured, so it may no longer run") for tool in gone]
    for key, words in weaker:
        yield _finding(path, after, key, words, weaker=True)
    if changed and not weaker:
        names = one_line(", ".join(sorted(changed)), 80)
        yield _finding(path, after, changed[0], f"It changes how files are checked: {names}", weaker=False)


def _tools(options: Flat) -> set[str]:
    """Return the tools that find mistakes and that these options configure."""
    names = (re.split(r"[.:]", key.removeprefix("tool:"))[0].lower() for key in options)
    return {name for name in names if name in _FINDERS}


def _weaker(key: str, old: Json, new: Json) -> str:
    """Say how an option got weaker, or return an empty string."""
    more, less = _items(new) - _items(old), _items(old) - _items(new)
    if _LOOSER_LISTS.search(key) and more and not isinstance(new, bool):
        return f"{key} lets more through: {one_line(', '.join(sorted(more)), 60)}"
    if _TIGHTER_LISTS.search(key) and less and old is not None:
        return f"{key} asks for less: without {one_line(', '.join(sorted(less)), 60)}"
    if _LIMITS.search(key) and None not in (old, new) and _number(new) > _number(old):
        return f"{key} allows more: {one_line(str(new), 20)} instead of {one_line(str(old), 20)}"
    if _FLOORS.search(key) and None not in (old, new) and _number(new) < _number(old):
        return f"{key} asks for less: {one_line(str(new), 20)} instead of {one_line(str(old), 20)}"
    if 0 <= _rank(key, new) < _rank(key, old):
        return f"{key} is {one_line(str(new), 20)} and was {one_line(str(old), 20)}"
    if key.endswith("addopts") and (excuses := set(_excuses(new)) - set(_excuses(old))):
        return f"{key} lets more through: {one_line(', '.join(sorted(excuses)), 60)}"
    if "complexity" in key and new is None:
        return f"{key} is taken away"
    if _STRICT.search(key) and _true(old) and not _true(new):
        return f"{key} was on and is off"
    if _LENIENT.search(key) and _true(new) and not _true(old):
        return f"{key} was off and is on"
    return ""


def _rank(key: str, value: Json) -> int:
    """Return how much a severity, or a mode of checking, says; -1 for what is none."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, str) and not (type(first) is int and "rules." in key):
        return -1
    return next((at for at, words in enumerate(_LADDER) if str(first).lower() in words.split()), -1)


def _excuses(value: Json) -> Iterator[str]:
    words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return (found[0] for found in weakened_commands.EXCUSES.finditer(words))


def _number(value: Json) -> float:
    try:
        return float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.0


def _true(value: Json) -> bool:
    return str(value).strip().lower() in ("true", "1", "yes", "on")


def _items(value: Json) -> set[str]:
    if isinstance(value, list):
        return {str(item) for item in value}
    return {part for part in re.split(r"[,\s]+", str(value)) if part} if value is not None else set()


def _lines(data: bytes | None) -> list[str]:
    lines = (line.strip() for line in split_lines(plain_text(data or b"") or ""))
    return [line for line in lines if line and not line.startswith("#")]


def _agreed(path: str, after: bytes | None) -> Finding:
    return _finding(
        path, after, "", "It changes how files are checked; it counts once a human has agreed.", weaker=False
    )


def _finding(path: str, after: bytes | None, key: str, words: str, *, weaker: bool) -> Finding:
    option = key.rpartition(".")[2]
    lines = split_lines(plain_text(after or b"") or "")
    line = next((n for n, text in enumerate(lines, 1) if option and option in text), 1)
    if not weaker:
        return Finding(path, line, 1, "gate-config-changed", words, "gate", severity="warning", end_line=line)
    remedy = "Leave the rules as they are and correct the code, or ask the human to change them."
    return Finding(path, line, 1, "gate-config-weakened", words, "gate", end_line=line, remedy=remedy)
