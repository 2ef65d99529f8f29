"""The fields of a class: their names in Python and in JSON, their defaults and types."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, NamedTuple, cast, get_type_hints

import msgspec

from rails.core.change_summary import ChangeSummary, SummaryLine
from rails.core.dataclass import fields_of
from rails.core.paths import WorkspacePath
from rails.core.tool_request import Json

#: Names that a class needs for its annotations only.
_NAMES = {"Json": Json, "Outline": ChangeSummary, "OutlineLine": SummaryLine, "WorkspacePath": WorkspacePath}


class Member(NamedTuple):
    """One field of a class. ``default`` is only meant where it is not required."""

    name: str
    key: str
    required: bool
    default: object
    hint: Hashable


def members_of(kind: type) -> tuple[Member, ...]:
    """Return the fields of a class, in order."""
    return _members_of(cast(Hashable, kind))


@cache
def _members_of(kind: Any) -> tuple[Member, ...]:  # noqa: ANN401 - a type is no Hashable to the type checker
    hints = get_type_hints(kind, localns=_NAMES, include_extras=True)
    if issubclass(kind, msgspec.Struct):
        own = msgspec.structs.fields(kind)
        return tuple(Member(one.name, one.encode_name, one.required, one.default, hints[one.name]) for one in own)
    return tuple(
        Member(name, name, o.default is o.default_factory, o.default, hints[name]) for name, o in fields_of(kind)
    )
