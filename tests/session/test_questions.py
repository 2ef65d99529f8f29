"""An agent asks the person: at the terminal, in the page, later from the log, or of nobody."""

import io
import time
from argparse import Namespace
from shutil import copytree, ignore_patterns

import pytest

from rails.approval.answer import PageAnswer
from rails.commands import answer as verb
from rails.core.errors import LogBusyError, UsageError
from rails.review.inbox import Inbox
from rails.session.ask_user import AtBoth, AtTerminal, Unattended
from tests.review.running import KEY, Run
from tests.session.test_flows import request

OPTIONS = ["80", "8080"]
ASKS = request("ask_user", {"question": "Which port?\nIt goes into a.py.", "options": OPTIONS})
OPEN = request("ask_user", {"question": "What is it called?"})
WITH_DEFAULT = request("ask_user", {"question": "Which port?", "default": "80"})
EDITS = request("write_file", {"file_path": "a.txt", "content": "one\n"})


def typed(text):
    return AtTerminal(io.StringIO(text), io.StringIO(), accept_pipe=True)


def answered_later(project, *words, session="last"):
    return verb.run(Namespace(project=str(project), session=session, words=list(words)))


@pytest.mark.parametrize(
    ("asks", "text", "told"),
    [
        (ASKS, "2\n", "The user answers: 8080"),
        (ASKS, "9090\n", "The user answers: 9090"),
        (OPEN, "\n  \nLedger\n", "The user answers: Ledger"),
    ],
)
def test_what_is_typed_is_the_answer(work, asks, text, told):
    done = work(asks, "Good.", human=typed(text))
    assert told in done.told[0]
    assert done.events("TOOL_EXECUTION_RESULT")[0]["facts"] == {"by": "human"}


@pytest.mark.parametrize("human", [Unattended(), typed(""), None])
def test_where_nobody_answers_the_default_counts(work, human):
    done = work(WITH_DEFAULT, "Good.", human=human)
    assert "What you named for that counts: 80" in done.told[0]


@pytest.mark.parametrize("human", [Unattended(), typed(""), None])
def test_where_nobody_answers_the_session_waits_and_nothing_is_written(work, human):
    done = work(ASKS + EDITS, human=human)
    assert done.ending.outcome == "unanswered"
    assert "coder asks: Which port? Answer with: ai-rails answer " in done.ending.message
    assert not (work.project / "a.txt").exists()
    again = work.resume("Good.", human=typed("1\n"), approvals=["approve"])
    assert "The user answers: 80" in again.told[0]
    assert (work.project / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize(("words", "said"), [(["2"], "8080"), (["my", "own"], "my own")])
def test_an_answer_that_is_given_later_is_read_when_the_session_goes_on(work, capsys, words, said):
    work(ASKS, human=Unattended())
    assert answered_later(work.project) == 0
    assert "[1] 80" in capsys.readouterr().out
    assert answered_later(work.project, *words) == 0
    with pytest.raises(UsageError, match="No agent asks anything"):
        answered_later(work.project, "again")
    done = work.resume("Good.", human=Unattended())
    assert f"The user answers: {said}" in done.told[0]


def test_the_page_answers(tmp_path):
    (tmp_path / "p").mkdir()
    run = Run(tmp_path / "p", ASKS)
    run.session.contained.human = AtBoth(run.queue, None)
    run.begin()
    inbox = Inbox(run.state, KEY)
    question = None
    while question is None:
        time.sleep(0.05)
        question = inbox.open(run.id)
    asked = inbox.asked(question)
    assert [one.word for one in asked.options] == [*OPTIONS, "feedback"]
    with pytest.raises(LogBusyError):
        answered_later(run.project, "80")
    inbox.decide(run.id, question.number, PageAnswer("choose", asked.digest, "9090", choice="feedback"))
    run.end()
    assert "The user answers: 9090" in run.events("TOOL_EXECUTION_RESULT")[0]["text"]


def test_a_question_of_a_run_that_was_killed_is_answered_later(tmp_path, capsys):
    (tmp_path / "p").mkdir()
    run = Run(tmp_path / "p", ASKS)
    run.session.contained.human = AtBoth(run.queue, None)
    run.begin()
    inbox = Inbox(run.state, KEY)
    while (question := inbox.open(run.id)) is None:
        time.sleep(0.05)
    copytree(run.project, tmp_path / "killed", ignore=ignore_patterns("*.sock"))
    assert answered_later(tmp_path / "killed", "2") == 0
    assert "Saved. To continue" in capsys.readouterr().out
    inbox.decide(run.id, question.number, PageAnswer("choose", inbox.asked(question).digest, choice="80"))
    run.end()


def test_every_role_but_the_overseer_may_ask():
    from tests.shipped import registry_with, shipped_agents

    tool = registry_with().get("ask_user")
    access = {name: tool.access_of(name) for name in shipped_agents()}
    assert access.pop("overseer") == "none"
    assert set(access.values()) == {"free"}
