"""A typed letter and Enter decide, on a real terminal, and nothing else does."""

import io
import os
import pty
import re
import select
import threading
import time

import pytest

from rails.approval.decision import NO_HUMAN
from rails.approval.terminal.approver import TerminalApprover

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def piped(text, make, request=None, **more):
    out = io.StringIO()
    approver = TerminalApprover(io.StringIO(text), out, accept_pipe=True, width=100, **more)
    return approver.decide(request or make.ask()), out.getvalue()


class Tty:
    """A pseudo-terminal with an approver at one end and our fingers at the other."""

    def __init__(self, request, **more):
        self.master, slave = pty.openpty()
        self.stream = os.fdopen(slave, "r")
        self.out = os.fdopen(os.dup(slave), "w")
        self.approver = TerminalApprover(self.stream, self.out, quiet_s=more.pop("quiet_s", 0.2), **more)
        self.request = request
        self.seen = b""
        self.decision = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        self.decision = self.approver.decide(self.request)

    def start(self):
        self.started = time.monotonic()
        self.thread.start()
        return self

    def type(self, data):
        os.write(self.master, data)

    def until(self, text, seconds=10):
        end = time.monotonic() + seconds
        while text not in self.seen and text not in re.sub(rb"\x1b\[[0-9;]*m", b"", self.seen):
            left = end - time.monotonic()
            assert left > 0, f"{text!r} did not appear: {self.seen[-500:]!r}"
            if select.select([self.master], [], [], left)[0]:
                self.seen += os.read(self.master, 65536)
        return self.seen

    def result(self):
        deadline = time.monotonic() + 60
        while self.thread.is_alive() and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536)
        assert not self.thread.is_alive()
        return self.decision

    def close(self):
        for stream in (self.stream, self.out):
            stream.close()
        os.close(self.master)


@pytest.fixture
def tty(make):
    opened = []

    def open_(request=None, **more):
        opened.append(Tty(request or make.ask(), **more))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


PROMPT = b"then Enter: "


def test_a_and_enter_approve(tty):
    terminal = tty().start()
    terminal.until(PROMPT)
    terminal.type(b"a\n")
    decision = terminal.result()
    assert (decision.answer, decision.by) == ("approve", "human")
    assert decision.seconds >= 0


def test_what_was_typed_before_the_question_is_thrown_away(tty):
    terminal = tty()
    terminal.type(b"a\na\napprove\n")
    terminal.start()
    terminal.until(PROMPT)
    time.sleep(0.3)
    assert terminal.decision is None
    terminal.type(b"d no\n")
    assert terminal.result().answer == "deny"


def test_a_key_during_the_quiet_time_is_thrown_away_and_starts_it_again(tty):
    terminal = tty(quiet_s=1.5).start()
    terminal.until(b"why")
    for _ in range(20):
        time.sleep(0.02)
        last = time.monotonic()
        terminal.type(b"a\n")
    terminal.until(PROMPT)
    assert time.monotonic() - last > 1.4
    assert terminal.decision is None
    terminal.type(b"s\n")
    assert terminal.result().answer == "abort"


KEYS = [b"\n", b" \t\n", b"\x1b[A\n", b"y\n", b"aa\n", b"a b\n"]


@pytest.mark.parametrize("keys", KEYS, ids=ascii)
def test_anything_else_decides_nothing(tty, keys):
    terminal = tty().start()
    terminal.until(PROMPT)
    terminal.type(keys)
    terminal.until(b"Not a valid choice")
    assert terminal.decision is None
    terminal.type(b"d\n")
    terminal.until(b"Reason (sent")
    terminal.type(b"\n")
    assert terminal.result().answer == "deny"


@pytest.mark.parametrize("before", [b"", b"a"])
def test_the_end_of_input_is_a_no_even_after_a_letter(tty, before):
    terminal = tty().start()
    terminal.until(PROMPT)
    terminal.type(before + b"\x04\x04")
    decision = terminal.result()
    assert (decision.answer, decision.by) == ("deny", "end of input")


def test_silence_runs_out_as_a_time_out_not_as_a_humans_no(tty):
    decision = tty(timeout_s=0.3).start().result()
    assert (decision.answer, decision.by, decision.reason) == ("deny", "timeout", "no answer within 0.3 s")


def test_the_terminal_is_left_as_it_was(tty):
    import termios

    terminal = tty()
    before = termios.tcgetattr(terminal.stream.fileno())
    terminal.start().until(PROMPT)
    assert termios.tcgetattr(terminal.stream.fileno()) == before
    terminal.type(b"a\n")
    terminal.result()


def test_a_pipe_is_not_a_human(make):
    decision = TerminalApprover(io.StringIO("a\na\n"), io.StringIO()).decide(make.ask())
    assert (decision.answer, decision.reason, decision.by) == ("deny", NO_HUMAN, "headless")


def test_a_closed_input_is_not_a_human(make):
    closed = io.StringIO()
    closed.close()
    assert TerminalApprover(closed, io.StringIO()).decide(make.ask()).answer == "deny"


def test_answers(make):
    for typed, answer, reason in [
        ("a\n", "approve", ""),
        ("approve\n", "approve", ""),
        ("A\n", "approve", ""),
        ("d\nuse argparse\n", "deny", "use argparse"),
        ("d use argparse\n", "deny", "use argparse"),
        ("deny\n\n", "deny", ""),
        ("d\n", "deny", ""),
        ("s\n", "abort", ""),
        ("", "deny", "the input ended"),
        ("a", "deny", "the input ended"),
        ("\n" * 30, "deny", "no clear answer in 20 tries"),
    ]:
        decision, _ = piped(typed, make)
        assert (decision.answer, decision.reason) == (answer, reason)


def test_with_risks_only_the_whole_word_approves(make):
    risky = make.ask(make.change("conftest.py"))
    decision, screen = piped("a\napprove\n", make, risky)
    assert decision.answer == "approve"
    assert 'type the whole word "approve"' in screen
    assert piped("a\n", make, risky)[0].answer == "deny"


def test_a_terminal_that_fails_is_a_no(make):
    class Broken(io.StringIO):
        def write(self, text):
            raise OSError("device gone")

    approver = TerminalApprover(io.StringIO("a\n"), Broken(), accept_pipe=True)
    decision = approver.decide(make.ask())
    assert (decision.answer, decision.by) == ("deny", "error")


def test_control_c_answers_nothing(make):
    class Interrupted(io.StringIO):
        def readline(self, size=-1):
            raise KeyboardInterrupt

    approver = TerminalApprover(Interrupted(), io.StringIO(), accept_pipe=True)
    with pytest.raises(KeyboardInterrupt):
        approver.decide(make.ask())


def test_a_screen_that_cannot_show_a_character_shows_its_number(make):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    approver = TerminalApprover(io.StringIO("a\n"), out, accept_pipe=True)
    assert approver.decide(make.ask(make.change(after="é\n".encode()))).answer == "approve"
    assert b"\\xe9" in raw.getvalue()


def test_the_plain_form_has_no_colour_and_no_boxes(make):
    _, screen = piped("a\n", make, make.ask(make.change(after="─│\n".encode())), plain=True, colour=True)
    assert "\x1b" not in screen
    assert screen.count("─") == screen.count("│") == 1


def test_what_is_cut_is_counted_and_can_be_viewed(make):
    long = make.change("long.txt", None, b"".join(b"line %d\n" % n for n in range(2000)))
    decision, screen = piped("v\na\napprove\n", make, make.ask(long))
    first, _, second = screen.partition("Not shown: 1,601 lines. Type v to see everything.")
    assert decision.answer == "approve"
    assert "line 1999" in first
    assert "line 1000\n" not in first
    assert all(f"line {n}\n" in second for n in range(2000))
    assert "not shown" not in second


def test_the_screen_tells_agent_tool_reason_risks_diff_findings_and_what_was_not_checked(make):
    from rails.core.verdict import Fixed, NotChecked

    request = make.ask(
        make.change(".flake8", b"[flake8]\n", b"[flake8]\nignore = E,W,F\n"),
        status="fail",
        findings=[make.finding(".flake8", line=2, rule="X1", message="odd"), make.finding("other.py", rule="X2")],
        fixed=(Fixed("src/app.py", "format", "black", 3),),
        not_checked=(NotChecked("README.md", "markdown", "no checker", required=False),),
        notes=["matched after indentation correction (rung 5)"],
    )
    _, screen = piped("approve\n", make, request)
    for words in (
        "agent   │ coder",
        "tool    │ edit_file",
        "why     │ bump a",
        "risk    │ Protected file .flake8: gate configuration.",
        "risk    │ The checks did not pass: 2 new problems.",
        "note    │ matched after indentation correction (rung 5)",
        ".flake8 (modify, +1 -0)",
        "    2 +  ignore = E,W,F\n      ^  line 2, column 1: X1 odd",
        "checks  │ 2 new findings (ruff 0.17.1, black 26.1.0)",
        "other.py:1: X2",
        "fixed   │ black format ×3 in src/app.py",
        "skipped │ README.md by markdown: no checker",
    ):
        assert words in screen, words


def test_a_tool_run_shows_its_parameters_as_they_would_be_used(make):
    _, screen = piped("approve\n", make, make.ask_tool("run_code", code='print("a")\nprint(r"\\n")', timeout=3))
    assert '"code": "print(\\"a\\")\\n\n' in screen
    assert r'print(r\"\\n\")"' in screen
    assert "Run this tool?" in screen


def test_a_short_command_in_plain_letters_is_shown_once(make):
    for command, listed in [("pytest -q", False), ("a\nb", True), ("x" * 201, True)]:
        _, screen = piped("approve\n", make, make.ask_tool("run_command", command=command))
        assert ("parameters of" in screen) is listed, command


HOSTILE = [
    "\x1b[2J\x1b[1;1H",
    "\x1b]0;title\x07",
    "\r[a]pprove",
    "\u202eevil\u202c",
    "\u200b\u2066\ufeff",
    "\U000e0041",
    "\x9b31m",
    "\x08\x08\x08",
    "a\u2028b\x85c\x0bd",
    "\ud800",
]


def test_no_text_of_the_agent_reaches_the_terminal_raw(make):
    for evil in HOSTILE:
        from msgspec.structs import replace

        data = evil.encode("utf-8", "ignore") or b"x"
        request = make.ask(
            make.change(after=data + b"\n"),
            findings=[make.finding(rule=evil, message=evil), make.finding("x.py", message=evil)],
            status="fail",
            notes=[evil],
            agent=evil,
            tools=[evil],
        )
        call = replace(make.tool_request(evil, code=evil), explanation=f"{evil}\nsecond line")
        request = replace(request, requests=(call,))
        for colour in (True, False):
            _, screen = piped("v\napprove\n", make, request, colour=colour)
            shown = ANSI.sub("", screen) if colour else screen
            assert all(char == "\n" or (char.isprintable() or char == "\t") for char in shown), ascii(shown)


def test_a_line_of_the_agent_never_starts_at_the_left_edge(make):
    text = "x" * 90 + "[a]pprove  done" * 40
    request = make.ask(make.change(after=text.encode() + b"\n"))
    for line in piped("approve\n", make, request)[1].splitlines():
        assert not line.startswith(("[a]pprove  d", "done", "xx"))
        assert len(line) <= 100


def test_on_a_terminal_an_edit_in_the_editor_is_shown_again_before_it_counts(tty, make, monkeypatch, tmp_path):
    import sys

    from rails.approval.terminal.approver import Choices

    script = tmp_path / "editor.py"
    script.write_text("import sys\nopen(sys.argv[1], 'a').write('b = 3' + chr(10))\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    terminal = tty(choices=Choices(judge=lambda changes: make.verdict(*changes.changes))).start()
    terminal.until(PROMPT)
    terminal.type(b"e\n")
    terminal.until(b"Checking your version")
    terminal.type(b"a\n")
    terminal.until(b"b = 3")
    terminal.seen = b""
    terminal.until(PROMPT)
    assert terminal.decision is None, "the a typed ahead of the second question was thrown away"
    terminal.type(b"a\n")
    decision = terminal.result()
    assert decision.answer == "approve"
    assert decision.edited.changes.changes[0].after == b"a = 2\nb = 3\n"


def test_what_a_workflow_change_means_stands_before_its_lines(make):
    from rails.core.change_summary import ChangeSummary, SummaryLine

    lines = (
        SummaryLine("add", 'node "\x1b[31mEvil\u202e"'),
        SummaryLine("change", "url: 1 → 2", 1),
        SummaryLine("remove", "wire " + "x" * 150),
    )
    outline = ChangeSummary("flow.json", "1 node added", lines, hidden=3)
    request = make.ask(judged=make.verdict(outlines=(outline,)))
    _, shown = piped("d\nno\n", make, request, colour=False)
    assert shown.index("flow.json: 1 node added") < shown.index("src/app.py (modify")
    assert '  + node "\\x1b[31mEvil\\u202e"' in shown
    assert "\n     url: 1 → 2\n" in shown
    assert "[… 3 lines not shown …]" in shown
    assert all(len(line) <= 100 for line in shown.split("\n") if "xxx" in line)
    _, coloured = piped("d\nno\n", make, request, colour=True)
    assert "\x1b[33m     url: 1 → 2\x1b[0m" in coloured


@pytest.mark.parametrize(
    "pasted",
    [
        b"\x1b[200~a\n",
        b"\x1b[200~a\x1b[201~\n",
        b"a\na\n",
        b"d\nnot this\na\n",
        b"a\napprove\nx",
        b"a\nthe beginning of another line",
    ],
)
def test_a_paste_never_decides_and_the_question_is_asked_again_from_the_start(tty, make, pasted):
    terminal = tty().start()
    assert b"\x1b[?2004h" in terminal.until(b"\x1b[?2004h"), "the terminal is told to mark what is pasted"
    terminal.seen = b""
    terminal.type(pasted)
    seen = terminal.until(b"\x1b[?2004h")
    assert terminal.decision is None
    assert b"More than one line came" in seen
    assert b"src/app.py" in seen, "the change is shown again"
    terminal.type(b"a\n")
    assert terminal.result().answer == "approve"
