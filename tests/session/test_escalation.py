"""When attempts run out: a fresh start from one page, a stronger model if a human agrees, then the human."""

import json
from functools import reduce

import pytest

from rails.core import limits
from rails.core.conversation import NativeCall
from rails.core.errors import ModelError
from rails.core.events.record import Record, event_of
from rails.core.outcomes import is_good
from rails.session.escalation import Tried, page
from rails.testing import ScriptedHuman, ScriptedModel


def request(tool, parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def edit(old, new="x"):
    return request("edit_file", {"file_path": "a.txt", "old_string": old, "new_string": new})


def wrong(number):
    return edit(f"not there {number}")


THREE = [wrong(number) for number in range(3)]


@pytest.fixture
def started(work):
    (work.project / "a.txt").write_text("one\n", "utf-8")
    return work


def rungs(done):
    return [facts["rung"] for facts in done.events("ESCALATION")]


def saved(done, name):
    return next(done.project.glob(f".rails/handoffs/*/{name}")).read_text("utf-8")


def test_c8_11_a_fresh_start_sends_the_agent_to_the_users_own_search_tool(started):
    started.own.mkdir()
    tool = {
        "tool_name": "BraveSearchMCP", "description": "Search.", "access_control": {"coder": "free_access"},
        "transport": {"type": "command", "command": ["true"]},
        "request_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }  # fmt: skip
    (started.own / "search.json").write_text(json.dumps(tool))
    search = request("BraveSearchMCP", {})
    done = started(*THREE, search, edit("one", "two"), "Done.", approvals=["approve"] * 2, escalate="squash")
    assert "search for what failed with BraveSearchMCP" in done.model.asked[3].messages[0].text
    assert "searches first with BraveSearchMCP" in "".join(r.message for r in done.records)
    assert is_good(done.ending.outcome)


def test_c8_11_without_one_no_search_is_spoken_of(started):
    done = started(*THREE, edit("one", "two"), "Done.", approvals=["approve"], escalate="squash")
    assert "search for" not in done.model.asked[3].messages[0].text


def test_c8_11_off_stops_after_the_attempts_with_one_final_error_and_leaves_everything_at_hand(started):
    done = started(*THREE, "never asked")
    assert done.ending.outcome == "gave_up"
    assert len(done.model.asked) == 3
    assert [facts["error"] for facts in done.events("ERROR")] == ["3 failed attempts (edit)"]
    assert rungs(done) == ["human"]
    assert saved(done, "01_coder_answer.md") == THREE[-1]


def test_the_page_for_the_human_names_what_failed_the_state_and_the_exact_commands(started):
    done = started(edit("one", "two"), *THREE, approvals=["approve"])
    text = saved(done, "02_for_human.md")
    session = done.ending.session_id
    assert done.ending.file == f".rails/handoffs/{session}/02_for_human.md"
    assert "Why it stopped: 3 failed attempts (edit)" in text
    assert "not_found: a.txt: old_string is not in the file." in text
    assert "written and kept: a.txt (modify)" in text
    for command in (
        f"ai-rails apply .rails/handoffs/{session}/01_coder_answer.md --agent coder",
        f'ai-rails run --resume {session} "hint for the model"',
        f"ai-rails review {session}",
        f"ai-rails undo {session} --all",
    ):
        assert f"    {command}\n" in text


def test_squash_begins_the_conversation_afresh_with_one_page(started):
    done = started(
        edit("one", "two"), *THREE, edit("two", "three"), "Done.", approvals=["approve"] * 2, escalate="squash"
    )
    assert is_good(done.ending.outcome)
    assert rungs(done) == ["squash"]
    (first,) = done.model.asked[4].messages
    assert first.text.startswith("the task\n")
    assert "4 answers to this task did not get through" in first.text
    assert "written and kept: a.txt (modify)" in first.text
    assert "- not_found: a.txt: old_string is not in the file." in first.text
    assert "(3 times)" in first.text
    assert "not there 2" in first.text, "its last answer is there"
    assert "not there 0" not in first.text, "its earlier ones are not"
    assert (done.project / "a.txt").read_text("utf-8") == "three\n"


def test_the_page_holds_what_was_handed_on_also_of_a_session_that_was_resumed(started):
    started(*THREE[:2], ModelError("no service"), escalate="squash", handed="Count from one.")
    done = started.resume(THREE[2], "No.", escalate="squash")
    assert rungs(done) == ["squash"]
    assert done.model.asked[1].messages[0].text.count("Count from one.") == 1


def test_after_a_fresh_start_attempts_count_anew_and_turns_do_not(started):
    done = started(*THREE, *(wrong(n) for n in range(3, 6)), "never asked", escalate="squash")
    assert len(done.model.asked) == 6
    assert rungs(done) == ["squash", "human"]
    bounded = started(*THREE, *(wrong(n) for n in range(3, 6)), escalate="squash", max_turns=4)
    assert len(bounded.model.asked) == 4
    assert "the limit of 4 turns is reached" in bounded.ending.message


def test_c8_11_a_stronger_model_goes_on_only_after_a_human_agreed(started):
    stronger = ScriptedModel([edit("one", "two"), "Done."], name="strong")
    human = ScriptedHuman(["yes"])
    more = {"escalate": "model", "human": human, "stronger": stronger}
    done = started(*THREE, *(wrong(n) for n in range(3, 6)), approvals=["approve"], **more)
    assert is_good(done.ending.outcome)
    assert rungs(done) == ["squash", "model"]
    assert human.asked[0].about == "stronger_model"
    assert "scripted would be replaced by strong" in "\n".join(human.asked[0].lines)
    assert "6 answers to this task did not get through" in stronger.asked[0].messages[0].text
    assert len(done.model.asked) == 6
    assert {r.llm_model_used for r in done.records if r.event_type == "LLM_RESPONSE"} == {"scripted", "strong"}


@pytest.mark.parametrize("human", [ScriptedHuman(["no"]), ScriptedHuman(), None], ids=["no", "nobody", "unattended"])
def test_without_a_yes_the_stronger_model_is_never_asked(started, human):
    stronger = ScriptedModel(["Done."], name="strong")
    answers = [*THREE, *(wrong(n) for n in range(3, 6))]
    done = started(*answers, escalate="model", human=human, stronger=stronger)
    assert done.ending.outcome == "gave_up"
    assert stronger.asked == []
    assert rungs(done) == ["squash", "human"]


def test_without_a_stronger_model_the_ladder_goes_on_to_the_human(started):
    done = started(*THREE, *(wrong(n) for n in range(3, 6)), escalate="model", human=ScriptedHuman(["yes"]))
    assert rungs(done) == ["squash", "human"]


def test_the_sessions_budget_bounds_all_rungs(started):
    done = started(*THREE, *(wrong(n) for n in range(3, 6)), escalate="squash", max_tokens=0)
    assert len(done.model.asked) == 0
    assert "the budget of 0 tokens is used up" in done.ending.message


def test_a_page_is_bounded_whatever_was_tried(started):
    engaged = {"agent": "coder", "task": "t", "first_message": "the task\n"}
    records = [Record(1, "", "s", "coder", "m", "AGENT_ENGAGE", "", engaged, "", "")]
    for number in range(300):
        refusals = [{"code": "edit", "message": f"{number} " + "long words " * 200, "hint": ""}]
        records.append(Record(2, "", "s", "coder", "m", "CHANGE_REFUSED", "", {"refusals": refusals}, "", ""))
        answer = {"text": f"answer {number} " + "x" * 50_000, "stop_reason": "end_turn"}
        records.append(Record(3, "", "s", "coder", "m", "LLM_RESPONSE", "", answer, "", ""))
    text = page("the task\n", reduce(Tried.after, records, Tried()), "because " * 500, "json", advice="advice " * 5_000)
    assert len(text) < limits.PAGE_CHARS + 1_000
    assert "edit: 299 long words" in text, "the newest failure is there"


def test_a_native_call_is_saved_in_a_form_that_apply_reads(started):
    call = NativeCall("c1", "edit_file", json.dumps({"file_path": "a.txt", "old_string": "no", "new_string": "``` x"}))
    done = started(*([f"Try {number}.", call] for number in range(3)))
    text = saved(done, "01_coder_answer.md")
    assert text.startswith("Try 2.\n\n````json\n")
    body = json.loads(text.split("````json\n")[1].split("\n````")[0])
    assert body["tool_name"] == "edit_file"
    assert body["parameters"]["new_string"] == "``` x"


def test_what_is_saved_is_masked_as_the_log_is(started):
    secret = "sk-ant-api03-" + "B" * 40
    done = started(*(edit(f"{secret} {number}") for number in range(3)))
    assert secret not in saved(done, "01_coder_answer.md")
    assert "«secret:anthropic:" in saved(done, "01_coder_answer.md")


def test_an_answer_without_text_or_calls_is_an_empty_line():
    assert Tried(last=event_of("LLM_RESPONSE", "", {})).answer == "\n"
