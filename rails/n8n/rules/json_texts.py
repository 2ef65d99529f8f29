"""Texts that n8n cannot parse as JSON; Set repairs some since 2.x."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n.facts import FACTS
from rails.n8n.model import Issue, Node, parameter_issue

#: By the node's name: which parameters, and the value of another that makes each count.
_PLACES: Final[Mapping[str, list[tuple[str, str, Json]]]] = FACTS["json_texts"]
NAMES: Final = frozenset(parameter for rows in _PLACES.values() for parameter, *_ in rows)
_EXPRESSION: Final = re.compile(r"(:\s*|)\{\{(?:(?!\{\{).)*?\}\}", re.DOTALL)


def check(node: Node, values: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield the issues of a node's texts; ``values`` are its known parameters."""
    name = node.type.rpartition(".")[2].removesuffix("Tool")
    for parameter, controller, wanted in _PLACES.get(name, ()):
        text = node.parameters.get(parameter)
        counts = not controller or values.get(controller) == wanted
        if not counts or not isinstance(text, str) or not text.strip():
            continue
        is_made = text.startswith("=")
        why = _made_fault(text[1:]) if is_made else json_fault(text)
        is_mild = is_made or (why and name == "set")
        if not why and name == "set" and not is_made and not text.strip().startswith("{"):
            why = "n8n wants an object here"
        if why:
            severity: Severity = "warning" if is_mild else "error"
            yield parameter_issue(node, "N8N075", (parameter,), severity=severity, parameter=parameter, why=why)


def json_fault(text: str) -> str:
    """Return why a text is no JSON, or ""."""
    try:
        json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return ""


def _made_fault(text: str) -> str:
    if not _EXPRESSION.search(text) or not text.lstrip().startswith(("{", "[")) or text.lstrip().startswith("{{"):
        return ""
    # Behind a colon an expression gives a value; elsewhere a value, members, or nothing.
    faults = [
        json_fault(_EXPRESSION.sub(lambda found: f"{found[1]}0" if found[1] else value, text))  # noqa: B023
        for value in ("0", "", '"a": 0')
    ]
    return faults[0] if all(faults) else ""


def _no_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")
