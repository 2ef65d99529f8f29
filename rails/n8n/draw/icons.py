"""What stands in a node's box: a drawing for its kind, or two letters of its type. Own drawings, 24 by 24."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Icon(NamedTuple):
    """A path (empty: ``letters`` stand there), whether it is filled, and the class that gives its colour."""

    path: str
    filled: bool
    group: str
    letters: str = ""


_BOLT: Final = Icon("M13 2 4 14h7l-1 8 9-12h-7z", True, "start")
_CLOCK: Final = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3.5 2.5"
_GLOBE: Final = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c-6 6-6 12 0 18M12 3c6 6 6 12 0 18"
_FORK: Final = "M3 12h6c5 0 3-6 8-6h4M9 12c5 0 3 6 8 6h4"
_JOIN: Final = "M21 12h-6c-5 0-3-6-8-6H3M15 12c-5 0-3 6-8 6H3"
_CODE: Final = "M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14"
_PEN: Final = "M4 20l1-4L16 5l3 3L8 19zM13.5 7.5l3 3"
_LOOP: Final = "M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5"
_SPARK: Final = "M12 2l2.6 7.4L22 12l-7.4 2.6L12 22l-2.6-7.4L2 12l7.4-2.6z"
_STORE: Final = "M4 6c0-4 16-4 16 0s-16 4-16 0v12c0 4 16 4 16 0V6M4 12c0 4 16 4 16 0"
_TOOL: Final = "M14 6a4.5 4.5 0 0 1 6-2l-3 3 1 2 2 1 3-3a4.500 4.500 0 0 1-6 5L9 20a2.200 2.200 0 0 1-4-3z"
_SIEVE: Final = "M3 4h18l-7 8v7l-4 2v-9z"
_REPLY: Final = "M9 6l-6 6 6 6M3 12h10c5 0 8 3 8 7"
_FILE: Final = "M6 3h8l5 5v13H6zM14 3v5h5"
_MAIL: Final = "M3 6h18v13H3zM3 6l9 7 9-7"
_TABLE: Final = "M3 5h18v14H3zM3 10h18M3 14.500h18M10 5v14"
_CHAT: Final = "M4 4h16v12h-9l-5 5v-5H4z"
_DASH: Final = "M5 12h14"

#: Words in a type's name → drawing and group. The first that fits counts.
_KINDS: Final = (
    (r"^(?:webhook)$", Icon("M4 7h9a4 4 0 0 1 0 8h-2M11 11l-4 4 4 4M20 7h-3", False, "start")),
    (r"(?:schedule|cron|interval)", Icon(_CLOCK, False, "start")),
    (r"^(?:wait|executionData)$", Icon(_CLOCK, False, "logic")),
    (r"^(?:httpRequest|graphql|rssFeedRead|toolHttpRequest)", Icon(_GLOBE, False, "app")),
    (r"^(?:if|switch|textClassifier|sentimentAnalysis)$", Icon(_FORK, False, "logic")),
    (r"^(?:merge|aggregate|compareDatasets|summarize)$", Icon(_JOIN, False, "logic")),
    (r"^(?:filter|removeDuplicates|limit|sort)$", Icon(_SIEVE, False, "logic")),
    (r"^(?:splitInBatches|splitOut|itemLists)$", Icon(_LOOP, False, "logic")),
    (r"^(?:code|function|functionItem|executeCommand|toolCode|aiTransform)", Icon(_CODE, False, "code")),
    (r"^(?:set|renameKeys|dateTime|crypto|html|markdown|xml)$", Icon(_PEN, False, "data")),
    (r"^(?:respondToWebhook)$", Icon(_REPLY, False, "logic")),
    (r"^(?:noOp|stopAndError)$", Icon(_DASH, False, "logic")),
    (r"^(?:agent|chain|openAi$|anthropic$|googleGemini$|guardrails|informationExtractor)", Icon(_SPARK, True, "ai")),
    (r"^(?:lm|embeddings|reranker|modelSelector)", Icon(_SPARK, False, "ai")),
    (r"^(?:memory|chat)", Icon(_CHAT, False, "ai")),
    (r"(?:vectorStore|postgres|mySql|mongoDb|redis|supabase|snowflake|microsoftSql)", Icon(_STORE, False, "data")),
    (r"^(?:outputParser|document|textSplitter|retriever)", Icon(_FILE, False, "ai")),
    (r"(?:googleSheets|airtable|baserow|nocoDb|dataTable)", Icon(_TABLE, False, "data")),
    (r"(?:file|pdf|drive|dropbox|ftp|s3$)", Icon(_FILE, False, "data")),
    (r"(?:mail|imap|outlook|sendGrid)", Icon(_MAIL, False, "app")),
    (r"(?:tool|mcpClient|executeWorkflow|thinkTool)", Icon(_TOOL, False, "ai")),
)
_COMPILED: Final = tuple((re.compile(pattern, re.IGNORECASE), glyph) for pattern, glyph in _KINDS)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def icon_of(node_type: str, *, trigger: bool) -> Icon:
    """Return what stands in the box of a node of this type."""
    short = node_type.rpartition(".")[2]
    for pattern, found in _COMPILED:
        if pattern.search(short):
            return found._replace(group="start") if trigger else found
    if trigger and short.lower() in {"manualtrigger", "start", "trigger"}:
        return _BOLT
    letters = "".join(word[0] for word in _WORDS.findall(short.removesuffix("Trigger"))[:2]).upper() or "?"
    return Icon("", False, "start" if trigger else "app", letters if len(letters) > 1 else short[:2].title())
