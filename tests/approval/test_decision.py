"""A permission is a signature over exactly what was shown."""

import io
from datetime import datetime

import pytest
from msgspec.structs import replace

from rails.approval.decision import (
    Decision,
    request_digest,
    request_for_changes,
    request_for_result,
    request_for_tool,
    sign_changes,
    sign_tool,
    still_valid,
)
from rails.approval.policy.policy import PolicyApprover
from rails.approval.policy.rules import Policy, PolicyRule
from rails.approval.terminal.approver import TerminalApprover
from rails.approval.terminal.scripted import ScriptedApprover
from rails.core.changes import ChangeSet
from rails.core.errors import StaleError
from rails.core.paths import WorkspacePath
from rails.core.verdict import CheckRun, NotChecked

YES = Decision("approve", "", "human")


def test_an_approved_change_set_carries_the_digest_that_the_executor_computes(make):
    request = make.ask()
    approved = sign_changes(request, YES)
    assert approved.value is request.changes
    assert approved.digest == request.changes.digest()
    assert approved.request == request.digest
    assert (approved.by, approved.scope) == ("human", "once")
    assert approved.at.endswith("Z")
    assert still_valid(approved, request)


def test_an_approved_tool_run_carries_the_digest_of_the_request(make):
    request = make.ask_tool(code="print(1)")
    approved = sign_tool(request, YES)
    assert approved.value is request.tool_request
    assert approved.digest == request.digest
    assert still_valid(approved, request)


def test_nothing_but_an_approval_can_be_signed(make):
    for answer in ["deny", "abort", "", "Approve", "yes", True, None, object()]:
        with pytest.raises(ValueError, match="Only an approval"):
            sign_changes(make.ask(), Decision(answer, "", "human"))


def test_an_answer_to_another_request_cannot_be_signed(make):
    first = make.ask()
    second = make.ask(make.change(after=b"a = 3\n"))
    with pytest.raises(StaleError, match="another request"):
        sign_changes(second, Decision("approve", "", "human", of=first.digest))
    assert sign_changes(first, Decision("approve", "", "human", of=first.digest))


def test_every_approver_says_what_it_answered(make):
    request = make.ask()
    rules = [Policy(), *(Policy((PolicyRule(1, ruling, "", tool=("*",)),)) for ruling in ("allow", "deny"))]
    approvers = [ScriptedApprover(["approve"]), *map(PolicyApprover, rules)]
    approvers += [TerminalApprover(io.StringIO("a\n"), io.StringIO(), accept_pipe=pipe) for pipe in (True, False)]
    assert {approver.decide(request).of for approver in approvers} == {request.digest}


def test_what_is_not_a_decision_is_not_a_yes(make):
    for thing in ["approve", {"answer": "approve"}, None, True, type("D", (), {"answer": "approve"})()]:
        with pytest.raises(ValueError, match="Only an approval"):
            sign_changes(make.ask(), thing)


def test_a_question_about_files_cannot_be_signed_as_a_tool_run(make):
    with pytest.raises(ValueError, match="changes"):
        sign_tool(make.ask(), YES)
    with pytest.raises(ValueError, match="tool"):
        sign_changes(make.ask_tool(), YES)


def variations(make):
    base = make.change()
    judged = make.verdict()
    yield "other bytes", make.ask(replace(base, after=b"a = 3\n"))
    yield "other base", make.ask(replace(base, before=b"a = 0\n"))
    yield "other path", make.ask(replace(base, path=WorkspacePath("src/other.py")))
    yield "other mode", make.ask(replace(base, mode=0o755))
    yield "one more file", make.ask(base, make.change("b.py", None, b""))
    yield "new instead of modified", make.ask(replace(base, before=None))
    yield "deleted", make.ask(replace(base, after=None))
    yield "other tool", make.ask(base, tools=("write_file",))
    yield "two tools", make.ask(base, tools=("edit_file", "edit_file"))
    yield "other agent", make.ask(base, agent="debugger")
    yield "gate failed", make.ask(base, status="fail")
    yield "a new finding", make.ask(base, findings=[make.finding()])
    yield "something not checked", make.ask(base, not_checked=(NotChecked("src/app.py", "flake8", "missing"),))
    other_tools = replace(judged, checks=(CheckRun("ruff", "0.17.2", 1.0),))
    yield "other version of a check", make.ask(judged=other_tools)


def test_everything_that_could_be_swapped_changes_the_digest(make):
    original = make.ask()
    approved = sign_changes(original, YES)
    seen = {original.digest}
    for name, other in variations(make):
        assert other.digest not in seen, name
        assert still_valid(approved, other) is False, name
        seen.add(other.digest)


def test_parameters_and_definitions_are_part_of_the_digest(make):
    original = make.ask_tool(code="print(1)")
    swapped_code = make.ask_tool(code="print(2)")
    request = replace(original.tool_request, definition_digest="e" * 64)
    swapped_definition = replace(original, requests=(request,))
    assert original.digest != swapped_code.digest
    assert original.digest != request_digest(swapped_definition)


def test_texts_that_only_look_equal_have_two_digests(make):
    composed = make.ask_tool(text="é")
    decomposed = make.ask_tool(text="e\u0301")
    assert composed.digest != decomposed.digest
    assert make.ask_tool(text="\ud800").digest != make.ask_tool(text="\\ud800").digest


def test_the_same_request_has_the_same_digest_whatever_its_id_and_timing(make):
    first = make.ask()
    again = make.ask()
    slower = replace(make.verdict(), checks=tuple(replace(c, duration_ms=99.0) for c in make.verdict().checks))
    assert first.digest == again.digest == replace(again, id="t9.a9").digest == make.ask(judged=slower).digest


def test_a_request_whose_content_was_swapped_after_it_was_made_cannot_be_signed(make):
    request = make.ask()
    swapped = replace(request, changes=ChangeSet((make.change(after=b"import os; os.remove('/')\n"),)))
    with pytest.raises(StaleError, match="not what was shown"):
        sign_changes(swapped, YES)
    assert not still_valid(sign_changes(request, YES), swapped)


def test_a_permission_whose_value_was_swapped_is_not_valid(make):
    request = make.ask()
    approved = sign_changes(request, YES)
    other = ChangeSet((make.change(after=b"evil\n"),))
    assert not still_valid(replace(approved, value=other), request)
    assert not still_valid(replace(approved, value=other, digest=other.digest()), request)
    assert not still_valid(replace(approved, request="0" * 64), request)


def test_a_permission_for_a_tool_run_is_not_one_for_files(make):
    tool = make.ask_tool()
    files = make.ask()
    assert not still_valid(sign_tool(tool, YES), files)
    assert not still_valid(sign_changes(files, YES), tool)


def forged(request, **more):
    """A request that was swapped as said, with the digest that its content has now."""
    swapped = replace(request, **more)
    return replace(swapped, digest=request_digest(swapped))


def test_each_part_of_a_permission_is_compared_by_itself(make):
    files = make.ask()
    tool = make.ask_tool()
    for_files = sign_changes(files, YES)
    for_tool = sign_tool(tool, YES)
    as_changes = forged(tool, kind="changes", changes=ChangeSet())
    assert not still_valid(replace(for_tool, request=as_changes.digest, digest=as_changes.digest), as_changes)
    as_tool = forged(files, kind="tool")
    assert not still_valid(replace(for_files, request=as_tool.digest), as_tool)
    other = make.ask_tool(code="print(2)")
    assert not still_valid(for_tool, other)
    assert not still_valid(replace(for_tool, request=other.digest, digest=other.digest), other), "the value of one call"
    assert not still_valid(replace(for_tool, value=other.tool_request), tool)
    assert not still_valid(replace(for_tool, digest="0" * 64), tool)
    assert not still_valid(replace(for_files, digest="0" * 64), files)
    moved = forged(files, changes=ChangeSet((make.change(after=b"x\n"),)))
    assert not still_valid(replace(for_files, request=moved.digest), moved), "the bytes that would be written now"
    assert not still_valid(for_files, replace(files, digest="0" * 64))


def test_what_is_signed_is_the_proposal_that_the_human_edited(make):
    first = make.ask()
    edited = make.ask(make.change(after=b"a = 3\n"))
    decision = replace(YES, edited=edited, of=edited.digest)
    assert sign_changes(edited, decision).value is edited.changes
    with pytest.raises(StaleError, match="edited proposal, not this one"):
        sign_changes(first, decision)


def test_every_fact_of_a_verdict_that_a_human_read_is_part_of_the_digest(make):
    found = make.finding(line=3)
    judged = make.verdict(findings=[found], status="fail", not_checked=(NotChecked("src/app.py", "flake8", "missing"),))
    seen = {make.ask(judged=judged).digest}
    for other in (
        replace(judged, findings=(replace(found, line=4),)),
        replace(judged, findings=(replace(found, column=9),)),
        replace(judged, findings=(replace(found, path="b.py"),)),
        replace(judged, findings=(replace(found, rule="F811"),)),
        replace(judged, findings=(replace(found, message="other"),)),
        replace(judged, findings=(found, found)),
        replace(judged, findings=()),
        replace(judged, not_checked=()),
        replace(judged, not_checked=(NotChecked("b.py", "flake8", "missing"),)),
        replace(judged, not_checked=(NotChecked("src/app.py", "black", "missing"),)),
        replace(judged, not_checked=(NotChecked("src/app.py", "flake8", "missing", required=False),)),
        replace(judged, checks=judged.checks[:1]),
        replace(judged, checks=(replace(judged.checks[0], version="0"), *judged.checks[1:])),
        replace(judged, checks=(replace(judged.checks[0], name="x"), *judged.checks[1:])),
    ):
        digest = make.ask(judged=other).digest
        assert digest not in seen, other
        seen.add(digest)
    assert make.ask(judged=replace(judged, findings=(found, replace(found, rule="X", new=False)))).digest in seen
    more = replace(
        judged, findings=(found, replace(found, line=9)), not_checked=(*judged.not_checked, NotChecked("a", "b", "c"))
    )
    turned = replace(more, **{key: getattr(more, key)[::-1] for key in ("findings", "not_checked", "checks")})
    assert make.ask(judged=turned).digest == make.ask(judged=more).digest, "the order is not what a human agrees to"


def test_a_question_carries_what_it_was_asked_with(make):
    asked = request_for_changes(
        "t1.a1",
        "coder",
        [replace(make.tool_request(), explanation=words) for words in ("one", "two", "one", " ")],
        make.verdict(),
        ["a note"],
        doubts=["a doubt"],
        from_project=("edit_file",),
        model="m",
    )
    told = "The definition of edit_file comes from the project, not from you."
    assert (asked.id, asked.agent, asked.tools, asked.kind) == ("t1.a1", "coder", ("edit_file",), "changes")
    assert (asked.explanation, asked.notes, asked.doubts, asked.model) == ("one\ntwo", ("a note",), ("a doubt",), "m")
    assert asked.risks == ("a doubt", told)
    assert (len(asked.requests), asked.returned, asked.tool_request) == (4, False, None)
    run = request_for_tool("t1.a2", "coder", make.ask_tool().tool_request, ["n"], doubts=["d"], model="m")
    assert (run.id, run.agent, run.tools, run.kind, run.notes) == ("t1.a2", "coder", ("run_tests",), "tool", ("n",))
    assert (run.risks[0], len(run.risks), run.doubts, run.model, run.verdict) == ("d", 2, ("d",), "m", None)
    held = request_for_tool("t1.a2", "coder", make.ask_tool().tool_request, contained=True)
    assert held.risks == ()


def test_a_question_about_a_result_is_one_of_its_own(make):
    repaired = replace(
        make.tool_request("run_tests", "run", repairs=["comma"], coerced=["n: text to number"]), id="t1.a1"
    )
    run = request_for_tool("t1.a1", "coder", repaired, ["n"], model="m")
    assert len(run.notes) == 3
    asked = request_for_result(run, "42\u200b" + "\n" * 100)
    assert (asked.id, asked.agent, asked.model, asked.notes, asked.returned) == (
        "t1.a1.result",
        "coder",
        "m",
        (),
        True,
    )
    assert asked.tool_request.parameters == {"file_path": "src/app.py", "returned": "42\u200b" + "\n" * 100}
    assert asked.explanation == asked.tool_request.explanation == "", (
        "what the agent said of the run is not said of what came"
    )
    assert [risk.kind for risk in asked.named] == ["invisible", "hidden"]
    assert asked.risks[0].startswith("run_tests has run. Approve to let the agent read")
    assert asked.risks[1:] == tuple(risk.text for risk in asked.named)
    assert asked.digest != run.digest
    assert not still_valid(sign_tool(run, YES), asked)


def test_the_risks_are_told_worst_first(make):
    request = make.ask(
        make.change("big.py", b"".join(b"line %d\n" % n for n in range(80)), b"line 1\n"),
        make.change("old.py", b"x\ny\n", None),
        make.change("empty.py", b"x\n", b"\n"),
        make.change(".github/workflows/ci.yml", None, b"on: push\n"),
        make.change("run.sh", None, b"#!/bin/sh\n", mode=0o755),
        status="fail",
        findings=[make.finding()],
        from_project=("edit_file",),
    )
    assert request.risks == (
        "Protected file .github/workflows/ci.yml: continuous integration: runs with the project's credentials.",
        "Deletes old.py (2 lines).",
        "Empties empty.py (1 line before).",
        "Removes 79 lines, more than half of big.py.",
        "Creates run.sh as an executable file.",
        "The checks did not pass: 1 new problem.",
        "The definition of edit_file comes from the project, not from you.",
    )


def test_an_ordinary_change_has_no_risks(make):
    assert make.ask().risks == ()
    moved = b"".join(b"line %d\n" % n for n in range(80))
    assert make.ask(make.change(before=moved, after=b"".join(sorted(moved.splitlines(True))))).risks == ()


def test_what_could_not_be_checked_is_a_risk(make):
    skipped = NotChecked("src/app.py", "flake8", "not installed")
    assert make.ask(status="error", not_checked=(skipped,)).risks == (
        "Not checked by flake8: src/app.py (not installed)",
    )
    assert make.ask(status="error").risks == ("The checks could not be completed.",)


def test_running_something_is_a_risk_and_looking_is_not(make):
    assert "runs a program" in make.ask_tool().risks[0]
    assert make.ask_tool("list_files", "read").risks == ()


def test_repairs_and_conversions_are_noted(make):
    request = make.tool_request(repairs=["trailing comma"], coerced=["edits: text to array"])
    unread = replace(make.tool_request("write_file", coerced=["mode: text to number"]), raw=None)
    asked = request_for_changes("a", "coder", [unread, request], make.verdict(), ["matched at rung 5"])
    assert asked.notes == (
        "matched at rung 5",
        "write_file: converted mode: text to number",
        "edit_file: JSON repaired (trailing comma) at 7",
        "edit_file: converted edits: text to array",
    )


def test_a_digest_is_the_same_in_every_process_and_another_for_another_kind(make):
    request = make.ask_tool(target="tests")
    assert request_digest(replace(request, kind="change")) != request_digest(request)
    fixed = replace(request, requests=(), agent="coder", verdict=None)
    assert request_digest(fixed) == "b795230359d721274f09e696f87227ac6bf1a5e1ed9a451c99cb82ba4bfe9398", (
        "answers of another process carry it"
    )


def test_what_is_no_json_has_no_digest(make):
    with pytest.raises(ValueError, match="not JSON compliant"):
        make.ask_tool(target=float("nan"))


def test_the_time_of_an_answer_is_told_to_the_microsecond_also_at_a_full_second(monkeypatch):
    class FullSecond:
        @staticmethod
        def now(zone):
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=zone)

    monkeypatch.setattr("rails.approval.decision.datetime", FullSecond)
    assert Decision("deny", "", "human").at == "2026-01-02T03:04:05.000000Z"
