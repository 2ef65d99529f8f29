"""A conversation of forty turns in a real terminal: follow-ups, an undo, leaving and coming back."""

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rails.core.events.changes import Undo
from rails.core.events.session import AgentEngage, HumanSteered
from rails.core.events.turn import LlmResponse
from rails.log.reader import read_lenient

PROGRAM = str(Path(sys.executable).with_name("ai-rails"))
POLICY = '[[rule]]\ndecision = "allow"\ntool = ["write_file"]\npath = "**"\n'
TURNS = 40
#: Which of the answers write a file, each of which has an answer behind it that says so.
WRITES = (5, 20)


def write(number):
    parameters = {"file_path": f"note{number}.txt", "content": f"{number}\n"}
    request = {"type": "tool_request", "tool_name": "write_file", "parameters": parameters, "explanation": "x"}
    return f"I write it.\n```json\n{json.dumps(request)}\n```\n"


class Terminal:
    """The program at a pseudo-terminal: what is typed, and what has been shown so far."""

    def __init__(self, words, environment):
        theirs, ours = pty.openpty()
        self.process = subprocess.Popen(
            [PROGRAM, *words], stdin=ours, stdout=ours, stderr=ours, env=environment, start_new_session=True
        )
        os.close(ours)
        os.set_blocking(theirs, False)
        self.screen, self.shown = theirs, b""

    def wait_for(self, text, seconds=90):
        """Wait until a text is shown that was not shown before the last wait."""
        until = time.monotonic() + seconds
        while text.encode() not in self.shown:
            assert time.monotonic() < until, f"{text!r} was not shown; the last was {self.shown[-1500:]!r}"
            try:
                piece = os.read(self.screen, 65536)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            except OSError:
                piece = b""
            if not piece:
                assert text.encode() in self.shown, f"it ended; the last was {self.shown[-1500:]!r}"
            self.shown += piece
        self.shown = self.shown.partition(text.encode())[2]

    def say(self, words):
        self.wait_for("›")
        os.write(self.screen, words.encode() + b"\r")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.screen)


@pytest.fixture
def chat(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "config/ai-rails").mkdir(parents=True)
    (tmp_path / "config/ai-rails/policy.toml").write_text(POLICY)
    monkeypatch.chdir(folder)
    lines = []
    for number in range(1, TURNS + 1):
        lines += [write(number)] if number in WRITES else []
        lines.append(f"Answer<{number}>.")
    recording = tmp_path / "recorded.jsonl"
    recording.write_text("".join(f"{json.dumps({'role': 'assistant', 'content': one})}\n" for one in lines))
    environment = {
        **os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "COLUMNS": "200", "NO_COLOR": "1",
    }  # fmt: skip
    opened = []

    def start(*words):
        model = ["--model", f"recorded:{recording}", "--approve", "policy", "--plain"]
        opened.append(Terminal(["chat", *model, *words], environment))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.mark.timeout(400)
def test_forty_turns_with_an_undo_and_a_way_back(chat):
    def talk(terminal, numbers):
        for number in numbers:
            terminal.say(f"words {number}")
            terminal.wait_for(f"Answer<{number}>.")

    first = chat()
    talk(first, range(1, 22))
    assert Path("note20.txt").read_text() == "20\n"
    first.say("/undo")
    first.wait_for("removed note20.txt")
    assert not Path("note20.txt").exists()
    first.say("/quit")
    first.wait_for("ai-rails chat --resume")
    assert first.process.wait(60) == 0
    second = chat("--resume")
    talk(second, range(22, TURNS + 1))
    second.say("/quit")
    second.wait_for("summary")
    assert second.process.wait(60) == 0
    (log,) = Path(".rails/sessions").glob("*/log.jsonl")
    events = [record.event for record in read_lenient(log)[0]]
    said = [one.text for one in events if isinstance(one, HumanSteered)]
    assert said == [f"words {number}" for number in range(2, TURNS + 1)]
    assert sum(isinstance(one, LlmResponse) for one in events) == TURNS + len(WRITES)
    assert sum(isinstance(one, AgentEngage) for one in events) == 1
    assert [one.step for one in events if isinstance(one, Undo)] == [2]
    assert Path("note5.txt").exists()
