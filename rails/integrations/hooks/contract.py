"""What hooks of every host have in common: the call that came, what we make of it, what is printed.

A host's module (:mod:`~rails.integrations.hooks.claude_code`, :mod:`~rails.integrations.hooks.codex`) turns its own
JSON into a :class:`HookCall` and a :class:`HookResult` into its own JSON; :mod:`~rails.integrations.hooks.handle`
stands between.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, Protocol

from msgspec import Struct, field

from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import RailsError
from rails.core.paths import WorkspacePath, parse_path
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.gate.support.read_file import read_from_disk

#: When a host calls: its session begins, a person has typed, before and after a tool, after all tools of an answer, at
#: the end of an answer, its session ends.
HookEvent = Literal["start", "prompt", "before", "after", "batch", "stop", "end"]


#: What hosts call the texts of a call; a start has a source in place of a reason, which nobody asks for.
_FIELDS: Final = {
    "session": "session_id",
    "model": "model",
    "tool": "tool_name",
    "call_id": "tool_use_id",
    "reason": "reason",
    "prompt": "prompt",
}


class HookCall(Struct, frozen=True):
    """One call of a host. ``again`` is whether the host goes on only because an earlier hook held up its end."""

    host: str
    event: HookEvent
    session: str
    folder: Path
    model: str = ""
    tool: str = ""
    input: Mapping[str, Json] = field(default_factory=dict)
    call_id: str = ""
    again: bool = False
    reason: str = ""
    prompt: str = ""


class HookResult(Struct, frozen=True):
    """What we have to say to a call. Nothing of it set: nothing is said, and the host goes on.

    ``deny`` keeps a tool from running, ``block`` holds up the end of an answer or tells of what is written already;
    ``rewritten`` is the tool's input as it should be; ``context`` is told to the model, ``notice`` to the person.
    """

    deny: str = ""
    block: str = ""
    rewritten: Mapping[str, Json] | None = None
    context: str = ""
    notice: str = ""


class HookAnswer(Struct, frozen=True):
    """What a hook prints and how it ends: whole JSON or nothing, and an exit code as the host counts it."""

    out: str = ""
    err: str = ""
    code: int = 0


class Unjudged(Struct, frozen=True):
    """A proposal that cannot be judged before it is written, and why; what is written is judged afterwards."""

    why: str


class Host(Protocol):
    """What one host's module knows."""

    def call_of(self, payload: Mapping[str, Json], environment: Mapping[str, str]) -> HookCall | None:
        """Return the call of a host's input, ``None`` for an event that nothing is done about."""
        ...

    def named_files(self, call: HookCall, project: Path) -> Iterator[FileChange]:
        """Yield what stands for each file that the tool names, see :func:`named_change`."""
        ...

    def proposed(self, call: HookCall, project: Path) -> ChangeSet | Unjudged | None:
        """Return what the tool would write, ``None`` for a tool that writes no file by itself."""
        ...

    def printed(self, call: HookCall, result: HookResult) -> HookAnswer:
        """Return what is printed."""
        ...


def hook_call(host: str, events: Mapping[str, HookEvent], payload: Mapping[str, Json], folder: str) -> HookCall | None:
    """Return the call of an input with the usual names of its fields, ``None`` for an event that is not of ours."""
    event = events.get(host_text(payload.get("hook_event_name")))
    if event is None:
        return None
    texts = {name: host_text(payload.get(key)) for name, key in _FIELDS.items()}
    again = payload.get("stop_hook_active") is True
    given = host_object(payload.get("tool_input"))
    return HookCall(host=host, event=event, folder=Path(folder), input=given, again=again, **texts)


def path_in_project(name: str, call: HookCall, project: Path) -> WorkspacePath | Unjudged | None:
    """Return the path that a host names as one of ``project``, ``None`` for one outside it.

    The folder may be named through a link; the file itself may be one, which is the gate's to refuse.
    """
    try:
        inside = _named(name, call).relative_to(os.path.realpath(project))
    except (ValueError, OSError):
        return None
    path = parse_path(inside.as_posix())
    return path if isinstance(path, WorkspacePath) else Unjudged(str(path))


def _named(name: str, call: HookCall) -> Path:
    """Return where a file is: links of its folder are followed, the file itself may be one; ``~`` is the home."""
    place = call.folder / os.path.expanduser(name)  # noqa: PTH111 - that of pathlib raises where there is no home
    return Path(os.path.realpath(place.parent), place.name)


def named_change(name: str, call: HookCall, project: Path, *, gone: bool = False) -> Iterator[FileChange]:
    """Yield what stands for a change of a file whose content is not known yet: of what is named and where it leads."""
    root = os.path.realpath(project)
    with contextlib.suppress(OSError, ValueError):
        place = _named(name.strip(), call)
        for real in dict.fromkeys((place, Path(os.path.realpath(place)))):
            path = parse_path(real.relative_to(root).as_posix()) if real.is_relative_to(root) else None
            if isinstance(path, WorkspacePath):
                before = b"1\n" if os.path.lexists(real) else None
                yield FileChange(path, before, None if gone and before else b"2\n")


def now_on_disk(path: WorkspacePath, project: Path) -> tuple[bytes | None, int] | Unjudged:
    """Return a file's bytes (``None``: there is none) and permission bits, or why it cannot be judged."""
    place = project.joinpath(*path.parts)
    read = read_from_disk(project, path) if place.is_symlink() or place.exists() else (None, 0o644)
    return Unjudged(f"{path}: {read}") if isinstance(read, str) else read


def host_text(value: Json | None) -> str:
    """Return a text of a host's input, "" for anything else."""
    return value if isinstance(value, str) else ""


def host_object(value: Json | None) -> Mapping[str, Json]:
    """Return an object of a host's input, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_json(value: Mapping[str, Json]) -> str:
    """Return an answer as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def not_judged(call: HookCall, error: BaseException | str, *, strict: bool) -> HookResult:
    """Return what is said where the call could not be judged: let through and told, or denied."""
    why = f"AI-Rails could not judge this: {reason_of(error)}."
    if strict and call.event == "before":
        return HookResult(deny=f"{why} Hooks are set to strict, so nothing was written. Tell the person.")
    if call.event in ("start", "stop") or (call.event == "before" and not call.tool):
        return HookResult(notice=why)
    later = " It goes on unchecked and is judged at the end of the answer." if call.event == "before" else ""
    return HookResult(context=f"{why}{later}", notice=f"{why}{later}")


def reason_of(error: BaseException | str) -> str:
    """Return what went wrong, in one line."""
    known = isinstance(error, str | RailsError | OSError)
    return one_line(str(error) if known else f"{type(error).__name__}: {error}", 300)
