"""Model correction: one question to the model about one broken block, and nothing taken on trust.

Only with ``--correction model``, once a block, after the syntax repairs. The result may not change tool (unless wrong)
or file, nor hold a value that the block does not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from rails.core.conversation import Message, ModelAnswer, TextPart, Usage
from rails.core.errors import ModelError, Refusal
from rails.core.events.turn import CorrectionEvent
from rails.core.json_text import json_leaves
from rails.core.text import one_line
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.log.actions import paths_of
from rails.parsing.parse import AnswerParser, parse
from rails.parsing.values import CallStarted
from rails.session.turn_context import TurnContext, whole_answer
from rails.tools import validate

_SYSTEM: Final = "You correct a JSON tool request that has errors. You change nothing but what the errors name."
_QUESTION: Final = """\
ORIGINAL BLOCK (with errors):
{block}

VALIDATION ERRORS FOUND:
{errors}

EXPECTED FORMAT:
```json
{{"type": "tool_request", "tool_name": "…", "parameters": {{…}}, "explanation": "…"}}
```
{schema}
RULES:
- Keep the tool, the path and every value exactly as they are, unless an error names them.
- A required value that is missing is not yours to invent: leave it out.
- Double quotes, no comments, no trailing commas; in strings write a line break as \\n and a quote as \\".

Please provide ONLY the corrected JSON code block.
"""
#: What is no value of the request: its form, and the agent's reason.
_FORM: Final = re.compile(
    r"""(["'])(?:explanation|type|tool|tool_name)\1\s*+:\s*+(["'])(?:(?!\2)[^\\]|\\.)*+\2""", re.S
)
#: Blanks by the letters of their escapes, quotation marks all one, no escapes.
_FLAT: Final = str.maketrans("\n\t\r'“”‘’`", 'ntr""""""', "\\")
#: A whole text, and another value, in a block.
_TEXT: Final = r'[:=,(\[][ nrt]*"+{}"+(?=[ nrt]*(?:[,)}}\]]|"?\w+"[ nrt]*:|\Z))'
_BARE: Final = r"(?i)(?<![\w./-]){}(?![\w/-]|\.\w)"
_QUOTED: Final = re.compile(r"""("{3}|'{3}|["'])((?:(?!\1)[^\\]|\\.)*+)(?:\1|\Z)""", re.S)
_WORD: Final = re.compile(r"[\w.+-]+")


def correct(
    context: TurnContext, request_id: str, block: str, errors: Sequence[Refusal]
) -> tuple[ToolRequest | None, CorrectionEvent]:
    """Ask the model to correct ``block``; after a provider's failure it stays failed, not executed.

    The event's ``after`` is the request as JSON, or the answer that is none.
    """
    tool, path = _identity(context, block)
    event = CorrectionEvent(request_id, block, "", False, "", (), Usage())
    try:
        answer = _ask(context, block, errors, tool)
    except ModelError as error:
        return None, replace(event, why=f"the model could not be asked: {error}")
    text = answer.message.text
    event = replace(event, after=text, usage=answer.usage)
    found = parse(text, context.registry.shapes(), finish=answer.stop_reason, id_prefix=f"{request_id}.c")
    if len(found.requests) != 1 or found.refusals:
        return None, replace(event, why="the answer was not one correct block")
    raw = replace(found.requests[0], id=request_id, start=errors[0].start, end=errors[0].end, raw=block)
    checked = validate.validate(raw, context.registry, context.agent.name)
    why = _strayed(raw, tool, path, errors)
    if not isinstance(checked, ToolRequest):
        why = why or f"still not valid: {checked[0].message}"
        return None, replace(event, why=why)
    if why := why or _invented(raw.parameters, block):
        return None, replace(event, why=why)
    drift = (f"tool = {raw.tool_name!r}",) if tool and raw.tool_name != tool else ()
    coerced = (*checked.coerced, "corrected by the model", *drift)
    sent = json.dumps({"tool": raw.tool_name, "parameters": dict(raw.parameters)}, ensure_ascii=False)
    return replace(checked, coerced=coerced), replace(event, after=sent, taken=True, drift=drift)


def _ask(context: TurnContext, block: str, errors: Sequence[Refusal], tool: str) -> ModelAnswer:
    definition = context.registry.get(tool)
    schema = f"Parameters of {tool}: {definition.spec().schema}\n" if definition else ""
    listed = "\n".join(f"- {error}" for error in errors)
    question = Message("user", (TextPart(_QUESTION.format(block=block, errors=listed, schema=schema)),))
    return whole_answer(context.model.at(0.1), _SYSTEM, [question], (), context.time_left)


def _identity(context: TurnContext, block: str) -> tuple[str, str]:
    for signal in AnswerParser(context.registry.shapes()).feed(block):
        if isinstance(signal, CallStarted):
            return signal.tool_name, signal.path
    return "", ""


def _strayed(raw: RawRequest, tool: str, path: str, errors: Sequence[Refusal]) -> str:
    tool_was_wrong = any(error.code in ("unknown_tool", "forbidden_tool") for error in errors)
    if tool and raw.tool_name != tool and not tool_was_wrong:
        return f"it named the tool {one_line(raw.tool_name, 60)} instead of {one_line(tool, 60)}"
    corrected = next(iter(paths_of(raw.parameters)), "")
    if path and corrected != path:
        return f"it named the file {one_line(corrected, 120)} instead of {one_line(path, 120)}"
    return ""


def _invented(parameters: Mapping[str, Json], block: str) -> str:
    """Return a value that is no whole value of the broken block, or that it holds less often, or "".

    Quotation marks and escapes do not count; blanks do, and a part of a text, word, path or number is another value.
    """
    given = _FORM.sub("", block)
    flat = given.translate(_FLAT)
    bare = _QUOTED.sub(lambda text: text[2] if _WORD.fullmatch(text[2]) else ",", given)
    used = Counter[str]()
    for place, value in json_leaves(parameters):
        word = value.translate(_FLAT) if isinstance(value, str) else json.dumps(value)
        used[word] += 1
        if value == "":
            held = [text[0] for text in _QUOTED.finditer(given) if not text[2]]
        elif isinstance(value, str):
            held = re.findall(_TEXT.format(re.escape(word)), flat)
        else:
            held = re.findall(_BARE.format(re.escape(word)), bare)
        if len(held) < used[word]:
            return f"it invented {place} = {one_line(str(value), 80)!r}"
    return ""
