"""Completion of the command line: a real shell completes what the parsers know."""

import shutil
import subprocess

import pytest

from rails.cli import main
from rails.commands.verbs import VERBS

pytest.importorskip("shtab")


@pytest.fixture
def script(capsys, tmp_path):
    def made(shell):
        assert main(["completion", shell]) == 0
        file = tmp_path / f"completion.{shell}"
        file.write_text(capsys.readouterr().out, "utf-8")
        return file

    return made


def completed(file, line):
    """Return what bash offers at the end of ``line``."""
    words = line.split(" ")
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); '
        '_shtab_ai_rails ai-rails "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", file, *words], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_bash_completes_verbs_options_values_and_actions(script):
    file = script("bash")
    assert set(VERBS) <= set(completed(file, "ai-rails "))
    assert completed(file, "ai-rails re") == ["redo", "review"]
    assert completed(file, "ai-rails gate --str") == ["--strict"]
    assert completed(file, "ai-rails run --approve ") == ["ask", "policy"]
    assert set(completed(file, "ai-rails tools t")) == {"trust", "test"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_that_is_here_reads_its_script(script, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", script(shell)], check=True, timeout=60)
