"""Match strategies: where an edit's search text is, and what exactly to write there.

The first strategy that finds the text must find it once (or as often as requested). Loose ones only locate: unchanged
lines stay the file's, new ones get its indentation. No edit distance: a stale name must not overwrite a living one.

    1  exact, anywhere in a line            5  lines at another indentation (learned map)
    2  the same with other line ends        6  lines with equal tokens, four of them at least
    3  lines without trailing blanks        7  2 to 6 again without blank border lines
    4  typographic punctuation as ASCII
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core.text import counted
from rails.data_formats.regex import RegexError, replacements
from rails.edits.edit_request import EditRequest, unnumbered, without_entities, without_fence
from rails.edits.nearest import Candidate, handle_for, nearest_places
from rails.edits.replace import Replacement, line_at, lines_at, replacement_at
from rails.edits.strategies import PLACES, FoundPlaces, LinePlaces, TextPlaces, as_lines, first_match
from rails.edits.text_view import View, apart, flatten, line_places, text_places

_TELLING: Final = 8  # characters of a new text that, found inside a line, is taken as "done already"
_LISTED: Final = 5  # ambiguous places that are listed


class Match(Struct, frozen=True):
    """The place of the edit: disjoint spans in file order, strategy and notes."""

    strategy: int
    spans: tuple[Replacement, ...]
    notes: tuple[str, ...] = ()
    #: Accepted by handle after a refusal: not equal by any strategy.
    fuzzy: bool = False


class Miss(Struct, frozen=True):
    """The reason why the edit was not placed: code, message, last strategy, nearest places, next step."""

    code: str
    message: str
    hint: str
    strategy: int = 7
    candidates: tuple[Candidate, ...] = ()
    #: Whose edit, in which file; filled in by the plan.
    request_id: str = ""
    path: str = ""


def locate(view: View, wanted: EditRequest) -> Match | Miss:
    """Find where ``wanted`` goes in ``view``."""
    if not wanted.old:
        return Miss("format", "old_string is empty.", "Quote the text to replace; write_file writes a whole file.", 0)
    if wanted.old == wanted.new:
        hint = "Leave this edit out, or send the new text."
        return Miss("no_change", "No changes made: old_string and new_string are identical.", hint, 0)
    if wanted.regex or wanted.ignore_case:
        return _by_pattern(view, wanted)
    for variant, note in _variants(view, wanted):
        if found := first_match(view, variant):
            placed = _below(view, wanted.below, found) if wanted.below else found
            settled = placed if isinstance(placed, Miss) else _settle(view, variant, placed)
            return replace(settled, notes=(*settled.notes, note)) if note and isinstance(settled, Match) else settled
    return _accepted(view, wanted) or _not_found(view, wanted)


def _below(view: View, named: Sequence[str], found: FoundPlaces) -> FoundPlaces | Miss:
    starts = {-1}
    for depth, words in enumerate(named):
        places = _named_lines(view, words)
        nearest = {next((n for n in places if n > start), -1) for start in starts} - {-1}
        starts = nearest if depth else {*places}
        if not starts:
            message = f"The file has no line {words!r} where the patch names it above this change."
            return Miss("not_found", message, "Read the file, and copy a line of it exactly, or name no line.", 1)
    lines = [(line_at(view, found, place) - 1, place) for place in found.at]
    first = {next((place for line, place in lines if line >= start), -1) for start in starts} - {-1}
    if not first:
        message = f"The text that the patch searches for is not below {named[-1]!r}, which it names above it."
        return Miss("not_found", message, "Name the line above it, or no line.", found.strategy)
    return replace(found, at=tuple(place for place in found.at if place in first))


def _named_lines(view: View, words: str) -> list[int]:
    lines = [(n, line.strip()) for n, line in enumerate(view.lines)]
    return [n for n, line in lines if line == words] or [n for n, line in lines if line.startswith(words)]


def _variants(view: View, wanted: EditRequest) -> Iterator[tuple[EditRequest, str]]:
    yield wanted, ""
    if wanted.old.startswith("\ufeff") and len(wanted.old) > 1:
        unmarked = replace(wanted, old=wanted.old[1:], new=wanted.new.removeprefix("\ufeff"))
        yield unmarked, "a byte-order mark copied into the search text was left out"
    if bare := without_fence(wanted):
        yield bare, "a code fence around the search text was left out"
    if (escaped := without_entities(wanted)) and flatten(escaped.old) in view.flat:
        yield escaped, "characters escaped for HTML were read as what they stand for"
    for plain, first in unnumbered(wanted):
        if first - 1 in line_places(plain.old.removesuffix("\n").split("\n"), view.lines, str.rstrip, PLACES):
            yield plain, "line numbers copied into the search text were left out"
    from rails.edits.blank_lines import with_blank_lines_of_file  # which few edits need

    if spaced := with_blank_lines_of_file(view, wanted):
        yield spaced, "blank lines within the search text were read as the file has them"


def _by_pattern(view: View, wanted: EditRequest) -> Match | Miss:
    try:
        found = _pattern_matches(view, wanted)
    except RegexError as error:
        message = f"The regular expression cannot be used: {error}."
        return Miss("format", message, "Correct the pattern, or send old_string as plain text.", 1)
    if not found:
        return Miss("not_found", "old_string matches nothing in the file.", "Read the file again.", 1)
    chosen = _choose(view, wanted, TextPlaces(1, tuple(start for start, _, _ in found), "", ""))
    if isinstance(chosen, Miss):
        return chosen
    spans = []
    meant = set(chosen)
    for start, end, text in found:
        if start in meant:
            first = view.line_of(start)
            last = first + view.flat.count("\n", start, end)
            spans.append(Replacement(view.real(start), view.real(end), text.replace("\n", view.eol), first, last))
    return Match(
        1, tuple(spans), (f"{counted(len(spans), 'place')} matched {'a pattern' if wanted.regex else 'without case'}",)
    )


# -- settling: which of the places, and what is written there ---------------------------------------


def _settle(view: View, wanted: EditRequest, found: FoundPlaces) -> Match | Miss:
    chosen = _choose(view, wanted, found)
    if isinstance(chosen, Miss):
        return chosen
    spans = []
    for place in chosen:
        span = replacement_at(view, found, place)
        if span is None:
            return _no_indentation(view, wanted, found, place)
        spans.append(span)
    strategy = found.strategy
    if (
        strategy == 1
        and any(view.text[s.start : s.end] != wanted.old for s in spans)
        and "\n" in wanted.old.rstrip("\n")
    ):
        strategy = 2
    return Match(strategy, tuple(spans), _notes(view, found, chosen, strategy))


def _choose(view: View, wanted: EditRequest, found: FoundPlaces) -> tuple[int, ...] | Miss:
    at = found.at
    if wanted.handle:
        named = [place for place in at if _handle(view, wanted, found, place) == wanted.handle]
        return tuple(named) if named else _stale_handle(wanted)
    if wanted.expected_count is not None and len(at) != wanted.expected_count:
        return _ambiguous(view, wanted, found, f"{len(at)} places match, {wanted.expected_count} were expected.")
    if wanted.occurrence is not None:
        if 1 <= wanted.occurrence <= len(at):
            return (at[wanted.occurrence - 1],)
        message = f"Requested occurrence {wanted.occurrence} but only {len(at)} found."
        return Miss("not_found", message, f'Send "occurrence" from 1 to {len(at)}.', found.strategy)
    every = wanted.replace_all or wanted.expected_count is not None
    if every and len(at) >= PLACES:
        return Miss(
            "limit", f"old_string is in the file {PLACES} times or more.", "Write the entire file.", found.strategy
        )
    if every:
        width = len(found.old)
        return tuple(apart(at, width))
    if len(at) == 1:
        return at
    return _near(view, wanted, found)


def _near(view: View, wanted: EditRequest, found: FoundPlaces) -> tuple[int, ...] | Miss:
    """Use ``near_line`` where one place is at most half as far as all others."""
    if wanted.near_line is not None:
        line = wanted.near_line
        far = sorted((abs(line_at(view, found, place) - line), place) for place in found.at)
        if far[0][0] * 2 < far[1][0]:
            return (far[0][1],)
        return _ambiguous(view, wanted, found, f"{len(found.at)} places match and line {line} is not clearly at one.")
    count = f"{len(found.at)}" if len(found.at) < PLACES else f"at least {PLACES}"
    return _ambiguous(view, wanted, found, f"old_string is in the file {count} times.")


def _handle(view: View, wanted: EditRequest, found: FoundPlaces, place: int) -> str:
    return handle_for(view, *lines_at(view, found, place), f"{place}\0{wanted.old}", wanted.new)


_STRATEGY_WORDS: Final = {
    2: "with the file's own line endings",
    3: "after ignoring trailing blanks",
    4: "after taking typographic punctuation as ASCII",
    5: "after indentation correction",
    6: "after ignoring blanks between tokens",
    7: "after leaving out blank border lines",
}


def _notes(view: View, found: FoundPlaces, chosen: Sequence[int], strategy: int) -> tuple[str, ...]:
    if strategy == 1:
        return ()
    first, last = lines_at(view, found, chosen[0])
    return (f"lines {first}–{last} matched {_STRATEGY_WORDS[strategy]} (rung {strategy})",)


# -- refusing: the shortest way forward -------------------------------------------------------------


def _ambiguous(view: View, wanted: EditRequest, found: FoundPlaces, message: str) -> Miss:
    listed = []
    for place in found.at[:_LISTED]:
        first, last = lines_at(view, found, place)
        listed.append(Candidate(_handle(view, wanted, found, place), first, last, 1.0))
    where = ", ".join(f"line {item.first_line}" for item in listed)
    more = len(found.at) - len(listed)
    hint = (
        f"It is at {where}{f' and {more} more' if more > 0 else ''}. Add lines around old_string that make it "
        f'unique, or send "occurrence": n (1 to {len(found.at)}), or "replace_all": true for all of them.'
    )
    return Miss("ambiguous", message, hint, found.strategy, tuple(listed))


def _no_indentation(view: View, wanted: EditRequest, found: FoundPlaces, place: int) -> Miss:
    first, last = lines_at(view, found, place)
    message = (
        f"Lines {first}–{last} match at another indentation, but a new line has an indentation that none of them shows."
    )
    hint = f"Copy lines {first}–{last} exactly as they are in the file, blanks included, and send the edit again."
    handle = _handle(view, wanted, found, place)
    return Miss("not_found", message, hint, found.strategy, (Candidate(handle, first, last, 1.0),))


def _stale_handle(wanted: EditRequest) -> Miss:
    message = f"The handle {wanted.handle!r} names no place in the present file."
    return Miss("stale", message, "Send the edit without a handle; new places are offered if it is not clear.", 0)


def _accepted(view: View, wanted: EditRequest) -> Match | Miss | None:
    if not wanted.handle:
        return None
    for candidate in nearest_places(view, flatten(wanted.old), flatten(wanted.new)):
        if candidate.handle == wanted.handle:
            block = as_lines(flatten(wanted.old), flatten(wanted.new))
            start = candidate.first_line - 1
            window = tuple(view.lines[start : candidate.last_line])
            there = LinePlaces(8, (start,), block.old if len(block.old) == len(window) else window, block.new)
            span = replacement_at(view, there, start)
            note = f"lines {candidate.first_line}–{candidate.last_line} accepted by handle: a fuzzy match"
            return Match(8, (span,), (note,), fuzzy=True) if span else None
    return _stale_handle(wanted)


def _not_found(view: View, wanted: EditRequest) -> Miss:
    new = flatten(wanted.new).strip("\n")
    if new in flatten(wanted.old):
        new = ""  # a deletion: that the rest is there says nothing
    lines = line_places(new.split("\n"), view.lines, str, 1) if new.strip() else []
    inside = text_places(new, view.flat, 1) if len(new.strip()) >= _TELLING else []
    if lines or inside:
        line = lines[0] + 1 if lines else view.line_of(inside[0])
        message = f"old_string is not in the file, but new_string already is, at line {line}."
        return Miss("already_applied", message, "Leave this edit out: it seems to be done. Send the others again.")
    found = nearest_places(view, flatten(wanted.old), flatten(wanted.new))
    if not found:
        return Miss("not_found", "old_string is not in the file.", "Read the file again and copy the lines to replace.")
    best = found[0]
    message = (
        f"old_string is not in the file. Nearest: lines {best.first_line}–{best.last_line}, {best.likeness:.0%} alike; "
        f"the first difference is at line {best.line}, column {best.column}."
    )
    hint = (
        f"Line {best.line} of the file is `{best.found}`, old_string has `{best.wanted}` (· blank, → tab). "
        f"Copy lines {best.first_line}–{best.last_line} exactly, or accept the place with handle {best.handle}."
    )
    return Miss("not_found", message, hint, 8, found)


#: How often a regular expression may match.
_MATCHES: Final = 10_000


def _pattern_matches(view: View, wanted: EditRequest) -> list[tuple[int, int, str]]:
    """Return every non-empty match in file order: flat offsets, and what replaces it. Raises RegexError.

    RE2's dialect, in linear time (:mod:`rails.data_formats.regex`); its replacement knows ``$1`` to ``$99``, ``$&``,
    ``$$``; without ``regex`` it is literal.
    """
    old = flatten(wanted.old)
    new = flatten(wanted.new)
    if not wanted.regex:
        return [(*match.span(), new) for match in re.finditer(re.escape(old), view.flat, re.IGNORECASE)]
    found = replacements(old, view.flat, new, ignore_case=wanted.ignore_case, most=_MATCHES)
    if len(found) >= _MATCHES:
        raise RegexError(f"it matches {_MATCHES} times or more")
    return found
