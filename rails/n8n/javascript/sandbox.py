"""JavaScript that n8n's expression sandbox refuses.

Names that lead out, ``$`` without a call, and ``await``, for it makes a plain function. Anchors: ``n8n-workflow`` 2.41,
``expression-sandboxing``, ``Expression.resolveSimpleParameterValue``; each form was run there
(``tests/n8n/expression_verdicts.json``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rails.n8n.facts import FACTS
from rails.n8n.javascript.early_errors import (
    Early,
    error_at,
    forms,
    inside_parentheses,
    outer_await,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from rails.n8n.javascript.syntax import ParsedScript

#: Properties that an expression may not use.
FORBIDDEN: Final[list[str]] = FACTS["refused_properties"]
_NAME: Final = re.compile(rf"(?<![\w$])(?:{'|'.join(FORBIDDEN)})(?![\w$])")
#: n8n looks for this in the whole text of an expression, whatever it stands in.
_CONSTRUCTOR: Final = re.compile(r"\.\s*constructor")
_DOLLAR: Final = re.compile(r"(?<![\w$])\$(?![\w$({])")


def is_suspicious(code: str) -> bool:
    """Return whether ``code`` could have a refused form."""
    return _NAME.search(code) is not None


def constructor_access(text: str) -> tuple[int, int] | None:
    """Return where a text has ``.constructor``."""
    found = _CONSTRUCTOR.search(text, 1)
    return found.span() if found else None


def refusal(parsed: ParsedScript) -> Early | None:
    """Return what n8n refuses first."""
    refused = forms(parsed.tree, "expression")
    found = [*refused, *_names(parsed), *_dollars(parsed), *outer_await(parsed.code, parsed.tree)]
    return min(found, default=None)


def _names(parsed: ParsedScript) -> Iterator[Early]:
    for match in _NAME.finditer(parsed.code):
        node = parsed.node_at(match.start(), match.end())
        if node is not None and _is_access(node, match.group()):
            yield error_at(node, f"no expression may use the name {match.group()!r}")


def _is_access(node: Node, name: str) -> bool:
    holder = node.parent
    if holder is None or node.type == "property_identifier":
        return holder is not None and holder.type in {"member_expression", "pair_pattern"}
    around = holder.parent
    if node.type != "string_fragment" or text_of(node) != name or around is None:
        return False
    if around.type == "pair_pattern":
        return holder == around.child_by_field_name("key")
    return holder == around.child_by_field_name("index")


def _dollars(parsed: ParsedScript) -> Iterator[Early]:
    for match in _DOLLAR.finditer(parsed.code):
        node = parsed.node_at(match.start(), match.end())
        if node is not None and node.type == "identifier" and not _is_called(node):
            yield error_at(node, '"$" may only stand before a call: $("Node name")')


def _is_called(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    return parent is not None and node == inside_parentheses(parent.child_by_field_name("function"))
