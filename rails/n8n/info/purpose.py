"""Node types by what they are for: "send a Slack message" finds the Slack node."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from rails.n8n.nodes.catalogue import Catalogue

#: Words by type; those under "" say nothing.
_WORDS_FILE: Final = Path(__file__).with_name("purposes.json")
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_ASKED: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
#: What is said of the beginning of a workflow.
_BEGINS: Final = re.compile(r"(?i)\b(?:when|whenever|every|on|once|trigger|incoming|receive|listen|starts?|daily)\b")
_MOST: Final = 8
_MOST_WORDS: Final = 20


def by_purpose(purpose: str, found: Catalogue) -> list[str]:
    """Return the types that fit a purpose in plain words, the best first."""
    words = list(dict.fromkeys(map(_stem, _ASKED.findall(purpose.lower()))))[:_MOST_WORDS]
    asked = [word for word in words if word not in _words()[""]]
    begins = bool(_BEGINS.search(purpose))
    rare = Counter(word for name in found.versions for word in _described(name))
    scores = {name: _score(name, asked, rare) * _side(name, begins=begins) for name in found.versions}
    hits = sorted((name for name, score in scores.items() if score > 0), key=lambda n: (-scores[n], len(n), n))
    return hits[:_MOST]


def _score(name: str, asked: Iterable[str], rare: Counter[str]) -> float:
    own, described = _own(name), _described(name)
    score = 0.0
    for word in asked:
        weight = math.log(1_000 / (1 + rare[word]))
        score += weight * (1.5 if word in own else 1.0 if word in described else 0.0)
    return score


def _side(name: str, *, begins: bool) -> float:
    """Return how much a type counts: triggers where a beginning is meant, nodes where none is."""
    short = name.rpartition(".")[2]
    is_trigger = short.endswith("Trigger") or short in {"webhook", "emailReadImap"}
    known = 1.0 if name in _words() else 0.6
    return known * (1.25 if is_trigger and begins else 0.6 if is_trigger else 1.0)


@cache
def _words() -> dict[str, frozenset[str]]:
    raw = json.loads(_WORDS_FILE.read_text("utf-8"))
    return {name: frozenset(map(_stem, words.split())) for name, words in raw.items()}


@cache
def _own(name: str) -> frozenset[str]:
    short = name.rpartition(".")[2]
    return frozenset(_stem(word.lower()) for word in [*_WORD.findall(short), short])


@cache
def _described(name: str) -> frozenset[str]:
    return _own(name) | _words().get(name, frozenset())


def _stem(word: str) -> str:
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word.removesuffix(ending) + ("y" if ending == "ies" else "")
    return word.removesuffix("e") if len(word) > 4 else word
