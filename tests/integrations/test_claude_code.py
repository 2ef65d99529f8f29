"""What Claude Code is told: before a write on the proposed bytes, after one, and at the end of an answer."""

import json
import os
import socket
import sys

import pytest

from rails.cli import main
from rails.core import limits
from rails.core.events.changes import CheckpointEvent, GateVerdict
from rails.core.events.session import WorkflowEnd, WorkflowStart
from rails.core.verdict import NotChecked, Verdict
from rails.edits.checkpoints import History
from rails.integrations.daemon import client
from rails.integrations.hooks import claude_code
from rails.integrations.hooks.contract import hook_call
from rails.integrations.hooks.examples import CLEAN, example
from rails.log.reader import read_lenient
from tests.integrations.conftest import git
from tests.rows import walked


def write(claude, name, content, **more):
    arguments = {"file_path": str(claude.project / name), "content": content}
    return claude.specific("PreToolUse", "Write", arguments, **more)


def edit(claude, name, old, new, **more):
    arguments = {"file_path": str(claude.project / name), "old_string": old, "new_string": new, "replace_all": False}
    return claude.specific("PreToolUse", "Edit", {**arguments, **more})


def records(claude, session="s1"):
    return read_lenient(claude.project / ".rails/sessions" / f"claude-code-{session}" / "log.jsonl")[0]


def test_a_clean_edit_goes_through_without_a_word(claude):
    assert write(claude, "b.py", "x = 1\n") == {}
    assert claude.raw.out == ""


def test_a_new_finding_denies_the_write_with_place_and_advice_and_nothing_else(claude):
    said = write(claude, "b.py", "x = undefined\n")
    assert said["permissionDecision"] == "deny"
    assert "b.py:1:5 F821" in said["permissionDecisionReason"]
    assert "Nothing was written" in said["permissionDecisionReason"]
    assert "updatedInput" not in said
    assert not (claude.project / "b.py").exists()


def test_a_finding_that_the_file_had_before_denies_nothing(claude):
    (claude.project / "a.py").write_text("a = undefined\nb = 2\n")
    assert edit(claude, "a.py", "b = 2", "b = 3") == {}


def test_formatting_goes_through_as_the_whole_content_of_a_write_and_grants_nothing(claude):
    said = write(claude, "b.py", "x  =  1\n")
    assert said["updatedInput"]["content"] == "x = 1\n"
    assert said["updatedInput"]["file_path"].endswith("b.py")
    assert "permissionDecision" not in said
    assert "+x = 1" in said["additionalContext"]


def test_formatting_of_an_edit_is_one_edit_whose_old_text_is_unique(claude):
    (claude.project / "a.py").write_text("a = 1\nb = 2\nc = 3\n")
    said = edit(claude, "a.py", "2", "2+2")
    new = said["updatedInput"]
    text = (claude.project / "a.py").read_text()
    assert text.count(new["old_string"]) == 1
    assert text.replace(new["old_string"], new["new_string"]) == "a = 1\nb = 2 + 2\nc = 3\n"


@walked(
    ("before", "old", "new", "every", "after"),
    [
        ("a = 1\nb = 1\n", "1", "2", False, "a = 2\nb = 1\n"),
        ("a = 1\nb = 1\n", "1", "2", True, "a = 2\nb = 2\n"),
        ("a = 1\nb = 1\n", "b = 1", "", False, "a = 1\n"),
        ("a = 1\r\nb = 1\r\n", "a = 1\nb = 1\n", "a = 2\nb = 1\n", False, "a = 2\r\nb = 1\r\n"),
        ("", "", "a = 1\n", False, "a = 1\n"),
    ],
)
def test_the_edit_is_applied_as_the_host_applies_it(claude, before, old, new, every, after):
    (claude.project / "e.py").write_bytes(before.encode())
    edit(claude, "e.py", old, new, replace_all=every)
    verdict = [one.event for one in records(claude) if isinstance(one.event, GateVerdict)][-1]
    assert verdict.verdict.status == "pass"
    call = hook_call(
        "claude-code",
        {"hook_event_name": "PreToolUse", "tool_name": "Edit", "cwd": str(claude.project)}
        | {"tool_input": {"file_path": "e.py", "old_string": old, "new_string": new, "replace_all": every}},
    )
    changes = claude_code.proposed(call, claude.project)
    assert changes.changes[0].after == after.encode()


def test_a_notebook_s_cell_is_judged_in_its_notebook(claude):
    cell = {"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": None, "outputs": [], "source": ["1\n"]}
    kind = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}
    notebook = {"cells": [cell], "metadata": kind, "nbformat": 4, "nbformat_minor": 5}
    (claude.project / "n.ipynb").write_text(json.dumps(notebook))
    name = str(claude.project / "n.ipynb")
    call = {"notebook_path": name, "cell_id": "c1", "new_source": "x = (\n", "edit_mode": "replace"}
    claude.call("PreToolUse", "NotebookEdit", call)
    verdict = next(one.event.verdict for one in records(claude) if isinstance(one.event, GateVerdict))
    assert [str(change.path) for change in verdict.proposal.changes] == [] or verdict.status in (
        "pass",
        "fail",
        "error",
    )


def test_the_page_of_many_findings_stays_below_what_the_host_shows(claude):
    said = write(claude, "b.py", "".join(f"x{n} = undefined_{n}\n" for n in range(200)))
    reason = said["permissionDecisionReason"]
    assert len(reason) < 2_000
    assert "more; they are shown when these are fixed" in reason


def test_a_looser_pin_is_a_note_before_a_write_and_after_a_command(claude):
    (claude.project / "requirements.txt").write_text("a==1\n")
    (claude.project / "Dockerfile").write_text("FROM b:1.2.3\n")
    claude.call("SessionStart", source="startup")
    assert "a was held to one version" in write(claude, "requirements.txt", "a\n")["additionalContext"]
    (claude.project / "Dockerfile").write_text("FROM b\n")
    told = claude.specific("PostToolUse", "Bash", {"command": "echo"}, tool_response={"stdout": ""})
    assert "b was held to one version" in told["additionalContext"]


def test_what_breaks_the_file_is_told_first(claude):
    said = write(claude, "b.py", "import os, sys\nl = undefined\ndef f(:\n")
    assert "yntax" in said["permissionDecisionReason"].splitlines()[1]


def test_what_bash_wrote_is_told_after_it_and_holds_up_the_end_until_it_is_right(claude):
    claude.call("SessionStart", source="startup")
    (claude.project / "c.py").write_text("y = undefined\n")
    told = claude.call("PostToolUse", "Bash", {"command": "echo"}, tool_response={"stdout": ""})
    assert told["decision"] == "block"
    assert "c.py:1:5 F821" in told["reason"]
    assert claude.call("PostToolBatch", tool_calls=[]) is None, "the same is not told twice"
    assert claude.call("Stop", stop_hook_active=False)["decision"] == "block"
    (claude.project / "c.py").write_text("y = 1\n")
    assert claude.call("Stop", stop_hook_active=True) is None


def test_the_end_of_a_batch_is_never_blocked_because_that_ends_the_host_s_run(claude):
    claude.call("SessionStart", source="startup")
    (claude.project / "c.py").write_text("y = undefined\n")
    told = claude.call("PostToolBatch", tool_calls=[])
    assert "decision" not in told
    assert "F821" in told["hookSpecificOutput"]["additionalContext"]


def test_an_end_is_held_up_as_often_as_its_budget_says_and_then_let_go(claude):
    claude.call("SessionStart", source="startup")
    (claude.project / "c.py").write_text("y = undefined\n")
    answers = [claude.call("Stop", stop_hook_active=number > 0) for number in range(4)]
    assert [bool((one or {}).get("decision")) for one in answers] == [True, True, True, False]
    assert "findings remain" in answers[-1]["systemMessage"]


def test_what_a_person_had_changed_before_is_not_blamed_on_the_agent(claude):
    (claude.project / "a.py").write_text("a = undefined\n")
    (claude.project / "mine.py").write_text("m = undefined\n")
    claude.call("SessionStart", source="startup")
    assert claude.call("Stop", stop_hook_active=False) is None
    (claude.project / "a.py").write_text("a = undefined\nb = unknown\n")
    said = claude.call("Stop", stop_hook_active=False)["reason"]
    assert "a.py:2:5 F821" in said
    assert "mine.py" not in said
    assert ":1:" not in said


def test_a_commit_of_the_agent_hides_nothing(claude):
    claude.call("SessionStart", source="startup")
    (claude.project / "c.py").write_text("y = undefined\n")
    git(claude.project, "add", ".")
    git(claude.project, "commit", "-qm", "hidden")
    assert "c.py:1:5" in claude.call("Stop", stop_hook_active=False)["reason"]


def test_a_folder_without_git_is_compared_with_how_it_was(tmp_path, hooks_of, project):
    (project / ".git").rename(tmp_path / "gone")
    (project / "old.py").write_text("o = undefined\n")
    claude = hooks_of("claude-code")
    claude.call("SessionStart", source="startup")
    (project / "c.py").write_text("y = undefined\n")
    said = claude.call("Stop", stop_hook_active=False)["reason"]
    assert "c.py:1:5" in said
    assert "old.py" not in said


def test_two_sessions_in_one_project_are_told_apart(claude):
    claude.call("SessionStart", session="s1")
    claude.call("SessionStart", session="s2")
    (claude.project / "c.py").write_text("y = undefined\n")
    assert claude.call("PostToolUse", "Bash", {"command": "x"}, session="s1")["decision"] == "block"
    assert claude.call("Stop", session="s2", stop_hook_active=False) is None
    assert claude.call("Stop", session="s1", stop_hook_active=False)["decision"] == "block"


def test_what_the_host_wrote_can_be_undone_step_by_step(claude):
    claude.call("SessionStart", source="startup")
    write(claude, "b.py", "x = 1\n")
    (claude.project / "b.py").write_text("x = 1\n")
    claude.call("PostToolBatch", tool_calls=[])
    (claude.project / "a.py").write_text("a = 5\nb = 2\n")
    claude.call("Stop", stop_hook_active=False)
    history = History(claude.project)
    assert [step.files[0].name for step in history.steps("claude-code-s1")] == ["b.py", "a.py"]
    history.undo()
    assert (claude.project / "a.py").read_text() == "a = 1\nb = 2\n"
    history.undo()
    assert not (claude.project / "b.py").exists()


def test_a_line_that_the_host_wrote_is_followed_back_to_its_call(claude, capsys, monkeypatch):
    monkeypatch.chdir(claude.project)
    claude.call("SessionStart", source="startup")
    write(claude, "b.py", "x = 1\ny = 2\n")
    (claude.project / "b.py").write_text("x = 1\ny = 2\n")
    claude.call("PostToolBatch", tool_calls=[])
    edit(claude, "b.py", "x = 1\n", "w = 0\nx = 1\n")
    (claude.project / "b.py").write_text("w = 0\nx = 1\ny = 2\n")
    claude.call("PostToolBatch", tool_calls=[])
    (claude.project / "c.py").write_text("z = 3\n")
    claude.call("PostToolUse", "Bash", {"command": "echo"}, tool_response={})
    for place, turn, tool in (("b.py:1", 2, "Edit"), ("b.py:3", 1, "Write"), ("c.py:1", 3, "Bash")):
        capsys.readouterr()
        assert main(["why", place]) == 0
        shown = capsys.readouterr().out
        assert "claude-code-s1" in shown
        assert f"turn {turn}" in shown
        assert tool in shown


def test_the_session_is_one_of_ours_with_task_verdicts_steps_and_end(claude):
    claude.call("SessionStart", source="startup")
    claude.call("UserPromptSubmit", prompt="make it so")
    write(claude, "b.py", "x = undefined\n")
    (claude.project / "c.py").write_text("c = 1\n")
    claude.call("Stop", stop_hook_active=False)
    claude.call("SessionEnd", reason="exit")
    found = [type(one.event) for one in records(claude)]
    assert found[0] is WorkflowStart
    assert found[-1] is WorkflowEnd
    assert {GateVerdict, CheckpointEvent} <= set(found)
    assert records(claude)[0].event.task == "make it so"


def test_a_session_in_which_nothing_happened_leaves_no_log(claude):
    claude.call("SessionStart", source="startup")
    claude.call("Stop", stop_hook_active=False)
    assert not (claude.project / ".rails/sessions/claude-code-s1").exists()


@walked(
    ("event", "more"),
    [("Notification", {}), ("PreCompact", {}), ("SomethingNew", {"tool_name": "Write"}), ("", {})],
)
def test_an_event_that_is_not_known_is_answered_by_silence(claude, event, more):
    assert claude.call(event, **more) is None


@walked("tool", ["Read", "Grep", "mcp__other__tool", "Task"])
def test_a_tool_that_writes_no_file_is_answered_by_silence(claude, tool):
    assert claude.call("PreToolUse", tool, {"file_path": "a.py"}) is None


def test_a_file_outside_the_project_is_none_of_ours(claude, tmp_path):
    arguments = {"file_path": str(tmp_path / "elsewhere.py"), "content": "x = undefined\n"}
    assert claude.call("PreToolUse", "Write", arguments) is None


@pytest.mark.parametrize("fault", [lambda *_, **__: 1 / 0, lambda *_, **__: sys.exit("no")], ids=["raised", "exit"])
def test_a_fault_of_ours_lets_the_edit_through_says_so_and_it_is_judged_at_the_end(claude, monkeypatch, fault):
    claude.call("SessionStart", source="startup")
    with monkeypatch.context() as broken:
        broken.setattr(claude.warm.gate, "judge", fault)
        said = claude.call("PreToolUse", "Write", {"file_path": str(claude.project / "c.py"), "content": "y = zz\n"})
    assert "permissionDecision" not in said["hookSpecificOutput"]
    assert "could not judge" in said["hookSpecificOutput"]["additionalContext"]
    assert "could not judge" in said["systemMessage"]
    (claude.project / "c.py").write_text("y = zz\n")
    assert "c.py:1:5 F821" in claude.call("Stop", stop_hook_active=False)["reason"]


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_fault_of_ours_at_the_end_is_told_to_the_person_and_holds_up_nothing(hooks_of, monkeypatch, host):
    hooks = hooks_of(host)
    hooks.call("SessionStart", source="startup")
    (hooks.project / "c.py").write_text("y = zz\n")
    with monkeypatch.context() as broken:
        broken.setattr(hooks.warm.gate, "judge", lambda *_, **__: 1 / 0)
        said = [hooks.call("Stop", stop_hook_active=number > 0) for number in range(2)]
    assert not any("decision" in one for one in said)
    assert all("could not judge" in one["systemMessage"] for one in said)
    assert "c.py:1:5 F821" in hooks.call("Stop", stop_hook_active=False)["reason"]
    (hooks.project / "c.py").write_text("y = 1\n")
    assert hooks.call("Stop", stop_hook_active=True) is None


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_check_that_cannot_run_is_told_once_to_the_person_and_holds_up_nothing(hooks_of, monkeypatch, host):
    def judge(changes, **_):
        return Verdict("error", changes, not_checked=(NotChecked("l.py", "black", "it is not installed"),))

    hooks = hooks_of(host)
    monkeypatch.setattr(hooks.warm.gate, "judge", judge)
    hooks.call("SessionStart", source="startup")
    (hooks.project / "l.py").write_text("x = 1\n")
    said = []
    for text in ("x = 2\n", "x = 3\n"):
        said.append(hooks.call("PostToolUse", "Bash", {"command": "true"}, tool_response=""))
        said += [hooks.call("Stop", stop_hook_active=again) for again in (False, True)]
        (hooks.project / "l.py").write_text(text)
    first, *later = said
    assert "could not judge what was written: l.py by black (it is not installed)" in first["systemMessage"]
    assert "decision" not in first
    assert later == [None] * 5


def test_where_nothing_was_checked_it_is_said_once_at_the_end(hooks_of):
    hooks = hooks_of("claude-code")
    hooks.call("SessionStart", source="startup")
    (hooks.project / "a.kt").write_text("fun main() {}\n")
    said = [hooks.call("PostToolUse", "Bash", {"command": "true"}, tool_response="")]
    said += [hooks.call("Stop", stop_hook_active=again) for again in (False, True)]
    assert (said[0], said[2]) == (None, None)
    assert "nothing that was written was checked: a.kt by syntax (there is no check" in said[1]["systemMessage"]


def test_what_is_not_installed_is_told_once_before_or_after_a_tool_whichever_file_it_is_for(hooks_of, monkeypatch):
    def judge(changes, **_):
        reason = "ESLint is not installed; install it in the project"
        return Verdict(
            "error", changes, not_checked=tuple(NotChecked(str(c.path), "eslint", reason) for c in changes.changes)
        )

    hooks = hooks_of("claude-code")
    monkeypatch.setattr(hooks.warm.gate, "judge", judge)
    said = []
    for name in ("a.ts", "b.ts", "a.ts"):
        given = {"file_path": str(hooks.project / name), "content": f"let x = {len(said)};\n"}
        said.append(hooks.call("PreToolUse", "Write", given))
        (hooks.project / name).write_text(given["content"])
        said.append(hooks.call("PostToolUse", "Write", given, tool_response=""))
        said.append(hooks.call("Stop", stop_hook_active=False))
    assert "ESLint is not installed" in said[0]["systemMessage"]
    assert said[1:] == [None] * 8


def test_a_file_that_no_check_can_read_is_let_through_and_the_person_is_told_once(claude):
    (claude.project / "l.py").write_bytes(b"x = '\xe9'\n")
    arguments = {"file_path": str(claude.project / "l.py"), "old_string": "x", "new_string": "y", "replace_all": False}
    first, again = (claude.call("PreToolUse", "Edit", arguments) for _ in range(2))
    assert "could not judge" in first["systemMessage"]
    assert "permissionDecision" not in first.get("hookSpecificOutput", {})
    assert not again


def test_a_first_call_that_could_not_be_written_down_says_so_and_the_end_judges_it(claude):
    (claude.project / ".rails").mkdir()
    (claude.project / ".rails/sessions").write_text("no folder")
    data = example("claude-code", claude.project, CLEAN, file="c.py")
    assert "could not judge" in claude.warm.answer(claude.head, data).out
    (claude.project / "c.py").write_text(CLEAN)
    end = {"session": "example", "stop_hook_active": False}
    assert "could not judge" in claude.call("Stop", **end)["systemMessage"]
    (claude.project / ".rails/sessions").unlink()
    assert claude.call("Stop", **end) is None


def _excluded(folder):
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("/c.py\n")


def _ignored(folder):
    (folder / ".gitignore").write_text("c.py\n")


def _ignored_with_its_folder(folder):
    (folder / "new").mkdir()
    (folder / "new/.gitignore").write_text("*\n")
    (folder / "new/c.py").write_text(BAD)


def _flagged(flag):
    def flagged(folder):
        (folder / "a.py").write_text(f"a = 1\nb = 2\n{BAD}")
        git(folder, "update-index", flag, "a.py")

    return flagged


def _filtered(folder):
    (folder / ".git/clean").write_text("a = 1\nb = 2\n")
    git(folder, "config", "filter.x.clean", "cat > /dev/null; cat .git/clean")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text("*.py filter=x\n")
    (folder / "a.py").write_text(f"a = 1\nb = 2\n{BAD}")


def _timed(folder):
    place = folder / "a.py"
    facts = place.stat()
    git(folder, "config", "core.trustctime", "false")
    git(folder, "config", "core.checkStat", "minimal")
    place.write_text("a = u\nb = 2\n")
    os.utime(place, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _elsewhere(folder):
    git(folder, "config", "core.worktree", str(folder.parent))
    (folder / "a.py").write_text(BAD)


BAD = "print(undefined)\n"
HIDINGS = [
    *(_excluded, _ignored, _ignored_with_its_folder, _flagged("--assume-unchanged"), _flagged("--skip-worktree")),
    *(_filtered, _timed, _elsewhere),
]


@pytest.mark.parametrize("hide", HIDINGS)
def test_what_bash_wrote_and_hid_from_git_holds_up_the_end(claude, hide):
    claude.call("SessionStart", source="startup")
    if hide in HIDINGS[:2]:
        (claude.project / "c.py").write_text(BAD)
    hide(claude.project)
    assert "F821" in claude.call("Stop", stop_hook_active=False)["reason"]


def test_what_was_hidden_from_git_before_and_what_tools_install_is_nobody_s_change(claude):
    _excluded(claude.project)
    (claude.project / ".gitignore").write_text("*.log\n")
    claude.call("SessionStart", source="startup")
    (claude.project / ".gitignore").write_text("*.log\nnode_modules/\n")
    for name in ("c.py", "x.log", "node_modules/m/b.py", "__pycache__/c.py"):
        (claude.project / name).parent.mkdir(parents=True, exist_ok=True)
        (claude.project / name).write_text(BAD)
    git(claude.project, "config", "--add", "core.excludesFile", "/nowhere")
    (claude.project / "__pycache__/.gitignore").write_text("*\n")
    assert claude.call("Stop", stop_hook_active=False) is None


def _linked(folder):
    (folder.parent / "out.py").write_text(BAD)
    (folder / "c.py").symlink_to(folder.parent / "out.py")


def _linked_into_git(folder):
    (folder / ".git/c.py").write_text(BAD)
    (folder / "c.py").symlink_to(".git/c.py")


def _named(name):
    def named(folder):
        (folder / name).write_text(BAD)

    return named


def _nested(folder):
    git(folder, "worktree", "add", "-q", "c.py")
    (folder / "c.py/x.py").write_text(BAD)


@pytest.mark.parametrize("hide", [_linked, _linked_into_git, _named("\u202ec.py"), _nested])
def test_what_nobody_can_judge_holds_up_the_end_once_by_name(claude, hide):
    (claude.project / "mine.py").symlink_to("/nowhere")
    claude.call("SessionStart", source="startup")
    hide(claude.project)
    (claude.project / "near.py").symlink_to("a.py")
    said = claude.call("Stop", stop_hook_active=False)
    assert said["decision"] == "block"
    assert "c.py" in said["reason"]
    assert "mine.py" not in said["reason"]
    assert "near.py" not in said["reason"]
    assert claude.call("Stop", stop_hook_active=True) is None
    assert claude.call("Stop", stop_hook_active=False) is None


def _piped(folder):
    (folder / "new").mkdir()
    os.mkfifo(folder / "new/pipe.py")


def _bound(folder):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(folder / "here.py"))  # the name of a socket is short


def _replaced(folder):
    (folder / "a.py").unlink()
    os.mkfifo(folder / "a.py")


@pytest.mark.parametrize("git_too", [True, False])
@pytest.mark.parametrize(("make", "name"), [(_piped, "new/pipe.py"), (_bound, "here.py"), (_replaced, "a.py")])
def test_what_is_no_file_and_came_is_told_by_name_and_what_was_there_is_not(
    claude, monkeypatch, tmp_path, make, name, git_too
):
    monkeypatch.chdir(claude.project)
    if not git_too:
        (claude.project / ".git").rename(tmp_path / "gone")
    os.mkfifo(claude.project / "mine")
    claude.call("SessionStart", source="startup")
    assert claude.call("PostToolUse", "Bash", {"command": "true"}, tool_response={}) is None
    make(claude.project)
    told = claude.specific("PostToolBatch", tool_calls=[])["additionalContext"]
    assert f"could not judge what was written: {name} (" in told
    assert "mine" not in told
    (claude.project / "c.py").write_text(BAD)
    told = claude.call("Stop", stop_hook_active=False)["reason"]
    assert "F821" in told, "findings come first"
    assert f"{name} (" in told, "and hide nothing"


def test_an_import_that_comes_first_is_left_alone_until_the_end(claude):
    claude.call("SessionStart", source="startup")
    edit = {"file_path": str(claude.project / "c.py"), "content": "import os\n"}
    assert claude.call("PreToolUse", "Write", edit) is None
    (claude.project / "c.py").write_text("import os\n")
    assert claude.call("PostToolUse", "Write", edit) is None
    assert "F401" in claude.call("Stop", stop_hook_active=False)["reason"]
    (claude.project / "c.py").write_text("import os\n\nprint(os.sep)\n")
    assert claude.call("Stop", stop_hook_active=True) is None


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolBatch", "Stop"])
def test_what_could_be_fixed_is_a_finding_of_what_is_written_and_formatting_alone_is_named_once(claude, event):
    after = (event, "Bash", {"command": "x"}) if event == "PostToolUse" else (event,)
    claude.call("SessionStart", source="startup")
    (claude.project / "c.py").write_text("c  =  1\n")
    said = json.dumps(claude.call(*after))
    assert "not in the project's format: c.py." in said
    assert "decision" not in said
    assert claude.call(*after) is None
    (claude.project / "c.py").write_text('c  =  f"x"\n')
    said = json.dumps(claude.call(*after))
    assert "c.py:1:7 F541" in said
    assert "c.py:1:1 format" in said
    assert claude.call("Stop", stop_hook_active=False)["decision"] == "block"
    (claude.project / "c.py").write_text("c = 1\n")
    assert claude.call("Stop", stop_hook_active=True) is None


@pytest.mark.parametrize("config", ["extension = {py = 'markdown'}\n", "builtins = ['undefined']\n"])
def test_configuration_that_came_with_the_change_does_not_judge_it(claude, config):
    claude.call("SessionStart", source="startup")
    (claude.project / "ruff.toml").write_text(f"line-length = 100\n{config}")
    (claude.project / "c.py").write_text(BAD)
    assert "F821" in claude.call("Stop", stop_hook_active=False)["reason"]


def test_a_file_beyond_the_bound_is_told_at_once_and_keeps_no_later_call_waiting(claude):
    text = "x = 1\n" * (limits.FILE_BYTES // 6 + 1)
    said = claude.call("PreToolUse", "Write", {"file_path": str(claude.project / "big.py"), "content": text})
    assert "big.py would have more than 10,000,000 bytes" in said["systemMessage"]
    assert "judged at the end" in said["systemMessage"]
    assert not [one for one in records(claude) if isinstance(one.event, GateVerdict)]
    assert claude.call("PreToolUse", "Write", {"file_path": str(claude.project / "b.py"), "content": "B = 1\n"}) is None


@walked("data", [b"", b"[1]", b'{"a":', b"\xff\xfe{", b"[" * 100_000, b'{"a":' * 100_000])
def test_input_that_is_no_call_is_one_sentence(claude, data):
    said = claude.warm.answer(claude.head, data)
    assert (said.out, said.code) == ("", 1)
    assert said.err.startswith("ai-rails hook: the host's input cannot be read: ")
    assert client._folder_of(data) == os.getcwd()
