"""The gate as a whole: files on disk, git revisions, honesty about what did not run."""

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import CheckError, UsageError
from rails.core.paths import WorkspacePath
from rails.gate import registry
from rails.gate.gate import Gate
from rails.gate.report import text as report
from rails.processes import programs


def test_an_empty_change_set_passes(world):
    verdict = world.gate.judge(ChangeSet())
    assert (verdict.status, verdict.findings, verdict.checks) == ("pass", (), ())


def test_a_deleted_file_stays_in_the_proposal(world):
    verdict = world.judge(("a.py", "x = 1\n", None))
    assert verdict.status == "pass"
    assert verdict.proposal.changes[0].kind == "delete"


@pytest.mark.usefixtures("style")
def test_several_files_at_once(world):
    files = [(f"m{n}.py", f"import os\n\nx = {n}\n") for n in range(12)]
    verdict = world.judge(*files, ("a.json", "{}"), ("b.py", "def f(:\n"))
    assert [f.path for f in verdict.findings] == ["b.py"]
    assert {f.path for f in verdict.fixed} == {name for name, _ in files}


def test_judging_does_not_touch_the_workspace(world):
    world.put("a.py", "import os\n")
    world.judge(("a.py", "import os\n", "import os, sys\n"), ("new.py", "x=1\n"), ("c.json", "{}"))
    assert sorted(path.name for path in world.project.rglob("*")) == ["a.py"]
    assert (world.project / "a.py").read_text() == "import os\n"


@pytest.mark.usefixtures("style")
def test_files_on_disk_are_judged_without_being_changed(world):
    world.put("a.py", "import os\nx = {'a':1}\n")
    verdict = world.check("a.py")
    assert verdict.status == "fail"
    fixable = {f.rule: f.fixable for f in verdict.findings}
    assert fixable["F401"]
    assert fixable["format"]
    assert verdict.proposal.changes == ()


@pytest.mark.usefixtures("style")
def test_fixes_for_files_on_disk_come_as_a_proposal(world):
    place = world.put("a.py", "import os\nx = {'a':1}\n")
    world.put("b.py", "y = 1\n")
    verdict = world.check("a.py", "b.py", fix=True)
    assert verdict.status == "pass"
    (change,) = verdict.proposal.changes
    assert (change.before, change.after) == (place.read_bytes(), b'x = {"a": 1}\n')


@pytest.mark.usefixtures("style")
def test_files_are_compared_with_a_revision(world):
    world.git("init", "-q")
    world.put("pkg/a.py", "import os\n")
    world.git("add", ".")
    world.git("commit", "-qm", "one")
    world.put("pkg/a.py", "x = 1\nimport os\nprint(y)\n")
    assert [f.rule for f in world.check("pkg/a.py", base="HEAD").findings][:1] == ["F821"]
    assert "F401" not in [f.rule for f in world.check("pkg/a.py", base="HEAD").findings]
    world.put("pkg/b.py", "import os\n")
    assert [f.rule for f in world.check("pkg/b.py", base="HEAD").findings] == ["F401"]


def test_an_unknown_revision_is_a_usage_error(world):
    world.put("a.py", "x = 1\n")
    with pytest.raises(UsageError, match="not in a git repository"):
        world.check("a.py", base="HEAD")
    world.git("init", "-q")
    with pytest.raises(UsageError, match="no git revision 'HEAD'"):
        world.check("a.py", base="HEAD")


def test_a_file_that_cannot_be_read_is_not_a_pass(world):
    (world.project / "link.py").symlink_to("/etc/hostname")
    verdict = world.check("missing.py", "link.py")
    assert verdict.status == "error"
    assert len(verdict.not_checked) == 2


def test_a_missing_tool_is_an_error_and_never_a_pass(world, monkeypatch):
    monkeypatch.setattr(programs, "find_ruff", lambda: None)
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "error"
    assert any("ruff is not installed" in miss.reason and miss.required for miss in verdict.not_checked)


@pytest.mark.usefixtures("style")
@pytest.mark.parametrize("name", ["black", "flake8"])
def test_a_missing_python_tool_is_an_error_and_never_a_pass(world, monkeypatch, name):
    monkeypatch.setattr(programs, "find_module", lambda asked: None if asked == name else programs.Tool(asked, (), "1"))
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "error"
    assert {miss.check for miss in verdict.not_checked} == {name}


def test_findings_weigh_more_than_a_missing_tool(world, monkeypatch):
    monkeypatch.setattr(programs, "find_module", lambda name: None)
    assert world.judge(("a.py", "print(undefined)\n")).status == "fail"


def test_a_tool_that_crashes_is_an_error(world, monkeypatch, tmp_path):
    fake = tmp_path / "ruff"
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 70\n")
    fake.chmod(0o755)
    monkeypatch.setattr(programs, "find_ruff", lambda: programs.Tool("ruff", (str(fake),), "0"))
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "error"
    assert any(miss.check == "ruff" for miss in verdict.not_checked)


def test_a_bug_of_ours_is_an_error_and_not_a_pass(world, monkeypatch):
    def broken(jobs, context):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(registry.load_check("python"), "run_check", broken)
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "error"
    assert "ZeroDivisionError" in verdict.not_checked[0].reason


def test_a_worker_that_dies_is_replaced(world):
    assert world.judge(("a.py", "x = 1\n")).status == "pass"
    pids = [worker.pid for worker in world.gate._context.pool.workers if worker.pid]
    for worker in world.gate._context.pool.workers:
        if worker.pid:
            worker._process.kill()
            worker._process.wait()
    assert world.judge(("b.py", "y = 1\n")).status == "pass"
    assert {worker.pid for worker in world.gate._context.pool.workers}.isdisjoint(pids)


def test_closing_stops_every_process(project):
    gate = Gate(project)
    gate.judge(ChangeSet())
    worker = gate._context.pool.workers[0]
    worker.ask({"op": "ping"})
    process = worker._process
    gate.close()
    assert process.poll() is not None


def test_a_program_is_stopped_at_its_time_limit_with_its_children(tmp_path):
    script = (
        f"import subprocess, sys, time\nsubprocess.Popen(['sleep', '61'], stdout=open({str(tmp_path / 'o')!r}, 'w'))\n"
    )
    with pytest.raises(CheckError, match=r"did not finish within 0\.5 seconds"):
        programs.run_tool([programs.sys.executable, "-c", script + "time.sleep(60)"], timeout=0.5)


def test_a_program_that_prints_without_end_is_stopped(tmp_path):
    with pytest.raises(CheckError, match="printed more than 1000 bytes"):
        programs.run_tool(["/usr/bin/yes"], most=1000, timeout=20)


def test_a_tool_gets_no_environment_of_ours(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", ".")
    ran = programs.run_tool([programs.sys.executable, "-c", "import os; print(sorted(os.environ), os.getcwd())"])
    assert b"SECRET" not in ran.out.upper().replace(b"SECRETS", b"")
    assert b"ANTHROPIC" not in ran.out
    assert b"PYTHONPATH" not in ran.out
    assert ran.out.endswith(b"/\n")


def test_the_text_report_says_once_what_many_files_have_in_common(world):
    world.put("ruff.toml", 'exclude = ["gen"]\n')
    names = [f"gen/m{n}.py" for n in range(9)]
    text = report.verdict_as_text(world.judge(*((name, "x = 1\n") for name in names)))
    assert "  9 files: ruff, ruff format: the project's configuration excludes this file (not required)\n" in text
    assert "    gen/m0.py, gen/m1.py, gen/m2.py and 6 more\n" in text


def test_judging_from_two_threads_gives_each_its_own_answer(world):
    import threading

    verdicts = {}

    def judge(name):
        text = f"print(undefined_{name})\n".encode()
        changes = ChangeSet((FileChange(WorkspacePath(f"{name}.py"), None, text),))
        verdicts[name] = world.gate.judge(changes)

    threads = [threading.Thread(target=judge, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: [f.path for f in verdict.findings] for name, verdict in verdicts.items()} == {
        name: [f"{name}.py"] for name in "abcd"
    }
