"""What stands beside a layer's change set: its bounds, its words, its cleanup, and what it never touches."""

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.restrictions import Restrictions
from rails.sandbox import copied, overlay
from rails.sandbox import layer as layers
from rails.sandbox.copied import CopyLayer
from rails.sandbox.layer import Layer, LayerChange, hidden_in, remove_entry
from rails.sandbox.overlay import OverlayLayer
from tests.sandbox.test_layer import told


@pytest.fixture
def opaque(monkeypatch):
    """A function that marks folders as made anew, as the kernel does, on file systems without such marks, too."""
    marked = set()

    def known(place, name, *, follow_symlinks=True):
        assert (name, follow_symlinks) == ("user.overlay.opaque", False)
        if str(place) not in marked:
            raise OSError(errno.ENODATA, "none")
        return b"y"

    monkeypatch.setattr(os, "getxattr", known, raising=False)
    monkeypatch.setattr(
        os, "removexattr", lambda p, n, **how: known(p, n, **how) and marked.remove(str(p)), raising=False
    )
    return lambda *places: marked.update(map(str, places)) or marked


def fill(folder, files):
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def whiteout(place):
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(place, stat.S_IFCHR, 0)


def walked(layer):
    """Return what the layer holds otherwise: name to bytes or fault."""
    found = list(layer._walk())
    assert len({one.path for one in found}) == len(found), "nothing is told twice"
    return {one.path: one.fault or one.after for one in found}


# -- the overlay's upper side -----------------------------------------------------------------------


def test_each_way_in_which_something_of_the_project_goes_is_told_file_by_file(project, tmp_path):
    fill(project, {"pack/m.py": b"m", "pack/sub/x": b"x", "pack/__pycache__/m.pyc": b"", "other/o": b"o"})
    (project / "linked").symlink_to("src")
    (project / "pack/inner").symlink_to("m.py")
    os.mkfifo(project / "pipe")
    fill(tmp_path / "outside", {"secret": b"s"})
    (project / "away").symlink_to(tmp_path / "outside")
    with OverlayLayer(project) as layer:
        for name in ("pack", "tool.sh", "linked", "pipe", "never", "src/a.py", "away"):
            whiteout(layer.upper / name)
        fill(layer.upper, {"other": b"a file now", "src/b.py/d/new": b"in a folder now", "src/__pycache__/c": b""})
        gone = "it was a link or no file, and is gone"
        assert walked(layer) == {
            **{"pack/m.py": None, "pack/sub/x": None, "pack/inner": None, "tool.sh": None, "src/a.py": None},
            **{"linked": gone, "pipe": gone, "away": gone},
            **{"other": b"a file now", "other/o": None},
            **{"src/b.py": None, "src/b.py/d/new": b"in a folder now"},
        }
        assert {one.path: one.mode for one in layer._walk()}["other"] == 0o644


def test_a_folder_over_a_link_of_the_project_shows_nothing_of_where_it_led(project, tmp_path, opaque):
    fill(tmp_path / "outside", {"secret": b"s", "deep/secret": b"s"})
    (project / "away").symlink_to(tmp_path / "outside")
    with OverlayLayer(project) as layer:
        fill(layer.upper, {"away/deep/new": b"n"})
        opaque(layer.upper / "away", layer.upper / "away/deep")
        assert walked(layer) == {"away": "it was a link or no file, and is gone", "away/deep/new": b"n"}


def test_of_a_folder_made_anew_what_is_not_in_it_is_gone_at_any_depth(project, opaque):
    fill(
        project,
        {
            f"pack/{name}": b"old"
            for name in ("m.py", "kept", "sub/x", "sub/deep/y", "gone/z", "sub/deep/w", "gone/kept", "gone/sub/v")
        },
    )
    with OverlayLayer(project) as layer:
        fill(layer.upper, {"pack/kept": b"new", "pack/sub/deep/y": b"new", "src/new": b"n"})
        marks = opaque(layer.upper / "pack")
        expected = {"pack/m.py": None, "pack/kept": b"new", "pack/sub/x": None, "pack/sub/deep/y": b"new"}
        expected |= {
            "pack/sub/deep/w": None,
            "pack/gone/z": None,
            "pack/gone/kept": None,
            "pack/gone/sub/v": None,
            "src/new": b"n",
        }
        assert walked(layer) == expected
        # Letting one of its files show through again lets the folder show through: it is no longer made anew.
        layer._bases["pack/sub/deep/y"] = "digest"
        layer.drop(["pack/sub/deep/y"])
        assert marks == set()
        assert layer._bases == {}
        assert walked(layer) == {"pack/kept": b"new", "src/new": b"n"}


def test_a_folder_within_one_made_anew_is_new_and_its_neighbours_are_not(project, opaque):
    fill(project, {"a/b/x": b"", "a/c/x": b"", "d/b/x": b""})
    with OverlayLayer(project) as layer:
        fill(layer.upper, {"a/b/new": b"", "a/c/new": b"", "d/b/new": b""})
        opaque(layer.upper / "a/b")
        assert walked(layer) == {"a/b/x": None, "a/b/new": b"", "a/c/new": b"", "d/b/new": b""}


def test_folders_that_git_ignores_are_not_looked_into_and_installed_ones_only_below_the_top(project):
    asked = []

    def ignored(paths):
        asked.append(sorted(paths))
        return {"out/"} & set(paths)

    with OverlayLayer(project, ignored) as layer:
        assert list(layer._proposed()) == []
        fill(layer.upper, {"out/x": b"", "in/out/x": b"", "venv/x": b"", "in/venv/y": b"", "in/.cache/z": b""})
        assert sorted(walked(layer)) == ["in/out/x", "in/venv/y"]
        assert asked[:3] == [["in/", "out/"], ["in/out/", "in/venv/"]]


@pytest.mark.parametrize("kind", [OverlayLayer, CopyLayer])
def test_so_many_files_are_looked_at_and_one_more_ends_it(project, monkeypatch, kind):
    assert layers.MOST_ENTRIES == 50_000
    monkeypatch.setattr(overlay, "MOST_ENTRIES", 5)
    monkeypatch.setattr(copied, "MOST_ENTRIES", 5)
    with kind(project) as layer:
        layer.put({f"{number}": b"" for number in range(5)})
        assert len(walked(layer)) == 5
        layer.put({"5": b""})
        if kind is CopyLayer:
            layer.put({"6": b""})
        with pytest.raises(CheckError) as raised:
            layer.changes()
        assert str(raised.value) == "The command left more than 5 files. Nothing was taken."


def test_so_many_files_may_go_with_a_folder(project, monkeypatch):
    fill(project, {f"many/deep/{number}": b"" for number in range(3)})
    with OverlayLayer(project) as layer:
        whiteout(layer.upper / "many")
        monkeypatch.setattr(limits, "FILES_PER_CHANGE", 3)
        assert len(layer.changes()[0].changes) == 3
        monkeypatch.setattr(limits, "FILES_PER_CHANGE", 2)
        with pytest.raises(CheckError) as raised:
            layer.changes()
        words = "The command removed many/ with more files than one change may have. Nothing was taken."
        assert str(raised.value) == words


def test_what_is_put_has_the_mode_of_the_projects_and_nothing_is_removed_that_is_not_there(project):
    (project / "tool.sh").chmod(0o4751)
    with OverlayLayer(project) as layer:
        layer.put({"tool.sh": b"1", "new/x": b"2", "nowhere": None, "src/a.py": None})
        assert stat.S_IMODE((layer.upper / "tool.sh").stat().st_mode) == 0o751
        assert sorted(os.listdir(layer.upper)) == ["new", "src", "tool.sh"]
        assert (layer.upper / "src/a.py").lstat().st_rdev == 0
        assert stat.S_ISCHR((layer.upper / "src/a.py").lstat().st_mode)
        layer.put({"src/a.py": b"back"})
        assert layer.read("src/a.py") == b"back"
        assert (layer.folder / "lower").resolve() == project
        assert {"upper", "merged", "work", "lower"} <= set(os.listdir(layer.folder))
        assert layer.root == layer.folder / "merged"
        assert layer.own_bytes == 0


# -- the copy ---------------------------------------------------------------------------------------


def test_a_copy_is_what_the_project_has_with_its_links_and_without_what_is_no_file(project):
    (project / "link").symlink_to("tool.sh")
    (project / "linked").symlink_to("src")
    os.mkfifo(project / "pipe")
    fill(project, {"src/__pycache__/x": b"", "a.key": b"k", ".git/x": b"", "empty/deep/f": b"", "src/.git/f": b"f"})
    os.utime(project / "tool.sh", ns=(1, 2_000_000_000))
    with CopyLayer(project, restrictions=Restrictions.parsed(b"*.key\n")) as layer:
        there = sorted(str(one.relative_to(layer.root)) for one in layer.root.rglob("*") if not one.is_dir())
        assert there == ["empty/deep/f", "link", "src/.git/f", "src/a.py", "src/b.py", "tool.sh"]
        assert (layer.root / "linked").readlink() == Path("src")
        assert (layer.root / "link").readlink() == Path("tool.sh")
        info = (layer.root / "tool.sh").stat()
        assert (stat.S_IMODE(info.st_mode), info.st_mtime_ns) == (0o755, 2_000_000_000)
        assert layer.hidden() == ()
        assert walked(layer) == {}
        sizes = [one.lstat().st_size + 4096 for one in (project / name for name in (*there, "linked"))]
        assert layer.own_bytes == sum(sizes)
        (layer.root / "linked").unlink()
        (layer.root / "tool.sh").unlink()
        (layer.root / "link").unlink()
        gone = "it was a link and was deleted"
        assert walked(layer) == {"linked": gone, "link": gone, "tool.sh": None}


@pytest.mark.parametrize("links", [False, True])
def test_what_is_installed_is_linked_where_nothing_else_can_show_it_and_stays_when_all_else_goes(project, links):
    fill(project, {".git/config": b"", "node_modules/x": b"", "gone": b""})
    names = {".git", "node_modules"} if links else set()
    with CopyLayer(project, links=links) as layer:
        for name in names:
            assert (layer.root / name).readlink() == project / name
        fill(layer.root, {"new/deep/x": b"", "src/a.py": b"changed"})
        fill(layer.temporary, {"deep/x": b""})
        (layer.root / "link").symlink_to("/etc")
        (layer.root / "src/b.py").unlink()
        (layer.root / "new").chmod(0)
        layer._bases["new/deep/x"] = None
        (project / "gone").unlink()
        layer.clear()
        assert set(os.listdir(layer.root)) == {"src", "tool.sh"} | names
        assert os.listdir(layer.temporary) == []
        assert walked(layer) == layer._bases == {}
        assert (layer.root / "src/a.py").read_text() == "A = 1\n"
        assert (project / ".git/config").exists()


def test_a_copy_takes_over_what_the_project_has_now_and_only_that(project):
    with CopyLayer(project) as layer:
        layer.put({"src/b.py": b"mine\n", "tool.sh": b"mine\n", "own": b"o"})
        assert len(told(layer)[0]) == 3
        inode = (layer.root / "src/a.py").stat().st_ino
        (project / "tool.sh").write_text("theirs\n")
        (project / "src/new").write_text("new\n")
        layer.refresh()
        assert {str(path): read for path, read in told(layer)[0].items()} == {
            "own": (None, b"o", 0o644),
            "src/b.py": (b"B = 2\n", b"mine\n", 0o644),
        }
        assert layer._bases.keys() == {"own", "src/b.py"}
        assert (layer.root / "src/new").read_text() == "new\n"
        assert (layer.root / "src/a.py").stat().st_ino == inode, "what did not change is not copied again"
        shutil.rmtree(project / "src")
        layer.refresh()
        assert set(told(layer)[0]) == {"own"}
        layer.put({"tool.sh": b"mine\n"})
        layer.drop(["own", "tool.sh"])
        assert told(layer) == ({}, ())
        assert (layer.root / "tool.sh").read_text() == "theirs\n", "the project shows through again"
        assert layer._bases == {}
        assert layer._copied.keys() == {"tool.sh"}


def test_a_copy_is_told_apart_by_whatever_changed_of_a_file(project):
    with CopyLayer(project) as layer:
        place = layer.root / "src/a.py"
        now = place.stat()
        place.write_bytes(b"A = 2\n")  # as long, and its times set back
        os.utime(place, ns=(now.st_atime_ns, now.st_mtime_ns))
        assert walked(layer) == {"src/a.py": b"A = 2\n"}


def test_shut_folders_of_a_copy_are_looked_into_at_any_depth(project, monkeypatch):
    with CopyLayer(project) as layer:
        fill(layer.root, {"one/deep/x": b"1", "two/y": b"2"})
        os.mkfifo(layer.root / "two/pipe")
        opened = []
        ours = layers.open_folder
        monkeypatch.setattr(layers, "open_folder", lambda place: opened.append(place) or ours(place))
        assert walked(layer) == {"one/deep/x": b"1", "two/y": b"2", "two/pipe": "it is a pipe"}
        assert {str(place.relative_to(layer.root)) for place in opened} == {"one", "one/deep", "two", "src"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), CheckError("as it is")])
def test_a_copy_that_cannot_be_made_leaves_nothing_and_says_so(project, monkeypatch, error):
    made = []
    own = layers.kept_folder
    monkeypatch.setattr(layers, "kept_folder", lambda purpose: made.append(own(purpose)) or made[-1])

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(copied.shutil, "copy2", fail)
    with pytest.raises(CheckError) as raised:
        CopyLayer(project)
    told = "The project could not be copied: No space left. Nothing was run."
    assert str(raised.value) == (told if isinstance(error, OSError) else "as it is")
    assert not made[0].exists()


# -- what all kinds share ---------------------------------------------------------------------------


def test_a_layer_that_nothing_is_written_to_never_touches_the_project(project):
    before = sorted(project.rglob("*"))
    with Layer(project) as layer:
        fill(layer.temporary, {"x": b""})
        layer._bases["x"] = None
        layer.clear()
        assert layer._bases == {}
        assert sorted(project.rglob("*")) == before
        assert layer.own_bytes == 0
        assert not layer.writable
        assert OverlayLayer.writable
        assert CopyLayer.writable
    assert LayerChange("x") == LayerChange("x", None, 0o644, "")


def test_everything_that_commands_wrote_goes_with_a_clear(project):
    with OverlayLayer(project) as layer:
        fill(layer.upper, {"x": b"", "deep/er/y": b""})
        fill(layer.temporary, {"t": b"", "deep/er/t": b""})
        (layer.upper / "src").symlink_to("/etc")
        (layer.upper / "venv").symlink_to("/etc")  # ours where a copy has it
        for folder in (layer.upper, layer.temporary):
            folder.chmod(0)
        layer._bases["x"] = None
        layer.clear()
        assert (os.listdir(layer.upper), os.listdir(layer.temporary), layer._bases) == (["venv"], [], {})
        assert Path("/etc").is_dir()


def test_what_a_command_may_not_see_is_named_once_and_only_where_it_is(project):
    fill(project, {f"{name}": b"" for name in ("a.key", "src/b.key", "shut/c.key", "shut/d", ".git/e.key")})
    fill(project, {".rails/f.key": b"", "src/.git/g.key": b"", "src/shut/h": b"", "open.txt": b""})
    (project / "link.key").symlink_to("open.txt")
    with Layer(project, restrictions=Restrictions.parsed(b"*.key\nshut/\n")) as layer:
        expected = [(".rails", True), ("a.key", False), ("shut", True), ("src/.git/g.key", False), ("src/b.key", False)]
        expected.append(("src/shut", True))
        assert sorted(layer.hidden()) == [(project / name, is_folder) for name, is_folder in expected]
    assert list(hidden_in(project)) == [(project / ".rails", True)]


def test_so_much_may_be_hidden_from_a_command(project, monkeypatch):
    fill(project, {f"{number}.key": b"" for number in range(3)})
    assert layers._MOST_HIDDEN == 500
    monkeypatch.setattr(layers, "_MOST_HIDDEN", 3)
    with Layer(project, restrictions=Restrictions.parsed(b"*.key\n")) as layer:
        assert len(list(layer.hidden())) == 3
        fill(project, {"3.key": b""})
        with pytest.raises(CheckError) as raised:
            list(layer.hidden())
        words = "More than 3 files and folders are hidden; name a folder around them in .agent-restrictions."
        assert str(raised.value) == f"{words} Nothing was run."


def test_how_long_and_how_far_is_looked_for_what_is_hidden(project, monkeypatch):
    assert (layers._MOST_LOOKED_AT, layers._LOOK_SECONDS) == (500_000, 20.0)
    said = f"What commands may not see in {layers.one_line(str(project), 200)} was not found within {{}}: "
    said += "it is too large to be looked through. Nothing was run."

    class Clock:
        def __init__(self, *times):
            self.times = [*times, times[-1]]

        def monotonic(self):
            return self.times.pop(0) if len(self.times) > 1 else self.times[0]

    fill(project, {"src/a.key": b""})
    with Layer(project, restrictions=Restrictions.parsed(b"*.key\n")) as layer:
        for most, words in ((5, ""), (4, "4 files, or 20 s")):  # src, tool.sh; three files in src
            monkeypatch.setattr(layers, "_MOST_LOOKED_AT", most)
            if words:
                with pytest.raises(CheckError) as raised:
                    list(layer.hidden())
                assert str(raised.value) == said.format(words)
            else:
                assert list(layer.hidden()) == [(project / "src/a.key", False)]
        monkeypatch.setattr(layers, "_MOST_LOOKED_AT", 1_000)
        monkeypatch.setattr(layers, "time", Clock(7.0, 26.0, 27.0))
        assert list(layer.hidden()) == [(project / "src/a.key", False)]
        monkeypatch.setattr(layers, "time", Clock(7.0, 26.0, 27.5))
        with pytest.raises(CheckError) as raised:
            list(layer.hidden())
        assert str(raised.value) == said.format("1,000 files, or 20 s")


@pytest.mark.parametrize("kind", [OverlayLayer, CopyLayer])
def test_a_link_to_a_folder_is_a_link_and_nothing_behind_it_is_looked_at(project, tmp_path, kind):
    fill(tmp_path, {"outside/secret": b"s"})
    with kind(project) as layer:
        (layer.upper / "away").symlink_to(tmp_path / "outside")
        (layer.upper / "round").symlink_to(".")
        assert walked(layer) == {"away": "it is a link", "round": "it is a link"}


def test_a_folder_that_nobody_can_list_may_hide_anything_and_is_an_error(project, monkeypatch):
    real = os.scandir

    def scandir(place):
        if str(place).endswith("src"):
            raise PermissionError(errno.EACCES, "Permission denied", str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    with Layer(project, restrictions=Restrictions.parsed(b"*.key\n")) as layer, pytest.raises(CheckError) as raised:
        list(layer.hidden())
    said = f"{layers.one_line(str(project / 'src'), 200)} cannot be read (Permission denied), so nobody knows what "
    said += ".agent-restrictions hides there. Make it readable, or restrict it as a whole. Nothing was run."
    assert str(raised.value) == said


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), RecursionError()])
def test_a_layer_that_cannot_be_read_says_why_and_that_nothing_was_taken(project, monkeypatch, error):
    def fail(_):
        raise error

    with CopyLayer(project) as layer:
        monkeypatch.setattr(CopyLayer, "_walk", fail)
        with pytest.raises(CheckError) as raised:
            layer.changes()
    words = "Input/output error" if isinstance(error, OSError) else "its folders are too deep"
    assert str(raised.value) == f"What the command left cannot be read: {words}. Nothing was taken."


def test_a_restricted_file_is_left_out_with_the_pattern_and_what_is_the_same_is_nothing(project):
    with CopyLayer(project, restrictions=Restrictions.parsed(b"*.key\n")) as layer:
        layer.put({"new.key": b"", "src/a.py": b"A = 1\n", "src/b.py": b"B = 3\n"})
        (layer.root / "bad\x1bname\n").symlink_to("x")
        (layer.root / "odd\u202ename").symlink_to("x")
        found, left_out = told(layer)
        assert found == {"src/b.py": (b"B = 2\n", b"B = 3\n", 0o644)}
        assert layer._bases.keys() == {"src/b.py"}
    assert "new.key was left out: .agent-restrictions has *.key." in left_out
    assert len(left_out) == 3


def test_what_the_project_has_in_the_place_is_compared_and_what_cannot_be_is_an_error(project, monkeypatch):
    (project / "folder").mkdir()
    (project / "link").symlink_to("tool.sh")
    (project / "tool.sh").chmod(0o4711)
    with Layer(project) as layer:
        before = [layer._before(name) for name in ("folder", "link", "none", "tool.sh/x", "tool.sh")]
        nothing = (None, 0o644)
        assert before == [nothing, nothing, nothing, nothing, (b"#!/bin/sh\necho tool\n", 0o711)]

        def fail(*_, **__):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(layers, "read_ordinary", fail)
        with pytest.raises(CheckError) as raised:
            layer._before("tool.sh")
    assert str(raised.value) == "tool.sh cannot be compared: Permission denied. Nothing was taken."


def test_no_pipe_is_waited_for(project):
    os.mkfifo(project / "pipe")
    with Layer(project) as layer:
        assert layer.read("pipe") is None


def test_what_is_too_deep_for_us_is_removed_by_the_systems_own_program(tmp_path, monkeypatch):
    def too_deep(*_, **__):
        raise RecursionError

    fill(tmp_path, {"x/deep/y": b""})
    monkeypatch.setattr(shutil, "rmtree", too_deep)
    layers._remove_all(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_what_is_removed_is_a_file_a_link_or_a_folder_and_nothing_behind(tmp_path):
    fill(tmp_path, {"outside/kept": b"", "folder/deep/x": b"", "file": b""})
    (tmp_path / "link").symlink_to("outside")
    for name in ("folder", "file", "link", "never"):
        remove_entry(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["outside"]
    assert os.listdir(tmp_path / "outside") == ["kept"]


@pytest.mark.parametrize("kind", [OverlayLayer, CopyLayer])
def test_what_would_be_proposed_is_dropped_and_what_git_ignores_stays(project, kind):
    with kind(project, lambda paths: {"out/", "out/x"} & set(paths)) as layer:
        layer.put({"out/x": b"1", "src/a.py": b"2", "new/deep/x": b"3"})
        layer.changes()
        layer.drop()
        assert (told(layer), layer._bases, layer.read("out/x")) == (({}, ()), {}, b"1")


AGAIN = [".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".nyc_output"]
AGAIN += [".coverage", ".cache", "__pycache__"]
INSTALLED = [".venv", "venv", "node_modules", ".git", ".rails"]


@pytest.mark.parametrize("kind", [OverlayLayer, CopyLayer])
def test_what_tools_make_again_and_what_is_installed_is_proposed_to_nobody(project, kind):
    for name in (".git", ".rails"):
        (project / name).mkdir()
    with kind(project) as layer:
        for name in AGAIN:
            fill(layer.upper, {f"{name}/x": b"", f"src/{name}/x": b""})
        for name in INSTALLED:
            fill(layer.upper, {f"{name}/x": b""})
        fill(layer.upper, {"src/venv/x": b"", "other/x": b""})
        assert set(told(layer)[0]) == {"src/venv/x", "other/x"}
