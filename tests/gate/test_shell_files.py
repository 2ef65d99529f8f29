"""Shell scripts are parsed by bash, and nothing of them is run."""

import pytest

from tests.rows import walked

BROKEN = ["if true; then\necho x\n", 'echo "never closed\n', "case x in\na) echo;;\n", "f() {\necho x\n", "done\n"]


@pytest.mark.parametrize("text", ["echo hello\n", "#!/bin/sh\nset -eu\nfor a in 1 2; do\n  echo $a\ndone\n", ""])
def test_a_script_that_parses_passes(world, text):
    assert world.judge(("run.sh", text)).status == "pass"


@walked("text", BROKEN)
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
    verdict = world.judge(("run.sh", BROKEN[0], "echo more\n" + BROKEN[0]))
    assert (verdict.status, [finding for finding in verdict.findings if finding.new]) == ("pass", [])
    verdict = world.judge(("run.sh", "echo fine\n", BROKEN[0]))
    assert [finding.new for finding in verdict.findings] == [True]


def test_without_bash_it_is_said_and_no_pass_by_silence(world, monkeypatch):
    from rails.gate.kinds import shell

    monkeypatch.setattr(shell, "_PLACES", ())
    verdict = world.judge(("run.sh", "echo\n"))
    assert [missed.reason for missed in verdict.not_checked] == ["bash is not installed"]


@walked("name", ["deploy", "bin/deploy", "run.sh"])
@walked("first", ["#!/bin/sh", "#! /usr/bin/env bash", "#!/usr/bin/env -S X=1 bash -eu", "#!/bin/dash"])
def test_a_script_is_known_by_its_first_line_and_by_its_name(world, name, first):
    verdict = world.judge((name, f"{first}\n{BROKEN[0]}"))
    assert [finding.rule for finding in verdict.findings] == ["syntax-error"]


@pytest.mark.parametrize("program", ["/bin/zsh", "/usr/bin/env fish", "/usr/bin/env -S awk -f", "/usr/bin/perl"])
def test_what_another_program_reads_is_not_judged_by_bash_and_that_is_said(world, program):
    verdict = world.judge(("run.sh", f"#!{program}\n{BROKEN[0]}"))
    assert not verdict.findings
    (missed,) = verdict.not_checked
    assert missed.reason.startswith("it is run by ")
    assert missed.reason.split()[-1] in program


def test_patterns_that_a_running_script_switches_on_are_no_error(world):
    assert world.judge(("run.sh", "shopt -s extglob\nrm -f !(keep|this)\n")).status == "pass"
    assert world.judge(("run.sh", "case $1 in\n+([0-9])) echo number;;\nesac\n")).status == "pass"


def test_a_parser_that_crashes_is_a_check_that_did_not_run(world, monkeypatch, tmp_path):
    from rails.gate.kinds import shell

    broken = tmp_path / "bash"
    broken.write_text("#!/bin/sh\necho oops >&2\nexit 70\n")
    broken.chmod(0o755)
    monkeypatch.setattr(shell, "_PLACES", (str(broken),))
    verdict = world.judge(("run.sh", "echo\n"))
    assert verdict.status == "error"
    assert "oops" in verdict.not_checked[0].reason
