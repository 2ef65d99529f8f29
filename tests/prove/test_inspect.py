"""Inspect runs our road as its solver, offline: its model answers, our verdict and diff are in its log."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import rails

ROOT = Path(rails.__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.batch.conftest import HIDDEN, PYTHON, SCORE, make_repository  # noqa: E402

pytest.importorskip("inspect_ai")
TASK = """
    import os, json
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from rails.batch.inspect_agent import ai_rails, ai_rails_scorer

    facts = json.loads(os.environ["FACTS"])

    def answer(messages, tools, choice, config):
        task = next(m.text for m in messages if m.role == "user")
        asked = sum(m.role == "assistant" for m in messages)
        new = "a + b" if "good" in task or asked else "a + c"
        if asked >= (1 if "good" in task else 2) or "never" in task:
            output = ModelOutput.from_content("mockllm/model", "Done.")
        else:
            edit = {"file_path": "sums.py", "old_string": "a - b", "new_string": new}
            output = ModelOutput.for_tool_call("mockllm/model", "edit_file", edit)
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    kinds = ["good"] * 10 + ["late"] * 6 + ["never"] * 4
    same = {"repo": facts["repo"], "commit": facts["commit"], "checks": facts["checks"], "hidden": facts["hidden"]}
    samples = [Sample(input=f"{kind} {n}", id=f"{kind}-{n}", metadata=same) for n, kind in enumerate(kinds)]
    solver = ai_rails(policy="edits", folder=facts["folder"])
    task = Task(dataset=samples, solver=solver, scorer=ai_rails_scorer(), name="sums")
    (log,) = eval(task, model=get_model("mockllm/model", custom_outputs=answer), display="none", log_dir=facts["logs"])
    print(json.dumps({
        "status": log.status,
        "accuracy": log.results.scores[0].metrics["accuracy"].value,
        "samples": [[s.id, s.scores["ai_rails_scorer"].value, s.scores["ai_rails_scorer"].answer,
                     s.metadata["ai_rails"]["turns"], s.metadata["ai_rails"]["input_tokens"]] for s in log.samples],
        "tokens": sum(usage.total_tokens for usage in log.stats.model_usage.values()),
    }))
"""


@pytest.mark.timeout(200)
def test_twenty_samples_are_run_and_scored_offline(tmp_path):
    commit = make_repository(tmp_path / "sums", {"sums.py": PYTHON})
    facts = {"repo": str(tmp_path / "sums"), "commit": commit, "checks": [SCORE], "hidden": HIDDEN}
    facts |= {"folder": str(tmp_path / "runs"), "logs": str(tmp_path / "logs")}
    script = tmp_path / "task.py"
    script.write_text(textwrap.dedent(TASK), "utf-8")
    environment = {
        **os.environ,
        "FACTS": json.dumps(facts),
        "PYTHONPATH": str(ROOT),
        "INSPECT_DISABLE_UPDATE_CHECK": "1",
    }
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=180, check=False
    )
    print(f"20 samples: {time.monotonic() - began:.1f} s")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["status"], found["accuracy"]) == ("success", 0.8)
    for name, value, diff, turns, tokens in found["samples"]:
        kind = name.partition("-")[0]
        assert (value, "+    return a + b" in diff) == (("C", True) if kind != "never" else ("I", False))
        assert turns == {"good": 2, "late": 3, "never": 2}[kind]  # "Done." is held against the log once
        assert tokens == 10 * turns
    assert found["tokens"] == 15 * (10 * 2 + 6 * 3 + 4 * 2)
    assert len([*(tmp_path / "runs/sessions").iterdir()]) == 20
