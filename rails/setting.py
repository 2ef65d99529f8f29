"""What a turn stands on: one frozen value instead of a dozen parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rails.agents import Agent
from rails.approval.decision import Approver
from rails.core.conversation import ToolSpec
from rails.core.events import Event, EventType
from rails.core.wire import json_object
from rails.edits.history import History
from rails.gate.gate import Gate
from rails.models import Model
from rails.tools.definitions import Registry

#: How far broken JSON may be mended before it is refused: not at all, its syntax, or by asking the model.
Correction = Literal["off", "syntax", "model"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a turn stands on: the agent and its tools, the project, and who is asked and told.

    ``seen`` is what the agent last saw of each file (path to SHA-256), so that work that somebody else did
    since is not overwritten. ``from_project`` names the tools whose definition comes from the project
    itself: their approval says so. ``on_text`` gets each piece of streamed text.
    """

    project: Path
    session_id: str
    agent: Agent
    system: str
    registry: Registry
    model: Model
    gate: Gate
    approver: Approver
    history: History
    publish: Callable[[Event], object]
    seen: dict[str, str] = field(default_factory=dict)
    tools: Sequence[ToolSpec] = ()
    from_project: frozenset[str] = frozenset()
    correction: Correction = "syntax"
    dialects: Sequence[str] = ()
    on_text: Callable[[str], object] = field(default=lambda _: None)

    def say(self, event: EventType, message: str, **details: object) -> None:
        """Publish an event of this agent and model."""
        self.publish(Event(event, message, json_object(details), self.agent.name, self.model.name))
