"""Completion of the command line: the real shell completes what the parsers know, and nothing else."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from rails.cli import VERBS, main
from rails.commands.completion import SHELLS, verb_of


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
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _ai_rails; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", file, *words], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_verbs_options_values_and_actions(script):
    file = script("bash")
    assert completed(file, "ai-rails ") == list(VERBS)
    assert completed(file, "ai-rails re") == ["redo", "review"]
    assert completed(file, "ai-rails --v") == ["--version"]
    assert completed(file, "ai-rails gate --str") == ["--strict"]
    assert completed(file, "ai-rails run --approve ") == ["ask", "policy"]
    assert completed(file, "ai-rails run --escalate s") == ["squash"]
    assert completed(file, "ai-rails tools t") == ["trust", "test"]
    assert completed(file, "ai-rails n8n --output ") == []  # file names are bash's own work
    assert completed(file, "ai-rails gate ") == []


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_option_of_a_verb_is_offered(script, verb):
    assert completed(script("bash"), f"ai-rails {verb} -") == verb_of(verb).spellings


def test_a_key_press_in_a_real_bash_completes(script):
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("bash", ["bash", "--norc", "-i"], {"PATH": os.defpath, "TERM": "dumb", "PS1": "$ "})
    try:
        os.write(terminal, f"bind 'set enable-bracketed-paste off'; source {script('bash')}\n".encode())
        os.write(terminal, b"ai-rails gate --sta\t")
        seen, until = b"", time.monotonic() + 30
        while b"gate --staged " not in seen and time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 4096)
        assert b"gate --staged " in seen
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_scripts_name_every_verb_and_option(script, shell):
    text = script(shell).read_text("utf-8")
    for verb in VERBS:
        for option in verb_of(verb).options:
            for name in option.names:
                written = (
                    name if shell == "zsh" else f" -l {name[2:]} " if name.startswith("--") else f" -s {name[1:]} "
                )
                assert written in text


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_that_is_here_reads_its_script(script, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", script(shell)], check=True, timeout=60)
