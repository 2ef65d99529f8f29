"""A record's searchable words and facets. Folded (compatibility forms, case, accents); identifiers whole and in parts;
Chinese, Japanese, Korean by character.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.events.approval import ApprovalOpened, HumanDecision
from rails.core.events.base import Event, type_of
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import ErrorEvent, Escalation, LogRecovered
from rails.core.events.turn import (
    LlmError,
    McpRequestFormulated,
    OutputRefused,
    ToolRequestValidated,
    ToolRequestValidationFailed,
)
from rails.core.json_text import json_leaves
from rails.core.tool_request import Json

#: Words longer than this are hashes and encoded data; nobody types them.
_WORD_CHARS: Final = 48
_WORD: Final = re.compile(r"\w+")
_EAST_ASIAN: Final = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
_SEAM: Final = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z][A-Z]")

#: Which member names carry which facet, wherever they stand in the details.
_FACETS: Final = {
    "tool_name": "tool",
    "toolType": "tool",
    "tool": "tool",
    "tools": "tool",
    "path": "path",
    "paths": "path",
    "file_path": "path",
    "rule": "rule",
    "by": "by",
    "code": "code",
    "codes": "code",
    "agent": "role",
}
#: Members that are not text for people.
_SILENT: Final = frozenset({"before_sha256", "after_sha256", "digest", "definition_digest", "blob"})


#: What is true of every event of a class, and the classes whose fields tell more.
_STATES: Final[Mapping[type[Event], tuple[str, ...]]] = {
    **dict.fromkeys((ToolRequestValidationFailed, ChangeRefused, OutputRefused), ("failed", "refused")),
    **dict.fromkeys((LlmError, ErrorEvent), ("failed", "error")),
    **{Escalation: ("escalated",), Undo: ("undone",), LogRecovered: ("recovered",), ApprovalOpened: ("waiting",)},
}
_TELLING: Final[Set[type[Event]]] = {
    GateVerdict,
    ToolExecutionResult,
    HumanDecision,
    McpRequestFormulated,
    ToolRequestValidated,
}


#: The types of the records that any state is true of.
STATE_TYPES: Final = frozenset(map(type_of, {*_STATES, *_TELLING}))


class Words(Struct, frozen=True):
    """A text for search: words with spaces around, and the parts of identifiers."""

    body: str
    parts: str


def folded_text(text: str) -> str:
    """Return ``text`` as search compares it."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text)
    return _EAST_ASIAN.sub(r" \1 ", _marks().sub("", plain).casefold())


@functools.cache
def _marks() -> re.Pattern[str]:
    """Return a pattern for combining marks, ten times as fast as testing every character."""
    return re.compile(f"[{''.join(filter(unicodedata.combining, map(chr, range(0x300, 0x10000))))}]")


def folded_words(text: str) -> list[str]:
    """Return the folded words of ``text`` in order."""
    return [word for word in _WORD.findall(folded_text(text)) if len(word) <= _WORD_CHARS]


def searchable_words(record: Record, load: Callable[[str], str] | None = None) -> Words:
    """Return a record's words. ``load`` reads a blob's beginning by name."""
    texts: list[str] = [record.message]
    _walk(record.details, "", texts, set(), load)
    text = "\n".join(texts)[: limits.INDEX_CHARS]
    compounds = [
        word
        for word in dict.fromkeys(_WORD.findall(text))
        if not (word.islower() and "_" not in word) and len(word) <= 99 and _SEAM.search(word)
    ]
    # A bar between them, so that no phrase reaches from one identifier into the next.
    parts = " _ ".join(" ".join(folded_words(" ".join(_CAMEL.findall(compound)))) for compound in compounds)
    return Words(f" {' '.join(folded_words(text))} ", f" {parts} ")


def facets_of(record: Record) -> frozenset[tuple[str, str]]:
    """Return a record's fields and lower-case values; its arrays and objects should be whole."""
    facets = {("type", record.event_type.lower())}
    facets |= {("role", record.agent_role.lower())} if record.agent_role else set()
    facets |= {("model", record.llm_model_used.lower())} if record.llm_model_used else set()
    _walk(record.details, "", [], facets, None)
    return frozenset(facets | {("is", state) for state in states_of(record)})


def texts_of(record: Record) -> Iterator[str]:
    """Yield a record's texts as people read them, large ones cut."""
    yield record.message
    yield from (value for _, value in json_leaves(record.details) if isinstance(value, str))


def _walk(
    value: Json | Mapping[str, Json],
    name: str,
    texts: list[str],
    facets: set[tuple[str, str]],
    load: Callable[[str], str] | None,
) -> None:
    if isinstance(value, str):
        texts.append(value)
        if (facet := _FACETS.get(name)) and len(value) <= limits.PATH_CHARS:
            facets.add((facet, value.lower()))
    elif isinstance(value, Mapping):
        if load and isinstance(value.get("blob"), str) and "head" in value:
            texts.append(load(str(value["blob"])))
            return
        for key, member in value.items():
            if key not in _SILENT:
                _walk(member, key, texts, facets, load)
    elif isinstance(value, list):
        for item in value:
            _walk(item, name, texts, facets, load)


def states_of(record: Record) -> Iterator[str]:
    """Yield the record's values of ``is:``."""
    yield from _STATES.get(record.kind, ())
    match record.event if record.kind in _TELLING else None:
        case GateVerdict(verdict=verdict):
            yield "passed" if verdict.status == "pass" else "failed"
            if verdict.fixed:
                yield "fixed"
        case ToolExecutionResult(ok=ok):
            yield "done" if ok else "failed"
        case HumanDecision(answer=answer):
            yield "approved" if answer == "approve" else "denied"
        case McpRequestFormulated(request=request) if request.repairs:
            yield "repaired"
        case ToolRequestValidated(coerced=coerced) if coerced:
            yield "repaired"
