"""Shared by all hosts: the call, the result, the output.

A host's module (:mod:`~rails.integrations.hooks.claude_code`, :mod:`~rails.integrations.hooks.codex`) converts its
JSON; :mod:`~rails.integrations.hooks.handle` judges.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol

from msgspec import Struct, field

from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import RailsError, Refusal
from rails.core.paths import WorkspacePath, exact_path
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.gate.support.read_file import read_from_disk
from rails.integrations.daemon.place import HookAnswer

#: When a host calls: its session begins, a person has typed, before and after a tool, after all tools of an answer, at
#: the end of an answer, its session ends.
HookEvent = Literal["start", "prompt", "before", "after", "batch", "stop", "end"]

#: The events that we have a use for, by the names that hosts give them.
_EVENTS: Final[Mapping[str, HookEvent]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "PreToolUse": "before",
    "BeforeTool": "before",
    "PostToolUse": "after",
    "AfterTool": "after",
    "PostToolBatch": "batch",
    "Stop": "stop",
    "SubagentStop": "stop",
    "AfterAgent": "stop",
    "SessionEnd": "end",
}

#: What hosts call the texts of a call.
_FIELDS: Final = {
    "session": "session_id",
    "model": "model",
    "tool": "tool_name",
    "call_id": "tool_use_id",
    "prompt": "prompt",
}
#: How much of each of them is kept, also of a prompt.
_TEXT_CHARS: Final = 100_000


class HookCall(Struct, frozen=True):
    """A host's call. ``again``: the host only goes on because a hook blocked its end."""

    host: str
    event: HookEvent
    session: str
    folder: Path
    model: str = ""
    tool: str = ""
    input: Mapping[str, Json] = field(default_factory=dict)
    call_id: str = ""
    again: bool = False
    prompt: str = ""
    #: What the host calls the event.
    named: str = ""


class HookResult(Struct, frozen=True):
    """Our result; empty: the host goes on silently.

    ``deny`` stops a tool; ``block`` holds an end or reports written files; ``rewritten``: the new input; ``context`` is
    for the model, ``notice`` for the person.
    """

    deny: str = ""
    block: str = ""
    rewritten: dict[str, Json] | None = None
    context: str = ""
    notice: str = ""


class UnjudgedError(RailsError):
    """Why a proposal cannot be judged before the write; it is judged after."""


_HOSTS: Final = ("claude-code", "codex", "gemini")


class Host(Protocol):
    """A host's module."""

    def named_files(self, call: HookCall, project: Path) -> Iterator[FileChange]:
        """Yield a :func:`named_change` for each file that the tool names."""

    def proposed(self, call: HookCall, project: Path) -> ChangeSet | None:
        """Return what the tool would write, or None. Raises UnjudgedError."""

    def printed(self, call: HookCall, result: HookResult) -> HookAnswer:
        """Return the output."""


def host_of(name: str) -> Host:
    """Return a host's module; imports only that one. Raises ValueError for an unknown one."""
    if name not in _HOSTS:
        raise ValueError("this host is not known")
    module: Host = importlib.import_module(f"rails.integrations.hooks.{name.replace('-', '_')}")
    return module


def read_hook_call(host: str, data: bytes, folder: str) -> HookCall | None:
    """Return the call in a host's input, or None for an ignored event. Raises ValueError for invalid JSON.

    ``folder``: the project, where the host names it beside its input.
    """
    try:
        payload = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(payload, dict):
        raise ValueError("the input is not a JSON object")
    # A host whose input has another form reads it by itself.
    call_of = getattr(host_of(host), "call_of", hook_call)
    return call_of(host, payload, folder)


def hook_call(host: str, payload: Mapping[str, Json], folder: str = "") -> HookCall | None:
    """Return the call of an input with the usual field names, None for an unknown event."""
    named = host_text(payload.get("hook_event_name"))
    event = _EVENTS.get(named)
    if event is None:
        return None
    texts = {name: host_text(payload.get(key))[:_TEXT_CHARS] for name, key in _FIELDS.items()}
    return HookCall(
        host=host,
        event=event,
        folder=Path(folder or host_text(payload.get("cwd"))),
        input=host_object(payload.get("tool_input")),
        again=payload.get("stop_hook_active") is True,
        named=named,
        **texts,
    )


def path_in_project(name: str, call: HookCall, project: Path) -> WorkspacePath | None:
    """Return a named path in ``project``, None if outside. Raises UnjudgedError for one that is not allowed.

    Links are followed in the folder, not the file; that is the gate's to refuse.
    """
    try:
        inside = _named(name, call).relative_to(os.path.realpath(project))
    except (ValueError, OSError):
        return None
    path = exact_path(inside.as_posix())
    if isinstance(path, Refusal):
        raise UnjudgedError(str(path))
    return path


def _named(name: str, call: HookCall) -> Path:
    """Return a file's place, links of its folder resolved; ``~`` is the home."""
    place = call.folder / os.path.expanduser(name)  # noqa: PTH111 - that of pathlib raises where there is no home
    return Path(os.path.realpath(place.parent), place.name)


def named_change(name: str, call: HookCall, project: Path, *, gone: bool = False) -> Iterator[FileChange]:
    """Yield stand-ins for a change with unknown content: the named path and where it leads."""
    root = os.path.realpath(project)
    with contextlib.suppress(OSError, ValueError):
        place = _named(name.strip(), call)
        for real in dict.fromkeys((place, Path(os.path.realpath(place)))):
            if real.is_relative_to(root):
                path = WorkspacePath(real.relative_to(root).as_posix())
                before = b"1\n" if os.path.lexists(real) else None
                yield FileChange(path, before, None if gone and before else b"2\n")


def now_on_disk(name: str, call: HookCall, project: Path) -> tuple[WorkspacePath, bytes | None, int] | None:
    """Return a file's path, bytes (None: missing) and permission bits; None if outside.

    Raises UnjudgedError for what cannot be read.
    """
    path = path_in_project(name, call, project)
    if path is None:
        return None
    if not os.path.lexists(project / path.text):
        return path, None, 0o644
    read = read_from_disk(project, path)
    if isinstance(read, str):
        raise UnjudgedError(f"{path}: {read}")
    return path, *read


def host_text(value: Json | None) -> str:
    """Return a text, "" for anything else."""
    return value if isinstance(value, str) else ""


def host_object(value: Json | None) -> Mapping[str, Json]:
    """Return an object, {} for anything else."""
    return value if isinstance(value, dict) else {}


def host_list(value: Json | None) -> list[Json]:
    """Return a list, [] for anything else."""
    return value if isinstance(value, list) else []


def specific_answer(call: HookCall, value: Mapping[str, Json], specific: Mapping[str, Json]) -> HookAnswer:
    """Return one line of JSON, with what is only for the call's event; "" and None are left out, {} prints nothing."""
    said, own = ({name: part for name, part in one.items() if part not in ("", None)} for one in (value, specific))
    if own:
        said["hookSpecificOutput"] = {"hookEventName": call.named, **own}
    return HookAnswer(json.dumps(said, ensure_ascii=False, separators=(",", ":")) if said else "")


def usual_answer(
    call: HookCall, result: HookResult, blocks: Sequence[HookEvent], tells: Sequence[HookEvent]
) -> HookAnswer:
    """Return the answer to a host that may be blocked at some events, and tells its model at others."""
    block = result.block if call.event in blocks else ""
    told = result.context if block else result.block or result.context
    return specific_answer(
        call,
        {"systemMessage": result.notice, "decision": block and "block", "reason": block},
        {
            "permissionDecision": result.deny and "deny",
            "permissionDecisionReason": result.deny,
            "updatedInput": result.rewritten,
            "additionalContext": told if call.event in tells else "",
        },
    )


def not_judged(call: HookCall, error: BaseException | str, *, strict: bool) -> HookResult:
    """Return the result without a judgement: allowed with a notice, or denied."""
    why = f"AI-Rails could not judge this: {reason_of(error)}."
    before = call.event == "before"
    if before and strict:
        return HookResult(deny=f"{why} Hooks are set to strict, so nothing was written. Tell the person.")
    if call.event in ("start", "stop") or (before and not call.tool):
        return HookResult(notice=why)
    if before:
        why += " It is let through unchecked and judged at the end of the answer."
    return HookResult(context=why, notice=why)


def reason_of(error: BaseException | str) -> str:
    """Return the error in one line."""
    known = isinstance(error, str | RailsError | OSError)
    return one_line(str(error) if known else f"{type(error).__name__}: {error}", 300)
