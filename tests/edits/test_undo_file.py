"""One file of a step can be taken back alone; the rest of the step stays, and the undo is a step itself."""

import pytest

from rails.core.errors import WorkspaceError
from rails.edits.checkpoints import History

from .helpers import change, save, step, tree


@pytest.fixture
def history(tmp_path):
    save(tmp_path, "a.txt", "0")
    step(tmp_path, change("a.txt", b"0", b"1"), change("b.txt", None, b"x"))
    step(tmp_path, change("a.txt", b"1", b"2"), change("b.txt", b"x", b"y"), session="s2")
    return History(tmp_path)


def test_c7_11_one_file_goes_back_to_its_previous_version_and_further_with_each_undo(history, tmp_path):
    done = history.undo_file("a.txt")
    assert (done.session, done.step, [str(one.path) for one in done.changes.changes]) == ("s2", 2, ["a.txt"])
    assert {name: data for name, (data, _) in tree(tmp_path).items()} == {"a.txt": b"1", "b.txt": b"y"}
    history.undo_file("a.txt")
    assert {name: data for name, (data, _) in tree(tmp_path).items()} == {"a.txt": b"0", "b.txt": b"y"}
    with pytest.raises(WorkspaceError, match=r"Nothing that this project did to a\.txt is left"):
        history.undo_file("a.txt")


def test_c7_11_a_file_that_a_step_made_goes_and_the_undo_can_be_undone(history, tmp_path):
    history.undo_file("b.txt", "s2")
    history.undo_file("b.txt")
    assert "b.txt" not in tree(tmp_path)
    history.undo()
    assert tree(tmp_path)["b.txt"][0] == b"x"


def test_c7_11_a_persons_later_work_on_the_same_lines_is_never_written_over(history, tmp_path):
    save(tmp_path, "a.txt", "mine")
    with pytest.raises(WorkspaceError, match=r"same lines of a\.txt"):
        history.undo_file("a.txt")
    assert (tmp_path / "a.txt").read_bytes() == b"mine"
    with pytest.raises(WorkspaceError, match=r"Nothing that step 7 did to a\.txt"):
        history.undo_file("a.txt", "s1", 7)
