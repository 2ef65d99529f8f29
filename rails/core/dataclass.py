"""``dataclass``, ``field`` and ``replace`` as in :mod:`dataclasses`, for classes that are made at every start.

The standard library writes the methods of each class as text and compiles them where the module is imported, which was
a third of a short command. The methods of msgspec's structs are in C: a class here is one of those, written, read by
type checkers and used like a dataclass. It needs ``slots=True``; ``super()`` without arguments is not for its methods.

``NamedTuple`` is the one of :mod:`typing`, made in a third of the time: there every annotation is compiled.
"""

from __future__ import annotations

import _thread
import importlib
import os
import reprlib
import sys
from collections import namedtuple
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

__all__ = ["NamedTuple", "dataclass", "field", "replace", "shown_fields"]


def _import_msgspec() -> None:
    """Import msgspec without two modules that a tenth of a short command's time goes to.

    msgspec asks ``typing_extensions`` for three names that ``typing`` has, too, and does without where it is not
    installed; ``uuid`` asks ``platform`` for the name of the system. Where other threads run, they could meet the
    stand-ins, and there are none.
    """
    if _thread._count():
        importlib.import_module("msgspec")
        return
    stand_ins = {"typing_extensions": None, "platform": SimpleNamespace(system=lambda: os.uname().sysname)}
    hidden = {name: one for name, one in stand_ins.items() if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]
    try:
        importlib.import_module("msgspec")
    finally:
        for name in hidden:
            del sys.modules[name]


_import_msgspec()

import msgspec  # noqa: E402

#: Where a class keeps which of its fields are not shown, and which not compared.
_HIDDEN: Final = "_hidden_fields"
_PASSED_OVER: Final = "_fields_not_compared"


class _Field:
    """What a class says of an attribute beyond its type."""

    __slots__ = ("compare", "repr", "struct")

    def __init__(self, struct: object, repr: bool, compare: bool) -> None:
        self.struct, self.repr, self.compare = struct, repr, compare


class _ValueMeta(type(msgspec.Struct)):  # type: ignore[misc]
    """Makes the classes, those below another one included: their statement comes here at once."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **flags: bool) -> type:
        own = {attribute: one for attribute, one in namespace.items() if isinstance(one, _Field)}
        namespace |= {attribute: one.struct for attribute, one in own.items()}
        hidden = {attribute for attribute, one in own.items() if not one.repr}
        passed_over = {attribute for attribute, one in own.items() if not one.compare}
        for base in bases:
            hidden |= getattr(base, _HIDDEN, frozenset())
            passed_over |= getattr(base, _PASSED_OVER, frozenset())
        if hidden:
            namespace = {_HIDDEN: hidden, "__repr__": _repr, **namespace}
        if passed_over and flags.get("order"):
            raise TypeError(f"{name}: values with an order are compared by all of their fields")
        if passed_over and flags.get("eq", True):
            namespace = {_PASSED_OVER: passed_over, "__eq__": _eq, "__hash__": _hash, **namespace}
        return super().__new__(cls, name, bases, namespace, **flags)  # type: ignore[no-any-return]


class _Value(msgspec.Struct, metaclass=_ValueMeta):
    """What all values are."""


def shown_fields(cls: type) -> list[str]:
    """Return the names of the fields that a representation shows. Raises TypeError for what is no dataclass."""
    if issubclass(cls, msgspec.Struct):
        hidden = getattr(cls, _HIDDEN, ())
        return [name for name in cls.__struct_fields__ if name not in hidden]
    import dataclasses

    return [one.name for one in dataclasses.fields(cls) if one.repr]  # type: ignore[arg-type]


def _field(*, repr: bool = True, compare: bool = True, **given: Any) -> Any:
    return _Field(msgspec.field(**given), repr, compare)


def _dataclass(*, slots: bool = False, **flags: bool) -> Callable[[type], type]:
    if not slots:
        raise TypeError("a class of rails.core.dataclass has slots=True")
    return lambda cls: _made(cls, flags)


def _made(cls: type, flags: Mapping[str, bool]) -> type:
    """Return ``cls`` as a struct; one below another is one already."""
    if isinstance(cls, _ValueMeta):
        config = cls.__struct_config__
        if unlike := [name for name in ("frozen", "order") if getattr(config, name) != flags.get(name, False)]:
            raise TypeError(f"{cls.__name__}: {unlike[0]} is inherited, and cannot be another")
        return cls
    namespace = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    bases = tuple(base for base in cls.__bases__ if base is not object)
    return _ValueMeta(cls.__name__, (*bases, _Value), {**namespace, "__qualname__": cls.__qualname__}, **flags)


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in shown_fields(type(self)))
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _compared(self: Any) -> tuple[Any, ...]:
    passed_over = getattr(self, _PASSED_OVER)
    return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in passed_over)


def _eq(self: object, other: object) -> bool:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    if not self.__struct_config__.frozen:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")
    return hash(_compared(self))


def _replace(self: Any, /, **changes: Any) -> Any:
    if isinstance(self, msgspec.Struct):
        return msgspec.structs.replace(self, **changes)
    import dataclasses

    return dataclasses.replace(self, **changes)


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
