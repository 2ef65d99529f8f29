"""Deciding in the terminal application: a real run waits in a thread, and the pilot's keys answer it, or do not."""

import asyncio
import time

import pytest
from textual.widgets import Input, Label

from rails.approval.answer import PageAnswer
from rails.approval.pending import PendingAnswers
from rails.log.index.index import Index
from rails.review.inbox import Inbox
from rails.review.session_list import SessionList
from rails.review.tui import app as application
from rails.review.tui import asked as module
from rails.review.tui.app import ReviewApp
from rails.review.tui.asked import QUIET_S, QuestionPage
from rails.review.tui.dialogs import Ask
from rails.review.tui.listing import Sessions
from rails.review.tui.session import SessionPage

from ..running import KEY, tool

HELLO = tool("write_file", file_path="b.txt", content="hello\n", why="Say hello")


def lines(pilot, rows="#rows"):
    widget = pilot.app.screen.query_one(rows)
    return "\n".join(widget._row(at).plain for at in range(widget.count))


def label(pilot, name):
    return str(pilot.app.screen.query_one(name, Label).render())


async def until(pilot, true, words=""):
    for _ in range(400):
        await pilot.pause()
        if true():
            return
        await asyncio.sleep(0.025)
    raise AssertionError(f"{words or 'it'} never came: {label(pilot, '#waiting')} / {label(pilot, '#status')}")


async def quiet(pilot):
    await asyncio.sleep(module.QUIET_S + 0.05)
    await pilot.pause()


async def type_in(pilot, key, text):
    """Open a dialog with ``key`` (again, where a busy machine made it too quick), fill its line, press Enter."""
    for _ in range(20):
        await quiet(pilot)
        if isinstance(pilot.app.screen, Ask):
            break
        await pilot.press(key)
    assert isinstance(pilot.app.screen, Ask)
    pilot.app.screen.query_one(Input).value = text
    await pilot.press("enter")


async def to_question(pilot):
    """Go to what waits, and wait until its keys work."""
    await until(pilot, lambda: label(pilot, "#waiting"), "the question")
    await pilot.press("w")
    assert isinstance(pilot.app.screen, QuestionPage)
    await until(pilot, lambda: pilot.app.screen._drawn, "what is asked")
    await quiet(pilot)


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Look often, and wait for less quiet."""
    monkeypatch.setattr(application, "_LOOK_S", 0.1)
    monkeypatch.setattr(module, "QUIET_S", 0.05)


@pytest.fixture
def app(tmp_path):
    """Run the application with a key over the sessions below ``tmp_path``."""

    def run(steps, session_id=None, key=KEY, **more):
        async def main():
            review = ReviewApp(SessionList(tmp_path / ".rails"), session_id, key=key, **more)
            async with review.run_test(size=(120, 40)) as pilot:
                await pilot.pause()
                await steps(pilot)

        asyncio.run(main())

    return run


@pytest.fixture
def asked(runs):
    """A run that waits for an answer about a new file."""
    run = runs(HELLO)
    until = time.monotonic() + 60
    while run.queue._asked is None and time.monotonic() < until:
        time.sleep(0.02)
    return run


def answer(run, do, **more):
    """Answer as another process does."""
    with Index(run.state) as index:
        inbox = Inbox(run.state, index, KEY)
        question = inbox.open(run.id)
        return inbox.decide(run.id, question.number, PageAnswer(do, question.digest, **more))


def test_what_waits_is_marked_in_the_list_shown_and_approved(asked, app):
    async def steps(pilot):
        await until(pilot, lambda: "waits for you: w" in lines(pilot), "the mark")
        assert "1 question waits for you" in label(pilot, "#waiting")
        await to_question(pilot)
        shown = lines(pilot)
        for words in ("Change these files?", "coder", "write_file", "Say hello", "b.txt (create", "+  hello", "checks"):
            assert words in shown
        assert asked.events("APPROVAL_OPENED")[0]["digest"][:16] in shown
        assert "ai-rails serve" in label(pilot, "#status"), "where it can be edited"
        assert not (asked.project / "b.txt").exists()
        await pilot.press("a")
        await until(pilot, lambda: "approved by human in the review" in label(pilot, "#waiting"))
        assert "elsewhere" not in label(pilot, "#waiting")
        await pilot.press("a")
        assert "This was approved" in label(pilot, "#status")
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, Sessions)
        await until(pilot, lambda: "waits for you" not in lines(pilot), "the end of the mark")

    app(steps)
    assert asked.end().outcome == "done"
    assert (asked.project / "b.txt").read_text() == "hello\n"
    (decision,) = asked.events("HUMAN_DECISION")
    assert (decision["answer"], decision["by"]) == ("approve", "human in the review")
    assert decision["digest"] == asked.events("APPROVAL_OPENED")[0]["digest"]


def test_a_denial_with_its_reason_reaches_the_agent_word_for_word(asked, app):
    async def steps(pilot):
        await to_question(pilot)
        await pilot.press("d")
        assert isinstance(pilot.app.screen, Ask)
        await pilot.press(*"no", "escape")
        assert asked.queue._asked is not None, "Escape denies nothing"
        await quiet(pilot)
        await type_in(pilot, "d", "Not [b]so[/b].")
        await until(pilot, lambda: "This was denied" in label(pilot, "#waiting"))
        assert "Not [b]so[/b]." in label(pilot, "#waiting")

    app(steps)
    asked.end()
    assert "Human Feedback: Not [b]so[/b]." in asked.events("FEEDBACK_SENT")[0]["text"]
    assert not (asked.project / "b.txt").exists()


def test_a_key_before_it_was_quiet_decides_nothing_and_begins_the_wait_again(asked, app, monkeypatch):
    assert QUIET_S == 0.35
    monkeypatch.setattr(module, "QUIET_S", 1000.0)

    async def steps(pilot):
        await until(pilot, lambda: label(pilot, "#waiting"))
        await pilot.press("w", "a")
        await until(pilot, lambda: pilot.app.screen._drawn)
        begun = []
        for _ in range(3):
            await pilot.press("a")
            assert "Too quick" in label(pilot, "#status")
            begun.append(pilot.app.screen._quiet._since)
        assert sorted(set(begun)) == begun
        assert not asked.events("HUMAN_DECISION")
        assert not PendingAnswers(asked.state, asked.id, KEY).waiting(pilot.app.screen.question.number)
        monkeypatch.setattr(module, "QUIET_S", 0.05)
        await quiet(pilot)
        await pilot.press("a")
        await until(pilot, lambda: "approved" in label(pilot, "#waiting"))

    app(steps)
    asked.end()


def test_enter_space_y_and_escape_never_approve(asked, app):
    async def steps(pilot):
        await to_question(pilot)
        number = pilot.app.screen.question.number
        for key in ("enter", "space", "y", "Y", "o", "tab", "enter"):
            await quiet(pilot)
            await pilot.press(key)
            assert isinstance(pilot.app.screen, QuestionPage), key
            if key in ("enter", "y"):
                assert "is no answer here" in label(pilot, "#status")
        await pilot.press("escape")
        await asyncio.sleep(0.3)
        assert isinstance(pilot.app.screen, Sessions)
        assert not PendingAnswers(asked.state, asked.id, KEY).waiting(number)
        assert label(pilot, "#waiting"), "it still waits"

    app(steps)
    assert not asked.events("HUMAN_DECISION")
    assert not (asked.project / "b.txt").exists()


def test_with_risks_the_word_has_to_be_typed(runs, app):
    (runs.project / "gone.py").write_text("x = 1\n")
    run = runs(tool("delete_file", file_path="gone.py"))

    async def steps(pilot):
        await to_question(pilot)
        assert "Deletes gone.py" in lines(pilot)
        for typed in ("", "yes", "a"):
            await quiet(pilot)
            await type_in(pilot, "a", typed)
            assert isinstance(pilot.app.screen, QuestionPage)
            assert "decides nothing" in label(pilot, "#status")
        assert not PendingAnswers(run.state, run.id, KEY).waiting(pilot.app.screen.question.number)
        await quiet(pilot)
        await type_in(pilot, "a", "approve")
        await until(pilot, lambda: "This was approved" in label(pilot, "#waiting"))

    app(steps)
    assert run.end().outcome == "done"
    assert not (run.project / "gone.py").exists()


def test_what_was_answered_in_the_page_meanwhile_is_said_and_another_answer_refused(asked, app):
    async def steps(pilot):
        await to_question(pilot)
        await pilot.press("d", *"my")
        outcome = await asyncio.to_thread(answer, asked, "deny", reason="theirs")
        assert outcome.mine
        await pilot.press("enter")
        await until(
            pilot, lambda: "Answered elsewhere: This was denied by human in the page" in label(pilot, "#waiting")
        )
        assert "theirs" in label(pilot, "#waiting")
        await quiet(pilot)
        await pilot.press("a")
        assert "Answered elsewhere" in label(pilot, "#status")
        await pilot.press("w")
        assert "Nothing else waits" in label(pilot, "#status")

    app(steps)
    asked.end()
    (decision,) = asked.events("HUMAN_DECISION")
    assert (decision["reason"], decision["by"]) == ("theirs", "human in the page")


def test_a_grant_is_given_as_the_rule_that_was_shown_once_the_word_is_typed(runs, app):
    run = runs(*(tool("write_file", file_path=f"notes/{name}.txt", content="x\n") for name in "ab"))

    async def steps(pilot):
        await to_question(pilot)
        for typed in ("approve", "grant"):
            await quiet(pilot)
            await pilot.press("A")
            for _ in range(200):
                if isinstance(pilot.app.screen, Ask):
                    break
                await asyncio.sleep(0.025)
                await pilot.pause()
            assert isinstance(pilot.app.screen, Ask)
            shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
            assert 'path = ["notes/*"]' in shown
            await type_in(pilot, "A", typed)
        await until(pilot, lambda: "This was approved" in label(pilot, "#waiting"))

    app(steps)
    assert run.end().outcome == "done"
    assert [decision["by"] for decision in run.events("HUMAN_DECISION")] == ["human in the review", "grant 1"]


def test_stopping_the_session_takes_the_word(asked, app):
    async def steps(pilot):
        await to_question(pilot)
        await type_in(pilot, "S", "")
        assert "decides nothing" in label(pilot, "#status")
        await quiet(pilot)
        await type_in(pilot, "S", "stop")
        await until(pilot, lambda: "The session was stopped" in label(pilot, "#waiting"))

    app(steps)
    assert asked.end().outcome == "aborted"
    assert not (asked.project / "b.txt").exists()


def test_without_a_key_it_only_looks(asked, app):
    async def steps(pilot):
        await to_question(pilot)
        assert "can only look: the key is gone" in label(pilot, "#waiting")
        for key in ("a", "d", "A", "S"):
            await quiet(pilot)
            await pilot.press(key)
            assert isinstance(pilot.app.screen, QuestionPage)
            assert not pilot.app.screen.query(Input)
        assert "only look" in label(pilot, "#status")

    app(steps, key=None, only_looks="the key is gone")
    assert not asked.events("HUMAN_DECISION")


def test_what_nobody_answered_in_time_is_expired_and_no_denial(runs, app):
    run = runs(HELLO, patience_s=10.0)

    async def steps(pilot):
        await to_question(pilot)
        await until(pilot, lambda: "Nobody answered in time" in label(pilot, "#waiting"))
        assert "elsewhere" not in label(pilot, "#waiting")
        await pilot.press("a")
        assert "Nobody answered" in label(pilot, "#status")

    app(steps)
    assert run.end().outcome == "unanswered"
    assert not run.events("HUMAN_DECISION")


def test_a_file_that_changed_meanwhile_makes_the_approval_stale(asked, app):
    async def steps(pilot):
        await to_question(pilot)
        (asked.project / "b.txt").write_text("mine\n")
        await pilot.press("a")
        await until(pilot, lambda: "a file had changed meanwhile" in label(pilot, "#waiting"))

    app(steps)
    asked.end()
    assert (asked.project / "b.txt").read_text() == "mine\n"


def test_an_edit_in_the_page_takes_the_questions_place_and_w_leads_to_the_new_one(runs, app):
    (runs.project / "a.py").write_text("def f():\n    return 1\n")
    run = runs(tool("edit_file", file_path="a.py", old_string="return 1", new_string="return 2"))

    async def steps(pilot):
        await to_question(pilot)
        bad = {"a.py": "def f():\n    return undefined_name\n"}
        await asyncio.to_thread(answer, run, "edit", files=bad)
        await until(pilot, lambda: "An edited proposal has taken its place" in label(pilot, "#waiting"))
        await until(pilot, lambda: "w shows the next" in label(pilot, "#waiting"))
        await to_question(pilot)
        shown = lines(pilot).split("\n")
        at = next(n for n, line in enumerate(shown) if "F821" in line and "^" in line)
        assert "undefined_name" in shown[at - 1], "the finding is at its line"
        await type_in(pilot, "d", "")
        await until(pilot, lambda: "This was denied" in label(pilot, "#waiting"))

    app(steps)
    run.end()


def test_an_open_session_says_that_it_waits(asked, app):
    async def steps(pilot):
        assert isinstance(pilot.app.screen, SessionPage)
        await until(pilot, lambda: "This session waits for your answer: w" in label(pilot, "#waiting"))
        await to_question(pilot)
        await pilot.press("v")
        await until(pilot, lambda: "parameters of write_file" in lines(pilot), "everything")

    app(steps, asked.id)
