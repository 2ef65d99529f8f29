"""A journal is believed only if every byte of it is as it was written, and names only what may be written."""

import hashlib
import json

import pytest

from rails.core.changes import ChangeSet
from rails.core.dataclass import replace
from rails.edits import rollback
from rails.edits.apply import recover
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.checkpoints import History
from rails.edits.journal import (
    Entry,
    close_journal,
    decode_journal,
    encode_journal,
    for_changes,
    mark_applied,
    next_id,
)
from rails.edits.safe_files import Disk, opened

from .helpers import at, change, save, tree

ID = "0003456789abcdef"
CHANGES = ChangeSet((change("a.txt", b"old", b"new!", 0o640), change("x/b.txt", None, b""), change("c", b"c", None)))
STEP = StepFacts("s1", "title", "undo", 7)


def journal(changes=CHANGES, modes=None, step=STEP, folders=(("x",),), empty=(("y",), ("y", "z"))):
    return replace(for_changes(ID, changes, modes or {at("a.txt"): 0o4755}, folders), step=step, empty=empty)


def encoded(facts, body=b"", version=2, digest=None):
    rest = json.dumps(facts).encode() + b"\n" + body
    return f"AI-RAILS-JOURNAL {version} {len(rest)} {digest or hashlib.sha256(rest).hexdigest()}\n".encode() + rest


def facts(**more):
    hashes = {"before": hashlib.sha256(b"old").hexdigest(), "after": hashlib.sha256(b"new").hexdigest()}
    lengths = {"length": 3, "after_length": 3}
    entry = {"path": "a.txt", "mode": 0o644, "before_mode": 0o644} | hashes | lengths
    entry |= {key: value for key, value in more.items() if key in entry}
    others = {"folders": [], "empty": [], "step": None}
    return {"entries": [entry]} | others | {key: value for key, value in more.items() if key in others}


def test_what_is_written_is_read_back_in_every_part():
    written = journal()
    assert [(e.mode, e.before_mode) for e in written.entries] == [(0o640, 0o755), (0o644, 0o644), (0o644, 0o644)]
    assert [e.slot for e in written.entries] == [f".ai-rails-{ID}-{number}" for number in range(3)]
    assert decode_journal(f"{ID}.journal", encode_journal(written)) == written
    assert decode_journal(f"{ID}.applied", encode_journal(written)) == replace(written, applied=True)
    assert written.changes == CHANGES
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


@pytest.mark.parametrize(("length", "digest"), [(1, None), (0, "0" * 64), (0, "x")])
def test_length_and_digest_are_each_enough_to_disbelieve_a_journal(length, digest):
    first, _, rest = encoded(facts(), b"oldnew", digest=digest).partition(b"\n")
    magic, size, said = first.rsplit(b" ", 2)
    assert decode_journal(f"{ID}.journal", b"%s %d %s\n%s" % (magic, int(size) + length, said, rest)) is None
    assert decode_journal(f"{ID}.journal", encoded(facts(), b"oldnew")) is not None


def test_the_forged_journals_below_are_sound_but_for_what_is_forged():
    read = decode_journal(f"{ID}.journal", encoded(facts(mode=0o4644, before_mode=0o2600), b"oldnew"))
    assert (read.entries[0].before, read.entries[0].after) == (b"old", b"new")
    assert (read.entries[0].mode, read.entries[0].before_mode) == (0o644, 0o600)


STEP_FACTS = {"session": "s", "title": "t", "kind": "change", "undoes": 0}
FORGED = {
    "bytes before": (facts(), b"oldNEW"),
    "bytes after": (facts(), b"OLDnew"),
    "a length": (facts(length=2, after_length=4), b"oldnew"),
    "a path outside": (facts(path="../a.txt"), b"oldnew"),
    "a path in .git": (facts(path=".git/hooks/pre-commit"), b"oldnew"),
    "our own state": (facts(path=".rails/history.git/HEAD"), b"oldnew"),
    "a folder outside": (facts(folders=["../x"]), b"oldnew"),
    "a folder in .git": (facts(empty=["a/.git"]), b"oldnew"),
    "no number": (facts(mode="644"), b"oldnew"),
    "a number below zero": (facts(before_mode=-1), b"oldnew"),
    "no hash": (facts(after=3), b"oldnew"),
    "a step without a session": (facts(step={k: v for k, v in STEP_FACTS.items() if k != "session"}), b"oldnew"),
    "a step of no known kind": (facts(step=STEP_FACTS | {"kind": "forget"}), b"oldnew"),
    "a step that undoes no number": (facts(step=STEP_FACTS | {"undoes": "1"}), b"oldnew"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_journal_with_a_right_digest_and_a_wrong_fact_changes_nothing(tmp_path, what):
    said, body = FORGED[what]
    assert decode_journal(f"{ID}.journal", encoded(said, body)) is None
    save(tmp_path, ".git/hooks/pre-commit", "mine")
    for name in ("a.txt", "b.txt"):
        save(tmp_path, name, "mine")
    before = tree(tmp_path, but=(".rails",))
    save(tmp_path, f".rails/journal/{ID}.journal", encoded(said, body))
    assert recover(tmp_path) == ()
    assert tree(tmp_path, but=(".rails",)) == before
    assert not (tmp_path / f".rails/journal/{ID}.journal").exists()
    assert History(tmp_path).steps() == ()


@pytest.mark.parametrize("start", [b"AI-RAILS-JOURNAL 3 ", b"AI-RAILS-JOURNAL ", b""])
def test_a_file_of_no_known_version_is_not_read(start):
    assert decode_journal(f"{ID}.journal", encoded(facts(), b"oldnew").replace(b"AI-RAILS-JOURNAL 2 ", start)) is None


def test_a_journal_of_version_1_is_never_one_that_waits_for_its_step():
    old = {"entries": [facts()["entries"][0]], "folders": ["x"]}
    read = decode_journal(f"{ID}.applied", encoded(old, b"old", version=1))
    assert (read.applied, read.entries[0].after, read.entries[0].before_mode) == (False, None, 0o644)
    assert (read.folders, read.empty, read.step) == ((("x",),), (), None)
    old["entries"][0]["after"] = 3
    assert decode_journal(f"{ID}.journal", encoded(old, b"old", version=1)) is None


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
    kept = f"{ID}-{name}"[-200:]
    left = (
        f"{name} was changed by someone else meanwhile and is left as it is. What it was before is in .rails/recovered"
    )
    assert recover(tmp_path) == (f"{left}/{kept}.",)
    assert tree(tmp_path) == {name: (b"by hand", 0o644)}
    assert len(kept) == 200
    assert (tmp_path / ".rails/recovered" / kept).read_bytes() == b"old"
    assert (tmp_path / ".rails/recovered" / kept).stat().st_mode & 0o777 == 0o600
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
            where = f".rails/recovered/{ID}-a.txt"
            said = "a.txt was changed by someone else meanwhile and is left as it is. What it was before is in "
            assert kept == [f"{said}{where}."]
            assert (tmp_path / where).read_bytes() == b"old"
        else:
            assert kept == [], "a step can be undone"


# What is at the name now, what waits in the slot, for a file that changes ("b" to "a") and one that is new:
# ours is there, somebody else's is there, ours was there before, ours lies over somebody else's.
STATES = [
    ("b", "a", "a", "b", (True, False, False, False)),
    ("b", "a", "a", "", (True, False, False, False)),
    ("b", "a", "a", "a", (True, False, False, False)),
    ("b", "a", "a", "x", (True, False, False, True)),
    ("b", "a", "b", "a", (False, False, False, False)),
    ("b", "a", "b", "x", (False, False, False, False)),
    ("b", "a", "x", "", (False, True, True, False)),
    ("b", "a", "x", "b", (False, True, True, False)),
    ("b", "a", "x", "a", (False, True, False, False)),
    ("b", "a", None, "b", (False, True, True, False)),
    ("b", "a", None, "a", (False, True, False, False)),
    (None, "a", "a", "a", (True, False, False, False)),
    (None, "a", "x", "x", (False, True, True, False)),
    (None, "a", "x", "", (False, True, True, False)),
    (None, "a", "x", "a", (False, True, False, False)),
    (None, "a", None, "a", (False, False, False, False)),
    ("b", None, None, "b", (True, False, False, False)),
    ("b", None, "x", "b", (False, True, True, False)),
    ("b", "b", "x", "b", (False, True, False, False)),
    ("b", "b", "x", "", (False, True, True, False)),
]


@pytest.mark.parametrize(("before", "after", "now", "slot", "expected"), STATES)
def test_whose_bytes_are_there_is_told_from_the_name_and_its_slot(before, after, now, slot, expected):
    data = before.encode() if before else None
    entry = Entry(at("a.txt"), 0o644, data, before, after, ".slot", 0o644)
    state = rollback._State(entry, 3, now, 0o644, slot)
    assert (state.is_after, state.is_foreign, state.was_after, state.holds_foreign) == expected


def test_a_change_of_the_mode_alone_is_there_once_the_mode_is():
    entry = Entry(at("a.txt"), 0o755, b"b", "b", "b", ".slot", 0o644)
    assert not rollback._State(entry, 3, "b", 0o644, "").is_after
    assert rollback._State(entry, 3, "b", 0o755, "").is_after
    assert not rollback._State(entry, 3, "x", 0o755, "").is_after


OURS, OLD, OVER, LATER, GONE_OVER = ("a", "b"), ("b", "a"), ("a", "x"), ("x", ""), ("x", "b")


@pytest.mark.parametrize(
    ("files", "complete"),
    [
        ([], True),
        ([OURS], True),
        ([OLD], False),
        ([OURS, OLD], False),
        ([OVER], False),
        ([OURS, OVER], False),
        ([OURS, LATER], True),
        ([LATER], False),
        ([LATER, OLD], False),
        ([GONE_OVER], True),
        ([GONE_OVER, LATER], True),
        ([GONE_OVER, OLD], False),
    ],
)
def test_a_change_is_complete_where_all_of_it_was_in_place_and_something_still_says_so(files, complete):
    entry = Entry(at("a.txt"), 0o644, b"b", "b", "a", ".slot", 0o644)
    found = [rollback._State(entry, 3, now, 0o644, slot) for now, slot in files]
    assert rollback.is_complete(found) is complete


def test_only_a_change_that_waits_for_its_step_is_marked_and_where_that_fails_it_stays_as_it_was(tmp_path):
    class Full(Disk):
        def rename(self, old, new, folder):
            raise OSError(28, "No space left on device")

    waiting, folder = journal(), tmp_path / ".rails/journal"
    for one, disk, name in (
        (replace(waiting, step=None), Disk(), f"{ID}.journal"),
        (waiting, Full(), f"{ID}.journal"),
        (waiting, Disk(), f"{ID}.applied"),
        (replace(waiting, applied=True), Full(), f"{ID}.applied"),
    ):
        synced = []
        save(tmp_path, f".rails/journal/{one.file_name}", "x")
        with opened(tmp_path, disk) as workspace:
            marked = mark_applied(workspace, one)
            assert marked == replace(one, applied=name.endswith("applied"))
            assert [place.name for place in folder.iterdir()] == [name]
            workspace.disk.sync = synced.append
            close_journal(workspace, marked)
            assert synced == [workspace.folder((".rails", "journal"))]
            close_journal(workspace, marked)
        assert list(folder.iterdir()) == []


def put_back(before, after, now, slot):
    """What is in the file's place once an interrupted change was taken back."""
    if now != after:
        return now  # the old bytes, or somebody else's
    if slot not in (None, "", before, after):
        return slot  # somebody else's, over which ours were put
    return before


@pytest.mark.parametrize(("before", "after", "now", "slot", "expected"), STATES)
def test_what_is_taken_back_is_as_it_was_and_what_is_somebody_elses_stays(
    tmp_path, quick_disk, before, after, now, slot, expected
):
    bytes_of = lambda text: None if text is None else text.encode()  # noqa: E731
    changes = ChangeSet((change("d/a.txt", bytes_of(before), bytes_of(after), 0o755), change("d/other", None, b"o")))
    planned = for_changes(ID, changes, {at("d/a.txt"): 0o640}, (("d",),))
    for name, text in (("a.txt", now), (planned.entries[0].slot, slot or None)):
        if text is not None:
            save(tmp_path, f"d/{name}", text).chmod(0o600)
    (tmp_path / "d").mkdir(exist_ok=True)
    is_after, is_foreign, *_ = expected
    synced = []
    disk = Disk()
    disk.sync = synced.append
    with opened(tmp_path, disk) as workspace:
        said = rollback.roll_back(workspace, planned)
        folder = workspace.folder(("d",)) if (tmp_path / "d").exists() else None
        assert folder is None or folder in synced
    left = put_back(before, after, now, slot)
    written = now == after != before and slot in ("", None, after) and before is not None
    assert tree(tmp_path) == ({} if left is None else {"d/a.txt": (left.encode(), 0o640 if written else 0o600)})
    assert (tmp_path / "d").exists() is (left is not None), "a folder that was made for the change goes if it is empty"
    kept = slot == before and before is not None
    others = "d/a.txt was changed by someone else meanwhile and is left as it is."
    others += f" What it was before is in .rails/recovered/{ID}-a.txt." if kept else ""
    back = ["An interrupted change was taken back: d/a.txt, d/other."]
    assert said == back * is_after + [others] * is_foreign
    place = tmp_path / ".rails/recovered" / f"{ID}-a.txt"
    assert (place.read_bytes() if place.exists() else None) == (bytes_of(before) if kept and is_foreign else None)


@pytest.mark.parametrize(("now", "mode"), [(0o755, 0o640), (0o640, 0o640), (0o600, 0o600)])
def test_a_mode_that_was_changed_alone_is_taken_back_with_the_bytes_as_they_are(tmp_path, quick_disk, now, mode):
    planned = for_changes(ID, ChangeSet((change("a.txt", b"b", b"b", 0o755),)), {at("a.txt"): 0o640}, ())
    save(tmp_path, "a.txt", "b").chmod(now)
    with opened(tmp_path) as workspace:
        said = rollback.roll_back(workspace, planned)
    assert tree(tmp_path) == {"a.txt": (b"b", mode)}
    assert said == ["An interrupted change was taken back: a.txt."] * (now == 0o755)


def test_a_folder_that_became_a_link_is_not_gone_through_when_a_change_is_taken_back(tmp_path, quick_disk):
    planned = for_changes(ID, ChangeSet((change("d/a.txt", b"b", b"a"), change("e.txt", b"b", b"a"))), {}, ())
    save(tmp_path, "elsewhere/a.txt", "a")
    save(tmp_path, "e.txt", "a")
    (tmp_path / "d").symlink_to("elsewhere")
    with opened(tmp_path) as workspace:
        said = rollback.roll_back(workspace, planned)
    assert tree(tmp_path) == {"elsewhere/a.txt": (b"a", 0o644), "e.txt": (b"b", 0o644)}
    left = "d/a.txt was changed by someone else meanwhile and is left as it is."
    assert said == ["An interrupted change was taken back: d/a.txt, e.txt.", left]
