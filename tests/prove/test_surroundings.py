"""Bad surroundings: the right result or a sentence, an exit code of the documented ones, never half a change.

Every row is a command in a process of its own, on a project of three files that an answer changes, makes and leaves
alone. Afterwards the surroundings are as usual again: what is there is all of the change or nothing of it, and the
next start finds it so.
"""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rails.edits.apply import recover

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "rails"]
OLD = {"one.txt": b"first\n", "left alone.txt": b"x\n" * 4_000}
NEW = {**OLD, "one.txt": b"second\n", "made/two.txt": b"new\n" * 2_000}
EDIT = "one.txt\n<<<<<<< SEARCH\nfirst\n=======\nsecond\n>>>>>>> REPLACE\n"
ANSWER = f"{EDIT}\n`made/two.txt`\n\n```\n{NEW['made/two.txt'].decode()}```\n"
ALLOW = '[[rule]]\ndecision = "allow"\npath = "**"\nkind = ["create", "modify", "delete"]\n'
#: What is printed of a fault of our own, and never may be.
FAULTS = ("Traceback", "a fault of AI-Rails", "AI-Rails itself failed", "Exception ignored")
CODES = (0, 1, 2, 3)


def begun(top, name="project"):
    """Return the project, and the environment of a command in it."""
    project = top / name
    for file, data in OLD.items():
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_bytes(data)
    (top / "config").mkdir(exist_ok=True)
    (top / "config/policy.toml").write_text(ALLOW)
    (top / "answer.md").write_text(ANSWER)
    (top / "tmp").mkdir(exist_ok=True)
    kept = {
        "PATH": os.environ["PATH"],
        "HOME": str(top),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "TMPDIR": str(top / "tmp"),
    }
    return project, {**kept, "AI_RAILS_CONFIG_DIR": str(top / "config"), "PYTHONPATH": str(ROOT), "AI_RAILS_LANG": "en"}


def words_of(top, verb):
    return {
        "apply": ["apply", str(top / "answer.md"), "--approve", "policy"],
        "undo": ["undo"],
        "gate": ["gate", "one.txt"],
        "review": ["review", "last"],
        "page": ["review", "last", "--html", "page.html"],
    }[verb]


def run(project, environment, words, before=(), **more):
    command = [*before, *COMMAND, *words]
    return subprocess.run(
        command, cwd=project, env=environment, input=b"", capture_output=True, timeout=120, check=False, **more
    )


def tree(project):
    files = (path for path in project.rglob("*") if path.is_file() and ".rails" not in path.parts)
    return {str(path.relative_to(project)): path.read_bytes() for path in files if path.name != "page.html"}


def wrong_with(project, done, states, codes=CODES):
    """Return what is wrong after a command: "" if it did all or nothing, said so, and the next start agrees."""
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode not in codes:
        return f"exit code {done.returncode}: {said[-600:]}"
    if fault := next((words for words in FAULTS if words in said), ""):
        return f"{fault}: {said[-900:]}"
    if done.returncode and not said.strip():
        return "no word was said"
    recover(project)
    now = tree(project)
    if now not in states:
        return f"half done: {sorted(now)}: {said[-600:]}"
    if done.returncode == 0 and states[-1] is not states[0] and now != states[-1]:
        return "said to be done, and is not"
    journal = project / ".rails/journal"
    left = [name for name in os.listdir(journal) if name != "lock"] if journal.is_dir() else []
    left += [path.name for path in project.rglob(".ai-rails-*")]
    return f"left over: {left}" if left else ""


def prepared(project, environment, top, verb):
    """Do what comes before a verb. Returns the states that the project may have then, the one that is wanted last."""
    if verb == "apply":
        return [OLD, NEW]
    assert run(project, environment, words_of(top, "apply")).returncode == 0
    return [NEW, OLD] if verb == "undo" else [NEW]


@contextlib.contextmanager
def small_disk(place, options):
    """A file system of its own, where this user may mount one."""
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("verb", ["apply", "undo", "page"])
@pytest.mark.parametrize("scarce", ["bytes", "inodes"])
def test_a_disk_that_is_full_at_any_write(tmp_path, verb, scarce):
    room = range(0, 120, 8) if scarce == "bytes" else range(0, 14, 2)
    wrong = []
    for free in room:
        with small_disk(tmp_path / f"disk {free}", "size=2m,nr_inodes=400") as top:
            project, environment = begun(top)
            environment["TMPDIR"] = str(tmp_path)
            states = prepared(project, environment, top, verb)
            facts = os.statvfs(top)
            if scarce == "bytes":
                (top / "filler").write_bytes(b"x" * max(0, facts.f_bavail * facts.f_frsize - free * 1_024))
            else:
                (top / "filler").mkdir()
                for number in range(facts.f_favail - 1 - free):
                    (top / "filler" / str(number)).touch()
            done = run(project, environment, words_of(top, verb))
            filler = top / "filler"
            shutil.rmtree(filler) if filler.is_dir() else filler.unlink()
            if problem := wrong_with(project, done, states):
                wrong.append(f"{free} {scarce} left: {problem}")
    assert wrong == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("verb", ["apply", "undo", "gate", "review"])
def test_few_descriptors(tmp_path, verb):
    wrong = []
    for most in (6, 9, 12, 16, 20, 32):
        top = tmp_path / str(most)
        top.mkdir()
        project, environment = begun(top)
        states = prepared(project, environment, top, verb)
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # noqa: B023, E731
        done = run(project, environment, words_of(top, verb), preexec_fn=limit)
        codes = CODES if most >= 32 else (*CODES, 120)
        if problem := wrong_with(project, done, states, codes):
            wrong.append(f"{most} descriptors: {problem}")
    assert wrong == []


#: A process that permission bits hold for, also where its user is root.
PLAIN = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] if os.getuid() == 0 else []


@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(PLAIN) and not shutil.which("setpriv"), reason="setpriv is not installed")
@pytest.mark.parametrize("verb", ["apply", "undo", "gate", "page"])
@pytest.mark.parametrize("shut", [".", "made", ".rails", ".rails/journal", ".rails/sessions", "../config", "../tmp"])
def test_folders_that_may_not_be_written(tmp_path, verb, shut):
    project, environment = begun(tmp_path)
    states = prepared(project, environment, tmp_path, verb)
    folder = project / shut
    folder.mkdir(parents=True, exist_ok=True)
    for mode in (0o555, 0o000):
        folder.chmod(mode)
        done = run(project if mode or shut != "." else tmp_path, environment, words_of(tmp_path, verb), PLAIN)
        folder.chmod(0o755)
        assert wrong_with(project, done, states) == ""


#: Variables that are taken away or set, and a clock.
SURROUNDINGS = {
    "no home": {"HOME": None},
    "a home that is not there": {"HOME": "/nowhere/at/all"},
    "the C locale": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ASCII streams": {"PYTHONIOENCODING": "ascii"},
    "a dumb terminal": {"TERM": "dumb"},
    "no terminal type": {"TERM": None},
    "no search path": {"PATH": ""},
    "nothing at all": dict.fromkeys(("HOME", "LANG", "TERM", "TMPDIR"), None),
    "a clock that goes back": {"BACKWARDS": "1"},
    "an odd zone": {"TZ": "Nowhere/There"},
}
CLOCK = "import os, time\nif os.environ.get('BACKWARDS'):\n    real = time.time\n    began = real()\n"
CLOCK += "    time.time = lambda: began - 50 * (real() - began)\n"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("verb", ["apply", "undo", "gate", "review", "page"])
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_an_odd_environment(tmp_path, verb, name):
    project, environment = begun(tmp_path)
    states = prepared(project, environment, tmp_path, verb)
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    odd = {**environment, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", **SURROUNDINGS[name]}
    done = run(project, {key: value for key, value in odd.items() if value is not None}, words_of(tmp_path, verb))
    assert wrong_with(project, done, states) == ""


NAMES = (
    *(b"a\nb.txt", b'it\'s "q".txt', b"-rf.txt", b"--help", "\u202egnp.txt".encode(), b"\xff\xfe.txt", b" lead.txt"),
    *("\u0065\u0301.txt".encode(), "\u00e9.txt".encode(), b"$(touch x).txt", b"a\\b.txt", b"tab\there.txt"),
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES, ids=map(repr, NAMES))
def test_odd_names_stand_beside_what_is_changed_and_are_changed_themselves(tmp_path, name):
    project, environment = begun(tmp_path)
    odd = os.fsdecode(name)
    (project / odd).write_bytes(b"first\n")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    beside = {**OLD, odd: b"first\n"}
    after = {**NEW, odd: b"first\n"}
    for verb, states in (("apply", [beside, after]), ("review", [after]), ("undo", [after, beside])):
        done = run(project, environment, words_of(tmp_path, verb))
        shown = {path: data for path, data in tree(project).items() if not path.startswith(".git/")}
        assert (done.returncode, shown == states[-1]) == (0, True), done
        assert not any(words.encode() in done.stdout + done.stderr for words in FAULTS)
    call = {"tool": "edit_file", "parameters": {"file_path": odd, "old_string": "first", "new_string": "second"}}
    with contextlib.suppress(UnicodeEncodeError):
        (tmp_path / "answer.md").write_text(f"```json\n{json.dumps(call)}\n```\n")
        done = run(project, environment, words_of(tmp_path, "apply"))
        assert done.returncode in CODES
        assert (project / odd).read_bytes() == (b"second\n" if done.returncode == 0 else b"first\n")
        assert not any(words.encode() in done.stdout + done.stderr for words in FAULTS)
    gated = run(project, environment, ["gate"])
    assert gated.returncode in CODES
    assert not any(words.encode() in gated.stdout + gated.stderr for words in FAULTS)


#: Calls that write, at each of which a signal comes.
CALLS = ("fsync", "renameat2", "renameat", "linkat", "unlinkat", "mkdirat", "fchmod", "fdatasync", "flock")


@pytest.mark.timeout(3_600)
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("verb", ["apply", "undo"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_at_any_write(tmp_path, verb, number):
    wrong = []
    came = 0
    for call in CALLS:
        for count in range(1, 40, int(os.environ.get("AI_RAILS_PROVE_STRIDE", "3"))):
            top = tmp_path / f"{call} {count}"
            top.mkdir()
            project, environment = begun(top)
            states = prepared(project, environment, top, verb)
            trace = top / "trace"
            inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal={number.name}:when={count}"]
            before = ["strace", "-qq", "-o", str(trace), *inject]
            done = run(project, environment, words_of(top, verb), before)
            if f"{number.name} " not in trace.read_text(errors="replace"):
                break
            came += 1
            codes = (*CODES, 128 + number, -number)
            silent = number == signal.SIGKILL and done.returncode == -number
            if silent:
                done.stderr = b"killed"
            if problem := wrong_with(project, done, states, codes):
                wrong.append(f"{call} {count}: {problem}")
            shutil.rmtree(top)
    print(f"{came} signals")
    assert wrong == []
    assert came > 5
