"""Kick-off pages, and which file of a plan's folder is the plan."""

import os

import pytest

from rails.core.errors import UsageError, WorkspaceError
from rails.session.plan_files import NameTaken, begin, find_plan, new_project, save_plan

NASTY = "back\\slash \\1 $& {{name}} {{survey}} ${x} — 漢字"


@pytest.mark.parametrize("kind", ["new", "feature", "takeover"])
def test_a_page_is_filled_in_byte_for_byte_and_no_mark_is_left(tmp_path, kind):
    text = begin(kind, tmp_path, "shop", NASTY).read_text("utf-8")
    assert NASTY in text
    assert "--plan shop --agent planner" in text
    assert "{{" not in text.replace(NASTY, "")


def test_the_plan_is_the_final_one_else_the_first_else_the_features_else_the_newest(tmp_path):
    folder = begin("feature", tmp_path, "limit").parent
    notes = folder / "notes.md"
    notes.write_text("newest", "utf-8")
    os.utime(notes, (4_000_000_000, 4_000_000_000))
    assert find_plan(tmp_path, "limit").text == "newest"
    for name in ("initial_feature_plan.md", "initial_plan.md", "final_plan.md"):
        (folder / name).write_text(name, "utf-8")
        assert find_plan(tmp_path, "limit").text == name


def test_a_plan_may_be_any_file_or_folder_of_the_project(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plan.md").write_text("mine", "utf-8")
    assert find_plan(tmp_path, "docs/plan.md").text == "mine"
    assert find_plan(tmp_path, "docs").text == "mine"
    with pytest.raises(UsageError, match="looked for"):
        find_plan(tmp_path, "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"final_plan\.md"):
        find_plan(tmp_path, "empty")


def test_the_planners_document_never_overwrites_one_that_is_there(tmp_path):
    begin("new", tmp_path, "shop")
    found = find_plan(tmp_path, "shop")
    names = [save_plan(found, f"plan {number}").name for number in range(3)]
    assert names[0] == "initial_plan.md"
    assert len(set(names)) == 3
    assert names[1].startswith("planning_output_2")
    assert find_plan(tmp_path, "shop").text == "plan 0\n"


def test_a_name_that_is_there_is_refused_with_the_known_sentence_and_nothing_changes(tmp_path):
    page = new_project(tmp_path, "shop", "first")
    before = page.read_bytes()
    with pytest.raises(NameTaken) as caught:
        new_project(tmp_path, "shop", "second")
    sentence = "A project/directory with this name already exists. Please choose another name,"
    assert str(caught.value).startswith(sentence)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NameTaken):
        new_project(tmp_path, "file")
    assert page.read_bytes() == before


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/a", "-x", "a b", "a\n", "x" * 65, "ü", ".git"])
def test_what_cannot_be_a_folder_everywhere_is_no_name(tmp_path, name):
    with pytest.raises(UsageError, match="is not a name"):
        new_project(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "output").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="is a link"):
        begin("feature", project, "limit")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_takeover_says_what_is_there(tmp_path):
    (tmp_path / "app").mkdir()
    for name in ("app/a.py", "app/b.py", "README.md"):
        (tmp_path / name).write_text("x", "utf-8")
    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    (tmp_path / "node_modules" / "x" / "y.js").write_text("x", "utf-8")
    text = begin("takeover", tmp_path, "mine").read_text("utf-8")
    assert "README.md" in text
    assert "a.py" in text
    assert "y.js" not in text
