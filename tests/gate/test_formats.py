"""Reports for other programs: each has the form its readers expect."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from msgspec.structs import asdict

from rails.core.changes import ChangeSet
from rails.core.verdict import CheckRun, Evidence, Finding, Fixed, NotChecked, Verdict
from rails.gate.report import text

#: The part of SARIF 2.1.0 that is written here, as strict as the standard's own schema is about it.
SARIF = json.loads((Path(__file__).parent / "sarif.json").read_text())

VERDICT = Verdict(
    "fail",
    ChangeSet(),
    (
        Finding("src/a é,b.py", 3, 5, "F821", "Undefined name `x`", "ruff", end_line=3, end_column=6, source="é = x"),
        Finding("src/a é,b.py", 0, 0, "rule:1", "100 % wrong\nreally", "tool", severity="warning", new=False),
        Finding("c.json", 1, 2, "json-syntax", "<bad> & \x1b[31m", "json", end_line=4, end_column=1, remedy="Mend it."),
    ),
    (Fixed("src/a é,b.py", "F401", "ruff", 2),),
    (NotChecked("d.go", "syntax", "no check", False), NotChecked("e.py", "ruff", "not installed")),
    (CheckRun("ruff", "0.17.6", 3.21, "pyproject.toml", 2, 1, "/bin/ruff check -"), CheckRun("data", "", 0.1)),
)
EMPTY = Verdict("pass", ChangeSet())


@pytest.mark.parametrize("verdict", [VERDICT, EMPTY], ids=["findings", "empty"])
def test_sarif_has_the_form_of_the_standard(verdict):
    log = json.loads(text.render(verdict, "sarif"))
    jsonschema.Draft7Validator(SARIF).validate(log)
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[item["ruleIndex"]]["id"] for item in run["results"]] == [item["ruleId"] for item in run["results"]]


def test_a_sarif_fingerprint_does_not_depend_on_the_line_number():
    def prints(line):
        found = Finding("a.py", line, 1, "F811", f"Redefinition from line {line}", "ruff", source="def f(): ...")
        log = json.loads(text.render(Verdict("fail", ChangeSet(), (found,)), "sarif"))
        return log["runs"][0]["results"][0]["partialFingerprints"]

    assert prints(3) == prints(30)


def test_what_was_given_back_is_not_offered_to_be_corrected():
    """``gate --fix`` corrects nothing in a file whose repairs broke it: it has just tried."""
    found = [Finding(path, 1, 1, "F401", "unused", "ruff", fixable=True) for path in ("a.py", "b.py")]
    back = NotChecked(
        "a.py", "fix", "a fix or the formatter broke the file, so the text is as the agent wrote it", True
    )
    said = text.verdict_as_text(Verdict("fail", ChangeSet(), tuple(found), (), (back,)))
    assert "ai-rails gate --fix corrects 1 of them." in said


# -- what stands beside a verdict: places, ends, notes, counts and order, each as it is written --------------

FOUND = (
    Finding("b.py", 3, 5, "F821", "Undefined name `x`", "ruff", end_line=3, end_column=6, source="é = x"),
    Finding("b.py", 9, 0, "C901", "`f` is too complex (12 > 10)", "ruff", worse_than=11, end_line=9, end_column=2),
    Finding("b.py", 3, 2, "E\x07", "old\nnews", "t", "warning", 3, 5, new=False, source="\ta\x1b = b"),
    Finding("b.py", 0, 0, "I001", "Sort the imports.", "ruff", severity="info", remedy="Sort the imports."),
    Finding("a\t.json", 2, 1, "N8N001", "Two, A.", "n8n", end_line=4, end_column=1, remedy="Rename\none.", source=" "),
    Finding("a\t.json", 2, 1, "B2", "<bad> & \x1b[31m", "json", remedy="Mend it", source="{"),
    Finding("w.py", 1, 300, "W1", "long", "ruff", end_line=1, end_column=302, source="x = " + "y" * 400),
    Finding("w.py", 2, 160, "W1", "whole 7", "ruff", end_line=2, end_column=160, source="z" * 159 + "v"),
    Finding("w.py", 3, 4, "A\n1", 'old %\r"q"', "ruff", end_line=4, end_column=9, new=False, source='\t"q"z'),
    Finding("w.py", 3, 1, "Z", "", "ruff", end_line=4, remedy="Do."),
)
MISSED = (
    *(NotChecked(f"d\n{n}.go", "syntax", "no check", False) for n in range(5)),
    NotChecked("d\n1.go", "lint", "no check", False),
    *(NotChecked("e\t.py", check, "not\tthere") for check in ("ruff", "mypy")),
    NotChecked("w.py", "fix", "it broke the file"),
)
MENDED = (Fixed("a\t.py", "F401", "ruff", 2), Fixed("a\t.py", "format", "ruff"), Fixed("b.py", "I001", "ruff"))
RUNS = (
    CheckRun("ruff", "0.17.6", 3.21, "pyproject.toml", 2, 1, "/bin/ruff check -"),
    CheckRun("data", "", 1000, "a\tb", 10_000_000, 0, "x\ty"),
)
RICH = Verdict("fail", ChangeSet(), FOUND, MENDED, MISSED, RUNS, evidence=(Evidence("b.py", ("ruff", "syntax")),))
AS_TEXT = f"""\
<bold>a\\x09.json<plain>
  2:1      <red>B2<plain> <bad> & \\x1b[31m
           <dim>|<plain> {{
           <dim>|<plain> <red>^<plain>
           <dim>=<plain> Mend it
  2:1      <red>N8N001<plain> Two, A.
           <dim>=<plain> Rename\\x0aone.

<bold>b.py<plain>
  -        <yellow>I001<plain> note: Sort the imports.
  3:2      <yellow>E\\x07<plain> warning: old\\x0anews<dim> (was there before)<plain>
           <dim>|<plain>  a\\x1b = b
           <dim>|<plain>  <red>^^^^^^<plain>
  3:5      <red>F821<plain> Undefined name `x`
           <dim>|<plain> é = x
           <dim>|<plain>     <red>^<plain>
  9:0      <red>C901<plain> `f` is too complex (12 > 10)

<bold>w.py<plain>
  1:300    <red>W1<plain> long
           <dim>|<plain> {"y" * 160}
           <dim>|<plain> {" " * 80}<red>^^<plain>
  2:160    <red>W1<plain> whole 7
           <dim>|<plain> {"z" * 159}v
           <dim>|<plain> {" " * 159}<red>^<plain>
  3:1      <red>Z<plain>{" "}
           <dim>=<plain> Do.
  3:4      <yellow>A\\x0a1<plain> old %\\x0d"q"<dim> (was there before)<plain>
           <dim>|<plain>  "q"z
           <dim>|<plain>    <red>^<plain>

<bold>Auto-fixed<plain>
  a\\x09.py: F401 (2), ruff
  b.py: I001 (1)

<bold>Not checked<plain>
  e\\x09.py: ruff, mypy: not\\x09there
  w.py: fix: it broke the file
  5 files: syntax, lint: no check (not required)
    d\\x0a0.go, d\\x0a1.go, d\\x0a2.go and 2 more

<red>Fail: 7 findings in 3 files, 1 worse than before.<plain>
"""
COLOURS = {"bold": "1", "red": "31", "plain": "0", "dim": "2", "yellow": "33", "green": "32"}


def coloured(shown, *, colour):
    for name, code in COLOURS.items():
        shown = shown.replace(f"<{name}>", f"\x1b[{code}m" if colour else "")
    return shown


@pytest.mark.parametrize("colour", [False, True])
def test_the_text_names_every_place_in_order_with_its_line_and_its_end(colour):
    assert text.verdict_as_text(RICH, colour) == coloured(AS_TEXT, colour=colour)
    passed = coloured("<green>Pass: every required check ran and found nothing new.<plain>\n", colour=colour)
    assert text.verdict_as_text(EMPTY, colour) == passed
    error = "<red>Error: something required could not be checked. This is not a pass.<plain>\n"
    assert text.verdict_as_text(Verdict("error", ChangeSet()), colour) == coloured(error, colour=colour)


def test_the_explanation_and_the_other_words_of_a_summary_are_exact():
    shown = text.render(RICH, "text", explain=True)
    assert shown == text.verdict_as_text(RICH) + "\n" + (
        "check  version  files     known  ms        rules\n"
        "ruff   0.17.6   2         1           3.2  pyproject.toml\n"
        "data            10000000  0        1000.0  a\\x09b\n"
        "ruff: /bin/ruff check -\n"
        "data: x\\x09y\n"
    )
    assert text.render(RICH, "text") == text.verdict_as_text(RICH)
    wide = Finding("a.py", 1, 2, "R", "m", "t", source="ab" + "c" * 200)
    said = text.verdict_as_text(Verdict("fail", ChangeSet(), (wide,)))
    assert f"\n           | ab{'c' * 158}\n           |  ^\n" in said, "from its start where the place is in it"
    at = Finding("a.py", 1, 2, "R", "m", "t", end_line=1, end_column=2, source="a\x1bb")
    assert "\n           | a\\x1bb\n           |  ^^^^\n" in text.verdict_as_text(Verdict("fail", ChangeSet(), (at,)))
    alone = (Finding("a.py", 1, 1, "format", "m", "ruff"), Finding("b.py", 1, 1, "F401", "m", "ruff", fixable=True))
    misses = tuple(NotChecked(f"{name}.py", "ruff", "r") for name in "abc")
    said = text.verdict_as_text(Verdict("fail", ChangeSet(), alone, (), misses))
    assert said.endswith(
        "\nNot checked\n  a.py: ruff: r\n  b.py: ruff: r\n  c.py: ruff: r\n\n"
        "Fail: 2 findings in 2 files. ai-rails gate --fix corrects 2 of them.\n"
    )


def test_json_has_every_field_of_what_was_found_mended_missed_and_run():
    found = [asdict(one) for one in FOUND]
    as_json = {
        "verdict": "fail",
        "findings": [{name: value for name, value in one.items() if name != "source"} for one in found],
        "fixed": [asdict(one) for one in MENDED],
        "not_checked": [asdict(one) for one in MISSED],
        "evidence": [{"path": "b.py", "checks": ["ruff", "syntax"]}],
        "checks": [
            {"name": "ruff", "version": "0.17.6", "duration_ms": 3.21, "command": "/bin/ruff check -"},
            {"name": "data", "version": "", "duration_ms": 1000, "command": "x\ty"},
        ],
    }
    assert text.render(RICH, "json") == json.dumps(as_json, indent=2)


def test_sarif_tells_each_place_state_and_miss():
    (run,) = json.loads(text.render(RICH, "sarif"))["runs"]
    assert [one["baselineState"] for one in run["results"][:3]] == ["new", "updated", "unchanged"]
    place = run["results"][4]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%09.json", "uriBaseId": "PROJECT"}
    assert place["region"] == {"startLine": 2, "startColumn": 1, "endLine": 4, "endColumn": 1}
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["N8N001"]["help"] == {"text": 'For example: {"nodes": [}'}
    assert rules["C901"]["shortDescription"] == {"text": "`f` is too complex (# > #)"}
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert [(one["level"], one["message"]["text"]) for one in told[-2:]] == [
        ("error", "mypy did not check it: not\tthere"),
        ("error", "fix did not check it: it broke the file"),
    ]


def test_annotations_tell_each_place_and_miss():
    lines = text.render(RICH, "github").split("\n")
    assert lines[0] == "::error title=F821,file=b.py,line=3,endLine=3,col=5,endColumn=6::F821 Undefined name `x`"
    assert lines[3] == "::notice title=I001,file=b.py::I001 Sort the imports."
    assert lines[8] == '::error title=A%0A1,file=w.py,line=3,endLine=4,col=4,endColumn=9::A%0A1 old %25\\x0d"q"'
    assert lines[15] == "::notice title=not checked,file=d%0A1.go::lint did not check it: no check"
    assert lines[-1] == "::error title=not checked,file=w.py::fix did not check it: it broke the file"
    assert len(lines) == len(FOUND) + len(MISSED)


def test_junit_has_a_case_for_each_file_that_blocks_and_their_counts():
    root = ElementTree.fromstring(text.render(RICH, "junit"))
    assert root.attrib == {"tests": "4", "failures": "3", "errors": "2", "time": "1.003"}
    cases = {case.get("name"): [part.get("message") for part in case] for case in root.iter("testcase")}
    assert cases["b.py"] == ["9:0 C901 `f` is too complex (12 > 10)", "3:5 F821 Undefined name `x`"]
    assert cases["w.py"][0] == "fix did not check it: it broke the file"
    assert list(cases) == [r"a\x09.json", "b.py", r"e\x09.py", "w.py"]
    assert '"every required check ran and found nothing new"/>' in text.render(EMPTY, "junit")


CODE = """\
import os

def first(a):
    b = a

    return b

# between
async def second(
    a,
):
    if a:
        return 1

class A:
    VALUE = 1

    def inner(self):
        return 2
"""


@pytest.mark.parametrize(
    ("line", "end_line", "first", "last", "marked"),
    [
        (1, 1, 1, 4, "1"),
        (4, 6, 3, 6, "4 5 6"),
        (6, 99, 3, 6, "6"),
        (8, 8, 5, 11, "8"),
        (13, 13, 9, 13, "13"),
        (16, 16, 15, 19, "16"),
        (19, 19, 18, 19, "19"),
        (20, 20, 0, 0, ""),
        (0, 0, 0, 0, ""),
    ],
)
def test_around_a_finding_its_function_is_shown_or_some_lines_on_each_side(line, end_line, first, last, marked):
    shown = text.window(Finding("a.py", line, 1, "R", "m", "t", end_line=end_line), CODE).split("\n")
    places = [one.partition(" | ")[0].rstrip(" |").split(" ", 1) for one in shown if one]
    assert [int(number) for _, number in places] == list(range(first, last + 1) if first else [])
    assert " ".join(number.strip() for mark, number in places if mark == ">") == marked
    broken = text.window(Finding("a.py", 5, 1, "syntax-error", "m", "t"), CODE.replace("return b", "return (b"))
    assert broken.count("\n") == 13, "of what does not parse more lines are shown"


def test_a_line_around_a_finding_is_cut_and_shows_what_it_holds():
    one = Finding("a.py", 1, 1, "R", "m", "t")
    assert text.window(one, "\ta\x1b" + "b" * 200) == "> 1 | \ta\\x1b" + "b" * 157
    assert text.window(one, "") == ""
    assert text.window(one, "a\n\n").split("\n") == ["> 1 | a", "  2 |"]
    assert text.window(one, "a") == "> 1 | a"
