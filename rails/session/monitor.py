"""The overseer at work: its rules look at the session after every turn, and a human says what follows.

An alert that is critical pauses the run: the human goes on, tells the agent something, or stops it. Where nobody can
be asked, it stops. The model that a user named for it looks at each turn as well (``rails.session.model_overseer``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rails.agents.monitor_rules.alert import alert_in_words
from rails.agents.monitor_rules.rules import Watch
from rails.core.conversation import Usage
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, AgentFinished, Escalation, OverseerAlert
from rails.core.events.turn import FeedbackSent, LlmCall
from rails.core.text import printable
from rails.models.model import Model
from rails.session.ask_user import Person, UserQuestion, ask
from rails.session.turn_context import TurnContext

#: Records that show that a turn's alerts were dealt with.
_ACTED: Final = (AgentEngage, FeedbackSent, Escalation, AgentFinished)


@dataclass(frozen=True, slots=True)
class Steer:
    """What follows from an alert: why to stop, or what to tell the agent; neither means to go on."""

    stop: str = ""
    words: str = ""


@dataclass
class Monitor:
    """Looks at a session's records. ``human`` is ``None`` where the approver stands for the person.

    ``attended`` is whether that approver may ask somebody. ``fresh`` are the alerts that were not published yet.
    ``model`` looks at each turn, ``turn``, and ``use`` counts what that takes.
    """

    human: Person | None = None
    attended: bool = True
    watch: Watch = field(default_factory=Watch)
    fresh: list[OverseerAlert] = field(default_factory=list)
    model: Model | None = None
    use: Callable[[Usage, str], object] = field(default=lambda _usage, _model: None)
    turn: list[Record] = field(default_factory=list)

    def restore(self, records: Sequence[Record]) -> None:
        """Look at what was before an interruption; an alert that nothing followed from is raised again."""
        last = max((n for n, record in enumerate(records) if isinstance(record.event, _ACTED)), default=0)
        told = (event for record in records[:last] if isinstance(event := record.event, OverseerAlert))
        alerted = {(alert.seq, alert.description) for alert in told}
        self.fresh.clear()
        for record in records:
            self.take(record)
        self.fresh = [alert for alert in self.fresh if (alert.seq, alert.description) not in alerted]

    def take(self, record: Record) -> None:
        """Look at the next record of the session."""
        if isinstance(record.event, LlmCall):
            self.turn.clear()
        if self.model is not None:
            self.turn.append(record)
        self.fresh += self.watch.take(record)

    def look(self, context: TurnContext) -> Steer:
        """Publish what the rules newly found, and return what follows when something of it is critical."""
        fresh, self.fresh = self.fresh, []
        for alert in fresh:
            context.publish(alert)
        if self.model is not None and self.turn:
            fresh.append(self._asked(self.model, context))
        critical = [alert for alert in fresh if alert.severity == "CRITICAL"]
        return self._steered(context, critical) if critical else Steer()

    def _asked(self, model: Model, context: TurnContext) -> OverseerAlert:
        """Publish what the model says of the turn."""
        from rails.session.model_overseer import model_alert  # where one is named

        said = model_alert(model, context, tuple(self.turn))
        context.publish_as(said, context.agent.name, model.name)
        self.use(said.usage or Usage(), model.name)
        return said

    def _steered(self, context: TurnContext, alerts: Sequence[OverseerAlert]) -> Steer:
        first = alerts[0]
        nobody = f"The overseer stopped the run, as nobody is asked: {first.description}"
        if self.human is None:
            return Steer("" if self.attended and first.usage is None else nobody)
        said = ask(self.human, context.publish, _question(alerts))
        if said.answer == "stop":
            return Steer(nobody if said.by == "headless" else f"you stopped it at an alert: {first.description}")
        return Steer(words={"prompt": first.prompt, "feedback": said.text}.get(said.answer, ""))


def _question(alerts: Sequence[OverseerAlert]) -> UserQuestion:
    choices = {"s": ("stop", "stop the agent"), "f": ("feedback", "tell it something: f and your words")}
    if prompt := alerts[0].prompt:
        choices["p"] = ("prompt", f"send it: {prompt}")
    choices["g"] = ("go", "go on")
    told = (f"  {line}" for alert in alerts for line in printable(alert_in_words(alert)).splitlines())
    return UserQuestion("alert", ("── The overseer asks you to look ".ljust(78, "─"), *told), choices, "stop")
