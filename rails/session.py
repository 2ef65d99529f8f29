"""A run: turns, hand-offs, budgets. Its only memory is the log; resume reads the log and goes on.

``engage_agent`` keeps the name and the contract of the first AI-Rails, with ``previous_tool_output`` as
the way back to the agent, and is a loop with budgets instead of a recursion.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import rails
from rails import feedback
from rails.agents import Agent, first_message, registry_for, system_prompt, tool_specs
from rails.agents.overseer import watch
from rails.approval.decision import Approver
from rails.budget import Attempts, Totals
from rails.core import paths
from rails.core.conversation import Message, NativeResult, Text, message_to_json
from rails.core.errors import ModelError, ModelRetryable, UnansweredError, UsageError
from rails.core.events import Event, EventType, Record
from rails.core.text import one_line
from rails.core.wire import json_object
from rails.edits.apply import read_file, recover
from rails.edits.history import History
from rails.feedback import CUT
from rails.gate.gate import Gate
from rails.intake import Reader
from rails.log.reader import full, read_strict
from rails.log.secrets import MARK
from rails.log.writer import SessionLog
from rails.messages import say
from rails.models import Model
from rails.resume import Standing, digest_of, standing
from rails.setting import Correction, Setting
from rails.tools.definitions import Registry
from rails.turn import Turn, settle, take_turn

Outcome = Literal["done", "gave_up", "aborted", "model_failed", "unanswered"]
#: Endings that leave the session open: it goes on with ``--resume``.
_PAUSED: Final = ("model_failed", "unanswered")
#: Waits between tries at an overloaded or unreachable model, in seconds.
MODEL_WAITS: Final = (1.0, 4.0, 15.0)
#: Names of the project's top level that an agent is told of at once.
_TOP_LEVEL: Final = 40


@dataclass(frozen=True, slots=True)
class Job:
    """What a session shall do: the (agent, task) pairs in order, and its budgets.

    ``max_attempts`` bounds failed turns in a row of one kind, ``max_turns`` the turns of one agent (``None``:
    as the agent's template says);
    ``max_tokens`` and ``max_seconds`` bound the whole session (``None``: no bound).
    """

    project: Path
    tasks: tuple[tuple[str, str], ...]
    max_attempts: int | None = None
    max_turns: int | None = None
    approve: str = "ask"
    correction: Correction = "syntax"
    dialects: Sequence[str] = ()
    max_tokens: int | None = None
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended, in one sentence for a person."""

    outcome: Outcome
    message: str
    session_id: str = ""


@dataclass
class Session:
    """One run over one project. ``watch`` gets every record after it is in the log."""

    job: Job
    log: SessionLog
    registry: Registry
    agents: dict[str, Agent]
    model_for: Callable[[str], Model]
    approver: Approver
    watch: Callable[[Record], object] = field(default=lambda _: None)
    on_text: Callable[[str], object] = field(default=lambda _: None)
    wait: Callable[[float], object] = time.sleep
    turns: int = 0
    records: list[Record] = field(default_factory=list)
    alerted: set[int] = field(default_factory=set)
    gate: Gate | None = None
    history: History = field(init=False)
    totals: Totals = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock of the session's budgets."""
        self.totals = Totals(self.job.max_tokens, self.job.max_seconds)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Mend what an interruption left, start the gate, and close it in the end."""
        for note in recover(self.job.project):
            self.publish("ERROR", note, error=note, recovered=True)
        self.history = History(self.job.project)
        self.gate = self.gate or Gate(self.job.project)
        with self.gate:
            yield

    def run(self, resumed: Standing | None = None) -> Ending:
        """Carry out the job, or what is left of it. Raises RailsError; the log then holds all that happened."""
        ending, handed_over = Ending("done", "Nothing was left to do."), ""
        self.turns = resumed.turns if resumed else 0
        with self.open():
            for index, (role, task) in enumerate(self.job.tasks):
                if resumed and index < resumed.finished:
                    continue
                going_on = resumed if resumed and resumed.messages and index == resumed.finished else None
                setting = self.setting(role)
                ending = self.engage_agent(setting, task, previous_tool_output=handed_over, going_on=going_on)
                if ending.outcome in _PAUSED:
                    return Ending(ending.outcome, ending.message, self.log.session_id)
                setting.say("AGENT_FINISHED", ending.message, agent=role, outcome=ending.outcome)
                if ending.outcome != "done":
                    break
                handed_over = f"Result of the agent {role}:\n{ending.message}"
        self.publish("WORKFLOW_END", ending.message, outcome=ending.outcome)
        return Ending(ending.outcome, ending.message, self.log.session_id)

    def engage_agent(
        self, setting: Setting, task: str, *, previous_tool_output: str = "", going_on: Standing | None = None
    ) -> Ending:
        """Let one agent work on one task until it is done or a budget is spent."""
        attempts = Attempts(self.job.max_attempts or setting.agent.max_attempts)
        if going_on is None:
            first = first_message(task, _facts(self.job.project), previous_tool_output)
            setting.say(
                "AGENT_ENGAGE",
                f"{setting.agent.name}: {task}",
                agent=setting.agent.name,
                task=task,
                first_message=first,
                system=setting.system,
                tools=[spec.name for spec in setting.tools],
            )
            messages = [Message("user", (Text(first),))]
        else:
            messages = list(going_on.messages)
            setting.seen.update(going_on.seen)
            for earlier in going_on.codes:
                attempts.spend(earlier, "")
        pending = going_on if going_on and going_on.pending else None
        most_turns = self.job.max_turns or setting.agent.max_turns
        for _ in range(most_turns):
            if why := self.totals.spent():
                setting.say("ERROR", say("gave_up"), error=why)
                return Ending("gave_up", f"{say('gave_up')} Reason: {why}.")
            try:
                turn = self._settle_pending(setting, pending) if pending else self._turn(setting, messages)
            except ModelError as error:
                return Ending("model_failed", f"{error} Nothing is lost: ai-rails run --resume {self.log.session_id}")
            except UnansweredError as error:
                return Ending("unanswered", f"{error} Ask again with: ai-rails run --resume {self.log.session_id}")
            pending = None
            self.totals.use(turn.answer.usage)
            if turn.aborted:
                return Ending("aborted", say("aborted"))
            if turn.reply is None:
                return self._finished(turn)
            codes: list[str] = [
                outcome.kind for outcome in turn.outcomes if not outcome.ok and outcome.kind != "skipped"
            ]
            if turn.answer.stop_reason in CUT:
                codes.append("cut")
            failed = [outcome.text for outcome in turn.outcomes if not outcome.ok]
            words = "\n".join([turn.answer.message.text, *failed]) if failed else ""
            if why := attempts.spend(codes, words):
                setting.say("ERROR", say("gave_up"), error=why, limit=attempts.most)
                return Ending("gave_up", f"{say('gave_up')} Reason: {why}.")
            if alert := self._oversee(setting):
                return Ending("gave_up", f"{say('gave_up')} The overseer stopped the run, as nobody is asked: {alert}")
            self._send(setting, turn, codes, attempts)
            messages += [turn.answer.message, turn.reply]
        return Ending("gave_up", f"{say('gave_up')} Reason: the limit of {most_turns} turns is reached.")

    def publish(self, event: EventType, message: str, **details: object) -> None:
        """Log an event, then show it: nothing is shown that a kill could erase."""
        self.record(Event(event, message, json_object(details)))

    def record(self, event: Event) -> Record:
        """Log a ready-made event, then show and return it, with what the log keeps elsewhere put back in."""
        record = full(self.log.append(event), self.log.path.parents[2])
        self.records.append(record)
        self.watch(record)
        return record

    def _turn(self, setting: Setting, messages: Sequence[Message]) -> Turn:
        """Take a turn, asking again when the model's service has a passing fault."""
        self.turns += 1
        for attempt, pause in enumerate((*MODEL_WAITS, None), start=1):
            try:
                return take_turn(setting, self.turns, messages)
            except ModelRetryable as error:
                setting.say("LLM_ERROR", str(error), error=str(error), will_retry=pause is not None, attempt=attempt)
                if pause is None:
                    raise ModelError(f"{error} Gave up after {attempt} tries.") from error
                self.wait(getattr(error, "retry_after", None) or pause)
            except ModelError as error:
                setting.say("LLM_ERROR", str(error), error=str(error), will_retry=False, attempt=attempt)
                raise
        raise AssertionError("the last try returns or raises")

    def _settle_pending(self, setting: Setting, resumed: Standing) -> Turn:
        """Finish an answer that an interrupted run had begun to carry out."""
        answer = resumed.pending
        assert answer is not None, "called only with a pending answer"
        reader = Reader(setting.registry.shapes(), id_prefix=f"t{resumed.turns}.", dialects=setting.dialects)
        reader.feed(answer.message.text)
        found = reader.flush(answer.stop_reason, answer.message.calls)
        if not MARK.search(answer.message.text + "".join(call.arguments for call in answer.message.calls)):
            return settle(setting, answer, found, resumed.done)
        # The log holds a mark where the answer held a secret: what is left of it cannot be carried out.
        outcomes = (*dict.fromkeys((resumed.done or {}).values()), feedback.masked(tuple(found.native_ids)))
        return Turn(answer, outcomes, feedback.compose(answer, outcomes, found.native_ids))

    def _oversee(self, setting: Setting) -> str:
        """Tell what the overseer's rules newly find; return why to stop when it is critical and nobody is asked."""
        fresh = [alert for alert in watch(self.records) if alert.seq not in self.alerted]
        self.alerted.update(alert.seq for alert in fresh)
        for alert in fresh:
            setting.say("OVERSEER_ALERT", f"{alert.severity}: {alert.description}", **json_object(alert))
        critical = [alert.description for alert in fresh if alert.severity == "CRITICAL"]
        return critical[0] if critical and self.job.approve == "policy" else ""

    def _send(self, setting: Setting, turn: Turn, codes: list[str], attempts: Attempts) -> None:
        assert turn.reply is not None, "called only with a reply"
        message = say("retry") if codes else "results"
        text = "\n\n".join(part.text for part in turn.reply.parts if isinstance(part, Text | NativeResult))
        reply = message_to_json(turn.reply)
        setting.say(
            "FEEDBACK_SENT",
            message,
            text=text,
            reply=reply,
            attempt=attempts.most_spent,
            limit=attempts.most,
            codes=sorted(set(codes)),
        )

    def _finished(self, turn: Turn) -> Ending:
        if turn.answer.stop_reason == "refusal":
            return Ending("gave_up", f"The model refused the task. {turn.answer.note}".strip())
        return Ending("done", turn.answer.message.text.strip() or "Done.")

    def setting(self, role: str) -> Setting:
        """Return what a turn of ``role`` stands on; the session must be open. Raises UsageError."""
        assert self.gate is not None, "the session is open"
        agent = self.agents.get(role)
        if agent is None:
            raise UsageError(f"There is no agent {role!r}. Known agents: {', '.join(sorted(self.agents))}.")
        return Setting(
            project=self.job.project,
            session_id=self.log.session_id,
            agent=agent,
            system=system_prompt(agent, self.registry),
            registry=registry_for(agent, self.registry),
            model=self.model_for(role),
            gate=self.gate,
            approver=self.approver,
            history=self.history,
            publish=self.record,
            tools=tool_specs(agent, self.registry),
            correction=self.job.correction,
            dialects=self.job.dialects,
            from_project=frozenset(d.tool_name for d in self.registry.definitions.values() if not d.trusted),
            on_text=self.on_text,
        )


def _facts(project: Path) -> dict[str, str]:
    """What every agent is told of the project: its name and what is at its top."""
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in project.iterdir())
    shown = [one_line(name, 60) for name in names if not name.startswith(".")]
    more = f" and {len(shown) - _TOP_LEVEL} more" if len(shown) > _TOP_LEVEL else ""
    return {"project": one_line(project.name, 60), "top level": (", ".join(shown[:_TOP_LEVEL]) or "empty") + more}


def start(job: Job, log: SessionLog, model: str) -> None:
    """Write the record that a session begins with."""
    details = {
        "project": str(job.project),
        "tasks": [{"agent": agent, "task": task} for agent, task in job.tasks],
        "task": job.tasks[0][1] if job.tasks else "",
        "agents": [agent for agent, _ in job.tasks],
        "model": model,
        "approve": job.approve,
        "limits": {"max_attempts": job.max_attempts, "max_turns": job.max_turns},
        "versions": {"ai-rails": rails.__version__},
    }
    log.append(Event("WORKFLOW_START", job.tasks[0][1] if job.tasks else "", json_object(details)))


def where(project: Path, log: SessionLog) -> Standing:
    """Return where an interrupted session stands. Raises LogError for a damaged log."""

    def hash_of(name: str) -> str | None:
        path = paths.parse(name)
        return digest_of(read_file(project, path)) if isinstance(path, paths.WorkspacePath) else None

    recover(project)
    return standing(read_strict(log.path), hash_of)
