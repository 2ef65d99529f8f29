"""The comparisons of n8n's filters, by type. Anchor: n8n's filter-parameter; anything else is never true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_COMMON: Final = ("exists", "notExists", "empty", "notEmpty", "equals", "notEquals")
_TEXT: Final = (
    "contains", "notContains", "startsWith", "notStartsWith", "endsWith", "notEndsWith", "regex", "notRegex",
)  # fmt: skip
_LENGTHS: Final = ("lengthEquals", "lengthNotEquals", "lengthGt", "lengthLt", "lengthGte", "lengthLte")

#: Type of comparison → its operations.
FILTER_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": (*_COMMON, *_TEXT),
    "number": (*_COMMON, "gt", "lt", "gte", "lte"),
    "dateTime": (*_COMMON, "after", "before", "afterOrEquals", "beforeOrEquals"),
    "boolean": (*_COMMON, "true", "false"),
    "array": (*_COMMON, "contains", "notContains", *_LENGTHS),
    "object": _COMMON,
    "any": _COMMON,
}
#: What compares with nothing: `singleValue` is true in the operator.
ONE_SIDED: Final = frozenset({"exists", "notExists", "empty", "notEmpty", "true", "false"})
