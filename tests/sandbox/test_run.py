"""A contained command runs, and what it changed is a change set; the project stays as it was."""

import errno
import hashlib
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest

from rails.core.errors import CheckError
from rails.core.restrictions import Restrictions
from rails.sandbox import probe, process
from rails.sandbox.overlay import OverlayLayer
from rails.sandbox.run import layer_for, run, start
from rails.sandbox.values import Label, SandboxLimits, SandboxView
from tests.sandbox.conftest import changed, label_of

#: Seconds that only this process's own commands sleep: other tests of this machine have others.
OWN = f"7{os.getpid()}."


def digest(folder):
    """Return a hash over every name, mode and byte of a folder."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        body = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        seen.update(f"{path}{info.st_mode:o}".encode() + body)
    return seen.hexdigest()


def test_what_a_command_creates_changes_and_deletes_is_a_change_set_and_the_project_is_untouched(box):
    before = digest(box.project)
    result = box("echo new > new.txt; echo more >> src/a.py; rm src/b.py; mkdir -p deep/er; echo x > deep/er/x")
    assert result.ok, result.out
    assert changed(result) == {
        "new.txt": b"new\n",
        "src/a.py": b"A = 1\nmore\n",
        "src/b.py": None,
        "deep/er/x": b"x\n",
    }
    assert digest(box.project) == before


def test_the_bytes_before_are_the_project_s_and_a_mode_is_kept(box):
    result = box("echo changed >> tool.sh; printf x > run.sh; chmod 755 run.sh || true")
    by_path = {str(change.path): change for change in result.changes.changes}
    assert by_path["tool.sh"].before == b"#!/bin/sh\necho tool\n"
    assert by_path["tool.sh"].mode == 0o755


def test_a_second_command_sees_what_the_first_left_and_both_are_proposed(box):
    box("echo one > one.txt; rm src/b.py")
    result = box("cat one.txt; ls src; echo two > two.txt")
    assert result.out == "one\na.py\n"
    assert changed(result) == {"one.txt": b"one\n", "two.txt": b"two\n", "src/b.py": None}


def test_what_is_dropped_is_gone_and_what_git_ignores_stays(box):
    box("mkdir ignored; echo kept > ignored/x; echo gone > gone.txt; rm -r src; mkdir src; echo s > src/s")
    box.layer.drop()
    result = box("cat ignored/x; ls src; ls")
    assert result.out.split() == ["kept", "a.py", "b.py", "ignored", "src", "tool.sh"]
    assert not result.changes


def test_what_is_proposed_on_a_state_that_is_gone_is_forgotten(box):
    box("echo mine > src/a.py")
    (box.project / "src" / "a.py").write_text("theirs\n")
    result = box("cat src/a.py")
    assert result.out == "theirs\n"
    assert not result.changes


@pytest.mark.parametrize("line", ["rm -r src", "rm -r src; mkdir src", "rm -r src; echo x > src"])
def test_a_folder_that_is_gone_is_every_file_of_it(box, line):
    found = changed(box(line))
    assert found["src/a.py"] is None
    assert found["src/b.py"] is None


@pytest.mark.parametrize(
    ("line", "path", "why"),
    [
        ("ln -s /etc/passwd out", "out", "a link"),
        ("ln -s src/a.py inside", "inside", "a link"),
        ("mkfifo pipe", "pipe", "a pipe"),
        ("python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"", "s", "a socket"),
        ("mkdir -p .git && echo x > .git/config", ".git/config", "no agent may write"),
        ("python3 -c \"open('a b\\n', 'w')\"", "", "control or invisible"),
        ("cp /bin/true s; python3 -c \"import os; os.fchmod(os.open('s', os.O_RDWR), 0o4755)\"", "s", "set-user-id"),
    ],
)
def test_what_no_change_may_hold_is_left_out_and_said(box, line, path, why):
    result = box(line)
    if not result.ok and box.label.level == 1:
        pytest.skip("this cannot even be made at level 1")
    assert not result.changes
    assert path in " ".join(result.left_out)
    assert why in " ".join(result.left_out)


def test_a_hard_link_is_two_files_and_the_first_one_is_not_changed(box):
    result = box("ln src/a.py linked; echo more >> linked")
    assert (box.project / "src" / "a.py").read_bytes() == b"A = 1\n"
    assert set(changed(result)) <= {"src/a.py", "linked"}


def test_too_many_files_are_refused_as_a_whole(box):
    with pytest.raises(CheckError, match="changed more than"):
        box("for i in $(seq 150); do echo $i > f$i; done")


def test_a_folder_that_is_a_link_in_the_project_is_not_looked_through(box, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret")
    (box.project / "dir").symlink_to(outside)
    result = box("rm dir; mkdir dir; echo mine > dir/x; cat dir/x")
    assert "secret" not in str(result)
    assert "dir/x" not in changed(result)


def test_a_time_limit_ends_everything_even_what_has_a_session_of_its_own(box):
    started = time.monotonic()
    result = box(f"setsid sleep {OWN}1 & (sleep {OWN}12 &) ; sleep {OWN}13", seconds=0.3)
    assert result.timed_out
    assert result.exit_code
    assert time.monotonic() - started < 60
    assert not left_running("1")


def test_what_a_command_leaves_running_is_ended_with_it(box):
    result = box(f"setsid sleep {OWN}2 >/dev/null 2>&1 & setsid sh -c 'sleep {OWN}22' >/dev/null 2>&1 & echo done")
    assert result.out == "done\n"
    assert not left_running("2")


def left_running(number):
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and any(word.startswith(f"{OWN}{number}".encode()) for word in words[1:]):
            found.append(entry)
    return found


def waited_for(number, count):
    for _ in range(1_000):  # by count and not by the clock: a machine that stood still has not waited
        if len(left_running(number)) == count:
            break
        time.sleep(0.02)
    assert len(left_running(number)) == count


HARNESS = """
import sys
from pathlib import Path
from rails.sandbox import probe
from rails.sandbox.process import WATCHED
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import Label, SandboxLimits, SandboxView
WATCHED.set(lambda chunk, _: print(chunk.decode(), end="", flush=True))
label = Label(int(sys.argv[1]), "test")
project = Path(sys.argv[2])
with layer_for(project, label=label) as layer:
    line = f"setsid sleep {sys.argv[3]} & echo up; sleep {sys.argv[3]}1"
    run(("/bin/sh", "-c", line), SandboxView(project, layer), label=label)
"""


def test_a_sigkill_of_the_harness_leaves_no_process_and_no_mount(label, project):
    argv = [sys.executable, "-c", HARNESS, str(label.level), str(project), f"{OWN}3"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout.readline() == "up\n"
        waited_for("3", 2)  # both are what they will be: what is not yet called so would be overlooked below
        harness.kill()
    waited_for("3", 0)
    assert "overlay" not in "".join(line for line in Path("/proc/mounts").read_text() if str(project.parent) in line)


def test_output_is_bounded_at_both_ends_and_whole_in_a_file(label, project):
    with layer_for(project, label=label) as layer:
        file = layer.output / "1.txt"
        line = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"
        result = run(("/bin/sh", "-c", line), SandboxView(project, layer), label=label, keep=file)
        assert result.out.startswith("first")
        assert result.out.endswith("last\n")
        assert len(result.out) < 1_100_000
        assert file.stat().st_size == result.printed == 3_000_012


def test_a_started_server_talks_over_pipes_and_is_gone_at_the_end(label, project):
    with layer_for(project, label=label) as layer:
        running = start(
            ("/bin/sh", "-c", f"read a; echo got $a; sleep {OWN}4"), SandboxView(project, layer), label=label
        )
        try:
            running.process.stdin.write(b"x\n")
            running.process.stdin.flush()
            assert running.process.stdout.readline() == b"got x\n"
        finally:
            running.end()
    assert not left_running("4")


def test_a_started_server_outlives_the_thread_that_asked_for_it(label, project):
    import threading

    with layer_for(project, label=label) as layer:
        made = []
        view = SandboxView(project, layer)
        thread = threading.Thread(target=lambda: made.append(start(("/bin/cat",), view, label=label)))
        thread.start()
        thread.join()
        running = made[0]
        try:
            running.process.stdin.write(b"still\n")
            running.process.stdin.flush()
            assert running.process.stdout.readline() == b"still\n"
        finally:
            running.end()


def test_exit_codes_and_signals_come_through(box):
    assert box("exit 7").exit_code == 7
    assert box("kill -9 $$").exit_code in (-9, 137)
    assert "not found" in box("no-such-program").out


def test_the_environment_is_built_and_holds_nothing_of_ours(box, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    assert "canary" not in box("env; cat /proc/self/environ").out


def test_limits_hold(box):
    assert not box("head -c 3000000 /dev/zero > big", file_bytes=1_000_000).ok
    code = "x = bytearray(3 << 30)"
    assert "MemoryError" in box(("python3", "-c", code), memory=1 << 30).out


def test_all_files_of_a_command_together_are_bounded_and_none_of_them_stays(box):
    before = digest(box.project)
    line = "n=0; while true; do n=$((n+1)); head -c 100000 /dev/zero > src/f$n; [ $n = 100 ] && sleep 60; done"
    with pytest.raises(CheckError, match="in all and was ended"):
        box(line, seconds=50.0, disk_bytes=5_000_000)
    assert digest(box.project) == before
    result = box("ls src")
    assert result.out == "a.py\nb.py\n"
    assert changed(result) == {}


def test_a_fork_bomb_is_bounded_and_ended(box):
    code = "import os\nn = 0\nwhile n < 900:\n  try:\n    pid = os.fork()\n  except OSError: break\n"
    code += "  if pid == 0:\n    import time; time.sleep(60)\n  n += 1\nprint(n)"
    result = box(("python3", "-c", code), processes=60)
    assert int(result.out) < 400


def test_a_sandbox_that_cannot_be_made_is_an_error_and_nothing_weaker_is_tried(project, monkeypatch):
    label_of(3)
    monkeypatch.setattr(OverlayLayer, "OPTIONS", b"lowerdir=no-such-folder")
    with OverlayLayer(project) as layer, pytest.raises(CheckError):
        run(("/bin/sh", "-c", "touch ran"), SandboxView(project, layer), label=Label(3, "test"))
    assert not (project / "ran").exists()


def test_named_hosts_cannot_be_had_where_nothing_holds_the_network(project):
    label = label_of(1)
    with layer_for(project, label=label) as layer, pytest.raises(CheckError, match="named hosts"):
        run(("/bin/true",), SandboxView(project, layer), ("example.org",), label=label)


def test_what_a_probe_finds_open_is_in_the_label(monkeypatch):
    label_of(2)
    monkeypatch.setattr(probe, "_tries", lambda _: {name: name != "UDP" for name in probe._ABOUT})
    found = probe.at_level(2)
    assert found.open == ("network",)
    assert not found.contained
    assert str(found).startswith("sandboxed: files, processes")
    assert str(found).endswith("Not sandboxed: network")


def test_a_probe_that_did_not_answer_counts_as_one_that_got_out(monkeypatch):
    label_of(2)
    monkeypatch.setattr(probe, "_tries", lambda _: {})
    assert probe.at_level(2).level == 0


def test_what_a_passing_fault_kept_from_being_tried_is_tried_again_by_the_next_process(monkeypatch, tmp_path):
    best = probe.label()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for error in (errno.EMFILE, errno.ENOMEM, errno.ENOSPC):
        monkeypatch.setattr(probe, "_known", {})
        with monkeypatch.context() as full:
            full.setattr("subprocess.Popen.__init__", mock.Mock(side_effect=OSError(error, os.strerror(error))))
            assert probe.label().level == 0
        assert probe.label().level == 0, "it is kept for this process"
        monkeypatch.setattr(probe, "_known", {})
        assert probe._cached() is None
    assert probe.label().level == best.level
    assert probe._cached() == best or best.level < 3, "what is less than the best may be tried again each time"


def test_without_anything_the_label_says_so_and_what_to_install(monkeypatch):
    monkeypatch.setattr(probe.bubblewrap, "find", lambda *_: "")
    monkeypatch.setattr(probe.landlock, "landlock_version", lambda: 0)
    found = probe._best()
    assert found.level == 0
    assert "NOT sandboxed" in str(found)
    assert "apt-get install bubblewrap" in str(found)


def test_a_folder_that_says_it_is_opaque_is_not_believed(box):
    if box.label.level != 3:
        pytest.skip("only an overlay has such folders")
    code = "import os; os.setxattr('src', 'user.overlay.opaque', b'y'); open('src/new', 'w')"
    assert set(changed(box(("python3", "-c", code)))) == {"src/new"}


@pytest.mark.parametrize("patterns", [b"closed/\n*.key\n", b"\xff no text"])
def test_what_agents_may_not_see_is_not_there_for_their_commands_and_not_written(label, project, patterns):
    for name in ("closed/a", "closed/deep/b", "src/x.key"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("HIDDEN\n")
    with layer_for(project, label=label, restrictions=Restrictions.parsed(patterns)) as layer:
        line = "cat closed/a closed/deep/b src/x.key; ls closed; echo k > src/y.key; echo fine > fine.txt; true"
        done = run(("/bin/sh", "-c", line), SandboxView(project, layer), label=label, together=True)
    broken = patterns.startswith(b"\xff")
    assert "HIDDEN" not in done.out
    assert "deep" not in done.out.replace("closed/deep/b", "")
    assert changed(done) == ({} if broken else {"fine.txt": b"fine\n"})
    assert any("src/y.key was left out: .agent-restrictions" in words for words in done.left_out) or broken


def test_what_tools_make_again_is_not_proposed_wherever_it_lies(box):
    (box.project / "src/__pycache__").mkdir()
    (box.project / "src/__pycache__/kept.pyc").write_bytes(b"1")
    (box.project / "pack/__pycache__").mkdir(parents=True)
    (box.project / "pack/__pycache__/m.pyc").write_bytes(b"1")
    (box.project / "pack/m.py").write_bytes(b"M = 1\n")
    made = box(
        "mkdir -p src/deep/__pycache__; echo x > src/deep/__pycache__/n.pyc; rm -r src/__pycache__ pack; echo y > y"
    )
    assert changed(made) == {"y": b"y\n", "pack/m.py": None}


def test_the_bounds_of_a_command_and_what_a_label_says_of_itself():
    bounds = SandboxLimits()
    assert (bounds.seconds, bounds.memory, bounds.processes, bounds.output) == (120.0, 4 << 30, 512, 1_000_000)
    assert [Label(level).contained for level in (0, 1, 2, 3)] == [False, False, True, True]
    assert bounds.file_bytes == 1 << 30
    assert not Label(3, open=("network",)).contained
    assert "files, network, processes" in str(Label(3, "bubblewrap"))
    assert "Not sandboxed" not in str(Label(3, "bubblewrap"))
    assert "Not sandboxed: network" in str(Label(3, "bubblewrap", open=("network",)))


def test_a_folder_that_was_removed_and_made_anew_is_what_is_in_it_now(box):
    for name in ("pack/m.py", "pack/sub/x", "pack/sub/y"):
        (box.project / name).parent.mkdir(parents=True, exist_ok=True)
        (box.project / name).write_bytes(b"old\n")
    made = box("rm -r pack; mkdir -p pack/sub; echo new > pack/sub/x")
    assert changed(made) == {"pack/m.py": None, "pack/sub/x": b"new\n", "pack/sub/y": None}
    assert [str(change.path) for change in made.changes.changes].count("pack/sub/x") == 1


def test_what_is_git_s_and_ours_cannot_be_written_and_what_is_ours_not_be_read(project):
    for name in (".git/config", ".rails/state"):
        (project / name).parent.mkdir()
        (project / name).write_text("kept\n")
    label = label_of(3)
    with layer_for(project, label=label) as layer:
        line = "echo x > .git/config; echo x > .rails/state; cat .git/config .rails/state; echo y > y"
        done = run(("/bin/sh", "-c", line), SandboxView(project, layer), label=label, together=True)
    assert done.out.count("Read-only file system") == 2
    assert done.out.count("kept") == 1
    assert (changed(done), done.left_out) == ({"y": b"y\n"}, ())


def test_what_is_ours_of_projects_in_the_project_is_not_shown_at_any_depth(box):
    for name in (".rails", "a/b/c/d/e/.rails"):
        (box.project / name).mkdir(parents=True)
        (box.project / name / "log").write_text("kept")
    assert "kept" not in box("cat .rails/log a/b/c/d/e/.rails/log").out


def test_threads_that_start_something_first_share_one_starter(monkeypatch):
    monkeypatch.setattr(process, "_starters", {})
    together = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: (together.wait(60), process._starter())[1], range(8)))
    assert len(made) == 1
