"""A session that is killed after any record goes on to the same end, and does nothing twice."""

import json

import pytest

from rails.approval.decision import Decision
from rails.log.reader import read_strict, sessions, verify
from rails.log.writer import SessionLog
from rails.models.providers import open_model
from rails.session.job import SessionJob, log_session_start
from rails.session.resume import where
from rails.session.run import Session

from ..shipped import registry_with, shipped_agents

GREET = "Hello, you\n"
COUNT = {
    "tool_name": "count",
    "description": "Note that this ran.",
    "request_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    "transport": {"type": "command", "command": ["sh", "-c", "echo ran >> count.log"]},
    "access_control": {"coder": "permissioned_access"},
}


class Killed(BaseException):
    """What a kill looks like to the code under test: nothing is cleaned up, nothing more is logged."""


def request(tool, parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def edit(new):
    return request("edit_file", {"file_path": "greet.txt", "old_string": "Hello", "new_string": new})


ANSWERS = [
    request("read_file", {"file_path": "greet.txt"}),
    edit("Good morning"),
    edit("Hi") + request("write_file", {"file_path": "notes.txt", "content": "changed\n"}),
    request("count", {}),
    "Done.",
]


class Judge:
    """Decides by what it is asked, so that it answers a resumed session as it answered the first."""

    def decide(self, asked):
        text = b"".join(change.after or b"" for change in asked.changes.changes)
        if b"Good morning" in text:
            return Decision("deny", "Shorter, please.", "judge")
        return Decision("approve", "", "judge")


GLM = """\
<tool_call>write_file
<arg_key>file_path</arg_key>
<arg_value>notes.txt</arg_value>
<arg_key>content</arg_key>
<arg_value>new</arg_value>
</tool_call>
"""


def record(file, answers):
    lines = (json.dumps({"agent": "coder", "role": "assistant", "content": text}) for text in answers)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.fixture
def run(tmp_path):
    record(tmp_path / "answers.jsonl", ANSWERS)
    own = tmp_path / "mcp_definitions"  # as the user's own: what it starts is not contained
    own.mkdir()
    (own / "count.json").write_text(json.dumps(COUNT), "utf-8")
    registry = registry_with(own, trusted_folders=[own])

    def fresh(name):
        project = tmp_path / name
        project.mkdir()
        (project / "greet.txt").write_text(GREET, "utf-8")
        return project

    def go(project, *, kill_after=None, resume=False, recording="answers.jsonl"):
        agents = shipped_agents()
        model = open_model(f"recorded:{tmp_path / recording}")
        job = SessionJob(project, (("coder", "the task"),))
        seen = []

        def watch(record):
            seen.append(record)
            if kill_after is not None and len(seen) == kill_after:
                raise Killed

        state = project / ".rails"
        log = SessionLog.reopen(state, sessions(state)[-1].session_id) if resume else SessionLog.create(state)
        with log:
            if not resume:
                log_session_start(job, log, model.name)
            standing = where(project, log) if resume else None
            Session(job, log, registry, agents, model.for_agent, Judge(), watch=watch).run(standing)
        return log.path, seen

    go.fresh = fresh
    return go


def files_of(project):
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and ".rails" not in path.parts
    }


def test_a_session_killed_after_any_record_ends_as_if_it_had_not_been(run):
    whole = run.fresh("whole")
    _, records = run(whole)
    expected = files_of(whole)
    assert expected["count.log"] == b"ran\n"
    assert b"Hi, " in expected["greet.txt"]

    for number in range(1, len(records) + 1):
        project = run.fresh(f"killed{number}")
        with pytest.raises(Killed):
            run(project, kill_after=number)
        log_path = next((project / ".rails" / "sessions").glob("*/log.jsonl"))
        if read_strict(log_path)[-1].event_type != "WORKFLOW_END":
            run(project, resume=True)
        found = files_of(project)
        event = records[number - 1]
        what = f"killed after record {number}, {event.event_type}"
        assert verify(log_path), what
        if event.event_type == "EXECUTION_STARTED" and event.details.get("tool") == "count":
            assert "count.log" not in found, "a command that was begun is in doubt and never run again by itself"
            found["count.log"] = expected["count.log"]
        assert found == expected, what


def test_a_command_in_doubt_is_told_to_the_agent(run):
    project = run.fresh("doubt")
    _, records = run(run.fresh("whole"))
    number = next(
        n for n, r in enumerate(records, 1) if r.event_type == "EXECUTION_STARTED" and r.details.get("tool") == "count"
    )
    with pytest.raises(Killed):
        run(project, kill_after=number)
    log_path, _ = run(project, resume=True)
    told = [record.details["text"] for record in read_strict(log_path) if record.event_type == "FEEDBACK_SENT"]
    assert "nobody knows whether it finished" in told[-1]


def test_an_answer_in_a_models_own_form_is_read_so_after_a_kill_too(run, tmp_path):
    record(tmp_path / "glm-5.jsonl", [GLM, "Done."])
    _, records = run(run.fresh("whole"), recording="glm-5.jsonl")
    answered = 1 + [record.event_type for record in records].index("LLM_RESPONSE")
    project = run.fresh("killed")
    with pytest.raises(Killed):
        run(project, recording="glm-5.jsonl", kill_after=answered)
    run(project, recording="glm-5.jsonl", resume=True)
    assert files_of(project)["notes.txt"] == b"new"
