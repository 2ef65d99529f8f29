"""The agent that an editor starts: each of its sessions is one of ours, in a thread of its own, with the same log.

The editor's conversation is a conversation of ours (:mod:`rails.session.agent_loop`): the first prompt is the task,
each further one a follow-up. What is to be written or run is asked through the editor, which shows the difference.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import acp
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    Implementation,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    StopReason,
    ToolCallUpdate,
)

from rails import __version__
from rails.approval.decision import ApprovalRequest, Decision
from rails.approval.policy.grants import Grants, wider
from rails.core.errors import FAULT, RailsError
from rails.core.events.record import Record
from rails.core.events.turn import LlmResponse
from rails.core.outcomes import is_good
from rails.core.text import one_line
from rails.integrations.acp.updates import Update, history_of, plan_update, shown, updates_of, usage_of
from rails.log.reader import sessions
from rails.session.ask_user import UserQuestion, UserReply
from rails.session.job import Ending
from rails.session.project import state_of
from rails.session.resume import ResumeState
from rails.session.run import Session

T = TypeVar("T")
_POLL_S: Final = 0.01
_INVALID, _FAULT = -32602, -32603
_FAILED: Final = ("model_failed", "internal_error", "error")
#: Sessions that one answer lists.
_LISTED: Final = 50


class EditorSessions(Protocol):
    """What the command brings: the agents there are, and sessions, new or gone on with. Both raise RailsError."""

    given: Mapping[str, str]

    def agents(self, project: Path) -> Mapping[str, str]:
        """Return the agents of a project with what each is for; the first is who works unless another is chosen."""
        ...

    def open(self, talk: Conversation, task: str) -> tuple[Session, ResumeState | None]:
        """Open a session; without a task it is gone on with, from where it stands."""
        ...

    def records(self, project: Path, session_id: str) -> list[Record]:
        """Return the log of a session."""
        ...

    def choices(self, project: Path) -> Mapping[str, Sequence[str]]:
        """Return what can be chosen besides the agent, what counts else first."""
        ...


class Conversation:
    """One session of the editor. Its own thread runs the session; the protocol's thread talks to it."""

    def __init__(self, client: acp.Client, project: Path, session_id: str, agent: str) -> None:
        self.project, self.session_id, self.agent = project, session_id, agent
        self._client, self._loop = client, asyncio.get_running_loop()
        self._words: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._turn: Future[Ending] = Future()
        self._turn.cancel()
        self._stopped = threading.Event()
        self._question: Future[Any] = Future()
        self.grants = Grants()
        #: What the person has chosen of the options, by their names.
        self.chosen: dict[str, str] = {}
        #: What the model has answered since the last prompt.
        self.answers: list[LlmResponse] = []
        #: Whether its log has begun, and whether its thread runs.
        self.begun = self.working = False

    async def prompt(self, words: str, open_session: Callable[[str], tuple[Session, ResumeState | None]]) -> Ending:
        """Say ``words`` to the agent, and return how its part ended."""
        self._stopped.clear()
        self.answers.clear()
        self._turn = Future()
        if self.working:
            self._words.put(words)
        else:
            try:
                opened = await asyncio.to_thread(open_session, "" if self.begun else words)
            except FAULT:
                self._turn.cancel()
                raise
            if self.begun:
                self._words.put(words)
            self.begun = self.working = True
            threading.Thread(target=self._run, args=opened, daemon=True, name=self.session_id).start()
        return await asyncio.wrap_future(self._turn)

    @property
    def busy(self) -> bool:
        """Whether a prompt has no end yet."""
        return not self._turn.done()

    def stop(self) -> None:
        """Let the agent stop; what it was asked about is answered by nobody."""
        self._stopped.set()
        self._question.cancel()

    def close(self) -> None:
        """End the thread; the session stays open to be gone on with."""
        self.stop()
        self._words.put("")

    async def pause(self) -> None:
        """End the thread between two prompts; the next one goes on with what is chosen then."""
        if self.working:
            self._words.put("")
        while self.working:
            await asyncio.sleep(_POLL_S)

    # -- in the session's thread -------------------------------------------------------------------

    def _run(self, session: Session, standing: ResumeState | None) -> None:
        session.state.talk = lambda ending: self._talk(session, ending)
        try:
            with session.log:
                self.tell(plan_update(session.job.tasks, done=False))
                ending = session.run(standing)
        except (*FAULT, KeyboardInterrupt) as error:  # a prompt always has an end
            ending = Ending("internal_error", _told(error) or "The session was stopped.")
        self.working = False
        self._over(ending)

    def _talk(self, session: Session, ending: Ending) -> str:
        """Return what the person says next, "" where the editor is gone."""
        if self._words.empty():
            self.tell(plan_update(session.job.tasks, done=is_good(ending.outcome)))
        return self._said(ending)

    def answer(self, question: UserQuestion) -> UserReply:
        """Let what an agent asks end the prompt; the next prompt is the answer, "" where the editor is gone."""
        if question.about != "question":
            return UserReply(question.otherwise, "default")
        options = (f"[{number}] {meaning}" for number, (_, meaning) in question.choices.items())
        said = self._said(Ending("asked", "\n".join((*question.lines, *options))))
        if not said:
            self._words.put("")  # it ends the conversation as well
        return UserReply(said, "human in the editor")

    def _said(self, ending: Ending) -> str:
        """Return the next prompt; the one before it has ended so."""
        if self._words.empty():
            self._over(ending)
        return self._words.get()

    def _over(self, ending: Ending) -> None:
        if self.busy:
            self._turn.set_result(ending)

    def check(self) -> None:
        """Raise KeyboardInterrupt, as Ctrl-C does at a terminal, once the person has stopped the agent."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def watch(self, record: Record) -> None:
        """Tell the editor of a record."""
        if isinstance(record.event, LlmResponse):
            self.answers.append(record.event)
        for update in updates_of(record, self.project):
            self.tell(update)

    def tell(self, update: Update) -> None:
        """Send an update; it is on its way when this returns."""
        with contextlib.suppress(OSError, CancelledError, RuntimeError):
            self._asked(self._client.session_update(self.session_id, update)).result()

    def _asked(self, asking: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(asking, self._loop)

    def decide(self, request: ApprovalRequest) -> Decision:
        """Ask the person at the editor."""
        more = wider(request)
        call = request.id.partition(".result")[0]
        ask = ToolCallUpdate(tool_call_id=call, status="in_progress", content=shown(request, self.project))
        self.tell(acp.update_tool_call(call, status="in_progress", content=ask.content))
        self._question = self._asked(
            self._client.request_permission(self.session_id, ask, _options(request, more[0] if more else ""))
        )
        self.check()
        try:
            outcome = self._question.result().outcome
        except (acp.RequestError, OSError, CancelledError, RuntimeError, ValueError):  # or its answer is none
            self.check()
            return Decision("deny", "The editor could not ask.", "editor", of=request.digest)
        self.check()  # a stop counts, whatever was answered before it
        chosen = outcome.option_id if isinstance(outcome, AllowedOutcome) else ""
        if chosen == "always" and (scope := self.grants.widen(request)):
            return Decision("approve", "", "human in the editor", scope=scope, of=request.digest)
        return Decision("approve" if chosen == "once" else "deny", "", "human in the editor", of=request.digest)


def _stop_reason(ending: Ending, answers: Sequence[LlmResponse]) -> StopReason:
    """Return how a turn ended; only an agent whose attempts ran out leaves a page for a person."""
    if ending.outcome == "stopped":
        return "cancelled"
    if answers and answers[-1].stop_reason == "refusal":
        return "refusal"
    return "max_turn_requests" if ending.outcome == "gave_up" and ending.file else "end_turn"


def _options(request: ApprovalRequest, extent: str) -> list[PermissionOption]:
    risky = f" in spite of: {one_line('; '.join(request.risks), 200)}" if request.risks else ""
    options = [PermissionOption(option_id="once", name=f"Approve{risky}", kind="allow_once")]
    if extent:
        options.append(PermissionOption(option_id="always", name=f"Approve {extent}", kind="allow_always"))
    return [*options, PermissionOption(option_id="reject", name="Deny", kind="reject_once")]


class RailsAgent:
    """What the protocol asks of an agent."""

    def __init__(self, sessions: EditorSessions) -> None:
        self._sessions = sessions
        self._client: acp.Client | None = None
        self._open: dict[str, Conversation] = {}

    def on_connect(self, conn: acp.Client) -> None:
        """Take the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:  # noqa: ANN401
        """Say what this agent can."""
        able = AgentCapabilities(
            load_session=True,
            prompt_capabilities=PromptCapabilities(embedded_context=True),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(), resume=SessionResumeCapabilities(), close=SessionCloseCapabilities()
            ),
        )
        info = Implementation(name="ai-rails", title="AI-Rails", version=__version__)
        version = min(protocol_version, acp.PROTOCOL_VERSION)
        return acp.InitializeResponse(protocol_version=version, agent_capabilities=able, agent_info=info)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:  # noqa: ANN401
        """Begin a conversation; its log begins with the first prompt."""
        talk = self._begin(_folder(cwd), f"acp-{uuid.uuid4().hex}")
        return NewSessionResponse(
            session_id=talk.session_id, modes=self._modes(talk), config_options=self._options(talk)
        )

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:  # noqa: ANN401
        """Go on with a session: tell what was said and done in it. A session that is at work is loaded already."""
        talk, records = await self._reopened(cwd, session_id)
        for update in history_of(records, talk.project):
            await asyncio.to_thread(talk.tell, update)
        return LoadSessionResponse(modes=self._modes(talk), config_options=self._options(talk))

    async def resume_session(self, cwd: str, session_id: str, **_: Any) -> ResumeSessionResponse:  # noqa: ANN401
        """Go on with a session whose words the editor still has."""
        talk, _records = await self._reopened(cwd, session_id)
        return ResumeSessionResponse(modes=self._modes(talk), config_options=self._options(talk))

    async def _reopened(self, cwd: str, session_id: str) -> tuple[Conversation, list[Record]]:
        project = _folder(cwd)
        with _as_protocol_error():
            records = await asyncio.to_thread(self._sessions.records, project, session_id)
        if session_id not in self._open:
            self._begin(project, session_id)
        talk = self._at_rest(session_id)
        talk.begun = True
        return talk, records

    async def close_session(self, session_id: str, **_: Any) -> None:  # noqa: ANN401
        """Stop what the agent does in a session, and forget it here; it can be loaded again."""
        if talk := self._open.pop(session_id, None):
            talk.close()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:  # noqa: ANN401
        """List the last sessions of a project, the newest first."""
        project = _folder(cwd or str(Path.cwd()))
        found = await asyncio.to_thread(sessions, state_of(project))
        listed = [
            SessionInfo(session_id=one.session_id, cwd=str(project), title=one_line(one.task, 200), updated_at=one.last)
            for one in sorted(found, key=lambda one: one.last)[: -_LISTED - 1 : -1]
        ]
        return ListSessionsResponse(sessions=listed)

    async def set_config_option(
        self,
        config_id: str,
        session_id: str,
        value: Any,  # noqa: ANN401
        **_: Any,  # noqa: ANN401
    ) -> SetSessionConfigOptionResponse:
        """Choose the agent, the model, how it is asked, or who approves; what is chosen counts from the next prompt."""
        talk = self._at_rest(session_id)
        if config_id == "agent":
            await self.set_session_mode(session_id, value)
        elif value in self._choices(talk.project).get(config_id, ()):
            talk.chosen[config_id] = value
            await talk.pause()
        else:
            raise acp.RequestError(_INVALID, f"There is no such {one_line(config_id, 60)} to choose.")
        return SetSessionConfigOptionResponse(config_options=self._options(talk))

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> None:  # noqa: ANN401
        """Choose the agent of a conversation that has not begun."""
        talk = self._at_rest(session_id)
        if talk.begun:
            raise acp.RequestError(_INVALID, "The agent of a session stays. Begin a new one.")
        if mode_id not in self._sessions.agents(talk.project):
            raise acp.RequestError(_INVALID, f"There is no agent {one_line(mode_id, 60)}.")
        talk.agent = mode_id

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:  # noqa: ANN401
        """Let the agent work on what the person says."""
        talk = self._at_rest(session_id)
        with _as_protocol_error():
            words, opened = "\n\n".join(map(_words, prompt)), partial(self._sessions.open, talk)
            ending = await talk.prompt(words, opened)
        if ending.outcome in _FAILED:
            raise acp.RequestError(_FAULT, ending.message)
        if not is_good(ending.outcome) and ending.outcome not in ("stopped", "left"):
            await asyncio.to_thread(talk.tell, acp.update_agent_message_text(ending.message))
        return PromptResponse(stop_reason=_stop_reason(ending, talk.answers), usage=usage_of(talk.answers))

    async def cancel(self, session_id: str, **_: Any) -> None:  # noqa: ANN401
        """Stop what the agent does."""
        if talk := self._open.get(session_id):
            talk.stop()

    def close(self) -> None:
        """End every conversation."""
        for talk in self._open.values():
            talk.close()

    def _begin(self, project: Path, session_id: str) -> Conversation:
        assert self._client is not None, "who asks is connected"
        with _as_protocol_error():
            agents = self._sessions.agents(project)
        self._open[session_id] = Conversation(self._client, project, session_id, next(iter(agents)))
        return self._open[session_id]

    def _at_rest(self, session_id: str) -> Conversation:
        talk = self._open.get(session_id)
        if talk is None:
            raise acp.RequestError(_INVALID, "There is no such session. Begin or load one.")
        if talk.busy:
            raise acp.RequestError(_INVALID, "The agent is at work. Stop it, or wait for its answer.")
        return talk

    def _choices(self, project: Path) -> Mapping[str, Sequence[str]]:
        """Return what can be chosen for a session, what counts else first."""
        return {"agent": [*self._sessions.agents(project)], **self._sessions.choices(project)}

    def _options(self, talk: Conversation) -> list[Any]:
        """Return what can be chosen, each with what is chosen now."""
        now = {"agent": talk.agent, **self._sessions.given, **talk.chosen}
        return [
            SessionConfigOptionSelect(
                type="select",
                id=name,
                name=name,
                current_value=now.get(name, values[0]),
                options=[SessionConfigSelectOption(value=value, name=value) for value in values],
            )
            for name, values in self._choices(talk.project).items()
        ]

    def _modes(self, talk: Conversation) -> SessionModeState:
        agents = self._sessions.agents(talk.project)
        modes = [SessionMode(id=name, name=name, description=about) for name, about in agents.items()]
        return SessionModeState(current_mode_id=talk.agent, available_modes=modes)


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise acp.RequestError(_INVALID, f"{one_line(cwd)} is not a folder.")
    return folder.resolve()


@contextlib.contextmanager
def _as_protocol_error() -> Any:  # noqa: ANN401
    try:
        yield
    except acp.RequestError:
        raise
    except FAULT as error:
        raise acp.RequestError(_FAULT, _told(error)) from None


def _told(error: BaseException) -> str:
    if isinstance(error, RailsError | KeyboardInterrupt):
        return str(error)
    return f"AI-Rails itself failed: {type(error).__name__}. The session can be gone on with; ai-rails review shows it."


def _words(block: Any) -> str:  # noqa: ANN401 - any block of the protocol
    """Return a block of a prompt as text; what is no text is named."""
    resource = getattr(block, "resource", None)
    if text := getattr(block, "text", None) or getattr(resource, "text", None):
        where = getattr(resource, "uri", "")
        return f"{where}:\n{text}" if where else str(text)
    return f"[{block.type}: {one_line(str(getattr(block, 'uri', '') or getattr(resource, 'uri', '')), 300)}]"
