"""An opened session over a project: log, gate, and all a turn needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from rails.agents.instructions import instructions_text
from rails.agents.prompt import Protocol, registry_for, system_prompt, tool_specs
from rails.agents.protocols import OTHERWISE, ProtocolChoice, choose
from rails.agents.template import PROTOCOLS, Agent, named
from rails.approval.decision import Approver
from rails.core.errors import FAULT, RailsError
from rails.core.events.base import Event
from rails.core.events.record import Record
from rails.core.events.session import ErrorEvent
from rails.edits.apply import recover
from rails.gate.gate import Gate
from rails.log.reader import full
from rails.log.writer import SessionLog
from rails.models.model import Model
from rails.session.faults import fault_event
from rails.session.job import SessionJob
from rails.session.project import trust_of
from rails.session.session_sandbox import ContainedRuns
from rails.session.turn_context import TurnContext
from rails.tools.registry import Registry

#: Gets each record of a session once it is logged.
Watcher = Callable[[Record], object]


class OpenSession(Struct, dict=True):
    """A session over a project; ``watch`` gets each record once logged, ``records`` include the resumed ones."""

    job: SessionJob
    log: SessionLog
    registry: Registry
    agents: Mapping[str, Agent]
    model_for: Callable[[str], Model]
    approver: Approver
    watch: Watcher = lambda _: None
    on_text: Callable[[str], object] = lambda _: None
    #: Asked again and again while an agent works: it raises KeyboardInterrupt where a person wants the agent stopped.
    check: Callable[[], object] = lambda: None
    gate: Gate | None = None
    records: list[Record] = []

    @cached_property
    def contained(self) -> ContainedRuns:
        """The runner of commands, opened with the first."""
        return ContainedRuns(self.job.project, self.publish, time_left=self._time_left)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Recover an interruption; start the gate until exit."""
        for note in recover(self.job.project):
            self.publish(ErrorEvent(note, note, recovered=True))
        self.gate = self.gate or Gate(self.job.project)
        self.registry = self.registry.with_runners({**self.registry.runners, **self.contained.runners()})
        with self.gate:
            try:
                yield
            finally:
                self.contained.close()

    def publish(self, event: Event, agent_role: str = "", llm_model_used: str = "") -> Record:
        """Log an event, then show it, so that a kill loses nothing shown."""
        record = full(self.log.append(event, agent_role, llm_model_used), self.log.path.parents[2])
        self._note(record)
        try:
            self.watch(record)
        except (RailsError, BrokenPipeError):
            raise
        except FAULT as error:
            fault = self.log.append(fault_event("this was shown", error))
            self._note(fault)
            with suppress(*FAULT):
                self.watch(fault)
        return record

    def _note(self, record: Record) -> None:
        self.records.append(record)

    def context(self, role: str, asked: Protocol | None = None) -> TurnContext:
        """Return the context for turns of ``role``. Raises UsageError for an unknown or unaccepted agent.

        It is ``asked`` in this protocol, or in the one that fits its model.
        """
        assert self.gate is not None, "the session is open"
        agent = named(self.agents, role)
        if not agent.trusted:
            from rails.agents.acceptance import untrusted_agent_error

            raise untrusted_agent_error(agent)
        model = self.model_for(agent.name)
        protocol = asked or choose_protocol(self.job, agent, model).protocol
        instructions = self.log.masked(instructions_text(self.job.project, trust_of(self.job.project)))
        return TurnContext(
            project=self.job.project,
            session_id=self.log.session_id,
            agent=agent,
            system=system_prompt(agent, self.registry, protocol) + instructions,
            registry=registry_for(agent, self.registry),
            model=model,
            gate=self.gate,
            approver=self.approver,
            publish_as=self.publish,
            contained=self.contained,
            tools=tool_specs(agent, self.registry, protocol),
            protocol=protocol,
            tests=self.job.tests,
            correction=self.job.correction,
            dialects=self.job.dialects,
            from_project=frozenset(name for name, one in self.registry.definitions.items() if not one.trusted),
            on_text=self.on_text,
            time_left=self._checked_time_left,
            mask=self.log.masked,
            task="\n".join(task for _, task in self.job.tasks),
        )

    def asked_otherwise(self, context: TurnContext) -> TurnContext:
        """Return the agent's context in another protocol, after one failed."""
        other = self.context(context.agent.name, OTHERWISE[context.protocol])
        return replace(context, protocol=other.protocol, system=other.system, tools=other.tools)

    def _checked_time_left(self) -> float:
        self.check()
        return self._time_left()

    def _time_left(self) -> float:
        return math.inf


def choose_protocol(job: SessionJob, agent: Agent, model: Model) -> ProtocolChoice:
    """Return how ``model`` is asked as ``agent``, and why."""
    wanted = job.protocol if job.protocol != PROTOCOLS[0] else agent.protocol
    return choose(wanted, model.provider, model.name, local=model.local)


def both(first: Watcher, second: Watcher) -> Watcher:
    """Return a watcher that shows each record to two."""

    def watch(record: Record) -> None:
        first(record)
        second(record)

    return watch
