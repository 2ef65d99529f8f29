"""Read an answer: requests, refusals, what is ignored, and prose."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, Literal

from msgspec.structs import replace

from rails.core import limits
from rails.core.conversation import NativeCall, StopReason
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS, RawRequest
from rails.data_formats.file_names import Exists, nothing_exists
from rails.data_formats.proposed import NAMED
from rails.json_schema import quick_check
from rails.parsing import classify, uncertain_blocks
from rails.parsing.bare_calls import bare_calls
from rails.parsing.blocks import Blocks, BlockSpan, find_blocks
from rails.parsing.call_formats import line_calls, marked_forms, registry
from rails.parsing.call_formats.native import judge_native
from rails.parsing.classify import NORMAL_STOPS, BlockResult, JsonBlock
from rails.parsing.head import head_of
from rails.parsing.uncertain_blocks import Doubts
from rails.parsing.values import CallFound, CallStarted, CallWithdrawn, Ignored, ParsedAnswer, ParseEvent, ToolSchemas

_ACTION: Final = lazy(r"^[ \t]*</?action>[ \t]*\r?(?:\n|\Z)", re.M)
#: One of these is in every block and call that stands beside a request, unless the name of a tool is.
_MORE: Final = lazy(r"`{3}|~{3}|[<{\[@✿]|\*{3}|Action|assistant|to=|diff --git")
#: What the last line of a block holds, and the first line of one that is announced, with its tool.
_ENDS_BLOCK: Final = lazy(r"`{3}|~{3}|</|[|｜]>|/>|^\*{3} End|^>{5}", re.M)
_BEGINS_BLOCK: Final = lazy(
    r"^[ \t]*(?:(?:`{3,}|~{3,})[ \t]*json[^\n{\[]*|<(?>tool[^<>\n]*?name=[\"']?)?(?P<tool>[\w.-]++)[\"']?[^<>\n]*>)",
    re.M | re.I,
)
#: The closing tag of a call whose opening one was lost, right behind what it holds.
_CLOSES_CALL: Final = lazy(r"\s*</(?:[\w-]+:)?(?:tool_calls?|function_calls?)>", re.I)
_ELEMENT_PATH: Final = lazy(rf"<(?:{'|'.join(PATH_KEYS)})>\s*+([^<>]*[^<>\s])\s*</")
#: Characters of an open block in which its tool and path are looked for.
_ANNOUNCED: Final = 1_200
#: How often an answer that streams in is read at once at the end of a block; then it has to grow by a share before.
_READ_AT_ONCE: Final = 16
_GROWTH: Final = 4


def parse(
    text: str | bytes | None,
    tools: ToolSchemas,
    *,
    finish: StopReason = "end_turn",
    calls: Sequence[NativeCall] = (),
    id_prefix: str = "r",
    dialects: Collection[str] = (),
    report_unread_calls: bool = False,
    proposed_to: ToolSchemas | None = None,
    exists: Exists = nothing_exists,
) -> ParsedAnswer:
    """Read a whole answer. Raises TypeError for what is not text, UsageError for an unknown dialect.

    ``text``: UTF-8 bytes are decoded (undecodable: U+FFFD); ``None`` is empty. ``tools``: name to JSON Schema of the
    parameters; ``finish``: why the model stopped; ``calls``: the provider's own; ``id_prefix`` makes ids unique in a
    session; ``dialects``: further wire formats (``call_formats.line_calls``). ``report_unread_calls``: in a whole
    answer without refusals, refuse unread calls (``unread_calls``) and take patches and named blocks as requests of
    ``proposed_to``, the tools that the author may use (default: all; ``proposals``). ``exists``: whether the project
    has a path, which settles what is a name.
    """
    if text is not None and not isinstance(text, str | bytes):
        raise TypeError(f"an answer is text or UTF-8 bytes, not {type(text).__name__}")
    known = line_calls.check_dialects(frozenset(dialects))
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text or ""
    answer = _Answer(plain, tools, known, id_prefix, finish)
    answer.read_blocks()
    answer.read_native(calls, finish)
    if answer.whole and not (answer.requests or answer.refusals):
        answer.read_bare()
    if report_unread_calls and answer.whole and not answer.refusals:
        answer.look_again(tools if proposed_to is None else proposed_to, exists)
    return answer.parsed()


class _Answer:
    def __init__(
        self, text: str, tools: ToolSchemas, dialects: frozenset[str], prefix: str, finish: StopReason
    ) -> None:
        self.whole = finish in NORMAL_STOPS and len(text) <= limits.ANSWER_CHARS
        self.requests: list[RawRequest] = []
        self.refusals: list[Refusal] = []
        self._too_long = len(text) > limits.ANSWER_CHARS
        self._text = text[: limits.ANSWER_CHARS]
        self._tools, self._dialects, self._prefix = tools, dialects, prefix
        self._blocks: Blocks = Blocks()
        self._ignored: list[Ignored] = []
        self._found: list[RawRequest | Refusal] = []  # in order
        self._places: dict[str, tuple[int, int]] = {}
        self._native: dict[str, str] = {}
        self._count = 0
        self._lines: list[int] = []
        self._thought = 0  # where the last thought ends

    # -- blocks --------------------------------------------------------------------------------------

    def read_blocks(self) -> None:
        self._blocks = find_blocks(self._text, self._tools, self._dialects, self._reads)
        doubts, pos, lead = Doubts(), 0, ""
        found: list[tuple[BlockSpan, list[RawRequest | Refusal]]] = []
        for item in self._blocks.items:
            if isinstance(item, str):
                doubts.text(item, pos)
                pos += len(item)
                lead = item.rpartition("\n")[2]
                continue
            pos = item.end
            outcomes = self._judged(item, lead)
            doubts.block(item, outcomes)
            lead = ""
            kept = [self._numbered(one) for one in outcomes if not isinstance(one, Ignored)]
            if kept:
                self._places.update({_id(one): (item.start, item.end) for one in kept})
                found.append((item, kept))
            else:
                self._ignored.extend(one for one in outcomes if isinstance(one, Ignored))
        quoted_from = doubts.since(whole=self.whole)
        for item, kept in found:
            last = item.end >= len(self._text.rstrip())
            for one in kept:
                settled = uncertain_blocks.settled_call(one, self.whole, quoted_from, at_the_end=last)
                settled = self._placed(settled) if isinstance(settled, Refusal) else settled
                self._take(self._unless_around(settled, item))
        self._ignored.sort(key=lambda one: one.start)

    def _judged(self, span: BlockSpan, lead: str) -> Sequence[BlockResult]:
        whole = self.whole or span.closed
        dialect = registry.dialect_of(span.label, self._dialects) if span.kind == "quote" else ""
        if dialect and whole:  # a stop sequence may have taken the last closing mark
            return uncertain_blocks.led(span, lead) or self._in_form(span, dialect)
        if span.kind == "quote":
            self._thought = span.end if span.container == "thought" else self._thought
            return uncertain_blocks.judge_quote(span, self._tools)
        raw = span.raw.rstrip("\r\n") if span.closed else span.raw
        if span.kind == "xml":
            return [classify.xml_call(span, raw, self._tools)]
        block = JsonBlock(
            *(span.body, raw, span.start, span.start + len(raw), span.body_start, span.closed, whole),
            *(span.dialect, span.label, self._dialects, span.cut_short, self._place_of(span.body_start)),
        )
        return [uncertain_blocks.ends_twice(block)] if span.ambiguous else classify.judge_block(block, self._tools)

    def _reads(self, body: str) -> Literal["", "raw", "read"]:
        block = JsonBlock(body, body, 0, len(body), 0, True, True)
        outcomes = classify.judge_block(block, self._tools)
        repairs = uncertain_blocks.repair_names(outcomes)
        if not all(isinstance(one, RawRequest) for one in outcomes) or "trailing_text" in repairs:
            return ""
        return "raw" if repairs & uncertain_blocks.RAW_LINES else "read"

    def _in_form(self, span: BlockSpan, dialect: str) -> Sequence[BlockResult]:
        fence = span.container is None
        body = span.body.rstrip().rstrip("`~") if fence else span.raw
        start = span.body_start if fence else span.start
        first = self._place_of(start)
        block = JsonBlock(body, span.raw, span.start, span.end, start, True, True, dialect, first=first)
        return classify.form_calls(block, self._tools)

    def _unless_around(self, outcome: RawRequest | Refusal, span: BlockSpan) -> RawRequest | Refusal | None:
        """Return the outcome, a refusal, or None, if a later closing mark puts it in a container."""
        around = self._blocks.strays.around(span.start)
        if around is None or (around.kind == "call" and isinstance(outcome, Refusal)):
            return outcome
        if around.kind == "call":
            own = span.container == "call" and _CLOSES_CALL.match(self._text, span.end)
            return outcome if own else self._placed(uncertain_blocks.inside_foreign(outcome, around.label))
        del self._places[_id(outcome)]
        ignored = Ignored(span.start, span.end, uncertain_blocks.quoted_inside(around.label))
        self._ignored += [] if ignored in self._ignored[-1:] else [ignored]
        return None

    # -- what is no block ----------------------------------------------------------------------------

    def read_native(self, calls: Sequence[NativeCall], finish: StopReason) -> None:
        for call in dict.fromkeys(calls):
            outcome = self._numbered(judge_native(call, finish))
            self._native[_id(outcome)] = call.id
            self._take(outcome)

    def read_bare(self) -> None:
        text, start = self._text[self._thought :], self._thought
        if "llama" in self._dialects and marked_forms.is_bare(text):
            place = self._place_of(start)
            block = JsonBlock(text, text, start, len(self._text), start, True, True, "llama", first=place)
            self._take_at(start, len(self._text), classify.form_calls(block, self._tools))
            return
        hidden = [one for one in self._blocks.items if isinstance(one, BlockSpan)]
        for start, end, requests in list(bare_calls(self._text, self._tools)):
            inside = any(one.start < end and start < one.end for one in hidden)
            if not inside and not self._blocks.strays.around(start):
                self._take_at(start, end, requests)

    def _take_at(self, start: int, end: int, outcomes: Sequence[BlockResult]) -> None:
        for one in outcomes:
            if not isinstance(one, Ignored):
                numbered = self._numbered(one)
                self._places[_id(numbered)] = start, end
                self._take(numbered)

    def look_again(self, proposed_to: ToolSchemas, exists: Exists) -> None:
        if self.requests and not _may_hold_more(self._prose(), self._tools):
            return  # as beside nearly every request
        from rails.parsing.proposals import second_look
        from rails.parsing.unread_calls import quoted_requests, without_blocks

        rest = without_blocks(self._text, sorted(set(self._places.values())))
        others = proposed_to, tuple(self.requests)
        found = [*second_look(rest, self._tools, *others, exists=exists)]
        if not (found or self.requests):
            found += quoted_requests(rest, partial(_first_of, tools=self._tools, own=proposed_to, exists=exists))
        for one in found:
            self._take_at(one.start, one.end, [one])

    # -- outcomes ------------------------------------------------------------------------------------

    def _take(self, outcome: RawRequest | Refusal | None) -> None:
        if isinstance(outcome, RawRequest):
            self.requests.append(outcome)
        elif outcome is not None:
            self.refusals.append(outcome)
        self._found += [outcome] if outcome is not None else []

    def _numbered(self, outcome: RawRequest | Refusal) -> RawRequest | Refusal:
        self._count += 1
        name = f"{self._prefix}{self._count}"
        if isinstance(outcome, RawRequest) and self._count > limits.REQUESTS_PER_ANSWER:
            outcome = uncertain_blocks.too_many(outcome.start, outcome.end, limits.REQUESTS_PER_ANSWER)
        if isinstance(outcome, RawRequest):
            return replace(outcome, id=name)
        return replace(self._placed(outcome), request_id=name)

    def _placed(self, refusal: Refusal) -> Refusal:
        if refusal.start < 0:  # of a call that came beside the text
            return refusal
        return uncertain_blocks.placed(refusal, *self._place_of(refusal.start))

    def _place_of(self, offset: int) -> tuple[int, int]:
        if not self._lines:
            self._lines = [0, *(at + 1 for at, char in enumerate(self._text) if char == "\n")]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _prose(self) -> str:
        pieces, pos = list[str](), 0
        for start, end in sorted(set(self._places.values())):
            pieces.append(self._text[pos:start])
            pos = max(pos, end)
        prose = _ACTION.sub("", "".join([*pieces, self._text[pos:]]))
        names = {request.parameters.get("file_path") for request in self.requests if request.dialect == NAMED}
        return "\n".join(line for line in prose.split("\n") if line.strip("*`# :\r") not in names)

    def parsed(self) -> ParsedAnswer:
        if self._too_long:
            self.refusals.append(uncertain_blocks.too_long(limits.ANSWER_CHARS))
        found = tuple(self.requests), tuple(self.refusals), tuple(self._ignored)
        late = tuple(_events(self._found))
        return ParsedAnswer(*found, self._prose(), dict(self._native), dict(self._places), late)


def _events(found: Sequence[RawRequest | Refusal]) -> Iterator[ParseEvent]:
    for one in found:
        if isinstance(one, RawRequest):
            yield CallStarted(one.id, one.tool_name, _path(one), one.start)
        yield CallFound(_id(one), one)


class AnswerParser:
    """Reads an answer as it streams in, with the parameters and (from ``flush``) result of ``parse``."""

    def __init__(
        self,
        tools: ToolSchemas,
        *,
        id_prefix: str = "r",
        dialects: Collection[str] = (),
        report_unread_calls: bool = False,
        proposed_to: ToolSchemas | None = None,
        exists: Exists = nothing_exists,
    ) -> None:
        line_calls.check_dialects(frozenset(dialects))
        self._tools, self._prefix = tools, id_prefix
        self._parse = partial(parse, tools=tools, id_prefix=id_prefix, dialects=dialects, exists=exists)
        self._further = report_unread_calls, proposed_to
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._line: list[str] = []  # of the line that is not complete yet
        self._size = 0
        self._begun: tuple[int, str] | None = None  # the open block: where it begins, and its tool, if its tag names it
        self._head = ""  # the first characters of it, of which so many were looked at
        self._looked = 0
        self._started: dict[str, CallStarted] = {}
        self._told: dict[str, RawRequest | Refusal] = {}
        self._reads = self._next = 0
        self._done = False

    def feed(self, chunk: str | bytes) -> list[ParseEvent]:
        """Take the next piece. Return the news, in order. Raises ValueError after ``flush``."""
        if self._done:
            raise ValueError("the reader was flushed")
        text = self._decoder.decode(chunk) if isinstance(chunk, bytes) else chunk
        self._pieces.append(text)
        self._head += text[:_ANNOUNCED] if self._begun and self._looked < _ANNOUNCED else ""
        last = text.rfind("\n") + 1
        if not last:
            self._line.append(text)
            return self._announced()
        fresh = "".join([*self._line, text[:last]])
        self._line = [text[last:]]
        self._size += len(fresh)
        begun = _BEGINS_BLOCK.search(fresh) if self._begun is None else None
        if begun is not None:
            self._begun = self._size - len(fresh) + begun.start(), begun["tool"] or ""
            self._head, self._looked = (fresh[begun.end() :] + text[last:])[:_ANNOUNCED], 0
        events = self._announced()
        if self._size >= self._next and _ENDS_BLOCK.search(fresh):
            self._reads += 1
            self._next = self._size + (self._size // _GROWTH if self._reads > _READ_AT_ONCE else 0)
            news = self._news(self._parse("".join(self._pieces)[: self._size], finish="cut").requests)
            self._begun = None if news else self._begun
            events += news
        return events

    def flush(self, finish: StopReason, calls: Sequence[NativeCall] = ()) -> ParsedAnswer:
        """End the answer: why it ended, and the provider's calls. Call it once."""
        if self._done:
            raise ValueError("the reader was flushed")
        self._done = True
        self._pieces.append(self._decoder.decode(b"", True))
        text, (reports, proposed_to) = "".join(self._pieces), self._further
        found = self._parse(text, finish=finish, calls=calls, report_unread_calls=reports, proposed_to=proposed_to)
        known = [event.outcome for event in found.late if isinstance(event, CallFound)]
        kept = {_id(one) for one in known}
        gone = [CallWithdrawn(name) for name in {**self._started, **self._told} if name not in kept]
        return replace(found, late=(*gone, *self._news(known)))

    def _news(self, found: Sequence[RawRequest | Refusal]) -> list[ParseEvent]:
        fresh = [one for one in found if self._told.get(_id(one)) != one]
        self._told.update({_id(one): one for one in fresh})
        return [
            event for event in _events(fresh) if not isinstance(event, CallStarted) or event.id not in self._started
        ]

    def _announced(self) -> list[ParseEvent]:
        name = f"{self._prefix}{len(self._told) + 1}"
        if self._begun is None or name in self._started or self._looked >= _ANNOUNCED:
            return []
        start, tool = self._begun
        self._looked = len(self._head)
        head = head_of(self._head)
        element = _ELEMENT_PATH.search(self._head) if tool else None
        path = head.path if not tool else element[1] if element else ""
        tool = tool or head.tool
        known = quick_check.properties(self._tools.get(tool)).keys()
        if tool not in self._tools or (not path and not known.isdisjoint(PATH_KEYS)):
            return []
        self._started[name] = CallStarted(name, tool, path, start)
        return [self._started[name]]


def _first_of(
    text: str, bare: bool, tools: ToolSchemas, own: ToolSchemas, exists: Exists
) -> RawRequest | Refusal | None:
    from rails.parsing.proposals import find_proposals
    from rails.parsing.unread_calls import find_unread_calls

    found = parse(text, tools)
    unread = find_unread_calls(text, tools) if bare else ()
    return next(chain(found.requests, found.refusals, find_proposals(text, own, exists), unread), None)


def _may_hold_more(words: str, tools: ToolSchemas) -> bool:
    return bool(_MORE.search(words)) or any(name in words for name in tools)


def _id(outcome: RawRequest | Refusal) -> str:
    return outcome.id if isinstance(outcome, RawRequest) else outcome.request_id


def _path(request: RawRequest) -> str:
    return next((value for key in PATH_KEYS if isinstance(value := request.parameters.get(key), str)), "")
