"""A conversation: follow-ups in one session and log, commands between answers, leaving and coming back."""

import http.client
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rails.cli import main
from rails.core.events.session import AgentEngage, Escalation, HumanSteered, WorkflowEnd
from rails.core.events.turn import ContextReduced, OutputRefused
from rails.log.reader import read_lenient
from rails.models.recorded import RecordedModel
from rails.testing.server import StubServer, says
from tests.commands.terminal import Terminal

PROGRAM = str(Path(sys.executable).with_name("ai-rails"))
POLICY = '[[rule]]\ndecision = "allow"\ntool = ["write_file", "edit_file"]\npath = "**"\n'


def write(path, content):
    parameters = {"file_path": path, "content": content}
    request = {"type": "tool_request", "tool_name": "write_file", "parameters": parameters, "explanation": "x"}
    return f"I write it.\n```json\n{json.dumps(request)}\n```\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "config/ai-rails").mkdir(parents=True)
    (tmp_path / "config/ai-rails/policy.toml").write_text(POLICY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def chat(project, tmp_path, monkeypatch, capsys):
    """Say lines to a model whose answers are given; returns the exit code and what was shown."""

    def talk(answers, lines, *words):
        file = tmp_path / "recorded.jsonl"
        file.write_text("".join(f"{json.dumps({'role': 'assistant', 'content': one})}\n" for one in answers))
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = main(["chat", "--model", f"recorded:{file}", "--approve", "policy", "--plain", *words])
        return code, capsys.readouterr().out

    return talk


def log_of(project):
    logs = sorted((project / ".rails/sessions").glob("*/log.jsonl"))
    assert len(logs) == 1
    return [record.event for record in read_lenient(logs[0])[0]]


def said_in(events):
    return [one.text for one in events if isinstance(one, HumanSteered) and one.about == "follow_up"]


def test_a_follow_up_goes_on_in_the_same_session_with_all_that_was_said(chat, project):
    code, shown = chat(["Hello.", write("a.txt", "one\n"), "Done it.", "Bye."], ["hi", "write a.txt", "thanks"])
    assert code == 0
    assert (project / "a.txt").read_text() == "one\n"
    assert "Bye." in shown
    events = log_of(project)
    assert said_in(events) == ["write a.txt", "thanks"]
    assert sum(isinstance(one, AgentEngage) for one in events) == 1
    assert not any(isinstance(one, WorkflowEnd) for one in events)
    assert "ai-rails chat --resume" in shown


def test_what_was_done_before_may_be_told_again_and_what_was_not_done_goes_back(chat, project):
    answers = ["Written.", "I have updated a.txt.", "I have fixed the rest.", "No."]
    chat([write("a.txt", "one\n"), *answers], ["write a.txt", "what did you do?", "and the rest?"])
    (told,) = (one for event in log_of(project) if isinstance(event, OutputRefused) for one in event.refusals)
    assert "'I have fixed the rest.'); nothing was written since you were asked" in told.message


def test_the_model_gets_the_same_messages_after_coming_back_as_without_leaving(project, monkeypatch, capsys):
    def said(*rounds):
        with StubServer([says(f"Answer {number}.") for number in range(4)]) as server:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-" + "0" * 24)
            model = ["--model", "anthropic:stub", "--base-url", server.url, "--approve", "policy", "--plain"]
            for number, lines in enumerate(rounds):
                monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
                main(["chat", *model, *(["--resume"] if number else [])])
        capsys.readouterr()
        return [[(one["role"], json.dumps(one["content"])) for one in r.body["messages"]] for r in server.requests]

    def plain(requests):
        return json.loads(json.dumps(requests).replace('\\"cache_control\\": {\\"type\\": \\"ephemeral\\"}', ""))

    at_once = said(["first", "second", "third"])
    in_two = said(["first", "/quit"], ["second", "third"])
    assert len(at_once) == len(in_two) == 3
    assert plain(at_once[-1]) == plain(in_two[-1])


def test_undo_takes_back_the_last_step_and_redo_does_it_again(chat, project):
    answers = [write("a.txt", "one\n"), "Done."]
    code, shown = chat(answers, ["write", "/undo", "/diff", "/redo", "/diff"])
    assert code == 0
    assert "removed a.txt" in shown
    assert "This session has changed nothing." in shown
    assert "1 +  one" in shown
    assert (project / "a.txt").read_text() == "one\n"


def test_a_step_that_was_done_again_is_in_effect_in_every_report(chat, project, capsys):
    chat([write("a.txt", "one\n"), "Done."], ["write", "/undo", "/redo"])
    assert "undone" not in review(capsys, "last")
    assert "write" not in review(capsys, "--filter", "is:undone")
    main(["undo"])
    assert re.search(r"undone +│ steps 1\n", review(capsys, "last"))
    assert "write" in review(capsys, "--filter", "is:undone")


def review(capsys, *words):
    capsys.readouterr()
    main(["review", *words])
    return capsys.readouterr().out


@pytest.mark.parametrize("word", ["exit", "quit", "/exit"])
def test_the_words_that_leave_other_programs_leave_this_one_too(chat, project, word):
    _, shown = chat(["Hello.", "Not said."], ["hi", word, "go on"])
    assert "Not said." not in shown
    assert "ai-rails chat --resume" in shown


def test_words_that_begin_with_a_path_are_no_command(chat, project):
    _, shown = chat(["Hello.", "I look."], ["hi", "/src/a.py is broken"])
    assert "I look." in shown
    assert said_in(log_of(project)) == ["/src/a.py is broken"]


def test_undo_with_nothing_to_undo_is_a_sentence_and_the_conversation_goes_on(chat):
    code, shown = chat(["Hello.", "Again."], ["hi", "/undo", "go on"])
    assert code == 0
    assert "nothing to undo" in shown
    assert "Again." in shown


@pytest.mark.parametrize("line", ["/help", "/nonsense", "/model", "/agent"])
def test_every_command_is_answered_and_nothing_of_it_goes_to_the_model(chat, project, line):
    code, shown = chat(["Hello.", "Again."], ["hi", line, "go on"])
    assert code == 0
    assert "Again." in shown
    assert said_in(log_of(project)) == ["go on"]


def test_clear_begins_a_session_anew(chat, project):
    chat(["Hello.", "Again."], ["hi", "/clear", "hello"])
    assert len(list((project / ".rails/sessions").iterdir())) == 2


def test_another_agent_begins_a_session_of_its_own(chat, project):
    _, shown = chat(["Hello.", "Again."], ["hi", "/agent reviewer", "hello"])
    assert "code-review: hello" in shown
    assert len(list((project / ".rails/sessions").iterdir())) == 2


def test_a_model_or_agent_that_there_is_not_is_said_and_the_conversation_goes_on(chat, project):
    code, shown = chat(["Hello.", "Again."], ["hi", "/model nonsense:x", "/agent nobody", "/model openai:", "go on"])
    assert code == 0
    assert "Unknown model 'nonsense:x'" in shown
    assert "nobody" in shown
    assert "Again." in shown
    assert said_in(log_of(project)) == ["go on"]


def test_another_model_can_be_named_before_the_first_words(chat, project, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"role": "assistant", "content": "The other."}) + "\n")
    code, shown = chat(["Hello."], [f"/model recorded:{other}", "hi"])
    assert code == 0
    assert "The other." in shown


def test_another_model_goes_on_with_the_conversation_in_the_same_session(project, monkeypatch, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    other.write_text("".join(f"{json.dumps({'role': 'assistant', 'content': one})}\n" for one in ("One.", "Two.")))
    with StubServer([says("Red it is.")]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-" + "0" * 24)
        monkeypatch.setattr("sys.stdin", io.StringIO("I like red\n/model anthropic:stub\nwhat do I like?\n"))
        main(["chat", "--model", f"recorded:{other}", "--base-url", server.url, "--approve", "policy", "--plain"])
        sent = json.dumps(server.requests[0].body["messages"])
    assert "Red it is." in capsys.readouterr().out
    assert "I like red" in sent
    assert "One." in sent
    assert said_in(log_of(project)) == ["what do I like?"]


@pytest.mark.parametrize("how", ["/plan", "--mode"])
def test_a_plan_changes_nothing_until_go(chat, project, how):
    words, lines = (["--mode", "plan"], []) if how == "--mode" else ([], ["/plan"])
    answers = [write("a.txt", "one\n"), "I would write a.txt.", write("a.txt", "one\n"), "Done."]
    _, shown = chat(answers[:2], [*lines, "write a.txt"], *words)
    assert "denied by plan mode" in shown
    assert not (project / "a.txt").exists()
    (project / ".rails").rename(project.parent / "before")
    chat(answers, [*lines, "write a.txt", "go"], *words)
    assert (project / "a.txt").read_text() == "one\n"


def test_rewind_takes_files_and_conversation_back_to_a_turn(project, monkeypatch, capsys):
    answers = [
        says(write("a.txt", "one\n")),
        says("First."),
        says(write("a.txt", "two\n")),
        says("Second."),
        says("New."),
    ]
    with StubServer(answers) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-" + "0" * 24)
        lines = "write one\nwrite two\n/rewind 9\n/rewind 4\nsomething else\n/quit\n"
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        model = ["--model", "anthropic:stub", "--base-url", server.url, "--approve", "policy", "--plain"]
        main(["chat", *model, "--protocol", "json"])
        monkeypatch.setattr("sys.stdin", io.StringIO("and more\n"))
        main(["chat", *model, "--resume"])
    shown = capsys.readouterr().out
    assert "/rewind takes the number of a turn of this session" in shown
    assert "Files and conversation are as they were before turn 4." in shown
    assert "rewind: " not in shown, "it was just typed"
    assert (project / "a.txt").read_text() == "one\n"
    for request in server.requests[4:]:
        sent = json.dumps(request.body["messages"])
        assert "First." in sent
        assert "something else" in sent
        assert "write two" not in sent
        assert "Second." not in sent


@pytest.mark.parametrize(("words", "code"), [([], 3), (["--model", "nonsense:x"], 2)])
def test_without_a_model_it_is_said_before_anything_is_typed(project, monkeypatch, capsys, words, code):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("do something long\n"))
    assert main(["chat", *words]) == code
    shown = capsys.readouterr()
    assert "Type a task" not in shown.out
    assert ("ANTHROPIC_API_KEY is not set. Set it" if not words else "Unknown model") in shown.err


def test_a_question_in_which_all_was_refused_says_so_and_the_next_one_is_heard(chat, project):
    code, shown = chat([write("../x", "one\n"), "I could not.", "Fine."], ["write", "then leave it"])
    assert code == 0
    assert "Fine." in shown


def test_no_words_at_all_start_nothing(chat, project):
    code, _ = chat(["Hello."], [])
    assert code == 0
    assert not (project / ".rails").exists()


@pytest.mark.parametrize("history", ["kept", "a folder"])
def test_ai_rails_alone_talks_at_a_terminal_and_helps_elsewhere(project, tmp_path, history):
    if history == "a folder":
        (tmp_path / "config/ai-rails/chat_history").mkdir()
    assert subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 2
    here = Terminal(project, {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"})
    here.until("›")
    here.type("/quit\r")
    assert here.end() == 0
    assert "Type a task" in here.seen
    assert "Traceback" not in here.seen


def test_at_a_terminal_an_answer_streams_ctrl_c_keeps_what_came_and_a_line_says_what_is_left(project):
    slow = says("I begin.\n\nThe second thing comes.\n\n" + "and then " * 3_000, chunk_chars=12, pause_s=0.1)
    environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "OPENAI_API_KEY": "k"}
    with StubServer([says(write("a.txt", "one\n")), says("Done."), slow, says("Fine.")]) as stub:
        words = ("chat", "hi", "--model", "openai:gpt-5.1", "--base-url", f"{stub.url}/v1", "--protocol", "json")
        here = Terminal(project, environment, *words, "--approve", "policy")
        here.until("context left")
        here.type("/diff\r")
        here.until("\x1b[32m")
        here.type("talk\r")
        here.until("The second thing comes.")
        here.type("\x03")
        here.until("Stopped. What was written stays")
        here.type("go on\r")
        here.until("Fine.")
        here.type("/quit\r")
        assert here.end() == 0
        sent = stub.requests[3].body["messages"]
    assert "tokens in" in here.seen
    assert "USD" in here.seen, "the price of a known model ships"
    assert [one["role"] for one in sent[-3:]] == ["user", "assistant", "user"]
    assert "The second thing comes." in json.dumps(sent[-2])
    assert r"The person interrupted your answer. Nothing of it was executed.\n\ngo on" in json.dumps(sent[-1])


def talk_at(stub, project, *words):
    environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "ANTHROPIC_API_KEY": "k"}
    model = ("--model", "anthropic:claude-sonnet-5-5", "--base-url", stub.url, "--protocol", "json")
    return Terminal(project, environment, "chat", "hi", *model, *words)


def pressed(here, keys, shown):
    """Press keys until the screen shows, after them, what they are for."""
    here.seen = ""
    here.type(keys)
    here.until(shown)


def test_what_is_typed_while_an_answer_is_made_is_shown_and_is_the_next_turn(project):
    slow = says("It comes.\n\n" + "and then " * 12, chunk_chars=12, pause_s=0.3)
    with StubServer([slow, says("Second."), says("Third.")]) as stub:
        here = talk_at(stub, project, "--approve", "policy")
        here.until("It comes.")
        pressed(here, "and the tesst\x7f\x7ft\x1b[Ds\r", "queued: and the tests")
        pressed(here, "one\ntwo\nthree", "› one")
        here.until("context left")
        assert len(stub.requests) == 2, "a paste, and what has no Enter, waits for another look"
        here.type("\r")
        here.until("Third.")
        here.type("/quit\r")
        assert here.end() == 0
        sent = [request.body["messages"][-1] for request in stub.requests]
    assert "and the tests" in json.dumps(sent[1])
    assert "one\\ntwo\\nthree" in json.dumps(sent[2])


def test_after_an_answer_that_was_stopped_what_was_queued_is_not_sent_unseen(project):
    slow = says("It comes.\n\n" + "and then " * 3_000, chunk_chars=12, pause_s=0.1)
    with StubServer([slow, says("Second.")]) as stub:
        here = talk_at(stub, project, "--approve", "policy")
        here.until("It comes.")
        pressed(here, "next\r", "queued: next")
        here.type("\x03")
        here.until("Stopped. What was written stays")
        here.until("› next")
        here.type("\x7f\x7f\x7f\x7f/quit\r")
        here.end()
        assert len(stub.requests) == 1


def test_a_wider_approval_is_shown_while_it_holds_and_one_key_revokes_it(project):
    slow = says("It comes.\n\n" + "and then " * 12, chunk_chars=12, pause_s=0.3)
    answers = [says(write("a.txt", "one\n")), slow, says(write("b.txt", "one\n")), says("I leave it.")]
    with StubServer(answers) as stub:
        here = talk_at(stub, project)
        here.until("then Enter:")
        time.sleep(0.5)  # early keys do not count
        here.type("w\r")
        here.until("It comes.")
        here.until("Alt-R revokes grant 1")
        here.until("USD · Alt-R revokes")
        pressed(here, "\x1brmore\r", "then Enter:")
        time.sleep(0.5)
        pressed(here, "d no\r", "I leave it.")
        here.until("context left")
        here.type("/quit\r")
        assert here.end() == 0
    assert (project / "a.txt").exists()
    assert not (project / "b.txt").exists()


def test_compact_lets_a_page_stand_for_what_was_said_and_the_words_of_the_person_are_on_it(chat, project, monkeypatch):
    code, shown = chat(["Hello.", "Second.", "Third.", "Fourth."], ["hi", "keep it short", "more", "/compact", "go on"])
    assert code == 0
    assert "Context compacted: " in shown
    assert "Fourth." in shown, "the recording goes on behind what the page stands for"
    (step,) = [one for one in log_of(project) if isinstance(one, ContextReduced)]
    assert step.page.startswith("hi")
    assert "- keep it short" in step.page


def test_a_small_model_is_not_asked_its_first_task_again_in_place_of_what_was_said_since(chat, project, monkeypatch):
    monkeypatch.setattr(RecordedModel, "local", True)
    answers = [f"a.py\n```python\n{text}\n```\n" for text in ("x = 1", "def (", "y = 1")]
    chat(answers, ["Write a.py.", "Name it y."], "--protocol", "whole")
    assert not [event for event in log_of(project) if isinstance(event, Escalation)]
    assert (project / "a.py").read_text() == "y = 1\n"


def test_compact_with_nothing_to_leave_out_says_so(chat, project):
    _, shown = chat(["Hello."], ["/compact", "hi", "/compact"])
    assert "Nothing was said yet." in shown
    assert "There is nothing to leave out yet." in shown


class Page:
    """The page of a running conversation, as a browser speaks to it."""

    def __init__(self, address):
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]+)&s=([\w-]+)", address)
        self.port = int(found[1])
        self.token = found[2]
        self.session = found[3]

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        own = f"http://127.0.0.1:{self.port}"
        headers = {"X-AI-Rails-Token": token or self.token, "Origin": own, "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if text.startswith("{") else text

    def say(self, words, **given):
        return self.ask("POST", "/api/say", json.dumps({"session": self.session, "words": words}), **given)

    def wait_until_it_hears(self):
        until = time.monotonic() + 60
        while not self.ask("GET", f"/api/session/{self.session}/hears")[1]["hears"]:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_the_page_has_a_field_for_the_conversation_and_what_is_said_there_goes_on_in_it(project, tmp_path):
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(f"{json.dumps({'role': 'assistant', 'content': one})}\n" for one in ("Hello.", "Fine.")))
    words = [PROGRAM, "chat", "hi", "--model", f"recorded:{file}", "--approve", "policy", "--plain", "--web"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        page = Page(next(line for line in process.stdout if "token=" in line))
        page.wait_until_it_hears()
        assert page.say("x" * 30_000)[0] == 400
        assert page.say(" ")[0] == 400
        assert page.say("thanks", token="none")[0] in (401, 403, 404)
        status, said = page.say("thanks")
        assert (status, said["state"]) == (202, "sent")
        assert any("Fine." in line for line in process.stdout)
        page.wait_until_it_hears()
        assert page.say("/quit")[0] == 202
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert said_in(log_of(project)) == ["thanks"]
