"""Whole sessions from files: a project, recorded answers, scripted approvals; then files and log are compared."""

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rails.agents.template import load_agents
from rails.approval.terminal.scripted import ScriptedApprover
from rails.core.app_dirs import builtin_folder
from rails.core.events.base import UnknownEvent
from rails.core.events.record import event_of
from rails.core.text import one_line
from rails.log import event_codec
from rails.log.reader import read_lenient, read_strict, verify
from rails.log.writer import SessionLog
from rails.models.providers import open_model
from rails.session.job import SessionJob, log_session_start
from rails.session.plan_files import begin, find_plan, save_plan
from rails.session.run import Session
from rails.testing import ScriptedHuman
from rails.tools.loader import load_definitions

pytestmark = pytest.mark.usefixtures("shared_workers")
SCENARIOS = Path(__file__).parent / "scenarios"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
# What differs from run to run, and what says the same as "text" beside it.
VOLATILE = {
    *("duration_ms", "seconds", "at", "version", "versions", "digest", "project", "system", "first_message", "model"),
    *("content", "reply", "usage", "role", "timestamp"),
}


@functools.cache
def shipped_agents():
    return load_agents([builtin_folder("agent_templates")])


def cases():
    return sorted(path.parent for path in SCENARIOS.glob("*/scenario.json"))


def git(folder, *words):
    identity = ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def fresh_project(case, tmp_path):
    project = tmp_path / "project"
    if (case / "project").is_dir():
        shutil.copytree(case / "project", project)
    else:
        project.mkdir()
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "--allow-empty", "-m", "before")
    return project


def run_scenario(case, project):
    script = json.loads((case / "scenario.json").read_text("utf-8"))
    registry = load_definitions(
        [builtin_folder("mcp_definitions"), *filter(Path.is_dir, [project / "mcp_definitions"])]
    ).without("fetch_webpage")
    agents = dict(shipped_agents())
    model = open_model(f"recorded:{case / 'answers.jsonl'}")
    plan = kick_off(script["kickoff"], project) if "kickoff" in script else None
    job = SessionJob(
        project,
        tuple((t["agent"], t["task"]) for t in script["tasks"]),
        max_attempts=script.get("max_attempts"),
        escalate=script.get("escalate", "off"),
        handoffs=script.get("handoffs", "go"),
        handed=f"The plan ({plan.path.name}):\n{plan.text}" if plan else "",
        plan=plan.path.parent.name if plan else "",
    )
    approver = ScriptedApprover(script.get("approvals", []))
    human = ScriptedHuman(script["human"]) if "human" in script else None

    def keep(record):
        if plan and record.event_type == "AGENT_FINISHED" and record.agent_role == "planning":
            save_plan(plan, record.details["result"])

    with SessionLog.create(project / ".rails") as log:
        log_session_start(job, log, model.name)
        ending = Session(job, log, registry, agents, model.for_agent, approver, watch=keep, human=human).run()
        return script, ending, log.path, approver


def kick_off(given, project):
    """Begin as ``ai-rails feature|takeover`` does, and find the page as ``--plan`` does."""
    begin(given["kind"], project, given["name"], given["summary"])
    return find_plan(project, given["name"])


def numbered(project):
    """The session's hand-off files, without its name and the project's place."""
    return {
        file.name: file.read_text("utf-8").replace(file.parent.name, "SESSION").replace(str(project), "PROJECT")
        for file in sorted(project.glob(".rails/handoffs/*/*"))
        if file.is_file()
    }


def scrub(value):
    if isinstance(value, dict):
        return {name: scrub(item) for name, item in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [scrub(item) for item in value]
    return re.sub(r"bubblewrap [0-9.]+", "bubblewrap 0.8", value) if isinstance(value, str) else value


def golden(records):
    kept = []
    for record in records:
        details = scrub(dict(record.details))
        if record.event_type == "GATE_VERDICT":
            details["checks"] = sorted(check["name"] for check in details["checks"])
        message = record.message if record.event_type not in ("LLM_CALL", "LLM_RESPONSE") else ""
        kept.append(
            {"event": record.event_type, "agent": record.agent_role, "message": scrub(message), "details": details}
        )
    return kept


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in (".git", ".rails")
    }


def assert_read_back(record):
    """A record gives one event that says the same."""
    event = event_of(record.event_type, record.message, record.details)
    assert not isinstance(event, UnknownEvent)
    assert event.type == record.event_type
    assert event_codec.dumps(event.to_json()) == event_codec.dumps(record.details), record.event_type
    assert one_line(event.message, 1_000) == record.message


@pytest.mark.parametrize("case", cases(), ids=lambda path: path.name)
def test_a_session_ends_with_the_expected_files_and_log(case, tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_LANG", json.loads((case / "scenario.json").read_text("utf-8")).get("lang", "en"))
    project = fresh_project(case, tmp_path)
    before = (
        git(project, "status", "--porcelain"),
        git(project, "rev-parse", "HEAD"),
        (project / ".git/index").read_bytes(),
    )
    script, ending, log_path, approver = run_scenario(case, project)
    records = read_strict(log_path)

    assert ending.outcome == script["outcome"], ending.message
    assert approver.remaining == 0, "the session asked less often than the script foresees"
    found = [json.dumps(item, ensure_ascii=False, sort_keys=True) for item in golden(records)]
    if UPDATE:
        shutil.rmtree(case / "expected", ignore_errors=True)
        for name, data in files_of(project).items():
            (case / "expected" / name).parent.mkdir(parents=True, exist_ok=True)
            (case / "expected" / name).write_bytes(data)
        (case / "log.jsonl").write_text("\n".join(found) + "\n", "utf-8")
        shutil.rmtree(case / "handoffs", ignore_errors=True)
        for name, text in numbered(project).items():
            (case / "handoffs").mkdir(exist_ok=True)
            (case / "handoffs" / name).write_text(text, "utf-8")
    expected = files_of(case / "expected") if (case / "expected").is_dir() else {}
    assert files_of(project) == expected
    assert numbered(project) == {file.name: file.read_text("utf-8") for file in sorted(case.glob("handoffs/*"))}
    assert found == (case / "log.jsonl").read_text("utf-8").splitlines()

    for record in (*records, *read_lenient(log_path)[0]):
        assert_read_back(record)
    assert verify(log_path)
    assert git(project, "rev-parse", "HEAD") == before[1], "the user's branch moved"
    assert (project / ".git/index").read_bytes() == before[2], "the user's index changed"
    assert ".rails" not in git(project, "status", "--porcelain"), "our state shows up in the user's git"
