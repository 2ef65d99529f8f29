"""The log of a hosted session: its events, and the steps of its host's writes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.changes import ChangeSet
from rails.core.conversation import Message, ModelAnswer, NativeCall
from rails.core.errors import LogBusyError, RailsError
from rails.core.events.base import Event
from rails.core.events.changes import CheckpointEvent, ToolExecutionResult, changes_in_words
from rails.core.events.session import AgentEngage, ErrorEvent
from rails.core.events.turn import LlmCall, LlmResponse, McpRequestFormulated
from rails.core.text import one_line
from rails.core.tool_request import Json, RawRequest
from rails.edits.apply import record_written
from rails.edits.checkpoint_commits import StepFacts
from rails.log.writer import SessionLog
from rails.session.job import SessionJob, log_session_start
from rails.session.project import state_of

#: Tries to get the log while another process is just leaving it.
_LOG_SECONDS: Final = 5.0


class HostCall(Struct, frozen=True):
    """A tool call of the host's model."""

    id: str
    tool: str
    input: Mapping[str, Json]


class HostedLog:
    """The log of one hosted session, begun with the first event.

    Every method raises RailsError where the log cannot be opened or written.
    """

    def __init__(self, project: Path, name: str, host: str, model: str) -> None:
        self.project = project
        self.name = name
        self.host = host
        self.model = model
        self._task = f"what {host} was asked to do"
        self._log: SessionLog | None = None

    def engage(self, prompt: str) -> None:
        """Log a person's prompt to the host."""
        self._task = one_line(prompt, 1_000) or self._task
        self.publish(AgentEngage(self.host, self._task, prompt, "", ()))

    def begin_turn(self, number: int, call: HostCall) -> None:
        """Log a turn's begin: one call of the host's model."""
        name = one_line(call.tool, 60)
        native = NativeCall(call.id, call.tool, json.dumps(dict(call.input), ensure_ascii=False))
        answer = ModelAnswer(Message("assistant", (native,)), "tool_use", model=self.model)
        self.publish(LlmCall(f"{self.host} asks for {name}", 0, number))
        self.publish(LlmResponse.of(f"{self.host}: {name}", answer))
        self.publish(McpRequestFormulated(RawRequest(call.id, call.tool, dict(call.input), dialect="native")))

    def written(self, part: ChangeSet) -> bool:
        """Log the host's write; return whether it is now an undoable step."""
        title = changes_in_words(part.files())
        try:
            applied = record_written(part, self.project, StepFacts(self.name, f"{self.host}: {title}"))
        except RailsError as error:
            self.publish(ErrorEvent("What was written is not in the history", str(error)))
            return False
        said = f"{title}, by {self.host}"
        self.publish(
            ToolExecutionResult(
                ids=(), ok=True, text=said, changes=part.files(), facts={"diff": part.diff()}, duration_ms=0.0
            )
        )
        self.publish(
            CheckpointEvent(
                f"step {applied.step}: {title}", applied.step, tuple(str(change.path) for change in part.changes)
            )
        )
        return True

    def close(self) -> None:
        """Close the log; the next event opens it."""
        if self._log is not None:
            self._log.close()
        self._log = None

    def publish(self, event: Event) -> None:
        """Log an event of the host's."""
        if self._log is None:
            self._log = self._open()
            if self._log.is_new:
                job = SessionJob(self.project, ((self.host, self._task),), approve="host")
                log_session_start(job, self._log, self.model)
        self._log.append(event, self.host, self.model)

    def _open(self) -> SessionLog:
        """Wait for a process that is just leaving it."""
        state = state_of(self.project)
        until = time.monotonic() + _LOG_SECONDS
        while True:
            try:
                if (state / "sessions" / self.name).is_dir():
                    return SessionLog.reopen(state, self.name)
                return SessionLog.create(state, session_id=self.name)
            except LogBusyError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
