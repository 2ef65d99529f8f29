"""An agent's result by its deeds, and its own claims held against them.

Only plain claims are read: changed files, passing tests, finished work. A verb of change is listed if counted at least
three times in models' public answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rails.agents.template import Agent
from rails.core.conversation import Message, ModelAnswer
from rails.core.events.turn import OutputRefused
from rails.core.outcomes import SessionEnd
from rails.session import feedback
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext
from rails.tools.registry import Registry

if TYPE_CHECKING:
    from rails.session.activity import Deeds

_FENCED: Final = re.compile(r"^ {0,3}(`{3,}+|~{3,}+).*?^ {0,3}\1", re.MULTILINE | re.DOTALL)
#: A block of code, as its label says or leaves open; data and what a command printed are none.
_DATA: Final = "json|ya?ml|toml|xml|csv|te?xt|console|(?:ba)?sh|shell|output|log|diff"
_CODE: Final = re.compile(rf"[`~ ]++(?!(?:{_DATA})\b)[^\n]*\n", re.IGNORECASE)
_VERBS: Final = (
    "adapted|added|adjusted|applied|changed|converted|corrected|created|deleted|extended|fixed|implemented|improved|"
    "inserted|migrated|modified|moved|patched|refactored|removed|renamed|replaced|resolved|reworked|rewritten|"
    "simplified|updated|wrapped|written"
)
_NOT: Final = re.compile(
    r"\b(?:no|not|nothing|never|cannot|can't|could|couldn't|unable|without|if|would|should|need)\b", re.I
)
_BY: Final = r"I(?:['’]ve| have)?|we(?:['’]ve| have)?|ha(?:s|ve) been|was|were|(?:is|are) now"
_HOW: Final = "(?:now |just |also |already |all |successfully |gone ahead and )*"
_ENDED: Final = "(?:all )?done|finished|completed?"
#: "I have fixed it", "leap.py was updated", "Changes made:", "The task is done."
#: Not "created by the caller": that says what the code does.
_CHANGE: Final = re.compile(
    rf"\b(?:{_BY}) {_HOW}(?:{_VERBS})\b(?! (?:by|when|if|in)\b)"
    rf"|^[ \t*#-]*(?:changes (?:made|applied)|{_HOW}(?:{_VERBS})\b)"
    rf"|^[ \t*#]*(?:{_ENDED})[ \t*]*(?:[.!,:–—-]|$)|\b(?:is|are|task) (?:now )?(?:{_ENDED})\b",
    re.IGNORECASE | re.MULTILINE,
)
#: "All tests pass", "The suite is green", "pytest: 12 passed".
_PASSING: Final = re.compile(
    r"\b(?:(?:py)?tests?|suite)\b[^.\n]{0,40}\b(?:pass(?:es|ed|ing)?|(?:are|is) green)\b|\b\d+ passed\b", re.IGNORECASE
)
_NAME: Final = r"(?!(?:node|next|vue|three)\.js\b)[\w./-]*\w\.[A-Za-z]\w{0,5}\b(?!\(|\.\w)"
_FILES: Final = rf"`?{_NAME}`?(?:(?:,? and|,) `?{_NAME}`?)*"
#: "I updated a.py and b.py", "Added a test to test_a.py", "a.py was changed"; a.b(…) is no file, and no Node.js.
_FILE_CHANGE: Final = re.compile(
    rf"(?:\b(?:{_BY}) |^[ \t*#-]*){_HOW}(?:{_VERBS}) (?:[^.\n]{{0,60}}? (?:in|into|to) )?(?:the |files? )*({_FILES})"
    rf"|({_FILES}) (?:ha(?:s|ve) been|was|were|(?:is|are) now) {_HOW}(?:{_VERBS})\b",
    re.IGNORECASE | re.MULTILINE,
)
#: "Nothing has to change", "store.py handles tabs already", "no fix is needed", "I didn't touch it".
_REASON: Final = re.compile(
    r"(?i)\b(?:nothing|unchanged|already|(?:no|not|never|\w{2,6}n['’]t) (?:[\w-]+ ){0,2}"
    r"(?:chang|edit|fix|modif|touch|need|necessary|requir|to do\b|add|updat|writ|wrote))"
)
_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s.!?])){1,1000}+[.!?]*+")


class EndJudgement(Struct, frozen=True):
    """The outcome of an agent's part, and words for the agent while it can continue ("": none)."""

    outcome: SessionEnd
    told: str = ""


def judged(agent: Agent, text: str, deeds: Deeds, registry: Registry, *, talks: bool) -> EndJudgement:
    """Judge an agent's last answer by its ``deeds``; ``talks``: in a conversation."""
    plain = _FENCED.sub("", text).strip()
    if agent.headings or agent.schema:
        return EndJudgement("changed" if deeds.wrote else "answered")
    edits = any(tool.effect == "edit" for tool in registry.for_role(agent.name))
    if missing := next(_unshown(plain, deeds, edits=edits), ""):
        return EndJudgement("claimed", missing)
    if deeds.wrote:
        return EndJudgement("changed")
    if not edits or agent.gives_verdict or deeds.ran_something(registry):
        return EndJudgement("answered")
    if plain.endswith("?"):
        return EndJudgement("asked")
    if talks:
        return EndJudgement("answered")
    loose = any(_CODE.match(block[0]) for block in _FENCED.finditer(text))
    if _REASON.search(plain) and not loose:
        return EndJudgement("unchanged")
    if agent.tools is agent.shown and plain and not loose:  # None: its template names no edits as its work
        return EndJudgement("answered")
    return EndJudgement("gave_up", _NO_REASON)


_NO_REASON: Final = (
    "Nothing was changed in this session: a block is only written if its file is named above it. Send the change, or "
    "say in one sentence why nothing has to change."
)
_NO_CHANGE: Final = (
    "You say that something was changed or done ({words}); nothing was written in this session. Send the change, or "
    "say in one sentence why nothing has to change."
)
_NO_TESTS: Final = (
    "You say that tests pass ({words}); no tests were run in this session since the last change. Run them, or say that "
    "they were not run."
)


_NO_FILE: Final = (
    "You say that you changed {file} ({words}); that was not written in this session. Send the change, or correct what "
    "you say."
)


def _unshown(plain: str, deeds: Deeds, *, edits: bool) -> Iterator[str]:
    for sentence in _SENTENCE.findall(plain[:20_000]):
        if _NOT.search(sentence):  # it is denied or supposed
            continue
        named = _FILE_CHANGE.search(sentence) if edits else None
        files = re.findall(_NAME, named[0]) if named else ()
        lost = [name for name in files if not any(f"/{path}".endswith(f"/{name}") for path in deeds.files)]
        claims = (
            (_NO_CHANGE, edits and not deeds.wrote and _CHANGE.search(sentence)),
            (_NO_FILE, lost),
            (_NO_TESTS, not deeds.tested and _PASSING.search(sentence)),
        )
        words = repr(" ".join(sentence.split())[:120])
        yield from (told.format(words=words, file=", ".join(lost)) for told, unshown in claims if unshown)


def lacking_in(context: TurnContext, answer: ModelAnswer, messages: Sequence[Message] | None) -> RequestResult | None:
    """Return what a final answer lacks, in words for the agent, or ``None``."""
    before = [message for message in messages or () if message.role == "assistant"]
    begins = messages is not None and all(map(_is_empty, before))
    if answer.stop_reason != "refusal" and (begins or answer.stop_reason == "tool_use") and _is_empty(answer.message):
        return feedback.empty()
    unfinished = feedback.not_ended(answer.stop_reason)
    told = unfinished and messages and unfinished.text in messages[-1].text  # some servers say so of every answer
    if unfinished and (answer.stop_reason == "pause_turn" or not told):
        return unfinished
    from rails.agents.output import check_output  # here and below: an answer that only edits waits for less

    lacking = check_output(context.agent, answer.message.text)
    if not lacking or answer.stop_reason == "refusal":
        return None
    context.publish(OutputRefused(lacking))
    return feedback.output(lacking)


def _is_empty(message: Message) -> bool:
    return not message.calls and not any(sign.isprintable() and not sign.isspace() for sign in message.text)
