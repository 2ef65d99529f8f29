"""Questions with options, between turns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rails.core.events.approval import ApprovalOpened, AskedOption
from rails.core.text import sha256


def user_question(
    about: str, lines: Sequence[str], options: tuple[AskedOption, ...], request_id: str = "", agent: str = ""
) -> ApprovalOpened:
    """Return a question between turns, or an ``agent``'s with the request of that id."""
    name = request_id or f"user-{about}"
    said = json.dumps(["user", name, *lines, *((one.word, one.meaning, one.diff) for one in options)])
    return ApprovalOpened(
        id=name,
        digest=sha256(said.encode("utf-8", "surrogatepass")),
        kind="user",
        agent=agent,
        tools=(),
        explanation="Your answer writes nothing.",
        risks=(),
        notes=(),
        requests=(),
        files=(),
        verdict=None,
        grant=None,
        can_edit=False,
        replaces=0,
        note="",
        expires="",
        lines=tuple(lines),
        options=options,
    )
