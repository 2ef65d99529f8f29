"""Ctrl-C, even twice in quick succession, ends any stage of a command with a clean line, and nothing is half done."""

import json
import os
import random
import re
import signal
import subprocess
import sys

import pytest

from rails.log.reader import verify
from rails.testing import StubServer, says
from tests.commands.terminal import Terminal, model_at

MARK = str(random.randrange(10**6, 10**7))  # seconds that a program of ours sleeps, by which it is found
LONG = "I begin.\n\nNow\n" + "and then " * 500
SLOW = {"chunk_chars": 12, "pause_s": 0.2}
WRITE = '```json\n{"tool": "write_file", "path": "hello.txt", "content": "hello\\n"}\n```\n'
WAIT = '```json\n{"tool": "wait_long", "parameters": {}}\n```\n'
TOOL = {
    "tool_name": "wait_long",
    "description": "Waits.",
    "access_control": {"coder": "permissioned_access"},
    "request_schema": {"type": "object", "properties": {}},
    "transport": {"type": "command", "command": ["sleep", MARK]},
    "timeout_s": 600,
}
CHECK = f'[[gate.command]]\nname = "slow"\nrun = ["sleep", "{MARK}"]\ntimeout = 600\n'


def sleeps():
    """Whether the program that a stage has started is there."""
    shown = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True)
    return any(MARK in line for line in shown.stdout.splitlines() if "sleep" in line)


def keys(*steps):
    """What is waited for and then typed, step by step; the last is waited for only."""

    def walk(terminal, _stub):
        for words, typed in zip(steps[::2], (*steps[1::2], None), strict=False):
            terminal.until(words)
            if typed is not None:
                terminal.type(typed)

    return walk


def asked(terminal, stub):
    """The model was asked, and has not begun to answer."""
    terminal.until(lambda: bool(stub.requests))


#: A stage: the words of the command line, the model's answers, and what is waited for before Ctrl-C.
RUN = ("run", "write hello")
STAGES = {
    "before the first byte": (RUN, [says("x", hang_s=120)], asked),
    "in the stream": (RUN, [says(LONG, **SLOW)], keys("I begin.")),
    "a tool runs": (RUN, [says(WAIT)], keys("Enter: ", "approve\n", sleeps)),
    "a check runs": (("gate", "--trust", "ok.txt"), [], keys("let them run: ", "trust\n", sleeps)),
    "a question": (RUN, [says(WRITE)], keys("Enter: ")),
    "the page": (("serve",), [], keys("Press Ctrl-C")),
}


@pytest.fixture
def place(tmp_path):
    """A project in git with a slow tool, a slow check, a slow editor and a task, and what the commands run with."""
    project = tmp_path / "project"
    config = tmp_path / "config"
    temporary = tmp_path / ("of a longer name than any socket may have" * 2)
    for folder in (project / ".rails", project / "mcp_definitions", config, temporary):
        folder.mkdir(parents=True)
    (project / "ok.txt").write_text("fine\n")
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment |= {
        "AI_RAILS_CONFIG_DIR": str(config),
        "AI_RAILS_LANG": "en",
        "ANTHROPIC_API_KEY": "k",
        "OPENAI_API_KEY": "k",
    }
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", "TMPDIR": str(temporary)}
    return project, environment


def prepare(project, stage):
    """Put what a stage needs into the project."""
    if stage == "a tool runs":
        (project / "mcp_definitions" / "wait_long.json").write_text(json.dumps(TOOL))
    if stage == "a check runs":
        (project / ".rails.toml").write_text(CHECK)


@pytest.mark.parametrize("stage", STAGES)
def test_control_c_ends_a_stage_with_a_clean_line_and_nothing_half_done(place, stage):
    project, environment = place
    words, replies, wait = STAGES[stage]
    prepare(project, stage)
    with StubServer(replies) as stub:
        words = [word.replace("URL", stub.url) for word in words]
        if words[0] == "run":
            words += model_at(stub, stage == "in the stream")
        terminal = Terminal(project, environment, *words)
        wait(terminal, stub)
        terminal.type("\x03\x03")
        code = terminal.end()
    # While Python takes itself apart, the second one ends it as it ends any program: for a shell that is 130, too.
    wanted = (0, 130) if words[0] in ("serve", "mcp") else (130,)  # whether they serve already
    assert code in (*wanted, -signal.SIGINT), terminal.seen[-2000:]
    for bad in ("Traceback", "Exception ignored", "Warning:"):
        assert bad not in terminal.seen, terminal.seen[-2000:]
    assert not (project / "hello.txt").exists()
    if stage != "a tool runs":  # its own parent ends it, which may take a moment
        assert not sleeps()
    if words[0] == "run":
        shown = terminal.seen.partition("Stopped by Ctrl-C. What was approved and written stays")[2]
        before = re.sub(r"\^C(\x1b\[[\d;]*m)*$", "", terminal.seen.partition("Stopped by Ctrl-C.")[0])
        assert "\n" in before.rpartition("^C")[2]  # the second may be shown when the first was answered already
        for said in ("summary", "go on:      ai-rails run --resume ", "\x1b[?25h"):
            assert said in (terminal.seen if said.startswith("\x1b") else shown), said
        assert "undo it:" not in shown
        (log,) = (project / ".rails" / "sessions").glob("*/log.jsonl")
        assert verify(log).ok


@pytest.mark.parametrize("stage", ["in the stream", "/compact"])
def test_control_c_in_a_conversation_stops_what_is_under_way_and_not_the_conversation(place, stage):
    project, environment = place
    replies = (
        [says(LONG, **SLOW)] if stage == "in the stream" else [says("First."), says("Second."), says("x", hang_s=120)]
    )
    with StubServer(replies) as stub:
        terminal = Terminal(project, environment, "chat", "hi", *model_at(stub, stage == "in the stream"))
        if stage == "in the stream":
            terminal.until("I begin.")
        else:
            for number, typed in enumerate(("more\r", "/compact\r"), start=1):
                terminal.until(lambda: terminal.seen.count("\u203a") >= number)  # noqa: B023 - called at once
                terminal.type(typed)
                terminal.until(lambda: len(stub.requests) > number)  # noqa: B023
        terminal.type("\x03")
        terminal.until("the conversation continues")
        said = len(terminal.seen)
        terminal.until(lambda: "\u203a" in terminal.seen[said:])
        terminal.type("/quit\r")
        assert (code := terminal.end()) == 0, (code, terminal.seen[-2000:])
    after = terminal.seen[said:]
    assert "is answering" not in after
    assert "Traceback" not in terminal.seen
    assert "ai-rails chat --resume " in after


def test_control_c_caught_while_a_library_made_a_class_of_a_text_does_not_change_how_the_command_ends():
    code = "from rails.commands.exit import settle_streams\n"
    code += "try: exec('raise KeyboardInterrupt')\nexcept KeyboardInterrupt: pass\nsettle_streams(0)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "main",
    ["lambda: 3", "lambda: sys.exit(3)", "lambda: threading.Timer(0.01, int).start() or 3"],
    ids=["returned", "argparse", "a thread is waited for"],
)
def test_control_c_while_a_command_that_is_done_is_taken_apart_changes_nothing(main):
    code = "import os, sys, threading\nfrom rails import cli\n"
    code += "class Last:\n    def __del__(self, kill=os.kill, us=os.getpid()): kill(us, 2)\n"
    code += f"last = Last()\ncli.main = {main}\ncli.console()"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (3, b"")
