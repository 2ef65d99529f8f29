"""ruff may start before the gate is there; what is found is the same, and by the configuration that counts."""

import subprocess
import sys
import threading

import pytest

from rails.cli import main
from rails.core.paths import parse_path
from rails.gate.gate import Gate
from rails.gate.languages.python import config
from rails.gate.languages.python.ruff_client import head_start
from rails.processes import programs

TEXT = "import os\nx = { 'a':1 }\nprint(undefined)\n"


def settings_of(project):
    return config.ruff_for(project, "a.py", config.read_python_settings(project))


def told(verdict):
    return [(found.rule, found.line, found.tool) for found in verdict.findings], verdict.not_checked


def judged(project, ruff=None):
    with Gate(project, ruff=ruff) as gate:
        verdict = gate.check_files([parse_path("a.py")])
        return told(verdict), [server.pid for server in gate._context.resources["ruff"].servers]


def test_a_server_that_was_started_ahead_is_the_one_that_answers_and_answers_the_same(project):
    (project / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    (project / "a.py").write_text(TEXT)
    ruff = head_start(project, [parse_path("notes.md"), parse_path("a.py")])
    ruff._server(settings_of(project))
    started = [server.pid for server in ruff.servers]
    found, pids = judged(project, ruff)
    assert pids == started
    assert found == judged(project)[0]
    assert {rule for rule, _, _ in found[0]} >= {"F401", "F821"}
    assert ruff.servers == ()


def test_configuration_that_changes_after_the_start_counts(project):
    (project / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['E501']\n")
    (project / "a.py").write_text(TEXT)
    ruff = head_start(project, [parse_path("a.py")])
    ruff._server(settings_of(project))
    (project / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F401']\n")
    (rules, _), _ = judged(project, ruff)
    assert [rule for rule, _, tool in rules if tool == "ruff"] == ["F401"]


def test_nothing_is_started_without_a_python_file_or_with_configuration_that_cannot_be_read(project):
    assert head_start(project, [parse_path("a.md"), parse_path("b.json")]) is None
    (project / "pyproject.toml").write_text("[tool.ruff\n")
    ruff = head_start(project, [parse_path("a.py")])
    assert ruff.servers == ()
    (project / "a.py").write_text(TEXT)
    with Gate(project, ruff=ruff) as gate:
        assert gate.check_files([parse_path("a.py")]).status == "error"


def test_closing_stops_a_server_that_is_just_starting(project):
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    ruff = head_start(project, [parse_path("a.py")])
    Gate(project, ruff=ruff).close()
    for thread in threading.enumerate():
        if thread.name == "start ruff":
            thread.join(30)
    assert ruff.servers == ()
    assert not any(
        thread.name == "read ruff server" and thread.join(60) is None and thread.is_alive()
        for thread in threading.enumerate()
    )


def test_one_check_from_a_shell_imports_only_what_it_needs(project):
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    (project / "a.py").write_text("x = 1\n")
    code = (
        "import os, sys\nfrom rails.cli import main\n"
        "assert main(['gate', 'a.py']) == 0\n"
        "heavy = ('platformdirs', 'html', 'difflib', 'secrets', 'rails.approval', 'rails.edits')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("name", "code"), [("notes.md", 0), ("gone.py", 2), ("a.py", 1), (".", 1)])
def test_no_process_outlives_the_command(project, monkeypatch, capsys, name, code):
    (project / "a.py").write_text(TEXT)
    (project / "notes.md").write_text("# Notes\n")
    started = []
    start = programs.start_tool
    monkeypatch.setattr(
        programs, "start_tool", lambda *words, **more: started.append(start(*words, **more)) or started[-1]
    )
    monkeypatch.chdir(project)
    assert main(["gate", name]) == code
    assert all(process.returncode is not None for process in started)
    assert bool(started) == (name in ("a.py", "."))


def test_the_command_prints_everything_and_ends_with_its_exit_code(project):
    (project / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    (project / "a.py").write_text("".join(f"print(name_{number})\n" for number in range(2_000)))
    for script in (["-m", "rails"], ["-c", "from rails.cli import console; console()"]):
        command = [sys.executable, *script, "gate", "a.py"]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 1
        assert done.stderr == ""
        assert done.stdout.count("F821") == 2_000
        assert done.stdout.endswith("\n")
        assert "Fail: " in done.stdout.splitlines()[-1]


def test_what_was_registered_for_the_end_of_the_process_is_run(project):
    (project / "a.md").write_text("# A\n")
    code = "import atexit, sys\natexit.register(print, 'last words')\nfrom rails.cli import console\nconsole()"
    command = [sys.executable, "-c", code, "gate", "a.md"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.endswith("last words\n")


def test_a_thread_that_still_works_is_waited_for(project):
    (project / "a.md").write_text("# A\n")
    code = (
        "import threading, time\nfrom rails.cli import console\n"
        "threading.Thread(target=lambda: (time.sleep(0.5), print('done'))).start()\nconsole()"
    )
    command = [sys.executable, "-c", code, "gate", "a.md"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True, timeout=60)
    assert "done\n" in done.stdout


def test_files_are_looked_at_before_the_gate_asks_and_only_the_bytes_that_it_reads_count(project):
    (project / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    (project / "pkg").mkdir()
    (project / "pkg" / "ruff.toml").write_text("lint.select = ['E7']\n")
    for name in ("a.py", "b.py", "pkg/c.py"):
        (project / name).write_text(f"{TEXT}y = x == None\n")
    names = [parse_path(name) for name in ("a.py", "b.py", "pkg/c.py")]
    ruff = head_start(project, names)
    for thread in threading.enumerate():
        if thread.name == "start ruff":
            thread.join(30)
    expected = {question[:2] for server in ruff.servers for question in server._expected}
    assert expected == {(what, name) for what in ("lint", "format") for name in ("a.py", "b.py")}
    (project / "b.py").write_text("import sys\n")
    with Gate(project, ruff=ruff) as gate:
        found = {(finding.path, finding.rule) for finding in gate.check_files(names).findings if finding.tool == "ruff"}
        assert not any(server._expected for server in ruff.servers)
    assert {("a.py", "F401"), ("a.py", "F821"), ("b.py", "F401"), ("pkg/c.py", "E711")} <= found
    assert ("b.py", "F821") not in found
    assert ("pkg/c.py", "F401") not in found


def test_a_link_out_of_the_project_is_not_shown_to_ruff(project, tmp_path):
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    (tmp_path / "secret.py").write_text("token = 1\n")
    (project / "a.py").symlink_to(tmp_path / "secret.py")
    ruff = head_start(project, [parse_path("a.py")])
    ruff._server(settings_of(project))
    assert not any(server._expected for server in ruff.servers)
    ruff.close()
