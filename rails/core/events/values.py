"""Values of events as JSON; texts kept elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rails.core import json_text
from rails.core.conversation import Message, message_to_json
from rails.core.errors import Refusal
from rails.core.tool_request import SELDOM, Json, RawRequest
from rails.core.verdict import CheckRun, Finding, Verdict

#: What is left out of these classes where it is this.
_SELDOM: Final[Mapping[str, Json]] = {**dict.fromkeys(SELDOM, ""), "below": [], "worse_than": None, "weight": "breaks"}
_ANY: Final = object()
_TOLD: Final = ("status", "findings", "fixed", "not_checked", "checks", "outlines")


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
    """Return ``value`` as JSON (:func:`rails.core.json_text.to_json`), as logs have it."""
    if isinstance(value, StoredText):
        return dict(value.pointer)
    if isinstance(value, Verdict):
        return verdict_to_json(value)
    if isinstance(value, Message):
        return message_to_json(value)
    if not isinstance(value, CheckRun | Finding | RawRequest | Refusal):
        return json_text.to_json(value, to_json)
    said = json_text.json_object(value, to_json)
    return {key: item for key, item in said.items() if key != "command" and item != _SELDOM.get(key, _ANY)}


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Return the verdict without its proposal."""
    return {name: to_json(getattr(verdict, name)) for name in _TOLD if name != "outlines" or verdict.outlines}
