"""The gate for editors and programs: a buffer comes in, a verdict goes out, the disk is not touched."""

import io

import pytest

from rails.cli import main
from tests.rows import walked


@pytest.fixture
def gate(project, monkeypatch, capsysbinary):
    """Run ``ai-rails gate`` in the project with an input; returns the exit code, the output and the error text."""
    monkeypatch.chdir(project)

    def run(data, *words):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(["gate", *words])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_a_buffer_is_judged_as_the_file_it_is_of(gate, project):
    code, out, _ = gate(b"x = undefined\n", "--stdin-filename", "src/new.py")
    assert code == 1
    assert "F821" in out
    assert not (project / "src").exists()


def test_with_fix_the_repaired_text_is_the_output_and_the_report_goes_elsewhere(gate):
    code, out, err = gate(b"import os\nx  =  1\n", "--stdin-filename", "a.py", "--fix")
    assert (code, out) == (0, "x = 1\n")
    assert "F401" in err


@walked(
    "words",
    [
        *(["--stdin-filename", "x.py", *more] for more in (["a.py"], ["--diff", "HEAD"], ["--staged"], ["--trust"])),
        ["--stdin-filename", "../x.py"],
    ],
)
def test_what_cannot_be_meant_is_said(gate, words):
    code, _, err = gate(b"", *words)
    assert code == 2
    assert "leave" in err or "outside" in err
