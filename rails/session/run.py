"""A run: agents in order, hand-offs, budgets. Its only memory is the log, from which it resumes.

``engage_agent`` keeps the first AI-Rails' name and contract, with ``previous_tool_output`` as the way back.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from rails.agents.monitor_rules.alert import alert
from rails.agents.monitor_rules.rules import RULES
from rails.agents.output import VERDICTS, json_of, verdict_of
from rails.agents.template import Agent, named
from rails.core import limits
from rails.core.changes import ChangeSet
from rails.core.errors import FAULT, RailsError, UsageError
from rails.core.events.session import AgentFinished, Handoff, HumanSteered, WorkflowEnd
from rails.core.outcomes import is_good, outcome_for
from rails.core.text import sha256
from rails.edits.apply import read_file
from rails.edits.commit import net_changes
from rails.session import handoffs
from rails.session.agent_loop import AgentLoop, SessionState
from rails.session.ask_user import UserQuestion
from rails.session.faults import fault_event
from rails.session.job import PAUSED, Ending
from rails.session.resume import ResumeState

_Event = TypeVar("_Event", AgentFinished, Handoff)
_PROSE = (".md", ".rst", ".txt")


class Session(SessionState):
    """One run over one project."""

    def run(self, resumed: ResumeState | None = None) -> Ending:
        """Carry out the job, or its rest. Raises RailsError; the log then holds all that happened."""
        self.modes.check_rules((*RULES, "model"))
        if resumed:
            self.restore(resumed)
        ending: Ending | None = None
        try:
            with self.open():
                ending = self._chain()
        except RailsError:
            raise
        except FAULT as error:
            ending = self._broken(error, ending)
        paused = ending.outcome in PAUSED
        pause = HumanSteered("conversation", ending.outcome, "", text=ending.message)
        self.publish(pause if paused else WorkflowEnd(ending.line, ending.outcome))
        return replace(ending, message=self.log.masked(ending.message), session_id=self.log.session_id)

    def _broken(self, error: BaseException, ending: Ending | None) -> Ending:
        fault = fault_event("the session was closed" if ending else "the session went on", error)
        self.publish(fault)
        if ending:
            return ending
        return Ending("internal_error", f"{fault.message} {fault.error} {self._nothing_lost}")

    @property
    def _nothing_lost(self) -> str:
        return f"Nothing is lost: ai-rails run --resume {self.log.session_id}"

    def _chain(self) -> Ending:
        """Engage the agents in order; what is logged says who is next, also where a kill came in between."""
        ending = Ending("unchanged", "Nothing was left to do.")
        if last := self._last(AgentFinished):
            ending = Ending(outcome_for(last.outcome), last.message)
        while not self.at.stopped and self.at.finished < len(self.job.tasks):
            at = self.at
            step = at.finished
            role, task = self.job.tasks[step]
            if step and not (at.messages or at.agreed or at.again):
                if self._hand_over(step - 1, at.offered):
                    continue
                file = self.handoffs.relative(handoffs.next_name(step - 1, role))
                words = (
                    f"The hand-off to {role} waits for you, to read or edit: {file}. With --handoff go nobody is asked."
                )
                return Ending("waiting", f"{words} {self._nothing_lost}", file=file)
            ending = self.engage_agent(role, task, previous_tool_output=at.handed)
            if ending.outcome in PAUSED:
                return ending
            if ending.outcome == "rejected" and step and self.at.rejected <= self.job.max_reviews:
                author = self._author(step)
                why = f"{role} did not pass this work. Correct what it finds, and nothing else."
                text = handoffs.sent_back(why, "The review", self._result(), self._handed_to(author))
                for _ in range(author, step):
                    self.publish(HumanSteered("handoff", "back", role, text=text))
        if not is_good(ending.outcome):
            return ending
        if len(self.job.tasks) > 1:
            self._hand_over_last()
        return replace(ending, outcome="changed") if any(self.deeds.written_by.values()) else ending

    def _last(self, kind: type[_Event]) -> _Event | None:
        return next((one.event for one in reversed(self.records) if isinstance(one.event, kind)), None)

    def engage_agent(self, agent_role: str, task: str, *, previous_tool_output: str = "") -> Ending:
        """Let an agent work, or go on, until it is done, a budget is spent or it waits for a person.

        ``previous_tool_output`` is a plan or hand-off.
        """
        at = self.at
        context = self.context(agent_role)
        work = AgentLoop(self, context, task, at.finished, previous_tool_output)
        if at.messages:
            work.restore(at)
        else:
            work.begin(at.why, at.advice)
        ending = work.work()
        if is_good(ending.outcome) and verdict_of(context.agent, ending.message) in VERDICTS[:2]:
            ending = replace(ending, outcome="rejected")
        if ending.outcome not in PAUSED:
            result = ending.message if len(self.job.tasks) > 1 or self.job.plan else None
            context.publish(AgentFinished(ending.line, agent_role, ending.outcome, result))
        return ending

    def _author(self, end: int) -> int:
        """Return the step before ``end`` that wrote what is reviewed: code, else tests or documents; the last such."""
        from rails.gate.weakened_tests import TEST_FILE  # needs ast, which a run without a review does without

        def share(step: int) -> tuple[bool, bool, int]:
            files = self.deeds.written_by.get(named(self.agents, self.job.tasks[step][0]).name, ())
            code = any(not (TEST_FILE.search(path) or path.endswith(_PROSE)) for path in files)
            return code, bool(files), step

        return max(range(end), key=share)

    # -- hand-offs ---------------------------------------------------------------------------------

    def _result(self) -> str:
        """Return the last agent's result as logged, so that files are masked too."""
        last = self._last(AgentFinished)
        return (last.result if last else "") or ""

    def _hand_over(self, step: int, offered: str) -> bool:
        """Offer a step's result to the next; return whether it was decided, or waits for a person."""
        result = self._result()
        sender = named(self.agents, self.job.tasks[step][0])
        receiver = self.job.tasks[step + 1][0]
        files = self.handoffs
        if not offered or not files.has(offered):
            given = "00_planning_doc.md" if self.job.handed else "00_task.md"
            if step == 0 and not files.has(given):
                role, task = self.job.tasks[0]
                rest = f"\n{self.job.handed.rstrip()}\n" if self.job.handed else ""
                files.write(given, f"# Given to {role}\n\n{task}\n{rest}")
            self._write_result(step, sender, result)
            text = handoffs.text_for(sender, receiver, result, self._difference())
            if named(self.agents, receiver).gives_verdict:
                text += handoffs.for_review(self._handed_to(self._author(step + 1)), self.deeds.last_run)
            offered = files.write(handoffs.next_name(step, receiver), self.log.masked(text))
            self._publish_handoff(sender, receiver, offered)
        return self._passed(step, sender, receiver, offered)

    def _write_result(self, step: int, sender: Agent, result: str) -> str:
        text = result if sender.schema is None else json_of(result)
        ending = "md" if sender.schema is None else "json"
        return self.handoffs.write(f"{2 * step + 1:02}_{sender.name}_output.{ending}", text)

    def _publish_handoff(self, sender: Agent, receiver: str, file: str) -> None:
        text = self.handoffs.read(file)
        needs = [f"the headings {', '.join(sender.headings)}"] if sender.headings else []
        needs += ["JSON that satisfies its schema"] if sender.schema is not None else []
        self.publish(Handoff(sender.name, receiver, file, " and ".join(needs), sha256(text.encode())))

    def _handed_to(self, step: int) -> str:
        if not step:
            return self.job.handed
        return self.handoffs.read(handoffs.next_name(step - 1, self.job.tasks[step][0]))

    def _difference(self) -> ChangeSet:
        project = self.job.project
        made = net_changes(project, self.log.session_id)
        return ChangeSet(tuple(replace(change, after=read_file(project, change.path)) for change in made))

    def _hand_over_last(self) -> None:
        step = len(self.job.tasks) - 1
        sender = named(self.agents, self.job.tasks[step][0])
        self._publish_handoff(sender, "human", self._write_result(step, sender, self._result()))
        for change in self._difference().changes[: limits.FILES_PER_CHANGE]:
            if change.after is not None:
                self.handoffs.keep(f"{2 * step + 2:02}_final_approved/{change.path}", change.after)

    def _passed(self, step: int, sender: Agent, receiver: str, file: str) -> bool:
        files = self.handoffs
        by = ""
        if self.job.handoffs == "ask" and self.human is not None:
            said = self.human.answer(self._question(sender, receiver, file))
            if said.answer != "go":
                self.publish(HumanSteered("handoff", "stop", said.by))
                return False
            by = said.by
        text = before = files.read(file)
        answer = "go"
        if wrong := handoffs.wrong_with(sender, text):
            mode = self.modes.of("input", receiver, "", "blocking")
            if mode == "blocking":
                raise UsageError(
                    f"{files.relative(file)} is not a result of {sender.name}, so it was not handed on:\n{wrong}\n"
                    f"Correct the file, then: ai-rails run --resume {self.log.session_id}"
                )
            told = alert(
                self.records[-1],
                "WARNING",
                "Quality Issue",
                description=f"What {receiver} is handed is not a result of {sender.name}.",
                evidence=wrong,
                recommendation=f"Read {files.relative(file)}.",
            )
            self.publish(replace(told, agent=receiver, rule="input", mode=mode))
            text = f"{text}\n[{wrong}]\n"
            if mode == "retry":
                answer, by = "back", "its contract"
                why = f"Your result was not handed on to {receiver}:\n{wrong}\nGive all of it again."
                text = handoffs.sent_back(why, "What it was", before, self._handed_to(step))
        written = self._last(Handoff)
        edited = written is not None and sha256(before.encode()) != written.sha256
        self.publish(HumanSteered("handoff", answer, by, edited=edited, file=file, text=text))
        return True

    def _question(self, sender: Agent, receiver: str, file: str) -> UserQuestion:
        head = f"── Hand over from {sender.name} to {receiver}? ".ljust(78, "─")
        choices = {
            "g": ("go", f"hand over the file, as you may have edited it; {receiver} continues"),
            "s": ("stop", "stop here; ai-rails run --resume continues"),
        }
        return UserQuestion("handoff", (head, f"  {self.handoffs.relative(file)}"), choices, "stop")
