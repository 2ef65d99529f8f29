"""The gate for editors and programs: contents come in, verdicts go out, the disk is not touched."""

import io
import json

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


def lines(gate, *items):
    code, out, _ = gate("".join(f"{json.dumps(item)}\n" for item in items).encode(), "--jsonl")
    return code, [json.loads(line) for line in out.splitlines()]


def test_a_buffer_is_judged_as_the_file_it_is_of(gate, project):
    code, out, _ = gate(b"x = undefined\n", "--stdin-filename", "src/new.py")
    assert code == 1
    assert "F821" in out
    assert not (project / "src").exists()


def test_with_fix_the_repaired_text_is_the_output_and_the_report_goes_elsewhere(gate):
    code, out, err = gate(b"import os\nx  =  1\n", "--stdin-filename", "a.py", "--fix")
    assert (code, out) == (0, "x = 1\n")
    assert "F401" in err


def test_each_line_is_answered_with_its_id_and_only_what_is_new_counts(gate):
    old = "x = undefined\n"
    code, found = lines(
        gate,
        {"id": "same", "path": "a.py", "before": old, "after": old + "y = 1\n"},
        {"id": "worse", "path": "a.py", "before": old, "after": old + "y = unknown\n"},
        {"id": "new", "path": "b.py", "before": None, "after": "z  = 1\n"},
    )
    assert code == 1
    assert [(one["id"], one["status"]) for one in found] == [("same", "pass"), ("worse", "fail"), ("new", "pass")]
    assert [one["line"] for one in found[1]["findings"] if one["new"]] == [2]
    assert found[2]["after"] == "z = 1\n"


@walked(
    "line",
    ["nonsense", "[]", "{}", '{"path": "a.py"}', '{"path": "../a.py", "after": ""}', '{"path": "a.py", "after": 3}'],
)
def test_a_line_that_is_none_is_an_error_and_the_next_one_is_judged(gate, line):
    good = json.dumps({"id": 2, "path": "a.py", "before": None, "after": "x = 1\n"})
    code, out, _ = gate(f"{line}\n{good}\n".encode(), "--jsonl")
    first, second = map(json.loads, out.splitlines())
    assert code == 3
    assert first["status"] == "error"
    assert "not judged" in first["error"]
    assert (second["id"], second["status"]) == (2, "pass")


@walked(
    "words",
    [
        *(["--jsonl", *more] for more in (["a.py"], ["--diff", "HEAD"], ["--fix"], ["--explain"], ["--trust"])),
        *(["--jsonl", "--format", "json"], ["--stdin-filename", "../x.py"], ["--stdin-filename", "x.py", "--trust"]),
    ],
)
def test_what_cannot_be_meant_is_said(gate, words):
    code, _, err = gate(b"", *words)
    assert code == 2
    assert "leave" in err or "outside" in err
