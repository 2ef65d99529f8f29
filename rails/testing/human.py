"""A person who answers between turns from a script, and remembers what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from rails.session.ask_user import UserQuestion, UserReply


class ScriptedHuman(Struct):
    """Gives ``answers`` one after the other; then what the question says stands when nobody answers.

    An answer is a word of the question's choices, or ``"feedback: the text"``. ``before`` is called with each
    question first, for example to edit the file that it is about.

        human = ScriptedHuman(["yes"])
        Session(..., human=human)
        assert human.asked[0].about == "stronger_model"
    """

    answers: Sequence[str] = ()
    before: Callable[[UserQuestion], object] = lambda _: None
    asked: list[UserQuestion] = field(default_factory=list)

    def answer(self, question: UserQuestion) -> UserReply:
        """Remember the question and give the next answer."""
        number = len(self.asked)
        self.asked.append(question)
        self.before(question)
        if number >= len(self.answers):
            return UserReply(question.otherwise, "default")
        word, _, text = self.answers[number].partition(":")
        return UserReply(word, "script", text.strip())
