"""Showing a human where a refused edit could go. Only the whole word "take" accepts a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rails.approval.diff_view import file_diff
from rails.approval.terminal.console import Console
from rails.approval.terminal.keys import NoAnswer
from rails.approval.terminal.paint import draw, styled, wrap
from rails.approval.terminal.screen import Look
from rails.core.candidates import Offer, Place
from rails.core.text import one_line

#: Nobody has to sit and wait: after this long the agent is asked to correct itself, as without a human.
WAIT_S: Final = 60.0
_LINES: Final = 40
_TRIES: Final = 20


def choose_place(console: Console, offer: Offer) -> str:
    """Return the handle of the place that the human takes, or an empty text. Whatever goes wrong takes none."""
    try:
        return _ask(console, offer)
    except (NoAnswer, OSError, ValueError):
        console.put("\nNo place is taken: the agent corrects it itself.\n")
        return ""


def _ask(console: Console, offer: Offer) -> str:
    number = 0
    for _ in range(_TRIES):
        place = offer.places[number]
        console.put("\n".join(_lines(offer, place, number, console.look())) + "\n")
        console.arm()
        more = "[n]ext place, " if len(offer.places) > 1 else ""
        words = f'type "take" to take this place (a fuzzy match), {more}Enter: the agent corrects it itself'
        console.put(f"{words} (so it does in {WAIT_S:g} s): ")
        typed = console.line(WAIT_S).casefold()
        if typed == "take":
            return place.handle
        if typed in ("n", "next"):
            number = (number + 1) % len(offer.places)
        else:
            break
    console.put("No place is taken.\n")
    return ""


def _lines(offer: Offer, place: Place, number: int, look: Look) -> Iterator[str]:
    title = "Is this the place?"
    yield styled(title if look.plain else f"── {title} ".ljust(min(look.width, 100), "─"), "title", look.colour)
    for line in wrap(one_line(f"{offer.path}: {offer.message}", 600), look.width):
        yield styled(line, "risk", look.colour)
    where = f"Place {number + 1} of {len(offer.places)}: lines {place.first_line}–{place.last_line}"
    alike = "the text is there, but not only there" if place.likeness >= 1 else f"FUZZY, {place.likeness:.0%} alike"
    yield f"{where}; {alike}. The edit would do this there; you are asked about it again before it is written:"
    for change in place.changes.changes:
        yield from draw(file_diff(change, (), max_lines=_LINES), colour=look.colour, width=look.width)
