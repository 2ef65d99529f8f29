"""Shell scripts are parsed by bash, and nothing of them is run."""

import pytest

BROKEN = ["if true; then\necho x\n", 'echo "never closed\n', "case x in\na) echo;;\n", "f() {\necho x\n", "done\n"]


@pytest.mark.parametrize("text", ["echo hello\n", "#!/bin/sh\nset -eu\nfor a in 1 2; do\n  echo $a\ndone\n", ""])
def test_a_script_that_parses_passes(world, text):
    assert world.judge(("run.sh", text)).status == "pass"


@pytest.mark.parametrize("text", BROKEN)
def test_a_script_that_does_not_parse_is_a_finding_with_its_line(world, text):
    verdict = world.judge(("tools/run.bash", text))
    (finding,) = verdict.findings
    assert (verdict.status, finding.rule, finding.tool) == ("fail", "syntax-error", "bash")
    assert 1 <= finding.line <= text.count("\n") + 1


def test_nothing_of_a_script_is_run(world, tmp_path):
    proof = tmp_path / "ran"
    world.judge(("run.sh", f"touch {proof}\n: $(touch {proof})\n"))
    assert not proof.exists()


def test_a_script_that_was_broken_before_is_not_blamed_on_the_change(world):
    world.put("run.sh", BROKEN[0])
    verdict = world.judge(("run.sh", BROKEN[0] + "echo more\n"))
    assert verdict.status != "pass"
    world.put("run.sh", "echo fine\n")
    assert world.judge(("run.sh", BROKEN[0])).findings[0].new


def test_without_bash_it_is_said_and_no_pass_by_silence(world, monkeypatch):
    from rails.gate.checks import shell

    monkeypatch.setattr(shell, "_PLACES", ())
    verdict = world.judge(("run.sh", "echo\n"))
    assert [missed.reason for missed in verdict.not_checked] == ["bash is not installed"]
