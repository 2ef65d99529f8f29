"""Quick looks at an answer: could anything in it show that a request is quoted (``rails.parsing.frames``)?"""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy

#: One of these is in every line that could close a frame.
ENDS_FRAME: Final = lazy(
    r"[^\w\s.,]|_|^[ \t]*\.|END|STOP|\b(?:(?:fi|esac|done|[Ff]in|[Ff]im|[Ss]top)\b|[Ee]nd)|[Кк]онец|结束|結束|終了|끝",
    re.M,
)
#: Plain sentences, which hold none.
SENTENCES: Final = lazy(r"\s*(?:[A-Z][A-Za-z0-9 ,]*[.!]\s*)*+\Z")
#: Lines that are only a name and a colon, in any letter case: of somebody else who speaks, and of what is shown.
OTHERS: Final = frozenset(
    {"human", "instruction", "observation", "tool output", "tool response", "tool result", "user", "用户", "用戶"}
)
SHOWN: Final = frozenset(
    {"bad", "do not do this", "don't do this", "e.g.", "example", "example call", "examples", "for example", "wrong"}
    | {"incorrect", "not like this", "quote", "sample", "beispiel", "zum beispiel", "exemple", "par exemple", "ejemplo"}
    | {"por ejemplo", "exemplo", "por exemplo", "esempio", "per esempio", "пример", "например", "例", "例如", "示例"}
    | {"例えば", "예", "예시", "예를 들어"}
)
_LABELS: Final = OTHERS | SHOWN
_LABEL_ENDS: Final = lazy(r"[:：][*_ \t\r]*\n")


def bare_label(line: str) -> str:
    """Return the name that a line consists of, in lower case; empty where it is no name and a colon."""
    bare = line.strip(" \t\r\n#*_>-")
    return bare[:-1].strip(" \t*_").lower() if bare[-1:] in (":", "：") and len(bare) < 40 else ""


def announces(text: str, end: int) -> bool:
    """Return whether a line of ``text`` before ``end`` is a name behind which a call is not one's own, or shown."""
    if text.find(":", 0, end) < 0 and text.find("：", 0, end) < 0:
        return False
    return any(
        bare_label(text[text.rfind("\n", 0, found.start()) + 1 : found.end()]) in _LABELS
        for found in _LABEL_ENDS.finditer(text, 0, end)
    )
