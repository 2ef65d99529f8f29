"""Agents on the command line: a project's own templates, kick-off pages and plans, chains, escalation, models."""

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest

from rails.testing import StubServer, says
from tests import warm

TEMPLATE = "---\nname: coder\ndescription: Mine.\n---\nYou are the coder of this project. {}\n"
HEADINGS = "Title|Problem Statement|Solution Vision|Requirements|Proposed Implementation Plan|Open Questions"
PLAN = "\n\n".join(f"## {heading}\n\nA plan." for heading in HEADINGS.split("|"))
REVIEW = "## Summary\n\nPASS\n\n## Findings\n\nNone"
EXISTS = "A project/directory with this name already exists. Please choose another name,"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "AI_RAILS_CONFIG_DIR": str(config), "AI_RAILS_LANG": "en", "OPENAI_API_KEY": "test-key"}


@pytest.fixture
def rails(project, environment):
    def run(*words, code=None, where=project, **more):
        done = warm.run(words, cwd=where, env={**environment, **more})
        if code is not None:
            assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def at_terminal(project, environment):
    """Run a command on a terminal of its own and type each of ``typed`` when its prompt has appeared."""

    def run(*words, prompts, typed):
        descriptor, theirs = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "rails", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=project,
            env={**environment, "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)
        shown, deadline, waiting, at = b"", time.monotonic() + 60, list(zip(prompts, typed, strict=True)), 0
        while time.monotonic() < deadline and select.select([descriptor], [], [], 60)[0]:
            try:
                shown += os.read(descriptor, 65536)
            except OSError:  # the other end is closed
                break
            if waiting and (found := shown.find(waiting[0][0].encode(), at)) >= 0:
                at = found + 1
                time.sleep(0.8)  # longer than the quiet that a question waits for
                os.write(descriptor, waiting.pop(0)[1].encode())
        code = child.wait(timeout=60)
        os.close(descriptor)
        return code, shown.decode("utf-8", "replace")

    return run


@pytest.fixture
def recorded(tmp_path):
    def write(*lines, name="answers.jsonl"):
        text = "".join(json.dumps({"agent": who, "role": "assistant", "content": said}) + "\n" for who, said in lines)
        (tmp_path / name).write_text(text, "utf-8")
        return f"recorded:{tmp_path / name}"

    return write


def own_coder(project, words="", folder="agent_templates"):
    (project / folder).mkdir(parents=True, exist_ok=True)
    (project / folder / "coder.md").write_text(TEMPLATE.format(words), "utf-8")


# -- a project's own templates --------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["agent_templates", ".rails/agent_templates"])
def test_a_projects_own_template_is_refused_headless_before_anything_is_started(rails, project, recorded, folder):
    own_coder(project, folder=folder)
    done = rails("run", "x", "--model", recorded(("coder", "Done.")), code=2)
    assert "nobody has accepted this version" in done.stderr
    assert "ai-rails agents trust coder" in done.stderr
    assert "The shipped coder is not used in its place" in done.stderr
    assert not (project / ".rails" / "sessions").exists()
    assert "agents trust coder" in rails("apply", "-", code=2).stderr
    rails("run", "x", "--agent", "refactor", "--model", recorded(("refactor", "Nothing to do.")), code=0)


def test_agents_shows_where_each_comes_from_and_whether_it_is_trusted(rails, project, environment):
    own_coder(project)
    own = os.path.join(environment["AI_RAILS_CONFIG_DIR"], "agent_templates")
    os.makedirs(own)
    with open(os.path.join(own, "poet.md"), "w", encoding="utf-8") as file:
        file.write("---\nname: poet\ndescription: Mine.\n---\nYou write.\n")
    done = rails("agents", code=0)
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "project, not trusted" in lines["coder"]
    assert "user" in lines["poet"]
    assert "shipped" in lines["planning"]
    assert "ai-rails agents trust" in done.stderr
    rows = {row["name"]: row for row in json.loads(rails("agents", "--json", code=0).stdout)}
    assert (rows["coder"]["origin"], rows["coder"]["trust"]) == ("project", "not trusted")
    assert "prompt" in json.loads(rails("agents", "planning", "--json", code=0).stdout)


def test_trust_is_a_typed_word_and_holds_until_the_file_changes(rails, project, recorded, at_terminal):
    own_coder(project, "First text.")
    assert rails("agents", "trust", code=1).stdout.count("First text.") == 1
    code, shown = at_terminal("agents", "trust", "coder", prompts=("Type the whole word",), typed=("yes\n",))
    assert code == 1
    code, shown = at_terminal("agents", "trust", "coder", prompts=("Type the whole word",), typed=("trust\n",))
    assert code == 0, shown
    assert "It takes the place of the shipped coder." in shown
    assert "First text." in shown
    model = recorded(("coder", "Nothing to do."))
    rails("run", "x", "--model", model, code=0)
    assert "project, trusted" in rails("agents", code=0).stdout
    own_coder(project, "Second text.")
    assert "nobody has accepted this version" in rails("run", "x", "--model", model, code=2).stderr
    done = rails("agents", "trust", code=1)
    assert "-You are the coder of this project. First text." in done.stdout
    assert "+You are the coder of this project. Second text." in done.stdout
    assert "project, changed since trusted" in rails("agents", code=0).stdout


def test_a_run_at_a_terminal_shows_the_template_and_asks(project, recorded, at_terminal):
    own_coder(project, "Read me.")
    words = ("run", "x", "--model", recorded(("coder", "Nothing to do.")))
    code, shown = at_terminal(*words, prompts=("Type the whole word",), typed=("trust\n",))
    assert code == 0, shown
    assert "Read me." in shown
    assert "coder: finished" in shown


# -- kick-off and plans ---------------------------------------------------------------------------


def test_new_makes_the_folder_and_the_page_and_refuses_a_name_that_is_there(rails, project):
    done = rails("new", "shop", "a", "shop", "for", "tea", code=0)
    page = project / "workspace/shop/output/new_project_plans/shop/initial_project_idea.md"
    assert str(page) in done.stdout
    assert "ai-rails run --plan shop" in done.stdout
    text = page.read_text("utf-8")
    assert "a shop for tea" in text
    assert "{{" not in text
    before = sorted(project.rglob("*"))
    done = rails("new", "shop", code=2)
    assert EXISTS in done.stderr
    assert "Nothing was changed" in done.stderr
    assert sorted(project.rglob("*")) == before
    assert "is not a name" in rails("new", "../shop", code=2).stderr


def test_feature_and_takeover_write_their_pages_once(rails, project):
    (project / "main.py").write_text("x = 1\n", "utf-8")
    rails("feature", "rate-limit", "limit requests", code=0)
    assert (project / "output/feature_update_plans/rate-limit/feature_update_idea.md").exists()
    assert EXISTS in rails("feature", "rate-limit", code=2).stderr
    rails("takeover", str(project), code=0, where=project.parent)
    text = (project / "output/takeover_plans/project/takeover_idea.md").read_text("utf-8")
    assert "main.py" in text
    assert EXISTS in rails("takeover", ".", code=2).stderr
    assert "nothing to take over" in rails("takeover", "nowhere", code=2).stderr


def test_a_taken_name_is_asked_for_again_at_a_terminal(rails, project, at_terminal):
    rails("new", "shop", code=0)
    code, shown = at_terminal("new", "shop", prompts=("Another name: ",), typed=("shop-2\n",))
    assert code == 0, shown
    assert EXISTS in shown
    assert (project / "workspace/shop-2").is_dir()


def test_from_the_page_to_the_plan_to_the_code_in_three_commands(rails, project, recorded):
    model = recorded(("planning", PLAN), ("coder", "Nothing to do."), ("code-review", REVIEW))
    rails("feature", "limit", "limit requests", code=0)
    done = rails("run", "--plan", "limit", "--agent", "planner", "--model", model, code=0)
    plan = project / "output/feature_update_plans/limit/initial_feature_plan.md"
    assert str(plan) in done.stdout
    assert plan.read_text("utf-8") == PLAN + "\n"
    (plan.parent / "final_plan.md").write_text("# The corrected plan\n", "utf-8")
    words = ("run", "--plan", "limit", "--agent", "coder", "--then", "reviewer", "--model", model)
    done = rails(*words, code=1)
    assert "waits for you" in done.stdout
    log = next((project / ".rails/sessions").glob(f"{done.stdout.split()[3]}/log.jsonl")).read_text("utf-8")
    assert "The corrected plan" in log
    done = rails("run", "--resume", "--handoff", "go", "--model", model, code=0)
    assert "code-review: finished" in done.stdout
    names = sorted(file.name for file in project.glob(".rails/handoffs/*/*"))
    assert names[:2] == ["00_planning_doc.md", "01_coder_output.md"]
    assert names[-1] == "03_code-review_output.md"


def test_a_chain_is_checked_before_it_is_started(rails, project, recorded):
    model = recorded(("coder", "Nothing to do."))
    assert "There is no agent 'nobody'" in rails("run", "x", "--then", "nobody", "--model", model, code=2).stderr
    assert "--then takes agents" in rails("run", "x", "--then", "coder,planning=x", "--model", model, code=2).stderr
    assert "There is no plan 'none'" in rails("run", "--plan", "none", "--model", model, code=2).stderr
    assert not (project / ".rails" / "sessions").exists()


# -- escalation -----------------------------------------------------------------------------------


def bad(number):
    body = {"tool": "edit_file", "path": "a.txt", "search_replace": {"old_string": f"no{number}", "new_string": "x"}}
    return "coder", f"```json\n{json.dumps(body)}\n```\n"


def good():
    body = {"tool": "edit_file", "path": "a.txt", "search_replace": {"old_string": "one", "new_string": "two"}}
    return "coder", f"```json\n{json.dumps(body)}\n```\n"


def test_an_agent_that_gave_up_goes_on_with_advice_and_its_answer_can_be_applied(rails, project, recorded, environment):
    (project / "a.txt").write_text("one\n", "utf-8")
    rule = '[[rule]]\ndecision = "allow"\ntool = ["edit_file"]\npath = "**"\n'
    with open(os.path.join(environment["AI_RAILS_CONFIG_DIR"], "policy.toml"), "w", encoding="utf-8") as file:
        file.write(rule)
    model = recorded(bad(0), bad(1), bad(2), bad(3), good(), ("coder", "Done."))
    words = ("--model", model, "--approve", "policy")
    done = rails("run", "change it", *words, code=1)
    assert "your turn:" in done.stdout
    saved = next(project.glob(".rails/handoffs/*/01_coder_answer.md"))
    command = next(line for line in saved.with_name("02_for_human.md").read_text().splitlines() if " apply " in line)
    saved.write_text(saved.read_text("utf-8").replace("no2", "one"), "utf-8")
    rails(*command.split()[1:], "--approve", "policy", code=0)
    assert (project / "a.txt").read_text("utf-8") == "x\n"
    (project / "a.txt").write_text("one\n", "utf-8")
    session = saved.parent.name
    done = rails("run", "It says one.", "--resume", session, *words, code=0)
    assert (project / "a.txt").read_text("utf-8") == "two\n"
    log = (project / f".rails/sessions/{session}/log.jsonl").read_text("utf-8")
    assert "Human Feedback: It says one." in log
    assert "is over" in rails("run", "--resume", session, *words, code=2).stderr
    review = rails("review", session, code=0).stdout
    assert "your turn (01_coder_answer.md, 02_for_human.md)" in review


def test_c8_14_an_unattended_run_does_not_climb_by_itself_and_fails(rails, project, recorded):
    (project / "a.txt").write_text("one\n", "utf-8")
    done = rails("run", "x", "--model", recorded(*(bad(n) for n in range(3))), code=1)
    assert "3 failed attempts (edit)" in done.stdout
    assert "coder: finished" not in done.stdout
    assert "--escalate" in rails("run", "x", "--escalate", "sometimes", code=2).stderr


def test_c14_15_the_user_names_a_model_that_looks_at_every_turn(rails, recorded):
    """A session that goes on is looked at by the same model, without the option."""
    words = [json.dumps({"severity": one, "reason": "Off the task."}) for one in ("stop", "stop")]
    watcher = recorded(*(("overseer", one) for one in words), name="watcher.jsonl")
    answers = recorded(("coder", "Here you are."), ("coder", "And here."))
    done = rails("run", "x", "--model", answers, "--overseer-model", watcher, code=1)
    assert "monitor: CRITICAL: Off the task." in done.stdout
    again = rails("run", "--resume", "--max-turns", "3", "go on", code=1)
    assert "monitor: CRITICAL: Off the task." in again.stdout, again.stdout


def test_at_a_terminal_a_person_hands_over_and_agrees_to_the_stronger_model(project, recorded, at_terminal):
    """The chain stops twice for a person: once between two agents, once for the stronger model."""
    (project / "a.txt").write_text("one\n", "utf-8")
    weak = recorded(("planning", PLAN), *(bad(n) for n in range(2)))
    strong = recorded(good(), ("coder", "It is two now."), name="strong.jsonl")
    words = ("run", "x", "--agent", "planner", "--then", "coder", "--model", weak, "--stronger-model", strong)
    code, shown = at_terminal(
        *words, "--max-attempts", "1", prompts=("Hand over", "stronger model", "[a]pprove"), typed=("g\n", "y\n", "a\n")
    )
    assert code == 0, shown
    assert "02_for_coder.md" in shown
    assert "recorded:answers.jsonl would be replaced by recorded:strong.jsonl" in shown
    assert "coder continues with recorded:strong.jsonl" in shown
    assert "stronger_model: yes by human" in shown
    assert "coder hands over to you: 03_coder_output.md" in shown


# -- models and budgets ---------------------------------------------------------------------------


def test_each_role_may_have_a_model_and_a_server_of_its_own(rails, recorded):
    with StubServer([says("Nothing to do.")]) as stub, StubServer([says(REVIEW)]) as other:
        words = ("--model", "openai:small", "--base-url", f"{stub.url}/v1", "--handoff", "go")
        models = ("--model-for", f"reviewer=openai:large@{other.url}/v1")
        rails("run", "x", "--then", "reviewer", *words, *models, code=0)
        assert [request.body["model"] for request in stub.requests] == ["small"]
        assert [request.body["model"] for request in other.requests] == ["large"]
        assert other.requests[0].headers["authorization"] == "Bearer test-key"


def test_a_template_may_choose_its_model_and_the_command_line_overrules_it(rails, environment, recorded):
    own = os.path.join(environment["AI_RAILS_CONFIG_DIR"], "agent_templates")
    os.makedirs(own)
    with open(os.path.join(own, "poet.md"), "w", encoding="utf-8") as file:
        file.write("---\nname: poet\ndescription: x\nx-rails:\n  model: openai:own\n---\nYou write.\n")
    for words, expected in (((), "own"), (("--model", "openai:given"), "given")):
        with StubServer([says("A poem.")]) as stub:
            rails("run", "x", "--agent", "poet", *words, code=0, OPENAI_BASE_URL=f"{stub.url}/v1")
            assert [request.body["model"] for request in stub.requests] == [expected]


def test_money_is_bounded_by_the_users_own_prices(rails, environment):
    words = ("run", "x", "--model", "openai:m", "--max-cost", "0.01")
    with StubServer([says("Nothing to do.")]) as stub:
        done = rails(*words, "--base-url", f"{stub.url}/v1", code=2)
        assert "needs the price of 'm'" in done.stderr
        assert not stub.requests
        with open(os.path.join(environment["AI_RAILS_CONFIG_DIR"], "prices.toml"), "w", encoding="utf-8") as file:
            file.write("[models.m]\ninput = 0\noutput = 0\n")
        rails(*words, "--base-url", f"{stub.url}/v1", code=0)
