"""What a step leaves unused may be wanted by the next one: it is taken out when the task is done, and asked about."""

import json

import pytest

from rails.session.apply import apply_answer

RUFF = '[tool.ruff.lint]\nselect = ["F"]\n'


def edit(old, new, path="m.py"):
    parameters = {"file_path": path, "old_string": old, "new_string": new}
    body = {"type": "tool_request", "tool_name": "edit_file", "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


IMPORT = edit("x = 1\n", "import os\n\nx = 1\n")
USE = edit("x = 1\n", "x = os.sep\n")


@pytest.fixture
def coder(work):
    (work.project / "pyproject.toml").write_text(RUFF)
    (work.project / "m.py").write_text("x = 1\n")
    return work


def test_an_import_that_comes_first_is_there_when_it_is_used(coder):
    done = coder(IMPORT, USE, "Done.", approvals=["approve", "approve"])
    assert (coder.project / "m.py").read_text() == "import os\n\nx = os.sep\n"
    assert [event["status"] for event in done.events("GATE_VERDICT")][:2] == ["pass", "pass"]


def test_what_nothing_uses_at_the_end_is_taken_out_by_a_change_that_is_asked_for(coder):
    done = coder(IMPORT, "Done.", approvals=["approve", "approve"])
    assert (coder.project / "m.py").read_text() == "x = 1\n"
    assert len(done.events("APPROVAL_REQUESTED")) == 2


def test_who_denies_the_last_fix_keeps_the_text(coder):
    coder(IMPORT, "Done.", approvals=["approve", "deny"])
    assert (coder.project / "m.py").read_text() == "import os\n\nx = 1\n"


def test_what_was_unused_before_the_task_stays(coder):
    (coder.project / "m.py").write_text("import sys\n\nx = 1\n")
    coder(edit("x = 1\n", "x = 2\n"), "Done.", approvals=["approve"])
    assert (coder.project / "m.py").read_text() == "import sys\n\nx = 2\n"


def test_an_applied_answer_of_an_import_alone_keeps_it_for_the_next_one(coder):
    done = apply_answer(IMPORT, coder.project, approve=lambda _: True)
    assert (coder.project / "m.py").read_text() == "import os\n\nx = 1\n"
    assert [finding.rule for finding in done.verdict.findings] == ["F401"]
    apply_answer(USE, coder.project, approve=lambda _: True)
    assert (coder.project / "m.py").read_text() == "import os\n\nx = os.sep\n"
