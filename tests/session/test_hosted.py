"""What a host's agent wrote is judged once, by what had passed before; what is told and held up is remembered."""

import contextlib
import os
import subprocess

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import parse_path
from rails.core.verdict import Finding, Fixed, NotChecked, Verdict
from rails.log.reader import read_strict
from rails.session.hook_session import HostCall, HostedSession

CALL = HostCall("t1", "Write", {"file_path": "a.py"})
AUTHOR = {f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class StubGate:
    """Finds fault with what says ``bad``, cannot judge what says ``odd``, and fixes what says ``ugly``."""

    def __init__(self):
        self.asked = []

    def judge(self, changes, *, agent, final, base=None, fix=True):
        self.asked.append(([str(change.path) for change in changes.changes], base, fix))
        holding = {
            word: [one for one in changes.changes if word in (one.after or b"")] for word in (b"bad", b"odd", b"ugly")
        }
        findings = tuple(Finding(str(one.path), 1, 1, "F821", "m", "ruff") for one in holding[b"bad"])
        misses = tuple(NotChecked(str(one.path), "ruff", "no") for one in holding[b"odd"])
        made = tuple(
            FileChange(one.path, one.before, one.after.replace(b"ugly", b"nice")) if one in holding[b"ugly"] else one
            for one in changes.changes
        )
        rules = {"fixed" if b"import" in one.after else "format" for one in holding[b"ugly"]}
        fixed = tuple(Fixed("a.py", "F401" if rule == "fixed" else "format", "ruff") for rule in rules)
        status = "fail" if findings else "error" if misses else "pass"
        return Verdict(status, ChangeSet(made), findings, fixed, misses)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("a = 1\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, env={**os.environ, **AUTHOR})
    return folder


@pytest.fixture
def gate():
    return StubGate()


@pytest.fixture
def opened(project, gate):
    made = []

    def open_one(session="s1", **more):
        made.append(HostedSession(project, gate, "host", session, **more))
        return made[-1]

    yield open_one
    for one in made:
        one.close()


def change(text, path="a.py", before=b"a = 1\n"):
    return ChangeSet((FileChange(parse_path(path), before, text.encode()),))


def records_of(project):
    return read_strict(project / ".rails/sessions/host-s1/log.jsonl", whole=False)


def kinds(project):
    return [record.event_type for record in records_of(project)]


def test_what_passed_before_it_was_written_is_not_judged_again(opened, project, gate):
    session = opened()
    assert session.propose(CALL, change("a = 2\n")).verdict.status == "pass"
    (project / "a.py").write_text("a = 2\n")
    found = session.look(CALL)
    assert (found.verdict, len(gate.asked)) == (None, 1)
    assert opened().look().verdict is None, "another process knows it, too"
    assert gate.asked == [(["a.py"], None, True)]


@pytest.mark.parametrize(
    ("proposed", "written", "judged"),
    [
        ("ugly\n", "ugly\n", False),
        ("ugly\n", "nice\n", False),
        ("import ugly\n", "import ugly\n", True),
        ("import ugly\n", "import nice\n", False),
        ("bad\n", "bad\n", True),
        ("odd\n", "odd\n", True),
        ("x = 1\n", "x = 2\n", True),
    ],
)
def test_only_what_came_but_for_its_formatting_or_was_made_of_it_has_passed(
    opened, project, gate, proposed, written, judged
):
    session = opened()
    session.propose(CALL, change(proposed))
    (project / "a.py").write_text(written)
    assert (session.look(CALL).verdict is not None) == judged
    assert gate.asked[1:] == ([(["a.py"], None, False)] if judged else [])


def test_the_last_contents_that_passed_are_known(opened, project, gate, monkeypatch):
    monkeypatch.setattr("rails.session.hook_session._MOST_PASSED", 16)
    session = opened()
    for number in range(10, 19):
        session.propose(CALL, change(f"a = {number}\n"))
    judged = {}
    for number in (11, 18, 10):
        (project / "a.py").write_text(f"a = {number}\n")
        judged[number] = session.look().verdict is not None
    assert judged == {11: False, 18: False, 10: True}


def test_a_finding_stays_one(opened, project, gate):
    session = opened()
    (project / "a.py").write_text("bad\n")
    assert [session.look().verdict.status for _ in range(3)] == ["fail"] * 3
    (project / "b.py").write_text("fine\n")
    assert session.look().verdict.status == "fail"
    assert gate.asked[-1] == (["a.py", "b.py"], None, False)
    judged = len(gate.asked)
    (project / "a.py").write_text("a = 1\n")
    found = session.look()
    assert (found.verdict, len(gate.asked)) == (None, judged), "what had no finding has passed"


def test_what_could_not_be_judged_is_judged_again(opened, project, gate):
    (session := opened()).look()
    (project / "a.py").write_text("odd\n")
    assert session.look().verdict.status == "error"
    (project / "a.py").write_text("odd again\n")
    assert session.look().verdict.status == "error"
    assert len(gate.asked) == 2


def test_a_deleted_file_alone_needs_no_verdict(opened, project, gate):
    (session := opened()).look()
    (project / "a.py").unlink()
    found = session.look()
    assert (found.verdict, gate.asked) == (None, [])


def test_configuration_that_changed_too_does_not_judge_itself(opened, project, gate):
    session = opened()
    head = subprocess.run(["git", "-C", project, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    (project / "ruff.toml").write_text("line-length = 300\n")
    (project / "a.py").write_text("bad\n")
    session.look()
    assert gate.asked == [(["a.py", "ruff.toml"], head.stdout.strip(), False)]


def test_what_another_session_wrote_is_not_laid_at_this_ones_door(opened, project, gate):
    one = opened("one")
    other = opened("other")
    (project / "b.py").write_text("bad\n")
    assert one.look().verdict.status == "fail"
    assert other.look().verdict is None
    (project / "b.py").write_text("bad, too\n")
    assert other.look().verdict.status == "fail"
    assert one.look().verdict is None, "now it is the other's"


@pytest.mark.parametrize("again", [[False, True, True, False, True]])
def test_how_often_an_end_was_held_up_in_a_row_is_counted_across_processes(opened, again):
    assert [opened().stopped(again=one) for one in again] == [0, 1, 2, 0, 1]


def test_the_same_words_are_told_once_in_a_row(opened, project):
    told = []
    for text in ("a", "a", "b", "a"):
        with contextlib.closing(opened()) as session:
            told.append(session.told(text))
    assert told == [True, False, True, True]
    assert kinds(project).count("FEEDBACK_SENT") == 3


def test_a_session_s_name_is_the_host_s_where_it_can_be_one(opened):
    names = [opened(session).name for session in ("s1", "a/b", "x" * 300, "\ud800")]
    assert names[0] == "host-s1"
    assert len({*names}) == 4
    assert all(len(name) == len("host-") + 32 and "/" not in name for name in names[1:])


def test_a_link_is_accounted_for_where_it_leads_to_something_else_of_the_project(opened, project):
    (session := opened()).look()
    for name, target in (("good", "a.py"), ("git", ".git/config"), ("own", ".rails"), ("out", "/etc"), ("none", "x")):
        (project / name).symlink_to(target)
    assert set(session.look().unknown) == {"git", "own", "out", "none"}
    for name in ("git", "own", "out", "none"):
        (project / name).unlink()


def test_what_is_written_past_the_gate_is_a_turn_and_a_step_that_can_be_undone(opened, project):
    session = opened()
    (project / "a.py").write_text("fine\n")
    session.look(HostCall("t9", "Bash", {"command": "x"}))
    (project / "a.py").write_text("a = 1\n")
    session.look()
    records = records_of(project)
    assert [record.message for record in records if record.event_type == "LLM_CALL"] == [
        "host asks for Bash",
        "host asks for something else than an edit",
    ]
    assert sum(record.event_type == "CHECKPOINT" for record in records) == 2
