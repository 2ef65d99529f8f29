"""Whether a tool's answer satisfies its definition's schema."""

from __future__ import annotations

from rails.core import limits
from rails.core.text import head_and_tail, one_line
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.json_schema.validator import answer_faults
from rails.tools.registry import Definition
from rails.tools.runners.secrets import Secrets


def form_problem(definition: Definition, text: str, whose: str) -> tuple[str, Json] | None:
    """Return what is wrong, in a sentence and in detail, or ``None``."""
    if not isinstance(definition.response_format, dict):
        return None
    try:
        found = form_faults(definition, parse_document(text).value)
    except JsonError as error:
        return f"the {whose} is not JSON: {error.message} (line {error.line})", one_line(text, 400)
    return (f"the {whose} does not have the form that its definition promises", [*found]) if found else None


def form_faults(definition: Definition, value: Json) -> list[str]:
    """Return the violations of an answer's promised form."""
    promised = definition.response_format
    found = answer_faults(promised, value) if isinstance(promised, dict) else ()
    return [fault.detail for fault in found[: limits.FINDINGS_TOLD]]


def masked_and_cut(text: str, secrets: Secrets, **facts: Json) -> tuple[str, dict[str, Json]]:
    """Return what a tool gave, masked and then cut, and the facts of its result."""
    kept, left_out = head_and_tail(secrets.mask(text), limits.RESULT_CHARS)
    return kept, {**facts, **secrets.facts(), **({"characters_left_out": left_out} if left_out else {})}
