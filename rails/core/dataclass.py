"""``dataclass``, ``field`` and ``replace`` as in :mod:`dataclasses`, for classes that are made at every start.

The standard library writes the methods of each class as text and compiles them where the module is imported:
0.5 to 1 ms for a class, and 8 ms for what it needs to do so. Forty such classes were a third of a short command.
Here the methods are closures, made when one of them is first called, so that a class costs some 15 µs and an instance
half a microsecond more. A class of which many instances are made gets the standard library's methods after all, which
are compiled then. What :mod:`dataclasses` and :mod:`inspect` want to know of a class is made when they ask.

The standard library's meaning of all that is accepted; what is not (no ``slots``, ``__post_init__``, ``ClassVar``,
``kw_only`` …) is a TypeError, at the class or at its first use. To type checkers these are the standard library's own.

``NamedTuple`` is the one of :mod:`typing`, made in a third of the time: there every annotation is compiled.
"""

from __future__ import annotations

import itertools
import reprlib
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final, NoReturn

__all__ = ["NamedTuple", "dataclass", "field", "fields_of", "replace"]

_MISSING: Final[Any] = object()
_PLAN: Final = "__value_plan__"
_COMPARISONS: Final = {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge}
_TOLD: Final = ("__match_args__", "__dataclass_fields__", "__dataclass_params__", "__signature__")
#: So many instances later, what the closures cost is what compiling the methods would have cost.
_MANY: Final = 2_000
#: Kinds of fields that are none of ours, as annotations name them.
_UNKNOWN: Final = ("ClassVar", "InitVar", "KW_ONLY")

FieldValues = tuple[Any, ...]


class _Field:
    """How one attribute is filled, shown and compared."""

    __slots__ = ("compare", "default", "default_factory", "repr")

    def __init__(self, default: object, default_factory: Any, repr: bool, compare: bool) -> None:
        self.default, self.default_factory, self.repr, self.compare = default, default_factory, repr, compare

    @property
    def optional(self) -> bool:
        """Whether an instance can be made without it."""
        return self.default is not _MISSING or self.default_factory is not _MISSING


class _Plan:
    """The fields of a class in order, with their annotations, and how it was asked for; read at the first use."""

    fields: Mapping[str, tuple[str, _Field]]
    names: tuple[str, ...]
    places: Mapping[str, int]
    defaults: list[object]
    open: list[tuple[int, Any]]
    values: Callable[[Any], FieldValues]
    #: The class that is made with it.
    cls: type

    def __init__(self, given: Mapping[str, object], flags: Mapping[str, bool]) -> None:
        self.given, self.flags = given, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _Plan.__annotations__:
            raise AttributeError(name)
        self.fields = fields = _in_order(self.cls, {**_inherited(self.cls, self.flags), **_own(self.cls, self.given)})
        self.names = tuple(fields)
        self.places = {name: place for place, name in enumerate(fields)}
        self.defaults = [one.default for _, one in fields.values()]
        everyone = enumerate(one for _, one in fields.values())
        self.open = [(place, one.default_factory) for place, one in everyone if one.default is _MISSING]
        self.values = _getter(self.names)
        return self.__dict__[name]

    def complete(self, owner: str, given: Sequence[object], named: Mapping[str, object]) -> list[Any]:
        """Return a value for each field. Raises TypeError as a function with these parameters does."""
        count, places = len(given), self.places
        if count > len(places):
            raise TypeError(f"{owner}() takes {len(places)} arguments but {count} were given")
        values = [*given, *self.defaults[count:]]
        for name in named:
            place = places.get(name, -1)
            if place < count:
                what = "an unexpected keyword argument" if place < 0 else "multiple values for argument"
                raise TypeError(f"{owner}() got {what} {name!r}")
            values[place] = named[name]
        for place, factory in self.open:
            if values[place] is _MISSING:
                if factory is _MISSING:
                    raise TypeError(f"{owner}() is missing the argument {self.names[place]!r}")
                values[place] = factory()
        return values


def fields_of(cls: type) -> list[tuple[str, Any]]:
    """Return the name of each field, and an object with its ``default``, ``default_factory`` and ``repr``.

    Raises TypeError for what is no dataclass, of ours or of the standard library.
    """
    plan: _Plan | None = cls.__dict__.get(_PLAN)
    if plan is not None:
        return [(name, one) for name, (_, one) in plan.fields.items()]
    import dataclasses

    return [(one.name, one) for one in dataclasses.fields(cls)]


def _field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    if default is not _MISSING and default_factory is not _MISSING:
        raise ValueError("cannot specify both default and default_factory")
    return _Field(default, default_factory, repr, compare)


def _dataclass(
    *, slots: bool = False, frozen: bool = False, eq: bool = True, order: bool = False
) -> Callable[[type], type]:
    if not slots:
        raise TypeError("a class of rails.core.dataclass has slots=True")
    return lambda cls: _made(cls, {"frozen": frozen, "eq": eq, "order": order})


def _made(cls: type, flags: Mapping[str, bool]) -> type:
    """Return ``cls`` anew, with slots and the methods that it doesn't have."""
    if hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__}: __post_init__ is not for a class of rails.core.dataclass")
    namespace = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    own = cls.__annotations__
    plan = _Plan({name: namespace.pop(name) for name in own if name in namespace}, flags)
    inherited = {name for base in cls.__mro__[1:] if (above := base.__dict__.get(_PLAN)) for name in above.names}
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    namespace = {**_shared(**flags), _PLAN: plan, **namespace}
    plan.cls = made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _inherited(cls: type, flags: Mapping[str, bool]) -> dict[str, tuple[str, _Field]]:
    found: dict[str, tuple[str, _Field]] = {}
    for base in cls.__mro__[:0:-1]:
        plan = base.__dict__.get(_PLAN)
        if plan is None and "__dataclass_fields__" in base.__dict__:
            raise TypeError(f"{cls.__name__}: {base.__name__} is a dataclass of the standard library")
        if plan is not None and plan.flags["frozen"] != flags["frozen"]:
            raise TypeError(f"{cls.__name__}: frozen and not frozen classes cannot inherit from each other")
        found.update(plan.fields if plan is not None else {})
    return found


def _own(cls: type, given: Mapping[str, object]) -> dict[str, tuple[str, _Field]]:
    """Return the fields that the class itself declares."""
    own: dict[str, tuple[str, _Field]] = {}
    annotations = str(cls.__annotations__)
    if unknown := next((one for one in _UNKNOWN if one in annotations), ""):
        raise TypeError(f"{cls.__name__}: {unknown} is not for a class of rails.core.dataclass: {annotations}")
    for name, annotation in cls.__annotations__.items():
        value = given.get(name, _MISSING)
        one = value if isinstance(value, _Field) else _Field(value, _MISSING, True, True)
        if one.default is not _MISSING and type(one.default).__hash__ is None:
            raise ValueError(
                f"mutable default {type(one.default)} for field {name} is not allowed: use default_factory"
            )
        own[name] = annotation, one
    return own


def _in_order(cls: type, fields: Mapping[str, tuple[str, _Field]]) -> Mapping[str, tuple[str, _Field]]:
    optional = ""
    for name, (_, one) in fields.items():
        if not one.optional and optional:
            raise TypeError(f"{cls.__name__}: non-default argument {name!r} follows default argument {optional!r}")
        optional = name if one.optional else optional
    return fields


@cache
def _shared(*, frozen: bool, eq: bool, order: bool) -> Mapping[str, object]:
    """Return what all classes that are asked for alike begin with."""
    found: dict[str, object] = {"__replace__": _replace, "__repr__": _repr, "__init__": _FIRST["__init__"]}
    found |= {name: _Told(name) for name in _TOLD}
    if eq:
        found |= {"__eq__": _FIRST["__eq__"], "__hash__": _FIRST["__hash__"] if frozen else None}
    if order:
        found |= {name: _FIRST[name] for name in _COMPARISONS}
    if frozen:
        found |= {"__setattr__": _no_set, "__delattr__": _no_delete}
        found |= {"__getstate__": _state, "__setstate__": _set_state}
    return found


def _first(name: str) -> Callable[..., Any]:
    """Return the method with which a class begins: it makes the class's own ones and passes the call on."""

    def method(self: object, /, *args: Any, **named: Any) -> Any:
        cls = next(one for one in type(self).__mro__ if one.__dict__.get(name) is method)
        closures = _methods(cls.__dict__[_PLAN])
        for one, closure in closures.items():
            if cls.__dict__.get(one) is _FIRST[one]:
                setattr(cls, one, closure)
        return closures[name](self, *args, **named)

    return method


_FIRST: Final = {name: _first(name) for name in ("__init__", "__eq__", "__hash__", *_COMPARISONS)}


def _methods(plan: _Plan) -> dict[str, Callable[..., Any]]:
    compared = _getter(tuple(name for name, (_, one) in plan.fields.items() if one.compare))
    found: dict[str, Callable[..., Any]] = {"__eq__": _eq(compared), "__hash__": _hash(compared)}
    found |= {name: _ordered(name, compared) for name in _COMPARISONS}
    found["__init__"] = _init(plan, found)
    return found


def _getter(names: tuple[str, ...]) -> Callable[[Any], FieldValues]:
    """Return a function from an instance to the tuple of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _self: ()
    one = attrgetter(names[0])
    return lambda self: (one(self),)


def _init(plan: _Plan, closures: Mapping[str, object]) -> Callable[..., None]:
    setters = [getattr(plan.cls, name).__set__ for name in plan.names]
    instances = itertools.count(1)
    count, complete, owner = len(setters), plan.complete, plan.cls.__qualname__

    def __init__(self: object, /, *args: Any, **named: Any) -> None:
        values: Sequence[Any] = args
        if named or len(args) != count:
            values = complete(owner, args, named)
        for put, value in zip(setters, values):  # noqa: B905 - they are as many, and this is the hot path
            put(self, value)
        if next(instances) == _MANY:
            _compile(plan, closures)

    return __init__


def _compile(plan: _Plan, closures: Mapping[str, object]) -> None:
    """Give a class that is used much the methods that the standard library compiles for such a class."""
    twin = _twin(plan)
    for name in ("__init__", "__eq__", "__hash__"):
        if plan.cls.__dict__.get(name) is closures[name]:
            setattr(plan.cls, name, twin.__dict__[name])


@reprlib.recursive_repr()
def _repr(self: object) -> str:
    fields = getattr(self, _PLAN).fields
    shown = (f"{name}={getattr(self, name)!r}" for name, (_, one) in fields.items() if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(compared: Callable[[Any], FieldValues]) -> Callable[[Any, object], bool]:
    def __eq__(self: object, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(compared: Callable[[Any], FieldValues]) -> Callable[[Any], int]:
    return lambda self: hash(compared(self))


def _ordered(name: str, compared: Callable[[Any], FieldValues]) -> Callable[[Any, object], bool]:
    comparison = _COMPARISONS[name]

    def compare(self: object, other: object) -> bool:
        return comparison(compared(self), compared(other)) if other.__class__ is self.__class__ else NotImplemented

    compare.__name__ = name
    return compare


def _no_set(_self: object, name: str, _value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_delete(_self: object, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """Return what pickle and copy keep of a frozen instance."""
    return list(getattr(self, _PLAN).values(self))


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for name, value in zip(getattr(self, _PLAN).names, state, strict=True):
        object.__setattr__(self, name, value)


def _replace(self: Any, /, **changes: Any) -> Any:
    plan: _Plan | None = getattr(type(self), _PLAN, None)
    if plan is None:
        import dataclasses

        return dataclasses.replace(self, **changes)
    values = list(plan.values(self))
    for name, value in changes.items():
        if name not in plan.places:
            raise TypeError(f"{type(self).__qualname__}() got an unexpected keyword argument {name!r}")
        values[plan.places[name]] = value
    return type(self)(*values)


class _Told:
    """What is asked of a class rather than of its instances: most of it from a twin of the class, when it is asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        """Return the class's own names, fields, parameters or signature."""
        plan: _Plan = getattr(owner, _PLAN)
        if self.name == "__match_args__":
            return plan.names
        if self.name == "__signature__":
            if owner is not plan.cls:
                raise AttributeError(self.name)  # a class that inherits may be made otherwise
            import inspect

            return inspect.signature(_twin(plan))
        return getattr(_twin(plan), self.name)


@cache
def _twin(plan: _Plan) -> Any:
    """Return a class of the standard library's with the same fields."""
    import dataclasses

    fields = [(name, annotation, _standard(one)) for name, (annotation, one) in plan.fields.items()]
    return dataclasses.make_dataclass(plan.cls.__name__, fields, **plan.flags)  # type: ignore[arg-type]


def _standard(one: _Field) -> Any:
    import dataclasses

    given = {name: getattr(one, name) for name in ("default", "default_factory") if getattr(one, name) is not _MISSING}
    return dataclasses.field(repr=one.repr, compare=one.compare, **given)


class _NamedMeta(type):
    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        fields = namespace["__annotations__"]
        defaults = [namespace.pop(one) for one in fields if one in namespace]
        made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])  # type: ignore[misc]
        for one, value in namespace.items():
            setattr(made, one, value)
        return made


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
    from typing import NamedTuple
else:
    dataclass, field, replace = _dataclass, _field, _replace
    NamedTuple = _NamedMeta("NamedTuple", (), {})
