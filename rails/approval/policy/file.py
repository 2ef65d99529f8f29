"""From a policy file to rules, examples and mistakes.

The schema (``rails/config/schemas/policy.schema.json``) checks keys; this checks which belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from rails.approval.policy.rules import (
    Circumstances,
    PolicyItem,
    PolicyRule,
    Ruling,
    plain_command,
)
from rails.config.settings_file import SettingsError, SettingsFile, parse_settings
from rails.core.builtin_tools import BUILTIN_TOOLS, RUN_COMMAND
from rails.core.text import one_line

if TYPE_CHECKING:
    from rails.config.tables import ExampleTable, RuleTable

#: A rule on "anthropic:*" would never match, and a deny that never matches is worse than none.
_PROVIDERS: Final = ("anthropic:", "openai:", "responses:", "gemini:", "deepseek:", "ollama:", "openrouter:")
#: Keys that only make sense with some decisions, and why.
_ONLY_ALLOW: Final = {
    "max_bytes": "larger changes are asked about anyway",
    "max_lines": "larger changes are asked about anyway",
    "clean": "what was repaired is asked about anyway",
}
_NOT_ALLOW: Final = {"adjusted": 'use "clean" with allow'}

#: Keys that take one word or several.
_LISTS: Final = ("tool", "command", "path", "kind", "verdict", "agent", "model", "finding", "severity", "risk")
#: Of what kind the uses of a tool are, by its effect.
_KINDS: Final = {"edit": ("create", "modify", "delete"), "read": ("read", "result"), "run": ("run", "result")}

T = TypeVar("T")
Table = TypeVar("Table")


class Example(Struct, frozen=True):
    """One ``[[example]]``: a question and the expected ruling."""

    number: int
    source: str
    item: PolicyItem
    expect: Ruling
    around: Circumstances


class _Mistake(Exception):
    """A mistake in one table that the schema cannot express."""


class PolicyFile(Struct, frozen=True):
    """Rules, examples, and a sentence for each mistake."""

    rules: tuple[PolicyRule, ...] = ()
    examples: tuple[Example, ...] = ()
    mistakes: tuple[str, ...] = ()


def read_policy(data: bytes, source: str, *, first: int = 1, project: bool = False) -> PolicyFile:
    """Read a policy file, or a ``project``'s; rules are numbered from ``first``."""
    from rails.config.tables import ExampleTable, PolicyTables, ProjectTables, RuleTable

    around = ("policy",) if project else ()
    try:
        file = parse_settings(data, source, "rails" if project else "policy")
    except SettingsError as error:
        return PolicyFile(mistakes=error.mistakes)
    try:
        tables = file.tables(ProjectTables, only="policy").policy if project else file.tables(PolicyTables)
    except SettingsError as error:
        rules = file.fitting((*around, "rule"), RuleTable)
        examples = file.fitting((*around, "example"), ExampleTable)
        return PolicyFile(mistakes=(*error.mistakes, *_read(rules, examples, file, around, first).mistakes))
    return _read(enumerate(tables.rule), enumerate(tables.example), file, around, first)


def _read(
    rules: Iterable[tuple[int, RuleTable]],
    examples: Iterable[tuple[int, ExampleTable]],
    file: SettingsFile,
    around: tuple[str, ...],
    first: int,
) -> PolicyFile:
    mistakes: list[str] = []

    def each(name: str, given: Iterable[tuple[int, Table]], make: Callable[[Table, int], T]) -> Iterator[T]:
        for index, table in given:
            try:
                yield make(table, index)
            except _Mistake as mistake:
                mistakes.append(file.mistake((*around, name, index), f"{mistake}."))

    made = tuple(each("rule", rules, lambda table, index: _rule(table, first + index, file.source)))
    tried = tuple(each("example", examples, lambda table, index: _example(table, index + 1, file.source)))
    return PolicyFile(made, tried, tuple(mistakes))


def _rule(table: RuleTable, number: int, source: str) -> PolicyRule:
    from rails.config.tables import words

    tool = words(table.tool)
    if table.decision == "allow" and "error" in words(table.verdict):
        raise _Mistake('verdict "error" means that a check could not run; that is never allowed unasked')
    if table.decision == "allow" and not (tool or table.path or table.command):
        raise _Mistake("an allow rule has to name a tool, a command or a path")
    if why := _never_matches(table, tool):
        raise _Mistake(f"the rule can never match: {why}")
    for key, why in (_ONLY_ALLOW if table.decision != "allow" else _NOT_ALLOW).items():
        if (given := getattr(table, key)) is not None and (given is not False or key != "clean"):
            raise _Mistake(f"{key} does not belong to {table.decision}: {why}")
    if wrong := [one for one in words(table.model) if one.startswith(_PROVIDERS)]:
        bare = wrong[0].partition(":")[2]
        raise _Mistake(f'a model is named as a session shows it, without its provider: model = "{one_line(bare, 60)}"')
    given = {key: getattr(table, key) for key in table.__struct_fields__}
    lists = {key: words(given[key]) for key in _LISTS}
    return PolicyRule(number=number, source=source, **{**given, **lists})


def _never_matches(table: RuleTable, tools: tuple[str, ...]) -> str:
    """Return the key that keeps the rule from matching a built-in tool it names, or ""."""
    from rails.config.tables import words

    effects = {BUILTIN_TOOLS[name].effect if name in BUILTIN_TOOLS else "" for name in tools}
    if table.command and tools and not any(fnmatchcase(RUN_COMMAND.name, glob) for glob in tools):
        return f"command is for {RUN_COMMAND.name} only"
    if not effects or "" in effects:
        return ""
    if "edit" not in effects:
        for key in ("verdict", "finding", "severity", "max_lines", "max_bytes"):
            if getattr(table, key) is not None:
                return f"{key} is about changes, and {', '.join(tools)} changes nothing"
    if effects == {"run"} and table.path:
        return f"{', '.join(tools)} takes no path"
    kinds = {kind for effect in effects for kind in _KINDS[effect]}
    if table.kind and kinds.isdisjoint(words(table.kind)):
        return f"{', '.join(tools)} is of kind {' or '.join(sorted(kinds))}"
    return ""


def _example(table: ExampleTable, number: int, source: str) -> Example:
    path = table.path or None
    kind = table.kind or ("modify" if path else "run")
    item = PolicyItem(
        table.agent,
        table.tool,
        kind,
        path,
        table.verdict if path and kind not in ("read", "run", "result") else None,
        table.lines,
        table.adjusted,
        plain_command(table.command or None),
        ((table.finding, table.severity),) if table.finding else (),
        table.bytes,
        frozenset([table.risk] if table.risk else ()),
    )
    return Example(number, source, item, table.expect, Circumstances(table.model, table.interactive))
