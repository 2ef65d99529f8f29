"""A scripted person, who records the questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from rails.session.ask_user import UserQuestion, UserReply


class ScriptedHuman(Struct):
    """Gives ``answers`` in order, then the question's default.

    An answer is a choice's word, or ``"feedback: the text"``. ``before`` gets each question first.
    """

    answers: Sequence[str] = ()
    before: Callable[[UserQuestion], object] = lambda _: None
    asked: list[UserQuestion] = field(default_factory=list)

    def answer(self, question: UserQuestion) -> UserReply:
        """Record the question; give the next answer."""
        number = len(self.asked)
        self.asked.append(question)
        self.before(question)
        if number >= len(self.answers):
            return UserReply(question.otherwise, "default")
        word, _, text = self.answers[number].partition(":")
        return UserReply(word, "script", text.strip())
