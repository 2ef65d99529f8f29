"""What is asked between turns: a typed letter decides, and nothing else is ever more than the careful answer."""

import io
import os

from rails.session.ask_user import AtTerminal, Unattended, UserQuestion
from tests.rows import walked

CHOICES = {"g": ("go", "go on"), "f": ("feedback", "tell it"), "s": ("stop", "stop")}


def question(**more):
    return UserQuestion("handoff", ("A question?",), CHOICES, "stop", **more)


def answer(typed, **more):
    out = io.StringIO()
    said = AtTerminal(io.StringIO(typed), out, accept_pipe=True).answer(question(**more))
    return said, out.getvalue()


@walked(
    ("typed", "word", "by"),
    [
        ("g\n", "go", "human"),
        ("G\n", "go", "human"),
        ("s\n", "stop", "human"),
        ("\n\n g \n", "go", "human"),
        ("yes\nmaybe\ng\n", "go", "human"),
        ("", "stop", "end of input"),
        ("g", "stop", "end of input"),
        ("\n" * 30, "stop", "end of input"),
        ("what\n" * 30, "stop", "end of input"),
    ],
)
def test_only_a_letter_and_enter_is_an_answer(typed, word, by):
    said, _ = answer(typed)
    assert (said.answer, said.by) == (word, by)


def test_words_behind_the_letter_are_the_text():
    said, _ = answer("f use the other file\n")
    assert (said.answer, said.text) == ("feedback", "use the other file")


def test_feedback_without_words_is_no_answer():
    said, shown = answer("f\nf  \ns\n")
    assert said.answer == "stop"
    assert shown.count("your words") == 2


def test_the_question_and_its_choices_are_shown():
    _, shown = answer("g\n")
    assert "A question?" in shown
    assert "[g] go on" in shown


def test_a_pipe_is_not_a_person():
    read, write = os.pipe()
    os.write(write, b"g\n")
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as stream:
        said = AtTerminal(stream, io.StringIO()).answer(question())
    assert (said.answer, said.by) == ("stop", "default")
    assert Unattended().answer(question()).answer == "stop"
