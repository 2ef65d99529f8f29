"""Common to all events: type, message, details as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from rails.core.events.reading import read_object
from rails.core.events.values import to_json
from rails.core.json_text import members_of
from rails.core.tool_request import Json

if TYPE_CHECKING:
    from typing import Self

#: The field that holds the message where the details don't say it; it is no part of the details.
_WORDS: Final = "words"


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Its fields are the members of ``details``, in order, defaults left out; its
    ``tag`` is its type in the log.
    """

    @property
    def type(self) -> str:
        """The type's name in the log."""
        return type_of(type(self))

    @property
    def message(self) -> str:
        """One line for a person."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Json]:
        """Return the details of the event's record."""
        members = [(key, getattr(self, name), default) for name, key, default in members_of(type(self))]
        return {key: to_json(found) for key, found, default in members if key != _WORDS and found != default}

    @classmethod
    def from_json(cls, message: str, details: Mapping[str, Json]) -> Self:
        """Return a record's event; what is missing or odd becomes empty, unknown members ignored."""
        return read_object(cls, {**details, _WORDS: message})


def type_of(kind: type[Event]) -> str:
    """Return the name that a class of events has in the log."""
    return str(kind.__struct_config__.tag)


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
