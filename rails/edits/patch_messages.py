"""Refusals reworded for senders of patches or files, who know no tool parameters."""

from __future__ import annotations

import re
from typing import Final

#: What to do, where the way of a tool call is none of theirs.
_HINTS: Final = {
    "already_applied": "Leave this block out: it seems to be done.",
    "exists": "To change it, send the lines that change; to replace it, send the whole file below its name.",
    "omission": "Send the complete file, or only the lines that change, as a diff or a SEARCH/REPLACE block.",
    "placeholder": "Send every line of the new text; leave unchanged lines out of the block.",
}
_WORDS: Final = (
    (r", or accept the place with handle \w+|, or create it with write_file", ""),
    (r', or send "occurrence".*|,? Send "occurrence".*', "."),
    ("old_string", "the text to replace"),
    ("new_string", "the new text"),
    ("The (?:new )?content", "The new text"),
    ("of content", "of the new text"),
)


def in_chat_words(code: str, message: str, hint: str) -> tuple[str, str]:
    """Return a refusal's message and hint without the words of tool calls."""
    hint = _HINTS.get(code, hint)
    for pattern, words in _WORDS:
        message, hint = (re.sub(pattern, words, text) for text in (message, hint))
    return message[:1].upper() + message[1:], hint
