"""The incremental reader: text in, signals out, and at the end everything that the answer held."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Final

from rails.core import limits
from rails.core.conversation import NativeCall, StopReason
from rails.core.dataclass import replace
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column
from rails.core.tool_request import PATH_KEYS, RawRequest
from rails.data_formats.file_names import Exists, nothing_exists
from rails.data_formats.strict_json import ParsedJson, parse_strict
from rails.json_schema import quick_check
from rails.parsing import classify, uncertain_blocks
from rails.parsing.bare_calls import bare_calls
from rails.parsing.blocks import BlockSpan, JsonFence, XmlCall
from rails.parsing.call_formats import forms, optional
from rails.parsing.call_formats.form import FormReader
from rails.parsing.call_formats.native import judge_native
from rails.parsing.call_formats.xml_calls import XmlFollower
from rails.parsing.classify import NORMAL_STOPS, BlockResult, JsonBlock
from rails.parsing.json_progress import JsonProgress, from_value
from rails.parsing.results import CallFound, CallStarted, CallWithdrawn, Ignored, ParsedAnswer, ParseEvent, ToolSchemas
from rails.parsing.scanner import Scanner
from rails.parsing.uncertain_blocks import TornBlockDetector

_ACTION: Final = lazy(r"^[ \t]*</?action>[ \t]*\r?(?:\n|\Z)", re.M)

#: One of these is in every block and call that stands beside a request, unless the name of a tool is.
_MORE: Final = lazy(r"`{3}|~{3}|[<{\[@✿]|\*{3}|Action|assistant|to=|diff --git")
#: An offset beyond every answer.
_NOWHERE: Final = limits.ANSWER_CHARS * 2


class AnswerParser:
    """Reads one answer as it streams in. Same results for any chunking, also inside a character.

    ``tools`` are the tools that exist; ``id_prefix`` makes request ids unique in a session; ``dialects``
    names further wire formats to read (``parsing.call_formats.optional``; UsageError for one that does not exist).
    ``report_unread_calls``: in a whole answer in which nothing was refused, refuse calls that stand where none is read
    (``rails.parsing.unread_calls``), so that their author hears of it. Patches and named blocks of an answer without
    requests are requests of the tools ``proposed_to`` (``rails.parsing.proposals``), by default all: those that the
    author may use. ``exists`` tells whether the project has a file of a path, which settles what may be a name.
    """

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
        self._exists = exists
        self._proposed_to = tools if proposed_to is None else proposed_to
        self._tools, self._prefix, self._reports_unread_calls = tools, id_prefix, report_unread_calls
        self._decoder: codecs.IncrementalDecoder | None = None
        self._dialects = optional.check_dialects(frozenset(dialects))
        self._torn_detector = TornBlockDetector(tools)
        self._scanner = Scanner(tools, self._reads, self._dialects, self._torn_detector.fence)
        self._announced: JsonProgress | XmlFollower | None = None
        self._doubt = _NOWHERE  # from this offset on, blocks may be quoted by a broken one
        self._count = 0
        self._size = 0
        self._waiting: list[list[RawRequest | Refusal]] = []
        self._started: set[str] = set()
        self._requests: list[RawRequest] = []
        self._refusals: list[Refusal] = []
        self._ignored: list[Ignored] = []
        self._prose: list[str] = []
        self._native: dict[str, str] = {}
        self._blocks: dict[str, tuple[int, int]] = {}
        self._hidden: list[tuple[int, int]] = []  # fences and containers that are no calls
        self._places: dict[str, tuple[int, str]] = {}  # where in the prose a block was left out, and its text
        self._doubted = False  # the block before that offset was refused
        self._orphaned = False  # behind that offset there is prose with a tool key
        self._remnant = False  # behind that offset there is text that looks like the rest of a JSON block
        self._actions = False
        self._lines: list[tuple[int, int, int]] = [(0, 1, 1)]  # where blocks begin and end: offset, line and column
        self._bare = 0  # how many pieces of prose stand before the end of the last thought
        self._lead = ""  # the prose before this place on its line, where dialects are read
        self._done = False

    def feed(self, chunk: str | bytes) -> list[ParseEvent]:
        """Take the next piece of the answer. Returns what became known by it, in order.

        Raises ValueError after ``flush``.
        """
        if self._done:
            raise ValueError("the reader was flushed")
        return self._feed(chunk, whole=False)

    def _feed(self, chunk: str | bytes, *, whole: bool) -> list[ParseEvent]:
        """Feed a chunk; ``whole`` says that nothing follows it, so its last line is complete."""
        text = self._decoded(chunk, whole) if isinstance(chunk, bytes) else chunk
        before, self._size = self._size, self._size + len(text)
        if self._size > limits.ANSWER_CHARS:
            text = text[: max(limits.ANSWER_CHARS - before, 0)]
        signals: list[ParseEvent] = []
        for item in self._scanner.feed(text, whole=whole):
            self._take(item, signals)
        if self._scanner.current is not None:  # every chunk of a stream comes here
            self._peek(signals)
        return signals

    def flush(self, finish: StopReason, calls: Sequence[NativeCall] = ()) -> ParsedAnswer:
        """Take the end of the answer, why it ended, and the provider's own calls. Call it once."""
        if self._done:
            raise ValueError("the reader was flushed")
        return self._flush(finish, calls, [])

    def _flush(self, finish: StopReason, calls: Sequence[NativeCall], late: list[ParseEvent]) -> ParsedAnswer:
        """Take the end; ``late`` are signals that were not passed on yet."""
        whole = finish in NORMAL_STOPS and self._size <= limits.ANSWER_CHARS
        rest = self._decoded(b"", True) if self._decoder is not None else ""
        for item in (*self._scanner.feed(rest), *self._scanner.flush()):
            self._take(item, late, whole=whole)
        self._withdraw(late)
        remnant = self._remnant or self._scanner.orphan >= self._doubt
        quoted = min(self._doubt if not whole or remnant else _NOWHERE, self._torn_from(whole))
        for outcomes in self._waiting:
            last = outcomes[0].end >= self._scanner.offset
            settled = (uncertain_blocks.settled_call(one, whole, quoted, at_the_end=last) for one in outcomes)
            self._complete([self._placed(one) if isinstance(one, Refusal) else one for one in settled], late)
        self._done = True
        if self._orphaned and self._remnant and not self._doubted:
            self._complete([self._numbered(uncertain_blocks.torn(self._doubt))], late)
        elif self._torn_detector.lost() >= 0:
            self._complete([self._numbered(uncertain_blocks.torn(self._torn_detector.lost()))], late)
        for call in dict.fromkeys(calls):  # a call that came twice, its id included, is one
            outcome = self._numbered(judge_native(call, finish))
            self._native[_id(outcome)] = call.id
            self._complete([outcome], late)
        if whole and not (self._requests or self._refusals):
            self._read_bare(late)
        if self._reports_unread_calls and whole and not self._refusals:
            self._look_again(late)
        if self._size > limits.ANSWER_CHARS:
            self._refusals.append(uncertain_blocks.too_long(limits.ANSWER_CHARS))
        found = tuple(self._requests), tuple(self._refusals), tuple(self._ignored)
        return ParsedAnswer(*found, self._text(), dict(self._native), dict(self._blocks), tuple(late))

    def _look_again(self, late: list[ParseEvent]) -> None:
        """Take patches and named blocks of an answer in which nothing was read, and refuse all other calls."""
        if self._requests and not _may_hold_more("".join(self._prose), self._tools):
            return  # as beside nearly every request
        from rails.parsing.proposals import second_look
        from rails.parsing.unread_calls import without_blocks

        pieces = list(self._prose)
        for place, raw in self._places.values():
            pieces[place] = without_blocks(raw, [(0, len(raw))])
        others = self._proposed_to, self._ignored, tuple(self._requests)
        found = second_look("".join(pieces), self._tools, *others, exists=self._exists)
        for one in found:
            outcome = self._numbered(one)
            self._blocks[_id(outcome)] = (one.start, one.end)
            self._complete([outcome], late)

    def _withdraw(self, late: list[ParseEvent]) -> None:
        """Take back what a closing mark, seen later, made part of a thought or of another container."""
        strays = self._scanner.strays
        if not strays.withdrawn:  # as at the end of nearly every answer
            return
        found = [*self._requests, *self._refusals, *(one for outcomes in self._waiting for one in outcomes)]
        for outcome in sorted(found, key=lambda one: self._blocks[_id(one)]):
            name = _id(outcome)
            start, end = self._blocks[name]
            around = strays.around(start)
            if around is None or (around.kind == "call" and isinstance(outcome, Refusal)):
                continue
            self._remove(outcome)
            if around.kind == "call":
                self._complete([self._placed(uncertain_blocks.inside_foreign(outcome, around.label))], late)
                continue
            late.append(CallWithdrawn(name))
            del self._blocks[name]
            if name in self._places:
                place, raw = self._places[name]
                self._prose[place] = raw
                del self._places[name]
                self._ignored.append(Ignored(start, end, uncertain_blocks.quoted_inside(around.label)))
        self._ignored.sort(key=lambda one: one.start)

    def _remove(self, outcome: RawRequest | Refusal) -> None:
        """Forget an outcome, wherever it waits."""
        kept = ([one for one in outcomes if one is not outcome] for outcomes in self._waiting)
        self._waiting = [outcomes for outcomes in kept if outcomes]
        if isinstance(outcome, RawRequest):
            self._requests = [one for one in self._requests if one.id != outcome.id]
        else:
            self._refusals = [one for one in self._refusals if one.request_id != outcome.request_id]

    def _torn_from(self, whole: bool) -> int:
        """Return the offset from which blocks are torn, or quoted by a torn one."""
        watch = self._torn_detector
        return watch.since if watch.seen else _NOWHERE if whole else watch.unfinished

    def _decoded(self, chunk: bytes, final: bool) -> str:
        """Decode UTF-8 whose characters may be split between chunks; bad bytes become U+FFFD."""
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return self._decoder.decode(chunk, final)

    def _text(self) -> str:
        """Return the prose, without the <action> lines around XML calls."""
        prose = "".join(self._prose)
        return _ACTION.sub("", prose) if self._actions else prose

    def _reads(self, body: str) -> bool:
        """Return whether a body can be read as calls, repairs included."""
        block = JsonBlock(body, body, 0, len(body), 0, True, True)
        progress = JsonProgress()
        progress.feed(body)
        outcomes = classify.judge_block(block, self._tools, progress)
        return all(isinstance(one, RawRequest) for one in outcomes)

    def _take(self, item: BlockSpan | str, signals: list[ParseEvent], *, whole: bool = True) -> None:
        offset, line, column = self._lines[-1]
        text = item if isinstance(item, str) else item.raw
        after = (offset + len(text), *line_column(text, len(text), (line, column)))
        if isinstance(item, str):
            self._lines[-1] = after
        else:
            self._lines += [after, after]  # the last of which goes on with the prose
        if self._dialects and isinstance(item, str):
            self._lead = (self._lead + item).rpartition("\n")[2]
        if isinstance(item, str):
            self._prose.append(item)
            self._torn_detector.text(item)
            self._suspect(item)
            if self._doubt == _NOWHERE and (found := uncertain_blocks.open_string(item, len(item))):
                self._doubt, self._remnant = offset + found.start(), True
                self._suspect(item[found.end() :])
            return
        if not item.closed and item.start >= self._doubt:
            self._remnant = True
        self._take_span(item, signals, whole)
        self._lead = ""

    def _take_span(self, item: BlockSpan, signals: list[ParseEvent], whole: bool) -> None:
        whole = whole or item.closed
        form = forms.reader_of(item.label, self._dialects) if self._dialects else None
        if form is not None and whole:  # a stop sequence may have taken the last closing mark
            shown = uncertain_blocks.led(item, self._lead)
            self._settle(item, shown or self._in_form(item, *form), signals)
        elif item.kind == "quote":
            self._torn_detector.quote(item)
            if not item.label:  # a fence line of ours may have been taken for its opening
                self._suspect(item.raw)
            self._settle(item, uncertain_blocks.judge_quote(item, self._tools), signals)
            self._bare = len(self._prose) if item.container == "thought" else self._bare
        else:
            if item.progress is None and item.first is not None:
                item.progress = from_value(item.first[1], item.body)
            outcomes = self._judged(item, whole)
            what = item.progress or item.follower
            if what is not self._announced:
                self._announce(what, item.start, signals, ended=True)
            if what is self._announced:
                outcomes = uncertain_blocks.never_ignored(outcomes, item.start, item.end)
            if item.kind == "json" and uncertain_blocks.holds_raw_lines(outcomes):
                self._doubt = min(self._doubt, item.start)
            if item.kind == "json":
                self._torn_detector.block(item, outcomes)
            self._settle(item, outcomes, signals)
            if item.kind == "json" and not _certain_end(item, outcomes):
                self._doubt = min(self._doubt, item.end)
                self._doubted = self._doubted or isinstance(outcomes[0], Refusal)

    def _in_form(self, item: BlockSpan, dialect: str, read: FormReader) -> Sequence[BlockResult]:
        """Read a container in the form of another model. Behind one that cannot be read, nothing is believed."""
        fence = item.container is None
        body = item.body.rstrip().rstrip("`~") if fence else item.raw
        start = item.body_start if fence else item.start
        first = self._place_of(start, item)
        block = JsonBlock(body, item.raw, item.start, item.end, start, True, True, dialect, first=first)
        outcomes = classify.form_calls(block, read, self._tools)
        if any(isinstance(one, Refusal) for one in outcomes):
            self._doubt, self._remnant = min(self._doubt, item.end), True
        return outcomes

    def _read_bare(self, late: list[ParseEvent]) -> None:
        """Read an answer that is nothing but calls, behind its thoughts, where the dialect says so."""
        text = "".join(self._prose[self._bare :])
        reader = forms.read_bare(text) if "llama" in self._dialects else None
        if reader is None:
            self._read_bare_json(late)
            return
        end = sum(map(len, self._prose))
        start = end - len(text)
        block = JsonBlock(text, text, start, end, start, True, True, "llama", first=self._place_of(start))
        outcomes = classify.form_calls(block, reader, self._tools)
        found = [self._numbered(one) for one in outcomes if not isinstance(one, Ignored)]
        self._blocks.update({_id(one): (block.start, end) for one in found})
        del self._prose[self._bare :]
        self._complete(found, late)

    def _read_bare_json(self, late: list[ParseEvent]) -> None:
        """Read calls in a provider's form that stand in no fence."""
        text = "".join(self._prose)
        kept, pos = list[str](), 0
        for start, end, requests in bare_calls(text, self._tools):
            if any(begin < end and start < stop for begin, stop in self._hidden) or self._scanner.strays.around(start):
                continue
            found = [self._numbered(one) for one in requests]
            self._blocks.update({_id(one): (start, end) for one in found})
            kept.append(text[pos:start])
            pos = end
            self._complete(found, late)
        if pos:
            self._prose, self._places = [*kept, text[pos:]], {}

    def _suspect(self, text: str) -> None:
        """Look for the rest of a doubtful block in what seems to be prose or another block."""
        if self._doubt < _NOWHERE:
            self._remnant = self._remnant or uncertain_blocks.REMNANT.search(text) is not None
            self._orphaned = self._orphaned or classify.names_tool(text, self._tools)

    def _judged(self, span: BlockSpan, whole: bool) -> Sequence[BlockResult]:
        raw = span.raw.rstrip("\r\n") if span.closed else span.raw
        if span.progress is None:
            self._actions = True
            return [classify.xml_call(span, raw, self._tools)]
        end, first = span.start + len(raw), self._place_of(span.body_start, span)
        told = whole, span.dialect, span.label, self._dialects, span.cut_short, "", first
        block = JsonBlock(span.body, raw, span.start, end, span.body_start, span.closed, *told)
        if span.ambiguous:
            return [uncertain_blocks.ends_twice(block)]
        if span.context and classify.is_call(span.context, span.progress, self._tools):
            outcomes = self._sure(span, block)
            return outcomes or [classify.unsure_end(block, span.progress, self._tools)]
        if span.first is None or span.first[0] != block.body:
            span.first = (block.body, parse_strict(block.body))
        return classify.judge_block(block, self._tools, span.progress, span.first[1])

    def _sure(self, span: BlockSpan, block: JsonBlock) -> Sequence[BlockResult]:
        """Return what a block is whose strings do not tell its end, where nothing that follows could be part of it."""
        rest = span.context[span.end - span.start :]
        if span.progress is None or any(mark in rest for mark in ('"', "'", "”", "```", "~~~", "<tool", "}")):
            return ()
        return classify.judge_block(block, self._tools, span.progress, parse_strict(block.body))

    def _settle(self, span: BlockSpan, outcomes: Sequence[BlockResult], signals: list[ParseEvent]) -> None:
        """Give the outcomes of one stretch their ids and pass them on, or keep its text as prose."""
        if not outcomes or isinstance(outcomes[0], Ignored):
            self._prose.append(span.raw)
            self._hidden.append((span.start, span.end))
            self._ignored.extend(one for one in outcomes if isinstance(one, Ignored))
            return
        numbered = [self._numbered(one, span) for one in outcomes if not isinstance(one, Ignored)]
        self._blocks.update({_id(one): (span.start, span.end) for one in numbered})
        self._places[_id(numbered[0])] = len(self._prose), span.raw
        self._prose.append("")
        at_end = not span.raw.endswith("\n") and uncertain_blocks.was_repaired(numbered)
        if (
            self._waiting
            or span.start >= min(self._doubt, self._torn_detector.since)
            or at_end
            or uncertain_blocks.used_closers(numbered)
        ):
            self._waiting.append(numbered)
        else:
            self._complete(numbered, signals)

    def _numbered(self, outcome: RawRequest | Refusal, span: BlockSpan | None = None) -> RawRequest | Refusal:
        self._count += 1
        name = f"{self._prefix}{self._count}"
        if isinstance(outcome, RawRequest) and self._count > limits.REQUESTS_PER_ANSWER:
            outcome = uncertain_blocks.too_many(outcome.start, outcome.end, limits.REQUESTS_PER_ANSWER)
        if isinstance(outcome, RawRequest):
            return replace(outcome, id=name)
        return replace(self._placed(outcome, span), request_id=name)

    def _placed(self, refusal: Refusal, span: BlockSpan | None = None) -> Refusal:
        """Return a refusal that names its line; where its block is not given as ``span``, that on which it begins."""
        return uncertain_blocks.placed(refusal, *self._place_of(refusal.start, span))

    def _place_of(self, offset: int, span: BlockSpan | None = None) -> tuple[int, int]:
        """Return line and column of an offset in ``span``, or of where the block begins that it is in."""
        begin, line, column = self._lines[bisect_right(self._lines, (span.start if span else offset, _NOWHERE)) - 1]
        return line_column(span.raw, offset - begin, (line, column)) if span else (line, column)

    def _peek(self, signals: list[ParseEvent]) -> None:
        """Announce the request that is being written, if enough of it is known."""
        stretch = self._scanner.current
        if isinstance(stretch, JsonFence):
            if stretch.progress is not self._announced and stretch.progress.found:
                self._announce(stretch.progress, stretch.start, signals)
        elif isinstance(stretch, XmlCall) and stretch.follower is not self._announced:
            self._announce(stretch.follower, stretch.start, signals)

    def _announce(
        self, what: JsonProgress | XmlFollower | None, start: int, signals: list[ParseEvent], *, ended: bool = False
    ) -> None:
        """Say that a request has begun, if its tool is known and its path is known or not to come."""
        name = what.tool if what is not None else ""
        if what is None or name not in self._tools:
            return
        has_path = quick_check.takes_path(self._tools[name])
        path = what.path if has_path else ""
        if (has_path and not path and not ended) or not what.is_call:
            return
        self._announced = what
        signals.append(CallStarted(f"{self._prefix}{self._count + 1}", name, path, start))
        self._started.add(signals[-1].id)

    def _complete(self, outcomes: Sequence[RawRequest | Refusal], signals: list[ParseEvent]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, RawRequest):
                self._requests.append(outcome)
                if outcome.id not in self._started:
                    signals.append(CallStarted(outcome.id, outcome.tool_name, _path(outcome), outcome.start))
            else:
                self._refusals.append(outcome)
            signals.append(CallFound(_id(outcome), outcome))


def _certain_end(span: BlockSpan, outcomes: Sequence[BlockResult]) -> bool:
    """Return whether a JSON block surely ended where it did: it was read, or its brackets close outside strings."""
    if span.cut_short or span.unsure:
        return False
    if span.first is not None and isinstance(span.first[1], ParsedJson):
        return True
    if any(isinstance(one, RawRequest) for one in outcomes):
        return True
    progress = span.progress
    if all(isinstance(one, Ignored) for one in outcomes):
        return False
    return progress is not None and progress.done and not (progress.suspicious or progress.quote or progress.trailing)


def _may_hold_more(words: str, tools: ToolSchemas) -> bool:
    """Whether there may be calls that were not read in what stands beside requests."""
    return bool(_MORE.search(words)) or any(name in words for name in tools)


def _id(outcome: RawRequest | Refusal) -> str:
    return outcome.id if isinstance(outcome, RawRequest) else outcome.request_id


def _path(request: RawRequest) -> str:
    return next((value for key in PATH_KEYS if isinstance(value := request.parameters.get(key), str)), "")


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
    """Read a whole answer. ``None`` and empty text give an empty result.

    ``text`` may be UTF-8 bytes (undecodable bytes become U+FFFD). ``tools`` maps every tool name to the
    JSON Schema of its parameters; ``finish`` is why the model stopped; ``calls`` are native calls;
    the others are those of :class:`AnswerParser`. Raises TypeError for what is not text.
    """
    if text is not None and not isinstance(text, str | bytes):
        raise TypeError(f"an answer is text or UTF-8 bytes, not {type(text).__name__}")
    reader = AnswerParser(
        tools,
        id_prefix=id_prefix,
        dialects=dialects,
        report_unread_calls=report_unread_calls,
        proposed_to=proposed_to,
        exists=exists,
    )
    signals = reader._feed(text, whole=True) if text else []
    return reader._flush(finish, calls, signals)
