"""Each risk of a change, a verdict or a tool has its kind, its path and its exact sentence, the worst first."""

from rails.approval.content_risks import Risk
from rails.approval.risks import change_risks, gate_risks, is_emptied, tool_risks
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import parse_path
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Finding, NotChecked, Verdict


def change(path, before, after, mode=0o644):
    return FileChange(parse_path(path), before, after, mode)


def lines(first, last):
    return b"".join(b"line %d\n" % number for number in range(first, last))


def test_what_a_change_takes_away_or_makes_executable_is_said_in_lines():
    for made, risks in [
        (change("a.py", b"x\ny\n", None), [("delete", "Deletes a.py (2 lines).")]),
        (change("a.py", b"x\ny", None), [("delete", "Deletes a.py (2 lines).")]),
        (change("a.py", b"x\n", None), [("delete", "Deletes a.py (1 line).")]),
        (change("a.py", b"", None), [("delete", "Deletes a.py (0 lines).")]),
        (change("a.bin", b"\0\1", None), [("delete", "Deletes a.bin (2 bytes).")]),
        (change("a.py", b"x\n", b" \n"), [("delete", "Empties a.py (1 line before).")]),
        (change("a.py", b" \n", b""), []),
        (
            change("a.py", lines(0, 59), lines(30, 59)),
            [("large_deletion", "Removes 30 lines, more than half of a.py.")],
        ),
        (change("a.py", lines(0, 60), lines(30, 60)), []),
        (change("a.py", lines(0, 57), lines(29, 57)), []),
        (change("a.py", lines(0, 59), lines(30, 59) + lines(0, 1)), []),
        (change("a.py", lines(0, 59), lines(40, 59) + lines(0, 40)), []),
        (change("a.py", None, b"x\n", 0o755), [("executable", "Creates a.py as an executable file.")]),
        (change("a.py", None, b"x\n", 0o645), [("executable", "Creates a.py as an executable file.")]),
        (change("a.py", b"y\n", b"x\n", 0o755), []),
        (change("a.py", b"y\n", b"x\n"), []),
    ]:
        found = [risk for risk in change_risks(ChangeSet((made,))) if risk.kind != "not_text"]
        assert found == [Risk(kind, str(made.path), text) for kind, text in risks]


def test_the_worst_of_all_files_stands_first():
    made = (
        change("run.sh", None, b"x\n", 0o755),
        change("a.py", lines(0, 59), lines(30, 59)),
        change("b.py", b"x\n", None),
        change("c.py", None, b"x = 1\x1b\n"),
        change("pyproject.toml", b"[project]\n", b"[project]\nname = 1\n"),
    )
    found = change_risks(ChangeSet(made))
    assert [(risk.kind, risk.path) for risk in found if risk.path != "c.py"] == [
        ("protected", "pyproject.toml"),
        ("delete", "b.py"),
        ("large_deletion", "a.py"),
        ("executable", "run.sh"),
    ]
    assert found[0].text.startswith("Protected file pyproject.toml: ")
    assert found[1].path == "c.py", "what a text hides follows the protected files"


def test_a_file_is_emptied_where_content_goes_and_the_file_stays():
    given = [(b"x", b""), (b"x", b" \n"), (b" ", b""), (b"x", None), (None, b""), (b"x", b"y")]
    assert [is_emptied(change("a", *sides)) for sides in given] == [True, True, False, False, False, False]


FINDING = Finding("a.py", 1, 1, "F821", "m", "ruff")
MISSES = (NotChecked("a.py", "ruff", "it is not there"), NotChecked("b.css", "text", "no check", required=False))
MISSED = "Not checked by ruff: a.py (it is not there)"


def test_why_the_checks_do_not_vouch_is_said_one_by_one():
    for verdict, texts in [
        (Verdict("pass", ChangeSet(()), not_checked=MISSES), []),
        (Verdict("fail", ChangeSet(()), (FINDING,)), ["The checks did not pass: 1 new problem."]),
        (
            Verdict("fail", ChangeSet(()), (FINDING,) * 2, not_checked=MISSES),
            [
                "The checks did not pass: 2 new problems.",
                MISSED,
            ],
        ),
        (Verdict("error", ChangeSet(()), not_checked=MISSES), [MISSED]),
        (Verdict("error", ChangeSet(()), not_checked=MISSES[1:]), ["The checks could not be completed."]),
    ]:
        assert gate_risks(verdict) == tuple(Risk("checks", "", text) for text in texts)


def test_a_tool_that_runs_something_uncontained_or_comes_from_the_project_is_named_once():
    requests = [
        ToolRequest(f"r{at}", name, {}, "", effect, False, "0" * 64, "coder")
        for at, (name, effect) in enumerate(
            [("deploy", "run"), ("deploy", "run"), ("held", "run"), ("read_file", "read"), ("own", "read")]
        )
    ]
    assert tool_risks(requests, from_project=["own", "held", "unused"], contained=["held"]) == (
        Risk("run", "", "deploy runs a program or calls a service; what it does cannot be undone here."),
        Risk("project_tool", "", "The definition of held comes from the project, not from you."),
        Risk("project_tool", "", "The definition of own comes from the project, not from you."),
    )
    assert tool_risks([]) == ()
