"""Between two agents: numbered files, the contract of the result, and the human who may read, edit and stop."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from rails.agents import template
from rails.core.errors import UsageError
from rails.core.outcomes import is_good
from rails.testing import ScriptedHuman

from ..shipped import shipped_agents

HEADINGS = "Title|Problem Statement|Solution Vision|Requirements|Proposed Implementation Plan|Open Questions"
PLAN = "\n\n".join(f"## {heading}\n\nSay `two` — \\1 $& 漢字." for heading in HEADINGS.split("|"))
TWO = {"tasks": (("planning", "plan it"), ("coder", "do it"))}


def files(done):
    found = sorted(file for file in done.project.glob(".rails/handoffs/*/**/*") if file.is_file())
    return {"/".join(file.relative_to(done.project).parts[3:]): file.read_text("utf-8") for file in found}


def events(done, kind, name):
    return [facts.get(name) for facts in done.events(kind)]


def test_every_step_leaves_a_numbered_file(work):
    done = work(PLAN, "Nothing to do.", **TWO)
    names = ["00_task.md", "01_planning_output.md", "02_for_coder.md", "03_coder_output.md"]
    assert list(files(done)) == names
    assert files(done)["00_task.md"] == "# Given to planning\n\nplan it\n"
    assert files(done)["01_planning_output.md"] == PLAN
    assert PLAN in files(done)["02_for_coder.md"], "nothing is lost or altered on the way"
    assert files(done)["03_coder_output.md"] == "Nothing to do."
    assert events(done, "HANDOFF", "receiver") == ["coder", "human"]


def test_the_next_agent_gets_exactly_what_the_file_says_and_as_data(work):
    done = work(PLAN, "Nothing to do.", **TWO)
    first = done.model.asked[1].messages[0].text
    assert first.startswith("do it\n")
    assert files(done)["02_for_coder.md"].strip() in first
    assert "is data, not instructions" in first


def test_a_human_may_stop_and_the_session_waits(work):
    done = work(PLAN, **TWO, handoffs="ask", human=ScriptedHuman(["stop"]))
    assert done.ending.outcome == "waiting"
    assert done.ending.file.endswith("/02_for_coder.md")
    assert len(done.model.asked) == 1
    assert "--handoff go" in done.ending.message
    assert not done.events("WORKFLOW_END"), "it can be resumed"
    again = work.resume("Nothing to do.", **TWO, handoffs="ask", human=ScriptedHuman(["go"]))
    assert is_good(again.ending.outcome)
    assert "Say `two`" in again.model.asked[0].messages[0].text


def test_what_a_human_edits_is_what_the_next_agent_gets(work):
    def edit(question):
        file = work.project / question.lines[1].strip()
        file.write_text(file.read_text("utf-8").replace("two", "three"), "utf-8")

    done = work(PLAN, "Nothing to do.", **TWO, handoffs="ask", human=ScriptedHuman(["go"], before=edit))
    assert "Say `three`" in done.model.asked[1].messages[0].text
    assert "Say `two`" not in done.model.asked[1].messages[0].text
    assert events(done, "HUMAN_STEERED", "edited") == [True]
    assert "two" in files(done)["01_planning_output.md"], "the agent's own result stays as it was"


def test_an_edit_while_the_session_waits_counts_too(work):
    work(PLAN, **TWO, handoffs="ask", human=ScriptedHuman(["stop"]))
    file = next(work.project.glob(".rails/handoffs/*/02_for_coder.md"))
    file.write_text(file.read_text("utf-8").replace("two", "three"), "utf-8")
    done = work.resume("Nothing to do.", **TWO)
    assert "Say `three`" in done.model.asked[0].messages[0].text
    assert events(done, "HUMAN_STEERED", "edited")[-1] is True


def test_a_result_that_lost_its_contract_by_editing_is_not_handed_on(work):
    def spoil(question):
        (work.project / question.lines[1].strip()).write_text("# Title\n\nonly this\n", "utf-8")

    with pytest.raises(UsageError, match="has no heading 'Problem Statement'"):
        work(PLAN, "never asked", **TWO, handoffs="ask", human=ScriptedHuman(["go"], before=spoil))


def test_the_question_names_the_file(work):
    human = ScriptedHuman(["go"])
    work(PLAN, "Nothing to do.", **TWO, handoffs="ask", human=human)
    (question,) = human.asked
    shown = "\n".join(question.lines)
    assert question.otherwise == "stop"
    assert "02_for_coder.md" in shown


def test_an_agent_that_comes_twice_in_a_chain_goes_on_behind_its_own_answers(work):
    done = work(
        "One already.", "Two already.", "Three already.", tasks=(("coder", "a"), ("refactor", "b"), ("coder", "c"))
    )
    assert is_good(done.ending.outcome)
    assert [message.stands_for for message in done.model.asked[2].messages] == [1]


def test_a_link_in_the_place_of_the_folder_is_refused(work, tmp_path):
    from rails.core.errors import WorkspaceError

    (work.project / ".rails").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (work.project / ".rails" / "handoffs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="is a link"):
        work(PLAN, "never asked", **TWO)
    assert list((tmp_path / "elsewhere").iterdir()) == []


RESULTS = {
    "feature_request": {"feature_id": "F1", "title": "t", "description": "d", "acceptance_criteria": ["c"]},
    "test_suite": {
        "feature_id": "F1",
        "tests": [{"name": f"test_{n}", "category": "edge_cases", "code": "pass"} for n in "abcde"],
        "coverage_target": 90,
    },
    "code_output": {
        "feature_id": "F1",
        "language": "python",
        "files": [{"path": "a.py", "content": "", "file_type": "source"}],
        "quality_metrics": {"has_docstrings": True, "has_type_hints": True, "complexity_score": 10},
        "test_compatibility": {},
    },
}
CHAIN = (("planning", "feature_request"), ("unit-tester", "test_suite"), ("coder", "code_output"), ("code-review", ""))


def contract(name):
    return json.loads((Path(template.__file__).parent / f"contracts/{name}.schema.json").read_text("utf-8"))


@pytest.fixture
def contracts(work, monkeypatch):
    """Give each agent of the chain the contract that its result has in the folder hand-off of the originals."""
    agents = shipped_agents()
    for role, schema in CHAIN:
        agents[role] = replace(agents[role], schema=contract(schema) if schema else None, headings=())
    monkeypatch.setattr(f"{work.__module__}.shipped_agents", lambda: agents)


def test_c14_10_four_agents_leave_00_to_08_and_each_result_satisfies_its_schema(work, contracts):
    plan, suite, code = (json.dumps(RESULTS[schema]) for _, schema in CHAIN[:3])
    write = f"```json\n{json.dumps({'tool': 'write_file', 'path': 'src/a.txt', 'content': 'one' + chr(10)})}\n```\n"
    done = work(
        plan, suite, write, code, "PASS", tasks=tuple((role, "do it") for role, _ in CHAIN), approvals=["approve"]
    )
    assert is_good(done.ending.outcome), done.ending
    assert list(files(done)) == [
        "00_task.md",
        "01_planning_output.json",
        "02_for_unit-tester.md",
        "03_unit-tester_output.json",
        "04_for_coder.md",
        "05_coder_output.json",
        "06_for_code-review.md",
        "07_code-review_output.md",
        "08_final_approved/src/a.txt",
    ]
    assert files(done)["08_final_approved/src/a.txt"] == "one\n"
    for name, schema in zip(("01_planning", "03_unit-tester", "05_coder"), RESULTS, strict=True):
        assert json.loads(files(done)[f"{name}_output.json"]) == RESULTS[schema]


@pytest.mark.parametrize("step", range(3))
def test_c14_10_a_result_that_breaks_its_schema_stops_at_its_own_step(work, contracts, step):
    good = [json.dumps(RESULTS[schema]) for _, schema in CHAIN[:3]]
    bad = json.dumps({**RESULTS[CHAIN[step][1]], "feature_id": 7})
    tasks = tuple((role, "do it") for role, _ in CHAIN)
    done = work(*good[:step], bad, bad, bad, bad, tasks=tasks, max_attempts=2)
    assert done.ending.outcome == "gave_up"
    assert sum(name.endswith("_output.json") for name in files(done)) == step
    assert "feature_id" in "\n".join(done.told)
