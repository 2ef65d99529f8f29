"""Whole sessions through the command line, and logs that the release before has written: what they come to today."""

import json
import re
import shutil
import subprocess

import pytest

from .normal import dumped, log_of, text_of, transcript
from .running import HERE, files_of, filled, planted, play, rails, restored

pytestmark = pytest.mark.usefixtures("shared_workers")
SESSIONS = sorted(folder.name for folder in (HERE / "sessions").iterdir())
LOGS = sorted(folder.name for folder in (HERE / "logs").iterdir())
EXPORTS = ("markdown", "recording")
GROUPS = ("model", "rule", "tool", "decision")


def places(tmp_path, project):
    """Return the folders whose names differ from run to run, and the words for them."""
    return [(project, "PROJECT"), (tmp_path / "config", "CONFIG"), (HERE, "GOLDEN"), (tmp_path, "TMP")]


def kept(name, tmp_path):
    """Return a project as the release before left it, with its ``.rails`` folder."""
    project = tmp_path / "greeter"
    planted(HERE / "logs" / name / "project", project)
    return restored(HERE / "logs" / name / "state", project)


def log_in(project):
    """Return the only session's log of a project."""
    (log,) = project.glob(".rails/sessions/*/log.jsonl")
    return log


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_prints_and_logs_the_same(golden, tmp_path, name):
    project, steps = play(name, tmp_path)
    paths = places(tmp_path, project)
    golden(f"sessions/{name}.screen.txt", transcript(steps, paths))
    if name in LOGS:
        golden(f"sessions/{name}.log.jsonl", log_of(log_in(project).read_bytes(), paths))
    golden(f"sessions/{name}.files.json", shown_files(project, paths))
    golden(f"sessions/{name}.state.txt", text_of(state_of(project), paths))


def state_of(project):
    """Return the files of ``.rails``, and what the commits of the project and of the checkpoints say."""
    parts = [str(file.relative_to(project)) for file in sorted(project.glob(".rails/**/*")) if file.is_file()]
    listed = sorted({re.sub(r"pack-[0-9a-f]+", "pack-HASH", part) for part in parts})
    for folder in (".git", ".rails/history.git"):
        if (project / folder).is_dir():
            words = [
                "log",
                "--all",
                "--reverse",
                "--topo-order",
                "--format=%n%an <%ae>%n%B",
                "--name-status",
                "--no-renames",
            ]
            done = subprocess.run(["git", f"--git-dir={project / folder}", *words], capture_output=True, check=True)
            listed += [f"\n== {folder}", done.stdout.decode("utf-8")]
    return "\n".join(listed) + "\n"


# -- logs of the release before ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGS)
def test_an_older_log_is_reviewed_the_same(golden, tmp_path, name):
    project = kept(name, tmp_path)
    paths = places(tmp_path, project)
    where = ("--project", project)

    def said(*words):
        return transcript([(words, rails(*words, *where))], paths, live=False)

    golden(f"logs/{name}.review.txt", said("review", "last"))
    golden(f"logs/{name}.review.json", said("review", "last", "--json"))
    plain = ["review"], ["log", "verify"]
    reports = [["review", "last", "--by", by] for by in GROUPS]
    golden(f"logs/{name}.reports.txt", "\n".join(said(*words) for words in (*plain, ["policy"], *reports)))
    for form in EXPORTS:
        golden(f"logs/{name}.export.{form}.txt", said("log", "export", "--format", form))


@pytest.fixture
def archive(tmp_path):
    """Return a project in which all of the older sessions were."""
    project = tmp_path / "greeter"
    for name in LOGS:
        for part in ("sessions", "blobs"):
            if (source := HERE / "logs" / name / "state" / part).is_dir():
                shutil.copytree(source, project / ".rails" / part, dirs_exist_ok=True)
    return project


SEARCHES = (
    *("is:failed", "rule:F821", "type:HUMAN_DECISION", "role:coder greet", '"Good morning"', "text:reet", "is:denied"),
    *("by:human", "path:greet.py tool:edit_file", "code:schema", "model:recorded", "after:2026-11-22 type:UNDO"),
    *("nothing-is-like-this", "type:CONTEXT_COMPACTED", "nofield:x"),
)


def test_all_older_logs_together_are_searched_and_counted_the_same(golden, tmp_path, archive):
    paths = places(tmp_path, archive)
    where = ("--project", archive)

    def said(*commands):
        return transcript([(words, rails(*words, *where)) for words in commands], paths, live=False)

    golden("logs/all.search.txt", said(*(["log", "search", *line.split()] for line in SEARCHES)))
    lists = [["review"], ["review", "--filter", "is:failed"], ["review", "--filter", "role:coder", "--json"]]
    lists += [["review", "--by", by] for by in GROUPS]
    golden("logs/all.reports.txt", said(*lists))
    golden("logs/all.reports.json", said(*(["review", "--by", by, "--json"] for by in GROUPS)))
    wrong = ["review", "nowhere"], ["review", "2026"], ["log", "export", "--format", "odd"], ["log", "search"]
    golden("logs/all.mistakes.txt", said(*wrong))


def appended(project, name):
    """Return what was appended to a kept log, as a log of its own."""
    was = next((HERE / "logs" / name).glob("state/sessions/*/log.jsonl")).read_bytes()
    now = log_in(project).read_bytes()
    assert now.startswith(was), "the older records were changed"
    return now[len(was) :]


def shown_files(project, paths):
    """Return the files of a project as JSON."""
    files = {file: data.decode("utf-8", "backslashreplace") for file, data in files_of(project).items()}
    return text_of(json.dumps(files, indent=1, ensure_ascii=False) + "\n", paths)


BACK = {
    "demo": [["undo"], ["undo"], ["undo"], ["redo"], ["undo", "--step", "1"], ["log", "verify"]],
    "denied_resumed": [["undo", "--step", "1"], ["undo", "--all"], ["redo"], ["undo", "nowhere"]],
    "handoffs": [["redo"], ["undo", "--all"], ["redo", "--step", "1"]],
}


@pytest.mark.parametrize("name", LOGS)
def test_steps_of_an_older_session_are_taken_back_the_same(golden, tmp_path, name):
    project = kept(name, tmp_path)
    paths = places(tmp_path, project)
    if name == "handoffs":  # somebody worked on since, on other lines, so that both stay
        greet = (project / "greet.py").read_text("utf-8")
        (project / "greet.py").write_text(greet.replace("Greetings.", "Greetings of all kinds."), "utf-8")
    steps = [(words, rails(*words, "--project", project)) for words in BACK[name]]
    text = transcript(steps, paths)
    new = log_of(appended(project, name), paths, whole=False)
    golden(f"logs/{name}.undo.txt", f"{text}\n{new}\n{shown_files(project, paths)}")


#: Where a log is cut off (before which record of a type, counted from 1) and what a person answers when it goes on.
GOES_ON = {
    "denied_resumed": [("SESSION_RESUMED", 1, ["a", "approve"]), ("HUMAN_DECISION", 1, ["a", "d not that", "d", ""])],
    "handoffs": [("SESSION_RESUMED", 1, ["g"])],
    "demo": [("", 0, [])],
}


@pytest.mark.parametrize(("name", "number"), [(name, n) for name in LOGS for n in range(len(GOES_ON[name]))])
def test_an_older_session_goes_on_the_same(golden, tmp_path, name, number):
    event, which, keys = GOES_ON[name][number]
    project = tmp_path / "greeter"
    if event == "HUMAN_DECISION" or name == "denied_resumed":  # nothing was written yet
        planted(HERE / "sessions" / name / "project", project)
        restored(HERE / "logs" / name / "state", project)
        shutil.rmtree(project / ".rails/history.git")
    else:
        kept(name, tmp_path)
    paths = places(tmp_path, project)
    log = log_in(project)
    lines = log.read_bytes().splitlines(keepends=True)
    if event:
        at = [place for place, line in enumerate(lines) if f'"event_type":"{event}"'.encode() in line][which - 1]
        log.write_bytes(b"".join(lines[:at]))
    was = log.read_bytes()
    answers = HERE / "sessions" / name / "answers.jsonl"
    words = filled(["run", "--model", "ANSWERS", "--project", "PROJECT", "--resume"], project, answers)
    words += [] if keys else ["--approve", "policy"]
    text = transcript([(words, rails(*words, keys=keys))], paths)
    now = log.read_bytes()
    assert now.startswith(was), "the older records were changed"
    new = log_of(now[len(was) :].lstrip(b"\n"), paths, whole=False)
    verified = transcript([(["log", "verify"], rails("log", "verify", "--project", project))], paths)
    golden(f"logs/{name}.resume{number + 1}.txt", "\n".join([text, new, verified, shown_files(project, paths)]))


@pytest.mark.parametrize("name", LOGS)
def test_the_bytes_of_a_record_are_the_canonical_form_of_its_values(name):
    log = next((HERE / "logs" / name).glob("state/sessions/*/log.jsonl"))
    whole = [line for line in log.read_bytes().decode("utf-8").split("\n") if line.endswith("}")]
    assert whole == [dumped(json.loads(line)) for line in whole]
