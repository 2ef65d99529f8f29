"""The monitor at work: its rules look at the session after every turn, and a human decides.

Critical alerts, and those the settings make blocking, pause the run; where nobody can be asked, it stops. Others go
back to the agent or are only shown (``rails.gate.enforcement``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rails.agents.monitor_rules.alert import alert_in_words
from rails.agents.monitor_rules.rules import Watch
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, AgentFinished, Escalation, OverseerAlert
from rails.core.events.turn import FeedbackSent, LlmCall
from rails.core.text import printable
from rails.gate.enforcement import CheckModes
from rails.gate.support.settings import Enforcement
from rails.models.model import Model
from rails.session.ask_user import Person, UserQuestion, ask
from rails.session.turn_context import TurnContext

#: Records that show that a turn's alerts were dealt with.
_ACTED: Final = (AgentEngage, FeedbackSent, Escalation, AgentFinished)


class Steer(Struct, frozen=True):
    """The result of alerts: why to stop, or words for the agent; neither: go on."""

    stop: str = ""
    words: str = ""


class Monitor(Struct):
    """Looks at a session's records. ``human`` is ``None`` where the approver stands for the person.

    ``attended``: that approver may ask somebody. ``fresh`` alerts are unpublished.
    """

    modes: CheckModes
    human: Person | None = None
    attended: bool = True
    watch: Watch = field(default_factory=Watch)
    fresh: list[OverseerAlert] = []
    model: Model | None = None
    turn: list[Record] = []

    def restore(self, records: Sequence[Record]) -> None:
        """Look at earlier records; an alert without consequence returns."""
        last = max((n for n, record in enumerate(records) if isinstance(record.event, _ACTED)), default=0)
        told = (event for record in records[:last] if isinstance(event := record.event, OverseerAlert))
        alerted = {(alert.seq, alert.description) for alert in told}
        self.fresh.clear()
        for record in records:
            self.take(record)
        self.fresh = [alert for alert in self.fresh if (alert.seq, alert.description) not in alerted]

    def take(self, record: Record) -> None:
        """Look at the session's next record."""
        if isinstance(record.event, LlmCall):
            self.turn.clear()
        if self.model is not None:
            self.turn.append(record)
        self.fresh += self.watch.take(record)

    def look(self, context: TurnContext) -> Steer:
        """Publish new findings; return the consequence of those that block or go back."""
        fresh, self.fresh = [self._weighed(alert, context) for alert in self.fresh], []
        for alert in fresh:
            context.publish(alert)
        if self.model is not None and self.turn:
            fresh.append(self._asked(self.model, context))
        blocking = [one for one in fresh if one.mode == "blocking" or (not one.mode and one.severity == "CRITICAL")]
        steer = self._steered(context, blocking) if blocking else Steer()
        back = [_sent_back(alert) for alert in fresh if alert.mode == "retry"]
        return steer if steer.stop else Steer(words="\n".join(filter(None, (steer.words, *back))))

    def _weighed(self, alert: OverseerAlert, context: TurnContext) -> OverseerAlert:
        if alert.severity == "INFO":
            return alert
        usual: Enforcement = "blocking" if alert.severity == "CRITICAL" else "advisory"
        mode = self.modes.of("turn", alert.agent or context.agent.name, alert.rule, usual)
        return alert if mode == usual else replace(alert, mode=mode)

    def _asked(self, model: Model, context: TurnContext) -> OverseerAlert:
        from rails.session.model_overseer import model_alert  # where one is named

        said = self._weighed(model_alert(model, context, tuple(self.turn)), context)
        context.publish_as(said, context.agent.name, model.name)
        return said

    def _steered(self, context: TurnContext, alerts: Sequence[OverseerAlert]) -> Steer:
        first = alerts[0]
        nobody = f"The monitor stopped the run, as nobody could be asked: {first.description}"
        if self.human is None:
            return Steer("" if self.attended and first.usage is None and not first.mode else nobody)
        said = ask(self.human, context.publish, _question(alerts))
        if said.answer == "stop":
            return Steer(nobody if said.by == "default" else f"you stopped it at an alert: {first.description}")
        words = {"prompt": first.prompt, "feedback": said.text}.get(said.answer, "")
        return Steer(words=f"Human Feedback: {words}" if words else "")


def _sent_back(alert: OverseerAlert) -> str:
    return (
        f"Human/System Feedback: The check {alert.rule!r} did not pass after this turn: {alert.description} "
        f"{alert.evidence} {alert.prompt}".strip()
    )


def _question(alerts: Sequence[OverseerAlert]) -> UserQuestion:
    choices = {"s": ("stop", "stop the agent"), "f": ("feedback", "send it a message: f and your words")}
    if prompt := alerts[0].prompt:
        choices["p"] = ("prompt", f"send it: {prompt}")
    choices["g"] = ("go", "go on")
    told = (f"  {line}" for alert in alerts for line in printable(alert_in_words(alert)).splitlines())
    return UserQuestion("alert", ("── The monitor has an alert ".ljust(78, "─"), *told), choices, "stop")
