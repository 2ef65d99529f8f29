"""A file of the user's is changed where its links lead, and what they saved meanwhile is never lost."""

import itertools
import os

import pytest

from rails.core import atomic_file
from rails.core.user_files import UserFile

SAVES = {
    "in place": lambda file: file.write_text("theirs"),
    "by rename": lambda file: (file.with_name("new").write_text("theirs"), file.with_name("new").replace(file)),
    "appended": lambda file: file.open("a").write("theirs"),
    "of the same size": lambda file: file.write_text("olD"),
}


@pytest.fixture(params=["exchange", "none"])
def system(request, monkeypatch):
    if request.param == "none":
        monkeypatch.setattr(atomic_file, "_renameat2", lambda: None)
    return request.param


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_links_stay_and_the_file_that_they_lead_to_is_written(tmp_path, system, depth):
    (tmp_path / "there").mkdir()
    names = [tmp_path / "there/file", *(tmp_path / f"link{number}" for number in range(depth))]
    for target, link in itertools.pairwise(names):
        link.symlink_to(os.path.relpath(target, link.parent))
    for words in (b"one", b"two"):
        UserFile(names[-1]).write((words, b"!"))
        assert names[0].read_bytes() == words + b"!"
        names[0].chmod(0o600)
    assert [link.is_symlink() for link in names[1:]] == [True] * depth
    assert names[0].stat().st_mode & 0o777 == 0o600
    UserFile(names[-1]).remove()
    assert not names[0].exists()
    assert sum(1 for _ in tmp_path.rglob("*")) == 1 + depth


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("change", ["write", "remove"])
def test_a_save_since_the_file_was_read_stays(tmp_path, system, save, change):
    file = tmp_path / "file"
    file.write_text("old")
    ours = UserFile(file)
    assert ours.read() == b"old"
    SAVES[save](file)
    now = file.read_bytes()
    with pytest.raises(OSError, match="meanwhile"):
        ours.write([b"new"]) if change == "write" else ours.remove()
    assert file.read_bytes() == now
    assert os.listdir(tmp_path) == ["file"]


def test_a_save_at_the_very_instant_stays(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    saves = iter(["first", "second"])

    def rename_by(*words):
        file.with_name("new").write_text(next(saves))
        file.with_name("new").replace(file)
        return atomic_file.rename_by(*words)

    monkeypatch.setattr("rails.core.user_files.rename_by", rename_by)
    with pytest.raises(OSError, match="one version is in"):
        UserFile(file).write([b"new"])
    kept = {place.read_text() for place in tmp_path.iterdir()}
    assert kept == {"first", "second"}


def test_a_file_that_somebody_makes_meanwhile_stays(tmp_path, system):
    ours = UserFile(tmp_path / "file")
    assert ours.read() == b""
    (tmp_path / "file").write_text("theirs")
    with pytest.raises(FileExistsError):
        ours.write([b"new"])
    assert (tmp_path / "file").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["file"]


def test_what_cannot_be_written_whole_is_not_written_at_all(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")

    def parts():
        yield b"half"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        UserFile(file).write(parts())
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_ordinary_file_is_an_error(tmp_path, kind):
    place = tmp_path / "it"
    {"folder": place.mkdir, "pipe": lambda: os.mkfifo(place), "loop": lambda: place.symlink_to(place)}[kind]()
    with pytest.raises(OSError):  # noqa: PT011 - each has words of its own
        UserFile(place).write([b"x"])
