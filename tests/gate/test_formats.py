"""Reports for other programs: each has the form its readers expect."""

import json
import xml.etree.ElementTree as ET

import jsonschema
import pytest

from rails.core.changes import ChangeSet
from rails.core.errors import UsageError
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked, Verdict
from rails.gate.report import text

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
ARTIFACT = {
    "type": "object",
    "required": ["uri"],
    "additionalProperties": False,
    "properties": {"uri": {"type": "string", "pattern": "^[A-Za-z0-9/._~%-]+$"}, "uriBaseId": {"const": "PROJECT"}},
}
POSITIVE = {"type": "integer", "minimum": 1}
REGION = {
    "type": "object",
    "required": ["startLine"],
    "additionalProperties": False,
    "properties": dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), POSITIVE),
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {"artifactLocation": ARTIFACT, "region": REGION},
        }
    },
}
#: The part of SARIF 2.1.0 that is written here, as strict as the standard's own schema is about it.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {"shortDescription": TEXT, "help": TEXT},
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {
                                            "message": TEXT,
                                            "level": {"enum": ["none", "note", "warning", "error"]},
                                            "locations": {"type": "array", "items": LOCATION},
                                        },
                                    },
                                },
                            },
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": {"type": "object"},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
                            },
                        },
                    },
                },
            },
        },
    },
}

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


def test_sarif_says_what_was_not_checked_and_what_is_new():
    run = json.loads(text.render(VERDICT, "sarif"))["runs"][0]
    assert [item["level"] for item in run["invocations"][0]["toolExecutionNotifications"]] == ["note", "error"]
    assert [item["baselineState"] for item in run["results"]] == ["new", "unchanged", "new"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/a%20%C3%A9%2Cb.py"


def test_a_sarif_fingerprint_does_not_depend_on_the_line_number():
    def prints(line):
        found = Finding("a.py", line, 1, "F811", f"Redefinition from line {line}", "ruff", source="def f(): ...")
        log = json.loads(text.render(Verdict("fail", ChangeSet(), (found,)), "sarif"))
        return log["runs"][0]["results"][0]["partialFingerprints"]

    assert prints(3) == prints(30)


def test_github_annotations_are_one_escaped_line_each():
    lines = text.render(VERDICT, "github").split("\n")
    assert len(lines) == 5
    assert lines[0].startswith(
        "::error title=F821,file=src/a é%2Cb.py,line=3,endLine=3,col=5,endColumn=6::F821 Undefined"
    )
    assert lines[1] == "::warning title=rule%3A1,file=src/a é%2Cb.py::rule:1 100 %25 wrong%0Areally"
    assert "\x1b" not in lines[2]
    assert lines[4].startswith("::error title=not checked,file=e.py::")


def test_junit_counts_failures_and_errors():
    root = ET.fromstring(text.render(VERDICT, "junit").encode())
    assert root.attrib["tests"] == str(len(root.findall(".//testcase")))
    assert len(root.findall(".//failure")) == 2
    assert len(root.findall(".//error")) == 1
    passed = ET.fromstring(text.render(EMPTY, "junit").encode())
    assert (passed.attrib["failures"], passed.attrib["errors"]) == ("0", "0")
    assert len(passed.findall(".//testcase")) == 1


def test_rdjson_counts_bytes():
    first, second, third = json.loads(text.render(VERDICT, "rdjson"))["diagnostics"]
    assert first["location"]["range"] == {"start": {"line": 3, "column": 6}, "end": {"line": 3, "column": 7}}
    assert second["location"]["range"] == {"start": {"line": 1, "column": 1}}
    assert (third["severity"], third["code"]["value"]) == ("ERROR", "json-syntax")


def test_the_explanation_names_versions_rules_and_what_was_known():
    shown = text.render(VERDICT, "text", explain=True)
    assert "ruff   0.17.6       2      1  3.2  pyproject.toml  /bin/ruff check -" in shown
    assert "data                0      0  0.1                  (in this process)" in shown


def test_an_unknown_form_is_a_usage_error():
    with pytest.raises(UsageError, match="text, json, sarif, github, junit, rdjson"):
        text.render(VERDICT, "xml")


def test_json_is_the_documented_object():
    assert json.loads(text.render(VERDICT, "json")) == text.verdict_as_json(VERDICT)


def test_what_was_given_back_is_not_offered_to_be_corrected():
    """``gate --fix`` corrects nothing in a file whose repairs broke it: it has just tried."""
    found = [Finding(path, 1, 1, "F401", "unused", "ruff", fixable=True) for path in ("a.py", "b.py")]
    back = NotChecked(
        "a.py", "fix", "a fix or the formatter broke the file, so the text is as the agent wrote it", True
    )
    said = text.verdict_as_text(Verdict("fail", ChangeSet(), tuple(found), (), (back,)))
    assert "ai-rails gate --fix corrects 1 of them." in said
