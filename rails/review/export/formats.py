"""A session in other formats: pure functions of whole records, masked as the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from rails.core.conversation import answer_to_json
from rails.core.events.record import Record
from rails.core.events.turn import LlmResponse
from rails.projections.session import session_view
from rails.review.reports.session_text import session_as_markdown


def to_recording(records: Sequence[Record]) -> str:
    """Return the readable answers as a recording for ``recorded:FILE``."""
    lines = []
    for record in records:
        if isinstance(event := record.event, LlmResponse):
            try:
                answer = event.answer()
            except ValueError:
                continue
            lines.append(json.dumps({"agent": record.agent_role, **answer_to_json(answer)}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


#: Every export by its name, for a command line or a page.
FORMATS: Final[dict[str, Callable[[Sequence[Record]], str]]] = {
    "markdown": lambda records: session_as_markdown(session_view(records)),
    "recording": to_recording,
}
