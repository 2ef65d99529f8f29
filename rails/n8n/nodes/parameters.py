"""A node's parameters as n8n holds them: defaults filled in, hidden and unknown ones dropped.

Anchor: n8n-workflow 2.41, ``getNodeParameters`` as the ``Workflow`` constructor calls it. Where n8n throws for want of
a list, :class:`Malformed` has the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec import Struct

from rails.n8n.nodes.catalogue import Description
from rails.n8n.nodes.display import Display, compiled
from rails.n8n.values import UNDEFINED

_KEEPS_FALSY: Final = frozenset({"boolean", "number", "options"})
#: For these n8n reads nothing, not even defaults.
_JS_FALSE: Final = (None, "", 0, False)
_NESTED: Final = frozenset({"collection", "fixedCollection"})


class Malformed(Exception):
    """n8n iterates over what is at ``path``: no list."""

    def __init__(self, path: tuple[str | int, ...]) -> None:
        super().__init__(path)
        self.path = path


class Property(Struct, frozen=True, eq=False):
    """A parameter; ``children``: a collection's, ``groups``: a fixedCollection's."""

    name: str
    type: str
    default: Any
    required: bool
    display: Display | None
    multiple: bool | None
    children: Level | None
    groups: Mapping[str, Level]
    modes: Mapping[str, Sequence[str]]
    raw: Mapping[str, Any]

    def shows(self, here: Any, root: Any, context: Context) -> bool:  # noqa: ANN401
        """Return whether it shows, by the level's and node's values."""
        return self.display is None or self.display.visible(here, root, context.version, context.is_tool)

    @property
    def levels(self) -> list[Level]:
        """The levels below it."""
        return [*self.groups.values(), *([self.children] if self.children else [])]


class Level:
    """A level's properties, in n8n's order of resolution."""

    __slots__ = ("by_name", "duplicates", "judged", "order", "properties")

    def __init__(self, properties: Sequence[Property]) -> None:
        self.properties = tuple(properties)
        self.by_name: dict[str, list[Property]] = {}
        for item in self.properties:
            self.by_name.setdefault(item.name, []).append(item)
        self.duplicates = frozenset(name for name, items in self.by_name.items() if len(items) > 1)
        self.order = tuple(_resolved(self.properties, self.by_name))
        #: Those that ``requirements`` may have something to say about: a small part of all.
        self.judged = tuple(item for item in self.properties if _is_judged(item))

    def walk(self) -> Iterator[Property]:
        """Yield every property, nested ones too."""
        for item in self.properties:
            yield item
            for level in item.levels:
                yield from level.walk()


def _is_judged(item: Property) -> bool:
    raw = item.raw
    if item.required or item.modes or raw.get("validate") or item.type == "resourceMapper":
        return True
    if raw.get("minRequiredFields") or raw.get("maxAllowedFields"):
        return True
    return any(level.judged for level in item.levels)


def choices(level: Level) -> Mapping[str, frozenset[str]]:
    """Return all lists of choices, by parameter name."""
    found: dict[str, set[str]] = {}
    for item in level.walk():
        if item.type in {"options", "multiOptions"}:
            found.setdefault(item.name, set()).update(v for v in item.raw.get("values", ()) if isinstance(v, str))
    return {name: frozenset(values) for name, values in found.items()}


def level_of(properties: Sequence[Mapping[str, Any]]) -> Level:
    """Compile properties, nested ones too."""
    return Level([_property(raw) for raw in properties])


def _property(raw: Mapping[str, Any]) -> Property:
    return Property(
        name=raw["name"],
        type=raw["type"],
        default=raw.get("default", UNDEFINED),
        required=bool(raw.get("required")),
        display=compiled(raw.get("display")),
        multiple=raw.get("multipleValues"),
        children=level_of(raw["children"]) if "children" in raw else None,
        groups={name: level_of(items) for name, items in raw.get("groups", {}).items()},
        modes=raw.get("modes") or {},
        raw=raw,
    )


def _resolved(properties: Sequence[Property], by_name: Mapping[str, Sequence[Property]]) -> Iterator[Property]:
    depends: dict[str, set[str]] = {}
    for item in properties:
        names = item.display.depends_on if item.display else ()
        depends.setdefault(item.name, set()).update(name for name in names if name in by_name and name != item.name)
    waiting = list(properties)
    resolved = set[str]()
    while waiting:
        ready = [item for item in waiting if depends[item.name] <= resolved] or waiting
        yield from ready
        resolved.update(item.name for item in ready)
        done = set(map(id, ready))
        waiting = [item for item in waiting if id(item) not in done]


class Context(Struct, frozen=True):
    """The facts besides parameters that visibility depends on."""

    version: float
    is_tool: bool


def context_of(description: Description, version: float | None) -> Context:
    """Return a node's context; without version, the newest."""
    chosen = max(description.versions) if version is None else version
    return Context(chosen, description.type.endswith("Tool"))


@cache
def levels(description: Description) -> Level:
    """Return a description's properties, compiled once."""
    return level_of(description.properties)


def filled(level: Level, values: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return parameters as n8n holds them. Raises :class:`Malformed`."""
    return _Filler(context).fill(level, values, None, "", ())


class _Filler:
    def __init__(self, context: Context) -> None:
        self._context = context

    def simple(self, level: Level, values: Any, root: Any, parent: str) -> dict[str, Any]:  # noqa: ANN401
        """Return a level's simple values, also hidden: visibility depends on them."""
        made: dict[str, Any] = {}
        if values in _JS_FALSE:
            return made
        given = values if type(values) is dict else {}
        root = made if root is None else root
        for item in level.order:
            value = given.get(item.name, UNDEFINED)
            if (value is UNDEFINED and parent == "collection") or item.type in _NESTED:
                continue
            if item.name not in level.duplicates or item.shows(made, root, self._context):
                made[item.name] = _simple_value(item, value)
        return made

    def fill(self, level: Level, values: Any, root: Any, parent: str, path: tuple[str | int, ...]) -> dict[str, Any]:  # noqa: ANN401
        judged_by = self.simple(level, values, root, parent)
        root = judged_by if root is None else root
        made: dict[str, Any] = {}
        if values in _JS_FALSE:
            return made
        given = values if type(values) is dict else {}
        for item in level.order:
            value = given.get(item.name, UNDEFINED)
            if (value is UNDEFINED and parent == "collection") or not item.shows(judged_by, root, self._context):
                continue
            if item.type == "collection":
                found = self._collection(item, value, root, (*path, item.name))
            elif item.type == "fixedCollection":
                found = self._fixed(item, value, root, (*path, item.name))
            else:
                found = _simple_value(item, value)
            if found is not UNDEFINED:
                made[item.name] = found
        return made

    def _collection(self, item: Property, value: Any, root: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        if item.multiple is True:
            return value if value is not UNDEFINED else item.default if type(item.default) is list else []
        if value is UNDEFINED or item.children is None:
            return item.default
        return self.fill(item.children, value, root, "collection", path)

    def _fixed(self, item: Property, value: Any, root: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        given = item.default if value is UNDEFINED else value
        made: dict[str, Any] = {}
        for name, entry in given.items() if type(given) is dict else ():
            level = item.groups.get(name)
            if level is None:
                continue
            if item.multiple is True:
                if not isinstance(entry, list | str):
                    raise Malformed((*path, name))
                made[name] = [
                    self.fill(level, one, root, "fixedCollection", (*path, name, index))
                    for index, one in enumerate(entry)
                ]
            else:
                one = self.fill(level, entry, root, "fixedCollection", (*path, name))
                if one:
                    made[name] = one
        return made


def _simple_value(item: Property, value: Any) -> Any:  # noqa: ANN401
    if item.type in _KEEPS_FALSY:
        return item.default if value is UNDEFINED else value
    if item.type == "resourceLocator" and type(item.default) is dict:
        return {"__rl": True, **item.default} if value is UNDEFINED else value
    if item.type == "filter" and type(value) is dict:
        options = value.get("options")
        given = options if type(options) is dict else {}
        filler = {"caseSensitive": True, "leftValue": "", "typeValidation": "strict", "version": 1, **given}
        return {**value, "combinator": value.get("combinator") or "and", "options": filler}
    return item.default if value is UNDEFINED or value is None else value
