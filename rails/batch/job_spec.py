"""A job and its result: frozen, picklable, JSON with a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

import rails
from rails.core.app_dirs import builtin_folder
from rails.core.errors import UsageError
from rails.core.text import one_line, sha256
from rails.core.tool_request import Json

#: Whether findings go back to the agent ("off": it is not told; its changes are judged at the end all the same).
GateMode = Literal["on", "off"]
#: What says where a job runs and what it may cost, and nothing of what it is: not in its name.
_CIRCUMSTANCES: Final = ("folder", "keep", "limits", "prices")
_NAME_CHARS: Final = 24
T = TypeVar("T")


class JobCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that scores a job, run contained; ``reads``: its output format."""

    name: str
    argv: tuple[str, ...]
    reads: Literal["exit", "regex", "sarif", "junit"] = "exit"
    pattern: str = ""
    report: str = ""
    seconds: float = 300.0


class JobBudgets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Budgets of a job; ``None``: no bound."""

    max_turns: int | None = None
    max_attempts: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = 1_800.0
    max_cost: float | None = None


class SharedLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of all jobs for a provider per minute (0: none).

    ``place`` of the count: a local folder, ``ray:NAME``, or "" for no count.
    """

    place: str = ""
    requests: int = 0
    tokens: int = 0


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run: what is done to which commit, by whom, and how it is scored.

    ``repo``: absolute path; ``agent``: one or several in order, with commas; ``model``: ``PROVIDER:NAME``, optionally
    ``@URL``. ``checks``: a shipped check ("pytest"), a command line, or a :class:`JobCheck`; ``hidden``: files (path to
    text) for scoring only. ``policy``: a policy file's text; only what it allows is approved. ``templates``: further
    agents (name to text). ``env``: *names* of variables for the model's key; values are never stored. ``folder``: of
    log and state ("": a new temporary one); ``prices``: per million tokens: input, output, cached. ``seed`` numbers
    repeats, and goes to providers that know seeds.
    """

    repo: str
    commit: str
    task: str
    model: str
    agent: str = "coder"
    id: str = ""
    checks: tuple[str | JobCheck, ...] = ()
    hidden: Mapping[str, str] = {}
    budgets: JobBudgets = JobBudgets()
    seed: int = 0
    policy: str = ""
    templates: Mapping[str, str] = {}
    gate: GateMode = "on"
    escalate: Literal["off", "squash"] = "off"
    env: tuple[str, ...] = ()
    prices: Mapping[str, tuple[float, float, float]] = {}
    folder: str = ""
    keep: bool = False
    limits: SharedLimits = SharedLimits()

    def __post_init__(self) -> None:
        """Convert lists and mappings. Raises msgspec.ValidationError."""
        for name, kind in _TAKEN.items():
            msgspec.structs.force_setattr(self, name, msgspec.convert(getattr(self, name), kind))

    @property
    def name(self) -> str:
        """Return the name in a store: a hash of the spec, our version and the templates."""
        facts = {key: value for key, value in to_object(self).items() if key not in _CIRCUMSTANCES}
        roles = [role.strip() for role in self.agent.split(",")]
        shipped = {role: _template(role) for role in roles if role not in self.templates}
        text = json.dumps([rails.__version__, facts, shipped], sort_keys=True)
        return sha256(text.encode("utf-8", "surrogatepass"))[:_NAME_CHARS]


_TAKEN: Final[Mapping[str, Any]] = {
    "checks": tuple[str | JobCheck, ...],
    "env": tuple[str, ...],
    "budgets": JobBudgets,
    "limits": SharedLimits,
}


class JobCheckResult(msgspec.Struct, frozen=True):
    """A check's number of findings, the first in words, and duration."""

    name: str
    passed: bool
    findings: int = 0
    words: tuple[str, ...] = ()
    seconds: float = 0.0


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a job. ``error``: a fault that is not the agent's; it counts in no rate.

    ``ending``: the session's outcome, or "error"; ``verdict``: on the entire change, ``findings`` in words. ``passed``:
    all checks (without any: the verdict); ``first_try``: and no failed turn. ``raised``: new findings reported to the
    agent, ``tries``: verdicts with them. ``cost``: None if unpriced. ``seconds``: by stage. ``head``: hash of the log's
    last record.
    """

    name: str
    task: str
    repo: str
    commit: str
    model: str
    agent: str
    gate: str = "on"
    seed: int = 0
    ending: str = "error"
    error: str = ""
    passed: bool = False
    first_try: bool = False
    verdict: str = ""
    findings: tuple[str, ...] = ()
    checks: tuple[JobCheckResult, ...] = ()
    diff: str = ""
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    raised: int = 0
    tries: int = 0
    seconds: Mapping[str, float] = {}
    licence: str = ""
    log: str = ""
    head: str = ""
    tree: str = ""

    @classmethod
    def of(cls, spec: JobSpec, error: str = "") -> JobResult:
        """Return the result of a job that never began, or was lost."""
        same = {name: getattr(spec, name) for name in ("name", "repo", "commit", "model", "agent", "gate", "seed")}
        return cls(task=spec.id or spec.name, error=error, **same)


def to_object(value: JobSpec | JobResult) -> dict[str, Any]:
    """Return it as a JSON object."""
    made: dict[str, Any] = msgspec.to_builtins(value)
    return made


def from_object(value: object, kind: type[T], what: str) -> T:
    """Return it from JSON. Raises UsageError that names the place."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{what} is not a {kind.__name__}: {one_line(str(error), 300)}.") from error


def schema_of(kind: type[JobSpec] | type[JobResult]) -> dict[str, Json]:
    """Return the JSON Schema."""
    return msgspec.json.schema(kind)


def _template(role: str) -> str:
    file = Path(builtin_folder("agent_templates"), f"{role}.md")
    return sha256(file.read_bytes()) if role.replace("-", "").isalnum() and file.is_file() else ""
