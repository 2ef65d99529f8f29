"""What becomes of each edit of an answer: all or nothing, unless a request says itself that it may be left out."""

import json

import pytest

from rails.session.apply import apply_answer


def fence(**call):
    return f"```json\n{json.dumps(call)}\n```\n"


def one(path, old, new, **more):
    return fence(tool="edit_file", path=path, search_replace={"old_string": old, "new_string": new}, **more)


def several(*pairs, **more):
    blocks = [{"search": old, "replace": new} for old, new in pairs]
    return fence(tool="edit_file", path="a.txt", searchReplaceBlocks=blocks, **more)


@pytest.fixture
def project(work):
    (work.project / "a.txt").write_text("one two two\n", "utf-8")
    (work.project / "b.txt").write_text("three\n", "utf-8")
    return work.project


def results(applied):
    return [(one["path"], one["success"], one["occurrences"]) for one in applied.to_json()["edits"]["results"]]


def test_c7_04_a_request_that_allows_it_is_made_in_part_and_all_are_told(work, project):
    answer = several(("one", "1"), ("nowhere", "x"), rollbackOnFailure=False)
    done = work(answer, "Done.", approvals=["approve"])
    assert (project / "a.txt").read_text("utf-8") == "1 two two\n"
    note = "Left out, as the request allows: a.txt: old_string is not in the file."
    assert any(note in line for line in done.events("APPROVAL_REQUESTED")[0]["notes"]), "the human is shown it"
    assert note in done.told[0]
    assert [edit["success"] for edit in done.events("CHANGE_PLANNED")[0]["edits"]] == [True, False]


def test_c7_04_without_it_nothing_is_made(work, project):
    done = work(several(("one", "1"), ("nowhere", "x")), "I see.")
    assert (project / "a.txt").read_text("utf-8") == "one two two\n"
    assert "0 of 2 edits were made." in done.told[0]


def test_c7_04_a_part_that_fails_half_way_leaves_no_trace(work, project):
    answer = fence(
        tool="multi_edit",
        arguments={
            "partial": True,
            "edits": [
                {"file_path": "a.txt", "old_string": "one", "new_string": "1"},
                {"file_path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": True,
                 "validate_after": "never there"},
                {"file_path": "b.txt", "old_string": "three", "new_string": "3"},
            ],
        },
    )  # fmt: skip
    work(answer, "Done.", approvals=["approve"])
    assert (project / "a.txt").read_text("utf-8") == "1 two two\n"
    assert (project / "b.txt").read_text("utf-8") == "3\n"


def test_c7_04_where_every_part_fails_it_is_refused_as_ever(work, project):
    done = work(several(("nowhere", "x"), rollbackOnFailure=False), one("b.txt", "four", "4", partial=True), "I see.")
    assert [len(facts["refusals"]) for facts in done.events("CHANGE_REFUSED")] == [1, 1]
    assert len(done.events("CHANGE_PLANNED")) == 0


def test_c7_03_each_edit_has_its_result_and_all_have_totals_and_a_status(project):
    def status(answer, agree=True):
        applied = apply_answer(answer, project, approve=lambda _: agree)
        edits = applied.to_json()["edits"]
        return (edits["status"], edits["successCount"], edits["failureCount"]), applied

    nothing, applied = status(one("a.txt", "one", "1") + one("b.txt", "four", "4"))
    assert (nothing, results(applied)) == (("error", 0, 2), [("a.txt", False, 0), ("b.txt", False, 0)])
    first, second = applied.to_json()["edits"]["results"]
    assert first["error"] == "Not written: the change as a whole did not go through."
    assert "old_string is not in the file" in second["error"]
    rejected, _ = status(one("a.txt", "one", "1"), agree=False)
    assert rejected == ("rejected", 0, 1)
    feedback, _ = status(one("a.txt", "one", "1") + one("b.txt", "four", "4", rollbackOnFailure=False))
    assert feedback == ("feedback", 1, 1)
    every = fence(
        tool="edit_file", path="a.txt", searchReplaceBlocks=[{"search": "two", "replace": "2", "replaceAll": True}]
    )
    success, applied = status(every + one("b.txt", "three", "3"))
    assert (success, results(applied)) == (("success", 2, 0), [("a.txt", True, 2), ("b.txt", True, 1)])
