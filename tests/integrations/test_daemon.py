"""The warm gate as a process: started by the first call, private, right under ten calls at once and after a kill."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from rails.integrations.daemon import place
from rails.integrations.daemon.client import answer_call
from rails.integrations.hooks.examples import CLEAN, MISTAKE, example
from tests.rows import walked

PROGRAM = str(Path(sys.executable).with_name("ai-rails"))


@pytest.fixture
def runtime(monkeypatch):
    """A runtime folder of this test's own; every gate that was started in it is ended."""
    folder = Path(tempfile.mkdtemp(prefix="ar", dir="/tmp"))  # the name of a socket is short
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)
    for process in gates(folder):
        os.kill(process, signal.SIGKILL)


def gates(runtime):
    """The process numbers of the gates that were started with this runtime folder; each is a copy of a hook's call."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                told = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"hook" in words and str(runtime).encode() in told and leads_a_session(int(entry.name)):
                found.append(int(entry.name))
    return found


def leads_a_session(process):
    try:
        return os.getsid(process) == process
    except ProcessLookupError:
        return False


def run_hook(data, host="claude-code", code=0):
    """What the program prints to a host's input; not a call of its function here, since a gate is a copy of it."""
    ran = subprocess.run([PROGRAM, "hook", host], input=data, capture_output=True, timeout=120, check=False)
    assert ran.returncode in (0, code), ran.stderr
    return ran.stdout.decode()


def call(project, content, **more):
    return run_hook(example("claude-code", project, content, **more))


def test_the_first_call_starts_the_gate_and_the_next_one_uses_it(project, runtime):
    assert "F821" in call(project, MISTAKE)
    first = gates(runtime)
    assert call(project, CLEAN) == ""
    assert gates(runtime) == first
    assert len(first) == 1


def test_socket_and_folder_are_private(project, runtime):
    call(project, CLEAN)
    (file,) = (runtime / "ai-rails").glob("*.sock")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_runtime_folder_that_others_may_enter_is_not_used(project, runtime):
    (runtime / "ai-rails").mkdir(mode=0o755)
    (runtime / "ai-rails").chmod(0o755)
    assert "could not judge" in call(project, MISTAKE)


def test_ten_calls_at_once_are_all_answered_right_also_when_none_is_running_yet(project, runtime):
    answers = {}

    def one(number):
        content = MISTAKE if number % 2 else CLEAN
        answers[number] = call(project, content, file=f"f{number}.py")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {number: f"f{number}.py:1:5 F821" in out for number, out in answers.items()} == {
        number: bool(number % 2) for number in range(10)
    }
    until = time.monotonic() + 60  # those that found another at work are still going
    while len(gates(runtime)) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(gates(runtime)) == 1


def test_a_killed_gate_is_started_again_and_the_session_goes_on_in_the_same_log(project, runtime):
    call(project, MISTAKE)
    until = time.monotonic() + 60  # the first answer comes before the log
    while not list(project.glob(".rails/sessions/*/log.jsonl")) and time.monotonic() < until:
        time.sleep(0.02)
    for process in gates(runtime):
        os.kill(process, signal.SIGKILL)
    assert "F821" in call(project, MISTAKE)
    assert len(list((project / ".rails/sessions").iterdir())) == 1


def test_what_the_host_wrote_is_undone_while_its_session_is_open(project, runtime):
    run_hook(event(project, "SessionStart"))
    (project / "b.py").write_text(CLEAN)
    run_hook(event(project, "PostToolUse", tool_name="Bash", tool_input={"command": "true"}))
    for verb, there in (("undo", False), ("redo", True), ("undo", False)):
        ran = subprocess.run([PROGRAM, verb, "--project", str(project)], capture_output=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stderr
        assert (project / "b.py").exists() == there
    (project / "c.py").write_text(MISTAKE)
    assert "c.py:1:5 F821" in run_hook(event(project, "Stop", stop_hook_active=False))
    assert len(list((project / ".rails/sessions").iterdir())) == 1


def event(project, name, **more):
    return json.dumps({"session_id": "example", "cwd": str(project), "hook_event_name": name, **more}).encode()


def test_the_program_answers_with_json_and_exit_code_0(project, runtime):
    said = json.loads(run_hook(example("codex", project, MISTAKE), "codex"))
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"


@walked("data", [b"", b"{", b"[]", b'{"hook_event_name": 1}', b"\xff\xfe"])
def test_input_that_is_none_never_ends_in_half_an_answer(project, runtime, monkeypatch, data):
    monkeypatch.chdir(project)
    said = run_hook(data, "codex", code=1)
    assert said == "" or isinstance(json.loads(said), dict)


def test_where_no_gate_can_be_started_the_edit_goes_through_and_is_told_and_strict_denies(
    project, monkeypatch, tmp_path
):
    (tmp_path / "r").write_text("no folder")
    monkeypatch.setattr(place, "runtime_folder", (tmp_path / "r" / "x").mkdir)
    data = example("claude-code", project, MISTAKE)
    said = json.loads(answer_call("claude-code", data, dict(os.environ)).out)
    assert "could not judge" in said["systemMessage"]
    assert "permissionDecision" not in said["hookSpecificOutput"]
    end = {"session_id": "s", "cwd": str(project), "hook_event_name": "Stop"}
    stops = [json.dumps({**end, "stop_hook_active": again}).encode() for again in (False, True)]
    told = [json.loads(answer_call("claude-code", stop, dict(os.environ)).out) for stop in stops]
    assert [list(one) for one in told] == [["systemMessage"]] * 2
    strict = json.loads(answer_call("claude-code", data, dict(os.environ), strict=True).out)
    assert strict["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_gate_ends_when_nobody_asks(project, runtime):
    script = "import sys; from pathlib import Path; from rails.integrations.daemon.server import serve; "
    script += "serve(Path(sys.argv[1]), idle=0.2)"
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", script, str(project)], check=True, timeout=60)
    assert time.monotonic() - started < 50
    assert not Path(place.socket_of(str(project))).exists()
