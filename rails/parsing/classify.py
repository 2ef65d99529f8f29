"""Decide what a block is: a request, a refusal with its place, or nothing of ours.

    strict JSON, a call                    → request
    strict JSON, no call                   → ignored
    broken, no key that makes it a call    → ignored
    broken, a call, one safe repair        → request with its repairs, if it fits the tool's schema
    broken, a call, otherwise              → refusal

A block can give both calls and refusals. A truncated text is never completed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from msgspec.structs import replace

from rails.core.conversation import StopReason
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.core.tool_request import Json, RawRequest, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson, explain_json_fault, parse_strict, read_prefix
from rails.json_schema import quick_check
from rails.parsing.blocks import CLOSED_BEFORE, BlockSpan
from rails.parsing.call_formats import marked_forms
from rails.parsing.call_formats.json_calls import Call, NotACall, calls_of_response, fits_call, read_value
from rails.parsing.call_formats.line_calls import translate
from rails.parsing.call_formats.reader import NotInForm
from rails.parsing.call_formats.xml_calls import XmlCall, read_call
from rails.parsing.head import Head, head_of
from rails.parsing.text_values import coerced
from rails.parsing.values import Ignored, ToolSchemas

BlockResult = RawRequest | Refusal | Ignored

#: Stop reasons after which an answer is whole.
NORMAL_STOPS: Final[frozenset[StopReason]] = frozenset({"end_turn", "tool_use", "stop_sequence"})
_KEYS: Final = ("tool", "arguments", "args", "params", "parameters", "tool_name", "type", "explanation")
_TOOL_KEY: Final = lazy(r"""(?<![\\\w])["'“”]tool["'“”]\s*:|[{,]\s*tool\s*:|\\"tool\\"\s*:""")
_PROVIDER_CALL: Final = lazy(
    r"""["'“”]name["'“”]\s*:\s*["'“”]([\w.-]{1,100})["'“”]\s*+,?\s*+["'“”](?:arguments|parameters|input)["'“”]\s*:"""
)
_BETWEEN: Final = lazy(r"[\s,]*")
#: Faults that unescaped quotation marks can cause.
_QUOTE_FAULTS: Final = frozenset({"inner_quotes", "unclosed_string", "extra_data"})
#: A tool key and a name, with any of the quotation marks and the colon lost.
_NAMED_TOOL: Final = lazy(r"""tool(?<![\\\w]tool)(?:_name)?(?!["'”]\s*,)[^\w\n]{1,6}([\w.-]{1,100})""")
#: Why a block is ignored that is no JSON and does not look like a call.
BROKEN: Final = "broken JSON without a tool key"
#: Behind a place in a message: where its lines and columns are counted.
OF_ANSWER: Final = " of the answer"
HINT: Final = "Correct the JSON and send the whole block again."
FORM_HINT: Final = "Send the whole call again, as your format has it, or in a fence that begins with ```json."


def xml_call(span: BlockSpan, tools: ToolSchemas) -> BlockResult:
    """Judge an XML call."""
    call = span.xml
    assert call is not None, "an XML block is a call"
    if not span.closed:
        return _unclosed_call(span, call)
    fault = JsonFault("ambiguous", "there is a second closing tag of the tool behind the call, so its end is uncertain")
    read = fault if span.stray else read_call(call, span.call)
    if isinstance(read, JsonFault):
        at = span.start + read.offset
        hint = "Send parameters whose values do not hold their own closing tag, and lists as JSON."
        if read.code == "ambiguous":
            hint = "Send the call as JSON, in a fence that begins with ```json; no tag ends a value there."
        message = f"The call of '{one_line(call.tool, 60)}' cannot be read: {read.message}."
        return Refusal(read.code, message, hint, at, span.end)
    return _request(read, span, tools, "XML")


def _unclosed_call(span: BlockSpan, call: XmlCall) -> Refusal:
    message = f"Unclosed tool tag at end of input: <{call.element}> is opened and never closed."
    hint = "Send the whole call again; shorten it if it was cut off."
    at = span.start
    if call.beside >= 0:
        at += call.beside
        found, known = one_line(span.raw[call.beside :].partition("\n")[0], 60), ", ".join(sorted(call.names))
        message += f" Behind the closing tag of a value stands {found!r}, which is no parameter (known: {known})."
        hint = f"Send the whole call again, with nothing but parameters in <{call.element}>."
    return Refusal("unterminated", message, hint, at, span.end)


def judge_block(block: BlockSpan, tools: ToolSchemas) -> list[BlockResult]:
    """Judge a JSON block."""
    parsed = parse_strict(block.body)
    if isinstance(parsed, ParsedJson):
        if not block.whole:
            return _cut(block, parsed.value, tools)
        if isinstance(parsed.value, str) and parsed.value.lstrip()[:1] in ("{", "["):
            return _from_broken(JsonFault("syntax", "the block is a text that holds JSON"), block, tools)
        return _from_value(parsed, block, tools)
    if not block.body.strip():
        return [Ignored(block.start, block.stop, "the block is empty")]
    several = _several(block, tools) if parsed.message.startswith("Extra data") else None
    return several or _from_broken(parsed, block, tools)


def _several(block: BlockSpan, tools: ToolSchemas) -> list[BlockResult] | None:
    """Read objects one after another as that many calls; all or none."""
    values: list[Json] = []
    pos, body = 0, block.body
    while (pos := _BETWEEN.match(body, pos).end()) < len(body):  # type: ignore[union-attr]
        found = read_prefix(body, pos)
        if not isinstance(found, tuple) or not isinstance(found[0], dict):
            return None
        values.append(found[0])
        pos = found[1]
    return _from_value(ParsedJson(values), block, tools) if block.whole else None


def _cut(block: BlockSpan, value: Json, tools: ToolSchemas) -> list[BlockResult]:
    values = value if isinstance(value, list) else [value]
    if all(isinstance(read_value(item, tools), NotACall) for item in values):
        return [Ignored(block.start, block.stop, "the JSON holds no call")]
    return [_unterminated(block)]


def _unterminated(block: BlockSpan, why: str = "") -> Refusal:
    what = "another one begins" if block.cut_short else "the answer ends"
    message = f"The JSON block is not terminated: {what} before its closing fence{why}."
    hint, at = "Send the whole block again; shorten it if it was cut off.", block.start
    if fence := CLOSED_BEFORE.search(block.body):
        message = f"The closing fence of the JSON block does not count: behind it is {fence[1][:60]!r}."
        hint, at = "Send the whole block again, and nothing else on the line of its closing fence.", fence.start()
        at += block.body_start
    return Refusal("unterminated", message, hint, at, block.stop)


def _from_value(parsed: ParsedJson, block: BlockSpan, tools: ToolSchemas) -> list[BlockResult]:
    value = parsed.value
    if block.dialects:
        value, dialect = translate(value, block.dialect, block.dialects, tools, block.label)
        block.dialect = block.dialect or dialect
    notes = tuple(replace(note, offset=note.offset + block.body_start) for note in parsed.repairs)
    items = calls_of_response(value, tools)
    if isinstance(items, JsonFault):
        return [_outcome(items, block, tools)]
    listed: Sequence[Json] | None = items or (value if isinstance(value, list) else None)
    if listed is None:
        return [_outcome(read_value(value, tools), block, tools, notes)]
    reads = [(number, read_value(one, tools)) for number, one in enumerate(listed, 1)]
    if all(isinstance(one, NotACall) for _, one in reads):
        return [Ignored(block.start, block.stop, "the JSON array holds no calls")]
    kept = [(number, one) for number, one in reads if not (items and isinstance(one, NotACall))]
    return [_outcome(one, block, tools, notes, number) for number, one in kept]


def form_calls(block: BlockSpan, tools: ToolSchemas) -> list[BlockResult]:
    """Judge the calls of a dialect's container, or refuse it."""
    try:
        calls = marked_forms.read(block.dialect, block.body)
    except NotInForm as fault:
        message = f"The call in the form '{block.dialect}' cannot be read: {fault}."
        at = block.body_start + min(fault.offset, len(block.body))
        return [Refusal("syntax", message, FORM_HINT, at, max(at + 1, block.stop))]
    return [_request(one, block, tools) for one in calls]


def _outcome(
    read: Call | NotACall | JsonFault,
    block: BlockSpan,
    tools: ToolSchemas,
    notes: tuple[Repair, ...] = (),
    number: int = 0,
) -> BlockResult:
    if isinstance(read, Call):
        return _request(read._replace(repairs=(*notes, *read.repairs)), block, tools)
    if isinstance(read, NotACall) and not number:
        return Ignored(block.start, block.stop, read.message)
    where = f"item {number} of the array: " if number else ""
    hint = "Put only calls into an array of calls."
    if isinstance(read, JsonFault):
        hint = "Send the call in the documented form."
    return Refusal("frame", f"{where}{read.message}.", hint, block.start, block.stop)


def _request(read: Call, block: BlockSpan, tools: ToolSchemas, what: str = "JSON") -> RawRequest | Refusal:
    done = coerced(dict(read.parameters), tools.get(read.tool, {}))
    call = read._replace(parameters=cast("dict[str, Json]", done.value), repairs=(*read.repairs, *done.repairs))
    tool, parameters, explanation, dialect, repairs = call
    place = block.dialect or dialect, block.start, block.stop
    request = RawRequest("", tool, parameters, explanation, *place, repairs, block.call)
    broken = any(not note.name.startswith("text_to_") for note in read.repairs)
    return _unfit(request, tools.get(tool), what) if broken and not fits_call(call, tools) else request


def _unfit(request: RawRequest, schema: Mapping[str, Json] | None, what: str) -> Refusal:
    names = ", ".join(dict.fromkeys(note.name for note in request.repairs))
    message = (
        f"The {what} is broken, and after repair ({names}) it does not fit the tool {one_line(request.tool_name, 60)!r}"
        f"{_why(request, schema)}, so what was meant is uncertain."
    )
    return Refusal("syntax", message, HINT.replace("JSON", what), request.start, request.end)


def _why(request: RawRequest, schema: Mapping[str, Json] | None) -> str:
    if schema is None:
        return ": there is no such tool"
    known = quick_check.properties(schema)
    lacking = [key for key in quick_check.required(schema) if key not in request.parameters]
    others = [key for key in request.parameters if known and key not in known]
    if lacking:
        return f": {one_line(lacking[0], 60)!r} is missing"
    return f": it has no {one_line(others[0], 60)!r}" if others else ""


def _from_broken(fault: JsonFault, block: BlockSpan, tools: ToolSchemas) -> list[BlockResult]:
    head = head_of(block.body)

    def known() -> frozenset[str]:
        named = _NAMED_TOOL.search(block.body) if head.tool not in tools else None
        return frozenset(_KEYS) | quick_check.names(tools.get(named[1] if named else head.tool, {}))

    from rails.parsing.added_closers import only_reading
    from rails.parsing.readings import read_repaired

    repaired = read_repaired(block.body, known=known, closers=block.closed)
    if isinstance(repaired, ParsedJson):
        if block.cut_short or not block.whole:
            return _cut(block, repaired.value, tools)
        if only_reading(repaired, tools):
            return _from_value(repaired, block, tools)
        repaired = JsonFault("ambiguous", "the missing brackets can be put in more than one place", fault.offset)
    elif block.closed and fault.code == "syntax" and repaired.code in _QUOTE_FAULTS | {"syntax"}:
        from rails.parsing.unescaped_quotes import settle_quotes

        settled = settle_quotes(block.body, tools, sure=repaired.code != "syntax")
        if isinstance(settled, ParsedJson):
            return _from_value(settled, block, tools)
        if settled.code == "ambiguous" and repaired.code == "inner_quotes":
            repaired = JsonFault("ambiguous", repaired.message, repaired.offset)
    if not block.dialect and not is_call(block.body, head, tools):
        return [Ignored(block.start, block.stop, BROKEN)]
    if not block.closed:
        return [_unterminated(block, f" ({_explained(fault, block)})")]
    return [_refused(fault, repaired, block, head, tools)]


def _explained(fault: JsonFault, block: BlockSpan) -> str:
    return explain_json_fault(block.body, fault, block.first, OF_ANSWER)


def _refused(fault: JsonFault, repaired: JsonFault, block: BlockSpan, head: Head, tools: ToolSchemas) -> Refusal:
    from rails.parsing.remedies import cause_of, fault_in_words, remedy

    repaired = cause_of(block.body, repaired)
    told = f"Tool call JSON is malformed: {_explained(fault, block)}."
    reason = fault_in_words(block.body, repaired, block.first)
    second = f" It cannot be repaired safely: {reason}." if repaired.message != fault.message else ""
    at = block.body_start + fault.offset
    code = fault.code if repaired.code in ("syntax", "inner_quotes") else repaired.code
    hint = remedy(repaired, head, tools)
    return Refusal(code, told + second, hint, at, min(at + 1, block.stop))


def is_call(body: str, head: Head, tools: ToolSchemas) -> bool:
    """Return whether broken JSON has a root key ``tool``, or the S4 mark."""
    if not {"tool", "tool_name"}.isdisjoint(head.keys) or "tool&quot;" in body or "tool_name&quot;" in body:
        return True
    if (torn := _PROVIDER_CALL.search(body)) and body[: torn.start()].strip() == "{":
        return True
    provided = any(found[1] in tools for found in _PROVIDER_CALL.finditer(body))
    if provided or head.kind == "tool_request" or names_tool(body, tools):
        return True
    return not head.keys and _TOOL_KEY.search(body) is not None


def names_tool(text: str, tools: ToolSchemas) -> bool:
    """Return whether a tool key has a tool's name, marks or colon lost or not."""
    return "tool" in text and any(found[1] in tools for found in _NAMED_TOOL.finditer(text))
