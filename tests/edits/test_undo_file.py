"""One file of a step can be taken back alone; the rest of the step stays, and the undo is a step itself."""

import pytest

from rails.core.errors import WorkspaceError
from rails.edits.apply import sole_writer
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


def test_what_was_taken_back_is_told_merged_with_a_persons_work_and_a_step_of_the_session(tmp_path):
    lines = [f"{number}\n" for number in range(9)]
    texts = ["".join(lines), "".join(["first\n", *lines[1:]]), "".join(["first\n", *lines[1:8], "mine\n"])]
    save(tmp_path, "a.txt", texts[0])
    save(tmp_path, "b.txt", "0").chmod(0o640)
    old, new = (text.encode() for text in texts[:2])
    step(tmp_path, change("a.txt", old, new), change("b.txt", b"0", b"1", 0o640), message="one")
    save(tmp_path, "a.txt", texts[2])
    history = History(tmp_path)
    done = history.undo_file("a.txt")
    assert (done.session, done.step, done.title, done.unrecorded) == ("s1", 2, "take back step 1 of a.txt", "")
    assert [str(path) for path in done.merged] == ["a.txt"]
    assert [(one.before, one.after) for one in done.changes.changes] == [
        (texts[2].encode(), "".join([*lines[:8], "mine\n"]).encode())
    ]
    assert tree(tmp_path)["b.txt"] == (b"1", 0o640)
    steps = [(one.kind, one.step, one.title, [str(path) for path in one.files]) for one in history.steps()]
    assert steps == [
        ("change", 1, "one", ["a.txt", "b.txt"]),
        ("change", 2, "take back step 1 of a.txt", ["a.txt"]),
    ]
    history.undo_file("b.txt")
    assert tree(tmp_path)["b.txt"] == (b"0", 0o640)
    history.undo("s1", 2)
    assert tree(tmp_path)["a.txt"][0] == texts[2].encode()


def test_the_step_that_is_named_is_taken_back_and_no_other(history, tmp_path):
    with pytest.raises(WorkspaceError, match=r"Step 1 of session s1 was not undone: the same lines of a\.txt"):
        history.undo_file("a.txt", "s1", 1)
    history.undo_file("a.txt", "s2", 1)
    history.undo_file("a.txt", "s1", 1)
    assert tree(tmp_path)["a.txt"][0] == b"0"
    history.undo_file("a.txt", "s1", 2)  # a step that took back may be named as any other
    assert tree(tmp_path)["a.txt"][0] == b"1"


def test_a_step_that_was_undone_whole_is_none_to_take_back_for_one_file(history, tmp_path):
    history.undo("s2")
    history.undo_file("a.txt")
    assert tree(tmp_path)["a.txt"][0] == b"0"
    history.undo("s1", 2)
    history.undo_file("a.txt")
    assert tree(tmp_path)["a.txt"][0] == b"0"


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("c.txt",), "this project did to c.txt"),
        (("c.txt", "s1"), "session s1 did to c.txt"),
        (("a.txt", "s" * 101), f"session {'s' * 100}… (+1 characters) did to a.txt"),
        (("p" * 201, "s2"), f"session s2 did to {'p' * 200}… (+1 characters)"),
        (("c.txt", "s1", 1), "step 1 did to c.txt"),
        (("a.txt", None, 9), "step 9 did to a.txt"),
    ],
)
def test_where_nothing_is_left_to_take_back_is_said(history, tmp_path, words, where):
    before = tree(tmp_path)
    with pytest.raises(WorkspaceError) as raised:
        history.undo_file(*words)
    assert str(raised.value) == f"Nothing that {where} is left to undo. Nothing was changed."
    assert (tree(tmp_path), len(history.steps())) == (before, 2)


@pytest.mark.parametrize("back", ["undo_file", "undo"])
def test_the_way_back_is_from_what_was_done_last_and_not_from_what_was_done_first(tmp_path, back):
    texts = [
        f"{first}\n" + "same\n" * 7 + f"{last}\n" for first, last in (("0", "8"), ("1", "8"), ("0", "9"), ("1", "9"))
    ]
    save(tmp_path, "a.txt", texts[0])
    step(tmp_path, change("a.txt", texts[0].encode(), texts[1].encode()))
    history = History(tmp_path)
    history.undo()
    save(tmp_path, "a.txt", texts[2])
    assert [str(path) for path in history.redo().merged] == ["a.txt"]
    assert tree(tmp_path)["a.txt"][0] == texts[3].encode()
    done = history.undo_file("a.txt") if back == "undo_file" else history.undo()
    assert (done.merged, tree(tmp_path)["a.txt"][0]) == ((), texts[2].encode())


def test_what_going_back_would_write_is_told_and_nothing_is_written(history, tmp_path):
    before = tree(tmp_path)
    with sole_writer(tmp_path) as workspace:
        told = history.back_one(workspace, "a.txt")
    assert [(str(one.path), one.before, one.after) for one in told] == [("a.txt", b"2", b"1")]
    assert {name: data for name, (data, _) in tree(tmp_path).items()} == {
        name: data for name, (data, _) in before.items()
    }
    save(tmp_path, "a.txt", "1")
    with sole_writer(tmp_path) as workspace:
        assert list(history.back_one(workspace, "a.txt")) == [], "where it is so already"
