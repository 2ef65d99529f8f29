"""Undo or deletion of an ended session from the page. ``rails.commands.session_actions`` acts; this package only
reads.
"""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from rails.core.tool_request import Json
from rails.render.blocks import Notes
from rails.render.diffs import read_diff
from rails.render.html_page.markup import el
from rails.review.html import page_renderer

Deed = Literal["undo", "delete"]
DEEDS: tuple[Deed, ...] = ("undo", "delete")


class ChangeOffer(Struct, frozen=True):
    """A proposal; ``digest`` covers all of it and comes back."""

    title: str
    lines: tuple[str, ...]
    digest: str
    diff: str = ""


class SessionChanges(Protocol):
    """Does what a person agreed to. Raises RailsError with nothing changed."""

    def offer(self, session_id: str, do: Deed) -> ChangeOffer:
        """Return what would be done."""

    def carry_out(self, session_id: str, do: Deed, digest: str) -> str:
        """Do what was shown under ``digest``; return a sentence."""


def offer_json(offer: ChangeOffer, do: Deed) -> dict[str, Json]:
    """Return the question for the page; its answer is the typed word."""
    page = page_renderer()
    field = el("input", id="change-word", autocomplete="off", spellcheck="false", aria_describedby="change-how")
    html = el(
        "div",
        el("h2", offer.title, id="change-title"),
        page.draw(Notes("what", "What this does", offer.lines)),
        [page.draw(diff) for diff in read_diff(offer.diff)],
        el(
            "label",
            f'Type the word "{do}", then press Enter or the button.',
            for_="change-word",
            id="change-how",
        ),
        field,
    )
    return {"html": html, "digest": offer.digest, "word": do}
