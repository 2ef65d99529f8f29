"""Questions to a human: a fold over records. Without decision one expires, is withdrawn (run ended or asked again),
replaced by an edit, or stale; none is a denial.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rails.core.events.approval import ApprovalClosed, ApprovalOpened, HumanDecision
from rails.core.events.changes import ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, AgentFinished, SessionResumed, WorkflowEnd

QuestionState = Literal[
    "open", "approved", "denied", "stopped", "expired", "withdrawn", "replaced", "stale", "answered"
]

_STATE_OF: Final[dict[str, QuestionState]] = {"approve": "approved", "deny": "denied", "abort": "stopped"}
_CLOSED: Final[dict[str, QuestionState]] = {"expired": "expired", "stale": "stale", "answered": "answered"}
#: Questions of one session that are remembered; older ones are reported as "withdrawn" to whoever still answers.
_KEPT: Final = 200


class ApprovalQuestion(Struct, frozen=True):
    """A question: its APPROVAL_OPENED ``record``, as logged, and its state."""

    number: int
    session_id: str
    id: str
    digest: str
    opened_at: str
    record: Record
    state: QuestionState = "open"
    by: str = ""
    reason: str = ""
    ended_at: str = ""

    @property
    def words(self) -> str:
        """Return its state in a sentence."""
        by = f" by {self.by}" if self.by else ""
        reason = f": {self.reason}" if self.reason else "."
        return {
            "open": "Waiting for approval.",
            "approved": f"This was approved{by}.",
            "denied": f"This was denied{by}{reason}",
            "stopped": f"The session was stopped{by}{reason}",
            "expired": "Nobody answered in time. This is not a denial: the run paused, and asks again when resumed.",
            "withdrawn": "This question is closed: the run ended or asked again.",
            "answered": f"This was answered{reason}",
            "replaced": "Replaced by an edited proposal.",
            "stale": "It was approved, but a file had changed meanwhile, so nothing was written.",
        }[self.state]


class ApprovalQuestions:
    """The questions of one session; feed it the records in order."""

    def __init__(self) -> None:
        self._all: dict[int, ApprovalQuestion] = {}
        self.seen = 0

    @property
    def open(self) -> ApprovalQuestion | None:
        """The waiting question; a run asks one at a time."""
        last = self.last
        return last if last and last.state == "open" else None

    @property
    def last(self) -> ApprovalQuestion | None:
        """The newest question."""
        return next(reversed(self._all.values()), None)

    def get(self, number: int) -> ApprovalQuestion | None:
        """Return the question that record ``number`` opened."""
        return self._all.get(number)

    def add(self, record: Record) -> None:
        """Take in one record."""
        self.seen = record.seq
        match record.event:
            case ApprovalOpened() as asked:
                self._end("replaced" if asked.replaces else "withdrawn", record)
                question = ApprovalQuestion(
                    record.seq, record.session_id, asked.id, asked.digest, record.timestamp, record
                )
                self._all[record.seq] = question
                while len(self._all) > _KEPT:
                    del self._all[next(iter(self._all))]
            case HumanDecision() as decision if self.open and self.open.id == decision.id:
                self._end(_STATE_OF.get(decision.answer, "withdrawn"), record, decision.by, decision.reason)
            case ApprovalClosed(state=state, words=words):
                said = words.removeprefix("answered: ") + "." if state == "answered" else ""
                self._end(_CLOSED.get(state, "withdrawn"), record, reason=said)
            case ToolExecutionResult(ok=False, tool="", ids=ids):
                last = self.last
                if last and last.state == "approved" and last.id in ids:
                    self._all[last.number] = replace(last, state="stale")
            case WorkflowEnd() | AgentFinished() | SessionResumed() | AgentEngage():
                self._end("withdrawn", record)

    def _end(self, state: QuestionState, record: Record, by: str = "", reason: str = "") -> None:
        if question := self.open:
            ended = replace(question, state=state, by=by, reason=reason, ended_at=record.timestamp)
            self._all[question.number] = ended
