"""``ai-rails review`` on a terminal of its own: the application with Textual, plain text without it or with --plain."""

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest

ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1bP.*?\x1b\\")


@pytest.fixture
def project(tmp_path, stories):
    stories.hard(tmp_path / ".rails")
    return tmp_path


def on_a_terminal(project, *words, keys=(), wait_for="", code=""):
    """Run the command on a pseudo-terminal, type ``keys`` once ``wait_for`` is there, and return what came."""
    start = f"import sys\n{code}\nfrom rails.cli import main\nsys.exit(main(sys.argv[1:]))"
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "LINES": "30", "COLUMNS": "110"}
    process = subprocess.Popen(
        [sys.executable, "-c", start, "review", *words, "--project", str(project)],
        stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True,
    )  # fmt: skip
    os.close(slave)
    got, deadline, left = "", time.monotonic() + 60, list(keys)
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([master], [], [], 0.2)
            if ready:
                try:
                    data = os.read(master, 65_536)
                except OSError:
                    break
                got += data.decode("utf-8", "replace")
            elif process.poll() is not None:
                break
            if left and wait_for in ESCAPES.sub("", got):
                os.write(master, left.pop(0).encode())
                time.sleep(0.1)
        return process.wait(10), got
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_the_application_opens_draws_and_leaves_the_terminal_as_it_was(project):
    code, got = on_a_terminal(project, keys=["q"], wait_for="1 session")
    assert code == 0
    assert "Add a --json flag" in ESCAPES.sub("", got)
    assert "\x1b[?1049h" in got
    assert got.rfind("\x1b[?1049l") > got.rfind("\x1b[?1049h")


def test_plain_is_plain_text(project):
    code, got = on_a_terminal(project, "--plain")
    assert code == 0
    assert "\x1b[?1049h" not in got
    assert "Sessions" in got
    assert "✕✕✕✕✕✕·■·✓" in ESCAPES.sub("", got)


def test_without_textual_it_is_plain_text_and_one_line_says_how_to_get_more(project):
    hide = (
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'textual' else find(name, *rest)"
    )
    code, got = on_a_terminal(project, code=hide)
    assert code == 0
    assert got.count("pip install 'textual") == 1
    assert "Add a --json flag" in got
    assert "\x1b[?1049h" not in got


def test_a_pipe_gets_plain_text_and_loads_no_textual(project):
    code = (
        "import sys\nfrom rails.cli import main\nmain(['review', '--project', sys.argv[1]])\n"
        "print('textual' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(project)], capture_output=True, text=True, check=True)
    assert "Sessions" in done.stdout
    assert done.stdout.endswith("False\n")
    assert "pip install" not in done.stderr
