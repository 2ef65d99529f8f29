"""What an agent's work came to, from what it did; and what it says of itself, held against that.

Only plain claims are read: that something was changed, that tests pass, and that the work is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rails.agents.template import Agent
from rails.core.conversation import Message, ModelAnswer
from rails.core.dataclass import dataclass
from rails.core.events.turn import OutputRefused
from rails.core.outcomes import SessionEnd
from rails.session import feedback
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext
from rails.tools.registry import Registry

if TYPE_CHECKING:
    from rails.session.deeds import Deeds

_FENCED: Final = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1", re.MULTILINE | re.DOTALL)
#: A block of code, as its label says or leaves open; data and what a command printed are none.
_DATA: Final = "json|ya?ml|toml|xml|csv|te?xt|console|(?:ba)?sh|shell|output|log|diff"
_CODE: Final = re.compile(rf"[`~ ]++(?!(?:{_DATA})\b)[^\n]*\n", re.IGNORECASE)
_VERBS: Final = (
    "adapted|added|adjusted|applied|changed|converted|corrected|created|deleted|edited|extended|fixed|implemented|"
    "improved|inserted|migrated|modified|moved|patched|refactored|removed|renamed|replaced|resolved|"
    "reworked|rewritten|rewrote|simplified|solved|updated|wrapped|written|wrote"
)
_NOT: Final = re.compile(
    r"\b(?:no|not|nothing|never|cannot|can't|could|couldn't|unable|without|if|would|should|need)\b", re.I
)
_BY: Final = r"I(?:['’]ve| have)?|we(?:['’]ve| have)?|ha(?:s|ve) been|was|were|(?:is|are) now"
_HOW: Final = "(?:now |just |also |already |all |successfully |gone ahead and )*"
_ENDED: Final = "(?:all )?done|finished|completed?"
_WORKS: Final = "accepts|checks|handles|keeps|prints|raises|reads|returns|supports|takes|uses|works"
#: "I have fixed it", "leap.py was updated", "It now handles tabs", "Changes made:", "The task is done."
#: Not "created by the caller": that says what the code does.
_CHANGE: Final = re.compile(
    rf"\b(?:{_BY}) {_HOW}(?:{_VERBS})\b(?! (?:by|when|if|in)\b)|\bnow (?:{_WORKS})\b"
    rf"|^[ \t*#-]*(?:changes (?:made|applied)|{_HOW}(?:{_VERBS})\b)"
    rf"|^[ \t*#]*(?:{_ENDED})[ \t*]*(?:[.!,:–—-]|$)|\b(?:is|are|task) (?:now )?(?:{_ENDED})\b",
    re.IGNORECASE | re.MULTILINE,
)
_WELL: Final = r"pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:are|is) green|all good|fine"
#: "All tests pass", "pytest: 12 passed", "I verified it with the tests".
_PASSING: Final = re.compile(
    rf"\b(?:(?:py)?tests?|suite)\b[^.\n]{{0,40}}\b(?:{_WELL})\b|\b\d+ passed\b"
    r"|\bverified\b[^.\n]{0,40}\btests?\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s.!?]))++[.!?]*+")


@dataclass(frozen=True, slots=True)
class EndJudgement:
    """What an agent's part came to, and what it is told where it may still do it ("": nothing)."""

    outcome: SessionEnd
    told: str = ""


def judged(agent: Agent, text: str, deeds: Deeds, registry: Registry, *, talks: bool) -> EndJudgement:
    """Judge the last answer ``text`` of an agent by its ``deeds``; ``talks`` is whether a person converses with it."""
    plain = _FENCED.sub("", text)
    if agent.headings or agent.schema:
        return EndJudgement("changed" if deeds.wrote else "answered")
    if missing := next(_unshown(plain, deeds), ""):
        return EndJudgement("claimed", missing)
    if deeds.wrote:
        return EndJudgement("changed")
    edits = any(tool.effect == "edit" for tool in registry.for_role(agent.name))
    if not edits or deeds.ran_something(registry):
        return EndJudgement("answered")
    if plain.rstrip().endswith("?"):
        return EndJudgement("asked")
    if not talks and any(_CODE.match(block[0]) for block in _FENCED.finditer(text)):
        return EndJudgement("unchanged", _LOOSE_CODE)
    return EndJudgement("answered" if talks else "unchanged")


_LOOSE_CODE: Final = (
    "Your answer holds code, and nothing of it was written: no file is named above it. Nothing was changed in this "
    "session. Send the change, or say in one sentence why nothing has to change."
)
_NO_CHANGE: Final = (
    "You say that something was changed or done ({words}); nothing was written in this session. Send the change, or "
    "say in one sentence why nothing has to change."
)
_NO_TESTS: Final = (
    "You say that tests pass ({words}); no tests were run in this session since the last change. Run them, or say that "
    "they were not run."
)


def _unshown(plain: str, deeds: Deeds) -> Iterator[str]:
    """Yield what an agent is told of each claim that its deeds do not show."""
    if not deeds.wrote and (claim := _claim(_CHANGE, plain)):
        yield _NO_CHANGE.format(words=claim)
    if not deeds.tested and (claim := _claim(_PASSING, plain)):
        yield _NO_TESTS.format(words=claim)


def _claim(pattern: re.Pattern[str], plain: str) -> str:
    """Return the first sentence in which ``pattern`` is claimed, not denied or supposed; "" if there is none."""
    for sentence in _SENTENCE.findall(plain[:20_000]):
        if pattern.search(sentence) and not _NOT.search(sentence):
            return repr(" ".join(sentence.split())[:120])
    return ""


def lacking_in(context: TurnContext, answer: ModelAnswer, messages: Sequence[Message] | None) -> RequestResult | None:
    """Return what a final answer lacks of what its role must give, in words for the agent; it may be all of it."""
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
    context.publish(OutputRefused(tuple(lacking)))
    return feedback.output(lacking)


def _is_empty(message: Message) -> bool:
    return not message.calls and not any(sign.isprintable() and not sign.isspace() for sign in message.text)
