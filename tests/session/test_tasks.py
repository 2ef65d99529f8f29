"""An agent notes and closes tasks of the project in a plain list, on the road of every change."""

import json

import pytest

from rails.core.outcomes import is_good

PLANNER = {"tasks": (("planning", "note what is left"),)}


def track(action, task, path="TASKS.md"):
    parameters = {"file_path": path, "action": action, "task": task}
    body = {"type": "tool_request", "tool_name": "track_task", "parameters": parameters, "explanation": "left"}
    return f"```json\n{json.dumps(body)}\n```\n"


HEADINGS = ("Title", "Problem Statement", "Solution Vision", "Requirements")
ANSWER = "\n".join(f"# {one}\nx" for one in (*HEADINGS, "Proposed Implementation Plan", "Open Questions"))


def test_c14_16_tasks_are_noted_after_gate_and_question_and_can_be_closed(work):
    done = work(
        track("add", "Write the docs") + track("add", "Cut  a\nrelease"), ANSWER, approvals=["approve"], **PLANNER
    )
    tasks = work.project / "TASKS.md"
    assert tasks.read_text("utf-8") == "# Tasks\n\n- [ ] Write the docs\n- [ ] Cut a release\n"
    assert len(done.events("GATE_VERDICT")) == 1
    assert done.events("APPROVAL_REQUESTED")[0]["tools"] == ["track_task"]
    assert is_good(done.ending.outcome)
    work(track("close", "Write the docs"), ANSWER, approvals=["approve"], **PLANNER)
    assert tasks.read_text("utf-8") == "# Tasks\n\n- [x] Write the docs\n- [ ] Cut a release\n"


def test_c14_16_a_denied_task_is_not_noted(work):
    work(track("add", "Write the docs"), ANSWER, approvals=["deny"], **PLANNER)
    assert not (work.project / "TASKS.md").exists()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (track("close", "Sing"), "These tasks are open: Write the docs."),
        (track("add", "Write the docs"), "is open already"),
        (track("reopen", "Twice"), "2 times as done"),
        (track("add", "x", "notes.py"), "file_path"),
        (track("add", " \n"), "no words"),
    ],
)
def test_c14_16_an_action_that_does_not_fit_the_list_is_refused_with_what_is_there(work, answer, told):
    before = "Ours:\r\n- [ ] Write the docs\r\n* [x] Twice\r\n* [x] Twice\r\n\r\n"
    (work.project / "TASKS.md").write_bytes(before.encode())
    done = work(answer, ANSWER, **PLANNER)
    assert told in done.told[0]
    assert (work.project / "TASKS.md").read_bytes() == before.encode()


def test_c14_16_line_ends_and_the_text_around_the_tasks_stay(work):
    (work.project / "TASKS.md").write_bytes(b"- [X] One \r\n\r\nText\r\n\r\n")
    work(track("reopen", "One") + track("add", "Two"), ANSWER, approvals=["approve"], **PLANNER)
    assert (work.project / "TASKS.md").read_bytes() == b"- [ ] One \r\n\r\nText\r\n\r\n- [ ] Two\r\n\r\n"
