"""Quick looks at an answer: could anything in it show that a request is quoted (``rails.parsing.frames``)?"""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy

#: One of these is in every line that could close a frame.
ENDS_FRAME: Final = lazy(
    r"[^\w\s.,]|_|^[ \t]*\.|END|STOP|\b(?:(?:fi|esac|done|[Ff]in|[Ff]im|[Ss]top)\b|[Ee]nd|[Cc]lose[ _-])"
    r"|[Кк]онец|结束|結束|終了|끝",
    re.M,
)
#: Plain sentences, which hold none.
SENTENCES: Final = lazy(r"\s*(?:[A-Z][A-Za-z0-9 ,]*[.!]\s*)*+\Z")
#: Lines that are only a name and a colon, in any letter case: of somebody else who speaks, and of what is shown.
OTHERS: Final = frozenset(
    {"command output", "forwarded message", "function output", "function result", "human", "instruction"}
    | {"observation", "original message", "tool output"}
    | {
        "tool response",
        "tool result",
        "tool results",
        "user",
        "user input",
        "user message",
        "user query",
        "用户",
        "用戶",
    }
)
SHOWN: Final = frozenset(
    {"an example", "anti-pattern", "as an example", "bad", "do not do this", "do not execute this", "do not run this"}
    | {"don't do this", "don't run this", "e.g.", "example", "example call", "example output", "example request"}
    | {"examples", "for example", "for illustration", "for instance", "here is an example", "here's an example"}
    | {"hypothetical", "illustration", "incorrect", "not like this", "quote", "sample", "sample call", "wrong"}
    | {"beispiel", "zum beispiel", "exemple", "par exemple", "ejemplo", "por ejemplo", "exemplo", "por exemplo"}
    | {"esempio", "per esempio", "пример", "например", "例", "例如", "示例", "例えば", "예", "예시", "예를 들어"}
)
_LABELS: Final = OTHERS | SHOWN
#: With what a name begins that announces what something holds.
_HELD: Final = ("content of ", "contents of ", "output of ", "result of ", "results of ", "stderr", "stdout")
_LABEL: Final = 40
_LABEL_ENDS: Final = lazy(r"[:：][*_ \t\r]*\n")


def bare_label(line: str) -> str:
    """Return the name that a line consists of, in lower case; empty where it is no name and a colon, or between rules.

    All that announces what something else holds is "sample".
    """
    bare = line.strip(" \t\r\n#*_>-")
    if len(bare) > _LABEL or (bare[-1:] not in (":", "：") and not line.startswith("----")):
        return ""
    name = bare.rstrip(":： \t*_").lower()
    return "sample" if name.startswith(_HELD) else name


def announces(text: str, end: int) -> bool:
    """Return whether a line of ``text`` before ``end`` is a name behind which a call is not one's own, or shown."""
    if text.find("-----", 0, end) >= 0:
        return True
    if text.find(":", 0, end) < 0 and text.find("：", 0, end) < 0:
        return False
    return any(
        bare_label(text[text.rfind("\n", 0, found.start()) + 1 : found.end()]) in _LABELS
        for found in _LABEL_ENDS.finditer(text, 0, end)
    )
