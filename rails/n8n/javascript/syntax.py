"""JavaScript syntax, by tree-sitter: the first error, and what is code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from rails.n8n.javascript import early_errors

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

#: One piece of code. Longer ones are not code that a person wrote into a node.
_MAX_CHARS: Final = 400_000
#: How far up a look for what encloses a piece of code goes.
_MOST_PARENTS: Final = 200
_CURLY: Final = re.compile("[\u2018\u2019\u201c\u201d]")
#: White space to the language, of which the grammar is not sure where a line begins with it.
_SPACES: Final = re.compile("[\ufeff\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
#: What does not hold whenever its code runs: a part of an operator or statement that a condition decides on.
_BRANCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "ternary_expression": ("consequence", "alternative"),
    "if_statement": ("consequence", "alternative"),
    "for_statement": ("body", "increment"),
    "for_in_statement": ("body",),
    "while_statement": ("body",),
    "augmented_assignment_expression": ("right",),
    "assignment_pattern": ("right",),
    "object_assignment_pattern": ("right",),
    "binary_expression": ("right",),
}
_SHORT: Final = frozenset({"&&", "||", "??", "&&=", "||=", "??="})
_NOT_CODE: Final = frozenset({
    "comment", "string", "string_fragment", "template_string", "regex", "regex_pattern", "escape_sequence",
    "html_comment", "jsx_text",
})  # fmt: skip


class JavaScriptFault(Struct, frozen=True):
    """A fault at character offsets: of syntax, or (``is_syntax`` false) n8n's refusal."""

    start: int
    end: int
    message: str
    is_syntax: bool = True


class ParsedScript(Struct, frozen=True):
    """Code and its tree; ``fault``: the first syntax error."""

    code: str
    tree: Tree
    fault: JavaScriptFault | None

    @property
    def first_statement(self) -> str:
        """The first statement's kind ("expression_statement", …), or ""."""
        return next((child.type for child in self.tree.root_node.named_children if "comment" not in child.type), "")

    def is_code(self, start: int, end: int) -> bool:
        """Return whether the range is outside strings and comments."""
        node = self.node_at(start, end)
        return node is None or node.type not in _NOT_CODE

    def is_name(self, start: int, end: int) -> bool:
        """Return whether the range begins a name, no property."""
        node = self.node_at(start, end)
        return node is None or node.type == "identifier" or self.fault is not None

    def may_not_fail(self, offset: int) -> bool:
        """Return whether a run can pass ``offset`` by or catches its failure. Function bodies count as run."""
        node = self.node_at(offset, offset + 1)
        for _ in range(_MOST_PARENTS):
            parent = node.parent if node is not None else None
            if node is None or parent is None:
                return False
            if _passes_by(parent, node) or _is_caught(parent, node):
                return True
            node = parent
        return False

    def node_at(self, start: int, end: int) -> Node | None:
        """Return the smallest part around these characters."""
        if not self.code.isascii():
            start = len(self.code[:start].encode())
            end = len(self.code[:end].encode())
        return self.tree.root_node.descendant_for_byte_range(start, end)


def _is_caught(parent: Node, node: Node) -> bool:
    is_tried = parent.type == "try_statement" and parent.child_by_field_name("body") == node
    return is_tried and parent.child_by_field_name("handler") is not None


def _passes_by(parent: Node, node: Node) -> bool:
    if node.type in {"else_clause", "switch_case", "switch_default"}:
        return True
    if parent.type == "arguments" and parent.parent is not None:
        return _may_end_early(parent.parent, is_condition=parent.named_children[0] == node)
    fields = _BRANCHES.get(parent.type, ())
    if parent.type in {"binary_expression", "augmented_assignment_expression"}:
        operator = early_errors.text_of(parent.child_by_field_name("operator"))
        fields = fields if operator in _SHORT else ()
    return any(parent.child_by_field_name(field) == node for field in fields)


def _may_end_early(call: Node, *, is_condition: bool) -> bool:
    if call.child_by_field_name("optional_chain") is not None:
        return True
    here = call.child_by_field_name("function")
    if here is not None and here.text == b"$if":
        return not is_condition
    for _ in range(_MOST_PARENTS):
        if here is None:
            return False
        if here.child_by_field_name("optional_chain") is not None:
            return True
        here = here.child_by_field_name("object") or here.child_by_field_name("function")
    return False


@cache
def _parser() -> Parser:
    from tree_sitter import Parser

    return Parser(early_errors.grammar())


@lru_cache(maxsize=512)
def parse_javascript(code: str) -> ParsedScript | None:
    """Parse ``code``; ``None`` if too long or not encodable."""
    if len(code) > _MAX_CHARS:
        return None
    code = _SPACES.sub(" ", code)
    try:
        data = code.encode()
    except UnicodeEncodeError:
        return None
    tree = _parser().parse(data)
    parsed = ParsedScript(code, tree, _fault(code, data, tree) if tree.root_node.has_error else None)
    return parsed if parsed.fault else replace(parsed, fault=_curly_quote(parsed) or _early(code, data, tree))


def _early(code: str, data: bytes, tree: Tree) -> JavaScriptFault | None:
    found = next(early_errors.errors(code, tree), None)
    if found is None:
        return None
    start, end = (len(data[:offset].decode(errors="ignore")) for offset in (found.start, found.end))
    return JavaScriptFault(start, end, found.message)


def _curly_quote(parsed: ParsedScript) -> JavaScriptFault | None:
    for match in _CURLY.finditer(parsed.code):
        if parsed.is_code(match.start(), match.end()):
            return JavaScriptFault(match.start(), match.end(), f"{match.group()} is not a quote in code: write ' or \"")
    return None


def _fault(code: str, data: bytes, tree: Tree) -> JavaScriptFault:
    node = _first_error(tree.root_node)
    start, end = (len(data[:offset].decode(errors="ignore")) for offset in (node.start_byte, node.end_byte))
    if node.is_missing:
        return JavaScriptFault(start, start, f"{node.type!r} is missing")
    found = " ".join(code[start:end].split())
    if not found or not code[end:].strip(" \t\r\n)"):
        return JavaScriptFault(start, end, f"it cannot be read from {found[:40]!r} to its end")
    return JavaScriptFault(start, end, f"unexpected {found[:40]!r}")


def _first_error(node: Node) -> Node:
    while True:
        if node.is_missing or (node.is_error and not any(child.has_error for child in node.children)):
            return node
        child = next((child for child in node.children if child.has_error or child.is_missing), None)
        if child is None:
            return node
        node = child
