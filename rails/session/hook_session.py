"""A session whose agent is another program: it writes by itself; its proposals are judged and logged here.

An integration calls ``propose`` before a write, ``look`` after one and at the end; each change found is an undoable
step.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from rails.approval.policy.places import may_have_policy
from rails.core import atomic_file, limits, paths
from rails.core.changes import ChangeSet, FileChange
from rails.core.conversation import Message, ModelAnswer, NativeCall
from rails.core.errors import FAULT, LogBusyError, RailsError
from rails.core.events.base import Event
from rails.core.events.changes import ChangePlanned, CheckpointEvent, ToolExecutionResult, changes_in_words
from rails.core.events.session import AgentEngage, ErrorEvent, WorkflowEnd
from rails.core.events.turn import FeedbackSent, LlmCall, LlmResponse, McpRequestFormulated
from rails.core.text import one_line, sha256
from rails.core.tool_request import Json, RawRequest
from rails.core.verdict import Verdict
from rails.edits.apply import record_written
from rails.edits.checkpoint_commits import StepFacts
from rails.gate.gate import Gate
from rails.git.revisions import EMPTY_TREE
from rails.log.files import SESSION_ID
from rails.log.writer import SessionLog
from rails.session.job import SessionJob, log_session_start
from rails.session.project import state_of
from rails.session.project_changes import Changed, ProjectChanges, ProjectSnapshot
from rails.session.turn_context import judged

#: Where the state of hosted sessions is, in the project's state folder.
FOLDER: Final = "hosted"
#: Tries to get the log while another process is just leaving it.
_LOG_SECONDS: Final = 5.0
#: How many contents that passed are remembered.
_MOST_PASSED: Final = 1_000
#: How many of the sentences that are said once are remembered.
_MOST_ONCE: Final = 200


class HostCall(msgspec.Struct, frozen=True):
    """A tool call of the host's model."""

    id: str
    tool: str
    input: Mapping[str, Json]


class Judged(msgspec.Struct, frozen=True):
    """A verdict, and why a policy rule denies it ("": none does)."""

    verdict: Verdict
    denied: str = ""


class FoundOnDisk(msgspec.Struct, frozen=True):
    """The verdict on changes since a snapshot; what was not judged."""

    verdict: Verdict | None = None
    unknown: Mapping[str, str] = {}
    denied: str = ""


class _State(msgspec.Struct):
    turns: int = 0
    began: float = msgspec.field(default_factory=time.time)
    start: ProjectSnapshot = ProjectSnapshot()
    #: The last content seen of each file that changed since the start, ``None`` for one that is gone.
    seen: dict[str, str | None] = {}
    #: The last contents for which the gate had a verdict without findings: as it proposed them, and as they came.
    passed: list[tuple[str, str | None]] = []
    stops: int = 0
    #: The digest of what the model was told last.
    told: str = ""
    #: The digests of what is said at most once a session.
    once: list[str] = []


class HostedSession:
    """An open session of ``host``, an agent's name; close it in the end.

    Raises RailsError when the log cannot be opened or written.
    """

    def __init__(
        self,
        project: Path,
        gate: Gate,
        host: str,
        session: str,
        *,
        model: str = "",
    ) -> None:
        name = f"{host}-{session}"
        if not SESSION_ID.fullmatch(name):
            name = f"{host}-{sha256(session.encode('utf-8', 'replace'))[:32]}"
        self.project = project
        self.gate = gate
        self.host = host
        self.name = name
        self.model = model
        self._task = f"what {host} was asked to do"
        self._log: SessionLog | None = None
        self._folder = state_of(project) / FOLDER / name
        self._disk = ProjectChanges(project, self._folder / "contents")
        known = _read_state(self._folder / "state.json")
        self._state = known or _State(start=self._disk.take())
        if known is None:
            self._save()

    def propose(self, call: HostCall, changes: ChangeSet) -> Judged:
        """Judge what a call would write."""
        self._turn(call)
        self.publish(ChangePlanned((call.id,), changes.files(), ()))
        verdict = self._judged(call.id, changes, final=False)
        denied = self._denied(call.id, verdict)
        if verdict.status == "pass" and not denied:
            # What came counts, too, if it lacks formatting at most; what was fixed in it is told once it is written.
            passed = [*verdict.proposal.changes]
            if all(one.rule == "format" for one in verdict.fixed):
                passed += changes.changes
            noted = {found.path for found in verdict.findings}  # what is unused now is judged again at the end
            self._passed([change for change in passed if str(change.path) not in noted])
        self._save()
        return Judged(verdict, denied)

    def denied(self, call_id: str, named: ChangeSet) -> str:
        """Return why policy denies any change of these files, or ""."""
        return self._denied(call_id, Verdict("pass", named)) if named.changes else ""

    def _denied(self, call_id: str, verdict: Verdict) -> str:
        try:
            if not may_have_policy(self.project):
                return ""
            from rails.approval.decision import request_for_changes  # the first call of a host waits for every import
            from rails.approval.policy.policy import load_policy
            from rails.approval.policy.rules import Circumstances

            policy = load_policy(self.project)
        except FAULT as error:  # what cannot be read may hold a rule that denies
            return one_line(f"policy.toml or .rails.toml cannot be read: {error}", 1_000)
        asked = request_for_changes(call_id, self.host, (), verdict, model=self.model)
        judgement = policy.judge(asked, Circumstances(self.model, interactive=True))
        return f"A rule of the policy denies it: {judgement.why}" if judgement.ruling == "deny" else ""

    def told(self, text: str, *, codes: Sequence[str] = ("gate",)) -> bool:
        """Note words for the model; return whether new."""
        digest = sha256(text.encode())
        if digest == self._state.told:
            return False
        self._state.told = digest
        self._save()
        self.publish(FeedbackSent(f"Told {self.host}", text, None, 0, 0, tuple(codes)))
        return True

    def is_first(self, text: str) -> bool:
        """Return whether the session says this first."""
        digest = sha256(text.encode())
        known = digest in self._state.once
        self._state.once = [*self._state.once[-_MOST_ONCE:], digest]
        return not known

    def failed(self, error: str) -> None:
        """Note an internal error; the next :meth:`look` judges what was missed."""
        self.publish(ErrorEvent(f"Not judged: {one_line(error, 300)}", error))

    def look(self, call: HostCall | None = None) -> FoundOnDisk:
        """Record writes since the last look, and judge what differs from the session's start.

        Unproposed writes are the turn of ``call``; unused names are no findings then. ``None``: the host's end.
        Contents that passed are not judged again.
        """
        found = self._disk.since(self._state.start)
        if denied := self.denied("", ChangeSet(found.changes)):
            files = [str(change.path) for change in found.changes if self.denied("", ChangeSet((change,)))]
            denied = f"{', '.join(files)}: {denied}"
        found = self._without_others(found)
        self._record(found, call)
        waiting = [change for change in found.changes if change.after is None or not self._has_passed(change)]
        verdict = None
        if any(change.after is not None for change in waiting):
            from rails.gate.approved_state import is_configuration

            # Changed configuration is judged by the last commit's: no change excuses itself.
            head = self._state.start.head
            own = head not in ("", EMPTY_TREE) and any(is_configuration(str(change.path)) for change in waiting)
            base = head if own else None
            verdict = self._judged("", ChangeSet(tuple(waiting)), base=base, fix=False, final=call is None)
            failing = {finding.path for finding in verdict.findings} | {miss.path for miss in verdict.not_checked}
            self._passed([change for change in waiting if str(change.path) not in failing])
        self._save()
        unknown = {name: why for name, why in found.unknown.items() if not self._is_accounted_for(name)}
        return FoundOnDisk(verdict, unknown, denied)

    def _is_accounted_for(self, name: str) -> bool:
        if self._state.start.files.get(name) == "":
            return True
        target = Path(os.path.realpath(self.project / name))
        within = target.relative_to(self.project).parts if target.is_relative_to(self.project) else (".git",)
        return (self.project / name).is_symlink() and target.exists() and not {".git", ".rails"} & {*within}

    def stopped(self, *, again: bool) -> int:
        """Return how often in a row the host's end was held up; ``again``: it continues from one."""
        if not again:
            self._state.stops = 0
        self._state.stops += 1
        self._save()
        return self._state.stops - 1

    def end(self, why: str) -> None:
        """Forget contents; the log stays."""
        self.publish(WorkflowEnd(f"{self.host} ended: {one_line(why, 100)}", "done"))
        from shutil import rmtree  # which the first verdict does without

        rmtree(self._folder, ignore_errors=True)

    # -- the log ---------------------------------------------------------------------------------

    def engage(self, prompt: str) -> None:
        """Log a person's prompt to the host."""
        self._task = one_line(prompt, 1_000) or self._task
        self.publish(AgentEngage(self.host, self._task, prompt, "", ()))

    def _turn(self, call: HostCall) -> None:
        """Log one call of the host's model."""
        self._state.turns += 1
        name = one_line(call.tool, 60)
        native = NativeCall(call.id, call.tool, json.dumps(dict(call.input), ensure_ascii=False))
        answer = ModelAnswer(Message("assistant", (native,)), "tool_use", model=self.model)
        self.publish(LlmCall(f"{self.host} asks for {name}", 0, self._state.turns))
        self.publish(LlmResponse.of(f"{self.host}: {name}", answer))
        self.publish(McpRequestFormulated(RawRequest(call.id, call.tool, dict(call.input), dialect="native")))

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

    def _judged(self, call_id: str, changes: ChangeSet, **how: Any) -> Verdict:  # noqa: ANN401 - what the gate takes
        ids = (call_id,) if call_id else ()
        return judged(self.publish, ids, partial(self.gate.judge, changes, agent=self.host, **how))

    # -- what is on the disk -----------------------------------------------------------------------

    def _record(self, found: Changed, call: HostCall | None) -> None:
        steps = list(self._steps(found))
        if not all(map(self._has_passed, steps)):
            self._turn(call or HostCall("", "something else than an edit", {}))
        for start in range(0, len(steps), limits.FILES_PER_CHANGE):
            part = ChangeSet(tuple(steps[start : start + limits.FILES_PER_CHANGE]))
            title = changes_in_words(part.files())
            try:
                applied = record_written(part, self.project, StepFacts(self.name, f"{self.host}: {title}"))
            except RailsError as error:
                self.publish(ErrorEvent("What was written is not in the history", str(error)))
                continue
            said = f"{title}, by {self.host}"
            facts = {"diff": part.diff()}
            self.publish(
                ToolExecutionResult(ids=(), ok=True, text=said, changes=part.files(), facts=facts, duration_ms=0.0)
            )
            paths_written = tuple(str(change.path) for change in part.changes)
            self.publish(CheckpointEvent(f"step {applied.step}: {title}", applied.step, paths_written))
            for change in part.changes:
                self._state.seen[str(change.path)] = None if change.after is None else self._disk.keep(change.after)

    def _steps(self, found: Changed) -> Iterator[FileChange]:
        """Yield what differs from the content seen last, also where a file is again as it was at the start."""
        now = {str(change.path): change for change in found.changes}
        seen = self._state.seen
        for name in dict.fromkeys((*now, *seen)):
            path = paths.exact_path(name)
            if name in found.unknown or not isinstance(path, paths.WorkspacePath) or paths.forbidden(path):
                continue
            data = None if name in now else self._disk.now(path)
            change = now.get(name) or FileChange(path, data, data)
            if name in seen:
                digest = seen[name]
                if digest == change.after_sha256:
                    continue
                change = replace(change, before=self._disk.kept(digest) if digest else None)
            if change.before != change.after:
                yield change

    def _without_others(self, found: Changed) -> Changed:
        files = self._folder.parent.glob("*/state.json")
        states = (_read_state(file, self._state.began) for file in files if file.parent != self._folder)
        others = {written for known in states if known for written in known.seen.items()}
        mine = []
        for change in found.changes:
            name = str(change.path)
            if (name, change.after_sha256) not in others or self._has_passed(change):
                mine.append(change)
                continue
            self._state.start.files[name] = None if change.after is None else self._disk.keep(change.after)
            self._state.seen.pop(name, None)
        return replace(found, changes=tuple(mine))

    def _passed(self, changes: Sequence[FileChange]) -> None:
        passed = [(str(change.path), change.after_sha256) for change in changes if change.after is not None]
        self._state.passed = [*self._state.passed, *passed][-_MOST_PASSED:]

    def _has_passed(self, change: FileChange) -> bool:
        return (str(change.path), change.after_sha256) in self._state.passed

    def _save(self) -> None:
        atomic_file.replace_file(self._folder / "state.json", msgspec.json.encode(self._state), durable=False)


def _read_state(file: Path, since: float = 0) -> _State | None:
    """Return a session's state, None for one in which nothing happened ``since``."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_State) if file.stat().st_mtime >= since else None
    except (OSError, ValueError):
        return None
