"""Decide what a block is: a request, a refusal with the exact place, or nothing of ours.

The table (strict JSON means ``jsontext.strict``):

    strict JSON, a call                    → request
    strict JSON, no call                   → ignored
    broken, no key that makes it a call    → ignored
    broken, a call, one safe repair        → request with its repairs, if it fits the tool's schema
    broken, a call, otherwise              → refusal

Good calls and refusals of one block stand side by side. A truncated text is never completed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rails.core.conversation import NativeCall, StopReason
from rails.core.errors import Refusal
from rails.core.requests import Json, RawRequest
from rails.core.text import one_line
from rails.intake import shape
from rails.intake.dialects import Call, NotACall, read_value
from rails.intake.jsontext import Fault, Parsed, explain, strict
from rails.intake.repairs import repair
from rails.intake.results import Ignored, Shapes
from rails.intake.tracker import Tracker

Outcome = RawRequest | Refusal | Ignored

#: Stop reasons after which an answer is whole.
NORMAL_STOPS: Final[frozenset[StopReason]] = frozenset({"end_turn", "tool_use", "stop_sequence"})
#: Stop reasons after which native calls may run.
NATIVE_STOPS: Final[frozenset[StopReason]] = frozenset({"end_turn", "tool_use"})
_KEYS: Final = ("tool", "arguments", "args", "params", "parameters", "tool_name", "type", "explanation")
_TOOL_KEY: Final = re.compile(r"""(?<![\\\w])["'“”]tool["'“”]\s*:|[{,]\s*tool\s*:|\\"tool\\"\s*:""")
_S4_MARK: Final = re.compile(r"""["'“”]type\\?["'“”]\s*:\s*\\?["'“”]tool_request\\?["'“”]""")
_CALL_LIKE: Final = re.compile(
    r"""^[^\S\n]*(?:`{3,}|~{3,})[ \t]*json(?:(?!^[^\S\n]*(?:`{3}|~{3})).){0,400}?["']tool(?:_name)?["']\s*:""",
    re.I | re.M | re.S,
)
#: How many places for missing brackets are tried before there are too many to be sure.
_MOVES: Final = 400
_HINT: Final = "Correct the JSON and send the whole block again."


@dataclass(frozen=True, slots=True)
class Block:
    """The inside of one JSON fence. ``start``/``end`` span the whole block, ``offset`` is where ``body`` starts."""

    body: str
    raw: str
    start: int
    end: int
    offset: int
    closed: bool
    whole: bool  # nothing can have been cut off: closed, and a normal stop if it is the last


def known_names(tools: Shapes) -> frozenset[str]:
    """Return every key that a call of any of ``tools`` may hold."""
    return frozenset(_KEYS).union(*(shape.names(schema) for schema in tools.values()))


def judge(block: Block, tools: Shapes, known: frozenset[str], tracker: Tracker) -> list[Outcome]:
    """Decide what a JSON block is. Ids are not set yet; ``closed_by_us`` outcomes are named "missing_closers"."""
    parsed = strict(block.body)
    if isinstance(parsed, Parsed):
        if not block.closed and not block.whole:
            return _cut(block, parsed.value, tools)
        return _from_value(parsed, block, tools)
    if not block.body.strip():
        return [Ignored(block.start, block.end, "the block is empty")]
    return _from_broken(parsed, block, tools, known, tracker)


def _cut(block: Block, value: Json, tools: Shapes) -> list[Outcome]:
    values = value if isinstance(value, list) else [value]
    if all(isinstance(read_value(item, tools), NotACall) for item in values):
        return [Ignored(block.start, block.end, "the JSON holds no call")]
    return [_unterminated(block)]


def _unterminated(block: Block, why: str = "") -> Refusal:
    message = f"The JSON block is not terminated: the answer ends before its closing fence{why}."
    return Refusal(
        "unterminated", message, "Send the whole block again; shorten it if it was cut off.", block.start, block.end
    )


def _from_value(parsed: Parsed, block: Block, tools: Shapes) -> list[Outcome]:
    """Turn a parsed value, or each item of an array with calls in it, into outcomes."""
    value = parsed.value
    if isinstance(value, list):
        reads = [read_value(item, tools) for item in value]
        if not any(isinstance(read, Call | Fault) for read in reads):
            return [Ignored(block.start, block.end, "the JSON array holds no calls")]
        return [_outcome(read, parsed, block, tools, f"item {n} of the array: ") for n, read in enumerate(reads, 1)]
    return [_outcome(read_value(value, tools), parsed, block, tools)]


def _outcome(read: Call | NotACall | Fault, parsed: Parsed, block: Block, tools: Shapes, where: str = "") -> Outcome:
    if isinstance(read, NotACall):
        if where:
            return Refusal(
                "frame", f"{where}{read.reason}.", "Put only calls into an array of calls.", block.start, block.end
            )
        return Ignored(block.start, block.end, read.reason)
    if isinstance(read, Fault):
        return Refusal(
            "frame", f"{where}{read.message}.", "Send the call in the documented form.", block.start, block.end
        )
    notes = tuple(replace(note, offset=note.offset + block.offset) for note in parsed.repairs) + read.repairs
    request = RawRequest(
        "", read.tool, read.parameters, read.explanation, read.dialect, block.start, block.end, notes, block.raw
    )
    if notes and not _fits_call(read, tools):
        return _unfit(request)
    return request


def _unfit(request: RawRequest) -> Refusal:
    names = ", ".join(dict.fromkeys(note.name for note in request.repairs))
    message = (
        f"The JSON is broken, and after repair ({names}) it does not fit the tool {one_line(request.tool_name, 60)!r}, "
        "so what was meant is uncertain."
    )
    return Refusal("syntax", message, _HINT, request.start, request.end)


def _from_broken(fault: Fault, block: Block, tools: Shapes, known: frozenset[str], tracker: Tracker) -> list[Outcome]:
    mended = repair(block.body, known=known, closers=block.whole and block.closed)
    if isinstance(mended, Parsed):
        if not block.closed and not block.whole:
            return _cut(block, mended.value, tools)
        if not mended.closed_by_us or _only_reading(mended, tools):
            return _from_value(mended, block, tools)
        mended = Fault("ambiguous", "the missing brackets can be put in more than one place", fault.offset)
    if not _is_call(block.body, tracker):
        return [Ignored(block.start, block.end, "broken JSON without a tool key")]
    if not block.closed:
        return [_unterminated(block, f" ({fault.message})")]
    return [_refused(fault, mended, block)]


def _refused(fault: Fault, mended: Fault, block: Block) -> Refusal:
    first = f"Tool call JSON is malformed: {explain(block.body, fault)}."
    second = f" It cannot be repaired safely: {mended.message}." if mended.message != fault.message else ""
    at = block.offset + fault.offset
    code = mended.code if mended.code != "syntax" else fault.code
    return Refusal(code, first + second, _HINT, at, min(at + 1, block.end))


def _is_call(body: str, tracker: Tracker) -> bool:
    """Decide for broken JSON whether it was meant as a call: a root key ``tool``, or the S4 mark."""
    if "tool" in tracker.keys or tracker.found.get("type") == "tool_request" or _S4_MARK.search(body):
        return True
    found = _TOOL_KEY.search(body)
    return bool(found) and (tracker.odd or not tracker.keys or bool(tracker.quote))


def _only_reading(mended: Parsed, tools: Shapes) -> bool:
    """Return whether closers at the very end are the only place for them.

    A member of an unclosed inner object might belong to an outer one. Each such move is tried; if the
    moved value reads and fits as well, there are two readings.
    """
    path = [item for item in mended.closed_by_us if isinstance(item, dict)]
    moves = [
        (inner, outer, cut)
        for index, inner in enumerate(path)
        for outer in path[:index]
        for cut in range(1, len(inner))
    ]
    return len(moves) <= _MOVES and not any(_fits_moved(mended.value, *move, tools) for move in moves)


def _fits_moved(value: Json, inner: dict[str, Json], outer: dict[str, Json], cut: int, tools: Shapes) -> bool:
    """Move the members of ``inner`` from number ``cut`` on to ``outer``, look, and move them back."""
    members = list(inner.items())
    moved = dict(members[cut:])
    if set(moved) & set(outer):
        return False
    for key in moved:
        del inner[key]
    outer.update(moved)
    try:
        reads = [read_value(item, tools) for item in (value if isinstance(value, list) else [value])]
        return all(isinstance(read, Call) and _fits_call(read, tools) for read in reads)
    finally:
        for key in moved:
            del outer[key]
        inner.update(moved)


def _fits_call(call: Call, tools: Shapes) -> bool:
    schema = tools.get(call.tool)
    return schema is not None and shape.fits(schema, dict(call.parameters))


def judge_native(call: NativeCall, finish: StopReason) -> RawRequest | Refusal:
    """Decide what a provider's own call is. Its arguments are parsed once, strictly, and only after a normal stop."""
    name = one_line(call.name, 80)
    if finish not in NATIVE_STOPS:
        message = (
            f"The call of {name!r} was not run: the answer stopped with '{finish}', so its arguments may be cut off."
        )
        return Refusal("unterminated", message, "Send the call again; make it shorter if it was cut off.")
    parsed = strict(call.arguments) if call.arguments.strip() else Parsed({})
    if isinstance(parsed, Fault):
        message = f"The arguments of {name!r} are not valid JSON: {explain(call.arguments, parsed)}."
        return Refusal(parsed.code, message, "Send the call again with correct JSON.", path=call.name)
    if not isinstance(parsed.value, dict):
        kind = shape.type_name(parsed.value)
        return Refusal("frame", f"The arguments of {name!r} must be an object, got {kind}.", _HINT, path=call.name)
    return RawRequest("", call.name, parsed.value, dialect="native", raw=call.arguments)


def used_closers(outcomes: Sequence[Outcome]) -> bool:
    """Return whether any outcome rests on added closers, which only a normal stop allows."""
    return any(
        isinstance(one, RawRequest) and any(n.name == "missing_closers" for n in one.repairs) for one in outcomes
    )


def too_many(start: int, end: int, limit: int) -> Refusal:
    """Return the refusal of a request beyond the bound of one answer."""
    return Refusal(
        "limit", f"One answer may hold {limit} requests; this one is beyond.", "Send the rest later.", start, end
    )


def without_closers(outcomes: Sequence[RawRequest | Refusal]) -> list[RawRequest | Refusal]:
    """Return the outcomes of an answer that was cut off: what rests on added closers is refused."""
    return [
        Refusal(
            "unterminated",
            "The JSON block lacks closing brackets and the answer was cut off, so it may be incomplete.",
            "Send the whole block again.",
            one.start,
            one.end,
            request_id=one.id,
        )
        if isinstance(one, RawRequest) and used_closers([one])
        else one
        for one in outcomes
    ]


def never_ignored(outcomes: list[Outcome], block: Block) -> list[Outcome]:
    """Return a refusal where a block that was announced as a request turned out to hold none."""
    if not all(isinstance(one, Ignored) for one in outcomes):
        return outcomes
    reason = next((one.reason for one in outcomes if isinstance(one, Ignored)), "the block is empty")
    return [
        Refusal(
            "syntax", f"The block names a tool but cannot be read as a call: {reason}.", _HINT, block.start, block.end
        )
    ]


def judge_quote(raw: str, start: int, end: int, label: str, closed: bool) -> list[Outcome]:
    """Decide what a quoting stretch is: ignored, unless it never ends and so may hide requests."""
    if not _CALL_LIKE.search(raw):
        return []
    if closed:
        return [Ignored(start, end, f"quoted inside {label[:40] or 'a fence without a language'}")]
    name = one_line(label, 40) or "without a language"
    message = f"A block ({name}) is opened here and never closed, so what follows cannot be told from a quotation."
    return [Refusal("unterminated", message, "Close the block, then send the call again.", start, end)]


def too_long(limit: int) -> Refusal:
    """Return the refusal of an answer beyond the bound; what came before the bound was read."""
    return Refusal(
        "limit", f"The answer has more than {limit} characters; the rest was not read.", "Send less at once."
    )
