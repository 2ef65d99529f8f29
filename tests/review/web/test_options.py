"""Questions with options in a real Chromium: between turns."""

import threading

import pytest

from rails.approval.pending import PendingAnswers
from rails.approval.queue import IN_PAGE, ApprovalQueue
from rails.core.events.base import UnknownEvent
from rails.log.writer import SessionLog
from rails.session.ask_user import AtBoth, UserQuestion

from .conftest import KEY

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]


@pytest.fixture
def asking(state, served, chromium):
    """``asking(job)``: run ``job(queue)`` in a thread and open its session's page; what it returned is in ``got``."""
    log = SessionLog.create(state)
    log.append(UnknownEvent("WORKFLOW_START", "the task", {"task": "the task"}))
    queue = ApprovalQueue(page_waits=True)
    box = PendingAnswers(state, log.session_id, KEY)
    got = []
    box.listen()
    queue.open(box, log.append)
    page = chromium.new_page(viewport={"width": 1000, "height": 800})
    page.set_default_timeout(60_000)
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    threads = []

    def begin(job):
        threads.append(threading.Thread(target=lambda: got.append(job(queue)), daemon=True))
        threads[0].start()
        page.goto(served.server.url_for("decide", log.session_id))
        page.wait_for_selector(".bar-answer:not(.unarmed)")
        return page

    def answer():
        threads[0].join(60)
        return got[0]

    begin.answer = answer
    begin.log = log
    yield begin
    page.close()
    log.close()
    assert problems == []


def test_a_question_between_turns(asking):
    choices = {"g": ("go", "hand it over"), "f": ("feedback", "send it back"), "s": ("stop", "stop here")}
    question = UserQuestion("handoff", ("planner is done.",), choices, "stop")
    page = asking(lambda queue: AtBoth(queue, None).answer(question))
    assert "planner is done." in page.locator(".card-asked").inner_text()
    page.get_by_role("button", name="send it back").click()
    page.wait_for_selector("#status:has-text('Write your message first')")
    page.locator("#card-title").focus()
    page.wait_for_selector(".bar-answer:not(.unarmed)")
    page.wait_for_timeout(400)
    page.keyboard.press("1")
    page.wait_for_selector("#asked", state="hidden")
    assert (asking.answer().answer, asking.answer().by) == ("go", IN_PAGE)


def test_a_sentence_has_to_be_typed(asking):
    question = UserQuestion(
        "uncontained", ("not contained",), {"n": ("no", "leave it off")}, "no", sentence="yes, alone"
    )
    page = asking(lambda queue: AtBoth(queue, None).answer(question))
    page.get_by_role("button", name="switch it on").click()
    page.wait_for_selector("#status:has-text('first')")
    page.locator("#reason").fill("yes, alone")
    page.get_by_role("button", name="switch it on").click()
    page.wait_for_selector("#asked", state="hidden")
    assert asking.answer().answer == "yes, alone"


def test_a_question_of_an_agent_is_shown_as_its_own_and_answered_in_words(asking):
    lines = ("── coder asks ──────", "  Which **port**?")
    question = UserQuestion("question", lines, {"1": ("80", "80")}, "", free=True, request_id="t1.1")
    page = asking(lambda queue: AtBoth(queue, None).answer(question))
    assert page.locator("#card-title").inner_text().split() == ["?", "Asks", "you", "coder", "asks"]
    assert page.locator(".card-asked .prose").inner_text().strip() == "Which port?"
    page.locator("#reason").fill("8080, please")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#asked", state="hidden")
    assert (asking.answer().answer, asking.answer().text) == ("feedback", "8080, please")
