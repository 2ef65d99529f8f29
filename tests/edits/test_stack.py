"""One stack over all sessions: the order is a number, modes and folders come back, old forms are read."""

import json

import pytest

from rails.core.errors import WorkspaceError
from rails.edits import checkpoint_store
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


def test_steps_of_an_old_version_come_before_all_others_and_can_be_undone(tmp_path, monkeypatch):
    def as_before(stream, *arguments):
        data = real(stream, *arguments)
        head, _, rest = data.partition(b"\ndata ")
        length, _, body = rest.partition(b"\n")
        message = body[: int(length)]
        tail = body[int(length) :]
        title, _, facts = message.decode().partition("\n\n")
        old = {k: v for k, v in json.loads(facts).items() if k not in ("seq", "journal")} | {"v": 1}
        old["files"] = [{k: v for k, v in file.items() if k != "before_mode"} for file in old["files"]]
        message = f"{title}\n\n{json.dumps(old)}\n".encode()
        return b"%s\ndata %d\n%s%s" % (head, len(message), message, tail)

    real = checkpoint_store.import_stream
    save(tmp_path, "a.txt", "0")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_store, "import_stream", as_before)
        step(tmp_path, change("a.txt", b"0", b"1"))
        step(tmp_path, change("a.txt", b"1", b"2"))
    step(tmp_path, change("a.txt", b"2", b"3"), session="s0")
    history = History(tmp_path)
    assert [(s.session, s.step, s.seq) for s in history.steps()] == [("s1", 1, -1), ("s1", 2, 0), ("s0", 1, 1)]
    for left in (b"2", b"1", b"0"):
        history.undo()
        assert tree(tmp_path)["a.txt"][0] == left
    with pytest.raises(WorkspaceError, match="nothing to undo in this project"):
        history.undo()
