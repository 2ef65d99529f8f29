"""n8n's expressions evaluated on the items of a dry run, by the JavaScript engine that runs it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rails.n8n.javascript import expressions, syntax
from rails.n8n.model import Workflow
from rails.n8n.try_run.faults import NodeFault, NotModelled
from rails.n8n.try_run.items import Item, NodeRun
from rails.n8n.try_run.javascript import Questions
from rails.n8n.values import UNDEFINED, Value

if TYPE_CHECKING:
    from tree_sitter import Node as Part

#: What a node's memory shows to expressions.
_SHOWN: Final = ("currentRunIndex", "maxRunIndex", "noItemsLeft")


class Evaluator:
    """Evaluates the parameters of one workflow's nodes."""

    def __init__(self, asked: Questions, zone: str, workflow: Workflow, pinned: Mapping[str, Sequence[Item]]) -> None:
        self._asked, self._world = asked, asked.worlds
        asked.worlds += 1
        described = {**_described(workflow, pinned), "world": self._world, "zone": zone}
        self._told: set[int] = set()
        for items in pinned.values():
            self._tell_items(items)
        asked.tell(lambda: ("workflow", described))

    def put_out(self, run: NodeRun, memory: Mapping[str, Value]) -> None:
        """Let expressions see what a node has put out."""
        for items in run.outputs:
            self._tell_items(items)
        outputs = [[item.id for item in items] for items in run.outputs]
        context = {name: memory[name] for name in _SHOWN if name in memory}
        made = {"world": self._world, "node": run.node, "outputs": outputs, "context": context}
        self._asked.tell(lambda: ("ran", made))

    def _tell_items(self, items: Sequence[Item]) -> None:
        for item in items:
            self._told.add(item.id)
            self._asked.tell(lambda item=item: ("item", item.told()))  # type: ignore[misc]

    def resolve(self, value: Value, run: NodeRun, index: int) -> Value:
        """Return a parameter with the expressions in it evaluated."""
        if isinstance(value, str):
            return self.evaluate(value, run, index) if value.startswith("=") else value
        if isinstance(value, dict):
            return {key: self.resolve(one, run, index) for key, one in value.items()}
        return [self.resolve(one, run, index) for one in value] if isinstance(value, list) else value

    def evaluate(self, text: str, run: NodeRun, index: int, form: str = "") -> Value:
        """Return the value of an expression; of several parts it is a text, of values in the form "text" or "json"."""
        parts = list(expressions.segments(text))
        alone = len(parts) == 1 and (parts[0].start, parts[0].end + 2) == (3, len(text)) and not form
        made, position = list[Value](), 1
        for part in parts:
            found = self._segment(part.code, run, index, "value" if alone else form or "text")
            if alone:
                return found
            made += [text[position : part.start - 2], found]
            position = part.end + 2
        return "".join([*made, text[position:]])

    def _segment(self, code: str, run: NodeRun, index: int, form: str) -> Value:
        ready = with_methods(code)
        return UNDEFINED if not ready else self._ask(run, index=index, code=ready, form=form)

    def run_code(self, code: str, run: NodeRun, index: int | None) -> Value:
        """Return what a Code node's JavaScript gives back, for one item or (``None``) for all."""
        return self._ask(run, index=index or 0, code=code, each=index is not None)

    def call(self, run: NodeRun, name: str, *given: Value) -> Value:
        """Return what one of the functions for models of nodes (``helpers`` in ``names.js``) makes of values."""
        written = ", ".join("undefined" if one is UNDEFINED else json.dumps(one) for one in given)
        return self._ask(run, code=f"$$helpers.{name}({written})", key=name, form="value")

    def _ask(self, run: NodeRun, **question: Value) -> Value:
        if self._asked.here is not run:
            items = next((one for one in run.inputs if one), [])
            self._tell_items([item for item in items if item.id not in self._told])
            source = run.source[0] if run.source else None
            made = {"world": self._world, "node": run.node, "run": run.index, "source": source,
                    "items": [item.id for item in items]}  # fmt: skip
            self._asked.tell(lambda: ("run", made))
            self._asked.here = run
        return self._asked.value(**question)


def _described(workflow: Workflow, pinned: Mapping[str, Sequence[Item]]) -> dict[str, Value]:
    nodes = {
        node.name: {"parameters": dict(node.parameters), "version": node.version, "id": node.raw.get("id", "")}
        for node in workflow.nodes
    }
    into: dict[str, list[Value]] = {}
    for wire in workflow.wires:
        if wire.source_type == "main":
            into.setdefault(wire.target.name, []).append([wire.source.name, wire.output])
    about = {"id": workflow.raw.get("id", ""), "name": workflow.raw.get("name", ""), "active": False}
    ids = {name: [item.id for item in items] for name, items in pinned.items()}
    return {"about": about, "nodes": nodes, "into": into, "pinned": ids}


@lru_cache(maxsize=1024)
def with_methods(code: str) -> str:
    """Return a segment's code with each call of a method made a call of ``$$call``, which knows n8n's own.

    It is empty where there is no expression in it. Raises NodeFault for code that n8n refuses.
    """
    if not syntax.available():
        raise NotModelled("JavaScript: the packages tree-sitter and tree-sitter-javascript are not installed")
    if (fault := expressions.syntax_fault(code, alone=True)) is not None:
        raise NodeFault("invalid syntax" if fault.is_syntax else f"invalid syntax: {fault.message}")
    parsed = syntax.parse_javascript(f"({code})" if code.lstrip().startswith("{") else code)
    if parsed is None:
        raise NodeFault("invalid syntax: too long")
    root = parsed.tree.root_node
    statement = next((one for one in root.named_children if one.type == "expression_statement"), None)
    if statement is None:
        return ""
    data, expression = parsed.code.encode("utf-8", "surrogatepass"), statement.named_children[0]
    edits = sorted(_edits(expression), key=lambda edit: (edit[0], edit[1] > edit[0]))
    made, position = list[bytes](), expression.start_byte
    for start, end, new in edits:
        made += [data[position:start], new]
        position = max(position, end)
    made.append(data[position : expression.end_byte])
    return b"".join(made).decode("utf-8", "surrogatepass")


def _edits(root: Part) -> list[tuple[int, int, bytes]]:
    """Return what is to be replaced: ``a.name(b)`` becomes ``$$call(a,"name",[b],…)``."""
    made: list[tuple[int, int, bytes]] = []
    todo = [root]
    while todo:
        node = todo.pop()
        todo += node.named_children
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if node.type != "call_expression" or function is None or given is None or given.type != "arguments":
            continue
        if function.type != "member_expression" or node.child_by_field_name("optional_chain") is not None:
            continue
        of, name = function.child_by_field_name("object"), function.child_by_field_name("property")
        if of is None or name is None or name.type != "property_identifier" or of.type in {"super", "import"}:
            continue
        optional = _is_optional(function)
        made.append((of.start_byte, of.start_byte, b"$$call("))
        made.append((of.end_byte, given.start_byte + 1, b',"' + (name.text or b"") + b'",['))
        made.append((given.end_byte - 1, given.end_byte, b"],1)" if optional else b"])"))
        after = node.parent
        if optional and after is not None and after.type in {"member_expression", "subscript_expression"}:
            made += _goes_on(node, after)
    return made


def _is_optional(node: Part | None) -> bool:
    """Whether a chain may end early: there is a ``?.`` in it."""
    while node is not None and node.type in {"member_expression", "subscript_expression", "call_expression"}:
        if any(child.type == "optional_chain" for child in node.children):
            return True
        node = node.child_by_field_name("object") or node.child_by_field_name("function")
    return False


def _goes_on(node: Part, after: Part) -> list[tuple[int, int, bytes]]:
    """Return what lets the rest of a chain end early, where a method was called in it that is no member any more."""
    is_callee = after.parent is not None and after.parent.type == "call_expression" and \
        after.parent.child_by_field_name("function") == after  # fmt: skip
    if after.child_by_field_name("object") != node or any(one.type == "optional_chain" for one in after.children):
        return []
    if after.type == "subscript_expression":
        return [(node.end_byte, node.end_byte, b"?.")]
    return [] if is_callee else [(node.end_byte, node.end_byte + 1, b"?.")]
