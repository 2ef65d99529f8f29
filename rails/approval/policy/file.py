"""From the tables of a policy file to rules and examples, with every mistake in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from rails.approval.policy.rules import (
    KINDS,
    Circumstances,
    Conditions,
    ItemKind,
    Policy,
    PolicyItem,
    PolicyRule,
    Ruling,
    Seen,
    minutes,
)
from rails.core.dataclass import dataclass
from rails.core.likeness import most_alike
from rails.core.text import one_line
from rails.core.verdict import Status

_RULINGS: Final = ("deny", "ask", "allow")
_STATUSES: Final = ("pass", "fail", "error")
_SEVERITIES: Final = ("error", "warning", "info")
_TEXTS: Final = ("name", "reason")
_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "tool": (),
    "path": (),
    "kind": KINDS,
    "verdict": _STATUSES,
    "agent": (),
}
#: A rule on "anthropic:*" would never match, and a deny that never matches is worse than none.
_PROVIDERS: Final = ("anthropic:", "openai:")
_WHEN: Final = ("model", "interactive", "between", "finding", "severity", "max_bytes", "adjusted", "from_nth", "first")
_RULE_KEYS: Final = ("decision", *_TEXTS, *_LISTS, "max_lines", "clean", *_WHEN)
_EXAMPLE_KEYS: Final = (
    *("expect", "tool", "path", "kind", "verdict", "agent", "lines", "bytes", "finding", "severity", "adjusted"),
    *("model", "interactive", "at", "before"),
)
#: Keys that only make sense with some decisions, and why.
_ONLY_ALLOW: Final = {
    "max_bytes": "larger changes are asked about anyway",
    "first": "later ones are asked about anyway",
}
_NOT_ALLOW: Final = {"adjusted": 'use "clean" with allow', "from_nth": 'use "first" with allow'}
#: Rules in one file: a policy that nobody can read protects nobody.
MAX_RULES: Final = 500


@dataclass(frozen=True, slots=True)
class Example:
    """One ``[[example]]``: something that could be asked, and what the policy has to say to it."""

    number: int
    source: str
    item: PolicyItem
    expect: Ruling
    model: str = ""
    interactive: bool = True
    minute: int | None = None
    before: int = 0

    def around(self, policy: Policy) -> Circumstances:
        """Return the circumstances that the example describes."""
        seen = {rule.key: self.before for rule in policy.rules}
        return Circumstances(self.model, self.interactive, self.minute, seen)


class _Mistake(Exception):
    pass


def read_tables(data: object, source: str, first: int = 1) -> tuple[list[PolicyRule], list[Example], list[str]]:
    """Return the rules (numbered from ``first``), the examples, and a sentence for each mistake."""
    mistakes: list[str] = []
    rules: list[PolicyRule] = []
    examples: list[Example] = []
    if not isinstance(data, Mapping):
        return rules, examples, [f"{source}: [policy] is not a table"]
    mistakes += [f"{source}: {wrong}" for wrong in _unknown(data, ("rule", "example", "version"))]
    if data.get("version", 1) != 1:
        mistakes.append(f"{source}: version {one_line(str(data['version']), 20)} is not known; this is version 1")
    for number, table in _tables(data, "rule", source, mistakes):
        try:
            rules.append(_rule(table, first + number - 1, source))
        except _Mistake as mistake:
            mistakes.append(f"{source}: rule {first + number - 1}: {mistake}")
    for number, table in _tables(data, "example", source, mistakes):
        try:
            examples.append(_example(table, number, source))
        except _Mistake as mistake:
            mistakes.append(f"{source}: example {number}: {mistake}")
    return rules, examples, mistakes


def _tables(
    data: Mapping[str, object], key: str, source: str, mistakes: list[str]
) -> Iterator[tuple[int, Mapping[str, object]]]:
    entries = data.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        mistakes.append(f"{source}: write [[{key}]], with two brackets")
        return
    if len(entries) > MAX_RULES:
        mistakes.append(f"{source}: {len(entries)} entries of [[{key}]]; {MAX_RULES} are allowed")
        return
    yield from enumerate(entries, start=1)


def _rule(table: Mapping[str, object], number: int, source: str) -> PolicyRule:
    _require_known(table, _RULE_KEYS)
    decision = cast(Ruling, _choice(table, "decision", _RULINGS))
    tool, path, kind, verdict, agent = (_words(table, key, allowed) for key, allowed in _LISTS.items())
    if decision == "allow" and "error" in verdict:
        raise _Mistake('verdict "error" means that a check could not run; that is never allowed unasked')
    lines = table.get("max_lines")
    if lines is not None and (not isinstance(lines, int) or isinstance(lines, bool) or lines < 0):
        raise _Mistake("max_lines has to be a number of lines")
    if lines is not None and decision != "allow":
        raise _Mistake("max_lines only belongs to allow; larger changes are asked about anyway")
    if decision == "allow" and not tool and not path:
        raise _Mistake("an allow rule has to name a tool or a path")
    clean = table.get("clean", False)
    if not isinstance(clean, bool) or (clean and decision != "allow"):
        raise _Mistake("clean is true or false, and belongs to allow")
    name, reason = (_text(table, key) for key in _TEXTS)
    when = _conditions(table, decision)
    return PolicyRule(number, decision, source, name, reason, tool, path, kind, verdict, agent, lines, clean, when)


def _conditions(table: Mapping[str, object], decision: Ruling) -> Conditions:
    for key, why in (_ONLY_ALLOW if decision != "allow" else _NOT_ALLOW).items():
        if key in table:
            raise _Mistake(f"{key} does not belong to {decision}: {why}")
    model = _words(table, "model", ())
    if wrong := [name for name in model if name.startswith(_PROVIDERS)]:
        bare = wrong[0].partition(":")[2]
        raise _Mistake(f'a model is named as a session shows it, without its provider: model = "{one_line(bare, 60)}"')
    between = _text(table, "between")
    if between and minutes(between) is None:
        raise _Mistake('between has to be a span of local time, for example "09:00-18:00"')
    return Conditions(
        model,
        _flag(table, "interactive"),
        minutes(between) if between else None,
        _words(table, "finding", ()),
        _words(table, "severity", _SEVERITIES),
        _count(table, "max_bytes", 0),
        _flag(table, "adjusted"),
        _count(table, "from_nth", 1),
        _count(table, "first", 1),
    )


def _flag(table: Mapping[str, object], key: str) -> bool | None:
    value = table.get(key)
    if value is not None and not isinstance(value, bool):
        raise _Mistake(f"{key} has to be true or false")
    return value


def _count(table: Mapping[str, object], key: str, least: int) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _Mistake(f"{key} has to be a number from {least} on")
    return value


def _example(table: Mapping[str, object], number: int, source: str) -> Example:
    _require_known(table, _EXAMPLE_KEYS)
    expect = cast(Ruling, _choice(table, "expect", _RULINGS))
    path = _text(table, "path") or None
    kind = cast(ItemKind, _choice(table, "kind", KINDS, default="modify" if path else "run"))
    verdict = cast(Status, _choice(table, "verdict", _STATUSES, default="pass")) if path else None
    lines = table.get("lines", 1)
    if not isinstance(lines, int) or isinstance(lines, bool):
        raise _Mistake("lines has to be a number")
    rule, severity = _text(table, "finding"), _choice(table, "severity", _SEVERITIES, default="error")
    seen = Seen(((rule, severity),) if rule else (), _count(table, "bytes", 0) or 0)
    adjusted, interactive = _flag(table, "adjusted") or False, _flag(table, "interactive")
    item = PolicyItem(_text(table, "agent"), _text(table, "tool"), kind, path, verdict, lines, adjusted, seen)
    at = _text(table, "at")
    if at and not _TIME.fullmatch(at):
        raise _Mistake('at has to be a local time, for example "09:30"')
    minute = int(at[:2]) * 60 + int(at[3:]) if at else None
    before = _count(table, "before", 0) or 0
    return Example(number, source, item, expect, _text(table, "model"), interactive is not False, minute, before)


def _require_known(table: Mapping[str, object], known: Sequence[str]) -> None:
    if wrong := "; ".join(_unknown(table, known)):
        raise _Mistake(wrong)


def _unknown(table: Mapping[str, object], known: Sequence[str]) -> Iterator[str]:
    for key in table:
        if key not in known:
            near = most_alike(key, known)
            yield f"unknown key {one_line(key, 40)!r}{f', did you mean {near!r}?' if near else ''}"


def _choice(table: Mapping[str, object], key: str, allowed: Sequence[str], default: str = "") -> str:
    value = table.get(key, default)
    if value not in allowed:
        raise _Mistake(f"{key} has to be one of {', '.join(allowed)}")
    return cast(str, value)


def _words(table: Mapping[str, object], key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    value = table.get(key, [])
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise _Mistake(f"{key} has to be a text or a list of texts, none of them empty")
    if key in table and not words:
        raise _Mistake(f"{key} is an empty list, which would match everything; leave it out if that is meant")
    if allowed and (wrong := [word for word in words if word not in allowed]):
        raise _Mistake(f"{key} {one_line(wrong[0], 40)!r} is not one of {', '.join(allowed)}")
    return tuple(words)


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise _Mistake(f"{key} has to be a text")
    return value
