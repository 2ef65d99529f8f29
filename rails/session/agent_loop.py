"""One agent on one task: turn after turn until it is done, a budget is spent, or it is a person's turn.

Each escalation step counts attempts again; other bounds hold for all steps together.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from rails.agents.prompt import Protocol, first_message
from rails.approval.decision import attended
from rails.config.prices import Price
from rails.core.conversation import Message, NativeResult, TextPart
from rails.core.errors import ModelError, ModelRetryable, ModelTooLongError, Refusal, TimeUpError, UnansweredError
from rails.core.events.base import Event
from rails.core.events.changes import ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, ErrorEvent, Escalation, HumanSteered
from rails.core.events.turn import ContextReduced, FeedbackSent, LlmError, LlmResponse, OutputRefused
from rails.core.messages import say
from rails.core.outcomes import MEANINGS, is_good
from rails.core.text import counted, one_line
from rails.gate.enforcement import CheckModes
from rails.models.model import Model
from rails.session import escalation, feedback
from rails.session import handoffs as handoff
from rails.session.ask_user import Person, UserQuestion, ask
from rails.session.budget import Attempts, SessionBudget
from rails.session.context_window import LARGER, Measured, ModelWindow, reduced
from rails.session.escalation import AGAIN, REPEATED, RUNGS, WARM, EscalationStep, Tried
from rails.session.faults import attempted
from rails.session.feedback import CUT, RequestResult
from rails.session.handoffs import Handoffs
from rails.session.job import Ending, facts_of
from rails.session.monitor import Monitor, Steer
from rails.session.open_session import OpenSession
from rails.session.outcome import Deeds, judged
from rails.session.resume import ResumeState, answer_words, steps_after, where
from rails.session.text_answers import IN_TEXT, ShownFiles, task_files, unmapped, with_deletions
from rails.session.tool_calls import native_ids, read_whole
from rails.session.turn import Turn, carry_out, take_turn
from rails.session.turn_context import TurnContext

#: Waits between tries at an overloaded or unreachable model, in seconds.
MODEL_WAITS: Final = (1.0, 4.0, 15.0)

_STOPPED: Final = "the person stopped you and says something else."


class SessionState(OpenSession):
    """An open session that its agents share. ``human`` is ``None`` where the approver stands for the person.

    ``at`` says whose turn it is; ``stronger_for`` gives a role's escalation model, ``overseer`` looks at every turn.
    ``talk`` gets how an agent's part ended and returns the person's words. ``records`` are those since the last turn
    began; ``tried`` and ``deeds`` fold all, so memory does not grow.
    """

    wait: Callable[[float], object] = time.sleep
    human: Person | None = None
    stronger_for: Callable[[str], Model | None] = lambda _: None
    overseer: Model | None = None
    prices: Mapping[str, Price] = {}
    talk: Callable[[Ending], str] | None = None
    working: AgentLoop | None = None

    def __post_init__(self) -> None:
        job = self.job
        watched = job.approve != "policy" or attended(self.approver)
        self.contained.human = self.human
        self.answers = Counter[tuple[str, str]]()
        self.at = ResumeState(job.tasks, handed=job.handed)
        self.deeds = Deeds()
        self.tried = Tried()
        self.handoffs = Handoffs(self.log.path.parents[2], self.log.session_id)
        self.modes = CheckModes(job.project)
        self.budget = SessionBudget(job.max_tokens, job.max_seconds, job.max_cost, self.prices)
        self.monitor = Monitor(self.modes, self.human, watched, model=self.overseer)

    @property
    def loop(self) -> AgentLoop:
        """The agent at work, once one has begun."""
        assert self.working is not None, "an agent has begun"
        return self.working

    def restore(self, resumed: ResumeState) -> None:
        """Take over an interrupted run of the session."""
        self.records[:0] = resumed.records
        self.budget.started -= resumed.seconds
        self.monitor.restore(self.records)
        for record in self.records:
            self._fold(record)
        self.at = resumed

    def _note(self, record: Record) -> None:
        self.records.append(record)
        self.monitor.take(record)
        self._fold(record)

    def _fold(self, record: Record) -> None:
        self.at = steps_after(self.at, record)
        self.deeds.take(record)
        self.tried = self.tried.after(record)
        self.budget.take(record)
        if isinstance(record.event, LlmResponse):
            self.answers[record.agent_role, record.llm_model_used] += 1

    def _time_left(self) -> float:
        return self.budget.time_left()


@dataclass
class AgentLoop:
    """One agent at work on task ``step``, from 0, with what it was ``handed``.

    ``told``: about claims without evidence.
    """

    state: SessionState
    context: TurnContext
    task: str
    step: int
    handed: str = ""
    messages: list[Message] = field(default_factory=list)
    attempts: Attempts = field(init=False)
    pending: ResumeState | None = None
    final: Message | None = None
    told: str = ""
    window: ModelWindow = field(default_factory=ModelWindow)

    def __post_init__(self) -> None:
        self.attempts = Attempts(self._most)
        self.context = replace(self.context, talks=self.state.talk is not None)

    def begin(self, again: str = "", advice: str = "") -> None:
        """Run the agent; ``again``: why a human wants another run."""
        context = self.context
        tools = tuple(spec.name for spec in context.tools)
        self._open_page(
            lambda first, stands_for: AgentEngage(
                context.agent.name, self.task, first, context.system, tools, stands_for
            ),
            again,
            advice,
        )

    def _open_page(self, event: Callable[[str, int], Event], why: str, advice: str = "", search: str = "") -> None:
        """Begin the conversation, published as ``event``; after failures, for ``why``, with a page of them."""
        context = self.context
        first, shown = self._first("native" if why else context.protocol)
        if why:
            first = escalation.page(
                context.mask(first), self.state.tried, why, context.protocol, advice=advice, search=search
            )
        stands_for = self.state.answers[context.agent.name, context.model.name]
        context.publish(event(first, stands_for))
        shown.publish()
        self.messages = [Message("user", (TextPart(first),), stands_for)]

    def _first(self, protocol: Protocol) -> tuple[str, ShownFiles]:
        """Return the task as an agent that has seen nothing is given it, and its files, which are not yet logged."""
        facts, shown = self._facts(self.task, self.state.job.files)
        handed = self.context.mask(self.handed)
        files = "\n\n".join(shown.texts)
        return first_message(self.task, facts, handed, protocol=protocol, files=files), shown

    def _facts(self, words: str, named: Sequence[str] = ()) -> tuple[dict[str, str], ShownFiles]:
        facts = facts_of(self.context.project, partial(unmapped, self.context))
        return facts, task_files(self.context, words, named, facts["files"])

    def restore(self, standing: ResumeState) -> None:
        """Continue an interrupted run."""
        self.messages = list(standing.messages)
        self.context.seen.update(standing.seen)
        for record in self.state.records:
            if isinstance(event := record.event, ToolExecutionResult) and event.tool:
                self.context.showed(event.text, f"the result of {event.tool}")
        self.window.measured = standing.measured
        for codes in standing.codes:
            self.attempts.spend(codes, "")
        self.attempts.last = standing.words
        self.pending = standing if standing.pending else None
        if "again" in self.state.tried.rungs:
            self.context = replace(self.context, model=self.context.model.at(WARM))
        if standing.rung not in ("", "again") and not escalation.search_tool(self.context.tools):
            self.context = self.state.asked_otherwise(self.context)
        if standing.rung == "model" and (stronger := self.state.stronger_for(self.context.agent.name)):
            self.context = replace(self.context, model=stronger)

    def work(self) -> Ending:
        """Take turns until the person says no more."""
        self.state.working = self
        while True:
            try:
                ending = self._work()
            except KeyboardInterrupt as stopped:
                if self.state.talk is None or stopped.args:  # a signal that ends a program
                    raise
                ending = Ending("stopped", say("aborted"))
            if self.state.talk is None:
                return ending
            words = self.state.talk(ending)
            if not words:
                return Ending("left", f"You left. Go on with: ai-rails chat --resume {self.context.session_id}")
            self._go_on(words, done=is_good(ending.outcome))

    def _go_on(self, words: str, *, done: bool) -> None:
        context = self.context
        reply = Message("user", ())
        context.publish(HumanSteered("follow_up", "go on", "terminal", text=words))
        _, shown = self._facts(words)
        shown.publish()
        if done and self.final is not None:
            self.messages.append(self.final)
        else:
            reply = self._settled()
        text = "\n\n".join((*shown.texts, words))
        reply = _with_words(reply, text)
        context.publish(FeedbackSent("The person says", words, reply, 0, self.attempts.most, ()))
        self.messages.append(reply)
        self.pending = None
        self.attempts = Attempts(self._most)

    def _settled(self) -> Message:
        context = self.context
        standing = where(self.state.job.project, self.state.log)
        self.messages = list(standing.messages)
        reply = Message("user", ())
        if answer := standing.pending:  # what of it was not carried out is not done any more
            native = native_ids(answer, read_whole(context, standing.turns, answer, context.model.name))
            done = tuple(dict.fromkeys((standing.done or {}).values()))
            told = {request_id for outcome in done for request_id in outcome.ids}
            left = tuple(request_id for request_id in native if request_id not in told)
            stopped = (feedback.not_done("skipped", left, why=_STOPPED),) if left else ()
            reply = feedback.compose(answer, (*done, *stopped), native)
            self.messages.append(answer.message)
        return reply

    def _work(self) -> Ending:
        most = self.state.job.max_turns or self.context.agent.max_turns
        go_on = f"ai-rails run --resume {self.context.session_id}"
        while self.pending or self.state.at.taken < most:
            if why := self.state.budget.spent():
                return self._give_up(why)
            self.state.records.clear()
            standing, self.pending = self.pending, None
            try:
                if standing and (answer := standing.pending):
                    found = read_whole(self.context, standing.turns, answer, self.context.model.name)
                    found = with_deletions(self.context, found, standing.turns)
                    turn = carry_out(self.context, answer, found, standing.messages, standing.done)
                else:
                    turn = self._ask_model()
            except TimeUpError as error:
                return self._give_up(self.state.budget.spent() or str(error))
            except ModelError as error:
                return Ending("model_failed", f"{error} Nothing is lost: {go_on}")
            except UnansweredError as error:
                return Ending("unanswered", f"{error} Ask again with: {go_on}")
            if ending := self._follow(turn):
                return ending
        return self._give_up(f"the limit of {counted(most, 'turn')} is reached")

    def _follow(self, turn: Turn) -> Ending | None:
        failures = [str(one.kind) for one in turn.outcomes if not one.ok and one.kind != "skipped"]
        if "aborted" in failures:
            return Ending("stopped", say("aborted"))
        done = turn.reply is None or (turn.settled and self.state.deeds.wrote)
        if done and turn.answer.stop_reason == "refusal":
            return Ending("gave_up", f"The model refused the task. {turn.answer.note}".strip())
        if turn.answer.stop_reason in CUT:
            failures.append("cut")
        if turn.settled:
            failures += {"unchanged"}.intersection(self._not_told())
        codes = [] if done else failures
        if why := self.attempts.spend(codes, answer_words(turn.answer.message), self._not_told()):
            stop = self._oversee().stop if self._escalations_left() else ""
            return None if not stop and self._escalate(why) else self._give_up(stop or why, limit=self.attempts.most)
        steer = self._oversee()
        if steer.stop:
            return self._give_up(steer.stop)
        words = steer.words or (self._end(turn) if done else "")
        if isinstance(words, Ending):
            if words.outcome == "gave_up" and self._not_told() and self._escalate(say("nothing_done")):
                return None
            return words
        self._send(turn, turn.reply or Message("user", ()), codes, words)
        return None

    def _end(self, turn: Turn) -> Ending | str:
        """Return how an agent ended that is done, or what it is told once of a claim."""
        text = turn.answer.message.text.strip()
        if turn.settled and (last := self.state.tried.last):
            text = (last.prose or "").strip()  # what it sent is no sentence about it
        deeds = self.state.deeds
        registry = self.context.registry
        agent = self.context.agent
        if not (agent.headings or agent.schema) and deeds.nothing_done(registry):  # a contract that is met is a deed
            return Ending("gave_up", f"{say('nothing_done')} {text}".strip())
        outcome, told = judged(agent, text, deeds, registry, talks=self.state.talk is not None)
        if told and not self.told:
            self.told = told
            self.context.publish(OutputRefused((Refusal("claim", self.told),)))
            header = "" if turn.reply else f"{feedback.HEADER}\n"
            return f"{header}Human/System Feedback: {self.told}"
        self.final = turn.answer.message
        return Ending(outcome, text or MEANINGS[outcome])

    @property
    def _most(self) -> int:
        return self.state.job.max_attempts or self.context.agent.max_attempts

    # -- one turn ----------------------------------------------------------------------------------

    def _ask_model(self) -> Turn:
        number = self.state.at.turns + 1
        for attempt, pause in enumerate((*MODEL_WAITS, None), start=1):
            try:
                self.window.of(self.context.model, self.state.budget.prices)
                if step := self.window.fitted(self.context, self.messages, self.state.tried):
                    self._reduce(step)
                thought = self.window.thought(self.context, self.messages)
                turn = take_turn(self.context, number, self.messages, thought, self.window.tokens)
                self.window.measured = Measured(thought, turn.answer.usage.prompt_tokens)
                return turn
            except ModelTooLongError as error:
                again = self.window.tokens > 0 and pause is not None
                self.context.publish(LlmError(str(error), again, attempt))
                if not again:
                    raise ModelError(f"{error} {LARGER}") from error
                self.window.learn(self.context.model.name, error.limit, thought)
            except ModelRetryable as error:
                again = pause is not None
                self.context.publish(LlmError(str(error), again, attempt))
                if pause is None:
                    raise ModelError(f"{error} Gave up after {counted(attempt, 'try', 'tries')}.") from error
                seconds = getattr(error, "retry_after", None) or pause
                if seconds >= self.context.time_left():
                    raise TimeUpError(f"{error} The session's time ends before the next try.") from error
                self.state.wait(seconds)
            except ModelError as error:
                self.context.publish(LlmError(str(error), False, attempt))
                raise
        raise AssertionError("the last try returns or raises")

    def compact(self) -> str:
        """Summarize all answers but the last; return why not, or ""."""
        self.window.of(self.context.model, self.state.budget.prices)
        step = self.window.step(self.context, self.messages, 0, self.state.tried, page=True)
        if step is None:
            return "There is nothing to leave out yet."
        self._reduce(step)
        return ""

    def _reduce(self, step: ContextReduced) -> None:
        self.context.given.clear()
        self.messages = list(reduced(self.messages, step))

    def _send(self, turn: Turn, reply: Message, codes: list[str], steer: str) -> None:
        if steer:
            reply = _with_words(reply, steer)
        self.context.publish(
            FeedbackSent(
                say("retry") if codes else "results",
                text="\n\n".join(part.text for part in reply.parts if isinstance(part, TextPart | NativeResult)),
                reply=reply,
                attempt=self.attempts.most_spent,
                limit=self.attempts.most,
                codes=tuple(sorted(set(codes))),
            )
        )
        self.messages += [turn.answer.message, reply]

    # -- escalation --------------------------------------------------------------------------------

    def _escalations_left(self) -> tuple[EscalationStep, ...]:
        rungs = RUNGS[self.state.job.escalate]
        context = self.context
        rung = self.state.at.rung
        if rung not in ("", "again"):
            return rungs[rungs.index(rung) + 1 :] if rung in rungs else ()
        alone = not context.denied and not self.state.tried.said  # nothing of a person's would be lost
        small = context.model.local and context.protocol in IN_TEXT and alone
        stuck = self.attempts.repeated and len(rungs) > 1  # asked another way it has a chance
        if small and not stuck and self.state.tried.rungs.count("again") < AGAIN:
            return rungs
        return rungs[1:]

    def _not_told(self) -> Sequence[str]:
        """Return the failures of which one is enough: another answer is better than one more line to the model."""
        rungs = self._escalations_left() if self.context.protocol == "whole" else ()
        return REPEATED if "again" in rungs else ()

    def _escalate(self, why: str) -> bool:
        rung = next(iter(self._escalations_left()), None)
        context = self.context
        search = escalation.search_tool(context.tools)
        if rung is None:
            return False
        if rung == "again":
            how = "is asked the task again"
            context = replace(context, model=context.model.at(WARM))
        elif rung == "model":
            stronger = self.state.stronger_for(context.agent.name)
            if stronger is None or self.state.human is None:
                return False
            question = UserQuestion(
                "stronger_model",
                (
                    f"── A stronger model for {context.agent.name}? ".ljust(78, "─"),
                    f"  It stopped because: {one_line(why, 200)}",
                    f"  {one_line(context.model.name, 60)} would be replaced by {one_line(stronger.name, 60)}.",
                    "  It gets the task and one page of what failed, and the same budget goes on.",
                ),
                {"y": ("yes", "go on with it"), "n": ("no", "stop; I continue myself")},
                "no",
            )
            if ask(self.state.human, context.publish, question).answer != "yes":
                return False
            how = f"continues with {stronger.name}"
            context = replace(context, model=stronger)
        elif search:
            how = f"restarts with a summary, and searches first with {search}"
        else:
            context = self.state.asked_otherwise(context)
            how = f"restarts with a summary, in the protocol {context.protocol}"
        self.context = context
        context.given.clear()
        words = f"{context.agent.name} {how}: {why}"
        self._open_page(
            lambda first, stands_for: Escalation(words, rung, why, first_message=first, stands_for=stands_for),
            "" if rung == "again" else why,
            search=search,
        )
        self.attempts = Attempts(1, self.attempts.most_spent) if rung == "again" else Attempts(self._most)
        return True

    def _give_up(self, why: str, limit: int | None = None) -> Ending:
        self.context.publish(ErrorEvent(say("gave_up"), why, limit=limit))
        left = attempted(self.context.publish, "the page for you was written", partial(self._leave, why))
        page, saved = ("", ()) if isinstance(left, RequestResult) else left
        self.context.publish(Escalation("your turn", "human", why, files=saved))
        return Ending("gave_up", f"{say('gave_up', 'en')} Reason: {why.rstrip('.')}.", file=page)

    def _leave(self, why: str) -> tuple[str, tuple[str, ...]]:
        tried = self.state.tried
        files = self.state.handoffs
        name = self.context.agent.name
        answer = files.write(f"{2 * self.step + 1:02}_{name}_answer.md", tried.answer) if tried.answers else ""
        page = escalation.for_human(
            tried,
            why,
            session=self.context.session_id,
            project=self.state.job.project,
            answer=files.relative(answer) if answer else "",
            stronger=self.context.agent.stronger,
        )
        file = files.write(handoff.next_name(self.step, "human"), page)
        return files.relative(file), tuple(filter(None, (answer, file)))

    def _oversee(self) -> Steer:
        steer = attempted(
            self.context.publish, "the monitor checked the session", partial(self.state.monitor.look, self.context)
        )
        return steer if isinstance(steer, Steer) else Steer()


def _with_words(reply: Message, words: str) -> Message:
    gap = "\n\n" if reply.text else ""
    return replace(reply, parts=(*reply.parts, TextPart(f"{gap}{words}")))
