"""A question (``rails.approval.question``) as terminal lines. Pure."""

from __future__ import annotations

from msgspec import Struct

from rails.approval.decision import ApprovalRequest
from rails.approval.question import question_card
from rails.core.events.approval import ApprovalOpened
from rails.render.text import TextRenderer


class Look(Struct, frozen=True):
    """Drawing options: ``width`` in columns; ``plain``: no lines and bars."""

    colour: bool = False
    width: int = 100
    plain: bool = False

    @property
    def pen(self) -> TextRenderer:
        """Return the renderer of a question."""
        return TextRenderer(self.colour, self.width, label=8, frame=False, plain=self.plain)


class ApprovalScreen(Struct, frozen=True):
    """The lines, and how many of the change are omitted."""

    lines: tuple[str, ...]
    hidden: int


def draw_request(
    request: ApprovalRequest | ApprovalOpened, look: Look | None = None, *, full: bool = False
) -> ApprovalScreen:
    """Draw ``request``; ``full`` omits nothing and adds the parameters as sent."""
    card = question_card(request, full=full)
    pen = (look or Look()).pen
    lines = [pen.title(card.title)]
    for part in (card.head, *card.parts):
        lines += [*(line for block in part for line in pen.draw(block)), ""]
    return ApprovalScreen(tuple(lines), card.hidden)
