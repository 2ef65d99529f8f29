"""The settings files' tables, as in ``schemas/*.schema.json``; meaning is checked at use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

#: One text or several, none of them empty; :func:`words` gives them as several.
Word = Annotated[str, Meta(min_length=1)]
OneOrMore = Word | list[Word]
AtLeastOne = Word | Annotated[list[Word], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
FromOne = Annotated[int, Meta(ge=1)]
UpToAnHour = Annotated[int, Meta(ge=1, le=3600)]
AboveZero = Annotated[float, Meta(gt=0)]
Money = Annotated[float, Meta(ge=0, lt=1_000_000)]

RulingWord = Literal["deny", "ask", "allow"]
KindWord = Literal["create", "modify", "delete", "read", "run", "result"]
RiskWord = Literal[
    "hidden", "not_text", "control", "invisible", "lookalike", "secret", "command", "instruction", "variable_path",
    "protected", "delete", "large_deletion", "executable", "checks", "run", "project_tool",
]  # fmt: skip
StatusWord = Literal["pass", "fail", "error"]
SeverityWord = Literal["error", "warning", "info"]
KindWords = KindWord | Annotated[list[KindWord], Meta(min_length=1)]
StatusWords = StatusWord | Annotated[list[StatusWord], Meta(min_length=1)]
RiskWords = RiskWord | Annotated[list[RiskWord], Meta(min_length=1)]
SeverityWords = SeverityWord | Annotated[list[SeverityWord], Meta(min_length=1)]
AtMostTables = Meta(max_length=200)
#: A host as :data:`rails.sandbox.values.HOST` has it.
_HOST = r"\A(\*\.)?[A-Za-z0-9][A-Za-z0-9.-]{0,250}(:\d{1,5})?\Z"
AtMostRules = Meta(max_length=500)


def words(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return a string or strings as a tuple; empty for ``None``."""
    return (value,) if isinstance(value, str) else tuple(value or ())


class SettingsTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all tables: immutable, and unknown names are mistakes."""


class FileTable(SettingsTable, frozen=True):
    """A whole file, which may name its schema."""

    schema_address: str = field(default="", name="$schema")


class ModeTable(SettingsTable, frozen=True):
    """One ``[[gate.mode]]``."""

    mode: Literal["blocking", "retry", "advisory"] = "blocking"
    check: Literal["input", "output", "turn"] = "output"
    path: OneOrMore = []
    agent: OneOrMore = []
    rule: OneOrMore = []
    attempts: UpToAnHour = 2


class SchemaTable(SettingsTable, frozen=True):
    """One ``[[gate.schema]]``."""

    schema: Word
    path: OneOrMore = []
    url: str = ""


class HeadingsTable(SettingsTable, frozen=True):
    """One ``[[gate.headings]]``."""

    path: AtLeastOne
    headings: AtLeastOne


class CommandTable(SettingsTable, frozen=True):
    """One ``[[gate.command]]``; defaults are the shipped command's of this name."""

    name: Word
    run: OneOrMore = []
    function: Word = ""
    reads: Literal["regex", "sarif", "junit"] | None = None
    pattern: str | None = None
    report: str | None = None
    files: OneOrMore = []
    ok_codes: frozenset[int] | None = None
    mode: Literal["blocking", "advisory"] = "blocking"
    timeout: UpToAnHour | None = None
    environment: dict[str, str] = {}


class GateTables(SettingsTable, frozen=True):
    """``[gate]`` of a project."""

    mode: Annotated[list[ModeTable], AtMostTables] = []
    schema: Annotated[list[SchemaTable], AtMostTables] = []
    headings: Annotated[list[HeadingsTable], AtMostTables] = []
    command: Annotated[list[CommandTable], AtMostTables] = []
    fix: bool = True


class UserModeTable(ModeTable, frozen=True):
    """The user's ``[[mode]]``."""

    project: Word | None = None


class UserSchemaTable(SchemaTable, frozen=True):
    """The user's ``[[schema]]``."""

    project: Word | None = None


class UserHeadingsTable(HeadingsTable, frozen=True):
    """The user's ``[[headings]]``."""

    project: Word | None = None


class UserCommandTable(CommandTable, frozen=True):
    """The user's ``[[command]]``."""

    project: Word | None = None


class UserGateTables(FileTable, frozen=True):
    """``gate.toml``."""

    mode: Annotated[list[UserModeTable], AtMostTables] = []
    schema: Annotated[list[UserSchemaTable], AtMostTables] = []
    headings: Annotated[list[UserHeadingsTable], AtMostTables] = []
    command: Annotated[list[UserCommandTable], AtMostTables] = []
    fix: bool = True


class RuleTable(SettingsTable, frozen=True):
    """One ``[[rule]]``."""

    decision: RulingWord
    name: str = ""
    reason: str = ""
    tool: AtLeastOne | None = None
    command: AtLeastOne | None = None
    path: AtLeastOne | None = None
    kind: KindWords | None = None
    verdict: StatusWords | None = None
    agent: AtLeastOne | None = None
    max_lines: Count | None = None
    clean: bool = False
    model: AtLeastOne | None = None
    interactive: bool | None = None
    finding: AtLeastOne | None = None
    severity: SeverityWords | None = None
    risk: RiskWords | None = None
    max_bytes: Count | None = None
    adjusted: bool | None = None


class ExampleTable(SettingsTable, frozen=True):
    """One ``[[example]]``."""

    expect: RulingWord
    tool: str = ""
    path: str = ""
    kind: KindWord | None = None
    verdict: StatusWord = "pass"
    agent: str = ""
    lines: int = 1
    bytes: Count = 0
    finding: str = ""
    severity: SeverityWord = "error"
    risk: RiskWord | None = None
    adjusted: bool = False
    model: str = ""
    interactive: bool = True
    command: str = ""


class PolicyTables(FileTable, frozen=True):
    """``policy.toml``, and ``[policy]`` of a project."""

    version: Literal[1] = 1
    rule: Annotated[list[RuleTable], AtMostRules] = []
    example: Annotated[list[ExampleTable], AtMostRules] = []


class BoundsTable(SettingsTable, frozen=True):
    """A project's ``[run]``: an agent, and bounds, of which the tightest counts."""

    agent: str = ""
    max_tokens: FromOne | None = None
    max_minutes: AboveZero | None = None
    max_cost: AboveZero | None = None


class RunTable(BoundsTable, frozen=True):
    """The user's ``[run]``: defaults of the options."""

    model: str = ""
    stronger_model: str = ""
    overseer_model: str = ""
    model_for: dict[str, str] = {}
    protocol: Literal["auto", "native", "json", "edits", "whole"] | None = None
    tests: Literal["ask", "on", "off"] | None = None
    temperature: dict[str, Annotated[float, Meta(ge=0, le=2)]] = {}
    approve: Literal["ask", "policy"] | None = None
    handoff: Literal["ask", "go"] | None = None
    escalate: Literal["off", "again", "squash", "model"] | None = None
    correction: Literal["off", "syntax", "model"] | None = None
    dialect: list[str] = []
    answer_within: AboveZero | None = None
    max_attempts: FromOne | None = None
    max_turns: FromOne | None = None
    backup: bool = False


class SessionsTable(SettingsTable, frozen=True):
    """The user's ``[sessions]``."""

    keep_days: FromOne | None = None


class FetchTable(SettingsTable, frozen=True):
    """The user's ``[fetch]``."""

    hosts: Annotated[list[Annotated[str, Meta(pattern=_HOST)]], AtMostTables] = []


class ConfigTables(FileTable, frozen=True):
    """``config.toml``."""

    run: RunTable = RunTable()
    sessions: SessionsTable = SessionsTable()
    fetch: FetchTable = FetchTable()


class ProjectTables(FileTable, frozen=True):
    """``.rails.toml``."""

    gate: GateTables = GateTables()
    policy: PolicyTables = PolicyTables()
    run: BoundsTable = BoundsTable()


class PriceTable(SettingsTable, frozen=True):
    """One ``[models."NAME"]``."""

    input: Money
    output: Money
    cached: Money | None = None
    window: Count = 0


class PriceTables(FileTable, frozen=True):
    """``prices.toml``."""

    as_of: str | int | float = ""
    currency: str = ""
    models: dict[str, PriceTable] = {}
