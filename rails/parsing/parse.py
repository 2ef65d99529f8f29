"""Read an answer: requests, refusals, what is ignored, and prose."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
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
from rails.parsing.blocks import Blocks, BlockSpan, find_blocks, text_block
from rails.parsing.call_formats import line_calls, marked_forms, registry
from rails.parsing.call_formats.native import judge_native
from rails.parsing.classify import NORMAL_STOPS, BlockResult
from rails.parsing.head import head_of
from rails.parsing.uncertain_blocks import Doubts
from rails.parsing.values import CallFound, CallStarted, CallWithdrawn, Ignored, ParsedAnswer, ParseEvent, ToolSchemas

_LINE_END: Final = re.compile("\n")
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
    if answer.whole and not answer.found:
        answer.read_bare()
    if report_unread_calls and answer.whole and not answer.refusals:
        answer.look_again(tools if proposed_to is None else proposed_to, exists)
    return answer.parsed()


class _Answer:
    def __init__(
        self, text: str, tools: ToolSchemas, dialects: frozenset[str], prefix: str, finish: StopReason
    ) -> None:
        self.whole = finish in NORMAL_STOPS and len(text) <= limits.ANSWER_CHARS
        self.found: list[RawRequest | Refusal] = []
        self._too_long = len(text) > limits.ANSWER_CHARS
        self._text = text[: limits.ANSWER_CHARS]
        self._tools, self._dialects, self._prefix = tools, dialects, prefix
        self._blocks: Blocks = Blocks()
        self._ignored: list[Ignored] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._native: dict[str, str] = {}
        self._count = 0
        self._lines = [0, *(one.end() for one in _LINE_END.finditer(self._text))]
        self._thought = 0  # where the last thought ends

    @property
    def requests(self) -> tuple[RawRequest, ...]:
        return tuple(one for one in self.found if isinstance(one, RawRequest))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(one for one in self.found if isinstance(one, Refusal))

    # -- blocks --------------------------------------------------------------------------------------

    def read_blocks(self) -> None:
        self._blocks = find_blocks(self._text, self._tools, self._dialects, self._reads)
        doubts, pos, lead = Doubts(), 0, ""
        found: list[tuple[BlockSpan, RawRequest | Refusal]] = []
        for item in self._blocks.items:
            if isinstance(item, str):
                doubts.text(item, pos)
                pos += len(item)
                lead = item.rpartition("\n")[2]
                continue
            outcomes = self._judged(item, lead)
            doubts.block(item, outcomes)
            pos, lead = item.end, ""
            kept = [(item, self._numbered(one, item)) for one in outcomes if not isinstance(one, Ignored)]
            self._ignored += [] if kept else [one for one in outcomes if isinstance(one, Ignored)]
            found += kept
        quoted_from = doubts.since(whole=self.whole)
        end = len(self._text.rstrip())
        for item, one in found:
            settled = uncertain_blocks.settled_call(one, self.whole, quoted_from, at_the_end=item.end >= end)
            self._unless_around(self._placed(settled), item)
        self._ignored.sort(key=lambda one: one.start)

    def _judged(self, span: BlockSpan, lead: str) -> Sequence[BlockResult]:
        span.whole = self.whole or span.closed
        span.first = self._place_of(span.body_start)
        if span.kind == "xml":
            return [classify.xml_call(span, self._tools)]
        if span.kind == "json":
            return [uncertain_blocks.ends_twice(span)] if span.ambiguous else classify.judge_block(span, self._tools)
        dialect = registry.dialect_of(span.label, self._dialects)
        if not dialect or not span.whole:  # a stop sequence may have taken the last closing mark
            self._thought = span.end if span.container == "thought" else self._thought
            return uncertain_blocks.judge_quote(span, self._tools)
        start = span.start if span.container else span.body_start
        end = span.end if span.container else start + len(span.body.rstrip().rstrip("`~"))
        return uncertain_blocks.led(span, lead) or self._in_form(dialect, (span.start, span.end), (start, end))

    def _reads(self, body: str) -> Literal["", "raw", "read"]:
        outcomes = classify.judge_block(text_block(body), self._tools)
        repairs = uncertain_blocks.repair_names(outcomes)
        if not all(isinstance(one, RawRequest) for one in outcomes) or "trailing_text" in repairs:
            return ""
        return "raw" if repairs & uncertain_blocks.RAW_LINES else "read"

    def _in_form(self, dialect: str, block: tuple[int, int], inside: tuple[int, int]) -> Sequence[BlockResult]:
        span = BlockSpan("json", *block, self._text[slice(*block)], *inside, closed=True)
        span.dialect, span.first = dialect, self._place_of(inside[0])
        return classify.form_calls(span, self._tools)

    def _unless_around(self, outcome: RawRequest | Refusal, span: BlockSpan) -> None:
        """Keep the outcome, or a refusal or nothing, if a later closing mark puts it in a container."""
        around = self._blocks.strays.around(span.start)
        if around is None or (around.kind == "call" and isinstance(outcome, Refusal)):
            self.found.append(outcome)
        elif around.kind == "call":
            own = span.container == "call" and _CLOSES_CALL.match(self._text, span.end)
            inside = outcome if own else uncertain_blocks.inside_foreign(outcome, around.label)
            self.found.append(self._placed(inside))
        else:
            del self._places[_id(outcome)]
            ignored = Ignored(span.start, span.end, uncertain_blocks.quoted_inside(around.label))
            self._ignored += [] if ignored in self._ignored[-1:] else [ignored]

    # -- what is no block ----------------------------------------------------------------------------

    def read_native(self, calls: Sequence[NativeCall], finish: StopReason) -> None:
        for call in dict.fromkeys(calls):
            outcome = self._numbered(judge_native(call, finish))
            self._native[_id(outcome)] = call.id
            self.found.append(outcome)

    def read_bare(self) -> None:
        inside = self._thought, len(self._text)
        if "llama" in self._dialects and marked_forms.is_bare(self._text[self._thought :]):
            self._take(inside, self._in_form("llama", inside, inside))
            return
        hidden = [one for one in self._blocks.items if isinstance(one, BlockSpan)]
        for start, end, requests in list(bare_calls(self._text, self._tools)):
            covered = any(one.start < end and start < one.end for one in hidden)
            if not covered and not self._blocks.strays.around(start):
                self._take((start, end), requests)

    def _take(self, place: tuple[int, int], outcomes: Sequence[BlockResult]) -> None:
        for one in outcomes:
            if not isinstance(one, Ignored):
                self.found.append(self._numbered(one))
                self._places[_id(self.found[-1])] = place

    def look_again(self, proposed_to: ToolSchemas, exists: Exists) -> None:
        if self.found and not _may_hold_more(self._prose(), self._tools):
            return  # as beside nearly every request
        from rails.parsing.proposals import second_look
        from rails.parsing.unread_calls import quoted_requests, without_blocks

        rest = without_blocks(self._text, sorted(set(self._places.values())))
        others = proposed_to, self.requests
        found = [*second_look(rest, self._tools, *others, exists=exists)]
        if not (found or self.found):
            found += quoted_requests(rest, partial(_first_of, tools=self._tools, own=proposed_to, exists=exists))
        for one in found:
            self._take((one.start, one.end), [one])

    # -- outcomes ------------------------------------------------------------------------------------

    def _numbered(self, outcome: RawRequest | Refusal, span: BlockSpan | None = None) -> RawRequest | Refusal:
        self._count += 1
        name = f"{self._prefix}{self._count}"
        if span is not None:
            self._places[name] = span.start, span.end
        if isinstance(outcome, RawRequest) and self._count <= limits.REQUESTS_PER_ANSWER:
            return replace(outcome, id=name)
        if isinstance(outcome, RawRequest):
            outcome = uncertain_blocks.too_many(outcome.start, outcome.end, limits.REQUESTS_PER_ANSWER)
        return self._placed(replace(outcome, request_id=name))

    def _placed(self, outcome: RawRequest | Refusal) -> RawRequest | Refusal:
        if isinstance(outcome, RawRequest) or outcome.start < 0:  # of a call that came beside the text
            return outcome
        return uncertain_blocks.placed(outcome, *self._place_of(outcome.start))

    def _place_of(self, offset: int) -> tuple[int, int]:
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
        long = (uncertain_blocks.too_long(limits.ANSWER_CHARS),) if self._too_long else ()
        found = self.requests, (*self.refusals, *long), tuple(self._ignored)
        late = tuple(_events(self.found))
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
        parsing = partial(parse, tools=tools, id_prefix=id_prefix, dialects=dialects, exists=exists)
        self._parse = partial(parsing, report_unread_calls=report_unread_calls, proposed_to=proposed_to)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._line: list[str] = []  # of the line that is not complete yet
        self._size = 0  # of the lines before it
        self._begun: tuple[int, str] | None = None  # the open block: where it begins, and its tool, if its tag names it
        self._head = ""  # what that block holds, as far as it is looked at
        self._started: dict[str, ParseEvent] = {}
        self._told: dict[str, ParseEvent] = {}
        self._reads = self._next = 0
        self._done = False

    def feed(self, chunk: str | bytes) -> list[ParseEvent]:
        """Take the next piece. Return the news, in order. Raises ValueError after ``flush``."""
        text = self._taken(chunk)
        lines, end, line = text.rpartition("\n")
        if not end:
            self._line.append(text)
            return self._announced(text)
        fresh = "".join([*self._line, lines, end])
        self._line = [line]
        begun = _BEGINS_BLOCK.search(fresh) if self._begun is None else None
        if begun is not None:
            self._begun = self._size + begun.start(), begun["tool"] or ""
            self._head, text = "", fresh[begun.end() :] + line
        self._size += len(fresh)
        events = self._announced(text)
        if self._size >= self._next and _ENDS_BLOCK.search(fresh):
            self._reads += 1
            self._next = self._size + (self._size // _GROWTH if self._reads > _READ_AT_ONCE else 0)
            news = self._news(_events(self._parse("".join(self._pieces)[: self._size], finish="cut").requests))
            self._begun = None if news else self._begun
            events += news
        return events

    def flush(self, finish: StopReason, calls: Sequence[NativeCall] = ()) -> ParsedAnswer:
        """End the answer: why it ended, and the provider's calls. Call it once."""
        self._taken(b"", last=True)
        found = self._parse("".join(self._pieces), finish=finish, calls=calls)
        kept = {event.id for event in found.late}
        gone = [CallWithdrawn(name) for name in {**self._started, **self._told} if name not in kept]
        return replace(found, late=(*gone, *self._news(found.late)))

    def _taken(self, chunk: str | bytes, *, last: bool = False) -> str:
        if self._done:
            raise ValueError("the reader was flushed")
        self._done = last
        text = self._decoder.decode(chunk, last) if isinstance(chunk, bytes) else chunk
        self._pieces.append(text)
        return text

    def _news(self, events: Iterable[ParseEvent]) -> list[ParseEvent]:
        news = list[ParseEvent]()
        for event in events:
            seen = self._started if isinstance(event, CallStarted) else self._told
            if event.id not in seen or seen[event.id][:3] != event[:3]:  # a call's offset may differ
                seen[event.id] = event
                news.append(event)
        return news

    def _announced(self, text: str) -> list[ParseEvent]:
        name = f"{self._prefix}{len(self._told) + 1}"
        if self._begun is None or name in self._started or len(self._head) >= _ANNOUNCED:
            return []
        self._head += text[:_ANNOUNCED]
        start, tool = self._begun
        element = _ELEMENT_PATH.search(self._head) if tool else None
        path = element[1] if element else ""
        if not tool:
            head = head_of(self._head[:_ANNOUNCED])
            tool, path = head.tool, head.path
        known = quick_check.properties(self._tools.get(tool)).keys()
        if tool not in self._tools or (not path and not known.isdisjoint(PATH_KEYS)):
            return []
        return self._news([CallStarted(name, tool, path, start)])


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
