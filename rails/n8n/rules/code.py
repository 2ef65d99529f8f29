"""Code nodes: JavaScript and Python parse, named nodes exist."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

from rails.core.verdict import Severity
from rails.data_formats.python_code import parse_tree
from rails.n8n.javascript import expressions, syntax
from rails.n8n.javascript.syntax import JavaScriptFault
from rails.n8n.model import Issue, JsonPath, Names, Node, Workflow, is_expression, issue
from rails.n8n.rules.expressions import FROM_AI, is_tool, outside_tool
from rails.n8n.rules.returns import returns

CodeLanguage = Literal["javaScript", "python"]

_LANGUAGES: Final = ("javaScript", "pythonNative", "python")
#: Types with a `language` parameter, and the field of each language.
_CODE_TYPES: Final = frozenset({"n8n-nodes-base.code", "n8n-nodes-base.codeTool", "@n8n/n8n-nodes-langchain.toolCode"})
_FIELDS: Final = {"javaScript": "jsCode", "python": "pythonCode", "pythonNative": "pythonCode"}
#: Types whose code is always JavaScript, and where it is.
_SCRIPT_FIELDS: Final = {
    "n8n-nodes-base.function": "functionCode",
    "n8n-nodes-base.functionItem": "functionCode",
    "n8n-nodes-base.aiTransform": "jsCode",
}
_LONGEST: Final = 400_000
#: Code that ends so gives back nothing, on purpose.
_ENDS_BY_ERROR: Final = re.compile(r"\b(?:throw|raise)\b")
_F_STRING: Final = re.compile(r"""\b[rR]?[fF][rR]?['"]""")


class _Code(Struct, frozen=True):
    language: CodeLanguage
    path: JsonPath
    text: str


def check(workflow: Workflow) -> Iterator[Issue]:
    """Yield the issues of code in enabled nodes."""
    names = workflow.names()
    for node in workflow.nodes:
        if node.disabled:
            continue
        yield from _language(node)
        code = _code(node)
        if code is None:
            continue
        faults = list(_syntax(node, code))
        yield from faults or _result(node, code)
        if code.language == "javaScript":
            yield from _references(node, code, workflow, names)
            found = FROM_AI.search(code.text)
            if found and not is_tool(node, workflow):
                yield outside_tool(node, code.path, found.start())


def _code(node: Node) -> _Code | None:
    field = _SCRIPT_FIELDS.get(node.type, "")
    if node.type in _CODE_TYPES:
        field = _FIELDS.get(str(node.parameters.get("language", "javaScript")), "")
    text = node.parameters.get(field)
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    language: CodeLanguage = "python" if field == "pythonCode" else "javaScript"
    return _Code(language, (*node.path, "parameters", field), text)


def _language(node: Node) -> Iterator[Issue]:
    if node.type not in _CODE_TYPES or "language" not in node.parameters:
        return
    chosen = node.parameters["language"]
    path = (*node.path, "parameters", "language")
    if is_expression(chosen):
        return
    if chosen == "python":
        yield issue("N8N072", path, severity="warning", node=node)
    elif chosen not in _LANGUAGES:
        yield issue("N8N072b", path, node=node, chosen=chosen, value=_LANGUAGES[:2])


def _syntax(node: Node, code: _Code) -> Iterator[Issue]:
    is_python = code.language == "python"
    fault = _python(code.text) if is_python else _javascript(code.text)
    if fault is not None:
        rule = "N8N071" if is_python else "N8N070"
        if not is_python and re.search(r"\{\{(?:(?!\{\{).)*\}\}", code.text):
            rule = "N8N070b"
        line = code.text.count("\n", 0, fault.start) + 1
        end = max(fault.end, fault.start + 1)
        yield issue(rule, code.path, start=fault.start, end=end, node=node, line=line, fault=fault)


def _result(node: Node, code: _Code) -> Iterator[Issue]:
    if node.type != "n8n-nodes-base.code" or not code.text.strip():
        return
    each = node.parameters.get("mode") == "runOnceForEachItem"
    wrapped = "{ json: { a: 1 } }" if code.language == "javaScript" else '{"json": {"a": 1}}'
    example = f"return {wrapped}" if each else f"return [{wrapped}]"
    found = list(returns(code.text, code.language, each=each))
    if not found and not _ENDS_BY_ERROR.search(code.text):
        yield issue("N8N073", code.path, node=node, example=example)
    for one in found:
        if one.said:
            how: Severity = "error" if one.is_sure else "warning"
            yield issue(
                "N8N074",
                code.path,
                severity=how,
                node=node,
                found=one,
                example=example,
                start=one.start,
                end=one.end,
            )


def _javascript(text: str) -> JavaScriptFault | None:
    parsed = syntax.parse_javascript(text)
    return parsed.fault if parsed is not None else None


def _python(text: str) -> JavaScriptFault | None:
    try:
        parse_tree(text)
    except SyntaxError as error:
        return _python_fault(text, error)
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def _python_fault(text: str, error: SyntaxError) -> JavaScriptFault | None:
    lines = text.splitlines(keepends=True)
    number = min(max(error.lineno or 1, 1), max(len(lines), 1))
    line = lines[number - 1] if lines else ""
    # Since 3.12 an f-string may hold its own quotes; an older parser cannot tell whether it is right.
    if sys.version_info < (3, 12) and ("f-string" in str(error.msg) or _F_STRING.search(line)):
        return None
    start = sum(len(text) for text in lines[: number - 1]) + max((error.offset or 1) - 1, 0)
    return JavaScriptFault(min(start, len(text)), min(start + 1, len(text)), str(error.msg))


def _references(node: Node, code: _Code, workflow: Workflow, names: Names) -> Iterator[Issue]:
    for found in expressions.node_references(code.text):
        if found.name not in workflow.by_name:
            severity: Severity = "warning" if found.may_not_fail else "error"
            remedy = names.hint(found.name, "nodes")
            yield issue(
                "N8N061b",
                code.path,
                severity=severity,
                node=node,
                found=found,
                remedy=remedy,
                start=found.start,
                end=found.end,
            )
