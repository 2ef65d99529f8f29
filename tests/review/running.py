"""A real run that waits in a thread, for tests of whoever answers it from outside."""

import json
import threading

from rails.approval.pending import PendingAnswers
from rails.approval.policy.grants import Grants
from rails.approval.policy.policy import PolicyApprover
from rails.approval.policy.rules import Policy
from rails.approval.queue import ApprovalQueue
from rails.gate.gate import Gate
from rails.log.reader import read_strict
from rails.log.writer import SessionLog
from rails.session.job import SessionJob, log_session_start
from rails.session.resume import where
from rails.session.run import Session
from rails.testing import ScriptedModel

from ..shipped import registry_with, shipped_agents

KEY = b"k" * 32


def tool(name, **parameters):
    """A model's answer that asks for one tool."""
    block = json.dumps({"tool": name, "parameters": parameters, "explanation": parameters.pop("why", "because")})
    return f"I do it.\n\n```json\n{block}\n```\n"


class Run:
    """A session in a thread: a scripted model, the real gate, log and files, and the queue that asks."""

    def __init__(self, project, *answers, here=None, page=True, patience_s=None, session=None):
        self.project = project
        self.state = project / ".rails"
        self.grants = Grants()
        gate = Gate(project)
        self.queue = ApprovalQueue(judge=gate.judge, grants=self.grants, page_waits=page, patience_s=patience_s)
        if here is not None:
            self.queue.here = here(self.queue.answered_elsewhere)
        registry = registry_with(project / "mcp_definitions")
        agents = shipped_agents()
        model = ScriptedModel([*answers, "Done."])
        job = SessionJob(project, (("coder", "the task"),))
        if session is None:
            self.log = SessionLog.create(self.state)
            self.resumed = None
            log_session_start(job, self.log, model.name)
        else:
            self.log = SessionLog.reopen(self.state, session)
            self.resumed = where(project, self.log)
        self.id = self.log.session_id
        approver = PolicyApprover(Policy(), self.queue, self.grants)
        self.session = Session(job, self.log, registry, agents, model.for_agent, approver, gate=gate)
        self.ending = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        box = PendingAnswers(self.state, self.id, KEY)
        box.listen()
        self.queue.open(box, self.session.publish)
        with self.log:
            self.ending = self.session.run(self.resumed)

    def begin(self):
        self.thread.start()
        return self

    def end(self, patience=60):
        self.thread.join(patience)
        assert not self.thread.is_alive(), "the run did not end"
        return self.ending

    def events(self, kind):
        return [record.details for record in read_strict(self.log.path) if record.event_type == kind]
