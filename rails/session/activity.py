"""The actions of an agent since it began, or since a person last spoke."""

from __future__ import annotations

from msgspec import Struct

from rails.core.builtin_tools import RUN_COMMAND, RUN_TESTS
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, HumanSteered
from rails.core.events.turn import FeedbackSent, ToolRequestValidationFailed
from rails.core.verdict import Verdict
from rails.tools.registry import Registry


class Deeds(Struct):
    """A fold over records: the tools that ran (``""``: files were written), and what stood in the way.

    At any time: ``written_by``, each agent's files; ``commanded``: a command or tests ran; ``tested``: tests passed
    since the last change; ``last_run``: its result ("": none).
    """

    ran: set[str] = set()
    written_by: dict[str, set[str]] = {}
    commanded: bool = False
    tested: bool = False
    last_run: str = ""
    refused: bool = False
    hindered: bool = False

    def take(self, record: Record) -> None:
        """Take note of a record."""
        match record.event:
            case AgentEngage() | HumanSteered(about="follow_up"):
                self.ran, self.refused, self.hindered = set(), False, False
            case ToolExecutionResult() as done:
                self._take_result(done, record.agent_role)
            case ToolRequestValidationFailed():
                self.refused = True
            case ChangeRefused() | HumanDecision(answer="deny") | GateVerdict(verdict=Verdict(status="fail")):
                self.hindered = True
            case FeedbackSent(codes=codes):
                self.hindered |= "internal" in codes

    def _take_result(self, done: ToolExecutionResult, agent: str) -> None:
        name = done.tool
        if done.ran_tests or (done.ok and not name):
            self.tested = done.ran_tests and done.ok
            self.last_run = done.text if name else ""
        if not done.ok:
            self.hindered |= not (name and done.ids)  # tests of a proposal were asked for by nobody
            return
        self.ran.add(name)
        self.commanded |= name in (RUN_COMMAND.name, RUN_TESTS.name)
        self.written_by.setdefault(agent, set()).update(change.path for change in done.changes or ())

    @property
    def wrote(self) -> bool:
        """Whether files were written."""
        return "" in self.ran

    def ran_something(self, registry: Registry) -> bool:
        """Return whether a tool ran that does more than look."""
        return any((tool := registry.get(name)) is None or tool.effect != "read" for name in self.ran)

    def nothing_done(self, registry: Registry) -> bool:
        """Return whether nothing was written, run, or even read.

        Reading does not count where a change or a run was refused.
        """
        hindered = self.hindered or (self.refused and not self.ran)
        return hindered and not self.ran_something(registry)
