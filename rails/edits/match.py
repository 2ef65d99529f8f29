"""The ladder: where an edit's search text is in a file, and what exactly is to be written there.

Pure: a text and a wish in, spans or a refusal out. Seven rungs, from exact to loose. The first rung on
which the text is found at all must find it once (or as often as the request says); looser rungs are
then never asked. Loose rungs only locate: what is written is the file's own lines where the request
leaves a line alone, and the request's text at the file's indentation where it does not. There is no rung
that compares by edit distance: a stale name must not overwrite a living one.

    1  exact, anywhere in a line            5  lines at another indentation (learned map)
    2  the same with other line ends        6  lines with equal tokens, four of them at least
    3  lines without trailing blanks        7  2 to 6 again without blank border lines
    4  typographic punctuation as ASCII
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rails.edits import indent as indents
from rails.edits.near import Candidate, handle_for, nearest
from rails.edits.pattern import PatternError, hits
from rails.edits.view import View, apart, flatten, fold, indent, line_places, places, squeezed, tokens
from rails.edits.wanted import Wanted, unnumbered, unwrapped

_PLACES: Final = 100_000  # places looked at before a text counts as "everywhere"
_DIFF_PAIRS: Final = 250_000  # line pairs compared to find the lines that a replacement leaves alone
_MIN_TOKENS: Final = 4
_TELLING: Final = 8  # characters of a new text that, found inside a line, is taken as "done already"
_MAPPED: Final = 2_000  # places whose indentation is compared; with more, the text is "everywhere" anyway
_LISTED: Final = 5  # ambiguous places that are told


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the file's text, from ``start`` to ``end`` (characters), and what takes its place."""

    start: int
    end: int
    text: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Match:
    """Where the edit goes: disjoint spans in file order, the rung, and what a reader should know."""

    rung: int
    spans: tuple[Span, ...]
    notes: tuple[str, ...] = ()
    #: Accepted by handle after a refusal: not equal on any rung.
    fuzzy: bool = False


@dataclass(frozen=True, slots=True)
class Miss:
    """Why the edit goes nowhere: code, words, the last rung tried, the nearest places, the next step."""

    code: str
    message: str
    hint: str
    rung: int = 7
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Places of a text (rungs 1, 2, 4): flat offsets, and the two texts that apply there."""

    rung: int
    at: tuple[int, ...]
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Places of whole lines (rungs 2 to 7): line indexes from 0. ``new`` is None when the lines go."""

    rung: int
    at: tuple[int, ...]
    old: tuple[str, ...]
    new: tuple[str, ...] | None


_Found = _Pieces | _Blocks


def locate(view: View, wanted: Wanted) -> Match | Miss:
    """Find where ``wanted`` goes in ``view``, or say why it goes nowhere."""
    if not wanted.old:
        return Miss("format", "old_string is empty.", "Quote the text to replace; write_file writes a whole file.", 0)
    if wanted.old == wanted.new:
        hint = "Leave this edit out, or send the new text."
        return Miss("no_change", "No changes made: old_string and new_string are identical.", hint, 0)
    if wanted.regex or wanted.ignore_case:
        return _by_pattern(view, wanted)
    for variant, note in _variants(view, wanted):
        if found := _climb(view, variant):
            settled = _settle(view, variant, found)
            return replace(settled, notes=(*settled.notes, note)) if note and isinstance(settled, Match) else settled
    return _accepted(view, wanted) or _not_found(view, wanted)


def _variants(view: View, wanted: Wanted) -> Iterator[tuple[Wanted, str]]:
    """Yield the request as it came, then with a copied fence or copied line numbers taken off."""
    yield wanted, ""
    if bare := unwrapped(wanted):
        yield bare, "a code fence around the search text was left out"
    if numbered := unnumbered(wanted):
        plain, first = numbered
        if first - 1 in line_places(plain.old.split("\n"), view.lines, str.rstrip, _PLACES):
            yield plain, "line numbers copied into the search text were left out"


def _by_pattern(view: View, wanted: Wanted) -> Match | Miss:
    """Find by regular expression or without regard to case; the same rules say which places are meant."""
    try:
        found = hits(view, wanted)
    except PatternError as error:
        return Miss("format", str(error), "Correct the pattern, or send old_string as plain text.", 1)
    if not found:
        return Miss("not_found", "old_string matches nothing in the file.", "Read the file again.", 1)
    places_of = _Pieces(1, tuple(hit.start for hit in found), "", "")
    chosen = _choose(view, wanted, places_of)
    if isinstance(chosen, Miss):
        return chosen
    spans = []
    for hit in (hit for hit in found if hit.start in set(chosen)):
        first = view.line_of(hit.start)
        text = hit.text.replace("\n", view.eol)
        last = first + view.flat.count("\n", hit.start, hit.end)
        spans.append(Span(view.real(hit.start), view.real(hit.end), text, first, last))
    return Match(1, tuple(spans), (f"{len(spans)} places matched {'a pattern' if wanted.regex else 'without case'}",))


# -- climbing: the first rung that has any place ---------------------------------------------------


def _climb(view: View, wanted: Wanted) -> _Found | None:
    old, new = flatten(wanted.old), flatten(wanted.new)
    exact = _pieces(1, view.flat, old, new)
    if exact is None and old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
        if old and view.flat.endswith(old):  # the last line of the file, which has no line end
            exact = _Pieces(1, (len(view.flat) - len(old),), old, new)
    if exact and not _is_shallower(view, exact):
        return exact
    block = _as_lines(old, new)
    if not any(line.strip() for line in block.old):
        return exact
    return _climb_lines(view, block) or _climb_bare(view, block) or exact


def _pieces(rung: int, hay: str, old: str, new: str) -> _Pieces | None:
    at = places(old, hay, _PLACES) if old else []
    return _Pieces(rung, tuple(at), old, new) if at else None


def _is_shallower(view: View, found: _Pieces) -> bool:
    """Whether the text only fits into the middle of a deeper indentation, and brings further lines along.

    Those lines would then stand too far left, so the indentation rung is asked first.
    """
    blanks = indent(found.old)
    if not blanks or len(found.at) > 1 or "\n" not in found.new or indent(found.new) != blanks:
        return False
    line_start = view.flat.rfind("\n", 0, found.at[0]) + 1
    return found.at[0] > line_start and view.flat[line_start : found.at[0]].isspace()


def _as_lines(old: str, new: str) -> _Blocks:
    """Take both texts as lines; the final line ends are dropped together."""
    if not old.endswith("\n"):
        return _Blocks(0, (), tuple(old.split("\n")), tuple(new.split("\n")))
    lines = tuple(old[:-1].split("\n"))
    return _Blocks(0, (), lines, tuple(new.removesuffix("\n").split("\n")) if new else None)


def _climb_lines(view: View, block: _Blocks) -> _Found | None:
    for rung, key in _KEYS:
        if rung == 4 and len(block.old) == 1 and block.new is not None:
            inside = _pieces(4, fold(view.flat), fold(block.old[0]), "\n".join(block.new))
            if inside:
                return replace(inside, old=block.old[0])
        at = line_places(block.old, view.lines, key, _PLACES)
        if rung == 5:
            at = _mapped_places(view, block, at)
        elif rung == 6:
            at = _token_places(view, block, at)
        if at:
            return replace(block, rung=rung, at=tuple(at))
    return None


def _climb_bare(view: View, block: _Blocks) -> _Found | None:
    """Rung 7: drop the blank lines at both ends of the search text, and the same of the replacement."""
    lines = block.old
    head = next(n for n, line in enumerate(lines) if line.strip())
    tail = next(n for n, line in enumerate(reversed(lines)) if line.strip())
    if not head and not tail:
        return None
    new = block.new
    if new is not None:
        first = next((n for n, line in enumerate(new) if line.strip()), 0)
        last = next((n for n, line in enumerate(reversed(new)) if line.strip()), 0)
        new = new[min(head, first) : len(new) - min(tail, last)]
    bare = _Blocks(7, (), lines[head : len(lines) - tail], new)
    if at := line_places(bare.old, view.lines, str, _PLACES):
        return replace(bare, at=tuple(at))
    found = _climb_lines(view, bare)
    return replace(found, rung=7) if found else None


def _fold_line(line: str) -> str:
    return fold(line).rstrip()


def _fold_strip(line: str) -> str:
    return fold(line).strip()


_KEYS: Final[tuple[tuple[int, Callable[[str], Hashable]], ...]] = (
    (3, str.rstrip),
    (4, _fold_line),
    (5, str.strip),
    (5, _fold_strip),
    (6, squeezed),
)


def _token_places(view: View, block: _Blocks, at: Sequence[int]) -> list[int]:
    """Keep the places whose every line has the same tokens, if there are enough tokens to mean it."""
    wanted = [tokens(line) for line in block.old]
    if sum(len(line) for line in wanted) < _MIN_TOKENS:
        return []
    seen: dict[tuple[int, str], bool] = {}

    def equal(start: int) -> bool:
        for offset, line_tokens in enumerate(wanted):
            key = (offset, view.lines[start + offset])
            if key not in seen:
                seen[key] = tokens(key[1]) == line_tokens
            if not seen[key]:
                return False
        return True

    return _mapped_places(view, block, [start for start in at if equal(start)])


def _mapped_places(view: View, block: _Blocks, at: Sequence[int]) -> list[int]:
    """Keep the places where the indentation has the same structure; of very many, only the first are asked."""
    return [
        start
        for number, start in enumerate(at)
        if number >= _MAPPED or indents.pairs(block.old, view.lines[start : start + len(block.old)]) is not None
    ]


def _map_at(view: View, start: int, block: _Blocks) -> indents.IndentMap | None:
    window = view.lines[start : start + len(block.old)]
    near = view.lines[max(0, start - 1_000) : start + 1_000]
    return indents.learn(block.old, window, (*block.old, "", *(block.new or ())), near)


# -- settling: which of the places, and what is written there ---------------------------------------


def _settle(view: View, wanted: Wanted, found: _Found) -> Match | Miss:
    chosen = _choose(view, wanted, found)
    if isinstance(chosen, Miss):
        return chosen
    spans = []
    for place in chosen:
        span = _piece_span(view, found, place) if isinstance(found, _Pieces) else _block_span(view, found, place)
        if span is None:
            return _no_indentation(view, wanted, found, place)
        spans.append(span)
    rung = found.rung
    if rung == 1 and any(view.text[s.start : s.end] != wanted.old for s in spans) and "\n" in wanted.old.rstrip("\n"):
        rung = 2
    return Match(rung, tuple(spans), _notes(view, found, chosen, rung))


def _choose(view: View, wanted: Wanted, found: _Found) -> tuple[int, ...] | Miss:
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
        return Miss("not_found", message, f'Send "occurrence" from 1 to {len(at)}.', found.rung)
    if wanted.replace_all or wanted.expected_count is not None:
        width = len(found.old)
        return tuple(apart(at, width))
    if len(at) == 1:
        return at
    return _near(view, wanted, found)


def _near(view: View, wanted: Wanted, found: _Found) -> tuple[int, ...] | Miss:
    """Use ``near_line`` where one place is clearly nearer than all others: half as far at most."""
    if wanted.near_line is not None:
        line = wanted.near_line
        far = sorted((abs(_line(view, found, place) - line), place) for place in found.at)
        if far[0][0] * 2 < far[1][0]:
            return (far[0][1],)
        return _ambiguous(view, wanted, found, f"{len(found.at)} places match and line {line} is not clearly at one.")
    count = f"{len(found.at)}" if len(found.at) < _PLACES else f"at least {_PLACES}"
    return _ambiguous(view, wanted, found, f"old_string is in the file {count} times.")


def _line(view: View, found: _Found, place: int) -> int:
    return view.line_of(place) if isinstance(found, _Pieces) else place + 1


def _lines(view: View, found: _Found, place: int) -> tuple[int, int]:
    first = _line(view, found, place)
    return first, first + (found.old.count("\n") if isinstance(found, _Pieces) else len(found.old) - 1)


def _handle(view: View, wanted: Wanted, found: _Found, place: int) -> str:
    return handle_for(view, *_lines(view, found, place), f"{place}\0{wanted.old}", wanted.new)


def _piece_span(view: View, found: _Pieces, start: int) -> Span:
    end = start + len(found.old)
    first, last = _lines(view, found, start)
    text = found.new
    if "\n" in text and view.mixed:
        text = _mixed_ends(view, found, start)
    elif "\n" in text and view.eol != "\n":
        text = text.replace("\n", view.eol)
    return Span(view.real(start), view.real(end), text, first, last)


def _mixed_ends(view: View, found: _Pieces, start: int) -> str:
    """Write a replacement into a file with several kinds of line end: each line keeps its own."""
    index = view.line_of(start) - 1
    old, new = found.old.split("\n"), found.new.split("\n")
    real = [(text, view.real_line(index + n)[1]) for n, text in enumerate(old)]
    return _weave(real, old, new, str, view.eol)


def _block_span(view: View, found: _Blocks, start: int) -> Span | None:
    """Return what to write over the lines at ``start``; ``None`` if a new line's indentation is unclear."""
    stop = start + len(found.old)
    real = [view.real_line(number) for number in range(start, stop)]
    begin = view.real(view.starts[start])
    if found.new is None:
        end = view.real(view.starts[stop]) if stop < len(view.lines) else len(view.text)
        return Span(begin, end, "", start + 1, stop)
    translate = _translator(view, found, start)
    try:
        text = _weave(real, found.old, found.new, translate, view.eol)
    except _UnclearError:
        return None
    end = view.real(view.starts[stop - 1] + len(view.lines[stop - 1]))
    return Span(begin, end, text, start + 1, stop)


class _UnclearError(Exception):
    """A new line has an indentation that the map does not cover."""


def _translator(view: View, found: _Blocks, start: int) -> Callable[[str], str]:
    known = _map_at(view, start, found)

    def translate(line: str) -> str:
        if not line.strip():
            return ""
        blanks = indent(line)
        there = known.translate(blanks) if known else blanks
        if there is None:
            raise _UnclearError
        return there + line[len(blanks) :]

    return translate


def _weave(
    real: Sequence[tuple[str, str]],
    old: Sequence[str],
    new: Sequence[str],
    translate: Callable[[str], str],
    eol: str,
) -> str:
    """Return the new lines, those that the request left alone as the file has them, line ends included."""
    out: list[tuple[str, str]] = []
    for tag, i1, i2, j1, j2 in _opcodes(old, new):
        if tag == "equal":
            out.extend(real[i1:i2])
        else:
            last = min(max(i1, i2 - 1), len(real) - 1)
            ends = (real[min(i1 + n, last)][1] or real[max(0, last - 1)][1] or eol for n in range(j2 - j1))
            out.extend(zip((translate(line) for line in new[j1:j2]), ends, strict=True))
    return "".join(line + (end or eol) for line, end in out[:-1]) + out[-1][0]


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return how ``new`` comes from ``old``, as difflib says it, in bounded time."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)] if head else []
    if len(middle_old) * len(middle_new) <= _DIFF_PAIRS:
        inner = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_opcodes()
        codes += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in inner]
    else:
        codes.append(("replace", head, len(old) - tail, head, len(new) - tail))
    if tail:
        codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return codes


_RUNG_WORDS: Final = {
    2: "with the file's own line ends",
    3: "after ignoring trailing blanks",
    4: "after taking typographic punctuation as ASCII",
    5: "after indentation correction",
    6: "after ignoring blanks between tokens",
    7: "after leaving out blank border lines",
}


def _notes(view: View, found: _Found, chosen: Sequence[int], rung: int) -> tuple[str, ...]:
    if rung == 1:
        return ()
    first, last = _lines(view, found, chosen[0])
    return (f"lines {first}–{last} matched {_RUNG_WORDS[rung]} (rung {rung})",)


# -- refusing: the shortest way forward -------------------------------------------------------------


def _ambiguous(view: View, wanted: Wanted, found: _Found, message: str) -> Miss:
    listed = []
    for place in found.at[:_LISTED]:
        first, last = _lines(view, found, place)
        context = " / ".join(line.strip() for line in view.lines[max(0, first - 3) : first - 1] if line.strip())
        listed.append(Candidate(_handle(view, wanted, found, place), first, last, 1.0, context=context[:160]))
    where = ", ".join(f"line {item.first_line}" for item in listed)
    more = len(found.at) - len(listed)
    hint = (
        f"It is at {where}{f' and {more} more' if more > 0 else ''}. Add lines around old_string that make it "
        f'unique, or send "occurrence": n (1 to {len(found.at)}), or "replace_all": true for all of them.'
    )
    return Miss("ambiguous", message, hint, found.rung, tuple(listed))


def _no_indentation(view: View, wanted: Wanted, found: _Found, place: int) -> Miss:
    first, last = _lines(view, found, place)
    message = (
        f"Lines {first}–{last} match at another indentation, but a new line has an indentation that none of them shows."
    )
    hint = f"Copy lines {first}–{last} exactly as they are in the file, blanks included, and send the edit again."
    handle = _handle(view, wanted, found, place)
    return Miss("not_found", message, hint, found.rung, (Candidate(handle, first, last, 1.0),))


def _stale_handle(wanted: Wanted) -> Miss:
    message = f"The handle {wanted.handle!r} names no place in the file as it is now."
    return Miss("stale", message, "Send the edit without a handle; new places are offered if it is not clear.", 0)


def _accepted(view: View, wanted: Wanted) -> Match | Miss | None:
    """Apply an edit at a place that an earlier refusal offered and that was accepted by its handle."""
    if not wanted.handle:
        return None
    for candidate in nearest(view, flatten(wanted.old), flatten(wanted.new)):
        if candidate.handle == wanted.handle:
            block = _as_lines(flatten(wanted.old), flatten(wanted.new))
            start = candidate.first_line - 1
            window = tuple(view.lines[start : candidate.last_line])
            there = _Blocks(8, (start,), window, block.new)
            span = _block_span(view, there, start)
            note = f"lines {candidate.first_line}–{candidate.last_line} accepted by handle: a fuzzy match"
            return Match(8, (span,), (note,), fuzzy=True) if span else None
    return _stale_handle(wanted)


def _not_found(view: View, wanted: Wanted) -> Miss:
    new = flatten(wanted.new).strip("\n")
    if new in flatten(wanted.old):
        new = ""  # a deletion: that the rest is there says nothing
    lines = line_places(new.split("\n"), view.lines, str, 1) if new.strip() else []
    inside = places(new, view.flat, 1) if len(new.strip()) >= _TELLING else []
    if lines or inside:
        line = lines[0] + 1 if lines else view.line_of(inside[0])
        message = f"old_string is not in the file, but new_string already is, at line {line}."
        return Miss("already_applied", message, "Leave this edit out: it seems to be done. Send the others again.")
    found = nearest(view, flatten(wanted.old), flatten(wanted.new))
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
