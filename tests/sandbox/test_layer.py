"""What becomes of the files in a layer, without running anything: proposed exactly, or left out and said."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

import pytest

from rails.core import limits, scratch
from rails.core.errors import CheckError, WorkspaceError
from rails.sandbox import copied
from rails.sandbox import layer as layers
from rails.sandbox.copied import CopyLayer
from rails.sandbox.layer import Layer, layer_entry, real_place
from rails.sandbox.overlay import OverlayLayer


@pytest.fixture(params=[CopyLayer, OverlayLayer])
def layer(request, project):
    ignored = lambda paths: {path for path in paths if path.startswith("ignored")}  # noqa: E731
    with request.param(project, ignored) as made:
        yield made


def told(layer):
    changes, left_out = layer.changes()
    return {str(c.path): (c.before, c.after, c.mode) for c in changes.changes}, left_out


def test_what_is_put_is_proposed_on_what_the_project_has(layer):
    layer.put({"src/a.py": b"A = 9\n", "src/b.py": b"B = 2\n", "new/deep/c.py": b"", "ignored.log": b"x"})
    (layer.project / "tool.sh").chmod(0o750)
    layer.put({"tool.sh": b"#!/bin/sh\n"})
    found, left_out = told(layer)
    assert found == {
        "new/deep/c.py": (None, b"", 0o644),
        "src/a.py": (b"A = 1\n", b"A = 9\n", 0o644),
        "tool.sh": (b"#!/bin/sh\necho tool\n", b"#!/bin/sh\n", 0o750),
    }
    assert left_out == ()
    assert [str(c.path) for c in layer.changes()[0].changes] == sorted(found)
    assert (layer.project / "src/a.py").read_text() == "A = 1\n"
    layer.put({"src/a.py": None})
    if isinstance(layer, CopyLayer):
        assert told(layer)[0]["src/a.py"] == (b"A = 1\n", None, 0o644)
    layer.drop(["tool.sh"])
    assert "tool.sh" not in told(layer)[0]
    layer.drop()
    assert told(layer) == ({}, ())


def test_a_mode_of_a_new_file_is_its_own_and_special_bits_are_left_out(project):
    with CopyLayer(project) as layer:
        for name, mode in (("x.sh", 0o755), ("set", 0o4755), ("group", 0o2755), ("shut", 0o000)):
            (layer.root / name).write_bytes(b"1")
            (layer.root / name).chmod(mode)
        found, left_out = told(layer)
        assert found == {"shut": (None, b"1", 0o000), "x.sh": (None, b"1", 0o755)}
        words = "was left out: it is to run as another user (set-user-id)."
        assert left_out == (f"group {words}", f"set {words}")


def test_what_no_change_may_hold_is_left_out_in_words(project):
    (project / "outside").mkdir()
    for name in ("linked", "taken"):
        (project / name).symlink_to("src")
    with CopyLayer(project) as layer:
        (layer.root / "taken").unlink()
        (layer.root / "taken").write_text("a file in its place")
        (layer.root / "link").symlink_to("/etc/passwd")
        os.mkfifo(layer.root / "pipe")
        (layer.root / ".git").mkdir()
        (layer.root / ".git/config").write_text("x")
        (layer.root / "bad\nname").write_text("x")
        (layer.root / "linked").unlink()
        (layer.root / "linked").mkdir()
        (layer.root / "linked/a.py").write_text("x")
        (layer.root / "linked/deep/er").mkdir(parents=True)
        (layer.root / "linked/deep/er/b.py").write_text("x")
        found, left_out = told(layer)
    assert found == {}
    assert list(left_out) == [
        ".git/config was left out: it is inside .git or .rails, which no agent may write.",
        *(words for words in left_out if words.startswith("Invalid file path")),
        "link was left out: it is a link.",
        "linked was left out: it was a link and was deleted.",
        "linked/a.py was left out: it, or a folder above it, is a link in the project.",
        "linked/deep/er/b.py was left out: it, or a folder above it, is a link in the project.",
        "pipe was left out: it is a pipe.",
        "taken was left out: it, or a folder above it, is a link in the project.",
    ]
    assert len(left_out) == 8


def test_no_more_is_told_as_left_out_than_twenty(project):
    with CopyLayer(project) as layer:
        for number in range(25):
            (layer.root / f"{number:02}").symlink_to("x")
        *named, more = told(layer)[1]
        assert [words[:2] for words in named] == [f"{number:02}" for number in range(20)]
        assert more == "5 more were left out."


def test_more_than_anybody_can_approve_is_not_taken(layer, monkeypatch):
    monkeypatch.setattr(limits, "FILES_PER_CHANGE", 2)
    monkeypatch.setattr(limits, "CHANGE_BYTES", 10)
    layer.put({"a": b"12345", "b": b"12345"})
    assert len(told(layer)[0]) == 2
    for more in ({"c": b""}, {"b": b"123456"}):
        layer.drop()
        layer.put({"a": b"12345", "b": b"12345", **more})
        with pytest.raises(
            CheckError, match=r"more than 2 files or 0 MB, which nobody can approve\. Nothing was taken"
        ):
            layer.changes()


def test_a_file_of_the_project_that_cannot_be_compared_stops_the_proposal(layer, monkeypatch):
    layer.put({"src/a.py": b"x"})
    (layer.project / "src/a.py").write_bytes(b"y" * 11)
    monkeypatch.setattr(limits, "FILE_BYTES", 10)
    with pytest.raises(CheckError, match=r"src/a\.py is too large to be compared\. Nothing was taken"):
        layer.changes()
    (layer.project / "src/a.py").write_bytes(b"y" * 10)
    assert told(layer)[0]["src/a.py"][0] == b"y" * 10


def test_what_was_proposed_on_a_state_that_is_gone_is_forgotten_and_the_rest_stays(layer):
    layer.put({"src/a.py": b"A = 9\n", "src/b.py": b"B = 9\n", "new.py": b"N\n"})
    assert len(told(layer)[0]) == 3
    (layer.project / "src/a.py").write_text("by hand\n")
    (layer.project / "new.py").write_text("by hand\n")
    layer.refresh()
    assert told(layer) == ({"src/b.py": (b"B = 2\n", b"B = 9\n", 0o644)}, ())
    (layer.project / "src/b.py").unlink()
    layer.refresh()
    assert told(layer) == ({}, ())


def test_what_a_command_left_is_read_without_a_link(layer):
    layer.put({"src/a.py": b"123456"})
    assert (layer.read("src/a.py"), layer.read("src/nowhere")) == (b"123456", None)
    (layer.upper / "here").symlink_to("src/a.py")
    (layer.upper / "away").symlink_to("/etc")
    assert (layer.read("here"), layer.read("away/passwd"), layer.read("src")) == (None, None, None)


def test_a_layer_is_private_and_gone_when_it_is_closed(layer, project):
    folder = layer.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.is_relative_to(project)
    shut = layer.upper / "shut/inner"
    shut.mkdir(parents=True)
    (shut / "f").write_text("x")
    shut.chmod(0)
    shut.parent.chmod(0o500)
    layer.close()
    assert not folder.exists()
    layer.close()


def test_version_control_and_our_own_state_are_no_part_of_a_layer(project):
    for name in (".git", ".rails"):
        (project / name).mkdir()
        (project / name / "x").write_text("x")
    with CopyLayer(project) as layer:
        assert not (layer.root / ".git").exists()
        assert not (layer.root / ".rails").exists()
        layer.put({".git/x": b"y", ".rails/x": b"y"})
        assert told(layer) == ({}, ())


@pytest.mark.parametrize("name", ["node_modules", ".venv"])
def test_what_is_installed_is_left_alone_at_the_top_and_is_a_file_like_others_below(project, name):
    for folder in ("", "src/"):
        (project / folder / name).mkdir()
        (project / folder / name / "x.js").write_text("old")
    with CopyLayer(project) as layer:
        assert not (layer.root / name).exists()
        assert (layer.root / "src" / name / "x.js").read_text() == "old"
        layer.put({f"{name}/x.js": b"new", f"src/{name}/x.js": b"new", f"src/{name}/y.js": b"new"})
        assert told(layer)[0] == {
            f"src/{name}/x.js": (b"old", b"new", 0o644),
            f"src/{name}/y.js": (None, b"new", 0o644),
        }
        layer.drop([f"src/{name}/y.js"])
        assert list(told(layer)[0]) == [f"src/{name}/x.js"]
        layer.drop()
        assert told(layer) == ({}, ())
        assert layer._bases == {}


def test_what_a_killed_owner_left_is_removed_by_the_next_one(project, monkeypatch, tmp_path):
    (tmp_path / "there").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "there"))
    with subprocess.Popen(["true"]) as ended, monkeypatch.context() as other:
        other.setattr(scratch.os, "getpid", lambda: ended.pid)
        left = CopyLayer(project)
    scratch._remove_abandoned.cache_clear()
    with Layer(project) as layer:
        assert [*(tmp_path / "there").iterdir()] == [layer.folder]
    assert not left.folder.exists()


def test_a_folder_too_deep_to_be_removed_stops_nobody(project, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen(["true"]) as ended:
        (tmp_path / f"ai-rails-sandbox-{ended.pid}-{scratch._numbers()}-x").mkdir()
    scratch._remove_abandoned.cache_clear()
    monkeypatch.setattr(shutil, "rmtree", mock.Mock(side_effect=RecursionError))
    with Layer(project) as layer:
        assert layer.folder.exists()


def test_an_interrupt_before_a_layer_is_whole_leaves_nothing(project, monkeypatch, tmp_path):
    def strike(*_):
        raise KeyboardInterrupt

    (tmp_path / "there").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "there"))
    monkeypatch.setattr(Layer, "_made", strike)
    with pytest.raises(KeyboardInterrupt):
        Layer(project)
    assert not [*(tmp_path / "there").iterdir()]


def test_a_folder_for_temporary_files_in_the_project_is_refused(project, monkeypatch):
    monkeypatch.setattr(layers, "kept_folder", lambda _: made(project / "tmp"))

    def made(folder):
        folder.mkdir()
        return folder

    with pytest.raises(WorkspaceError, match=r"lies in the project\. Set TMPDIR to another one"):
        Layer(project)
    assert not (project / "tmp").exists()


def test_a_layer_to_which_nothing_is_written_proposes_nothing(project):
    with Layer(project) as layer:
        assert (layer.root, layer.writable, told(layer)) == (project, False, ({}, ()))
        layer.put({"src/a.py": b"x"})
        layer.drop(["src/b.py"])
        assert (project / "src/a.py").read_text() == "A = 1\n"
        assert told(layer) == ({}, ())
        assert (layer.etc / "passwd").read_text() == "nobody:x:65534:65534:nobody:/tmp/home:/bin/sh\n"
        assert (layer.etc / "group").read_text() == "nogroup:x:65534:\n"
        assert "127.0.0.1 sandbox" in (layer.etc / "hosts").read_text()
        assert {"etc", "output", "tmp"} <= set(os.listdir(layer.folder))


def test_no_link_leads_a_place_out_of_its_layer(tmp_path):
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "away").symlink_to(outside)
    (root / "file").write_text("x")
    (root / "shut").mkdir()
    (root / "shut").chmod(0o300)
    for name in ("away/x", "file/x", "shut/x", "new/deep/x"):
        place = real_place(root, name)
        assert place == root / name
        place.write_text("y")
        assert not any(part.is_symlink() for part in place.parents if part.is_relative_to(root))
    assert list(outside.iterdir()) == []


def test_each_kind_of_thing_is_told_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"12345")
    assert layer_entry("d", Path("/dev/null")).fault == "it is a device"
    assert layer_entry("l", tmp_path / "link").fault == "it is a link"
    assert layer_entry("p", tmp_path / "pipe").fault == "it is a pipe"
    found = layer_entry("f", tmp_path / "file")
    assert (found.path, found.after, found.fault) == ("f", b"12345", "")
    monkeypatch.setattr(limits, "FILE_BYTES", 4)
    assert layer_entry("f", tmp_path / "file").fault == "it has more than 0 MB"


def test_a_project_larger_than_the_bound_is_not_copied(project, monkeypatch):
    size = sum(place.stat().st_size for place in project.rglob("*") if place.is_file())
    monkeypatch.setattr(copied, "_COPY_BYTES", size)
    CopyLayer(project).close()
    monkeypatch.setattr(copied, "_COPY_BYTES", size - 1)
    with pytest.raises(CheckError, match=r"more than 0 MB; it is not copied for a command\. Nothing was run"):
        CopyLayer(project)


@pytest.mark.parametrize("kind", [OverlayLayer, CopyLayer])
def test_a_mode_alone_is_left_out_and_said_and_a_repository_under_another_name_is_none(project, kind):
    for name in ("run.sh", "both.sh", "kept.sh"):
        (project / name).write_text("echo\n")
    (project / "kept.sh").chmod(0o755)
    (project / "old").mkdir()
    (project / "old/HEAD").write_text("ref: refs/heads/main\n")
    with kind(project) as layer:
        layer.put(
            {"run.sh": b"echo\n", "sub/HEAD": b"ref: refs/heads/main\n", "old/config": b"[core]\n", "sub/a": b"1"}
        )
        (layer.upper / "run.sh").chmod(0o755)
        layer.put({"both.sh": b"2\n", "kept.sh": b"2\n"})
        (layer.upper / "both.sh").chmod(0o755)
        changes, left_out = layer.changes()
    modes = {str(change.path): change.mode for change in changes.changes}
    assert modes == {"both.sh": 0o644, "kept.sh": 0o755, "sub/a": 0o644}
    said = sorted(words.split()[0].strip(":") for words in left_out)
    assert said == ["both.sh", "old/config", "run.sh", "sub/HEAD"]
