"""What the numbers say: figures that were worked out by hand, and words where there is nothing to say."""

import json
import re
from pathlib import Path

import pytest

from rails.batch.job_spec import JobResult
from rails.batch.report import batch_report, report_tables
from rails.batch.statistics import mcnemar, pass_at
from rails.batch.store import JobStore
from rails.cli import main
from rails.log.reader import sessions
from rails.projections.share import Share
from rails.testing import says

from .conftest import HIDDEN, RIGHT, SCORE, UNKNOWN, edit


def result(task, passed, *, model="a", gate="on", seed=1, cost=2.0, error="", raised=0, tries=0, **more):
    name = f"{model}-{gate}-{task}-{seed}"
    facts = {"agent": "coder", "repo": "/r", "commit": "c", "turns": 2, "seconds": {"model": 3.0, "gate": 1.0}, **more}
    facts |= {"passed": passed, "cost": cost, "error": error, "raised": raised, "tries": tries, "first_try": passed}
    return JobResult(name=name, task=task, model=model, gate=gate, seed=seed, **facts)


def test_the_figures_are_those_worked_out_by_hand():
    # Wilson, 95 %, z = 1.959964: 7 of 10 is (0.39678, 0.89221); 0 of 10 is (0, 0.27753).
    assert Share(7, 10).interval == pytest.approx((0.39678, 0.89221), abs=1e-5)
    assert Share(0, 10).interval == pytest.approx((0.0, 0.27753), abs=1e-5)
    # McNemar, exact: 1 against 8 of 9 is 2 * (1 + 9) / 512; 5 against 5 is no difference.
    assert mcnemar(1, 8) == mcnemar(8, 1) == 20 / 512
    assert mcnemar(5, 5) == mcnemar(0, 0) == 1.0
    # pass@k of 10 runs, 3 passed: 1 - C(7,2)/C(10,2) = 1 - 21/45; all ten runs hold a pass for sure.
    assert pass_at(1, 10, 3) == pytest.approx(0.3)
    assert pass_at(2, 10, 3) == pytest.approx(1 - 21 / 45)
    assert pass_at(8, 10, 3) == pytest.approx(1.0)


def test_rates_leave_errors_out_and_cost_is_of_all_that_was_counted():
    found = [result(f"t{n}", n < 3, raised=2, tries=3) for n in range(4)]
    found += [result("t9", False, error="no network", cost=None)]
    (row,) = batch_report(found).rows
    assert (row.jobs, row.errors, row.passed.hits, row.passed.of) == (5, 1, 3, 4)
    assert (row.cost, row.per_solved, row.tries, row.turns) == (8.0, 8.0 / 3, 1.5, 2.0)
    assert row.seconds == (("model", 3.0), ("gate", 1.0))
    (unpriced,) = batch_report([*found, result("t5", True, cost=None)]).rows
    assert (unpriced.cost, unpriced.per_solved) == (None, None)


def test_pass_at_k_is_the_mean_over_tasks():
    found = [result("x", seed <= 1, seed=seed) for seed in (1, 2, 3)]
    found += [result("y", True, seed=seed) for seed in (1, 2, 3)]
    (row,) = batch_report(found).rows
    assert dict(row.at) == pytest.approx({1: (1 / 3 + 1) / 2, 2: (2 / 3 + 1) / 2, 3: 1.0})


def test_settings_are_compared_on_the_runs_that_both_have():
    on = [result(f"t{n}", n != 0, cost=3.0) for n in range(12)]
    off = [result(f"t{n}", n in (0, 11), gate="off", cost=1.0) for n in range(12)] + [result("alone", True, gate="off")]
    off[5] = result("t5", False, gate="off", error="crashed")
    (one,) = batch_report(on + off).comparisons
    # Pairs without t5: 11. Both: t11. With the gate off only: t0. With it on only: t1 to t10 but t5, nine.
    assert (one.first[2], one.second[2]) == ("off", "on")
    assert (one.pairs, one.both, one.only_first, one.only_second) == (11, 1, 1, 9)
    assert one.chance == pytest.approx(2 * (1 + 10) / 1024)
    assert (one.cost, one.turns) == (2.0, 0.0)
    assert one.distinguishable
    text = str(report_tables(batch_report(on + off)))
    assert "second is better" in text


def test_what_chance_may_explain_is_said_not_to_be_distinguishable():
    found = [result(f"t{n}", n % 2 == 0, model=model) for n in range(6) for model in "ab"]
    found[1] = result("t0", False, model="b")
    (one,) = batch_report(found).comparisons
    assert (one.only_first, one.only_second, one.chance) == (1, 0, 1.0)
    assert "not distinguishable" in str(report_tables(batch_report(found)))
    nothing = batch_report([result("t", True), result("u", True, model="b")])
    assert "no run in common" in str(report_tables(nothing))


@pytest.fixture
def batch(repository, tmp_path, monkeypatch, capsys):
    """Return what runs ``ai-rails batch`` and gives its exit code and output; two tasks are in tasks.jsonl."""
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    scored = {"repo": "sums", "checks": [SCORE], "hidden": HIDDEN}
    lines = [{"id": "good", "task": "task-good", **scored}, {"id": "bad", "task": "task-bad", **scored}]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")

    def run(*words):
        capsys.readouterr()
        code = main(["batch", *words])
        return code, capsys.readouterr().out

    return run


SCRIPTS = {
    "task-good": [edit(UNKNOWN), edit(RIGHT), says("Done.")],
    "task-bad": [edit(UNKNOWN), says("I give up; the key is sk-ant-REDACTED")],
}


def test_a_set_is_run_reported_compared_reviewed_and_exported(batch, model, tmp_path):
    with model(**SCRIPTS) as server:
        words = ("run", "tasks.jsonl", "--store", "runs", "--models", f"openai:m@{server.url}/v1", "--policy", "edits")
        code, out = batch(*words, "--dry-run")
        assert (code, out.count("gate on")) == (0, 2)
        assert server.requests == []
        code, out = batch(*words, "--workers", "2")
        assert code == 0
        assert "2 jobs run: 1 passed, 1 failed, 0 errors" in out
        asked = len(server.requests)
        code, out = batch(*words)
        assert "2 jobs, 2 of them done before" in out
        assert len(server.requests) == asked
        code, out = batch(*words, "--gate", "on,off", "--workers", "1")
        assert "4 jobs, 2 of them done before" in out
    code, out = batch("report", "runs", "--html", "report.html")
    assert code == 0
    code, out = batch("report", "runs", "--json")
    found = json.loads(out)
    on, off = sorted(found["settings"], key=lambda row: row["setting"][2], reverse=True)
    assert (on["passed"]["hits"], on["passed"]["of"], on["first"]["hits"], on["tries"]) == (1, 2, 0, 1.0)
    assert off["passed"]["hits"] == 0
    (pair,) = found["comparisons"]
    assert (pair["pairs"], pair["both"], pair["only_second"], pair["distinguishable"]) == (2, 0, 1, False)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("not distinguishable") == 2  # what it means, and that it is so
    assert not re.search(r"<script|src=|href=.http", page)
    assert main(["review", "--library", "runs"]) == 0
    assert len(sessions(tmp_path / "runs")) == 4


def test_answers_are_exported_with_secrets_masked_and_the_licence(batch, model):
    with model(**SCRIPTS) as server:
        words = ("run", "tasks.jsonl", "--store", "runs", "--models", f"openai:m@{server.url}/v1", "--policy", "edits")
        batch(*words)
    _, out = batch("export", "runs")
    (solved,) = map(json.loads, out.splitlines())
    assert (solved["task"], solved["licence"]) == ("good", "MIT")
    assert [message["role"] for message in solved["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert "F821" in solved["messages"][3]["content"]
    _, out = batch("export", "runs", "--format", "preferences")
    assert "sk-ant-api03" not in out
    better = next(line for line in map(json.loads, out.splitlines()) if line["task"] == "good")
    assert [message["role"] for message in better["prompt"]] == ["system", "user"]
    assert "a + c" in json.dumps(better["rejected"])
    assert "a + b" in json.dumps(better["chosen"])
    assert "F821" in json.dumps(better["feedback"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "tasks.jsonl", "--models", "openai:m"), "needs --store and --models"),
        (("run", "tasks.jsonl", "--store", "r", "--models", "openai:m"), "no policy in"),
        (("run", "none.jsonl", "--store", "r", "--models", "openai:m", "--policy", "edits"), "cannot be read"),
        (("report", "nowhere"), "There is no result"),
        (("report", "tasks.jsonl"), "is a file"),
        (("run", "tasks.jsonl", "--store", "r", "--models", "openai:m", "--gate", "half"), "--gate takes"),
    ],
)
def test_a_wrong_use_is_told_and_nothing_is_run(batch, tmp_path, capsys, words, said):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.toml").write_text("", "utf-8")
    if "no policy" in said:
        (tmp_path / "config/policy.toml").unlink()
    assert main(["batch", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_what_ended_in_an_error_is_named_each_time_and_run_again_on_request(batch):
    words = ("run", "tasks.jsonl", "--store", "runs", "--models", "openai:m@http://127.0.0.1:9/v1", "--policy", "edits")
    code, out = batch(*words)
    assert code == 1
    assert out.count("could not be reached") == 1, "two jobs with one error are told once"
    assert "--resume" not in out
    code, out = batch(*words)
    assert (code, "2 of them ended in an error, which --retry errors runs again" in out) == (1, True)
    code, out = batch(*words, "--retry", "errors", "--dry-run")
    assert (code, out.count("gate on")) == (0, 2)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nonsense:x", "Unknown model 'nonsense:x'"),
        ("openai:", "has no name"),
        ("recorded:none.jsonl", "cannot be read"),
        ("anthropic:x", "ANTHROPIC_API_KEY is not set"),
    ],
)
def test_a_model_that_cannot_be_opened_is_told_before_anything_runs(batch, tmp_path, monkeypatch, capsys, model, said):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    words = ("run", "tasks.jsonl", "--store", "runs", "--models", model, "--policy", "edits")
    assert main(["batch", *words]) in (2, 3)
    assert said in capsys.readouterr().err
    code = main(["batch", *words, "--dry-run"])
    shown = capsys.readouterr()
    assert said in (shown.out if code == 0 else shown.err)
    assert (code == 0) == ("KEY" in said), "what would run is listed without a key, too"
    assert not (tmp_path / "runs/jobs").exists()


def test_money_is_bounded_only_where_prices_are_known(batch, model, tmp_path, capsys):
    with model(**SCRIPTS) as server:
        words = ("run", "tasks.jsonl", "--store", "runs", "--models", f"openai:m@{server.url}/v1", "--policy", "edits")
        assert batch(*words, "--max-cost", "1")[0] == 2
        assert server.requests == []
        (tmp_path / "config").mkdir(exist_ok=True)
        (tmp_path / "config/prices.toml").write_text(
            'as_of = "2026-11"\ncurrency = "USD"\n[models.m]\ninput = 9e5\noutput = 9e5\n', "utf-8"
        )
        code, out = batch(*words, "--max-cost", "1", "--workers", "1")
    assert code == 1
    assert "stopped: the set's 1 (money) are spent" in out
    assert len(JobStore(str(tmp_path / "runs")).rows()) == 1
    capsys.readouterr()


def test_the_page_of_the_subject_names_options_that_there_are(capsys):
    page = (Path(__file__).parents[2] / "docs/batch.md").read_text("utf-8")
    with pytest.raises(SystemExit):
        main(["batch", "--help"])
    known = capsys.readouterr().out
    known += "--library"  # of review
    assert [option for option in re.findall(r"--[a-z-]+", page) if option not in known] == []
