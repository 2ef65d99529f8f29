"""Answers as people paste them from a chat: patches, named blocks, a provider's JSON. Read, or refused by name."""

import json
from functools import cache
from pathlib import Path

import pytest

import rails
from rails.core.errors import Refusal
from rails.core.tool_request import RawRequest
from rails.edits.plan import plan
from rails.parsing.parse import AnswerParser, parse
from rails.session.project import registry_of
from rails.tools.validate import validate
from tests.rows import walked

from .helpers import save

CASES = Path(__file__).parent.parent / "cases" / "pasted"
FILES = json.loads((CASES / "project.json").read_text(encoding="utf-8"))
EXPECTED = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))
#: What somebody who pastes is told where nothing is found.
NOTHING = "What is read"
PROPOSED = {"unified diff", "*** Begin Patch", "SEARCH/REPLACE", "named block", "provider JSON"}


@cache
def registry():
    """The tools that ship; no project adds any here."""
    return registry_of(CASES)


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        save(tmp_path, name, text)
    return tmp_path


def result(project, text, size=0):
    """The files that an answer changes, by path; or everything that is said against it."""
    reader = AnswerParser(registry().shapes(), report_unread_calls=True)
    for start in range(0, len(text), size or len(text)):
        reader.feed(text[start : start + (size or len(text))])
    found = reader.flush("end_turn")
    said = [refusal.message for refusal in found.refusals]
    requests = []
    for raw in found.requests:
        judged = validate(raw, registry(), "coder")
        if isinstance(judged, tuple):
            said += [refusal.message for refusal in judged]
        else:
            requests.append(judged)
    planned = plan(requests, project)
    said += [refusal.message for refusal in planned.refusals]
    if said or not requests:
        return " ".join(said) or NOTHING
    return {str(one.path): None if one.after is None else one.after.decode() for one in planned.changes.changes}


def case(name):
    return (CASES / f"{name}.md").read_bytes().decode()


@walked("name", EXPECTED)
def test_a_pasted_answer_is_read_as_it_was_meant_or_refused_by_name(project, name):
    wanted = EXPECTED[name]
    said = result(project, case(name))
    if "files" in wanted:
        assert said == wanted["files"]
    else:
        assert isinstance(said, str), said
        assert wanted["refused"] in said


def test_every_case_has_an_expectation_and_most_forms_are_read():
    assert {path.stem for path in CASES.glob("*.md")} == set(EXPECTED)
    assert len(EXPECTED) >= 60
    assert sum("files" in one for one in EXPECTED.values()) >= 50


def test_nothing_is_taken_out_of_an_answer_that_was_cut():
    shapes = registry().shapes()
    for name in (name for name in EXPECTED if "files" in EXPECTED[name]):
        text = case(name)
        for end in range(0, len(text), max(1, len(text) // 4)):
            found = parse(text[:end], shapes, report_unread_calls=True, finish="max_tokens")
            assert not {one.dialect for one in found.requests} & PROPOSED, (name, end)


def test_a_patch_in_an_answer_with_a_tool_request_is_not_taken():
    reader = AnswerParser(registry().shapes(), report_unread_calls=True)
    reader.feed(case("diff-git") + '\n```json\n{"tool": "read_file", "file_path": "notes.txt"}\n```\n')
    assert [request.tool_name for request in reader.flush("end_turn").requests] == ["read_file"]


def test_who_may_not_edit_only_shows_what_it_writes():
    for role, tools in (("code-review", []), ("coder", ["edit_file"])):
        reader = AnswerParser(registry().shapes(), report_unread_calls=True, proposed_to=registry().shapes(role))
        reader.feed(case("diff-git"))
        found = reader.flush("end_turn")
        assert [request.tool_name for request in found.requests] == tools
        assert not found.refusals


def test_what_is_read_names_its_form_and_its_place():
    shapes = registry().shapes()
    text = case("diff-two-files")
    found = parse(text, shapes, report_unread_calls=True)
    assert [one.dialect for one in found.requests] == ["unified diff"] * 2
    assert all(text[one.start : one.end].startswith("```diff") for one in found.requests)
    assert all(isinstance(one, RawRequest) and not isinstance(one, Refusal) for one in found.requests)
    assert found.blocks == {one.id: (one.start, one.end) for one in found.requests}
    assert [one.id for one in found.requests] == ["r1", "r2"]
    again = parse(text, shapes, report_unread_calls=True, id_prefix="t7.r")
    assert [one.id for one in again.requests] == ["t7.r1", "t7.r2"]


def test_a_block_of_file_editor_is_whole_lines_too(project):
    diff = "<<<<<<< HEAD\n    return 2\n=======\n    return 3\n>>>>>>> updated\n"
    call = json.dumps({"tool": "file_editor", "path": "src/app.py", "mode": "edit", "diff": diff})
    assert "not in the file" in result(project, f"```json\n{call}\n```\n")


METHOD = "    def {}(self):\n        return {}\n"
TWO = f"class A:\n{METHOD.format('f', 1)}\n\nclass B:\n{METHOD.format('f', 1)}\n{METHOD.format('g', 2)}"


@walked(
    ("above", "searched", "changed"),
    [
        ("@@ class B:\n", "return 1", 8),
        ("@@ class B\n", "return 1", 8),
        ("@@ class A:\n", "return 1", 3),
        ("@@ class B:\n@@ def f(self):\n", "return 1", 8),
        ("@@ class B:\n@@     def g(self):\n", "return 2", 11),
        ("@@ class A:\n@@ def g(self):\n", "return 2", 11),
        ("@@ -1,2 +1,2 @@ class A:\n", "return 2", 11),
        ("@@\n", "return 2", 11),
        ("@@ def f(self):\n", "return 1", None),
        ("@@\n", "return 1", None),
        ("@@ class C:\n", "return 2", None),
        ("@@ def g(self):\n", "return 1", None),
        ("@@ class B:\n@@ class A:\n", "return 1", None),
    ],
)
def test_a_hunk_goes_below_the_lines_that_the_patch_names_or_nowhere(tmp_path, above, searched, changed):
    """``@@ class B:`` is where the change stands: a place elsewhere is none, however unique it is."""
    (tmp_path / "a.py").write_text(TWO)
    patch = f"*** Begin Patch\n*** Update File: a.py\n{above}-        {searched}\n+        return 9\n*** End Patch\n"
    done = rails.apply(patch, tmp_path, approve=lambda request: True)
    lines = TWO.split("\n")
    if changed:
        lines[changed - 1] = "        return 9"
    assert (done.status, (tmp_path / "a.py").read_text().split("\n")) == ("applied" if changed else "refused", lines)
