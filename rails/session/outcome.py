"""Judges an agent's result by its actions, and its claims against them.

Only plain claims are read: changed files, passing tests, finished work. A verb of change is listed if counted at
least three times in models' public answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from rails.agents.template import Agent
from rails.core.builtin_tools import RUN_COMMAND, RUN_TESTS
from rails.core.conversation import Message, ModelAnswer
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, HumanSteered
from rails.core.events.turn import FeedbackSent, OutputRefused, ToolRequestValidationFailed
from rails.core.outcomes import SessionEnd
from rails.core.verdict import Verdict
from rails.session import feedback
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext
from rails.tools.registry import Registry

_FENCED: Final = re.compile(r"^ {0,3}(`{3,}+|~{3,}+).*?^ {0,3}\1", re.MULTILINE | re.DOTALL)
#: A block of code, as its label says or leaves open; data and what a command printed are none.
_CODE: Final = re.compile(r"[`~ ]++(?!(?:json|ya?ml|toml|text|(?:ba|z)?sh|powershell|diff)\b)[^\n]*\n", re.IGNORECASE)
_VERBS: Final = (
    "added|applied|changed|corrected|created|deleted|fixed|implemented|improved|modified|moved|refactored|removed|"
    "renamed|replaced|resolved|simplified|updated|written"
)
_NOT: Final = re.compile(
    r"\b(?:not|nothing|\w+n['’]t|if|when|once|would|should|to (?:see|check|verify))\b|^\W*no\b[^,;]*\Z", re.I
)
#: Not "was": that mostly tells of the code, or of what others did.
_BY: Final = r"I(?:['’]ve| have)?|ha(?:s|ve) been|(?:is|are) now"
_HOW: Final = "(?:just |also |already |successfully )*"
#: "I have fixed it", "- Updated the parser", "Changes made:", "Done.", "The task is complete."
#: Not "created by the caller": that says what the code does.
_CHANGE: Final = re.compile(
    rf"\b(?:{_BY}) {_HOW}(?:{_VERBS})\b(?! (?:by|when|if|in)\b)"
    rf"|^[ \t*-]*{_HOW}(?:{_VERBS})\b|^[ \t*#-]*changes made\b"
    r"|^[ \t*#]*(?:all )?done[ \t*]*(?: and\b|[.!,:–—-]|$)|\b(?:is|are) (?:now )?(?:done|completed?)\b(?! (?!and\b)\w)"
    r"|\b(?:bug|issue)s? (?:is|are) (?:now )?fixed\b"
    r"|\bI(?:['’]ve| have)? (?:already )?made (?!no )(?:\w+ ){0,2}changes?\b",
    re.IGNORECASE | re.MULTILINE,
)
#: "All tests pass", "The suite is green", "Everything passes".
_PASSING: Final = re.compile(
    r"\b(?:(?:tests?|suite|checks)\b(?! that)[^.\n]{0,40}|(?<!-)(?:all|everything) )"
    r"\b(?:pass(?:es|ed|ing)?\b(?!-| (?:an?|the) | `)|green\b)",
    re.IGNORECASE,
)
_RUN: Final = re.compile(r"\bI ran\b", re.IGNORECASE)
_NAME: Final = r"(?!(?:node|next|vue|three)\.js\b|os\.path\b)[\w./-]*\w\.(?-i:[a-z])\w{0,5}\b(?!\(|\.\w)"
_FILES: Final = rf"`?{_NAME}`?(?:(?:,? and|,) `?{_NAME}`?)*"
#: "I updated a.py and b.py", "Added a test to test_a.py", "a.py was changed"; a.b(…) is no file, and no Node.js.
_FILE_CHANGE: Final = re.compile(
    rf"(?:\b(?:{_BY}) |^[ \t*-]*){_HOW}(?:{_VERBS}) "
    rf"(?:[^.\n]{{0,60}}?(?<!like)(?<!as) (?:in|into|to) )?(?:the |files? )*({_FILES})"
    rf"|({_FILES}) (?:ha(?:s|ve) been|was|were|(?:is|are) now) {_HOW}(?:{_VERBS})\b(?! (?:by|when|if)\b)",
    re.IGNORECASE | re.MULTILINE,
)
#: "Nothing has to change", "store.py handles tabs already", "no fix is needed", "I didn't touch it", "it cannot be
#: done"; "No further changes are needed" says that there were some.
_REASON: Final = re.compile(
    r"(?i)\b(?:nothing(?! (?:else|more|further))|unchanged|already|cannot"
    r"|(?:no|not|\w{2,6}n['’]t) (?!(?:other|further|more|additional|longer)\b)(?:[\w-]+ ){0,2}"
    r"(?:chang|edit|need|requir))"
    r"|必要は?ありません|不要|できません"
)
#: The last sentence, or the last but a short one ("Please tell me.").
_ASKS: Final = re.compile(r"[?？][^?？\n]{0,60}\Z")
_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s.!?])){1,1000}+[.!?]*+")


class Deeds(Struct):
    """A fold over records: the tools that ran (``""``: files were written), and what stood in the way.

    At any time: ``written_by``, each agent's files; ``commanded``: a command or tests ran; ``tested``: tests passed
    since the last change; ``last_run``: its result ("": none).
    """

    ran: set[str] = set()
    written_by: dict[str, set[str]] = {}
    commanded: bool = False
    tested: bool = False
    last_run: str = ""
    refused: bool = False
    hindered: bool = False

    def take(self, record: Record) -> None:
        """Take note of a record."""
        match record.event:
            case AgentEngage() | HumanSteered(about="follow_up"):
                self.ran, self.refused, self.hindered = set(), False, False
            case ToolExecutionResult(tool=name) as done:
                if done.ran_tests or (done.ok and not name):
                    self.tested = done.ran_tests and done.ok
                    self.last_run = done.text if name else ""
                if not done.ok:
                    self.hindered |= not (name and done.ids)  # tests of a proposal were asked for by nobody
                    return
                self.ran.add(name)
                self.commanded |= name in (RUN_COMMAND.name, RUN_TESTS.name)
                written = self.written_by.setdefault(record.agent_role, set())
                written.update(change.path for change in done.changes or ())
            case ToolRequestValidationFailed():
                self.refused = True
            case ChangeRefused() | HumanDecision(answer="deny") | GateVerdict(verdict=Verdict(status="fail")):
                self.hindered = True
            case FeedbackSent(codes=codes):
                self.hindered |= "internal" in codes

    @property
    def wrote(self) -> bool:
        """Whether files were written."""
        return "" in self.ran

    def ran_something(self, registry: Registry) -> bool:
        """Return whether a tool ran that does more than look."""
        return any((tool := registry.get(name)) is None or tool.effect != "read" for name in self.ran)

    def nothing_done(self, registry: Registry) -> bool:
        """Return whether nothing was written, run, or even read.

        Reading does not count where a change or a run was refused.
        """
        hindered = self.hindered or (self.refused and not self.ran)
        return hindered and not self.ran_something(registry)


def judged(agent: Agent, text: str, deeds: Deeds, registry: Registry, *, talks: bool) -> tuple[SessionEnd, str]:
    """Return the outcome of an agent's part, and words for it while it can continue ("": none), from its last answer.

    The ``deeds`` decide; ``talks``: in a conversation.
    """
    plain = _FENCED.sub("", text).strip()
    contract = agent.headings or agent.schema
    edits = any(tool.effect == "edit" for tool in registry.for_role(agent.name))
    if (edits or not contract) and (missing := next(_unshown(plain, deeds, edits=edits), "")):
        return "claimed", missing
    if deeds.wrote:
        return "changed", ""
    if not edits or contract or agent.gives_verdict:
        return "answered", ""
    if _ASKS.search(plain):
        return "asked", ""
    if talks or (plain and deeds.ran_something(registry)):
        return "answered", ""
    loose = any(_CODE.match(block[0]) for block in _FENCED.finditer(text))
    if _REASON.search(plain) and not loose:
        return "unchanged", ""
    if agent.tools is agent.shown is None and plain and not loose:  # its template names no edits as its work
        return "answered", ""
    return "gave_up", _NO_REASON


_NO_REASON: Final = (
    "Nothing was changed in this session: a block is only written if its file is named above it. Send the change, or "
    "say in one sentence why nothing has to change."
)
_NO_CHANGE: Final = (
    "You say that something was changed or done ({words}); nothing was written since you were asked. Send the change, "
    "or say in one sentence why nothing has to change."
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
    written = set().union(*deeds.written_by.values())
    for sentence in _SENTENCE.findall(plain[:20_000]):
        files = re.findall(_NAME, _said(_FILE_CHANGE, sentence)) if edits else ()
        lost = [name for name in files if not any(f"/{path}".endswith(f"/{name}") for path in written)]
        # A file that was written for what was asked before may be told of again.
        claims = (
            (_NO_CHANGE, edits and not deeds.wrote and (lost or not files) and _said(_CHANGE, sentence)),
            (_NO_FILE, lost),
            (_NO_TESTS, not deeds.tested and _said(_PASSING, sentence)),
            (_NO_RUN, not deeds.commanded and _said(_RUN, sentence)),
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
    if answer.stop_reason == "refusal":
        return None
    if (begins or answer.stop_reason == "tool_use") and _is_empty(answer.message):
        return feedback.not_done("empty")
    stop = answer.stop_reason
    unfinished = feedback.not_done(stop) if stop in ("tool_use", "pause_turn") else None
    told = unfinished and messages and unfinished.text in messages[-1].text  # some servers say so of every answer
    if unfinished and (answer.stop_reason == "pause_turn" or not told):
        return unfinished
    from rails.agents.output import check_output  # here and below: an answer that only edits waits for less

    lacking = check_output(context.agent, answer.message.text)
    if not lacking:
        return None
    context.publish(OutputRefused(lacking))
    return feedback.output(lacking)


def _is_empty(message: Message) -> bool:
    return not message.calls and not any(sign.isprintable() and not sign.isspace() for sign in message.text)
