"""Common to all events: type, message, details as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from rails.core.events.members import members_of
from rails.core.events.reading import read_object
from rails.core.events.values import to_json

if TYPE_CHECKING:
    from typing import Self

    from rails.core.tool_request import Json

#: The field that holds the message where the details don't say it; it is no part of the details.
_WORDS: Final = "words"


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Its fields are the members of ``details``, in order, defaults left out."""

    TYPE: ClassVar[str] = ""
    #: Whether it is on the disk before the work goes on; the others follow with the next of these.
    DURABLE: ClassVar[bool] = False

    @property
    def type(self) -> str:
        """The type's name in the log."""
        return self.TYPE

    @property
    def message(self) -> str:
        """One line for a person."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Json]:
        """Return the details of the event's record."""
        members = [(one, getattr(self, one.name)) for one in members_of(type(self)) if one.name != _WORDS]
        return {one.key: to_json(value) for one, value in members if one.required or value != one.default}

    @classmethod
    def from_json(cls, message: str, details: Mapping[str, Json]) -> Self:
        """Return a record's event; what is missing or odd becomes empty, unknown members ignored."""
        return read_object(cls, {**details, _WORDS: message})


class EventWithWords(Event, frozen=True):
    """An event whose message its details cannot tell."""

    words: str

    @property
    def message(self) -> str:
        """The stored message."""
        return self.words


class UnknownEvent(Event, frozen=True):
    """An event of an unknown type, as logged."""

    name: str
    words: str
    details: Mapping[str, Json] = {}

    @property
    def type(self) -> str:
        """The type's name in the log."""
        return self.name

    @property
    def message(self) -> str:
        """The record's message."""
        return self.words

    def to_json(self) -> dict[str, Json]:
        """Return the details of the event's record."""
        return dict(self.details)
