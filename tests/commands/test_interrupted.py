"""Ctrl-C leaves a clean screen and the way to go on, at any moment, and what is resumed remembers how it began."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from rails.commands.job import reopen
from rails.commands.log import chosen_session
from rails.core.errors import UsageError
from rails.log.writer import SessionLog
from rails.session.job import SessionJob, log_session_start
from rails.testing import StubServer, says
from tests import warm
from tests.commands.terminal import Terminal, model_at

WRITE = '```json\n{"tool": "write_file", "path": "hello.txt", "content": "hello\\n"}\n```\n'


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "project").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    ours = {"AI_RAILS_CONFIG_DIR": str(tmp_path / "config"), "AI_RAILS_LANG": "en", "ANTHROPIC_API_KEY": "k"}
    ours["OPENAI_API_KEY"] = "k"
    return {**kept, **ours, "TERM": "xterm-256color", "COLUMNS": "100"}


@pytest.mark.parametrize("moment", ["answering", "asking"])
def test_control_c_ends_with_a_summary_and_the_command_to_go_on(tmp_path, environment, moment):
    project = tmp_path / "project"
    slow = {"chunk_chars": 12, "pause_s": 0.2} if moment == "answering" else {}
    replies = [says(f"I begin.\n\nNow\n{'and then ' * 500 if slow else WRITE}", **slow)]
    with StubServer(replies) as stub:
        terminal = Terminal(project, environment, "run", "write hello", *model_at(stub, moment == "answering"))
        terminal.until("I begin." if moment == "answering" else "then Enter: ")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
    for words in ("Stopped by Ctrl-C.", "summary", "go on:", "ai-rails run --resume ", "\x1b[?25h"):
        assert words in terminal.seen, words
    assert "undo it:" not in terminal.seen
    assert not (project / "hello.txt").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_session_that_a_signal_ends_says_how_to_go_on(tmp_path, environment, number):
    project = tmp_path / "project"
    with StubServer([says("I begin.\n\nNow\n" + "and then " * 500, chunk_chars=12, pause_s=0.2)]) as stub:
        terminal = Terminal(project, environment, "run", "write hello", *model_at(stub, number == signal.SIGTERM))
        terminal.until("I begin.")
        terminal.process.send_signal(number)
        assert terminal.end() == 128 + number
    assert "Traceback" not in terminal.seen
    for words in (f"Stopped by {number.name}.", "go on:", "ai-rails run --resume "):
        assert words in terminal.seen, words


STAND_IN = "type('Gone', (), {'flush': lambda self: 1 / 0, 'write': len})()"
CLOSED = "open('/dev/full', 'w')"


@pytest.mark.parametrize("stream", [STAND_IN, CLOSED])
def test_what_cannot_be_printed_at_the_end_does_not_change_the_exit_code(stream):
    """Python itself ends with 120 where a stream cannot be flushed."""
    real = "sys.__stdout__ = sys.stdout\n" if stream == CLOSED else ""
    said = "lambda: sys.stdout.write('held') and 129"
    code = f"import sys\nfrom rails import cli\nsys.stdout = {stream}\n{real}cli.main = {said}\ncli.console()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert done.returncode == 129, done.stderr


LOST = b"ai-rails: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [("--version >&-", 0, b""), ("gate nosuch.py 2>/dev/full", 2, b""), ("--version >/dev/full", 3, LOST)],
)
def test_a_stream_that_is_closed_or_full_counts_only_where_output_is_lost(tmp_path, environment, words, code, said):
    """As with git: what was printed to a full disk is no success, and a failure keeps its own exit code."""
    shell = f"{shlex.quote(sys.executable)} -m rails {words}"
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", said)


def began(project, environment, url):
    """A session that was interrupted by a kill, with a model and a server named."""
    words = ("run", "x", "--model", "anthropic:claude-test", "--base-url", url, "--correction", "model")
    return subprocess.Popen(
        [sys.executable, "-m", "rails", *words],
        cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def resumed(project, environment, *words):
    return warm.run(["run", "--resume", *words, "--approve", "policy"], cwd=project, env=environment)


@pytest.mark.parametrize("whose", ["mine", "somebody else's"])
def test_resume_goes_to_the_same_server_if_this_user_chose_it(tmp_path, environment, whose):
    project = tmp_path / "project"
    mine = [says("never sent", hang_s=60), says("Nothing to do.")]
    with StubServer(mine) as stub, StubServer([says("Nothing to do.")]) as usual:
        process = began(project, environment, stub.url)
        deadline = time.monotonic() + 60
        while not stub.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        if whose != "mine":  # the log comes with a checkout
            (tmp_path / "config" / "answers.key").write_bytes(b"x" * 32)
            environment["ANTHROPIC_BASE_URL"] = usual.url
        done = resumed(project, environment)
        asked = len(stub.requests)
    log = next((project / ".rails" / "sessions").iterdir()) / "log.jsonl"
    limits = json.loads(log.read_text().splitlines()[0])["details"]["limits"]
    assert (limits["model"], limits["base_url"]) == ("anthropic:claude-test", stub.url)
    if whose == "mine":
        assert f"--model anthropic:claude-test --base-url {stub.url} --correction model" in done.stdout
        assert (asked, done.returncode) == (2, 0), done.stdout
    else:
        assert "does not show that you chose them" in done.stdout
        assert asked == 1


def test_a_log_that_was_not_begun_does_not_hold_up_the_last_session(tmp_path):
    """One that Ctrl-C left empty is passed over; one whose start was torn names the session before it."""
    state = tmp_path / ".rails"
    with SessionLog.create(state, session_id="a") as log:
        log_session_start(SessionJob(tmp_path, (("coder", "x"),)), log, "m")
    SessionLog.create(state, session_id="b").close()
    log, standing = reopen(tmp_path, "", "")
    log.close()
    assert (log.session_id, standing.tasks) == ("a", (("coder", "x"),))
    assert chosen_session(state, "last").session_id == "a"
    (state / "sessions/b/log.jsonl").write_text('{"seq"')
    SessionLog.reopen(state, "b").close()
    with pytest.raises(UsageError, match=r"has no start.*The session before it: ai-rails run --resume a$"):
        reopen(tmp_path, "", "")
