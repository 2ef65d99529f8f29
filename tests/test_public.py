"""What a program may use: the names of ``rails.__all__``, with these signatures, as docs/python-api.md shows them."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rails
from rails.core.errors import UsageError

ROOT = Path(__file__).parent.parent
EXAMPLES = re.findall(r"^```python\n(.*?)\n^```\n\n", (ROOT / "docs/python-api.md").read_text("utf-8"), re.M | re.S)
SIGNATURES = {
    "apply": (
        "(answer: 'str', project: 'Path | str', *, approve: 'Approves', "
        "agent: 'str' = 'coder', dialects: 'Sequence[str]' = (), correction: 'Correction' = 'syntax') "
        "-> 'AppliedAnswer'"
    ),
    "parse": (
        "(text: 'str | bytes', project: 'Path | str | None' = None, *, dialects: 'Collection[str]' = (), "
        "finish: 'StopReason' = 'end_turn') -> 'ParsedAnswer'"
    ),
    "run_job": "(spec: 'JobSpec') -> 'JobResult'",
    "run": (
        "(task: 'str', project: 'Path | str' = '.', *, model: 'str', approve: 'Approves', agent: 'str' = 'coder', "
        "previous_tool_output: 'str' = '', on_event: 'Callable[[Mapping[str, Json]], object]' = <lambda>) -> 'Ending'"
    ),
    "validate": "(request: 'RawRequest', project: 'Path | str') -> 'ToolRequest | Sequence[Refusal]'",
    "Gate": (
        "(project: 'Path | str', *, strict: 'bool' = False, profile: 'str' = 'import', "
        "pool: 'PythonPool | None' = None, wait: 'bool' = False, settings_agreed: 'bool' = False) -> 'None'"
    ),
    "Gate.check_contents": "(self, contents: 'Mapping[str, str | bytes | None]') -> 'Verdict'",
    "Gate.check_files": (
        "(self, paths: 'Sequence[WorkspacePath]', *, base: 'str | None' = None, fix: 'bool' = False, "
        "staged: 'bool' = False, deleted: 'Sequence[WorkspacePath]' = (), "
        "missed: 'Sequence[NotChecked]' = (), executing: 'bool' = True, "
        "whole: 'Collection[WorkspacePath]' = ()) -> 'Verdict'"
    ),
    "Gate.judge": (
        "(self, changes: 'ChangeSet', *, agent: 'str' = '', author: 'Author | None' = None, "
        "base: 'str | None' = None, fix: 'bool' = True, final: 'bool' = True) -> 'Verdict'"
    ),
    "AppliedAnswer": (
        "(status: Literal['applied', 'refused', 'denied', 'partial', 'error'], "
        "changes: tuple[rails.core.changes.ChangedFile, ...] = (), "
        "refusals: tuple[rails.core.errors.Refusal, ...] = (), "
        "verdict: rails.core.verdict.Verdict | None = None, previous_tool_output: str = '', session_id: str = '', "
        "edits: tuple[rails.core.changes.EditResult, ...] = ())"
    ),
}
WRITE = '```json\n{"tool": "write_file", "path": "notes.md", "content": "# Notes\\n"}\n```\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return folder


def files_of(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in (".git", ".rails"))


def test_what_is_public_is_listed_and_importable():
    assert set(rails.__all__) == {
        *("AppliedAnswer", "Gate", "JobResult", "JobSpec", "RailsError", "__version__"),
        *("apply", "parse", "run", "run_job", "validate"),
    }
    for name in rails.__all__:
        assert name in dir(rails)
        assert getattr(rails, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        rails.nothing  # noqa: B018


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_public_signature_changes_on_purpose_only(name):
    found = rails
    for part in name.split("."):
        found = getattr(found, part)
    shown = re.sub(r"<function <lambda> at \w+>", "<lambda>", str(inspect.signature(found)))
    assert shown == SIGNATURES[name]


def test_nothing_is_imported_before_a_public_name_is_used():
    loaded = "print([m for m in sys.modules if m.startswith('rails.')])"
    code = f"import sys, rails; {loaded}; from rails import Gate; print(Gate)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n<class 'rails.gate.gate.Gate'>\n"


def test_the_package_imports_for_types_only_and_just_what_is_public():
    tree = ast.parse((ROOT / "rails/__init__.py").read_text("utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(guarded.test) == "TYPE_CHECKING"
    names = {alias.asname or alias.name for node in guarded.body for alias in node.names}
    assert names == set(rails._PLACES) == set(rails.__all__) - {"__version__"}
    outside = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node not in guarded.body]
    assert outside == ["typing", "importlib"]


def test_the_examples_of_the_page_run(project, capsys):
    assert len(EXAMPLES) == 5
    names = {}
    edit = {"tool": "write_file", "path": "notes.md", "content": "# More\n"}
    recorded = [f"```json\n{json.dumps(edit)}\n```\n", "notes.md has a heading now."]
    lines = [{"role": "assistant", "content": text, "stop_reason": "end_turn"} for text in recorded]
    (project / "answers.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    for example in EXAMPLES:
        exec(compile(example, "docs/python-api.md", "exec"), names)
    out = capsys.readouterr().out
    assert out.startswith("fail\nshop.py:")
    assert "F821" in out
    assert "write_file {'file_path': 'notes.md', 'content': '# Notes\\n'}" in out or "write_file {'path'" in out
    assert "applied ['notes.md']" in out
    assert "ToolRequest(" in out
    assert "end\nchanged " in out
    assert (project / "notes.md").read_text("utf-8") == "# More\n"


def test_contents_are_compared_with_what_is_on_disk_and_stay_unwritten(project):
    (project / "old.py").write_text("import os\n", "utf-8")
    with rails.Gate(str(project)) as gate:
        assert gate.check_contents({"old.py": "import os\n\nx = 1\n"}).status == "pass"
        assert gate.check_contents({"old.py": b"import os\n\nprint(nothing)\n"}).status == "fail"
        assert gate.check_contents({"old.py": None}).status == "pass"
        for path in ("../out.py", "", "/etc/passwd"):
            with pytest.raises(UsageError, match="Nothing was checked"):
                gate.check_contents({path: ""})
        (project / "link.py").symlink_to(project / "old.py")
        with pytest.raises(UsageError, match="cannot be compared"):
            gate.check_contents({"link.py": ""})
    assert (project / "old.py").read_text("utf-8") == "import os\n"


@pytest.mark.parametrize("said", [False, None, 1, "yes", "approve"])
def test_nothing_but_true_is_a_yes(project, said):
    result = rails.apply(WRITE, project, approve=lambda _: said)
    assert result.status == "denied"
    assert result.changes == ()
    assert "did not approve" in result.previous_tool_output
    assert files_of(project) == []


def test_an_exception_of_the_one_who_is_asked_writes_nothing(project):
    def approve(request):
        raise RuntimeError(request.digest)

    with pytest.raises(RuntimeError):
        rails.apply(WRITE, project, approve=approve)
    assert files_of(project) == []


def test_nobody_is_asked_about_what_fails_the_gate(project):
    bad = WRITE.replace("notes.md", "a.py").replace("# Notes", "print(nothing)")
    asked = []
    result = rails.apply(bad, project, approve=lambda request: asked.append(request) or True)
    assert (result.status, asked) == ("refused", [])
    assert {finding.rule for finding in result.verdict.findings} >= {"F821"}
    assert "F821" in result.previous_tool_output
    assert files_of(project) == []


def test_an_answer_without_a_request_says_so(project):
    result = rails.apply("All is well.", project, approve=lambda _: True)
    assert (result.status, [refusal.code for refusal in result.refusals]) == ("refused", ["no_request"])


def test_what_was_applied_is_in_the_log_and_can_be_undone(project):
    from rails.cli import main

    result = rails.apply(WRITE, project, approve=lambda request: request.kind == "changes")
    assert result.status == "applied"
    assert [(change.path, change.kind) for change in result.changes] == [("notes.md", "create")]
    assert (project / ".rails/sessions" / result.session_id / "log.jsonl").is_file()
    assert main(["undo", result.session_id, "--project", str(project)]) == 0
    assert files_of(project) == []


def test_a_project_that_is_none_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="is not a folder"):
        rails.apply(WRITE, tmp_path / "nowhere", approve=lambda _: True)
    with pytest.raises(UsageError, match="is not a folder"):
        rails.parse(WRITE, tmp_path / "nowhere")


def test_a_run_asks_the_function_and_says_how_it_ended(project):
    line = {"role": "assistant", "content": WRITE, "stop_reason": "end_turn"}
    (project / "answers.jsonl").write_text(f"{json.dumps(line)}\n" * 4, "utf-8")
    asked, seen = [], []
    ending = rails.run(
        "x", project, model="recorded:answers.jsonl", approve=lambda one: bool(asked.append(one)), on_event=seen.append
    )
    assert asked
    assert ending.outcome == "gave_up"
    assert (seen[0]["type"], seen[-1]["type"], seen[-1]["outcome"]) == ("session", "end", "gave_up")
    assert not (project / "notes.md").exists()


def test_a_request_is_judged_by_its_schema_and_nothing_runs(project):
    (request,) = rails.parse(WRITE).requests
    assert rails.validate(request, project).parameters["content"] == "# Notes\n"
    bad = rails.parse(WRITE.replace('"content"', '"contents_of"')).requests[0]
    assert "content" in " ".join(refusal.message for refusal in rails.validate(bad, project))
    assert files_of(project) == []


def test_an_answer_that_changes_nothing_is_no_change(project, capsys):
    from rails.cli import main

    (project / "notes.md").write_text("# Notes\n", "utf-8")
    (project / "answer.md").write_text(WRITE, "utf-8")
    assert main(["apply", "answer.md"]) == 0
    assert "No changes" in capsys.readouterr().out
    assert main(["review"]) == 0
    assert "unchanged" in capsys.readouterr().out
