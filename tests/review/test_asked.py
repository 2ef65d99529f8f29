"""A session that paused because its agent asked something: every view says so, with the question and how to answer."""

import json

import pytest

from rails.cli import main
from rails.core.events.base import UnknownEvent
from rails.log.writer import SessionLog
from rails.review.web.pages import Pages
from rails.review.web.reports import Reports
from rails.session.ask_user import UserQuestion, as_logged
from tests.rows import walked

LINES = ("── coder asks ──────────", "  Which port?", "  It goes into a.py.")
QUESTION = UserQuestion(
    "question", LINES, {"1": ("80", "80"), "2": ("8080", "8080")}, "", free=True, request_id="t1.1", agent="coder"
)
CALL = {"tool_name": "ask_user", "parameters": {"question": "Which port?"}, "explanation": "because"}
RAW = '{"tool": "ask_user"}'


@pytest.fixture
def paused(tmp_path, monkeypatch):
    """A project with a session whose agent waits for words."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with SessionLog.create(tmp_path / ".rails", session_id="20261126-010000-aaaa") as log:

        def say(kind, /, **details):
            log.append(UnknownEvent(kind, kind.lower(), details), "coder", "m")

        say("WORKFLOW_START", task="serve it")
        say("LLM_CALL", turn=1)
        say("LLM_RESPONSE", text=RAW, prose="", stop_reason="end_turn", usage={})
        say("MCP_REQUEST_FORMULATED", id="t1.1", dialect="s0", start=0, end=9, repairs=[], **CALL)
        say("TOOL_REQUEST_VALIDATED", id="t1.1", tool_name="ask_user", coerced=[])
        log.append(as_logged(QUESTION), "coder")
    return tmp_path


HOW = "Answer with: ai-rails answer 20261126-010000-aaaa WORDS."


@walked("words", [["review"], ["review", "last"], ["review", "last", "--markdown"]])
def test_every_form_has_the_question_and_how_to_answer(paused, capsys, words):
    assert main([*words, "--project", str(paused)]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Which port? It goes into a.py." in out
    assert HOW in out
    assert "nfinished" not in out
    assert RAW not in out.split("Its parameters")[0]


def test_turn_list_and_page_call_it_asked(paused, capsys):
    assert main(["review", "last", "--json", "--project", str(paused)]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["turns"][0]["outcome"] == "asked"
    assert value["turns"][0]["approvals"][0]["question"] == ["Which port?", "It goes into a.py."]
    pages = Pages(paused / ".rails")
    listed = Reports(paused / ".rails", pages.card).sessions()["html"]
    assert "Asked" in listed
    assert "Which port? It goes into a.py." in listed
    window = pages.window("20261126-010000-aaaa")
    assert "Asked" in window.head
    assert HOW in window.turns[0]["html"]


def test_once_it_is_answered_the_turn_says_what_was_asked_and_answered(paused, capsys):
    assert main(["answer", "last", "2", "--project", str(paused)]) == 0
    capsys.readouterr()
    assert main(["review", "last", "--project", str(paused)]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "turn 1 coder done" in out
    assert "question Which port? It goes into a.py. answer 8080" in out
    assert "Answer with" not in out
    assert main(["review", "--filter", "is:asked", "--project", str(paused)]) == 0
    assert "No session matches" in capsys.readouterr().out
