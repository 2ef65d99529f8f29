"""The state of a question follows from the log: an end without an answer is a state of its own."""

from rails.projections.live import Live
from rails.review.questions import ApprovalQuestions
from tests.rows import walked

OPENED = ("APPROVAL_OPENED", {"id": "t1.1", "digest": "d" * 64, "requests": [{"id": "t1.1"}, {"id": "t1.2"}]})
EDITED = ("APPROVAL_OPENED", {"id": "t1.1", "digest": "e" * 64, "replaces": 1})


def fold(log, *events):
    questions = ApprovalQuestions()
    for record in log.records(*events):
        questions.add(record)
    return questions


def closed(state):
    return ("APPROVAL_CLOSED", {"id": "t1.1", "digest": "d" * 64, "question": 1, "state": state})


def stale(log):
    return ("TOOL_EXECUTION_RESULT", {"ids": ["t1.1"], "ok": False, "text": "stale", "changes": []})


def test_a_question_waits_until_something_ends_it(log):
    assert fold(log, OPENED).open.number == 1
    assert fold(log, OPENED, log.call(2)).open.number == 1
    assert fold(log).open is None


@walked(
    ("ending", "state"),
    [
        (("HUMAN_DECISION", {"id": "t1.1", "answer": "approve", "by": "human"}), "approved"),
        (("HUMAN_DECISION", {"id": "t1.1", "answer": "deny", "reason": "no"}), "denied"),
        (("HUMAN_DECISION", {"id": "t1.1", "answer": "abort"}), "stopped"),
        (closed("expired"), "expired"),
        (closed("anything"), "withdrawn"),
        (("SESSION_RESUMED", {}), "withdrawn"),
        (("WORKFLOW_END", {}), "withdrawn"),
        (OPENED, "withdrawn"),
        (EDITED, "replaced"),
    ],
)
def test_each_ending_has_its_own_state(log, ending, state):
    questions = fold(log, OPENED, ending)
    assert questions.get(1).state == state
    assert (questions.open is None) is (ending[0] != "APPROVAL_OPENED")
    assert questions.get(1).words


def test_an_approval_whose_file_had_changed_is_stale(log):
    yes = ("HUMAN_DECISION", {"id": "t1.1", "answer": "approve", "by": "human"})
    assert fold(log, OPENED, yes, stale(log)).get(1).state == "stale"
    assert fold(log, OPENED, yes, log.written()).get(1).state == "approved"


def test_a_decision_about_something_else_ends_nothing(log):
    assert fold(log, OPENED, ("HUMAN_DECISION", {"id": "t9.9", "answer": "approve"})).open


def signals(log, *events):
    live = Live()
    return [(signal.kind, signal.data) for record in log.records(*events) for signal in live.add(record)]


def test_what_waits_is_said_of_every_request_of_the_question(log):
    status = [data for kind, data in signals(log, OPENED) if kind == "json-tool-status"]
    assert [(data["toolId"], data["status"]) for data in status] == [("t1.1", "waiting"), ("t1.2", "waiting")]
    assert status[0]["statusMessage"] == "Waiting for approval"


def test_a_failed_check_and_a_denial_say_why(log):
    gate = ("GATE_VERDICT", {"ids": ["t1.1"], "status": "fail", "findings": [log.FINDING, log.FINDING]})
    denied = ("HUMAN_DECISION", {"id": "t1.1", "answer": "deny", "reason": "use argparse"})
    words = [data["statusMessage"] for kind, data in signals(log, gate, OPENED, denied) if kind == "json-tool-status"]
    assert words[0] == "2 findings"
    assert words[-1] == "Denied: use argparse"


def test_odd_records_are_no_obstacle(log):
    for kind in ("TOOL_STATUS", "TOOL_BLOCK", "GATE_VERDICT", "APPROVAL_OPENED", "HUMAN_DECISION", "FEEDBACK_SENT"):
        for details in ({}, {"ids": 7, "requests": ["x"], "usage": [], "findings": {}}):
            assert isinstance(signals(log, (kind, details)), list)
            fold(log, (kind, details))
