"""One job is a function of its spec: what it returns, what it leaves, and what it does not depend on."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

import rails
from rails.batch.job_spec import JobCheck, JobResult, JobSpec, from_object, schema_of, to_object
from rails.batch.licences import licence_of
from rails.batch.run_job import run_job, run_job_with
from rails.core.conversation import NativeCall
from rails.core.errors import UsageError
from rails.log.reader import read_strict, verify
from rails.testing import ScriptedModel, says

from .conftest import HIDDEN, PYTHON, RIGHT, UNKNOWN, edit


def test_a_job_returns_what_was_done_and_what_scored_it(job, model, repository, tmp_path):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        spec = job(server, id="sum", prices={"m": (1_000_000.0, 2_000_000.0, 0.0)})
        result = run_job(spec)
    assert (result.error, result.ending, result.passed, result.first_try) == ("", "changed", True, True)
    assert (result.task, result.verdict, result.licence, result.turns) == ("sum", "pass", "MIT", 1)
    assert [(check.name, check.passed) for check in result.checks] == [("python test_sums.py", True)]
    assert "-    return a - b\n+    return a + b\n" in result.diff
    assert result.cost == result.input_tokens + 2 * result.output_tokens > 0
    assert {"prepare", "model", "gate", "write", "score"} <= set(result.seconds)
    assert (repository / "sums.py").read_text("utf-8") == PYTHON
    assert result.head == read_strict(Path(result.log))[-1].hash
    assert verify(Path(result.log))
    assert not [*(tmp_path / "runs/work").iterdir()], "the work tree is gone"
    subprocess.run(["git", "apply", "-"], input=result.diff.encode(), cwd=repository, check=True)
    assert "a + b" in (repository / "sums.py").read_text("utf-8")


def test_findings_that_the_agent_was_told_of_are_counted_with_their_tries(job, model):
    with model(fix=[edit(UNKNOWN), edit(UNKNOWN), edit(RIGHT), says("Done.")]) as server:
        result = run_job(job(server, budgets={"max_attempts": 5}))
        told = server.requests[1].body["messages"][-1]
    assert (result.raised, result.tries, result.first_try) == (1, 2, False)
    assert "F821" in json.dumps(told)


def test_without_the_gate_the_agent_is_not_told_and_the_verdict_is_still_the_gate_s(job, model):
    with model(fix=[edit(UNKNOWN), says("Done.")]) as server:
        result = run_job(job(server, gate="off"))
        assert "F821" not in json.dumps([request.body for request in server.requests])
    assert (result.verdict, result.passed, result.raised) == ("fail", False, 0)
    assert result.findings[0].startswith("sums.py:6: F821")
    assert "+    return a + c" in result.diff


def test_nothing_is_approved_without_a_rule_that_allows_it(job, model):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        for policy in ("", "deny", '[[rule]]\ndecision = "deny"\ntool = "edit_file"\n'):
            result = run_job(job(server, policy=policy))
            assert (result.error, result.diff, result.passed) == ("", "", False)
        wrong = run_job(job(server, policy='[[rule]]\ndecision = "allow"\n'))
    assert "has to name a tool, a command or a path" in wrong.error


def test_hidden_files_are_seen_by_the_scoring_only(job, model):
    listing = edit({"path": "."}, "list_files")
    with model(fix=[listing, edit(RIGHT), says("Done.")]) as server:
        assert run_job(job(server)).passed
        said = json.dumps([request.body for request in server.requests])
    assert "sums.py" in said
    assert "test_sums" not in said


def test_a_fault_of_the_model_or_the_spec_is_an_error_and_no_failure(job, model, tmp_path):
    with model(fix=[says(status=400, message="no")]) as server:
        refused = run_job(job(server))
        unknown = run_job(job(server, agent="nobody"))
        nowhere = run_job(job(server, repo=str(tmp_path)))
        relative = run_job(job(server, repo="sums"))
        missing = run_job(job(server, commit="f" * 40))
        no_check = run_job(job(server, task="fix", checks=["no-such-program-at-all"], model="recorded:/nowhere"))
    assert refused.ending == "error"
    assert "HTTP 400" in refused.error
    for result, words in ((unknown, "nobody"), (nowhere, "not a git repository"), (relative, "absolutely")):
        assert words in result.error
        assert result.ending == "error"
    assert "cannot be checked out" in missing.error
    assert "cannot be read" in no_check.error
    assert not any(one.passed for one in (refused, unknown, nowhere, relative, missing, no_check))


def test_a_check_that_crashes_is_a_failure_and_one_that_is_not_there_an_error(job, model):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        crashed = run_job(job(server, checks=[JobCheck("crash", ("python", "-c", "1/0"))]))
        slow = run_job(job(server, checks=[JobCheck("slow", ("python", "-c", "while 1: pass"), seconds=1.0)]))
        absent = run_job(job(server, checks=["no-such-program-at-all"]))
    assert (crashed.error, crashed.passed) == ("", False)
    assert "ZeroDivisionError" in crashed.checks[0].words[0]
    assert "did not finish" in slow.checks[0].words[0]
    assert "not found" in absent.error


def test_a_hidden_file_has_its_place_in_the_tree(job, model, tmp_path):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        for path in ("../out.py", "/tmp/out.py", ""):
            assert "not the path of a hidden file" in run_job(job(server, hidden={path: "x = 1\n"})).error
    assert not [*tmp_path.rglob("out.py")]


def test_an_agent_of_the_spec_s_own_stands_beside_the_shipped_ones(job, model):
    text = "---\nname: terse\ndescription: Says little.\n---\nYou are TERSE. Do the task.\n"
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        result = run_job(job(server, agent="terse", templates={"terse": text}))
        assert "You are TERSE" in json.dumps(server.requests[0].body)
    assert result.passed


def test_a_worker_without_home_folder_terminal_or_settings_gives_the_same(job, model, tmp_path):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        spec = job(server, commit=_head(job(server).repo))
        here = run_job(spec)
        there = msgspec.structs.replace(spec, folder=str(tmp_path / "other"))
        gone = tmp_path / "gone"
        gone.mkdir()
        code = (
            "import os, sys, pickle; os.rmdir(os.getcwd()); from rails import run_job; "
            "sys.stdout.buffer.write(pickle.dumps(run_job(pickle.load(sys.stdin.buffer))))"
        )
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad/policy.toml").write_text("nonsense", "utf-8")
        (tmp_path / "bad/gate.toml").write_text("nonsense", "utf-8")
        noise = {
            "AI_RAILS_CONFIG_DIR": str(tmp_path / "bad"),
            "OPENAI_BASE_URL": "http://127.0.0.1:1",
            "AI_RAILS_MODEL": "x",
        }
        root = str(Path(rails.__file__).parent.parent)
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(there),
            capture_output=True,
            cwd=gone,
            env={**noise, "PYTHONPATH": root},
            timeout=100,
            check=True,
            start_new_session=True,
        )
    far = pickle.loads(done.stdout)
    assert far.error == ""
    for name in ("name", "ending", "passed", "first_try", "diff", "verdict", "turns", "input_tokens", "findings"):
        assert getattr(here, name) == getattr(far, name), name


def test_a_key_is_looked_up_by_its_name_and_stands_nowhere(job, model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789abcdef")
    with model(fix=[edit(RIGHT), says("sk-live-0123456789abcdef")]) as server:
        without = job(server)
        run_job(without)
        named = msgspec.structs.replace(without, env=("OPENAI_API_KEY",), seed=7)
        result = run_job(named)
        sent = [request.headers.get("authorization", "") for request in server.requests]
        assert [request.body.get("seed") for request in server.requests] == [None, 7]
        # A local model would answer a repeat with the same likeliest words again.
        assert [request.body.get("temperature") for request in server.requests] == [0.0, 0.7]
    assert "sk-live" not in sent[0]
    assert "sk-live" in sent[1]
    assert named.name != without.name
    for text in (json.dumps(to_object(named)), json.dumps(to_object(result)), Path(result.log).read_text("utf-8")):
        assert "sk-live" not in text


def test_specs_and_results_are_frozen_picklable_and_json_with_a_schema(job, model):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        spec = job(server, checks=["pytest", JobCheck("own", ("true",))])
        result = run_job(job(server))
    for value, kind in ((spec, JobSpec), (result, JobResult)):
        assert pickle.loads(pickle.dumps(value)) == value
        facts = json.loads(json.dumps(to_object(value)))
        jsonschema.Draft202012Validator(schema_of(kind)).validate(facts)
        assert from_object(facts, kind, "it") == value
        with pytest.raises(AttributeError):
            value.repo = "other"
    with pytest.raises(UsageError, match=r"it is not a JobSpec: .*comit"):
        from_object({"repo": "/a", "comit": "b"}, JobSpec, "it")


def test_the_name_is_of_what_a_job_is_and_not_of_where_it_runs(repository):
    spec = JobSpec(repo=str(repository), commit="a" * 40, task="t", model="m")
    same = [{"folder": "/x"}, {"keep": True}, {"prices": {"m": (1, 1, 1)}}, {"limits": {"place": "/x", "requests": 3}}]
    other = [
        {"task": "u"},
        {"seed": 1},
        {"gate": "off"},
        {"templates": {"coder": "x"}},
        {"agent": "debugger"},
        {"hidden": HIDDEN},
    ]
    assert {msgspec.structs.replace(spec, **one).name for one in same} == {spec.name}
    assert len({spec.name, *(msgspec.structs.replace(spec, **one).name for one in other)}) == len(other) + 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, ""),
        (
            {"pyproject.toml": '[project]\nname = "x"\nlicense = { text = "Apache-2.0" }\n', "LICENSE": "Own"},
            "Apache-2.0",
        ),
        ({"pyproject.toml": 'license = "MIT"\n'}, "MIT"),
        ({"package.json": '{"license": "ISC"}'}, "ISC"),
        ({"COPYING": "\n# GNU General Public License\n\nVersion 3\n"}, "GNU General Public License"),
    ],
)
def test_a_licence_is_what_the_repository_states(tmp_path, files, said):
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert licence_of(tmp_path) == said


def test_the_second_run_of_a_name_leaves_the_first_log_alone(job, model, tmp_path):
    with model(fix=[edit(RIGHT), says("Done.")]) as server:
        first = run_job(job(server))
        second = run_job(job(server, keep=True))
    assert first.log != second.log
    assert Path(first.log).is_file()
    assert (Path(second.tree) / "sums.py").read_text("utf-8") == PYTHON.replace("a - b", "a + b")


def _head(repo):
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=repo, check=True, capture_output=True).stdout.decode().strip()


PLAN = "\n\n".join(
    f"## {heading}\n\nAdd, and nothing else."
    for heading in (
        *("Title", "Problem Statement", "Solution Vision", "Requirements"),
        *("Proposed Implementation Plan", "Open Questions"),
    )
)
REVIEW = "## Summary\n\n{}\n\n## Findings\n\n- major, sums.py:6: it subtracts.\n"


@pytest.mark.parametrize(("verdict", "ending", "passed"), [("PASS", "changed", True), ("FAIL", "rejected", False)])
def test_in_a_chain_of_three_a_review_sends_the_work_back_until_it_is_rejected(
    repository, tmp_path, verdict, ending, passed
):
    def replaced(old, new):
        given = {"file_path": "sums.py", "old_string": f"return a {old} b", "new_string": f"return a {new} b"}
        return NativeCall("c1", "edit_file", json.dumps(given))

    fails = REVIEW.format("FAIL")
    last = REVIEW.format(verdict)
    work = [("-", "*", fails), ("*", "/", fails), ("/", "+", last)]
    model = ScriptedModel([PLAN, *(one for old, new, review in work for one in (replaced(old, new), "Done.", review))])
    spec = JobSpec(
        repo=str(repository),
        commit="HEAD",
        task="Correct the sum.",
        model="recorded:none",
        agent="planning, coder, code-review",
        policy="edits",
        folder=str(tmp_path / "runs"),
    )
    result = run_job_with(spec, lambda: model)
    assert (result.error, result.ending, result.passed) == ("", ending, passed)
    for again in (model.asked[4], model.asked[7]):
        told = again.messages[0].text
        assert "code-review did not pass this work" in told
        assert "it subtracts" in told
        assert "Add, and nothing else." in told, "the plan"
