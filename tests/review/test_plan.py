"""The plan of a session: its agents in order, which is done, which is at work, and how far it is."""

from rails.projections.progress import current_step_text, plan_of
from rails.projections.session import session_view
from rails.review.html_plan import plan_html
from tests.rows import walked

CHAIN = [{"agent": name, "task": f"{name}'s part"} for name in ("planner", "coder", "reviewer")]
START = ("WORKFLOW_START", {"task": "due dates", "tasks": CHAIN})


def engaged(agent):
    return ("AGENT_ENGAGE", {"agent": agent, "task": "…", "agent_role": agent})


def over(outcome="done"):
    return ("AGENT_FINISHED", {"outcome": outcome})


def told(attempt, limit=3):
    return ("FEEDBACK_SENT", {"attempt": attempt, "limit": limit, "codes": ["schema"]})


def steered(**facts):
    return ("HUMAN_STEERED", {"about": "handoff", "by": "human", **facts})


HANDOFF = ("HANDOFF", {"sender": "planner", "receiver": "coder", "file": "02_for_coder.md"})
FIRST_DONE = (START, engaged("planner"), over(), HANDOFF, steered(answer="go", edited=True), engaged("coder"))


def plan(log, *events):
    return plan_of(log.records(*events))


def test_a_session_that_began_has_everything_to_come(log):
    assert [(step.agent, step.task, step.state) for step in plan(log, START)] == [
        ("planner", "planner's part", "next"),
        ("coder", "coder's part", "next"),
        ("reviewer", "reviewer's part", "next"),
    ]


def test_what_is_done_at_work_and_to_come_is_told_apart(log):
    steps = plan(log, *FIRST_DONE, told(1), told(2))
    assert [step.state for step in steps] == ["done", "working", "next"]
    assert (steps[0].handoff, steps[0].receiver, steps[0].handed, steps[0].by) == (
        "02_for_coder.md",
        "coder",
        "edited",
        "human",
    )
    assert (steps[1].failed, steps[1].limit, steps[1].first) == (2, 3, len(FIRST_DONE))
    assert current_step_text(steps) == "Step 2 of 3"


def test_a_rung_of_the_ladder_counts_attempts_anew(log):
    steps = plan(log, *FIRST_DONE, told(2), ("ESCALATION", {"rung": "squash", "first_message": "x"}))
    assert (steps[1].rung, steps[1].failed, steps[1].state) == ("squash", 0, "working")
    steps = plan(log, *FIRST_DONE, told(2), ("ESCALATION", {"rung": "human"}), over("gave_up"))
    assert (steps[1].rung, steps[1].outcome, steps[1].state) == ("human", "gave_up", "stopped")


def test_who_is_engaged_again_is_at_work_again(log):
    ended = (over("gave_up"), ("WORKFLOW_END", {"outcome": "gave_up"}), ("SESSION_RESUMED", {}), engaged("coder"))
    steps = plan(log, *FIRST_DONE, *ended)
    assert [step.state for step in steps] == ["done", "working", "next"]
    assert steps[1].outcome == ""


def test_a_hand_off_that_a_human_stopped_waits_for_them(log):
    steps = plan(log, START, engaged("planner"), over(), HANDOFF, steered(answer="stop"))
    assert [step.state for step in steps] == ["done", "next", "next"]
    assert "→ coder: 02_for_coder.md, stopped here by human" in plan_html(steps)


def test_an_answer_to_an_alert_is_no_hand_off(log):
    alert = ("HUMAN_STEERED", {"about": "alert", "answer": "stop"})
    assert plan(log, *FIRST_DONE, alert)[0].handed == "edited"


def test_a_log_that_does_not_say_what_is_to_be_done_has_what_was_begun(log):
    steps = plan(log, log.START, engaged("coder"))
    assert [(step.agent, step.state) for step in steps] == [("coder", "working")]


@walked(("outcome", "state"), [("done", "done"), ("refused", "stopped")])
def test_an_answer_from_a_file_is_over_though_no_agent_was_engaged(log, outcome, state):
    steps = plan(log, ("WORKFLOW_START", {"tasks": CHAIN[1:2]}), ("WORKFLOW_END", {"outcome": outcome}))
    assert [step.state for step in steps] == [state]


def test_what_was_to_come_stays_to_come_when_an_earlier_agent_stopped(log):
    steps = plan(log, *FIRST_DONE[:2], over("gave_up"), ("WORKFLOW_END", {"outcome": "gave_up"}))
    assert [(step.state, step.outcome) for step in steps] == [("stopped", "gave_up"), ("next", ""), ("next", "")]


def test_odd_records_are_no_obstacle(log):
    for kind in ("WORKFLOW_START", "AGENT_ENGAGE", "AGENT_FINISHED", "HANDOFF", "ESCALATION", "FEEDBACK_SENT"):
        for details in ({}, {"tasks": [7], "attempt": "x", "rung": [], "file": 3, "about": {}}):
            plan_html(plan(log, (kind, details), (kind, details), engaged("coder")))
            plan_html(plan(log, START, engaged("planner"), (kind, details)))


def test_the_plan_says_which_attempt_it_is_and_where_it_began(log):
    steps = plan(log, *FIRST_DONE, ("ESCALATION", {"rung": "squash"}), told(1))
    html = plan_html(steps, session_id="20261122-1", at_work=True)
    for words in ("1 of 3 done", "Attempt 2 of 3", "Running", "Escalated: a fresh start", "edited, then handed over"):
        assert words in html, words
    assert f'href="#/s/20261122-1/{len(FIRST_DONE)}"' in html
    assert html.count('aria-current="step"') == 1


def test_nothing_is_at_work_where_nobody_knows_that_it_is(log):
    steps = plan(log, *FIRST_DONE)
    assert "Running" not in plan_html(steps)
    assert "Unfinished" in plan_html(steps)


def test_one_agent_that_did_its_task_needs_no_plan(log):
    start = ("WORKFLOW_START", {"tasks": CHAIN[1:2]})
    assert plan_html(plan(log, start, engaged("coder"), over(), log.END)) is None
    assert "Attempt 3 of 3" in plan_html(plan(log, start, engaged("coder"), told(2)))


def test_hostile_names_stay_text(log):
    evil = "<img src=x onerror=alert(1)>"
    start = ("WORKFLOW_START", {"tasks": [{"agent": evil, "task": evil}] * 2})
    html = plan_html(plan(log, start, ("AGENT_ENGAGE", {"agent": evil}), over(evil), ("HANDOFF", {"file": evil})))
    assert "<img" not in html


def test_a_view_has_the_plan(log):
    assert [step.state for step in session_view(log.records(*FIRST_DONE)).plan] == ["done", "working", "next"]
