"""Checkpoints and the way back: exact, merged where disjoint, never over a person's later work."""

import pytest

from rails.core.errors import WorkspaceError
from rails.edits.checkpoints import History, _merged

from .helpers import change, save, step, tree


def test_steps_are_numbered_in_each_session(tmp_path):
    assert step(tmp_path, change("a.txt", None, b"1"), message="first").step == 1
    assert step(tmp_path, change("a.txt", b"1", b"2"), message="second").step == 2
    assert step(tmp_path, change("b.txt", None, b"1"), session="s2").step == 1
    steps = History(tmp_path).steps("s1")
    assert [(s.session, s.step, s.title, [str(f) for f in s.files]) for s in steps] == [
        ("s1", 1, "first", ["a.txt"]),
        ("s1", 2, "second", ["a.txt"]),
    ]
    assert len(History(tmp_path).steps()) == 3


def test_undo_restores_bytes_modes_and_absence(tmp_path):
    save(tmp_path, "a.bin", b"\0\xff\r\n").chmod(0o751)
    save(tmp_path, "gone.txt", "was here")
    before = tree(tmp_path)
    step(
        tmp_path,
        change("a.bin", b"\0\xff\r\n", b"new", 0o751),
        change("gone.txt", b"was here", None),
        change("new dir/ünï.txt", None, b"x"),
    )
    undone = History(tmp_path).undo("s1")
    assert undone.step == 1
    assert tree(tmp_path) == before


def test_any_step_can_be_undone_and_done_again(tmp_path):
    step(tmp_path, change("a.txt", None, b"a"))
    step(tmp_path, change("b.txt", None, b"b"))
    history = History(tmp_path)
    history.undo("s1", 1)
    assert set(tree(tmp_path)) == {"b.txt"}
    assert [s.undone for s in history.steps("s1") if s.kind == "change"] == [True, False]
    history.redo("s1")
    assert set(tree(tmp_path)) == {"a.txt", "b.txt"}
    history.undo_session("s1")
    assert tree(tmp_path) == {}


def test_undo_refuses_to_destroy_a_later_human_edit(tmp_path):
    save(tmp_path, "a.txt", "one\n")
    save(tmp_path, "b.txt", "one\n")
    step(tmp_path, change("a.txt", b"one\n", b"two\n"), change("b.txt", b"one\n", b"two\n"))
    save(tmp_path, "a.txt", "two, by hand\n")
    now = tree(tmp_path)
    with pytest.raises(WorkspaceError, match=r"a\.txt, or some just like them, were changed since"):
        History(tmp_path).undo("s1")
    assert tree(tmp_path) == now


def test_undo_merges_with_a_human_edit_of_other_lines(tmp_path):
    lines = "".join(f"line {n}\n" for n in range(20))
    save(tmp_path, "a.txt", lines)
    edited = lines.replace("line 3\n", "LINE 3\n")
    step(tmp_path, change("a.txt", lines.encode(), edited.encode()))
    save(tmp_path, "a.txt", edited.replace("line 15\n", "by hand\n"))
    undone = History(tmp_path).undo("s1")
    assert (tmp_path / "a.txt").read_text() == lines.replace("line 15\n", "by hand\n")
    assert [str(path) for path in undone.merged] == ["a.txt"]


@pytest.mark.parametrize(("session", "number"), [("s1", 7), ("nobody", None), ("s1", None)])
def test_there_must_be_something_to_undo(tmp_path, session, number):
    step(tmp_path, change("a.txt", None, b"1"))
    History(tmp_path).undo("s1")
    with pytest.raises(WorkspaceError):
        History(tmp_path).undo(session, number)


def test_an_empty_history_has_no_steps_and_makes_nothing(tmp_path):
    assert History(tmp_path).steps() == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("session", ["../../evil", "a..b", "-x", "a b", "x.lock", "ü", "a/b"])
def test_any_session_name_is_safe(tmp_path, session):
    step(tmp_path, change("a.txt", None, b"1"), session=session)
    assert [s.session for s in History(tmp_path).steps(session)] == [session]


def test_undo_removes_the_folders_that_were_made_for_the_step(tmp_path):
    (tmp_path / "empty").mkdir()
    step(tmp_path, change("empty/new/deep/a.txt", None, b"1"), change("other/b.txt", None, b"2"))
    history = History(tmp_path)
    save(tmp_path, "other/mine.txt", "by hand")
    history.undo("s1")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".rails", "empty", "other"]
    assert list((tmp_path / "empty").iterdir()) == []
    history.redo("s1")
    assert (tmp_path / "empty/new/deep/a.txt").read_bytes() == b"1"
    history.undo("s1")
    assert list((tmp_path / "empty").iterdir()) == []


def test_undo_and_redo_can_follow_each_other_for_ever(tmp_path):
    save(tmp_path, "a.txt", "0")
    step(tmp_path, change("a.txt", b"0", b"1"))
    step(tmp_path, change("a.txt", b"1", b"2"))
    history = History(tmp_path)
    for _ in range(2):
        assert history.undo("s1").step == 2
        assert history.undo("s1").step == 1
        assert (tmp_path / "a.txt").read_bytes() == b"0"
        assert history.redo("s1").step == 1
        assert history.redo("s1").step == 2
        assert (tmp_path / "a.txt").read_bytes() == b"2"


def test_undo_and_redo_say_what_they_did_and_why_not(tmp_path):
    step(tmp_path, change("a.txt", None, b"1"), message="one")
    step(tmp_path, change("b.txt", None, b"2"), message="two")
    history = History(tmp_path)
    undone = history.undo("s1", 1)
    assert (undone.session, undone.step, undone.title, undone.merged, undone.unrecorded) == ("s1", 1, "one", (), "")
    assert undone.changes.changes == (change("a.txt", b"1", None),)
    for call, why in (
        (lambda: history.undo("s1", 1), r"Step 1 is undone already\. Nothing was changed"),
        (lambda: history.redo("s1", 2), r"Step 2 is not undone\. Nothing was changed"),
        (lambda: history.undo("s1", 9), r"Session s1 has no step 9 of its own\. Nothing was changed"),
        (lambda: history.undo("s2"), r"There is nothing to undo in session s2\."),
        (lambda: history.redo("s2"), r"There is nothing to redo in session s2\."),
        (lambda: History(save(tmp_path, "o/x", "").parent).undo(), r"There is nothing to undo in this project\."),
    ):
        with pytest.raises(WorkspaceError, match=why):
            call()
    assert (tree(tmp_path)["b.txt"][0], history.redo().changes.changes) == (b"2", (change("a.txt", None, b"1"),))
    kinds = [(s.kind, s.step, s.undoes, s.title) for s in history.steps()]
    assert kinds == [
        ("change", 1, 0, "one"),
        ("change", 2, 0, "two"),
        ("undo", 3, 1, "undo step 1"),
        ("redo", 4, 1, "redo step 1"),
    ]
    with pytest.raises(WorkspaceError, match="has no step 3 of its own"):
        history.undo("s1", 3)


def test_a_session_is_taken_back_from_its_last_step_on_and_stops_at_what_was_changed_since(tmp_path):
    for number in range(3):
        step(tmp_path, change(f"{number}.txt", None, b"x"), message=f"m{number}")
    step(tmp_path, change("other.txt", None, b"x"), session="s2")
    save(tmp_path, "1.txt", "by hand")
    history = History(tmp_path)
    with pytest.raises(WorkspaceError, match=r"Step 2 of session s1 was not undone: the same lines of 1\.txt, or"):
        history.undo_session("s1")
    assert set(tree(tmp_path)) == {"0.txt", "1.txt", "other.txt"}
    save(tmp_path, "1.txt", "x")
    assert [one.step for one in history.undo_session("s1")] == [2, 1]
    assert set(tree(tmp_path)) == {"other.txt"}
    save(tmp_path, "0.txt", "by hand")
    with pytest.raises(WorkspaceError, match=r"was not done again: 0\.txt was created again"):
        history.redo("s1", 1)
    (tmp_path / "0.txt").unlink()
    assert [one.step for one in history.redo_session("s1")] == [1, 2, 3]
    assert set(tree(tmp_path)) == {"0.txt", "1.txt", "2.txt", "other.txt"}
    assert (history.redo_session("s1"), history.undo_session("nobody")) == ((), ())


def test_what_somebody_removed_already_needs_no_undo_and_what_somebody_made_again_no_redo(tmp_path):
    step(tmp_path, change("a.txt", None, b"1"), change("b.txt", None, b"2"))
    (tmp_path / "a.txt").unlink()
    history = History(tmp_path)
    assert [str(c.path) for c in history.undo().changes.changes] == ["b.txt"]
    save(tmp_path, "a.txt", "1").chmod(0o600)
    assert [str(c.path) for c in history.redo().changes.changes] == ["b.txt"]
    assert tree(tmp_path) == {"a.txt": (b"1", 0o600), "b.txt": (b"2", 0o644)}


def test_a_damaged_history_changes_no_file_and_says_what_to_do(tmp_path):
    save(tmp_path, "a.txt", "one\n")
    step(tmp_path, change("a.txt", b"one\n", b"two\n"))
    for file in (tmp_path / ".rails/history.git/refs/rails").iterdir():
        file.write_text("0123456789" * 4 + "\n", encoding="ascii")
    with pytest.raises(WorkspaceError, match=r"on the history, \.rails/history\.git: .* move that folder away"):
        History(tmp_path).undo()
    assert (tmp_path / "a.txt").read_bytes() == b"two\n"


def test_a_step_is_one_pack_and_many_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr("rails.edits.checkpoint_store._PACKS", 3)
    save(tmp_path, "a.txt", "0")
    for number in range(5):
        step(tmp_path, change("a.txt", str(number).encode(), str(number + 1).encode()))
    objects = tmp_path / ".rails/history.git/objects"
    assert {folder.name for folder in objects.iterdir()} == {"info", "pack"}
    assert len([*objects.glob("pack/*.pack")]) == 2
    assert len(History(tmp_path).steps()) == 5


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(("agents", "humans"), [(1, 0), (0, 2), (3, 4), (4, 2)])
def test_a_persons_line_beside_the_line_next_to_the_agents_is_in_nobody_s_way(tmp_path, end, agents, humans):
    lines = ["one", "two", "three", "four", "five"]
    (tmp_path / "a.txt").write_text("\n".join(lines) + end)
    changed = [f"{line}!" if n == agents else line for n, line in enumerate(lines)]
    before, after = ("\n".join(text) + end for text in (lines, changed))
    step(tmp_path, change("a.txt", before.encode(), after.encode()))
    at = humans + (humans > agents)
    (tmp_path / "a.txt").write_text("\n".join([*changed[:at], "mine", *changed[at:]]) + end)
    assert [str(path) for path in History(tmp_path).undo().merged] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "\n".join([*lines[:at], "mine", *lines[at:]]) + end


def test_where_lines_repeat_no_change_is_put_at_another_place():
    base, now, wanted = (
        text.replace(" ", "\n").encode()
        for text in ("f y y y y f y f y ", "f y y y y f y f y f y ", "f y y y y f y y ")
    )
    assert _merged(base, now, wanted) is None
    sides = (b"1\n2\n3\n4", b"1\nx\n2\n3\n4", b"1\n2\n3\n5")
    assert _merged(*sides) == b"1\nx\n2\n3\n5"
