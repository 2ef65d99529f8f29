"""Objects of JavaScript's own: globals that make values, maps and sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rails.n8n.try_run import values
from rails.n8n.try_run.functions import call_function
from rails.n8n.try_run.values import UNDEFINED, Value


class Constructor:
    """A global such as ``Date``: called, made by ``new``, asked by ``instanceof``, with members of its own."""

    kind = "function"

    def __init__(
        self,
        called: Callable[..., Value] | None = None,
        construct: Callable[..., Value] | None = None,
        has_made: Callable[[Value], bool] = lambda _: False,
        **members: Value,
    ) -> None:
        self._called, self.construct, self.has_made, self.members = called, construct, has_made, members

    def __call__(self, *given: Value) -> Value:
        """Call it without ``new``."""
        if self._called is None:
            raise values.error("Class constructor cannot be invoked without 'new'")
        return call_function(self._called, *given)

    def __str__(self) -> str:
        return "function () { [native code] }"


class Collection:
    """A ``Map`` or a ``Set``: what is put in, by the identity that JavaScript gives values."""

    def __init__(self, kind: str) -> None:
        self.kind, self.entries = kind, dict[Any, tuple[Value, Value]]()

    @staticmethod
    def of(value: Value) -> Any:  # noqa: ANN401 - any hashable
        """Return what stands for a value among the entries."""
        if isinstance(value, bool) or value in values.NOTHING:
            return (type(value), value is True)
        return value if isinstance(value, str | int | float) else (id(value),)

    def property(self, key: str) -> Value:
        """Return how many entries there are."""
        return len(self.entries) if key == "size" else UNDEFINED

    def put(self, key: Value, value: Value) -> Collection:
        """Set what is under a key."""
        self.entries[self.of(key)] = (key, value)
        return self

    def __iter__(self) -> Iterator[Value]:
        for key, value in list(self.entries.values()):
            yield key if self.kind == "set" else [key, value]


def collection_maker(kind: str) -> Callable[[Value], Collection]:
    """Return what makes a ``map`` or a ``set`` of what can be looped over."""

    def make(given: Value = UNDEFINED) -> Collection:
        made = Collection(kind)
        for one in given or ():
            made.put(*(one if kind == "map" else (one, one)))
        return made

    return make
