"""A question as lines for a terminal (``rails.approval.question`` says what stands in it). Pure."""

from __future__ import annotations

from msgspec import Struct

from rails.approval.decision import ApprovalRequest
from rails.approval.question import question_card
from rails.core.events.approval import ApprovalOpened
from rails.render.text import TextRenderer


class Look(Struct, frozen=True):
    """How lines are drawn. ``width`` is in terminal columns; ``plain`` leaves out lines and bars."""

    colour: bool = False
    width: int = 100
    plain: bool = False

    @property
    def pen(self) -> TextRenderer:
        """What draws the blocks of a question."""
        return TextRenderer(self.colour, self.width, label=8, frame=False, plain=self.plain)


class ApprovalScreen(Struct, frozen=True):
    """The lines to show, and how many lines of the change they leave out."""

    lines: tuple[str, ...]
    hidden: int


def draw_request(
    request: ApprovalRequest | ApprovalOpened, look: Look | None = None, *, full: bool = False
) -> ApprovalScreen:
    """Draw ``request``. ``full`` leaves nothing out and adds the parameters as the agent sent them."""
    card, pen = question_card(request, full=full), (look or Look()).pen
    lines = [pen.title(card.title)]
    for part in (card.head, *card.parts):
        lines += [*(line for block in part for line in pen.draw(block)), ""]
    return ApprovalScreen(tuple(lines), card.hidden)
