"""A journal is believed only if every byte of it is as it was written, and names only what may be written."""

import os

import msgspec
import pytest
from msgspec.structs import replace

from rails.core import lock
from rails.core.changes import ChangeSet
from rails.core.text import sha256
from rails.edits import rollback
from rails.edits.apply import recover
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.checkpoints import History
from rails.edits.journal import (
    decode_journal,
    encode_journal,
    for_changes,
    next_id,
)
from rails.edits.safe_files import Workspace
from rails.log import blobs
from rails.log.blobs import store_blob

from .helpers import at, change, save, tree

ID = "0003456789abcdef"
CHANGES = ChangeSet((change("a.txt", b"old", b"new!", 0o640), change("x/b.txt", None, b""), change("c", b"c", None)))
STEP = StepFacts("s1", "title", "undo", 7)


def journal(changes=CHANGES, modes=None, step=STEP, folders=(("x",),), empty=(("y",), ("y", "z"))):
    return replace(for_changes(ID, changes, modes or {at("a.txt"): 0o4755}, folders), step=step, empty=empty)


def encoded(facts, digest=None):
    rest = msgspec.msgpack.encode(facts)
    magic = b"AI-RAILS-JOURNAL 5 "
    return magic + f"{digest or sha256(magic + rest)}\n".encode() + rest


def facts(**more):
    sides = {"before": b"old", "after": b"new"}
    entry = {"path": {"text": "a.txt"}, "mode": 0o644, "before_mode": 0o644, "slot": f".ai-rails-{ID}-0"} | sides
    entry |= {key: value for key, value in more.items() if key in entry}
    others = {"id": ID, "folders": [], "empty": [], "step": None}
    return {"entries": [entry]} | others | {key: value for key, value in more.items() if key in others}


def test_what_is_written_is_read_back_in_every_part():
    written = journal()
    assert [(e.mode, e.before_mode) for e in written.entries] == [(0o640, 0o755), (0o644, 0o644), (0o644, 0o644)]
    assert [e.slot for e in written.entries] == [f".ai-rails-{ID}-{number}" for number in range(3)]
    assert decode_journal(f"{ID}.journal", encode_journal(written)) == written
    assert decode_journal(f"{ID}.applied", encode_journal(written)) == replace(written, applied=True)
    assert [(e.path, e.before, e.after) for e in written.entries] == [
        (c.path, c.before, c.after) for c in CHANGES.changes
    ]
    without = replace(written, step=None, empty=(), folders=())
    assert decode_journal(written.file_name, encode_journal(without)) == without


@pytest.mark.parametrize("flip", [1, 8, 32])
def test_a_journal_with_one_other_byte_was_never_complete(flip):
    data = encode_journal(journal())
    for place in range(len(data)):
        other = data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :]
        assert decode_journal(f"{ID}.journal", other) is None, place


def test_a_journal_that_was_cut_or_grew_was_never_complete():
    data = encode_journal(journal())
    for length in range(len(data)):
        assert decode_journal(f"{ID}.journal", data[:length]) is None
    assert decode_journal(f"{ID}.journal", data + b"x") is None


@pytest.mark.parametrize("digest", ["0" * 64, "x"])
def test_a_journal_of_another_digest_is_disbelieved(digest):
    assert decode_journal(f"{ID}.journal", encoded(facts(), digest)) is None


def test_the_forged_journals_below_are_sound_but_for_what_is_forged():
    read = decode_journal(f"{ID}.journal", encoded(facts()))
    assert (read.entries[0].before, read.entries[0].after) == (b"old", b"new")


STEP_FACTS = {"session": "s", "title": "t", "kind": "change", "undoes": 0}
FORGED = {
    "a path outside": facts(path={"text": "../a.txt"}),
    "a path in .git": facts(path={"text": ".git/hooks/pre-commit"}),
    "our own state": facts(path={"text": ".rails/history.git/HEAD"}),
    "a name outside": facts(slot="../b.txt"),
    "another id": facts(id="1" * 16),
    "a folder outside": facts(folders=[["..", "x"]]),
    "a folder in .git": facts(empty=[["a", ".git"]]),
    "a folder by a name that goes through another": facts(folders=[["a/b"]]),
    "no bytes": facts(after=3),
    "no number": facts(mode="644"),
    "a number below zero": facts(before_mode=-1),
    "a number that is no mode": facts(mode=0o4644),
    "a step without a session": facts(step={k: v for k, v in STEP_FACTS.items() if k != "session"}),
    "a step of no known kind": facts(step=STEP_FACTS | {"kind": "forget"}),
    "a step that undoes no number": facts(step=STEP_FACTS | {"undoes": "1"}),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_journal_with_a_right_digest_and_a_wrong_fact_changes_nothing(tmp_path, what):
    forged = encoded(FORGED[what])
    assert decode_journal(f"{ID}.journal", forged) is None
    save(tmp_path, ".git/hooks/pre-commit", "mine")
    for name in ("a.txt", "b.txt"):
        save(tmp_path, name, "mine")
    before = tree(tmp_path, but=(".rails",))
    save(tmp_path, f".rails/journal/{ID}.journal", forged)
    assert recover(tmp_path) == ()
    assert tree(tmp_path, but=(".rails",)) == before
    assert not (tmp_path / f".rails/journal/{ID}.journal").exists()
    assert History(tmp_path).steps() == ()


@pytest.mark.parametrize("start", [b"AI-RAILS-JOURNAL 3 ", b"AI-RAILS-JOURNAL ", b""])
def test_a_file_of_no_known_version_is_not_read(start):
    assert decode_journal(f"{ID}.journal", encoded(facts()).replace(b"AI-RAILS-JOURNAL 5 ", start)) is None


def test_a_journal_of_another_version_is_told_and_stays(tmp_path):
    file = save(tmp_path, f".rails/journal/{ID}.journal", b"AI-RAILS-JOURNAL 6 more than we know")
    for _ in range(2):
        (said,) = recover(tmp_path)
        assert f"which .rails/journal/{ID}.journal has" in said
    assert file.exists()


@pytest.mark.parametrize(
    ("names", "start"),
    [
        ([], "0000"),
        (["lock", f"{ID}.journal"], "0000"),
        ([f"{ID}.applied", "00010456789abcdf.applied"], "0004"),
        (["00ab456789abcdef.applied"], "00ac"),
        (["zzzz456789abcdef.applied", "00ff.applied", f"{ID}0.applied"], "0000"),
        (["ffff456789abcdef.applied"], "ffff"),
    ],
)
def test_a_new_id_sorts_after_those_that_wait(names, start):
    made = next_id(names)
    assert made[:4] == start
    assert len(made) == 16
    assert made != next_id(names)


def test_what_lies_under_the_bytes_of_somebody_else_is_kept_for_a_person(tmp_path):
    name = "n" * 230
    interrupted = for_changes(ID, ChangeSet((change(name, b"old", b"new"), change("b.txt", None, b"b"))), {}, ())
    save(tmp_path, f".rails/journal/{ID}.journal", encode_journal(interrupted))
    save(tmp_path, name, "by hand")
    save(tmp_path, f".ai-rails-{ID}-0", "old")
    kept = f".rails/recovered/{ID}-0-{name[-50:]}"
    assert recover(tmp_path) == (
        f"{name} was changed by someone else meanwhile and was not touched.",
        f"The old text of {name} is in {kept}.",
    )
    assert tree(tmp_path) == {name: (b"by hand", 0o644)}
    assert (tmp_path / kept).read_bytes() == b"old"
    assert recover(tmp_path) == ()


def test_bytes_of_somebody_else_over_a_change_that_was_complete_are_told_and_what_they_lie_over_is_kept(tmp_path):
    for step in (None, STEP):
        changes = ChangeSet((change("a.txt", b"old", b"new"), change("b.txt", b"o", b"n")))
        save(tmp_path, f".rails/journal/{ID}.journal", encode_journal(journal(changes, {}, step, (), ())))
        for name, text in {"a.txt": "by hand", "b.txt": "n", f".ai-rails-{ID}-0": "old"}.items():
            save(tmp_path, name, text)
        told, *kept = recover(tmp_path)
        assert told.startswith("An interrupted change was already complete: a.txt, b.txt.")
        assert tree(tmp_path) == {"a.txt": (b"by hand", 0o644), "b.txt": (b"n", 0o644)}
        if step is None:
            where = f".rails/recovered/{ID}-0-a.txt"
            said = "a.txt was changed by someone else meanwhile and was not touched."
            assert kept == [said, f"The old text of a.txt is in {where}."]
            assert (tmp_path / where).read_bytes() == b"old"
        else:
            assert kept == [], "a step can be undone"


# What a file was and will be, what is at its name and in its slot ("": nothing), and what is there once it is taken
# back: at the name, and kept for a person. "x" and "y" are somebody else's.
STATES = [
    ("b", "a", "a", "b", "b", ""),
    ("b", "a", "a", "", "b", ""),
    ("b", "a", "a", "a", "b", ""),
    ("b", "a", "a", "x", "x", ""),
    ("b", "a", "b", "a", "b", ""),
    ("b", "a", "b", "x", "x", "b"),
    ("b", "a", "x", "", "x", ""),
    ("b", "a", "x", "b", "x", "b"),
    ("b", "a", "x", "a", "x", ""),
    ("b", "a", "x", "y", "x", "y"),
    ("b", "a", "", "b", "", "b"),
    ("b", "a", "", "a", "", ""),
    ("b", "a", "", "x", "x", ""),
    ("", "a", "a", "a", "", ""),
    ("", "a", "a", "", "", ""),
    ("", "a", "x", "", "x", ""),
    ("", "a", "x", "a", "x", ""),
    ("", "a", "", "a", "", ""),
    ("", "a", "", "x", "x", ""),
    ("b", "", "", "b", "b", ""),
    ("b", "", "", "", "b", ""),
    ("b", "", "", "x", "x", ""),
    ("b", "", "x", "b", "x", "b"),
]


def test_what_is_taken_back_is_as_it_was_and_what_is_somebody_elses_stays(tmp_path, quick_disk):
    for number, (before, after, now, slot, left, kept) in enumerate(STATES):
        project = tmp_path / str(number)
        bytes_of = lambda text: text.encode() or None  # noqa: E731
        changed = change("d/a.txt", bytes_of(before), bytes_of(after), 0o755)
        planned = for_changes(
            ID, ChangeSet((changed, change("d/other", None, b"o"))), {at("d/a.txt"): 0o640}, (("d",),)
        )
        save(project, f".rails/journal/{ID}.journal", encode_journal(planned))
        for name, text in (("a.txt", now), (planned.entries[0].slot, slot)):
            (project / "d").mkdir(exist_ok=True)
            if text:
                save(project, f"d/{name}", text).chmod(0o600)
        said = recover(project)
        found = tree(project)
        assert [data for data, _ in found.values()] == ([left.encode()] if left else []), STATES[number]
        assert (project / "d").exists() is bool(left), "a folder that was made for the change goes if it is empty"
        place = project / ".rails/recovered" / f"{ID}-0-a.txt"
        assert (place.read_text() if place.exists() else "") == kept
        assert bool(kept) is any(".rails/recovered" in sentence for sentence in said), STATES[number]
        gone = now == left == "" and before and after
        foreign = left in ("x", "y") or bool(gone)
        assert foreign is any("changed by someone else" in sentence for sentence in said), STATES[number]
        if now == after != "" and before:
            assert found["d/a.txt"][1] == (0o640 if slot in ("", "a") else 0o600), "the mode of before"


@pytest.mark.parametrize(("now", "mode"), [(0o755, 0o640), (0o640, 0o640), (0o600, 0o600)])
def test_a_mode_that_was_changed_alone_is_taken_back_with_the_bytes_as_they_are(tmp_path, quick_disk, now, mode):
    planned = for_changes(ID, ChangeSet((change("a.txt", b"b", b"b", 0o755),)), {at("a.txt"): 0o640}, ())
    save(tmp_path, "a.txt", "b").chmod(now)
    with Workspace(tmp_path) as workspace:
        said, _ = rollback.roll_back(workspace, planned)
    assert tree(tmp_path) == {"a.txt": (b"b", mode)}
    assert said == ["An interrupted change was rolled back: a.txt."] * (now == 0o755)


def test_a_folder_that_became_a_link_is_not_gone_through_when_a_change_is_taken_back(tmp_path, quick_disk):
    planned = for_changes(ID, ChangeSet((change("d/a.txt", b"b", b"a"), change("e.txt", b"b", b"a"))), {}, ())
    save(tmp_path, "elsewhere/a.txt", "a")
    save(tmp_path, "e.txt", "a")
    (tmp_path / "d").symlink_to("elsewhere")
    with Workspace(tmp_path) as workspace:
        said, _ = rollback.roll_back(workspace, planned)
    assert tree(tmp_path) == {"elsewhere/a.txt": (b"a", 0o644), "e.txt": (b"b", 0o644)}
    left = "d/a.txt was changed by someone else meanwhile and was not touched."
    assert said == ["An interrupted change was rolled back: d/a.txt, e.txt.", left]


def test_what_a_killed_writer_of_our_state_began_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    save(tmp_path, ".rails/blobs/ab/" + "ab" * 32, "whole")
    left = [save(tmp_path, f".rails/{name}.0123456789ab", "part") for name in (".masking-key", f"blobs/.{'ab' * 32}")]
    held = save(tmp_path, f".rails/blobs/.{'cd' * 32}.0123456789ab", "being written")
    others = [save(tmp_path, f".rails/blobs/{name}", "x") for name in (".keep", "a.0123456789ab", ".a.0123456789AB")]
    for file in (*left, held, *others):
        os.utime(file, (1_000, 1_000))
    new = save(tmp_path, f".rails/blobs/.{'ef' * 32}.0123456789ab", "begun just now")
    with held.open("rb") as writing:
        assert lock.acquire(writing.fileno())
        assert recover(tmp_path) == ()
    assert [file.exists() for file in (*left, held, *others, new)] == [False, False, True, True, True, True, True]
    assert recover(tmp_path) == ()
    assert not held.exists()


def test_a_writer_of_our_state_that_is_killed_in_the_middle_leaves_nothing_after_the_next_start(tmp_path):
    state = tmp_path / ".rails"
    for number in range(3):
        child = os.fork()
        if child == 0:
            blobs.atomic_file.write_all = lambda *_: os.kill(os.getpid(), 9)
            store_blob(state, b"content %d" % number)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 9
    left = list((state / "blobs").glob(".*"))
    assert len(left) == 3
    for file in left:
        os.utime(file, (1_000, 1_000))
    recover(tmp_path)
    assert [file for file in state.rglob("*") if file.is_file()] == []
