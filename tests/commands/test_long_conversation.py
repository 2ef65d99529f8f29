"""A conversation in a real terminal: follow-ups, an undo, leaving and coming back."""

import json
import os
from pathlib import Path

from rails.core.events.changes import Undo
from rails.core.events.session import AgentEngage, HumanSteered
from rails.core.events.turn import LlmResponse
from rails.log.reader import read_lenient

from .terminal import Terminal

POLICY = '[[rule]]\ndecision = "allow"\ntool = ["write_file"]\npath = "**"\n'
TURNS = 8
#: Which of the answers write a file, each of which has an answer behind it that says so.
WRITES = (2, 4)


def write(number):
    parameters = {"file_path": f"note{number}.txt", "content": f"{number}\n"}
    request = {"type": "tool_request", "tool_name": "write_file", "parameters": parameters, "explanation": "x"}
    return f"I write it.\n```json\n{json.dumps(request)}\n```\n"


def test_a_conversation_with_an_undo_and_a_way_back(tmp_path, monkeypatch):
    project = tmp_path / "project"
    config = tmp_path / "config"
    (project / ".git").mkdir(parents=True)
    config.mkdir()
    (config / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(project)
    recording = tmp_path / "recorded.jsonl"
    with recording.open("w") as lines:
        for number in range(1, TURNS + 1):
            for text in (*([write(number)] if number in WRITES else []), f"Answer<{number}>."):
                lines.write(f"{json.dumps({'role': 'assistant', 'content': text})}\n")
    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"}
    environment |= {"AI_RAILS_CONFIG_DIR": str(config)}
    words = ("chat", "--model", f"recorded:{recording}", "--approve", "policy", "--plain")

    def talk(terminal, numbers):
        for number in numbers:
            terminal.until("›")
            terminal.type(f"words {number}\r")
            terminal.until(f"Answer<{number}>.")
            terminal.seen = terminal.seen.partition(f"Answer<{number}>.")[2]

    def leave(terminal):
        terminal.until("›")
        terminal.type("/quit\r")
        terminal.until("ai-rails chat --resume")
        assert terminal.end() == 0, terminal.seen

    first = Terminal(project, environment, *words, columns=200)
    talk(first, range(1, 6))
    assert Path("note4.txt").read_text() == "4\n"
    first.until("›")
    first.type("/undo\r")
    first.until("removed note4.txt")
    assert not Path("note4.txt").exists()
    leave(first)
    second = Terminal(project, environment, *words, "--resume", columns=200)
    talk(second, range(6, TURNS + 1))
    leave(second)
    (log,) = Path(".rails/sessions").glob("*/log.jsonl")
    events = [record.event for record in read_lenient(log)[0]]
    said = [one.text for one in events if isinstance(one, HumanSteered) and one.about == "follow_up"]
    assert said == [f"words {number}" for number in range(2, TURNS + 1)]
    assert sum(isinstance(one, LlmResponse) for one in events) == TURNS + len(WRITES)
    assert sum(isinstance(one, AgentEngage) for one in events) == 1
    assert [one.step for one in events if isinstance(one, Undo)] == [2]
    assert Path("note2.txt").exists()
