"""Second thoughts: what the surroundings of a block, or the end of the answer, say about an outcome.

A repaired block may rest on where it seemed to end; a block behind a broken one may be what that one quotes; a
block at the end of an answer that was cut off may be incomplete. Each case is refused here, in words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.core.errors import Refusal
from rails.core.text import one_line
from rails.core.tool_request import RawRequest
from rails.parsing.blocks import Span
from rails.parsing.classify import HINT, Block, Outcome
from rails.parsing.results import Ignored

#: Repairs that are believed only if the answer was not cut off.
_UNLESS_CUT: Final = frozenset({"missing_closers", "inner_quotes"})
#: A line that begins like the rest of a JSON block and not like a sentence.
REMNANT: Final = re.compile(r"^[ \t]*(?:[}\],]|[\"'“”][ \t]*[,}\]\n])", re.M)
_CALL_LIKE: Final = re.compile(
    r"""^[^\S\n]*(?:`{3,}|~{3,})[ \t]*json(?:(?!^[^\S\n]*(?:`{3}|~{3})).){0,400}?["']tool(?:_name)?["']\s*:"""
    r"""|^[ \t]*<tool\s+name\s*=""",
    re.I | re.M | re.S,
)


def used_closers(outcomes: Sequence[Outcome]) -> bool:
    """Return whether any outcome rests on added closers, which only a normal stop allows."""
    return any(isinstance(one, RawRequest) and any(n.name in _UNLESS_CUT for n in one.repairs) for one in outcomes)


def too_many(start: int, end: int, limit: int) -> Refusal:
    """Return the refusal of a request beyond the bound of one answer."""
    return Refusal(
        "limit", f"One answer may hold {limit} requests; this one is beyond.", "Send the rest later.", start, end
    )


def settled(one: RawRequest | Refusal, whole: bool, quoted_from: int, *, at_the_end: bool) -> RawRequest | Refusal:
    """Judge again what had to wait for the end of the answer.

    ``whole``: the answer was not cut off. ``at_the_end``: nothing follows the block. ``quoted_from``:
    blocks from here on may be part of what an earlier, broken block quotes.
    """
    if isinstance(one, Refusal):
        return one
    if not whole and used_closers([one]):
        message = "The JSON block is broken and the answer was cut off, so it may be incomplete."
    elif not whole and at_the_end and was_mended([one]):
        message = "The block is broken and the answer was cut off right behind it, so it may be incomplete."
    elif one.start >= quoted_from:
        message = (
            "The text around the block looks like the rest of a broken one, so where it begins or ends is uncertain."
        )
    else:
        return one
    return Refusal("unterminated", message, "Send the whole block again.", one.start, one.end, request_id=one.id)


def unsure_end(block: Block) -> Refusal:
    """Return the refusal of a block whose end could not be found."""
    message = (
        "The end of the JSON block cannot be found: a string in it is not closed, or holds what cannot stand in it."
    )
    return Refusal("unclosed_string", message, HINT, block.start, block.end)


def was_mended(outcomes: Sequence[Outcome]) -> bool:
    """Return whether any outcome rests on a repair of the text."""
    return any(
        isinstance(one, RawRequest) and any(not note.name.startswith("text_to_") for note in one.repairs)
        for one in outcomes
    )


def holds_raw_lines(outcomes: Sequence[Outcome]) -> bool:
    """Return whether a string of any outcome ran over raw line ends, so that a fence line could be its content."""
    return any(
        isinstance(one, RawRequest) and any(note.name in ("raw_control", "inner_quotes") for note in one.repairs)
        for one in outcomes
    )


def ends_twice(block: Block) -> Refusal:
    """Return the refusal of a block that could end in two places."""
    message = "The JSON block holds a fence line where a string seems to be open, and it can be read in two ways."
    return Refusal("ambiguous", message, "Escape quotation marks and line ends inside strings.", block.start, block.end)


def never_ignored(outcomes: Sequence[Outcome], start: int, end: int) -> Sequence[Outcome]:
    """Return a refusal where a block that was announced as a request turned out to hold none."""
    if not all(isinstance(one, Ignored) for one in outcomes):
        return outcomes
    reason = next((one.reason for one in outcomes if isinstance(one, Ignored)), "the block is empty")
    return [Refusal("syntax", f"The block names a tool but cannot be read as a call: {reason}.", HINT, start, end)]


def judge_quote(span: Span) -> list[Outcome]:
    """Decide what a quoting stretch is: ignored, unless it never ends and so may hide requests."""
    if not _CALL_LIKE.search(span.raw):
        return []
    name = one_line(span.label, 40) or "a fence without a language"
    if span.closed:
        return [Ignored(span.start, span.end, f"quoted inside {name}")]
    message = f"A block ({name}) is opened here and never closed, so what follows cannot be told from a quotation."
    return [Refusal("unterminated", message, "Close the block, then send the call again.", span.start, span.end)]


def too_long(limit: int) -> Refusal:
    """Return the refusal of an answer beyond the bound; what came before the bound was read."""
    return Refusal(
        "limit", f"The answer has more than {limit} characters; the rest was not read.", "Send less at once."
    )


def torn(offset: int) -> Refusal:
    """Return the refusal of a block that was torn by a fence line in it, so that its tool key is outside."""
    message = "A JSON block ends at a fence line, and what follows looks like its rest, with a tool key."
    return Refusal(
        "unclosed_string", message, "Escape quotation marks and line ends inside strings.", offset, offset + 1
    )
