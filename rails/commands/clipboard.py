"""The terminal's clipboard, by escape sequence: works without programs and over ssh."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

#: Terminals that take the escape (OSC 52 of xterm's control sequences) take about so many characters of base64.
_MOST: Final = 74_000


def copied(text: str) -> str:
    """Put printable ``text`` on the clipboard; return how it went."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    if len(encoded) > _MOST:
        return "Not copied: it is too long for a terminal's clipboard. Select it above."
    try:
        with Path("/dev/tty").open("w", encoding="ascii") as terminal:
            terminal.write(f"\x1b]52;c;{encoded}\a")
    except OSError:
        return "Not copied: there is no terminal here."
    return "Copied to the terminal's clipboard. If your terminal does not support that (OSC 52), select it above."
