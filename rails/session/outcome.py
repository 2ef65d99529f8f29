"""Judges an agent's result by its actions, and its claims against them.

Only plain claims are read: changed files, passing tests, finished work. A verb of change is listed if counted at
least three times in models' public answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rails.agents.template import Agent
from rails.core.builtin_tools import RUN_COMMAND, RUN_TESTS
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
    r"\b(?:no|not|nothing|never|cannot|can't|could|couldn't|unable|without|if|when|would|should|need"
    r"|(?:is|was|were|been) already|to (?:see|check|verify))\b",
    re.I,
)
_BY: Final = r"I(?:['’]ve| have)?|we(?:['’]ve| have)?|ha(?:s|ve) been|was|were|(?:is|are) now"
_HOW: Final = "(?:now |just |also |already |all |successfully |gone ahead and )*"
_ENDED: Final = "(?:all )?done|finished|completed?"
#: "I have fixed it", "leap.py was updated", "Changes made:", "The task is done."
#: Not "created by the caller": that says what the code does.
_CHANGE: Final = re.compile(
    rf"\b(?:{_BY}) {_HOW}(?:{_VERBS})\b(?! (?:by|when|if|in)\b)"
    rf"|^[ \t*#-]*(?:changes (?:made|applied)|{_HOW}(?:{_VERBS})\b)"
    rf"|^[ \t*#]*(?:{_ENDED})[ \t*]*(?:[.!,:–—-]|$)|\b(?:is|are|task) (?:now )?(?:{_ENDED})\b(?! (?:by|already)\b)"
    r"|\b(?:bug|problem|issue|error|crash)s? (?:is|are) (?:now )?(?:fixed|resolved|gone)\b"
    rf"|\bI(?:['’]ve| have)? {_HOW}made (?:the|this|these|that) changes?\b|\b(?:changes?|fix) ha(?:s|ve) been made\b",
    re.IGNORECASE | re.MULTILINE,
)
#: "All tests pass", "The suite is green", "pytest: 12 passed".
_PASSING: Final = re.compile(
    r"\b(?:(?:py)?tests?|suite|checks)\b(?! that)[^.\n]{0,40}"
    r"\b(?:pass(?:es|ed|ing)?\b(?! (?:an?|the) | `)|succeed(?:s|ed)?\b|(?:are|is) green\b)|\b\d+ passed\b",
    re.IGNORECASE,
)
#: "I ran `make build`", "We executed the tests".
_RUN: Final = re.compile(
    r"\b(?:I|we)(?:['’]ve| have)? (?:also |then |just |now )?(?:ran|run|executed)\b(?! (?:into|out))", re.IGNORECASE
)
_NAME: Final = r"(?!(?:node|next|vue|three)\.js\b|os\.path\b)[\w./-]*\w\.[A-Za-z]\w{0,5}\b(?!\(|\.\w)"
_FILES: Final = rf"`?{_NAME}`?(?:(?:,? and|,) `?{_NAME}`?)*"
#: "I updated a.py and b.py", "Added a test to test_a.py", "a.py was changed"; a.b(…) is no file, and no Node.js.
_FILE_CHANGE: Final = re.compile(
    rf"(?:\b(?:{_BY}) |^[ \t*#-]*){_HOW}(?:{_VERBS}) "
    rf"(?:[^.\n]{{0,60}}?(?<!like)(?<!as) (?:in|into|to) )?(?:the |files? )*({_FILES})"
    rf"|({_FILES}) (?:ha(?:s|ve) been|was|were|(?:is|are) now) {_HOW}(?:{_VERBS})\b",
    re.IGNORECASE | re.MULTILINE,
)
#: "Nothing has to change", "store.py handles tabs already", "no fix is needed", "I didn't touch it", "it cannot be
#: done"; "No further changes are needed" says that there were some.
_REASON: Final = re.compile(
    r"(?i)\b(?:nothing(?! (?:else|more|further))|unchanged|already|cannot|impossible"
    r"|(?:no|not|never|\w{2,6}n['’]t) (?!(?:other|further|more|additional|longer)\b)(?:[\w-]+ ){0,2}"
    r"(?:chang|edit|fix|modif|touch|need|necessary|requir|to do\b|add|updat|writ|wrote))"
    r"|必要は?ありません|不要|できません"
)
#: The last sentence, or the last but a short one ("Please tell me.").
_ASKS: Final = re.compile(r"[?？][^?？\n]{0,60}\Z")
_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s.!?])){1,1000}+[.!?]*+")


class EndJudgement(Struct, frozen=True):
    """The outcome of an agent's part, and words for the agent while it can continue ("": none)."""

    outcome: SessionEnd
    told: str = ""


def judged(agent: Agent, text: str, deeds: Deeds, registry: Registry, *, talks: bool) -> EndJudgement:
    """Judge an agent's last answer by its ``deeds``; ``talks``: in a conversation."""
    plain = _FENCED.sub("", text).strip()
    contract = agent.headings or agent.schema
    edits = any(tool.effect == "edit" for tool in registry.for_role(agent.name))
    if (edits or not contract) and (missing := next(_unshown(plain, deeds, edits=edits), "")):
        return EndJudgement("claimed", missing)
    if deeds.wrote:
        return EndJudgement("changed")
    if not edits or contract or agent.gives_verdict:
        return EndJudgement("answered")
    if _ASKS.search(plain):
        return EndJudgement("asked")
    if talks or (plain and deeds.ran_something(registry)):
        return EndJudgement("answered")
    loose = any(_CODE.match(block[0]) for block in _FENCED.finditer(text))
    if _REASON.search(plain) and not loose:
        return EndJudgement("unchanged")
    if agent.tools is agent.shown is None and plain and not loose:  # its template names no edits as its work
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
_NO_RUN: Final = (
    "You say that you ran something ({words}); no command or test ran in this session. Run it, or say that it was not "
    "run."
)
_NO_FILE: Final = (
    "You say that you changed {file} ({words}); that was not written in this session. Send the change, or correct what "
    "you say."
)


def _unshown(plain: str, deeds: Deeds, *, edits: bool) -> Iterator[str]:
    for sentence in _SENTENCE.findall(plain[:20_000]):
        files = re.findall(_NAME, _said(_FILE_CHANGE, sentence)) if edits else ()
        lost = [name for name in files if not any(f"/{path}".endswith(f"/{name}") for path in deeds.files)]
        claims = (
            (_NO_CHANGE, edits and not deeds.wrote and _said(_CHANGE, sentence)),
            (_NO_FILE, lost),
            (_NO_TESTS, not deeds.tested and _said(_PASSING, sentence)),
            (_NO_RUN, deeds.ran.isdisjoint((RUN_COMMAND.name, RUN_TESTS.name)) and _said(_RUN, sentence)),
        )
        words = repr(" ".join(sentence.split())[:120])
        yield from (told.format(words=words, file=", ".join(lost)) for told, unshown in claims if unshown)


def _said(claim: re.Pattern[str], sentence: str) -> str:
    """Return a claim's words, or "" if the words before it negate or suppose it."""
    found = claim.search(sentence)
    return found[0] if found and not _NOT.search(sentence[: found.end()]) else ""


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
