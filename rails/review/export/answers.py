"""Each answer of a session as a file of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rails.core.events.record import Record
from rails.core.events.turn import LlmResponse


def answer_files(records: Iterable[Record]) -> Mapping[str, str]:
    """Return the answers by file name, ``{role}_output_{timestamp}.md``; names are unique."""
    files: dict[str, str] = {}
    for record in records:
        if isinstance(event := record.event, LlmResponse):
            when = re.sub(r"\D", "", record.timestamp)[:14]
            role = re.sub(r"\W+", "_", record.agent_role) or "model"
            stem = f"{role}_output_{when[:8]}_{when[8:]}"
            number = sum(name.startswith(stem) for name in files)
            files[f"{stem}{f'_{number + 1}' if number else ''}.md"] = event.text
    return files
