"""Search hits, and filters to click."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from rails.core.text import one_line
from rails.log.actions import record_text
from rails.log.scan import SearchHit
from rails.log.terms import texts_of
from rails.render.html_page.markup import Html, el, join
from rails.render.units import time_text

RECORD_CHIPS: Final = ("is:failed", "is:refused", "is:denied", "is:error", "type:GATE_VERDICT", "type:LLM_RESPONSE")
SESSION_CHIPS: Final = (
    "since:yesterday",
    "is:waiting",
    "is:asked",
    "is:changed",
    "is:failed",
    "is:denied",
    "is:undone",
)
_PIECE: Final = re.compile(r'-?(?:[a-z]+:)?(?:"[^"]*"?|[^\s"]+)')
_FIELD: Final = re.compile(r"-?[a-z]+:")
_AROUND: Final = 140


def chips(line: str, offered: Sequence[str], target: str) -> Html:
    """Return the line's fields and the ``offered`` ones as links that toggle each."""
    pieces = _PIECE.findall(line)
    fields = [piece for piece in pieces if _FIELD.match(piece)]
    items = []
    for field in dict.fromkeys((*fields, *offered)):
        on = field in pieces
        rest = [piece for piece in pieces if piece != field] if on else [*pieces, field]
        href = f"#/{target}/{quote(' '.join(rest), safe='')}" if rest or target == "f" else "#/"
        words = f"{one_line(field, 80)}{' ✕' if on else ''}"
        label = f"{'Without' if on else 'Only'} {one_line(field, 80)}"
        items.append(el("li", el("a", words, href=href, aria_current="true" if on else None, aria_label=label)))
    return el("nav", el("ul", items, class_="tabs chips"), aria_label="Filters")


def hit_html(hit: SearchHit, line: str, task: str, turn: int) -> Html:
    """Return a hit: session, turn, time, role, and the text found."""
    record = hit.record
    words = [piece.strip('"*') for piece in _PIECE.findall(line) if not _FIELD.match(piece) and piece[0] != "-"]
    where = f"{one_line(task, 80) or hit.session_id} · " + (f"turn {turn}" if turn else "before any turn")
    facts = f"{time_text(record.timestamp)} · {record.event_type} · {record.agent_role} · {hit.place}"
    return el(
        "li",
        el(
            "a",
            el("b", where),
            el("span", _marked(_snippet(hit, words), words)),
            el("span", one_line(facts, 300), class_="meta"),
            href=f"#/s/{record.session_id}/{record.seq}",
        ),
    )


def _snippet(hit: SearchHit, words: Sequence[str]) -> str:
    for text in texts_of(hit.record):
        if places := [at for word in words if word and (at := text.casefold().find(word.casefold())) >= 0]:
            start = max(0, min(places) - _AROUND)
            end = min(places) + _AROUND
            inside = one_line(" ".join(text[start:end].split()), 2 * _AROUND)
            return f"{'…' if start else ''}{inside}{'…' if end < len(text) else ''}"
    return one_line(record_text(hit.record), 2 * _AROUND)


def _marked(line: str, words: Sequence[str]) -> Html:
    found = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    parts = re.split(f"({found})", line, flags=re.IGNORECASE) if found else [line]
    return join(*(el("mark", part) if at % 2 else part for at, part in enumerate(parts)))
