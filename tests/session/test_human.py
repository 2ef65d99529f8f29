"""What is asked between turns: a typed letter decides, and nothing else is ever more than the careful answer."""

import io
import os

from rails.session.ask_user import AtTerminal, Unattended, UserQuestion
from tests.rows import walked

CHOICES = {"g": ("go", "go on"), "e": ("edit", "edit it"), "f": ("feedback", "tell it"), "s": ("stop", "stop")}


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


def test_edit_opens_the_editor_on_the_file_and_asks_again(tmp_path, monkeypatch):
    file = tmp_path / "02_for_coder.md"
    file.write_text("one", "utf-8")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/one/two/")
    said, shown = answer("e\ng\n", edits=file)
    assert said.answer == "go"
    assert file.read_text("utf-8") == "two"
    assert "read again" in shown


def test_without_an_editor_it_says_where_the_file_is(tmp_path, monkeypatch):
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    _, shown = answer("e\ns\n", edits=tmp_path / "02_for_coder.md")
    assert "No editor is set" in shown
    assert "02_for_coder.md" in shown


def test_a_pipe_is_not_a_person():
    read, write = os.pipe()
    os.write(write, b"g\n")
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as stream:
        said = AtTerminal(stream, io.StringIO()).answer(question())
    assert (said.answer, said.by) == ("stop", "default")
    assert Unattended().answer(question()).answer == "stop"
