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
    {"command output", "console output", "forwarded message", "function output", "function result", "human"}
    | {"instruction", "observation", "original message", "shell output", "system", "terminal output", "tool output"}
    | {"tool response", "tool result", "tool results", "user", "user input", "user message", "user query"}
    | {"用户", "用戶"}
)
SHOWN: Final = frozenset(
    {"an example", "anti-pattern", "as an example", "bad", "do not do this", "do not execute this", "do not run this"}
    | {"don't do this", "don't run this", "e.g.", "example", "example call", "example output", "example request"}
    | {"examples", "for example", "for illustration", "for instance", "here is an example", "here's an example"}
    | {"api response", "blocked", "counterexample", "dangerous", "deprecated", "legacy", "pseudo-code", "pseudocode"}
    | {"raw output", "search result", "search results", "server response", "stack trace", "template of a call"}
    | {"hypothetical", "illustration", "incorrect", "not like this", "quote", "sample", "sample call", "wrong"}
    | {"beispiel", "zum beispiel", "exemple", "par exemple", "ejemplo", "por ejemplo", "exemplo", "por exemplo"}
    | {"esempio", "per esempio", "пример", "например", "例", "例如", "示例", "例えば", "예", "예시", "예를 들어"}
)
#: Names that stand before what is said, on the same line, in a conversation that is shown.
ASKING: Final = frozenset({"human", "q", "user"})
_LABELS: Final = OTHERS | SHOWN
#: With what a name begins that announces what something holds.
_HELD: Final = ("content of ", "contents of ", "output of ", "result of ", "results of ", "stderr", "stdout")
_LABEL: Final = 40
_ANNOUNCES: Final = lazy(r"-----|[#:：\[]")
_LABEL_ENDS: Final = lazy(r"(?:[:：][*_ \t\r]*|^[ \t]*(?:#|\[)[^\n]{0,60})\n", re.M)
_ASKED: Final = lazy(rf"^[*_#>\[ \t]*(?:{'|'.join(sorted(ASKING))})[*_\]]*[:：]", re.M | re.IGNORECASE)
#: One of these is in every sentence above, or below, a call that says it is only spoken of (``lead_ins``).
_WORDS_ABOVE: Final = (
    "agree already answered approval approve approved asks attacker attackers avoid cannot confirm confirmation "
    "confirmed consent contained contains could disregard earlier example failed form format had ignore "
    "illustration inject injected injection instance just last look looks malicious might never nobody not old "
    "original permission previous previously printed refuse refused rejected replied returned returns said sample "
    "say says sent shape syntax tells wants was would wrong wrote your"
)
_WORDS_BELOW: Final = (
    "above agree approval approve approved cannot confirm confirmation confirmed consent disregard example failed "
    "hypothetical ignore illustration illustrative just merely never not only permission purely quoted refuse "
    "refused rejected reply say your"
)
_ABOVE: Final = frozenset(_WORDS_ABOVE.split())
_BELOW: Final = frozenset(_WORDS_BELOW.split())
#: What stands beside words, and the apostrophe within them.
_SIGNS: Final = str.maketrans({**dict.fromkeys('*_`#>(),.;:：!…"“”', " "), "’": "'"})
#: Characters of the shortest sentence below a call that says so.
_SHORTEST: Final = 12
#: Characters of the text above and below a call that are looked at.
_BESIDE: Final = 400


def bare_label(line: str) -> str:
    """Return the name that a line consists of, in lower case; empty where it is no name and a colon, or between rules.

    A heading and a name in brackets need no colon. All that announces what something else holds is "sample".
    """
    bare = line.strip(" \t\r\n#*_>-[]")
    if len(bare) > _LABEL or (bare[-1:] not in (":", "：") and not line.lstrip().startswith(("----", "#", "["))):
        return ""
    name = bare.rstrip(":： \t*_]").lower()
    return "sample" if name.startswith(_HELD) and ": " not in name else name


def announces(text: str, end: int) -> bool:
    """Return whether a line of ``text`` before ``end`` is a name behind which a call is not one's own, or shown."""
    sign = _ANNOUNCES.search(text, 0, end)
    if sign is None:  # as in most answers
        return False
    if (
        sign[0] == "-----"
        or text.find("-----", sign.end(), end) >= 0
        or any(
            bare_label(text[text.rfind("\n", 0, found.end() - 1) + 1 : found.end()]) in _LABELS
            for found in _LABEL_ENDS.finditer(text, 0, end)
        )
    ):
        return True
    lower = text[:end].lower()
    may_ask = "user" in lower or "human" in lower or "q:" in lower or "q*" in lower
    return may_ask and _ASKED.search(text, 0, end) is not None


def may_be_spoken_of(text: str, start: int, end: int) -> bool:
    """Return whether the sentences of ``text`` around a call could say that it is not meant. Quick; yes too often."""
    above = text[max(0, start - _BESIDE) : start].rstrip()
    if above[-1:] in (":", "：") and _has_one(_ABOVE, above.rpartition("\n\n")[2]):
        return True
    below = text[end : end + _BESIDE].lstrip()
    if "?" not in below and len(below) < _SHORTEST:  # as in nearly every answer
        return False
    first = below.partition("\n\n")[0]
    return "?" in first or _has_one(_BELOW, first) or ("hich" in text[-_BESIDE:] and text.rstrip().endswith("?"))


def _has_one(words: frozenset[str], text: str) -> bool:
    plain = text.lower().translate(_SIGNS)
    return not words.isdisjoint(plain.split()) or "n't" in plain or "'d " in plain
