"""What a terminal is shown fits it: lines are broken between words, a question's keys between two keys."""

import contextlib
import http.client
import io
import itertools
import os
import re
import socket
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rails.cli import main
from rails.commands.verbs import VERBS
from rails.models.http import status_error, unreached
from rails.render.terminal import fitted, unbroken
from tests.commands.terminal import Terminal
from tests.rows import walked

ANSWER = '```json\n{"tool": "write_file", "path": "hello.txt", "content": "hello\\n"}\n```\n'
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


@walked(("columns", "verb"), itertools.product([40, 60, 80, 120], [None, *VERBS]))
def test_help_fits_the_terminal(monkeypatch, columns, verb):
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen()
    with contextlib.redirect_stdout(screen), contextlib.suppress(SystemExit):
        main([verb, "--help"] if verb else ["--help"])
    lines = screen.getvalue().splitlines()
    assert len(lines) > 5
    # One word, and the name of an example, are not broken.
    assert not [line for line in lines if len(line) > columns and " " in line.strip() and "ai-rails" not in line]


@walked(("columns", "words"), itertools.product([60, 80], ["agents", "tools list", "config", "n8n rules", "doctor"]))
def test_lists_fit_the_terminal_and_lose_no_word(monkeypatch, tmp_path, columns, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))
    wide, narrow = io.StringIO(), Screen()
    for stream in (wide, narrow):
        with contextlib.redirect_stdout(stream):
            main(words.split())
    lines = narrow.getvalue().splitlines()
    assert "".join(narrow.getvalue().split()) == "".join(wide.getvalue().split())
    # An address, a path or a name with underscores is one word.
    assert not [line for line in lines if len(line) > columns and len(line.split()) > 4]


@example(" aaaaaaaaaaaaaaaa\u3042\u3042  ", 20)
@example(" aaaaaaaaaaaaaaaa\u3042\u3042  b", 20)
@given(st.lists(st.text("abcde \u3042", min_size=1), max_size=8).map("\n".join), st.integers(20, 60))
def test_text_that_is_broken_keeps_its_words_and_stays_whole_elsewhere(text, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        broken = fitted(text, Screen())
        assert "".join(broken.split()) == "".join(text.split())
        assert fitted(text, io.StringIO()) == text
        for line in broken.split("\n"):
            cells = sum(2 if char == "\u3042" else 1 for char in line.rstrip())
            assert cells <= columns


def test_what_is_set_in_below_a_name_of_wide_characters_is_set_in_by_their_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "34")
    text = " aaaaaaaaaa\u3042  aaaaaaaaaa bbbbbbbb \u3042\u3042\u3042"
    assert fitted(text, Screen()) == f" aaaaaaaaaa\u3042  aaaaaaaaaa\n{' ' * 15}bbbbbbbb \u3042\u3042\u3042"


def test_words_that_belong_together_stay_on_a_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert fitted(f"aaaaaaaa {unbroken('bbbb cccc dddd')} e", Screen()) == "aaaaaaaa\nbbbb cccc dddd e"


@pytest.mark.parametrize("columns", [40, 60])
def test_a_question_fits_a_narrow_terminal(tmp_path, columns):
    (tmp_path / "a.md").write_text(ANSWER)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": str(columns), "TERM": "xterm"}
    environment["AI_RAILS_CONFIG_DIR"] = str(tmp_path / "config")
    terminal = Terminal(tmp_path, environment, "apply", "a.md", columns=columns)
    terminal.until("Enter: ")
    terminal.type("?\n")
    terminal.until(lambda: terminal.seen.count("Enter: ") == 2)
    terminal.type("d no, thank you\n")
    terminal.end()
    asked = terminal.seen.rpartition("Enter: ")[0]  # what is given back to the model then stays as it is
    lines = ESCAPES.sub("", f"{asked}Enter: ").replace("\r", "").split("\n")
    assert max(map(len, lines)) <= columns, lines
    for key in ("[a]pprove", "[d]eny with a reason", "[s]top the session", "[v]iew everything", "[?], then Enter: "):
        assert any(key in line for line in lines), key


@pytest.mark.parametrize("words", [["--help"], ["n8n", "rules"], ["completion", "bash"], ["prompt"]])
def test_what_a_closed_pipe_or_a_poor_encoding_takes_is_no_traceback(tmp_path, words):
    command = [sys.executable, "-m", "rails", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "20"}
    environment |= {"PYTHONIOENCODING": "ascii", "AI_RAILS_CONFIG_DIR": str(tmp_path)}
    piped = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert piped.stdout.readline()
    piped.stdout.close()
    told = piped.stderr.read().decode()
    piped.stderr.close()
    assert piped.wait(60) in (0, 3)
    assert told == ""


@walked(
    ("status", "remedy"),
    [
        (401, "Check that the API key is right and still valid."),
        (403, "choose another model or ask for access."),
        (404, "check the name after the colon and the base URL."),
        (429, "too many requests"),
        (500, "failed (HTTP 500)."),
    ],
)
def test_what_a_models_server_answers_is_said_in_whole_sentences(status, remedy):
    for detail in ("no luck", "no luck.", ""):
        said = str(status_error("The model server http://x", status, detail))
        assert remedy in said
        assert said.endswith(".")
        assert ("It says: no luck." in said) == bool(detail)


@walked(
    ("reason", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known. Check the base URL"),
        (http.client.RemoteDisconnected("x"), "it closed the connection."),
        (ConnectionResetError(104, "Connection reset by peer"), "it closed the connection."),
        (ConnectionRefusedError(111, "Connection refused"), "Nothing listens there: start the server"),
    ],
)
def test_a_server_that_cannot_be_reached_is_said_without_numbers_of_the_system(reason, words):
    said = str(unreached("http://127.0.0.1:9", reason))
    assert words in said
    assert "Errno" not in said
