"""Lazy rewrites: "rest of the code unchanged" in place of the code, and files that lost their lines.

Judged by the file's language: a spread (``...rest``) is code in JavaScript, ``(rest items)`` in Lisp, and
``# Unchanged`` is a heading in Markdown.

Covered: a line that is nothing but such a sentence, in the comment syntax of any common language or between dots or
brackets; and a rewrite that drops more than 30 % of a file of ten lines or more. Not covered: sentences of one's own
invention, and prose that merely talks about the rest of the code.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy

_COMMENT: Final = lazy(
    r"\s*(?:#+|//+|/\*+|\*+|--+|<!--|;+|%+|'|\"{3}|'{3}|\{/\*|\(\*|\{-|rem\b|@rem\b)\s?(?P<text>.*)", re.I
)
_CLOSING: Final = lazy(r"(?:\*+/\}?|-->|\*\)|-\}|\"{3}|'{3})\s*$")
_DOTTED: Final = lazy(
    r"\s*(?:\.{3,}|…|\[\s*(?:\.{3}|…)?|\(\s*(?:\.{3}|…)?)\s*(?P<text>[^\[\]]*?)\s*(?:\.{3,}|…|\]|\))?\s*"
)

_WHAT: Final = (
    r"(?:code|codes|implementations?|files?|functions?|methods?|class(?:es)?|modules?|components?|scripts?|documents?|pages?|templates?|quer(?:y|ies)|impl|"
    r"logic|body|imports?|styles?|tests?|content|contents|lines?|sections?|definitions?|properties|fields|config|"
    r"configuration|values?|entries|items|nodes|stuff|parts?|text|handlers?|routes?|rules?)"
)
_STATE: Final = (
    r"(?:\s+(?:(?:that\s+)?(?:is|are|was|were|stays?|remains?|continues?|goes|go|will|would|should|can|to|be|been|left|kept|"
    r"unchanged|unmodified|untouched|omitted|same|the|as|before|above|below|here|exactly|it|they|in|place|for|brevity|"
    r"original|existing|is|identical|follows?|intact)[\s,;:]*)+)?"
)
_OF: Final = r"(?:\s+of)?(?:\s+(?:the|your|this|my|our|its))?(?:\s+(?:existing|original|current|previous|other|old))?"
_SAME: Final = (
    r"\s+(?:(?:is|are|stays?|remains?|kept|left)\s+)*(?:un(?:changed|modified|touched)|omitted|intact|(?:exactly\s+)?the\s+"
    r"same|as\s+(?:is|it\s+is|before|above))"
)
_PHRASE: Final = lazy(
    rf"(?:(?:the|all|and|keep|all\s+the|keep\s+the|keep\s+all)\s+)*(?:"
    rf"(?:rest|remainder){_OF}(?:\s+{_WHAT})*(?:\s+(?:here|above|below))?{_STATE}"
    rf"|(?:existing|remaining|unchanged|omitted|previous|original|other\s+existing)(?:\s+\w+)?\s+{_WHAT}{_STATE}"
    rf"|(?:existing|remaining|previous|original)\s+{_WHAT}|(?:rest|remainder){_OF}\s+[\w.]+{_SAME}"
    rf"|(?:everything|all)\s+else{_SAME}|other\s+{_WHAT}(?:{_SAME}|\s+here)|code\s+continues(?:\s+(?:here|below))?"
    rf"|{_WHAT}\s+(?:omitted|unchanged|truncated|elided|remains?\s+(?:unchanged|the\s+same)|stays?\s+the\s+same){_STATE}"
    rf"|(?:unchanged|snip|snipped|omitted|truncated|no\s+changes?(?:\s+here)?|same\s+as\s+(?:before|above|original))"
    rf"|(?:omitted|unchanged)\s+for\s+brevity|your\s+(?:existing|original)\s+{_WHAT}{_STATE}"
    rf")",
    re.I,
)
_LOST: Final = 0.3
_SMALL: Final = 10


def placeholder(new: str, old: str, path: str = "") -> tuple[int, str] | None:
    """Return line number (from 1) and text of a line of ``new`` that stands for left-out code, or ``None``.

    A line that ``old`` has as well is the author's own and does not count. ``path`` tells the language.
    """
    if not _LOOKS.search(new):
        return None
    suffix = path.rpartition(".")[2].lower()
    known = {line.strip() for line in old.splitlines()}
    for number, line in enumerate(new.splitlines(), start=1):
        if len(line) <= 200 and line.strip() not in known and _stands_for_code(line, suffix):
            return number, line.strip()
    return None


#: A cheap look at the whole text: none of these words, no placeholder.
_LOOKS: Final = lazy(
    r"rest|remain|existing|unchanged|omitted|previous|original|snip|truncated|elided|no changes?|same|continues|"
    r"\belse as|\bother \w+ here",
    re.I,
)


_SPREADING: Final = frozenset({"js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "php"})
_SPREAD: Final = lazy(r"\s*[\[({]?\s*\.{3}[A-Za-z_$][\w$.?()\[\]]*\s*[\])}]*\s*[,;]?\s*")
_PROSE: Final = frozenset({"md", "markdown", "mdx", "rst", "adoc"})
_LISP: Final = frozenset({"lisp", "clj", "cljs", "cljc", "scm", "rkt", "el", "hy"})


def _stands_for_code(line: str, suffix: str) -> bool:
    dots = "..." in line or "…" in line
    if suffix in _SPREADING and _SPREAD.fullmatch(line):
        return False
    comment = _COMMENT.fullmatch(line)
    if comment and (dots or suffix not in _PROSE or line.lstrip().startswith("<!--")):
        return _is_phrase(_CLOSING.sub("", comment["text"]))
    dotted = _DOTTED.fullmatch(line)
    if dotted is None or comment is not None:
        return False
    is_code = not dots and suffix and (suffix in _LISP or (suffix not in _PROSE and " " not in dotted["text"]))
    return not is_code and _is_phrase(dotted["text"])


def _is_phrase(text: str) -> bool:
    bare = re.sub(r"\s+", " ", text.strip(" \t.…[](){}<>-=*_:!~"))
    return bool(bare) and _PHRASE.fullmatch(bare) is not None


def lost_lines(old: str, new: str) -> tuple[int, int] | None:
    """Return how many of how many lines a rewrite drops, when that is suspiciously many."""
    before, after = (sum(1 for line in text.splitlines() if line.strip()) for text in (old, new))
    return (before - after, before) if before >= _SMALL and before - after > before * _LOST else None
