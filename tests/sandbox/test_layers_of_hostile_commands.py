"""What a command leaves behind leads us nowhere: neither what we write, remove and read, nor what is shown next."""

import os
import sys

import pytest

from rails.core.errors import CheckError
from rails.sandbox.layer import Layer, real_place, remove_entry
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import SandboxView
from rails.session.session_sandbox import ContainedRuns
from tests.sandbox.conftest import changed


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.py").write_text("untouched")
    return folder


def test_a_folder_that_became_a_link_is_not_written_through_when_the_project_changes(box, outside):
    box(f"echo mine > src/a.py; rm -r src; ln -s {outside} src")
    (box.project / "src" / "a.py").write_text("A = 3\n")
    assert box("cat src/a.py").out == "A = 3\n"
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("a.py", "untouched")]


def test_a_home_that_a_command_made_a_file_is_the_next_one_s_home(box):
    box("rm -rf $HOME; echo x > $HOME")
    assert box("echo y > $HOME/f; cat $HOME/f").out == "y\n"


def test_what_was_proposed_is_not_dropped_through_a_link(box, outside):
    box("echo mine > src/a.py")
    box(f"rm -r src; ln -s {outside} src")
    box.layer.drop(["src/a.py", "src/b.py"])
    assert (outside / "a.py").read_text() == "untouched"
    assert box("cat src/a.py").out == "A = 1\n"


def test_proposed_contents_are_not_put_through_a_link(box, outside):
    box(f"rm -r src; ln -s {outside} src")
    box.layer.put({"src/a.py": b"new\n", "src/deep/x": b"x\n"})
    assert box("cat src/a.py src/deep/x").out == "new\nx\n"
    assert [path.name for path in outside.iterdir()] == ["a.py"]
    assert (outside / "a.py").read_text() == "untouched"


def test_a_report_is_not_read_through_a_link(box, outside):
    box(f"ln -s {outside} reports; ln -s {outside}/a.py report.xml")
    assert box.layer.read("reports/a.py") is None
    assert box.layer.read("report.xml") is None


def test_a_folder_that_a_command_shut_is_looked_into(box):
    found = changed(box("mkdir d; echo x > d/x; chmod 000 d; chmod 000 src"))
    assert found == {"d/x": b"x\n"}


def test_a_file_that_became_a_folder_is_dropped_whole(box):
    assert changed(box("rm tool.sh; mkdir tool.sh; echo x > tool.sh/x")) == {"tool.sh": None, "tool.sh/x": b"x\n"}
    box.layer.drop()
    assert box("cat tool.sh").out == "#!/bin/sh\necho tool\n"


def test_removing_a_layer_changes_no_mode_behind_a_link(tmp_path, outside):
    (outside / "a.py").chmod(0o640)
    (tmp_path / "shut/deep").mkdir(parents=True)
    (tmp_path / "shut/deep/link").symlink_to(outside / "a.py")
    (tmp_path / "shut/deep").chmod(0)
    (tmp_path / "shut").chmod(0o500)
    remove_entry(tmp_path / "shut")
    assert not (tmp_path / "shut").exists()
    assert (outside / "a.py").stat().st_mode & 0o777 == 0o640


def test_a_pipe_or_a_file_in_the_way_gives_way_to_a_folder(tmp_path):
    os.mkfifo(tmp_path / "a")
    assert real_place(tmp_path, "a/b/c").parent.is_dir()


def test_a_layer_that_nothing_can_be_written_to_shows_the_project_and_takes_nothing(label, project):
    with Layer(project) as layer:
        result = run(("/bin/sh", "-c", "cat src/a.py; echo x > src/a.py"), SandboxView(project, layer), label=label)
        assert result.out == "A = 1\n"
        assert not result.ok
        assert not result.changes
    assert (project / "src" / "a.py").read_text() == "A = 1\n"


DEEP = """
import os
for _ in range(%d):
    os.mkdir("d" * 50)
    os.chdir("d" * 50)
"""


def test_folders_deeper_than_a_path_are_refused_and_removed(label, project):
    layer = layer_for(project, label=label)
    with pytest.raises(CheckError, match="cannot be read"):
        run((sys.executable, "-I", "-c", DEEP % 1_500), SandboxView(project, layer), label=label)
    layer.close()
    assert not layer.folder.exists()


def test_a_session_goes_on_after_what_cannot_be_looked_through(label, project):
    runs = ContainedRuns(project, found=label)
    try:
        runner = runs.runners()["run_command"]
        assert "cannot be read" in runner({"command": [sys.executable, "-I", "-c", DEEP % 1_500]}, project).text
        assert runner({"command": "cat src/a.py"}, project).text == "run_command: exit code 0\nA = 1"
    finally:
        runs.close()


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"-rf", b":(top)x", b"\x1b[2J", b"x" * 255])
def test_a_name_that_nobody_expects_is_refused_or_taken_and_never_a_crash(box, name):
    code = f"open({name!r}, 'w').write('x')"
    result = box((sys.executable, "-I", "-c", code))
    assert bool(result.changes) + bool(result.left_out) == 1
    box.layer.drop()
    assert not box("true").changes


@pytest.mark.parametrize("attribute", ["redirect", "metacopy", "opaque", "whiteout", "origin", "upper", "protattr"])
def test_what_a_command_writes_for_the_overlay_means_nothing_to_the_next_one(box, outside, attribute):
    if box.label.level != 3:
        pytest.skip("only an overlay reads them")
    code = (
        "import os, contextlib, sys\n"
        "os.mkdir('r'); open('f', 'w').close()\n"
        f"for name in ('r', 'f', 'src', '.'):\n"
        f"    for value in (b'{outside}', b'/../../outside', b'/', b'y', b'x', b''):\n"
        f"        for space in ('user', 'trusted'):\n"
        f"            with contextlib.suppress(OSError): os.setxattr(name, f'{{space}}.overlay.{attribute}', value)\n"
    )
    box((sys.executable, "-I", "-c", code))
    seen = box("ls r src . ; cat f r/* 2>/dev/null")
    assert "untouched" not in seen.out
    assert "b.py" in seen.out
    assert set(changed(seen)) == {"f"}
