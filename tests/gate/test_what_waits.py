"""The gate waits for slow checks, and starts no command for what goes back to the agent anyway."""

import threading

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


def test_a_command_is_not_started_for_what_goes_back_anyway(world, own_config):
    commanded(own_config)
    world.put("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n")
    verdict = world.judge(("a.py", "print(undefined)\n"))
    assert [miss.check for miss in verdict.not_checked] == ["true"]
    assert "true" not in [run.name for run in verdict.checks]
    verdict = world.judge(("a.py", "x = 1\n"))
    assert verdict.status == "pass"
    assert "true" in [run.name for run in verdict.checks]


def test_a_mode_that_excuses_the_finding_has_the_command_run(world, own_config):
    commanded(own_config)
    world.put(".rails.toml", '[[gate.mode]]\nmode = "advisory"\npath = "a.py"\nrule = "F821"\n')
    verdict = world.judge(("a.py", "print(undefined)\n"))
    assert (verdict.status, verdict.not_checked) == ("pass", ())
    assert "true" in [run.name for run in verdict.checks]


def commanded(own_config):
    own_config.mkdir()
    (own_config / "gate.toml").write_text('[[command]]\nname = "true"\nrun = ["/bin/true"]\n')
