"""The gate waits for slow checks, and starts no command for what goes back to the agent anyway."""

import threading

from rails.gate.gate import Gate
from rails.gate.support.check_command import CheckCommand

BLACK = "[tool.ruff.lint]\nselect = ['F']\n[tool.black]\nline-length = 88\n"


def test_slow_checks_are_awaited_also_for_what_goes_back_anyway(world, monkeypatch):
    world.put("pyproject.toml", BLACK)
    world.put(".flake8", "[flake8]\n")
    world.judge(("warm.py", "x = 1\n"))
    real = world.gate._context.pool.ask
    behind = threading.Event()

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
