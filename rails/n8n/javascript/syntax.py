"""JavaScript syntax, by tree-sitter: where the first error is, and which text is code, not string or comment.

The parser is fast, tolerant and in two small wheels. Where they are missing, nothing here is called:
``available`` is asked first and the caller says that the syntax was not checked.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from rails.core.dataclass import dataclass, replace
from rails.n8n.javascript import early_errors

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

#: One piece of code. Longer ones are not code that a person wrote into a node.
_MAX_CHARS: Final = 400_000
#: How far up a look for what encloses a piece of code goes.
_MOST_PARENTS: Final = 200
_CURLY: Final = re.compile("[\u2018\u2019\u201c\u201d]")
_NOT_CODE: Final = frozenset({"comment", "string", "string_fragment", "template_string", "regex", "regex_pattern"})


@dataclass(frozen=True, slots=True)
class JavaScriptFault:
    """A syntax error: character offsets into the code, and what is wrong there."""

    start: int
    end: int
    message: str


@dataclass(frozen=True, slots=True)
class ParsedScript:
    """A piece of code and its tree. ``fault`` is its first syntax error."""

    code: str
    tree: Tree
    fault: JavaScriptFault | None

    @property
    def first_statement(self) -> str:
        """The kind of the first statement ("expression_statement", …), empty if there is none."""
        return next((child.type for child in self.tree.root_node.named_children if child.type != "comment"), "")

    def is_code(self, start: int, end: int) -> bool:
        """Whether the characters from ``start`` to ``end`` are code, not inside a string or comment."""
        node = self._at(start, end)
        return node is None or node.type not in _NOT_CODE

    def is_caught(self, offset: int) -> bool:
        """Whether the code at ``offset`` is in a ``try`` block whose errors are caught."""
        node = self._at(offset, offset + 1)
        for _ in range(_MOST_PARENTS):
            parent = node.parent if node is not None else None
            if node is None or parent is None:
                return False
            if parent.type == "try_statement" and parent.child_by_field_name("body") == node:
                return parent.child_by_field_name("handler") is not None
            node = parent
        return False

    def _at(self, start: int, end: int) -> Node | None:
        """Return the smallest part of the tree around these characters."""
        if not self.code.isascii():
            start, end = len(self.code[:start].encode()), len(self.code[:end].encode())
        return self.tree.root_node.descendant_for_byte_range(start, end)


@cache
def available() -> bool:
    """Whether the parser is installed."""
    try:
        _parser()
    except ImportError:
        return False
    return True


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_javascript.language()))


@lru_cache(maxsize=512)
def parse_javascript(code: str) -> ParsedScript | None:
    """Parse ``code``. Returns ``None`` for code that is too long or cannot be encoded."""
    if len(code) > _MAX_CHARS:
        return None
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
    """Return the fault of a typographic quote used as a quote, which the grammar takes for a letter."""
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
    """Return the first node, depth first, that is an error or missing; ``node`` itself if none is."""
    while True:
        if node.is_missing or (node.is_error and not any(child.has_error for child in node.children)):
            return node
        child = next((child for child in node.children if child.has_error or child.is_missing), None)
        if child is None:
            return node
        node = child
