"""A whole session in one call: a scripted model, scripted approvals, real files, the real gate and log."""

import json
from dataclasses import dataclass
from importlib import resources
from io import StringIO
from pathlib import Path

import jsonschema
import pytest

from rails.approval.terminal.scripted import ScriptedApprover
from rails.commands.live import ProgressScreen
from rails.core.outcomes import outcome_for
from rails.edits.builtin_runners import BUILTIN_RUNNERS
from rails.log.reader import read_strict, sessions
from rails.log.session_stats import SessionStats
from rails.log.writer import SessionLog
from rails.projections.live import Live
from rails.projections.session import session_view
from rails.review.html import render_html
from rails.session.job import Ending, SessionJob, log_session_start
from rails.session.resume import where
from rails.session.run import Session
from rails.testing import ScriptedModel

from ..shipped import registry_with, shipped_agents


@dataclass
class Worked:
    """What a session left behind."""

    project: Path
    ending: Ending
    records: tuple
    model: ScriptedModel
    #: What somebody who watches reads.
    shown: str = ""

    def events(self, kind):
        return [record.details for record in self.records if record.event_type == kind]

    @property
    def told(self):
        """The texts that the model was sent back, in order."""
        return [facts["text"] for facts in self.events("FEEDBACK_SENT")]


SCHEMA = json.loads(resources.files("rails.projections").joinpath("event.schema.json").read_text("utf-8"))
EVENT = jsonschema.Draft202012Validator(SCHEMA)


def shown(records, outcome):
    """Return a session as the terminal shows it: screen, list, page and stream show every record, and one outcome."""
    screen = ProgressScreen(StringIO(), debug=True)
    live = Live()
    stats = SessionStats("")
    ended = ""
    for record in records:
        screen(record)
        stats.add(record)
        for signal in live.add(record):
            EVENT.validate(json.loads(json.dumps(signal.to_json())))
            ended = signal.data["outcome"] if signal.kind == "end" else ended
    view = session_view(records)
    assert "</html>" in render_html(view)
    assert stats.ending == view.ending == ended == outcome_for(outcome)
    return screen.out.getvalue()


@pytest.fixture(autouse=True)
def workers(shared_workers):
    """No session here starts Python workers of its own."""


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_LANG", "en")
    project = tmp_path / "project"
    project.mkdir()

    def session(
        answers,
        approvals,
        watch,
        wait,
        job,
        open_log,
        approver=None,
        human=None,
        stronger=None,
        overseer=None,
        talk=None,
    ):
        model = ScriptedModel(list(answers))
        own = tmp_path / "own"
        registry = registry_with(own, project / "mcp_definitions", trusted_folders=[own]).with_runners(BUILTIN_RUNNERS)
        agents = shipped_agents()
        task = SessionJob(project, **{"tasks": (("coder", "the task"),), **job})
        with open_log(task, model) as log:
            standing = where(project, log) if open_log is reopened else None
            asked = approver or ScriptedApprover(list(approvals))
            one = Session(task, log, registry, agents, model.for_agent, asked, watch=watch, wait=wait, human=human)
            one.stronger_for = lambda _: stronger
            one.monitor.model = overseer
            one.talk = talk
            done = Worked(project, one.run(standing), read_strict(log.path), model)
            done.shown = shown(done.records, done.ending.outcome)
            return done

    def created(task, model):
        log = SessionLog.create(project / ".rails")
        log_session_start(task, log, model.name)
        return log

    def reopened(_task, _model):
        return SessionLog.reopen(project / ".rails", sessions(project / ".rails")[-1].session_id)

    def run(*answers, approvals=(), approver=None, watch=lambda _: None, wait=lambda _: None, **more):
        human, stronger, overseer, talk = (more.pop(name, None) for name in ("human", "stronger", "overseer", "talk"))
        return session(answers, approvals, watch, wait, more, created, approver, human, stronger, overseer, talk)

    def resume(*answers, approvals=(), watch=lambda _: None, wait=lambda _: None, **more):
        human, stronger, overseer = (more.pop(name, None) for name in ("human", "stronger", "overseer"))
        return session(answers, approvals, watch, wait, more, reopened, None, human, stronger, overseer)

    run.project = project
    run.own = tmp_path / "own"  # the user's own definitions: what they start is not contained
    run.resume = resume
    return run
