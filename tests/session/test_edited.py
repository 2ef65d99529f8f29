"""A human changes the proposal before approving it: what is written is theirs, and the agent is told exactly."""

import json

from rails.approval.decision import Decision
from rails.approval.edit import edited
from rails.gate.gate import Gate


def write(path, content):
    return f"```json\n{json.dumps({'tool': 'write_file', 'path': path, 'content': content})}\n```\n"


class Editor:
    """Approves with other content, which the gate has judged again."""

    def __init__(self, project, content):
        self.project = project
        self.content = content

    def decide(self, request):
        with Gate(self.project) as gate:
            again = edited(request, {change.path: self.content for change in request.changes.changes}, gate.judge)
        return Decision("approve", "", "human", edited=again, of=again.digest)


def test_the_humans_text_is_written_and_the_agent_is_told_what_differs(work):
    done = work(write("a.txt", "agent\n"), "I see.", approver=Editor(work.project, b"human\n"))
    assert (done.project / "a.txt").read_text("utf-8") == "human\n"
    assert "The human changed your proposal" in done.told[0]
    assert "-agent" in done.told[0]
    assert "+human" in done.told[0]


def test_the_log_holds_what_was_approved_and_not_only_what_was_proposed(work):
    done = work(write("a.txt", "agent\n"), "I see.", approver=Editor(work.project, b"human\n"))
    assert "+human" in done.events("HUMAN_DECISION")[0]["account"]
    started = done.events("EXECUTION_STARTED")[0]
    result = done.events("TOOL_EXECUTION_RESULT")[0]
    assert started["changes"] == result["changes"]
