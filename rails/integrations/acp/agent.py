"""The agent that an editor starts: each editor session is one of ours, in its own thread, with the same log.

The first prompt is the task, others are follow-ups (:mod:`rails.session.agent_loop`). Approvals are asked in the
editor.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import re
import threading
import time
import uuid
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import acp
from acp.schema import (
    ClientCapabilities,
    ElicitationFormSessionMode,
    PermissionOption,
    StopReason,
    ToolCallUpdate,
    UsageUpdate,
)
from msgspec.structs import replace

from rails import __version__
from rails.approval.decision import ApprovalRequest, Choice, Decision
from rails.approval.policy.grants import Grants, wider
from rails.approval.policy.policy import PolicyApprover, load_policy
from rails.core import limits
from rails.core.builtin_tools import READ_FILE
from rails.core.conversation import Usage
from rails.core.errors import FAULT, RailsError, Refusal
from rails.core.events.changes import ExecutionStarted, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.turn import LlmResponse
from rails.core.outcomes import is_good
from rails.core.paths import exact_path, why_hidden
from rails.core.plain_file import real_path
from rails.core.restrictions import Restrictions
from rails.core.text import decode_text, one_line
from rails.integrations.acp.updates import Update, history_of, progress, shown, updates_of, usage_of
from rails.integrations.newest import newest_sessions
from rails.log.reader import session_ids
from rails.log.writer import SessionLog
from rails.session.ask_user import UserQuestion, UserReply
from rails.session.job import Ending
from rails.session.project import state_of
from rails.session.resume import ResumeState
from rails.session.run import Session
from rails.tools.mcp_import import with_servers
from rails.tools.registry import Mcp, Registry
from rails.tools.runners.command import watch_commands

T = TypeVar("T")
_POLL_S: Final = 0.01
#: Seconds between two updates of what a command prints, and the bytes of it that are shown.
_EVERY_S: Final = 0.5
_PRINTED: Final = 8_000
_INVALID = -32602
_FAULT = -32603
_FAILED: Final = ("model_failed", "internal_error", "error")
#: What an editor makes of an option: agents are its modes.
_CATEGORIES: Final = {"agent": "mode", "model": "model"}
_PERSON: Final = "human in the editor"
#: What an editor that cannot ask, or answers nonsense, comes to.
_NO_ANSWER: Final = (acp.RequestError, OSError, CancelledError, RuntimeError, ValueError)
#: An answer, as it goes over the wire.
_Answer = dict[str, Any]
_ABLE: Final = {
    "loadSession": True,
    "mcpCapabilities": {"http": True},
    "promptCapabilities": {"embeddedContext": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "fork": {}},
}


class EditorSessions(Protocol):
    """New or resumed sessions. All raise RailsError."""

    def choices(self, project: Path) -> Mapping[str, Sequence[str]]:
        """Return what may be chosen of agent, model and the other options, what holds first."""

    def open(self, talk: Conversation, task: str) -> tuple[Session, ResumeState | None]:
        """Open a session, or resume it if there is no task."""

    def records(self, project: Path, session_id: str) -> list[Record]:
        """Return a session's log."""


@dataclass(eq=False)
class Conversation:
    """An editor session, in its own thread."""

    sessions: EditorSessions
    client: acp.Client
    able: ClientCapabilities
    project: Path
    session_id: str
    #: The client's MCP servers, by name.
    servers: Sequence[tuple[str, Mcp]]
    #: What the person may choose of the options, what holds first.
    choices: Mapping[str, Sequence[str]]
    #: What the person has chosen of the options, by their names.
    chosen: dict[str, str] = field(default_factory=dict)
    grants: Grants = field(default_factory=Grants)
    #: What the model has answered since the last prompt.
    answers: list[LlmResponse] = field(default_factory=list)
    #: Whether its log has begun, whether its thread runs, and whether a prompt does.
    begun: bool = False
    working: bool = False
    busy: bool = False
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _window: int = 0
    _words: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)
    _turn: Future[Ending] = field(default_factory=Future)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _question: Future[Any] = field(default_factory=Future)
    #: The call whose command runs, the end of what it printed after a line end, and when that is sent (0: it is).
    _call: str = ""
    _printed: bytes = b""
    _due: float = 0.0

    async def prompt(self, blocks: Sequence[Any]) -> Ending:
        """Send a prompt's blocks to the agent; return how it ended."""
        self._stopped.clear()
        self.answers.clear()
        self._turn = Future()
        self.busy = True
        try:
            await _in_thread(self._hand_on, blocks)
            return await asyncio.wrap_future(self._turn)
        finally:
            self.busy = False

    def _hand_on(self, blocks: Sequence[Any]) -> None:
        opened = None
        try:
            words = "\n\n".join(map(self._text_of, blocks))
            self.check()
            if not self.working:
                opened = self.sessions.open(self, "" if self.begun else words)
        except KeyboardInterrupt:
            self._over(Ending("stopped", ""))
            return
        if self.begun:
            self._words.put(words)
        self.begun = self.working = True
        if opened:
            threading.Thread(target=self._run, args=opened, daemon=True, name=self.session_id).start()

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return self.chosen.get("agent", self.choices["agent"][0])

    def with_servers(self, registry: Registry, roles: Collection[str]) -> Registry:
        """Return the tools with those of the client's servers; report servers left out."""
        found, said = with_servers(registry, self.servers, self.project, roles, self.check)
        self.tell(*(acp.update_agent_message_text(f"{words}\n\n") for words in said))
        return found

    def stop(self) -> None:
        """Stop the agent; open questions stay unanswered."""
        self._stopped.set()
        self._question.cancel()

    def close(self) -> None:
        """End the thread; the session can be resumed."""
        self.stop()
        self._words.put("")

    async def pause(self) -> None:
        """End the thread between prompts; the next uses the new choices."""
        if self.working:
            self._words.put("")
        while self.working:
            await asyncio.sleep(_POLL_S)

    # -- in the session's thread -------------------------------------------------------------------

    def _run(self, session: Session, standing: ResumeState | None) -> None:
        session.talk = self._said
        self._window = session.model_for(self.agent).window
        watch_commands(partial(self._heard, session.log.masked))
        try:
            with session.log:
                ending = session.run(standing)
        except (*FAULT, KeyboardInterrupt) as error:  # a prompt always has an end
            ending = Ending("internal_error", _told(error) or "The session was stopped.")
        self.working = False
        self._over(ending)

    def answer(self, question: UserQuestion) -> UserReply:
        """Put an agent's question as a form, if the editor can and the person fills it in.

        Else it ends the prompt, and the next one is the answer; "" if the editor is gone.
        """
        if question.about != "question":
            return UserReply(question.otherwise, "default")
        meanings = {number: meaning for number, (_, meaning) in question.choices.items()}
        said = self._filled_in("\n".join(question.lines), meanings)
        if not said:
            options = (f"[{number}] {meaning}" for number, meaning in meanings.items())
            said = self._said(Ending("asked", "\n".join((*question.lines, *options))))
        if not said:
            self._words.put("")  # it ends the conversation as well
        return UserReply(said, _PERSON)

    def _filled_in(self, words: str, meanings: Mapping[str, str]) -> str:
        if not self.able.elicitation or not self.able.elicitation.form:
            return ""
        options = [{"const": number, "title": meaning} for number, meaning in meanings.items()]
        answer = {"type": "string", "title": "Answer", "oneOf": options or None}
        wanted = {"properties": {"answer": answer}, "required": ["answer"]}
        form = ElicitationFormSessionMode.model_validate({"sessionId": self.session_id, "requestedSchema": wanted})
        filled = self._answered(self.client.create_elicitation(words, form))
        content = getattr(filled, "content", None) or {}
        return str(content.get("answer", "")).strip()

    def _said(self, ending: Ending) -> str:
        if self._words.empty():
            self._over(ending)
        return self._words.get()

    def _over(self, ending: Ending) -> None:
        if not self._turn.done():
            self._turn.set_result(ending)

    def check(self) -> None:
        """Raise KeyboardInterrupt once the person has stopped the agent."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def _heard(self, masked: Callable[[str], str], chunk: bytes, _: bool) -> None:
        """Send the last entire lines of what a command prints; a stop ends it."""
        self.check()
        self._printed = (self._printed + chunk)[-_PRINTED:]
        if chunk and not self._due:
            self._due = time.monotonic() + _EVERY_S
        if self._call and 0 < self._due <= time.monotonic():
            self._due = 0.0
            lines = self._printed.partition(b"\n")[2].rpartition(b"\n")[0]
            words = masked(lines.decode("utf-8", "replace"))
            self.tell(*progress((self._call,), words, "in_progress"))

    def watch(self, record: Record) -> None:
        """Send a record to the editor."""
        if isinstance(record.event, ExecutionStarted):
            self._call = record.event.ids[0]
            self._printed = b"\n"
        elif isinstance(record.event, ToolExecutionResult):
            self._call = ""
        elif isinstance(record.event, LlmResponse):
            self.answers.append(record.event)
            if self._window:
                used = usage_of([record.event])["totalTokens"]
                self.tell(UsageUpdate(session_update="usage_update", used=used, size=self._window))
        self.tell(*updates_of(record, self.project))

    def tell(self, *updates: Update) -> None:
        """Send updates; sent when this returns."""
        with contextlib.suppress(OSError, CancelledError, RuntimeError):
            for update in updates:
                self._asked(self.client.session_update(self.session_id, update)).result()

    def _answered(self, asking: Coroutine[Any, Any, T]) -> T | None:
        """Return the editor's answer, None if it cannot. Raises KeyboardInterrupt once the person has stopped."""
        asked = self._asked(asking)
        self._question = asked
        try:
            self.check()
            return asked.result()
        except _NO_ANSWER:
            return None
        finally:
            self.check()  # a stop counts, whatever was answered before it

    def _asked(self, asking: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(asking, self._loop)

    def decide(self, request: ApprovalRequest) -> Decision:
        """Ask in the editor."""
        if unsaved := ", ".join(self._unsaved(request)):
            said = f"{unsaved}: unsaved changes in your editor, which are not part of what is written."
            request = replace(request, risks=(said, *request.risks))
        more = wider(request)
        call = request.id.partition(".result")[0]
        ask = ToolCallUpdate(tool_call_id=call, status="in_progress", content=shown(request, self.project))
        options = _options(request, more[0] if more else "")
        answered = self._answered(self.client.request_permission(self.session_id, ask, options))
        if answered is None:
            return Decision("deny", "The editor could not ask.", "editor", of=request.digest)
        chosen = getattr(answered.outcome, "option_id", "")
        scope = self.grants.widen(request) if chosen == "always" else "once"
        answer: Choice = "approve" if scope and chosen in ("once", "always") else "deny"
        return Decision(answer, "", _PERSON, scope=scope or "once", of=request.digest)

    def _unsaved(self, request: ApprovalRequest) -> Iterator[str]:
        for change in request.changes.changes:
            here = decode_text(change.before or b"")
            theirs = self._shown(str(change.path))
            if here and theirs is not None and here.text.splitlines() != theirs.splitlines():
                yield str(change.path)

    def _shown(self, path: str) -> str | None:
        """Return a file as the editor has it, or None: a file that it cannot read is in no window."""
        if not (self.able.fs and self.able.fs.read_text_file):
            return None
        read = self._answered(self.client.read_text_file(self.session_id, str(self.project / path)))
        return read.content if read else None

    def _text_of(self, block: Any) -> str:  # noqa: ANN401 - any block of the protocol
        """Return a block as text; a linked project file as in the editor, if the agent may read it."""
        resource = getattr(block, "resource", block)
        text = getattr(resource, "text", "")
        where = getattr(resource, "uri", "") or ""
        name = where
        if place := _file_in(where):
            name = os.path.relpath(self.project / place, self.project)
            if why := self._closed(name):
                return f"[{one_line(where, 300)} is not sent: {why}]"
            if resource is block:
                text = (self._shown(name) or text)[: limits.FILE_BYTES]
        if not text:
            return f"[{block.type}: {one_line(name, 300)}]"
        return f"{where}:\n{text}" if where else str(text)

    def _closed(self, name: str) -> str:
        """Return why the agent may not read a file, by the rule of read_file, or ""."""
        path = exact_path(name)
        if isinstance(path, Refusal):
            return str(path)
        if real_path(self.project / name) != self.project / name:
            return "it is a link"
        why = why_hidden(path) or Restrictions.of(self.project).reason(name)
        rules = PolicyApprover(load_policy(self.project), self)
        return why or rules.keeps_back(self.agent, name, (READ_FILE.name,))


def _stop_reason(ending: Ending, answers: Sequence[LlmResponse]) -> StopReason:
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
    """The agent side of the protocol."""

    _client: acp.Client

    def __init__(self, sessions: EditorSessions) -> None:
        self._sessions = sessions
        self._able = ClientCapabilities()
        self._open: dict[str, Conversation] = {}

    def on_connect(self, conn: acp.Client) -> None:
        """Take the client."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        **_: Any,  # noqa: ANN401
    ) -> _Answer:
        """Return the capabilities."""
        self._able = client_capabilities or self._able
        return {
            "protocolVersion": min(protocol_version, acp.PROTOCOL_VERSION),
            "agentCapabilities": _ABLE,
            "agentInfo": {"name": "ai-rails", "title": "AI-Rails", "version": __version__},
        }

    async def new_session(self, cwd: str, **more: Any) -> _Answer:  # noqa: ANN401
        """Begin a conversation; the log starts at the first prompt."""
        name = f"acp-{uuid.uuid4().hex}"
        talk = await self._begin(_folder(cwd), name, more)
        return {"sessionId": name, **self._options(talk)}

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> _Answer:  # noqa: ANN401
        """Resume and replay a session; a running one is loaded already."""
        talk, records = await self._reopened(cwd, session_id, more)
        await _in_thread(talk.tell, *history_of(records, talk.project))
        return self._options(talk)

    async def resume_session(self, cwd: str, session_id: str, **more: Any) -> _Answer:  # noqa: ANN401
        """Resume a session without replay."""
        talk, _ = await self._reopened(cwd, session_id, more)
        return self._options(talk)

    async def fork_session(self, cwd: str, session_id: str, **more: Any) -> _Answer:  # noqa: ANN401
        """Begin a session with another's history; that stays unchanged."""
        project = _folder(cwd)
        name = f"acp-{uuid.uuid4().hex}"
        if session_id in self._open:
            await self._at_rest(session_id).pause()
        await _in_thread(self._copy, project, session_id, name)
        talk = await self._begin(project, name, more)
        talk.begun = True
        return {"sessionId": name, **self._options(talk)}

    def _copy(self, project: Path, session_id: str, name: str) -> None:
        state = state_of(project)
        with SessionLog.reopen(state, session_id), SessionLog.create(state, session_id=name) as log:
            for record in self._sessions.records(project, session_id):
                event: Any = record.event
                if getattr(event, "usage", None):
                    event = replace(event, usage=Usage())
                log.append(event, record.agent_role, record.llm_model_used)

    async def _reopened(self, cwd: str, session_id: str, more: Mapping[str, Any]) -> tuple[Conversation, list[Record]]:
        project = _folder(cwd)
        # One that nobody has said anything in has no log yet.
        unsaid = re.fullmatch("acp-[0-9a-f]{32}", session_id) and session_id not in session_ids(state_of(project))
        records = [] if unsaid else await _in_thread(self._sessions.records, project, session_id)
        if session_id not in self._open:
            await self._begin(project, session_id, more)
        talk = self._at_rest(session_id)
        talk.begun = bool(records)
        return talk, records

    async def close_session(self, session_id: str, **_: Any) -> None:  # noqa: ANN401
        """Stop and forget a session; it can be loaded again."""
        if talk := self._open.pop(session_id, None):
            talk.close()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> _Answer:  # noqa: ANN401
        """List a project's last sessions, newest first."""
        project = _folder(cwd or str(Path.cwd()))
        cwd = str(project)
        listed = [
            {"sessionId": one.session_id, "cwd": cwd, "title": one_line(one.task, 200), "updatedAt": one.last}
            for one in await _in_thread(newest_sessions, project)
        ]
        return {"sessions": listed}

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **_: Any) -> _Answer:  # noqa: ANN401
        """Choose agent, model, protocol or approval, from the next prompt on."""
        talk = self._at_rest(session_id)
        if value not in talk.choices.get(config_id, ()):
            raise acp.RequestError(_INVALID, f"There is no such {one_line(config_id, 60)} to choose.")
        if config_id == "agent" and talk.begun:
            raise acp.RequestError(_INVALID, "The agent of a session stays. Begin a new one.")
        talk.chosen[config_id] = value
        await talk.pause()
        return self._options(talk)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> _Answer:  # noqa: ANN401
        """Let the agent work."""
        talk = self._at_rest(session_id)
        ending = await talk.prompt(prompt)
        if ending.outcome in _FAILED:
            raise acp.RequestError(_FAULT, ending.message)
        if not is_good(ending.outcome) and ending.outcome not in ("stopped", "left"):
            await asyncio.to_thread(talk.tell, acp.update_agent_message_text(ending.message))
        return {"stopReason": _stop_reason(ending, talk.answers), "usage": usage_of(talk.answers)}

    async def cancel(self, session_id: str, **_: Any) -> None:  # noqa: ANN401
        """Stop the agent."""
        if talk := self._open.get(session_id):
            talk.stop()

    def close(self) -> None:
        """End every conversation."""
        for talk in self._open.values():
            talk.close()

    async def _begin(self, project: Path, session_id: str, more: Mapping[str, Any]) -> Conversation:
        choices = await _in_thread(self._sessions.choices, project)
        servers = [(one.name, _server(one)) for one in more.get("mcp_servers") or ()]
        talk = Conversation(self._sessions, self._client, self._able, project, session_id, servers, choices)
        self._open[session_id] = talk
        return talk

    def _at_rest(self, session_id: str) -> Conversation:
        talk = self._open.get(session_id)
        if talk is None:
            raise acp.RequestError(_INVALID, "There is no such session. Begin or load one.")
        if talk.busy:
            raise acp.RequestError(_INVALID, "The agent is at work. Stop it, or wait for its answer.")
        return talk

    def _options(self, talk: Conversation) -> _Answer:
        options = []
        for name, values in talk.choices.items():
            choices = [{"value": value, "name": value} for value in values]
            one = {"type": "select", "id": name, "name": name, "options": choices, "category": _CATEGORIES.get(name)}
            options.append({**one, "currentValue": talk.chosen.get(name, values[0])})
        return {"configOptions": options}


def _file_in(uri: str) -> str:
    """Return the file's path in a URI, also in a mention of Zed's own, or ""."""
    with contextlib.suppress(ValueError):
        link = urlsplit(uri)
        return unquote(link.path) if link.scheme in ("", "file") else parse_qs(link.query).get("path", [""])[0]
    return ""


def _server(given: Any) -> Mcp:  # noqa: ANN401 - any kind of the protocol
    """Return a client's server; an unsupported kind has no program."""
    program = (getattr(given, "command", ""), *getattr(given, "args", ()))
    pairs = {one.name: one.value for one in getattr(given, "env", getattr(given, "headers", ()))}
    return Mcp(getattr(given, "url", ""), program, pairs, pairs)


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise acp.RequestError(_INVALID, f"{one_line(cwd)} is not a folder.")
    return folder.resolve()


async def _in_thread(work: Callable[..., T], *given: Any) -> T:  # noqa: ANN401
    """Return what ``work`` does in a thread of its own; an error is one of the protocol."""
    try:
        return await asyncio.to_thread(work, *given)
    except FAULT as error:
        raise acp.RequestError(_FAULT, _told(error)) from None


def _told(error: BaseException) -> str:
    if isinstance(error, RailsError | KeyboardInterrupt):
        return str(error)
    return f"AI-Rails itself failed: {type(error).__name__}. The session can continue; ai-rails review shows it."
