"""A file is written whole or not at all, whatever goes wrong and whenever."""

import errno
import os

import pytest

from rails.core import atomic_file
from rails.testing import RecordingDisk


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    file = tmp_path / "new" / "folders" / "state.json"
    for data in (b"one", b"", b"x" * 100_000):
        atomic_file.replace_file(file, data)
        assert file.read_bytes() == data
    assert os.listdir(file.parent) == ["state.json"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    target.chmod(0o644)
    (tmp_path / "link").symlink_to(target)
    atomic_file.replace_file(tmp_path / "link", b"ours")
    assert target.read_bytes() == b"theirs"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_fault_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path, error, durable):
    file = tmp_path / "state"
    with RecordingDisk() as disk:
        atomic_file.replace_file(file, b"old", durable=durable)
    names = [operation.name for operation in disk.operations]
    assert ("fdatasync" in names, names.count("fsync")) == (durable, durable)
    for place, name in enumerate(names, 1):
        if name == "mkdir":  # the folder is there already
            continue
        atomic_file.replace_file(file, b"old")
        with RecordingDisk(fail_at=place, error=error), pytest.raises(OSError, match=os.strerror(error)):
            atomic_file.replace_file(file, b"new", durable=durable)
        assert file.read_bytes() in (b"old", b"new")
        assert file.read_bytes() == b"old" or name in ("fsync", "unlink")


def test_the_content_is_on_the_disk_before_it_has_its_name_and_the_name_after(tmp_path):
    with RecordingDisk() as disk:
        atomic_file.replace_file(tmp_path / "x", b"data")
    names = [operation.name for operation in disk.operations]
    assert names.index("write") < names.index("fdatasync") < names.index("rename") < names.index("fsync")


def test_creating_never_replaces(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert atomic_file.create(folder, "x", b"first") is True
        assert atomic_file.create(folder, "x", b"second") is False
    finally:
        os.close(folder)
    assert (tmp_path / "x").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("error", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_creating_works_without_hard_links_too(tmp_path, monkeypatch, error):
    def refused(*_, **__):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", refused)
    test_creating_never_replaces(tmp_path)


def test_another_fault_of_a_link_is_an_error_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="Input/output"):
            atomic_file.create(folder, "x", b"ours")
    finally:
        os.close(folder)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_creating_never_replaces_what_another_writer_made_meanwhile(tmp_path, monkeypatch, links):
    """Whoever looks finds nothing, and then there is something, with hard links and without."""
    seen = []
    really = atomic_file._is_there
    monkeypatch.setattr(
        atomic_file, "_is_there", lambda *place: bool(seen.append(place) or (len(seen) > 1 and really(*place)))
    )
    if not links:
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EPERM, "not permitted")))
    (tmp_path / "x").write_bytes(b"theirs")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert atomic_file.create(folder, "x", b"ours") is False
    finally:
        os.close(folder)
    assert (tmp_path / "x").read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["x"]


def test_no_file_stays_open_behind_a_writer(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        atomic_file.replace_file(tmp_path / "x", b"%d" % number)
        with RecordingDisk(fail_at=3, error=errno.EIO), pytest.raises(OSError, match="Input/output"):
            atomic_file.replace_file(tmp_path / "x", b"new")
    assert len(os.listdir("/proc/self/fd")) == before


def test_below_dot_rails_a_file_is_begun_where_the_next_start_looks(tmp_path, monkeypatch):
    """What a killed writer leaves in a session's folder would stay there for ever."""
    begun = []
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda old, *rest, **more: begun.append(old) or rename(old, *rest, **more))
    place = tmp_path / ".rails/sessions/x/summary.json"
    atomic_file.replace_file(place, b"{}")
    assert place.read_bytes() == b"{}"
    assert begun[0].startswith(f"{tmp_path}/.rails/.summary.json.")
