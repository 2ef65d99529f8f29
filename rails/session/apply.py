"""Answers from outside, on the path of a live one; the model is not asked again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rails.agents.template import named
from rails.approval.decision import ApprovalRequest, Approver, Choice, Decision
from rails.core import limits
from rails.core.builtin_tools import RUN_COMMAND
from rails.core.changes import ChangedFile, EditResult
from rails.core.conversation import Delta, Message, ModelAnswer, NativeCall, StopReason, TextPart, ToolSpec
from rails.core.errors import RailsError, Refusal, UsageError
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import (
    ChangePlanned,
    ChangeRefused,
    ExecutionStarted,
    GateVerdict,
    ToolExecutionResult,
    Undo,
)
from rails.core.events.record import Record
from rails.core.events.session import WorkflowEnd
from rails.core.events.turn import LlmResponse, McpRequestFormulated, ToolRequestValidationFailed
from rails.core.events.values import to_json, verdict_to_json
from rails.core.outcomes import outcome_for
from rails.core.text import head_and_tail, one_line
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.core.verdict import Verdict
from rails.edits.plan_result import Plan
from rails.gate.gate import Gate
from rails.log.writer import SessionLog
from rails.models.model import Model
from rails.parsing.parse import parse
from rails.parsing.project_files import exists_in
from rails.parsing.values import ParsedAnswer
from rails.projections.live import Live
from rails.session.feedback import RequestResult
from rails.session.job import Ending, SessionJob, log_session_start
from rails.session.open_session import OpenSession
from rails.session.project import agents_of, registry_of, state_of
from rails.session.proposal import carry_out_plan
from rails.session.tool_calls import read_whole
from rails.session.turn import Turn, carry_out
from rails.session.turn_context import Correction, TurnContext, judged
from rails.tools.validate import validate

if TYPE_CHECKING:
    from rails.sandbox.process import Watched
    from rails.sandbox.values import Result

#: applied: all of it. partial: some was written, something after it failed. error: a check could not be done.
ApplyStatus = Literal["applied", "refused", "denied", "partial", "error"]

#: Who is asked: an approver, or a function of the program that calls us.
Approves = Approver | Callable[[ApprovalRequest], bool]
#: The names and parameters of calls.
Calls = Sequence[tuple[str, Mapping[str, Json]]]
S = TypeVar("S", bound=OpenSession)
#: What the end of a session says, by its outcome.
_ENDED: Final = {
    "changed": "applied a saved answer",
    "dry_run": "a dry run: nothing was to be written",
    "partial": "a part of what was sent was applied",
    "unchanged": "nothing was changed",
    "error": "a check could not be done, so nothing was applied",
    "denied": "what the answer asked for was denied",
    "refused": "the answer was refused",
}
#: Says that there is no such program, and ends as a shell does then.
_FOUND: Final = (
    "/bin/sh",
    "-c",
    'command -v "$0" >/dev/null || { echo "$0: not found" >&2; exit 127; }; exec "$0" "$@"',
)
#: Why a command runs that no agent has asked for.
_BY_HAND: Final = "You ran it by hand: ai-rails sandbox"
_UNWRITTEN: Final = "Not written: the change as a whole did not go through."
#: What an answer without a request is told.
NOTHING_FOUND = "No valid JSON code block found"


class AppliedAnswer(Struct, frozen=True):
    """The ``changes`` written, the gate's ``verdict`` (``None``: not reached).

    ``previous_tool_output`` is for the answer's author, "" when everything was done.
    """

    status: ApplyStatus
    changes: tuple[ChangedFile, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    verdict: Verdict | None = None
    previous_tool_output: str = ""
    session_id: str = ""
    edits: tuple[EditResult, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the result as ``ai-rails apply --json`` prints it; "feedback": some edits were left out or failed."""
        made = sum(one.success for one in self.edits)
        status = "success" if made == len(self.edits) else "feedback"
        verdict = verdict_to_json(self.verdict) if self.verdict else {}
        verdict.pop("outlines", None)
        return {
            "status": self.status,
            "changes": to_json(self.changes),
            "edits": {
                "status": "rejected" if self.status == "denied" else status if made else "error",
                "successCount": made,
                "failureCount": len(self.edits) - made,
                "results": to_json(self.edits),
            },
            "refusals": to_json(self.refusals),
            "verdict": verdict or None,
            "previous_tool_output": self.previous_tool_output,
            "session": self.session_id,
        }


def parse_answer(
    text: str | bytes,
    project: Path | str | None = None,
    *,
    dialects: Collection[str] = (),
    finish: StopReason = "end_turn",
) -> ParsedAnswer:
    """Find the tool requests in an answer; nothing runs.

    ``project`` adds its tools and names its files; ``dialects`` adds wire formats; ``finish`` is why the model stopped.
    Raises DefinitionError, and UsageError for an unknown dialect.
    """
    folder = _folder(project or Path.cwd())
    shapes = registry_of(folder).shapes()
    return parse(text, shapes, finish=finish, dialects=dialects, report_unread_calls=True, exists=exists_in(folder))


def validate_request(request: RawRequest, project: Path | str) -> ToolRequest | Sequence[Refusal]:
    """Return a coder's request with converted values, or why it is refused. Nothing runs."""
    return validate(request, registry_of(_folder(project)), "coder")


def apply_answer(
    answer: str,
    project: Path | str,
    *,
    approve: Approves,
    agent: str = "coder",
    dialects: Sequence[str] = (),
    correction: Correction = "syntax",
) -> AppliedAnswer:
    """Carry out a saved answer: all or nothing, and undoable.

    ``approve`` is asked about every change and run; only ``True`` or "approve" is a yes, and its exception ends the
    call with nothing written. Raises RailsError when the project, its settings or the log cannot be used.
    """
    chosen = {"correction": correction, "dialects": tuple(dialects)}
    called = _called(Proposals, project, agent, "apply an answer", approve, model=SAVED, **chosen)
    with called as proposals, proposals.open():
        return proposals.apply(answer)


def run_task(
    task: str,
    project: Path | str = ".",
    *,
    model: str,
    approve: Approves,
    agent: str = "coder",
    previous_tool_output: str = "",
    on_event: Callable[[Mapping[str, Json]], object] = lambda _: None,
) -> Ending:
    """Let an agent work on ``task``; return how it ended.

    ``approve`` is as for :func:`apply_answer`. Raises RailsError where work cannot begin or be logged.
    """
    from rails.models.providers import open_model
    from rails.session.ask_user import Unattended
    from rails.session.run import Session

    opened, live = open_model(model), Live()

    def watch(record: Record) -> None:
        for signal in live.add(record):
            on_event(signal.to_json())

    kind = partial(Session, watch=watch, human=Unattended())
    with _called(kind, project, agent, task, approve, model=opened, handed=previous_tool_output) as session:
        watch(log_session_start(session.job, session.log, opened.name))
        ending = session.run()
    return replace(ending, outcome=outcome_for(ending.outcome))


@contextmanager
def _called(
    kind: Callable[..., S],
    project: Path | str,
    agent: str,
    task: str,
    approve: Approves,
    *,
    model: Model,
    **chosen: Any,  # noqa: ANN401 - fields of SessionJob
) -> Iterator[S]:
    folder = _folder(project)
    agents = agents_of(folder, agent)
    named(agents, agent)
    job = SessionJob(folder, ((agent, task),), approve="program", **chosen)
    approver = approve if isinstance(approve, Approver) else AskFunction(approve)
    with SessionLog.create(state_of(folder)) as log:
        yield kind(job, log, registry_of(folder), agents, model.for_agent, approver, gate=Gate(folder))
    if isinstance(approver, AskFunction) and approver.failed:
        raise approver.failed[0]


def _folder(project: Path | str) -> Path:
    folder = Path(project).resolve()
    if not folder.is_dir():
        raise UsageError(f"{one_line(str(project))} is not a folder. Nothing was read.")
    return folder


class Collector(Struct):
    """Folds an answer's records into its result."""

    planned: tuple[ChangedFile, ...] = ()
    written: tuple[ChangedFile, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    verdict: Verdict | None = None
    result: ToolExecutionResult | None = None
    denied: bool = False
    edits: tuple[EditResult, ...] = ()

    def take(self, record: Record) -> None:
        """Take note of a record."""
        match record.event:
            case ToolRequestValidationFailed(refusals=refusals):
                self.refusals += refusals
            case ChangeRefused(refusals=refusals, edits=edits):
                self.refusals, self.edits = (*self.refusals, *refusals), edits
            case ChangePlanned(changes=changes, edits=edits):
                self.planned, self.edits = changes, edits
            case GateVerdict(verdict=verdict):
                self.verdict = verdict
            case ExecutionStarted(changes=started):
                self.planned = started or self.planned
            case ToolExecutionResult() as result:
                self.result = result
                self.written += (result.changes or ()) if result.ok else ()
            case HumanDecision(answer=answer):
                self.denied = self.denied or answer not in ("approve", "dry_run")

    def status(self, *, dry: bool) -> ApplyStatus:
        """Return what an answer became of which not everything was done."""
        if self.written:
            return "partial"
        if self.denied and not dry:
            return "denied"
        return "error" if self.verdict and self.verdict.status == "error" else "refused"


class SavedAnswer(Model, Struct, frozen=True):
    """A model whose answer is already here; it is never asked."""

    name: str

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Never called."""
        del system, messages, tools
        raise UsageError("A saved answer cannot be asked again. Use ai-rails run to work with a model.")


#: Who wrote what a person pastes or saved.
SAVED: Final = SavedAnswer("saved answer")


class Proposals(OpenSession):
    """Answers from outside in one session; its model is their author, and is never asked. Its log begins at once."""

    became: list[ApplyStatus] = field(default_factory=list)
    wrote: bool = False
    collected: Collector = field(default_factory=Collector)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        log_session_start(self.job, self.log, self.author)

    @property
    def author(self) -> str:
        """Whose answers they are."""
        return self.model_for(self.job.tasks[0][0]).name

    @contextmanager
    def open(self) -> Iterator[None]:
        """Recover an interruption; start the gate until exit."""
        with OpenSession.open(self):
            yield
        outcome = _outcome_of(self.became, dry=isinstance(self.approver, DryRunApprover), wrote=self.wrote)
        self.publish(WorkflowEnd(_ENDED[outcome], outcome_for(outcome)))

    def _note(self, record: Record) -> None:
        self.records.append(record)
        self.collected.take(record)

    def apply(self, text: str, agent: str = "") -> AppliedAnswer:
        """Carry out one answer, as ``agent``'s if not the first's. Raises RailsError."""
        answer = ModelAnswer(Message("assistant", (TextPart(text),)), "end_turn", model=self.author)
        return self._carried_out(answer, agent=agent)[1]

    def call(self, calls: Calls, why: str) -> tuple[Turn, AppliedAnswer]:
        """Carry out another model's calls as one answer. Raises RailsError."""
        return self._carried_out(*self._called(calls, why))

    def judged(self, name: str, given: Mapping[str, Json], judge: Callable[[], Verdict]) -> Verdict:
        """Let the gate judge another model's call; log both."""
        context = self.context(self.job.tasks[0][0])
        answer, found = self._called([(name, given)])
        (request,) = found.requests
        context.publish(LlmResponse.of(self.author, answer))
        context.publish(McpRequestFormulated(request))
        return judged(context.publish, (request.id,), judge)

    def _called(self, calls: Calls, why: str = "") -> tuple[ModelAnswer, ParsedAnswer]:
        number = next(self._numbers)
        raw = tuple(RawRequest(f"t{number}.{n}", name, given, why, "mcp") for n, (name, given) in enumerate(calls, 1))
        native = (NativeCall(one.id, one.tool_name, json.dumps(one.parameters, ensure_ascii=False)) for one in raw)
        answer = ModelAnswer(Message("assistant", tuple(native)), "tool_use", model=self.author)
        return answer, ParsedAnswer(raw, native_ids={one.id: one.id for one in raw})

    def undo(self) -> str:
        """Undo this session's last step. Raises RailsError."""
        from rails.edits.checkpoints import History

        done = History(self.job.project).undo(self.log.session_id)
        paths = tuple(str(change.path) for change in done.changes.changes)
        self.publish(Undo(done.step, paths, False, done.changes.files()), self.job.tasks[0][0], self.author)
        return f"Step {done.step} is undone. Restored as before it: {', '.join(paths)}."

    def _begun(self, agent: str = "") -> TurnContext:
        self.collected = Collector()
        return self.context(agent or self.job.tasks[0][0])

    def _carried_out(
        self, answer: ModelAnswer, found: ParsedAnswer | None = None, agent: str = ""
    ) -> tuple[Turn, AppliedAnswer]:
        context = self._begun(agent)
        self.publish(LlmResponse.of(self.author, answer))
        self.became.append("error")  # until it is known; an exception leaves it so
        turn = carry_out(context, answer, found or read_whole(context, next(self._numbers), answer))
        told = turn.reply.text if turn.reply else ""
        return turn, self._applied(turn.outcomes, told, answer.message.text)

    def _applied(self, outcomes: Sequence[RequestResult], told: str, answer: str = "") -> AppliedAnswer:
        collected = self.collected
        dry = isinstance(self.approver, DryRunApprover) and self.approver.reached
        held_back = ("denied", "skipped") if dry else ()
        done = bool(outcomes) and all(outcome.ok or outcome.kind in held_back for outcome in outcomes)
        status = "applied" if done else collected.status(dry=dry)
        self.became[-1] = status
        refusals = collected.refusals
        if not outcomes:
            from rails.parsing.proposals import what_is_read

            read = what_is_read(answer)
            hint = f"{read} ai-rails prompt prints instructions for the chat."
            refusals = (Refusal("no_request", NOTHING_FOUND, hint),)
            told = f"{NOTHING_FOUND}. {read}"
        changes = collected.planned if dry and done else collected.written
        self.wrote |= bool(changes)
        edits = collected.edits
        if not (done or collected.written):
            edits = tuple(EditResult(one.path, False, one.error or _UNWRITTEN) for one in edits)
        told = "" if done else told
        return AppliedAnswer(status, changes, refusals, collected.verdict, told, self.log.session_id, edits)

    def run_contained(
        self, argv: Sequence[str], seconds: float, watched: Watched, folder: str
    ) -> tuple[Result, AppliedAnswer]:
        """Run a person's command in the sandbox, in a folder of the project; propose its changes. Raises RailsError."""
        context = self._begun()
        given = RawRequest(f"t{next(self._numbers)}.1", RUN_COMMAND.name, {"command": list(argv)}, _BY_HAND)
        request = validate(given, context.registry, context.agent.name)
        if not isinstance(request, ToolRequest):
            raise UsageError(f"{' '.join(map(str, request))} Nothing was run.")
        from rails.sandbox.process import WATCHED  # most answers run nothing

        before = WATCHED.set(watched)
        try:
            result = self.contained.run((*_FOUND, *argv), seconds, folder, persons=True)
        finally:
            WATCHED.reset(before)
        shown, _ = head_and_tail(result.out + result.err, limits.RESULT_CHARS)
        ran = ToolExecutionResult(
            ids=(request.id,),
            ok=result.ok,
            text=f"{' '.join(argv)}: {result.status}\n{shown}",
            tool=RUN_COMMAND.name,
            facts={"exit_code": result.exit_code},
            duration_ms=result.seconds * 1000,
        )
        self.publish(ran)
        if not result.changes:
            return result, AppliedAnswer("applied", session_id=self.log.session_id)
        notes = (f"Written in the sandbox by: {one_line(' '.join(argv), 200)}", *result.left_out)
        planned = Plan(result.changes, notes=notes)
        self.became.append("error")
        outcome = carry_out_plan(context, (request,), planned, (), by_hand=True)
        return result, self._applied((outcome,), outcome.text)


def _outcome_of(became: Sequence[ApplyStatus], *, dry: bool, wrote: bool) -> str:
    """Return "changed" only when all of each answer was written."""
    if set(became) <= {"applied"}:
        return "dry_run" if dry and became else "changed" if wrote else "unchanged"
    if "applied" in became or "partial" in became:
        return "partial"
    return next(status for status in ("error", "denied", "refused") if status in became)


class DryRunApprover(Struct):
    """Shows each question, remembers that it was asked, and denies."""

    show: Callable[[ApprovalRequest], None] | None = None
    reached: bool = False

    def decide(self, request: ApprovalRequest) -> Decision:
        """Show the question."""
        self.reached = True
        if self.show:
            self.show(request)
        return Decision("dry_run", "This is a dry run; nothing was written.", "dry run", of=request.digest)


class AskFunction(Struct, frozen=True):
    """Asks a caller's function; nothing but ``True`` is a yes. Its exception ends the answer and is kept in
    ``failed``.
    """

    ask: Callable[[ApprovalRequest], bool]
    failed: list[Exception] = []

    def decide(self, request: ApprovalRequest) -> Decision:
        """Ask about ``request``."""
        answer: Choice = "deny"
        reason = "The program that was asked did not approve it."
        try:
            if self.ask(request) is True:
                answer, reason = "approve", ""
        except Exception as error:
            self.failed.append(error)
            answer, reason = "abort", "The program that was asked failed."
        return Decision(answer, reason, "a program")


def broken(error: RailsError, session_id: str) -> AppliedAnswer:
    """Return the result of an answer that ended in ``error``."""
    return AppliedAnswer("error", previous_tool_output=str(error), session_id=session_id)
