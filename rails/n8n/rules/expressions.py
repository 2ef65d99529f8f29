"""Expressions parse, have ``=``, and name nodes that exist and ran."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n.javascript import expressions
from rails.n8n.javascript.expressions import Reference, Segment
from rails.n8n.javascript.syntax import JavaScriptFault
from rails.n8n.model import Issue, JsonPath, Names, Node, Workflow, issue, reachable
from rails.n8n.rules import parameters

#: ``{{ $json… }}`` in a text that does not start with "=", and JavaScript's ``${$json… }``.
_LITERAL: Final = re.compile(
    r"""\{\{\s*(?:\$[A-Za-z_(]|(?:new Date|DateTime\.\w+|JSON\.\w+|Object\.\w+|Math\.\w+|Number|String)\()"""
    r"""|\$\{\s*\$(?:json\b|input\.|\(['"])"""
)
#: A whole value that reads as an expression and is none: ``$json.a``, ``=$json.a``, ``={ $json.a }``.
_BARE: Final = re.compile(
    r"""=?\s*+\$?\(?\{?\s*+(?:\$(?:now|today|itemIndex|runIndex)|(?:\$(?=\()|\$(?:json|binary|input|items?|node|now|today|vars|env|"""
    r"""workflow|execution|prevNode))(?:\??\.[A-Za-z_]\w*|\[(?:\d+|'[^'\]]*'|"[^"\]]*")\]|\((?:'[^']*'|"[^"]*"|\d*)\))+)\s*+\}?\)?\s*+"""
)
#: How an expression begins that only code can be, and where one is in a text that starts with "=".
_REFERS: Final = re.compile(
    r"""!*\$(?:(?:json|binary|input|node|vars|env|now|today|execution|workflow|prevNode)(?:\.|\[|\?\.)|\(['"]"""
    r"""|(?:fromAI|if|ifEmpty|jmespath|max|min|items)\()"""
)
_REFERS_INSIDE: Final = re.compile(r"""=(?!=).*?\$(?:json\.[A-Za-z_]|json\[['"]|\(['"][^'"]+['"]\)\.)""", re.DOTALL)
#: Nodes and fields that replace ``{{ … }}`` themselves, with or without "=".
_RESOLVES_ITSELF: Final = frozenset(
    {"html", "query", "jsCode", "pythonCode", "functionCode", "jsonOutput", "code", "workflowJson"}
)
#: Fields that hold code: n8n takes a leading "=" off them and evaluates nothing.
_CODE_FIELDS: Final = frozenset({"jsCode", "pythonCode", "functionCode"})
_RESOLVING_TYPES: Final = re.compile(r"(?i)\.(?:html|form|formTrigger|ldap|merge|postgres|mySql|microsoftSql|snowflake|"
                                     r"googleBigQuery|oracleDatabase|stickyNote)$")  # fmt: skip
FROM_AI: Final = re.compile(r"\$from(?:AI|Ai|ai)\s*\(")
#: Ancestors are searched for in graphs up to this size: the search is one walk for each node that refers.
_MAX_NODES_FOR_ORDER: Final = 600


#: Returns a node and those that can have run before it does, by their names.
_Upstream = Callable[[str], set[str]]


def _upstream_in(workflow: Workflow) -> _Upstream:
    def before(name: str) -> Iterator[str]:
        yield from (wire.source.name for wire in workflow.incoming.get(name, ()))
        yield from (wire.target.name for wire in workflow.outgoing.get(name, ()) if wire.source_type != "main")

    return cache(lambda name: reachable([name], before))


def check(workflow: Workflow, held: Mapping[int, Mapping[str, Any]], *, whole: bool) -> Iterator[Issue]:
    """Yield the issues of expressions in enabled nodes.

    ``held``: the parameters that n8n keeps, and so evaluates, by index, if known. ``whole``: the structure is sound, so
    order is judged.
    """
    names = workflow.names()
    ordered = whole and len(workflow.nodes) <= _MAX_NODES_FOR_ORDER
    upstream = _upstream_in(workflow) if ordered else None
    for node in workflow.nodes:
        if not node.disabled and not node.is_sticky:
            checker = _Checker(node, workflow, names, upstream)
            kept = held.get(node.index)
            for path, text in parameter_texts(node):
                if kept is None or "{{" not in text or parameters.is_kept(kept, path[3:]):
                    yield from checker.text(path, text)


def parameter_texts(node: Node) -> Iterator[tuple[JsonPath, str]]:
    """Yield parameter strings with paths, in file order."""
    todo: list[tuple[JsonPath, Json]] = [((*node.path, "parameters"), dict(node.parameters))]
    while todo:
        path, value = todo.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            todo.extend(((*path, key), child) for key, child in reversed(value.items()))
        elif isinstance(value, list):
            todo.extend(((*path, index), child) for index, child in reversed(list(enumerate(value))))


class _Checker:
    def __init__(self, node: Node, workflow: Workflow, names: Names, upstream: _Upstream | None) -> None:
        self._node = node
        self._workflow = workflow
        self._names = names
        self._upstream = upstream

    def text(self, path: JsonPath, text: str) -> Iterator[Issue]:
        is_bare = _BARE.fullmatch(text) is not None
        if "{{" not in text and (is_bare or _is_code(text)) and not self._resolves(path):
            rule = "N8N063c" if text.startswith("=") and not is_bare else "N8N063"
            meant = text.strip("=(){} ").removeprefix("${") if is_bare else text
            yield self._issue(rule, path, 0, len(text), text=text, meant=meant)
        elif not text.startswith("="):
            found = _LITERAL.search(text)
            if found and not self._resolves(path):
                yield self._issue("N8N063b", path, found.start(), len(text), value="=" + text[:50])
        elif path[-1] not in _CODE_FIELDS:
            yield from self._expression(path, text)

    def _expression(self, path: JsonPath, text: str) -> Iterator[Issue]:
        if fault := expressions.constructor_fault(text):
            yield self._fault(path, fault, 0, "Use another name, or a Code node.")
            return
        for segment in expressions.segments(text) if "{{" in text else ():
            yield from self._segment(path, segment)

    def _resolves(self, path: JsonPath) -> bool:
        return path[-1] in _RESOLVES_ITSELF or _RESOLVING_TYPES.search(self._node.type) is not None

    def _issue(self, text: str, path: JsonPath, start: int, end: int, /, **words: Any) -> Issue:  # noqa: ANN401 - as ``issue``
        return issue(text, path, start=start, end=end, node=self._node, **words)

    def _fault(self, path: JsonPath, fault: JavaScriptFault, shift: int, remedy: str) -> Issue:
        what = f"the expression in `{path[-1]}`"
        said = f"{what} is not valid JavaScript" if fault.is_syntax else f"n8n refuses {what}"
        start, end = shift + fault.start, shift + max(fault.end, fault.start + 1)
        return self._issue("N8N060", path, start, end, said=said, fault=fault, remedy=remedy)

    def _segment(self, path: JsonPath, segment: Segment) -> Iterator[Issue]:
        fault = expressions.syntax_fault(segment.code)
        if fault is not None:
            yield self._fault(path, fault, segment.start, _remedy(segment))
            return
        if not segment.closed:
            yield self._issue("N8N064", path, segment.start - 2, -1)
        for reference in expressions.node_references(segment.code):
            yield from self._reference(path, reference, segment.start)
        for found in FROM_AI.finditer(segment.code) if not is_tool(self._node, self._workflow) else ():
            yield outside_tool(self._node, path, segment.start + found.start())
        for variable in expressions.unknown_variables(segment.code) if "$" in segment.code else ():
            remedy = Names(sorted(expressions.VARIABLES)).hint(variable.name, "variables")
            start, end = segment.start + variable.start, segment.start + variable.end
            yield self._issue("N8N065", path, start, end, found=variable, remedy=remedy)

    def _reference(self, path: JsonPath, found: Reference, shift: int) -> Iterator[Issue]:
        start, end = shift + found.start, shift + found.end
        if found.name not in self._workflow.by_name:
            severity: Severity = "warning" if found.may_not_fail else "error"
            remedy = self._names.hint(found.name, "nodes")
            yield self._issue("N8N061", path, start, end, severity=severity, found=found, remedy=remedy)
        elif self._upstream is not None and found.name not in self._upstream(self._node.name):
            yield self._issue("N8N062", path, start, end, found=found)


def is_tool(node: Node, workflow: Workflow) -> bool:
    """Return whether models can call the node, by type or wire."""
    short = node.type.rpartition(".")[2]
    wires = workflow.outgoing.get(node.name, ())
    return short.startswith("tool") or short.endswith("Tool") or any(wire.source_type == "ai_tool" for wire in wires)


def outside_tool(node: Node, path: JsonPath, start: int) -> Issue:
    """Return the issue of a ``$fromAI`` that no model fills in."""
    return issue("N8N067", path, start=start, end=start + 7, node=node)


def _is_code(text: str) -> bool:
    """Return whether what starts as a reference is one expression: ``$json.a + 1``."""
    if len(text) > 500 or "\n" in text:
        return False
    if text.startswith("="):
        return _REFERS_INSIDE.match(text) is not None
    if not _REFERS.match(text):
        return False
    return expressions.syntax_fault(text) is None


def _remedy(segment: Segment) -> str:
    if not segment.closed:
        return 'The expression has no end: close it with "}}".'
    if "{{" in segment.code:
        return "Do not nest {{ }}: write one expression."
    if segment.code.count("{") > segment.code.count("}"):
        return 'n8n ends an expression at the first "}}": put a space between two closing braces.'
    return "Write one JavaScript expression between {{ and }}."
