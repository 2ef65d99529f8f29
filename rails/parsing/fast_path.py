"""The short way through the most common answer: prose around one closed JSON fence with one call in it.

What it returns is what ``rails.parsing.parse.AnswerParser`` would have returned, made by the same functions; it only
knows beforehand that nothing in such an answer needs a second thought. For every other answer it returns None.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.dataclass import replace
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import line_column
from rails.core.tool_request import RawRequest
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict
from rails.json_schema import quick_check
from rails.parsing import classify
from rails.parsing.blocks import closing_line
from rails.parsing.classify import JsonBlock
from rails.parsing.frame_hints import ENDS_FRAME, SENTENCES, announces, may_be_spoken_of
from rails.parsing.json_progress import JsonProgress, from_value
from rails.parsing.quoted import has_mark
from rails.parsing.results import CallFound, CallStarted, Ignored, ParsedAnswer, ToolSchemas
from rails.parsing.scanner import notable_lines
from rails.parsing.uncertain_blocks import REMNANT, REST_LINE, open_string, placed

_notable: Final = notable_lines()
_OPENING: Final = lazy(r"(`{3,})json[ \t]*\r?\n", re.IGNORECASE)
#: One of these is in everything that one of the four looks behind a block can find.
_SUSPECT: Final = lazy(r"[`~<\"'“”}\],\[◁*@&\\＜〈]|'{3}|-----|diff|assistant")


def read_plain(text: str, tools: ToolSchemas, prefix: str) -> ParsedAnswer | None:
    """Read a whole answer that ended normally; None if anything in it is not plain. ``prefix`` begins the ids."""
    notable = _notable(text, 0, len(text))
    if (
        notable == len(text)
        or has_mark(text, 0, notable) >= 0
        or open_string(text, notable)
        or announces(text, notable)
    ):
        return None
    found = _block(text, notable, tools, f"{prefix}1")
    if found is None:
        return None
    started, completed, end = found
    if may_be_spoken_of(text, notable, end):
        from rails.parsing.lead_ins import asked_last, said_above, said_below

        if said_above(text[:notable]) or said_below(text[end:]) or asked_last(text[end:]):
            return None
    if not SENTENCES.match(text, end) and ENDS_FRAME.search(text, end):
        from rails.parsing.frames import hides

        if hides(text, end):
            return None
    if _SUSPECT.search(text, end) and (
        _notable(text, end, len(text)) < len(text)
        or REST_LINE.search(text, end)
        or REMNANT.search(text, end)
        or has_mark(text, end) >= 0
    ):
        return None  # there is more, or the block may have been torn
    outcome, start = completed.outcome, started.offset
    return ParsedAnswer(
        (outcome,) if isinstance(outcome, RawRequest) else (),
        (outcome,) if isinstance(outcome, Refusal) else (),
        prose=text[:start] + text[end:],
        blocks={started.id: (start, end)},
        late=(started, completed),
    )


def _block(text: str, start: int, tools: ToolSchemas, name: str) -> tuple[CallStarted, CallFound, int] | None:
    """Read the block that begins at ``start``: its announcement, its outcome and where it ends; None if not plain."""
    opening = _OPENING.match(text, start)
    closing = closing_line(text, opening.end(), len(text), opening[1]) if opening else None
    if opening is None or closing is None:
        return None
    body = text[opening.end() : closing.start()]
    parsed = parse_strict(body)
    progress = _followed(body, parsed)
    if progress is None or progress.tool not in tools:
        return None
    raw = text[start : closing.end()].rstrip("\r\n")
    first = text.count("\n", 0, opening.end()) + 1, 1
    block = JsonBlock(body, raw, start, start + len(raw), opening.end(), closed=True, whole=True, id=name, first=first)
    outcomes = classify.judge_block(block, tools, progress, parsed)
    outcome = outcomes[0]
    if len(outcomes) > 1 or isinstance(outcome, Ignored):
        return None
    if isinstance(outcome, Refusal):
        outcome = replace(placed(outcome, *line_column(text, outcome.start)), request_id=name)
    path = progress.path if quick_check.takes_path(tools[progress.tool]) else ""
    return CallStarted(name, progress.tool, path, start), CallFound(name, outcome), closing.end()


def _followed(body: str, parsed: ParsedJson | JsonFault) -> JsonProgress | None:
    """Return what following ``body`` teaches; None where it does not surely end at its closing fence."""
    if isinstance(parsed, ParsedJson):
        return from_value(parsed, body) if type(parsed.value) is dict else None
    if "```" in body:
        return None
    progress = JsonProgress()
    progress.feed(body)
    return None if progress.quote else progress
