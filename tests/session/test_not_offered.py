"""What other systems offer and this one does not is refused by its name, with the reason and what to do instead."""

import json

import pytest

FOLDER = "Folders are made with the first file"
PACKAGE = "Write the package into the project's manifest"


def fence(**call):
    return f"```json\n{json.dumps(call)}\n```\n"


def told(worked):
    return "\n".join(worked.told)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (fence(tool="create_directory", path="x"), ("'create_directory' is not defined", FOLDER)),
        (fence(tool="add_package", args={"name": "left-pad"}), ("'add_package' is not defined", PACKAGE)),
        (fence(tool="execute_sql", sql="drop table x", description="d"), ("'execute_sql'", "No database is reached")),
        ("<fetch_webpage><urls>[]</urls></fetch_webpage>", ("'fetch_webpage'", "No page is fetched")),
    ],
)
def test_a_tool_of_another_system_is_refused_with_the_reason_and_what_to_do_instead(work, answer, words):
    text = told(work(answer, "Then not.", approvals=[]))
    for word in words:
        assert word in text


def test_c6_09_an_unknown_xml_element_is_an_error_that_names_the_tools_there_are(work):
    text = told(work("<invented_tool><path>a.txt</path><mode>x</mode></invented_tool>", "Then not."))
    assert "You have no tool 'invented_tool'. Your tools: " in text


EDIT = {"tool": "edit_file", "path": "a.txt", "search_replace": {"old_string": "one", "new_string": "two"}}


def test_an_option_that_would_break_a_promise_is_refused_by_name_and_its_usual_value_is_fine(work):
    (work.project / "a.txt").write_text("one\n")
    worked = work(fence(**EDIT, dryRun=True), fence(**EDIT, dryRun=False), "Done.", approvals=["approve"])
    assert "`dryRun` is not a parameter" in told(worked)
    assert "a person sees the whole change" in told(worked)
    assert (work.project / "a.txt").read_text() == "two\n"
