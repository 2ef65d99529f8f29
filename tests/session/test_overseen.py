"""A critical alert of the overseer: a human steers, and where nobody is, the run stops."""

import json

import pytest

from rails.testing import ScriptedHuman


def request(tool, parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


TRIES = [request("write_file", {"file_path": f"{number}.txt", "content": "x"}) for number in range(4)]
PLANNER = {"tasks": (("planning", "plan it"),), "max_attempts": 9, "max_turns": 4}
STAY = "Stay inside your role."


@pytest.mark.parametrize("approve", ["ask", "policy"])
def test_where_nobody_can_be_asked_the_run_stops_at_once(work, approve):
    done = work(*TRIES, **PLANNER, approve=approve, human=ScriptedHuman())
    assert len(done.model.asked) == 3
    assert "The monitor stopped the run, as nobody could be asked" in done.ending.message
    assert done.ending.file.endswith("02_for_human.md")


def test_a_human_may_let_it_go_on_and_is_asked_again_for_the_next_one(work):
    human = ScriptedHuman(["go", "go"])
    done = work(*TRIES, **PLANNER, human=human)
    assert len(done.model.asked) == 4
    assert [question.about for question in human.asked] == ["alert", "alert"]
    assert "OVERSEER ALERT" in "\n".join(human.asked[0].lines)
    assert "Severity: CRITICAL" in "\n".join(human.asked[0].lines)


@pytest.mark.parametrize(("said", "told"), [("prompt", STAY), ("feedback: Only plan.", "Only plan.")])
def test_what_a_human_says_reaches_the_agent(work, said, told):
    done = work(*TRIES, **PLANNER, human=ScriptedHuman([said, "stop"]))
    assert f"Human Feedback: {told}" in done.model.asked[3].messages[-1].text
    assert f"Human Feedback: {told}" in done.told[2]


def test_a_human_may_stop_it(work):
    done = work(*TRIES, **PLANNER, human=ScriptedHuman(["stop"]))
    assert "you stopped it at an alert" in done.ending.message


def test_the_last_answer_is_looked_at_too(work):
    secret = "ghp_" + "a1B2" * 9
    done = work(f"Use {secret} for it.", human=ScriptedHuman())
    assert done.ending.outcome == "gave_up"
    assert "looks like a credential" in done.ending.message
    human = ScriptedHuman(["feedback: Take it out."])
    again = work(f"Use {secret} for it.", "It is out already.", human=human)
    assert again.ending.message == "It is out already."
    assert again.model.asked[1].messages[-1].text == "Human Feedback: Take it out."


def test_an_alert_that_was_interrupted_is_raised_again_when_the_session_goes_on(work):
    class Interrupted(BaseException):
        pass

    def leave(_question):
        raise Interrupted

    with pytest.raises(Interrupted):
        work(*TRIES, **PLANNER, human=ScriptedHuman(before=leave))
    done = work.resume(*TRIES[3:], **PLANNER, human=ScriptedHuman())
    assert "The monitor stopped the run" in done.ending.message
    assert not done.model.asked
