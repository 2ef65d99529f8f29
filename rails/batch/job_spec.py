"""A job and its result: frozen, picklable, JSON with a schema. What is in them is all that a run knows and says."""

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
    """A command that scores a job, run contained on its tree; ``reads`` says how its output becomes findings."""

    name: str
    argv: tuple[str, ...]
    reads: Literal["exit", "regex", "sarif", "junit"] = "exit"
    pattern: str = ""
    report: str = ""
    seconds: float = 300.0


class JobBudgets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one job may use; ``None`` is no bound of its own."""

    max_turns: int | None = None
    max_attempts: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = 1_800.0
    max_cost: float | None = None


class SharedLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all jobs together may ask of a provider in a minute (0: no bound), and where they keep count.

    ``place`` is a folder of this machine, or ``ray:NAME`` for an actor; "" is no count at all.
    """

    place: str = ""
    requests: int = 0
    tokens: int = 0


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run: what is done to which commit, by whom, and what scores it.

    ``repo`` is an absolute path of a repository; ``agent`` one agent, or several in order with commas between;
    ``model`` is ``PROVIDER:NAME``, with ``@URL`` for a server of its own. ``checks`` are commands that score it: a
    shipped check by its name ("pytest", "mypy"), a command line, or a :class:`JobCheck`. ``hidden`` are files (path to
    text) that only the scoring sees. ``policy`` says what is approved, as a policy file does: without a rule that
    allows it, nothing is. ``templates`` are agents (name to text) beside the shipped ones. ``env`` are *names* of
    variables that the worker looks up for the model's key; no value is ever stored. ``folder`` is where log and state
    go ("": a new one among the system's temporary files); ``prices`` are money for a million tokens: input, output,
    cached. ``seed`` tells repeats of a job apart, and goes to providers that know of seeds.
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
        """Take lists and mappings as what they stand for. Raises msgspec.ValidationError."""
        for name, kind in _TAKEN.items():
            msgspec.structs.force_setattr(self, name, msgspec.convert(getattr(self, name), kind))

    @property
    def name(self) -> str:
        """The job's name in a store: a hash of what it is, our version and the agents' templates with it."""
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
    """What one check said: how many findings, the first of them in words, and how long it took."""

    name: str
    passed: bool
    findings: int = 0
    words: tuple[str, ...] = ()
    seconds: float = 0.0


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a job went. ``error`` is a fault that is not the agent's: such a result counts in no rate.

    ``ending`` is the session's outcome ("error" where there was none); ``verdict`` the gate's on the whole change and
    ``findings`` in words. ``passed``: every check passed (without any: the verdict); ``first_try``: and no turn
    failed. ``raised`` are new findings that the agent was told of, ``tries`` in how many verdicts they stood. ``cost``
    is ``None`` where no price is known. ``seconds`` are by stage. ``head`` is the hash of the log's last record.
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
        """Return the result of a job that was not begun, or was lost."""
        same = {name: getattr(spec, name) for name in ("name", "repo", "commit", "model", "agent", "gate", "seed")}
        return cls(task=spec.id or spec.name, error=error, **same)


def to_object(value: JobSpec | JobResult) -> dict[str, Any]:
    """Return a job or a result as a JSON object."""
    made: dict[str, Any] = msgspec.to_builtins(value)
    return made


def from_object(value: object, kind: type[T], what: str) -> T:
    """Return a job or a result of JSON. Raises UsageError that names the place which is wrong."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{what} is not a {kind.__name__}: {one_line(str(error), 300)}.") from error


def schema_of(kind: type[JobSpec] | type[JobResult]) -> dict[str, Json]:
    """Return the JSON Schema of jobs or results."""
    return msgspec.json.schema(kind)


def _template(role: str) -> str:
    """Return a digest of a shipped agent's file, "" where there is none of that name."""
    file = Path(builtin_folder("agent_templates"), f"{role}.md")
    return sha256(file.read_bytes()) if role.replace("-", "").isalnum() and file.is_file() else ""
