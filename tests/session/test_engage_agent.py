"""``engage_agent`` is what a session calls for each agent; ``previous_tool_output`` is what came before."""

from rails.core.outcomes import is_good
from rails.session.run import Session

TASKS = (("coder", "look"), ("coder", "judge"))


def test_a_session_engages_each_of_its_agents_and_hands_on_what_the_one_before_said(work, monkeypatch):
    calls = []
    engage = Session.engage_agent

    def watched(session, agent_role, task, *, previous_tool_output="", **more):
        calls.append((agent_role, task, previous_tool_output))
        return engage(session, agent_role, task, previous_tool_output=previous_tool_output, **more)

    monkeypatch.setattr(Session, "engage_agent", watched)
    done = work("I looked at it: nothing is missing.", "All good already.", tasks=TASKS)
    assert is_good(done.ending.outcome)
    assert [call[:2] for call in calls] == list(TASKS)
    assert calls[0][2] == ""
    assert "nothing is missing" in calls[1][2]
    firsts = [event["first_message"] for event in done.events("AGENT_ENGAGE")]
    assert calls[1][2].strip() in firsts[1]


def test_what_an_agent_is_engaged_with_is_the_first_that_it_reads(work):
    done = work("Done.", handed="The build failed: line 3.")
    (first,) = (event["first_message"] for event in done.events("AGENT_ENGAGE"))
    assert "The build failed: line 3." in first
    assert done.model.asked[0].messages[0].text == first
