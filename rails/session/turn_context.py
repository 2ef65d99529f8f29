"""All that a turn needs, in one frozen value."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from rails.agents.prompt import Protocol
from rails.agents.template import Agent
from rails.approval.decision import Approver
from rails.core import limits, paths
from rails.core.builtin_tools import BUILTIN_TOOLS, WRITE_FILE
from rails.core.conversation import Message, ModelAnswer, TextDelta, ToolSpec, readable
from rails.core.errors import ModelError, WorkspaceError
from rails.core.events.base import Event
from rails.core.events.changes import GateVerdict
from rails.core.events.record import Record
from rails.core.text import sha256
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Author, Verdict
from rails.edits.apply import read_file
from rails.edits.stale import KnownFiles
from rails.gate.gate import Gate
from rails.models.model import Model
from rails.parsing.echoes import ReturnedTexts
from rails.session.session_sandbox import ContainedRuns
from rails.tools.registry import Registry

#: How far broken JSON may be repaired before it is refused: not at all, its syntax, or by asking the model.
Correction = Literal["off", "syntax", "model"]
#: Whether the project's tests run on what is proposed, before anybody is asked about it; "ask": as the person says.
TestsMode = Literal["ask", "on", "off"]


class TurnContext(Struct, frozen=True):
    """The agent and its tools, the project, the approver, and where events go.

    ``seen`` maps path to SHA-256 as the agent last saw it, so that others' later work is not overwritten; ``contents``
    keeps those bytes for a merge. ``from_project`` are the project's own tools. ``returned`` are tools' texts,
    ``given`` the SHA-256 and count by tool and parameters, to detect repeats.

    ``mask`` hides secrets; ``denied`` are digests. ``sent_back`` counts returns for tests and style. ``time_left`` is
    in seconds. ``talks``: a person converses, so what they interrupt
    is kept.
    """

    project: Path
    session_id: str
    agent: Agent
    system: str
    registry: Registry
    model: Model
    gate: Gate
    approver: Approver
    publish_as: Callable[[Event, str, str], Record]
    contained: ContainedRuns
    seen: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    tools: Sequence[ToolSpec] = ()
    from_project: frozenset[str] = frozenset()
    protocol: Protocol = "native"
    correction: Correction = "syntax"
    dialects: Sequence[str] = ()
    on_text: Callable[[str], object] = lambda _: None
    time_left: Callable[[], float] = lambda: math.inf
    mask: Callable[[str], str] = lambda text: text
    task: str = ""
    shown: set[str] = set()
    tests: TestsMode = "off"
    sent_back: Counter[str] = field(default_factory=Counter)
    denied: set[str] = set()
    given: dict[tuple[str, str], tuple[str, int]] = {}
    talks: bool = False
    wrote: list[ToolRequest] = []
    returned: ReturnedTexts = field(default_factory=ReturnedTexts)

    def publish(self, event: Event) -> Record:
        """Publish this agent's event; return its record."""
        return self.publish_as(event, self.agent.name, self.model.name)

    @property
    def known(self) -> KnownFiles:
        """Return what the agent knows of the files."""
        return KnownFiles(self.seen, self.contents)

    def saw(self, path: str, digest: str) -> None:
        """Note what the agent saw of a file; beyond a bound the oldest contents go."""
        self.seen[path] = digest
        data = self.content(path)
        if data is None or sha256(data) != digest:
            return
        self.contents.pop(digest, None)
        self.contents[digest] = data
        while sum(map(len, self.contents.values())) > limits.KNOWN_BYTES:
            del self.contents[next(iter(self.contents))]

    def gave(self, tool: str, parameters: str, text: str) -> int:
        """Note a look's result; return how often it was the same before."""
        known, times = self.given.get((tool, parameters), ("", -1))
        now = sha256(text.encode("utf-8", "surrogatepass"))
        times = times + 1 if known == now else 0
        self.given[tool, parameters] = now, times
        return times

    def showed(self, text: str, origin: str) -> None:
        """Note what a tool gave the agent."""
        self.returned.add(text, origin)

    def author(self, requests: Sequence[ToolRequest]) -> Author:
        """Return the author of a change for the gate."""
        return Author(self.task, self.agent.given_tests_only, frozenset(whole_files(requests)))

    def content(self, name: str) -> bytes | None:
        """Return a file's bytes, or None."""
        return content_of(self.project, name)

    def echo(self, request: ToolRequest) -> str:
        """Return a doubt where the agent had read the request in any form, or ""."""
        if request.raw is None:
            return ""
        if origin := self.returned.origin(request.raw.raw):
            return f"{request.tool_name}: this exact call was in {origin}."
        origin = self.returned.origin_of_parts(request.raw.tool_name, request.raw.parameters)
        return f"{request.tool_name}: the parts of this call were together in {origin}." if origin else ""

    def based(self, request: ToolRequest) -> ToolRequest:
        """Bind a request that replaces by place to the file as last seen."""
        path = request.parameters.get("file_path")
        known = self.seen.get(path, "") if isinstance(path, str) else ""
        tool = BUILTIN_TOOLS.get(request.tool_name)
        if not known or not (tool and tool.by_place) or "base_hash" in request.parameters:
            return request
        return replace(request, parameters={**request.parameters, "base_hash": known})


def whole_answer(
    model: Model,
    system: str,
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    time_left: Callable[[], float],
    *,
    heard: Callable[[str], object] = lambda _: None,
) -> ModelAnswer:
    """Return a model's answer; ``heard`` gets its text in pieces. Raises ModelError and TimeUpError."""
    from rails.models.in_time import in_time  # an answer that is applied asks no model

    stream = model.stream(system=system, messages=messages, tools=tools)
    for delta in in_time(stream, model.silence_s, time_left):
        if isinstance(delta, TextDelta):
            heard(delta.text)
            continue
        try:
            return readable(delta)
        except ValueError as error:
            raise ModelError(f"What came of the model is no answer ({error}). Nothing of it was run.") from error
    raise ModelError("The model's stream ended without an answer. Nothing of it was run.")


def whole_files(requests: Sequence[ToolRequest]) -> tuple[str, ...]:
    """Return the files of which requests send the whole text, each once."""
    whole = (request for request in requests if request.tool_name == WRITE_FILE.name)
    return tuple(dict.fromkeys(str(request.parameters.get("file_path")) for request in whole))


def content_of(project: Path, name: str) -> bytes | None:
    """Return the bytes of a project's file, or None."""
    path = paths.path_in(project, name)
    try:
        return read_file(project, path) if isinstance(path, paths.WorkspacePath) else None
    except (WorkspaceError, OSError):
        return None


def judged(publish: Callable[[Event], object], ids: tuple[str, ...], judge: Callable[[], Verdict]) -> Verdict:
    """Return the gate's verdict, logged with the time that it took."""
    started = time.monotonic()
    verdict = judge()
    publish(GateVerdict(ids, ms_since(started), verdict.proposal.diff(), verdict))
    return verdict


def ms_since(started: float) -> float:
    """Return the milliseconds since ``started`` (``time.monotonic``)."""
    return round((time.monotonic() - started) * 1000, 3)
