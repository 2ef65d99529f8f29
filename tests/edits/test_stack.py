"""One stack over all sessions: the order is a number, modes and folders come back."""

from rails.edits.checkpoints import History

from .helpers import change, save, step, tree


def test_undo_and_redo_go_over_all_sessions_in_the_order_of_what_was_done(tmp_path):
    save(tmp_path, "a.txt", "0")
    for number, session in enumerate(("s2", "s1", "s2", "s1")):
        step(tmp_path, change("a.txt", b"%d" % number, b"%d" % (number + 1)), session=session)
    history = History(tmp_path)
    assert [history.undo().session for _ in range(4)] == ["s1", "s2", "s1", "s2"]
    assert tree(tmp_path) == {"a.txt": (b"0", 0o644)}
    assert [history.redo().session for _ in range(4)] == ["s2", "s1", "s2", "s1"]
    assert [s.seq for s in history.steps()] == list(range(1, 13))


def test_a_step_that_was_done_again_is_the_first_to_be_undone(tmp_path):
    for name in ("a.txt", "b.txt", "c.txt"):
        step(tmp_path, change(name, None, b"x"))
    history = History(tmp_path)
    history.undo("s1", 1)
    history.redo()
    assert history.undo().step == 1


def test_the_mode_that_a_human_set_since_is_kept(tmp_path):
    save(tmp_path, "a.sh", "old")
    step(tmp_path, change("a.sh", b"old", b"new"))
    (tmp_path / "a.sh").chmod(0o755)
    history = History(tmp_path)
    history.undo()
    assert tree(tmp_path) == {"a.sh": (b"old", 0o755)}
    history.redo()
    assert tree(tmp_path) == {"a.sh": (b"new", 0o755)}


def test_the_mode_of_a_file_that_was_deleted_comes_back(tmp_path):
    save(tmp_path, "a.sh", "old").chmod(0o750)
    step(tmp_path, change("a.sh", b"old", None, 0o644))
    History(tmp_path).undo()
    assert tree(tmp_path) == {"a.sh": (b"old", 0o750)}


def test_a_mode_that_was_set_while_somebody_was_asked_is_kept(tmp_path):
    save(tmp_path, "a.sh", "old").chmod(0o755)
    step(tmp_path, change("a.sh", b"old", b"new", 0o644))
    assert tree(tmp_path) == {"a.sh": (b"new", 0o755)}


def test_what_somebody_put_back_by_hand_is_not_written_again_by_redo(tmp_path):
    save(tmp_path, "a.txt", "old")
    step(tmp_path, change("a.txt", b"old", b"new"), change("b.txt", None, b"b"))
    save(tmp_path, "a.txt", "old")
    history = History(tmp_path)
    assert [str(c.path) for c in history.undo().changes.changes] == ["b.txt"]
    history.redo()
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644), "b.txt": (b"b", 0o644)}
