"""Questions to a person besides changes: a stronger model, a hand-off, an alert, an agent's question.

End of input, a time-out and silence mean the careful answer. An agent's question has none: it stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TextIO

from msgspec import Struct

from rails.approval.options import user_question
from rails.approval.queue import IN_PAGE, IN_REVIEW, ApprovalQueue
from rails.approval.terminal.console import Console, NoAnswer, Pasted
from rails.core.events.approval import ApprovalOpened, AskedOption
from rails.core.events.base import Event
from rails.core.events.session import HumanSteered

#: What the page says of an answer in words that has none.
_NO_WORDS: Final = "Say something with it: the agent reads your words."
About = Literal["stronger_model", "handoff", "alert", "uncontained", "tests", "block", "question"]


class UserQuestion(Struct, frozen=True):
    """One question; ``choices`` map a letter to its word and meaning.

    ``otherwise`` is the word when nobody answers. ``sentence`` has to be typed in full. With ``free``, other words are
    "feedback". ``agent`` asks it, with the request ``request_id``.
    """

    about: About
    lines: Sequence[str]
    choices: Mapping[str, tuple[str, str]]
    otherwise: str
    sentence: str = ""
    free: bool = False
    request_id: str = ""
    agent: str = ""


class UserReply(Struct, frozen=True):
    """An answer: word, by whom, the text behind the letter."""

    answer: str
    by: str
    text: str = ""


class Person(Protocol):
    """Whoever answers between turns."""

    def answer(self, question: UserQuestion) -> UserReply:
        """Return one of the question's words."""
        ...


def ask(human: Person, publish: Callable[[Event], object], question: UserQuestion) -> UserReply:
    """Put a question, and log its answer."""
    said = human.answer(question)
    publish(HumanSteered(question.about, said.answer, said.by, text=said.text))
    return said


def as_logged(question: UserQuestion) -> ApprovalOpened:
    """Return the event of a question; an agent's has the id of its request."""
    options = [
        AskedOption(word, meaning, words="must" if word == "feedback" else "")
        for word, meaning in question.choices.values()
    ]
    if question.free:
        options.append(AskedOption("feedback", "Answer in your own words", words="must"))
    if question.sentence:
        options.append(AskedOption(question.sentence, "switch it on: type this sentence", typed=True))
    return user_question(question.about, question.lines, tuple(options), question.request_id, question.agent)


class Unattended:
    """No person: every question gets its careful answer."""

    def answer(self, question: UserQuestion) -> UserReply:
        """Return the careful answer."""
        return UserReply(question.otherwise, "default")


class AtTerminal:
    """Asks at a terminal; earlier input does not count."""

    def __init__(
        self,
        stream_in: TextIO,
        out: TextIO,
        *,
        quiet_s: float = 0.35,
        accept_pipe: bool = False,
        elsewhere: Callable[[], bool] | None = None,
    ) -> None:
        """``accept_pipe`` is for tests; ``elsewhere``: answered elsewhere meanwhile."""
        self._console = Console(stream_in, out, quiet_s=quiet_s, accept_pipe=accept_pipe, elsewhere=elsewhere)

    def answer(self, question: UserQuestion) -> UserReply:
        """Return the typed choice."""
        if not self._console.attended:
            return UserReply(question.otherwise, "default")
        try:
            word, text = self._ask(question)
        except NoAnswer as nobody:
            return UserReply(question.otherwise, nobody.by)
        return UserReply(word, "human", text)

    def _ask(self, question: UserQuestion) -> tuple[str, str]:
        self._print("", *question.lines, "")
        self._print(*(f"  [{letter}] {meaning}" for letter, (_, meaning) in question.choices.items()))
        self._console.arm()
        for _ in range(20):  # lines that are read for one answer; then it counts as none
            self._console.put("> ")
            try:
                typed = self._console.line()
            except Pasted as pasted:
                self._print("", f"  {pasted}", *question.lines)
                continue
            if question.sentence and typed == question.sentence:
                return typed, ""
            letter, _, text = typed.partition(" ")
            word = question.choices.get(letter.lower(), ("", ""))[0]
            if question.free and typed.strip() and (text or not word):
                return "feedback", typed.strip()
            if not word:
                self._print(f"  Type one of {', '.join(question.choices)} and Enter.")
            elif word == "feedback" and not text.strip():
                self._print(f"  Type {letter}, a space and your words.")
            else:
                return word, text.strip()
        raise NoAnswer("no answer was understood")

    def _print(self, *lines: str) -> None:
        self._console.put("".join(f"{line}\n" for line in lines))


class AtBoth:
    """Asks at the terminal and in the page; the first answer counts."""

    def __init__(self, queue: ApprovalQueue, here: Person | None) -> None:
        self._queue, self._here = queue, here

    def answer(self, question: UserQuestion) -> UserReply:
        """Return the first answer, else the careful one."""
        here = self._here
        found = self._queue.pick(
            as_logged(question),
            (lambda: here.answer(question)) if here else None,
            lambda given: _NO_WORDS if given.choice == "feedback" and not given.reason else "",
        )
        if isinstance(found, UserReply):
            return found
        if found is None:
            return UserReply(question.otherwise, "nobody" if self._queue.page_waits else "default")
        by = IN_REVIEW if found.place == "review" else IN_PAGE
        return UserReply(found.choice, by, found.reason)
