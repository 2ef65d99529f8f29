"""From the tables of a policy file to rules and examples, with every mistake in a sentence.

What the schema of the file says of each key (``rails/config/schemas/policy.schema.json``) is checked there; here is
what it cannot say: which keys belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from rails.approval.policy.rules import Circumstances, Conditions, Policy, PolicyItem, PolicyRule, Ruling, Seen, minutes
from rails.config.settings_file import SettingsError, SettingsFile, parse_settings
from rails.core.dataclass import dataclass
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line

if TYPE_CHECKING:
    from rails.config.tables import ExampleTable, RuleTable

_TIME: Final = lazy(r"([01]\d|2[0-3]):[0-5]\d")
#: A rule on "anthropic:*" would never match, and a deny that never matches is worse than none.
_PROVIDERS: Final = ("anthropic:", "openai:", "responses:", "gemini:", "deepseek:", "ollama:", "openrouter:")
#: Keys that only make sense with some decisions, and why.
_ONLY_ALLOW: Final = {
    "max_bytes": "larger changes are asked about anyway",
    "max_lines": "larger changes are asked about anyway",
    "clean": "what was repaired is asked about anyway",
    "first": "later ones are asked about anyway",
}
_NOT_ALLOW: Final = {"adjusted": 'use "clean" with allow', "from_nth": 'use "first" with allow'}

T = TypeVar("T")
Table = TypeVar("Table")


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
    """What is wrong with one table, beyond its shape."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """What a file says: rules, examples, and a sentence for each mistake."""

    rules: tuple[PolicyRule, ...] = ()
    examples: tuple[Example, ...] = ()
    mistakes: tuple[str, ...] = ()


def read_policy(data: bytes, source: str, *, first: int = 1, project: bool = False) -> PolicyFile:
    """Read a policy file, or what the file of a ``project`` says of policy; rules are numbered from ``first``."""
    from rails.config.tables import ExampleTable, PolicyTables, ProjectTables, RuleTable

    around = ("policy",) if project else ()
    try:
        file = parse_settings(data, source, "rails" if project else "policy")
    except SettingsError as error:
        return PolicyFile(mistakes=error.mistakes)
    try:
        tables = file.tables(ProjectTables, only="policy").policy if project else file.tables(PolicyTables)
    except SettingsError as error:
        rules, examples = file.fitting((*around, "rule"), RuleTable), file.fitting((*around, "example"), ExampleTable)
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

    tool, path, kind, verdict, agent = map(words, (table.tool, table.path, table.kind, table.verdict, table.agent))
    if table.decision == "allow" and "error" in verdict:
        raise _Mistake('verdict "error" means that a check could not run; that is never allowed unasked')
    if table.decision == "allow" and not tool and not path:
        raise _Mistake("an allow rule has to name a tool or a path")
    for key, why in (_ONLY_ALLOW if table.decision != "allow" else _NOT_ALLOW).items():
        if (given := getattr(table, key)) is not None and (given is not False or key != "clean"):
            raise _Mistake(f"{key} does not belong to {table.decision}: {why}")
    return PolicyRule(
        number,
        table.decision,
        source,
        table.name,
        table.reason,
        tool,
        path,
        kind,
        verdict,
        agent,
        table.max_lines,
        table.clean,
        _conditions(table),
    )


def _conditions(table: RuleTable) -> Conditions:
    from rails.config.tables import words

    model = words(table.model)
    if wrong := [name for name in model if name.startswith(_PROVIDERS)]:
        raise _Mistake(
            "a model is named as a session shows it, without its provider: "
            f'model = "{one_line(wrong[0].partition(":")[2], 60)}"'
        )
    if table.between and minutes(table.between) is None:
        raise _Mistake('between has to be a span of local time, for example "09:00-18:00"')
    return Conditions(
        model,
        table.interactive,
        minutes(table.between) if table.between else None,
        words(table.finding),
        words(table.severity),
        table.max_bytes,
        table.adjusted,
        table.from_nth,
        table.first,
        words(table.risk),
    )


def _example(table: ExampleTable, number: int, source: str) -> Example:
    path = table.path or None
    kind = table.kind or ("modify" if path else "run")
    found = ((table.finding, table.severity),) if table.finding else ()
    seen = Seen(found, table.bytes, frozenset([table.risk] if table.risk else ()))
    verdict = table.verdict if path and kind not in ("read", "run", "result") else None
    item = PolicyItem(table.agent, table.tool, kind, path, verdict, table.lines, table.adjusted, seen)
    if table.at and not _TIME.fullmatch(table.at):
        raise _Mistake('at has to be a local time, for example "09:30"')
    minute = int(table.at[:2]) * 60 + int(table.at[3:]) if table.at else None
    return Example(number, source, item, table.expect, table.model, table.interactive, minute, table.before)
