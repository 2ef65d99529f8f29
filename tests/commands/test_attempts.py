"""Attempts: each apart from the project and the others, through gate and tests; one that passes is proposed."""

import json
import subprocess

import pytest

from rails.batch.job_spec import JobResult
from rails.cli import main
from rails.commands import attempts
from rails.log.reader import read_lenient

SUMS = '"""Sums."""\n\n\ndef add(a, b):\n    """Return the sum."""\n    return a - b\n'
POLICY = '[[rule]]\ndecision = "allow"\npath = "**"\nkind = ["create", "modify", "delete"]\n'


def answer(new, agent="coder"):
    parameters = {"file_path": "sums.py", "old_string": "return a - b", "new_string": new}
    body = {"type": "tool_request", "tool_name": "edit_file", "parameters": parameters, "explanation": "x"}
    edit = {"agent": agent, "role": "assistant", "content": f"I change it.\n```json\n{json.dumps(body)}\n```\n"}
    return [edit, {"agent": agent, "role": "assistant", "content": "Done."}]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "config/ai-rails").mkdir(parents=True)
    (tmp_path / "config/ai-rails/policy.toml").write_text(POLICY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    (folder / "sums.py").write_text(SUMS)
    (folder / "Makefile").write_text("test:\n\tpython3 -c 'import sums; assert sums.add(1, 2) == 3'\n")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x")):
        subprocess.run(["git", *words], check=True, capture_output=True)
    return folder


@pytest.fixture
def run(project, tmp_path, capsys):
    def go(*recordings, count=None, approve="policy"):
        words = []
        for number, lines in enumerate(recordings):
            file = tmp_path / f"model{number}.jsonl"
            file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
            words += ["--attempt-model", f"recorded:{file}"]
        count = str(count or len(recordings))
        code = main(["run", "make add right", "--attempts", count, *words, "--approve", approve, "--plain"])
        return code, capsys.readouterr().out

    return go


RIGHT = answer("return a + b")
WRONG = answer("return a * b")
OTHER = answer("return b + a")


def test_the_one_that_passes_the_tests_is_written_and_the_others_stay_in_the_log(run, project):
    code, shown = run(WRONG, RIGHT)
    assert code == 0, shown
    assert "return a + b" in (project / "sums.py").read_text()
    assert "does not pass: gate pass; tests failed" in shown
    assert "proposed: attempt 2." in shown
    logs = [read_lenient(log)[0] for log in (project / ".rails/sessions").glob("*/log.jsonl")]
    assert len(logs) == 3, "two attempts and what was applied"
    assert not (project / ".rails/work").exists() or not list((project / ".rails/work").iterdir())


def test_where_none_passes_nothing_is_written(run, project):
    code, shown = run(WRONG, count=2)
    assert code == 1
    assert "No attempt passed" in shown
    assert (project / "sums.py").read_text() == SUMS


def test_the_smallest_diff_of_those_that_pass_is_taken_where_nobody_is_at_a_terminal(run, project):
    longer = answer("total = a + b\n    return total")
    code, shown = run(longer, RIGHT, OTHER)
    assert code == 0, shown
    assert "3 of 3 attempts passed" in shown
    assert "proposed: attempt 2." in shown
    assert "return a + b" in (project / "sums.py").read_text()


def test_what_was_picked_is_still_asked_about(run, project, monkeypatch):
    monkeypatch.setattr("rails.commands.common._keyboard", lambda: None)
    code, _ = run(RIGHT, approve="ask")
    assert code != 0
    assert (project / "sums.py").read_text() == SUMS


def test_work_that_is_not_committed_is_not_left_out_silently(run, project, capsys):
    (project / "sums.py").write_text(SUMS + "\n# mine\n")
    code, _ = run(RIGHT)
    assert code == 2
    assert "# mine" in (project / "sums.py").read_text()


def test_fewer_findings_come_before_a_smaller_diff():
    facts = dict.fromkeys(("name", "task", "repo", "commit", "model", "agent"), "x")
    short = JobResult(**facts, diff="a", findings=("F",))
    clean = JobResult(**facts, diff="a longer one")
    assert sorted((short, clean), key=attempts._rank) == [clean, short]
