"""Text protocols: files shown in full, and the lines ``SHOW path``, ``DELETE path``, ``CONTINUE`` (incomplete)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from rails.core.builtin_tools import DELETE_FILE, READ_FILE
from rails.core.errors import WorkspaceError
from rails.core.events.changes import ToolExecutionResult
from rails.core.paths import WorkspacePath, path_in, why_hidden
from rails.core.restrictions import Restrictions
from rails.core.text import decode_text, sha256
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.edits.apply import read_file
from rails.parsing.values import ParsedAnswer
from rails.session.ask_approval import may_show_secrets, unlisted
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext, whole_files

#: The protocols without tools.
IN_TEXT: Final = ("edits", "whole")
_WISH: Final = re.compile(
    r"^[ \t]{0,3}(?:[-*] )?`?(SHOW|DELETE)[: ] ?`?([^\s`][^\n`]{0,400}?)`?[ \t\r]{0,80}$", re.MULTILINE
)
_MORE: Final = re.compile(r"^[ \t]{0,3}`?CONTINUE`?[.]?\s*$", re.MULTILINE)
_WORDS: Final = re.compile(r"[^\s`'\"()\[\]{}<>,;|]{1,300}")
_TESTS_WANTED: Final = re.compile(
    r"\b(?:add|change|cover|create|extend|fix|update|write)\b[^.\n]{0,30}\btests?\b", re.IGNORECASE
)
#: Files that are shown without being asked for, how many characters of all of them, and how many make a small project
#: or are found by what they define.
_FILES: Final = 20
_CHARS: Final = 40_000
_FEW: Final = 4


def _wished(prose: str, verb: str) -> tuple[str, ...]:
    paths = dict.fromkeys(path for wish, path in _WISH.findall(prose) if wish == verb)
    return tuple(islice(paths, _FILES))


def with_deletions(
    context: TurnContext, found: ParsedAnswer | RequestResult, turn: int
) -> ParsedAnswer | RequestResult:
    """Return the answer with ``DELETE`` lines as requests."""
    if context.protocol not in IN_TEXT or isinstance(found, RequestResult):
        return found
    more = [
        RawRequest(f"t{turn}.delete{number}", DELETE_FILE.name, {"file_path": path})
        for number, path in enumerate(_wished(found.prose, "DELETE"), start=1)
    ]
    return replace(found, requests=(*found.requests, *more))


def wishes_granted(
    context: TurnContext, prose: str, requests: Sequence[ToolRequest], outcomes: tuple[RequestResult, ...]
) -> tuple[tuple[RequestResult, ...], bool]:
    """Return the outcomes with the requested files, and whether the work is complete.

    It is if the edits were made, and only edited files requested.
    """
    if context.protocol not in IN_TEXT:
        return outcomes, False
    names = _wished(prose, "SHOW")
    own = {request.parameters.get("file_path") for request in requests}
    if not own.issuperset(names):
        files = ShownFiles(context, names)
        return (*outcomes, RequestResult((), "result" if files.texts else "failed", files.told())), False
    made = bool(requests) and all(outcome.ok for outcome in outcomes)
    only_edits = all(request.effect == "edit" for request in requests)
    has_to_say = bool(context.agent.headings or context.agent.schema)
    return outcomes, made and only_edits and not _MORE.search(prose) and not has_to_say


def unmapped(context: TurnContext, path: str) -> str:
    """Return why a file is not on the agent's map of the project, or "".

    A small model that sees tests writes tests too, at three times the tokens.
    """
    from rails.gate.weakened_tests import TEST_FILE  # needs ast, which an applied answer does without

    given_only = context.protocol in IN_TEXT and context.agent.given_tests_only
    if given_only and TEST_FILE.search(path) and not _TESTS_WANTED.search(context.task):
        return "it is a test"
    return unlisted(context, path)


def never_seen(context: TurnContext, requests: Sequence[ToolRequest]) -> tuple[str, ...]:
    """Return the files of the project of which a model sends the whole text without having seen it.

    A small model does so beside its solution with whatever the map of the project names (five of nine answers).
    """
    if context.protocol not in IN_TEXT:
        return ()
    unseen = (path for path in whole_files(requests) if path not in context.seen)
    return tuple(path for path in unseen if context.content(path) is not None)


def shown_instead(context: TurnContext, ids: tuple[str, ...], paths: Sequence[str]) -> RequestResult:
    """Return the texts of such files as the outcome of requests that were not carried out."""
    files = ShownFiles(context, paths)
    words = (
        f"You sent the whole of {', '.join(paths)} without having seen it, so nothing was written. This is there now. "
        "Send the whole file again, with your change in it."
    )
    return RequestResult(ids, "result" if files.texts else "edit", files.told(words))


def task_files(context: TurnContext, task: str, named: Sequence[str], project_map: str) -> ShownFiles:
    """Return the files that a task names, with an ending or without, those ``named``, and those that define what it
    names; of a small project all, once. None for a model that has tools.

    A model that is not shown a file makes up another of its name.
    """
    if context.protocol not in IN_TEXT:
        return ShownFiles(context, ())
    words = [word.strip(".:!?*@") for word in _WORDS.findall(task[:_CHARS])]
    parts = {part for word in words for part in word.split(".")}
    mapped = _mapped(project_map)
    defining = [path for path, names in mapped.items() if not parts.isdisjoint(names)]
    whole = mapped if len(mapped) <= _FEW and not context.given else ()
    return ShownFiles(context, tuple(dict.fromkeys((*named, *words, *defining[:_FEW], *whole))))


def _mapped(project_map: str) -> dict[str, list[str]]:
    """Return files to what they define, and their own name, from a map (:mod:`rails.tools.runners.files`)."""
    lines = (line.strip().partition(": ") for line in project_map.splitlines())
    files = ((path, names) for path, _, names in lines if names and not path.endswith("/"))
    return {path: [PurePosixPath(path).stem, *names.split(", ")] for path, names in files}


class ShownFiles:
    """Files in full by path, as room allows; ``left_out`` says why others are not."""

    def __init__(self, context: TurnContext, names: Sequence[str]) -> None:
        self.context = context
        self.texts: list[str] = []
        self.left_out: dict[str, str] = {}
        self._events: list[ToolExecutionResult] = []
        self._room = _CHARS
        for name in names:
            path = path_in(context.project, name)
            why = self._take(path) if isinstance(path, WorkspacePath) else "it is not a path in the project"
            if why:
                self.left_out[name] = why

    def told(self, *words: str) -> str:
        """Publish the files; return them behind ``words``, and why others are not shown."""
        self.publish()
        left_out = (f"{name} is not shown: {why}." for name, why in self.left_out.items())
        return "\n\n".join((*words, *self.texts, *left_out))

    def publish(self) -> None:
        """Log what was shown: the agent's knowledge of these files."""
        for event in self._events:
            self.context.publish(event)

    def _take(self, path: WorkspacePath) -> str:
        name = str(path)
        context = self.context
        if why := why_hidden(path) or Restrictions.of(context.project).reason(name) or unlisted(context, name):
            return why
        try:
            data = read_file(context.project, path)
        except (WorkspaceError, OSError):
            return "it is not an ordinary file"
        if data is None:
            return "there is no such file"
        decoded = decode_text(data)
        if decoded is None:
            return "it is not text"
        text = decoded.text
        if len(text) > self._room or len(self.texts) == _FILES:
            return "there is no room for it"
        if context.gave("SHOW", name, text):
            return "you have it above, unchanged"
        if not may_show_secrets(context, READ_FILE.name, name):
            text = context.mask(text)
        self._room -= len(text)
        self.texts.append(fenced(name, text))
        facts: dict[str, Json] = {"path": name, "sha256": sha256(data)}
        told = f"{name} was shown"
        self._events.append(
            ToolExecutionResult(ids=(), ok=True, text=told, tool=READ_FILE.name, facts=facts, duration_ms=0.0)
        )
        context.saw(name, sha256(data))
        context.shown.add(name)
        context.showed(text, f"the text of {name}")
        return ""


def fenced(name: str, text: str, label: str = "") -> str:
    """Return a file as an answer would write it, in a fence that its lines do not close."""
    fence = "```"
    while fence in text:
        fence += "`"
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{name}\n{fence}{label}\n{text}{end}{fence}"
