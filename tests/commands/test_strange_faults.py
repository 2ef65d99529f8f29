"""Faults of ours seen from the commands: run and chat end with one clear sentence, and the session can be resumed."""

import errno
import io
import itertools
import json
import os
import threading

import pytest
from _pytest.monkeypatch import resolve

from rails.cli import main
from rails.commands import exit
from rails.log.reader import verify
from rails.sandbox import probe

POLICY = '[[rule]]\ndecision = "allow"\ntool = ["write_file", "edit_file"]\npath = "**"\n'


def write(path, content):
    parameters = {"file_path": path, "content": content}
    request = {"type": "tool_request", "tool_name": "write_file", "parameters": parameters, "explanation": "x"}
    return f"I write it.\n```json\n{json.dumps(request)}\n```\n"


ANSWERS = [write("b.txt", "new\n"), write("b.txt", "new\n"), "Done.", "Done.", "Done."]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "config/ai-rails").mkdir(parents=True)
    (tmp_path / "config/ai-rails/policy.toml").write_text(POLICY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(
        "XDG_CACHE_HOME", str(tmp_path / "cache")
    )  # what the sandbox holds, found in the midst of faults
    monkeypatch.setattr(probe, "_known", {"": probe.label()})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def said(project, tmp_path, monkeypatch, capsys):
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(f"{json.dumps({'role': 'assistant', 'content': one})}\n" for one in ANSWERS))

    def run(verb, *words, lines=("do it", "/quit")):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        task = ["the task"] if verb == "run" and not words else []
        code = main([verb, *task, "--model", f"recorded:{file}", "--approve", "policy", "--plain", *words])
        return code, "".join(capsys.readouterr())

    return run


def os_error(code):
    return lambda: OSError(code, os.strerror(code))


FAULTS = [
    ("rails.log.writer.SessionLog.append", os_error(errno.ENOSPC), 3),
    ("rails.log.writer.SessionLog.append", MemoryError, 4),
    ("rails.commands.live.ProgressScreen.__call__", lambda: KeyError("x"), 2),
    ("rails.gate.gate.Gate.__enter__", os_error(errno.EMFILE), 0),
    ("rails.session.open_session.system_prompt", lambda: KeyError("x"), 0),
    ("rails.session.run.Session._chain", MemoryError, 0),
    ("rails.approval.policy.policy.PolicyApprover.decide", RecursionError, 0),
    ("rails.models.recorded.RecordedModel.stream", os_error(errno.EIO), 1),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_command_tells_a_fault_in_one_sentence_and_the_session_goes_on(project, said, monkeypatch, number):
    (target, make, after), verb = FAULTS[number], ("run", "chat")[number % 2]
    real = resolve(target)
    calls = itertools.count()

    def broken(*args, **kwargs):
        if next(calls) == after:
            raise make()
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(target, broken)
        code, text = said(verb)
    assert next(calls) > after, text
    assert "Traceback" not in text, text
    assert code in (0, 1, 3), (code, text)
    assert text.strip()
    logs = list(project.glob(".rails/sessions/*/log.jsonl"))
    for log in logs:
        assert verify(log), text
    written = project / "b.txt"
    assert not written.exists() or written.read_text() == "new\n"
    if logs and code:
        code, text = said(verb, "--resume", lines=("/quit",))
        assert "Traceback" not in text
        assert code in (0, 1), (code, text)


def test_a_lock_that_is_held_is_told(project, said):
    from rails.log.writer import SessionLog

    code, _ = said("run")
    session = next(project.glob(".rails/sessions/*")).name
    with SessionLog.reopen(project / ".rails", session):
        code, text = said("run", "--resume", session)
    assert code in (2, 3), text
    assert session in text or "in use" in text or "another" in text
    assert "Traceback" not in text


#: What draws something, broken once, and the command that shows it.
RENDERERS = [
    ("rails.review.reports.sessions.sessions_table", "review"),
    ("rails.projections.session._turns", "review last"),
    ("rails.commands.review.render_session", "review last"),
    ("rails.review.html.html_parts", "review last --html out.html"),
    ("rails.commands.review.session_as_markdown", "review last --markdown"),
    ("rails.commands.review.session_as_json", "review last --json"),
    ("rails.review.session_list.count_sessions", "review --by rule"),
    ("rails.render.markdown.block_lines", "review --by decision --markdown"),
    ("rails.review.export.formats.answer_to_json", "log export last --format recording"),
]


def test_a_report_or_view_that_breaks_is_told_in_a_sentence_and_is_there_again(project, said, monkeypatch, capsys):
    assert said("run")[0] == 0
    for target, words in RENDERERS:
        real = resolve(target)
        errors = iter([KeyError("x\x1b[2J")])

        def broken(*args, real=real, errors=errors, **kwargs):
            for error in errors:
                raise error
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(target, broken)
            assert main(words.split()) == 3, target
            out, told = capsys.readouterr()
            assert told.startswith("ai-rails: "), target
            assert "Traceback" not in out + told
            assert "\x1b" not in told
            assert main(words.split()) == 0, target
        capsys.readouterr()


@pytest.mark.parametrize("words", ["gate", "run x"])
def test_a_folder_that_is_gone_is_named(project, capsys, words):
    project.joinpath("gone").mkdir()
    os.chdir(project / "gone")
    project.joinpath("gone").rmdir()
    assert main(words.split()) == 3
    assert "the folder that you are in: No such file or directory" in capsys.readouterr().err


def test_a_run_from_a_folder_that_is_gone_ends_as_it_ended(project, said):
    project.joinpath("gone").mkdir()
    os.chdir(project / "gone")
    project.joinpath("gone").rmdir()
    code, text = said("run", "the task", "--project", str(project))
    assert code == 0, text
    assert f"--project {project}" in text
    assert (project / "b.txt").read_text() == "new\n"


def test_a_log_whose_disk_is_full_says_how_the_session_goes_on(project, said, monkeypatch):
    real = os.write

    def full(descriptor, data):
        if b'"APPROVAL_REQUESTED"' in bytes(data) or b'"GATE_VERDICT"' in bytes(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        code, text = said("run")
    session = next(project.glob(".rails/sessions/*")).name
    assert code == 3
    assert "No space left on device" in text
    assert f"Once that is fixed: ai-rails run --resume {session}" in text
    assert not (project / "b.txt").exists()
    assert main(["run", "--resume", session, "--plain"]) == 0, "its model and --approve policy are kept"
    assert (project / "b.txt").read_text() == "new\n"


@pytest.mark.parametrize(("debug", "shown"), [("", "the rest continues: RuntimeError: no luck\n"), ("1", "Traceback")])
def test_what_fails_in_a_thread_of_ours_is_one_line_and_no_traceback(capsys, monkeypatch, debug, shown):
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setenv("AI_RAILS_DEBUG", debug)
    exit.tell_of_threads()

    def fail():
        raise RuntimeError("no luck")

    one = threading.Thread(target=fail)
    one.start()
    one.join()
    said = capsys.readouterr().err
    assert shown in said
    assert debug or len(said.splitlines()) == 1
