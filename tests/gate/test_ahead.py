"""The gate begins while an edit is still being written, and does not wait for slow checks that cannot matter."""

import threading
import time

from rails.gate.gate import Gate
from rails.gate.support.check_command import CheckCommand

BLACK = "[tool.ruff.lint]\nselect = ['F']\n[tool.black]\nline-length = 88\n"


def wait_until(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def cached(verdict):
    return {run.name: run.cached for run in verdict.checks}


# -- prefetch ---------------------------------------------------------------------------------


def test_what_is_on_disk_is_known_when_the_edit_is_judged(world):
    world.put("pyproject.toml", BLACK)
    world.put("a.py", "x = 1\n")
    world.put(".flake8", "[flake8]\n")
    world.gate.prefetch("a.py")
    wait_until(lambda: any(key[0] == "flake8" and key[-1] == "x = 1\n" for key in list(world.gate._context.known)))
    verdict = world.judge(("a.py", "x = 1\n", "x = 2\n"))
    assert verdict.status == "pass"
    assert cached(verdict)["flake8"] >= 2  # the canary and the old text


def test_a_whole_file_is_judged_before_the_answer_ends(world):
    world.put("pyproject.toml", BLACK)
    world.gate.prefetch("new.py", "import os\nprint( 1 )\n")
    wait_until(
        lambda: any(key[:1] == ("black",) and key[-1] == b"print( 1 )\n" for key in list(world.gate._context.known))
    )
    verdict = world.judge(("new.py", "import os\nprint( 1 )\n"))
    assert cached(verdict)["black"] >= 1
    assert verdict.proposal.changes[0].after == b"print(1)\n"
    assert not (world.project / "new.py").exists()


def test_looking_ahead_executes_no_command_and_decides_nothing(world, project, pool, tmp_path):
    mark = tmp_path / "ran"
    command = CheckCommand("touch", ("/usr/bin/touch", str(mark)))
    with Gate(project, commands=[command], pool=pool) as gate:
        gate.prefetch("a.txt", "x\n")
        gate.prefetch("../outside.txt", "x\n")
        wait_until(lambda: gate._turn.acquire(blocking=False) and gate._turn.release() is None)
    assert not mark.exists()


# -- what goes back to the agent -------------------------------------------------------------------


def test_slow_checks_are_awaited_also_for_what_goes_back_anyway(world, monkeypatch):
    world.put("pyproject.toml", BLACK)
    world.put(".flake8", "[flake8]\n")
    world.judge(("warm.py", "x = 1\n"))
    real, behind = world.gate._context.pool.ask, threading.Event()

    def ask(message):
        behind.wait(1)  # a machine that is busy with other things
        return real(message)

    monkeypatch.setattr(world.gate._context.pool, "ask", ask)
    verdict = world.judge(("a.py", "print( undefined )\n"))
    assert (verdict.status, verdict.not_checked) == ("fail", ())
    assert verdict.proposal.changes[0].after == b"print(undefined)\n"


def test_a_command_is_not_started_for_what_goes_back_anyway(project, pool, world):
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n")
    with Gate(project, commands=[CheckCommand("true", ("/bin/true",))], pool=pool) as gate:
        world.gate = gate
        verdict = world.judge(("a.py", "print(undefined)\n"))
        assert [miss.check for miss in verdict.not_checked] == ["true"]
        assert "true" not in [run.name for run in verdict.checks]
        verdict = world.judge(("a.py", "x = 1\n"))
        assert verdict.status == "pass"
        assert "true" in [run.name for run in verdict.checks]


def test_a_mode_that_excuses_the_finding_has_the_command_run(project, pool, world):
    world.put(".rails.toml", '[[gate.mode]]\nmode = "advisory"\npath = "a.py"\nrule = "F821"\n')
    with Gate(project, commands=[CheckCommand("true", ("/bin/true",))], pool=pool) as gate:
        world.gate = gate
        verdict = world.judge(("a.py", "print(undefined)\n"))
        assert (verdict.status, verdict.not_checked) == ("pass", ())
        assert "true" in [run.name for run in verdict.checks]
