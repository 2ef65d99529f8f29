"""A chain that escalates and is killed at any of its own records goes on to the same end."""

import json

import pytest

from rails.approval.terminal.scripted import ScriptedApprover
from rails.log.reader import read_strict, sessions, verify
from rails.log.writer import SessionLog
from rails.models.providers import open_model
from rails.session.job import SessionJob, log_session_start
from rails.session.resume import where
from rails.session.run import Session
from rails.testing import ScriptedHuman

from ..shipped import registry_with, shipped_agents

#: Records that begin or end something which a resumed session must not do twice, or must not leave out.
STEPS = {
    *("AGENT_ENGAGE", "AGENT_FINISHED", "HANDOFF", "HUMAN_STEERED", "ESCALATION", "ERROR", "CHANGE_REFUSED"),
    *("LLM_RESPONSE", "TOOL_EXECUTION_RESULT", "WORKFLOW_START", "WORKFLOW_END"),
}


class Killed(BaseException):
    """Nothing is cleaned up, nothing more is logged."""


def edit(old, new):
    parameters = {"file_path": "a.txt", "old_string": old, "new_string": new}
    body = {"type": "tool_request", "tool_name": "edit_file", "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


HEADINGS = "Title|Problem Statement|Solution Vision|Requirements|Proposed Implementation Plan|Open Questions"
PLAN = "\n\n".join(f"## {heading}\n\nSay two." for heading in HEADINGS.split("|"))
REVIEW = "## Summary\n\nPASS\n\n## Findings\n\nNone"
WEAK = [("planning", PLAN), ("coder", edit("no", "x")), ("coder", edit("nor this", "x")), ("code-review", REVIEW)]
STRONG = [("coder", edit("one", "two")), ("coder", "Done.")]


@pytest.fixture
def chain(tmp_path):
    registry = registry_with()
    agents = shipped_agents()

    def recording(name, lines):
        text = "".join(json.dumps({"agent": who, "role": "assistant", "content": said}) + "\n" for who, said in lines)
        (tmp_path / name).write_text(text, "utf-8")
        return open_model(f"recorded:{tmp_path / name}")

    weak = recording("weak.jsonl", WEAK)
    strong = recording("strong.jsonl", STRONG)

    def fresh(name):
        project = tmp_path / name
        project.mkdir()
        (project / "a.txt").write_text("one\n", "utf-8")
        return project

    def go(project, *, agree="yes", kill_after=None, resume=False):
        tasks = (("planning", "plan it"), ("coder", "do it"), ("code-review", "look at it"))
        job = SessionJob(project, tasks, max_attempts=1, escalate="model", handoffs="ask")
        seen = []

        def watch(record):
            seen.append(record)
            if len(seen) == kill_after:
                raise Killed

        class Human(ScriptedHuman):
            """Decides by what it is asked."""

            def answer(self, question):
                self.answers = [*self.answers, agree if question.about == "stronger_model" else "go"]
                return super().answer(question)

        state = project / ".rails"
        log = SessionLog.reopen(state, sessions(state)[-1].session_id) if resume else SessionLog.create(state)
        with log:
            if not resume:
                log_session_start(job, log, weak.name)
            standing = where(project, log) if resume else None
            approver = ScriptedApprover(["approve"])
            session = Session(job, log, registry, agents, weak.for_agent, approver, watch=watch, human=Human())
            session.stronger_for = strong.for_agent
            session.wait = lambda _: None
            return session.run(standing), log.path, seen

    go.fresh = fresh
    return go


def left(project):
    """What a session leaves: the project's files, the numbered ones and those approved, without its own name."""
    found = {
        str(file.relative_to(folder)): file.read_text("utf-8")
        .replace(folder.name, "SESSION")
        .replace(str(project), "PROJECT")
        for folder in project.glob(".rails/handoffs/*")
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    return {"a.txt": (project / "a.txt").read_text("utf-8"), **found}


@pytest.mark.parametrize(("agree", "outcome"), [("yes", "changed"), ("no", "gave_up")])
def test_a_chain_killed_at_any_step_ends_as_if_it_had_not_been(chain, agree, outcome):
    whole = chain.fresh("whole")
    ending, _, records = chain(whole, agree=agree)
    assert ending.outcome == outcome, ending.message
    expected = left(whole)
    if outcome == "changed":
        assert list(expected) == [
            "a.txt",
            "00_task.md",
            "01_planning_output.md",
            "02_for_coder.md",
            "03_coder_output.md",
            "04_for_code-review.md",
            "05_code-review_output.md",
            "06_final_approved/a.txt",
        ]
        assert "- a.txt (modify)" in expected["04_for_code-review.md"]
    numbers = [n for n, record in enumerate(records, 1) if record.event_type in STEPS]
    for number in numbers if agree == "yes" else numbers[-8:]:
        project = chain.fresh(f"killed{number}")
        with pytest.raises(Killed):
            chain(project, agree=agree, kill_after=number)
        log_path = next((project / ".rails" / "sessions").glob("*/log.jsonl"))
        what = f"killed after record {number}, {records[number - 1].event_type}"
        if read_strict(log_path)[-1].event_type != "WORKFLOW_END":
            assert chain(project, agree=agree, resume=True)[0].outcome == outcome, what
        assert verify(log_path), what
        found = left(project)
        if outcome == "gave_up":  # how often something failed is told from the log, which tells of it again
            assert list(found) == list(expected), what
        else:
            assert found == expected, what
