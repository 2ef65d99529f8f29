"""The tree of a piece of JavaScript as Python objects: read once, as running it asks for its parts again and again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rails.n8n.javascript import expressions, syntax
from rails.n8n.try_run.values import NodeFault, NotModelled, OverBudget

if TYPE_CHECKING:
    from tree_sitter import Node


class CodePart:
    """One part of the code. ``parts`` are its named children without comments, ``children`` all of them."""

    __slots__ = ("_data", "_fields", "_span", "_text", "children", "parts", "type")

    def __init__(self, node: Node, data: bytes) -> None:
        self.type, self._data, self._span = node.type, data, (node.start_byte, node.end_byte)
        self._text: str | None = None
        self._fields: dict[str, CodePart] = {}
        self.children: list[CodePart] = []
        self.parts: list[CodePart] = []
        for index, child in enumerate(node.children):
            made = CodePart(child, data)
            self.children.append(made)
            name = node.field_name_for_child(index)
            if name is not None:
                self._fields.setdefault(name, made)
            if child.is_named and made.type not in {"comment", "html_comment"}:
                self.parts.append(made)

    def get(self, name: str) -> CodePart | None:
        """Return the part that has a role: "left", "body" and others."""
        return self._fields.get(name)

    def field(self, name: str) -> CodePart:
        """Return the part that has a role. Raises NotModelled where the code has none."""
        found = self._fields.get(name)
        if found is None:
            raise NotModelled(f"JavaScript's {self.type.replace('_', ' ')} without a {name}")
        return found

    def text_of(self, name: str) -> str:
        """Return the text of the part that has a role, empty where there is none."""
        found = self._fields.get(name)
        return "" if found is None else found.text

    @property
    def text(self) -> str:
        """The code of this part."""
        if self._text is None:
            self._text = self._data[self._span[0] : self._span[1]].decode(errors="replace")
        return self._text

    def slots(self) -> list[CodePart | None]:
        """Return the places of an array or its pattern; one that is left out is ``None``."""
        slots: list[CodePart | None] = []
        filled = False
        for child in self.children[1:-1]:
            if child.type == ",":
                slots += [] if filled else [None]
                filled = False
            elif child.type != "comment":
                slots.append(child)
                filled = True
        return slots

    def piece(self) -> str:
        """Return a piece of a quoted text as JavaScript reads it."""
        if self.type != "escape_sequence":
            return self.text
        return "" if self.text[1:2] in {"\n", "\r"} else expressions.string_value(self.text)


@lru_cache(maxsize=256)
def code_tree(code: str) -> CodePart:
    """Return the tree of a piece of code. Raises NodeFault for code that does not parse."""
    if not syntax.available():
        raise NotModelled("JavaScript: the packages tree-sitter and tree-sitter-javascript are not installed")
    parsed = syntax.parse_javascript(code)
    if parsed is None or parsed.fault is not None:
        raise NodeFault(f"invalid syntax: {parsed.fault.message if parsed and parsed.fault else 'too long'}")
    try:
        return CodePart(parsed.tree.root_node, parsed.code.encode("utf-8", "surrogatepass"))
    except RecursionError:
        raise OverBudget("code that is nested this deeply") from None
