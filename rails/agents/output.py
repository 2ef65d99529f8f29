"""The required form of a role's final answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from rails.agents.template import Agent
from rails.core import limits
from rails.core.errors import Refusal
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.json_schema.explain import place_in_words
from rails.json_schema.validator import answer_faults

#: A reviewer's verdicts, the strictest first.
VERDICTS: Final = ("FAIL", "NEEDS_REVISION", "PASS")
#: Where a line or a sentence begins, behind a colon or a word for it; not in "I cannot PASS this", and not where all
#: are named: "PASS, NEEDS_REVISION or FAIL".
_VERDICT: Final = re.compile(
    r"(?:^|[:.!;]|[Vv]erdict|[Rr]esult|[Dd]ecision)(?: is)?[\W_]{0,40}(FAIL|NEEDS_REVISION|PASS)"
    r"(?![\w-]|[*_` ,/|]{1,6}(?:or )?(?:FAIL|NEEDS_REVISION|PASS))",
    re.MULTILINE,
)


class _Validation(msgspec.Struct):
    """The fields read of ``contracts/validation_result.schema.json``."""

    failed_tests: list[Any]
    quality_checks: dict[str, bool]
    test_results: dict[str, float]
    human_review: dict[str, Any] = {}


def check_output(agent: Agent, text: str) -> tuple[Refusal, ...]:
    """Return each violation of the role's output contract.

    A contract has Markdown headings (outside code blocks, numbered or not), a JSON Schema (for the last ```` ```json
    ```` block, else the entire answer), or both.
    """
    return (*_lacking(agent, text), *_not_satisfied(agent, text), *_without_verdict(agent, text))


def verdict_of(agent: Agent, text: str) -> str:
    """Return a review's verdict from its schema's fields, else the strictest verdict word, or ""."""
    if not agent.gives_verdict:
        return ""
    plain, block = "\n".join(_outside_fences(text)), json_of(text)
    named = _VERDICT.findall(plain if block == text else f"{plain}\n{block}")
    found = agent.schema and _of_validation(block)
    return found or next((verdict for verdict in VERDICTS if verdict in named), "")


def _of_validation(text: str) -> str:
    try:
        value = msgspec.json.decode(text, type=_Validation)
    except msgspec.MsgspecError:
        return ""
    failed = value.failed_tests or value.test_results.get("failed") or not all(value.quality_checks.values())
    return "PASS" if not failed and value.human_review.get("approved", True) else "FAIL"


def _without_verdict(agent: Agent, text: str) -> tuple[Refusal, ...]:
    if not agent.gives_verdict or verdict_of(agent, text):
        return ()
    return (Refusal("output", "The answer has no verdict.", "Name one of FAIL, NEEDS_REVISION, PASS.", path="verdict"),)


def _lacking(agent: Agent, text: str) -> tuple[Refusal, ...]:
    present = {_heading(line) for line in _outside_fences(text) if line.startswith("#")}
    wanted = ", ".join(agent.headings)
    return tuple(
        Refusal(
            "output",
            f"The answer has no heading {heading!r}.",
            f"Write it as a Markdown heading (## {heading}). The answer needs, in this order: {wanted}.",
            path=heading,
        )
        for heading in agent.headings
        if heading.casefold() not in present
    )


def _not_satisfied(agent: Agent, text: str) -> tuple[Refusal, ...]:
    if agent.schema is None:
        return ()
    try:
        value = parse_document(json_of(text)).value
    except (JsonError, RecursionError) as error:
        place = f" (line {error.line} of it)" if isinstance(error, JsonError) else ""
        hint = "Give the result as one JSON object in a block that starts with ```json."
        return (Refusal("output", f"The answer's JSON cannot be read: {error}{place}.", hint, path="json"),)
    told = answer_faults(agent.schema, value)[: limits.FINDINGS_TOLD]
    return tuple(
        Refusal(
            "output", f"At {place_in_words(fault.place)}: {fault.detail}", fault.hint, path=place_in_words(fault.place)
        )
        for fault in told
    )


def structured_answer(text: str, schema: Mapping[str, Json]) -> Json:
    """Return the JSON value of an answer or its last JSON block. Raises ValueError."""
    value = parse_document(json_of(text)).value
    if faults := answer_faults(schema, value):
        raise ValueError(f"the answer has another form: {faults[0].detail}")
    return value


def json_of(text: str) -> str:
    """Return the last JSON block of ``text``, or all of it."""
    blocks = re.findall(r"^ {0,3}```json[ \t]*\n(.*?)^ {0,3}```[ \t]*$", text, re.DOTALL | re.MULTILINE | re.IGNORECASE)
    return str(blocks[-1]) if blocks else text


def _heading(line: str) -> str:
    plain = line.lstrip("#").strip().strip("*_:").strip()
    return re.sub(r"^[0-9]{1,3}[.)]\s+", "", plain).rstrip(":").strip().casefold()


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not line.strip().strip("`~") else fence
        elif mark:
            fence = mark[1]
        else:
            yield line.strip()
