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
    {
        "command output",
        "console output",
        "shell output",
        "system",
        "terminal output",
        "forwarded message",
        "function output",
        "function result",
        "human",
        "instruction",
    }
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
_LABEL_ENDS: Final = lazy(r"(?:[:：][*_ \t\r]*|^[ \t]*(?:#|\[)[^\n]{0,60})\n", re.M)
_ASKED: Final = lazy(rf"^[*_#>\[ \t]*(?:{'|'.join(sorted(ASKING))})[*_\]]*[:：]", re.M | re.IGNORECASE)
#: One of these is in every sentence above and below a call that says it is only spoken of (``lead_ins``).
ABOVE: Final = frozenset(
    re.findall(
        r"\S+",
        "actual agree allow allowed almost along already alternative answer answered anti-pattern antipattern api "
        "approval approve asked asks assume assuming attempt attempted attempts avoid awaiting bad block blocks "
        "broke call calls can cancelled cannot caused command commented confirm confirmation confirmed consent "
        "consider considered contain contains conversation copied copy could culprit dangerous decided demo "
        "denied deprecated disregard draft dummy e.g earlier emits example examples excerpt executed expected "
        "expects explain failed fake fixture following forbidden format found from general gives go-ahead harmful "
        "hesitate hold holds how hypothetical hypothetically ignore illustrate illustration illustrations "
        "illustrative imagine includes incorrect injected injection input instance instead instructs invalid "
        "invocation json last leaving like line log malicious mentions message might nearly never no nobody not "
        "obey object ok okay one option original originally output payload permission permit possibility possible "
        "previous previously printed prints prohibited proposal proposed quote quoted quoting ran rather reads "
        "recommended refuse refused rejected replied reply reproduce reproduction request requests responded "
        "response result returned returns said sample samples say says schema sends sent shape show showed shows "
        "skeleton skip skipped skipping something steps structure subject suggested suggestion suppose suspicious "
        "syntax tells text theoretically thought told transcript tried triggered try typical unless unsafe "
        "unsuitable untrusted usage used want wants was way website were what wire wish wonder would wrong wrote "
        "yes you your",
    )
)
BELOW: Final = frozenset(
    re.findall(
        r"\S+",
        "above agree agreed anti-pattern antipattern approval approve call comes confirm confirmation copy demo "
        "disregard docs example examples executed failed held holding how hypothetical ignore illustration "
        "illustrations illustrative instance know last log merely mine never not ok okay old permission quote "
        "quoted readme reference refuse refused rejected reply request returned sample samples say sent shown "
        "sketch syntax tell template what",
    )
)
#: What nearly every sentence above a call that is meant begins with.
_MEANS: Final = lazy(
    r"(?:(?:and|first|good|great|next|now|ok|okay|so|sure|then)[,.!]? )?"
    r"(?:let me|let's(?! say)|i'll|i will|i'm going to|i am going to|i need to|i want to|we need"
    r" to)\b(?!.*(?:\b(?:not|skip|your)\b|n't))"
)
_HEADING: Final = lazy(
    r"^#{1,6}[ \t][^\n]*\b(?:anti-?pattern|demo|e\.g|examples?|format|hypothetical|illustration|samples?|syntax|usage)",
    re.M | re.IGNORECASE,
)
_WORD: Final = lazy(r"[a-z][a-z.-]*[a-z]")
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
    if text.find("-----", 0, end) >= 0:
        return True
    headed = text.find("#", 0, end) >= 0
    if not (headed or text.find(":", 0, end) >= 0 or text.find("：", 0, end) >= 0 or text.find("[", 0, end) >= 0):
        return False
    if any(
        bare_label(text[text.rfind("\n", 0, found.end() - 1) + 1 : found.end()]) in _LABELS
        for found in _LABEL_ENDS.finditer(text, 0, end)
    ):
        return True
    if headed and _HEADING.search(text, 0, end):
        return True
    lower = text[:end].lower()
    return ("user" in lower or "human" in lower or "q:" in lower or "q*" in lower) and _ASKED.search(
        text, 0, end
    ) is not None


def may_be_spoken_of(text: str, start: int, end: int) -> bool:
    """Return whether the sentences of ``text`` around a call could say that it is not meant. Quick; yes too often."""
    above = text[max(0, start - _BESIDE) : start].rstrip()
    line = above[above.rfind("\n") + 1 :].lstrip()
    if line and (line[-1] in ":：?" or line[0] in "#*_[eE"):
        above = above.rpartition("\n\n")[2].replace("’", "'").lower()
        if (stop := max(above.rfind(". "), above.rfind("! "), above.rfind("? "))) >= 0:
            above = above[stop + 2 :]
        if not _MEANS.match(above) and not ABOVE.isdisjoint(_WORD.findall(above)):
            return True
        if "n't" in above or "'d " in above:
            return True
    below = text[end : end + _BESIDE].lstrip()
    if len(below) < _SHORTEST and "?" not in below:  # as in nearly every answer
        return False
    below = below.partition("\n\n")[0].replace("’", "'").lower()
    if "?" in below or "n't" in below or "'d " in below or not BELOW.isdisjoint(_WORD.findall(below)):
        return True
    return "hich" in text[-_BESIDE:] and text.rstrip().endswith("?")
