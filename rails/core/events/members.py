"""A class's fields: names in Python and JSON, defaults, types."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import msgspec

from rails.core.change_summary import ChangeSummary
from rails.core.tool_request import Json

#: Names that a class needs for its annotations only.
_NAMES = {"Json": Json, "ChangeSummary": ChangeSummary}


class Member(NamedTuple):
    """A class's field; ``default`` counts if not required."""

    name: str
    key: str
    required: bool
    default: object


@cache
def members_of(kind: Any) -> tuple[Member, ...]:  # noqa: ANN401 - a type is no Hashable to the type checker
    """Return the fields of a class, in order."""
    names = kind.__struct_fields__
    defaults = kind.__struct_defaults__
    given = [msgspec.NODEFAULT] * (len(names) - len(defaults)) + list(defaults)
    return tuple(
        Member(name, key, default is msgspec.NODEFAULT, default)
        for name, key, default in zip(names, kind.__struct_encode_fields__, given, strict=True)
    )


def hints_of(kind: type) -> dict[str, Hashable]:
    """Return each field's type; for readers: slow."""
    return get_type_hints(kind, localns=_NAMES, include_extras=True)
