"""Values of events as JSON; texts kept elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rails.core.conversation import Message, message_to_json
from rails.core.errors import Refusal
from rails.core.events.members import members_of
from rails.core.paths import WorkspacePath
from rails.core.tool_request import SELDOM, Json, RawRequest
from rails.core.verdict import Finding, Verdict


class StoredText(str):
    """The beginning of a text kept elsewhere, by the log's ``pointer``."""

    __slots__ = ("pointer",)
    pointer: Mapping[str, Json]

    @classmethod
    def of(cls, head: str, size: float, pointer: Mapping[str, Json]) -> StoredText:
        """Return the text for ``pointer`` (its blob is a text)."""
        text = cls(f"{head}\n[… {size:.0f} bytes, stored as {str(pointer['blob'])[:12]} …]")
        text.pointer = pointer
        return text

    @property
    def blob(self) -> str:
        """The blob's name: the whole text's SHA-256."""
        return str(self.pointer["blob"])


def to_json(value: object) -> Json:
    """Return ``value`` as JSON: objects for classes and mappings, arrays for sequences."""
    if isinstance(value, StoredText):
        return dict(value.pointer)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, WorkspacePath):
        return value.text
    if isinstance(value, Verdict):
        return verdict_to_json(value)
    if isinstance(value, Message):
        return message_to_json(value)
    said = object_to_json(value)
    if isinstance(value, Refusal | RawRequest):
        return {key: item for key, item in said.items() if item or key not in SELDOM}
    return said


def object_to_json(value: object) -> dict[str, Json]:
    """Return an instance as an object; ``omit_defaults`` leaves defaults out."""
    # A class is hashable, which mypy does not see.
    members = [(one, getattr(value, one.name)) for one in members_of(type(value))]  # type: ignore[arg-type]
    sparse = isinstance(value, msgspec.Struct) and value.__struct_config__.omit_defaults
    return {one.key: to_json(found) for one, found in members if not sparse or one.required or found != one.default}


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Return the verdict without its proposal."""
    ran = map(object_to_json, verdict.checks)
    facts: dict[str, Json] = {
        "status": verdict.status,
        "findings": [_finding_to_json(finding) for finding in verdict.findings],
        "fixed": to_json(verdict.fixed),
        "not_checked": to_json(verdict.not_checked),
        "checks": [{key: value for key, value in one.items() if key != "command"} for one in ran],
    }
    return {**facts, "outlines": to_json(verdict.outlines)} if verdict.outlines else facts


def _finding_to_json(finding: Finding) -> dict[str, Json]:
    value = object_to_json(finding)
    if finding.worse_than is None:
        del value["worse_than"]
    if finding.weight == "breaks":  # what a log without it means, too
        del value["weight"]
    return value
