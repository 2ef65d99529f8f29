"""The example frontend of docs/examples, in a real Chromium: pills, blocks and the outcome of a stream of events."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "expected" / "verbs"


@pytest.fixture
def example(chromium):
    page = chromium.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto((ROOT / "docs" / "examples" / "events.html").as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("form", ["jsonl", "sse"])
def test_pills_blocks_and_the_outcome_are_shown(example, tmp_path, form):
    text = (GOLDEN / f"run.{form}.txt").read_text("utf-8").partition("[stderr]")[0]
    (tmp_path / "events").write_text(text, "utf-8")
    example.set_input_files("#file", tmp_path / "events")
    example.wait_for_function("document.getElementById('outcome').textContent")
    assert example.locator("#outcome").inner_text() == "Outcome: changed"
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if '"v": 1' in line]
    last = {event["toolId"]: event["state"] for event in events if event["type"] == "json-tool-status"}
    assert example.locator(".pill").evaluate_all("all => all.map((one) => one.dataset.state)") == [*last.values()]
    verdicts = [event["verdict"] for event in events if event["type"] == "json-tool-block"]
    assert example.locator("details").evaluate_all("all => all.map((one) => one.className)") == verdicts
    assert example.locator(".corrected pre").count() == 2 * verdicts.count("corrected")
    assert example.problems == []


def test_what_a_model_writes_is_text_and_unknown_events_are_passed_over(example, tmp_path):
    hostile = "<img src=x onerror=alert(1)>"
    lines = [
        {"type": "text-delta", "processedDelta": hostile},
        {"type": "of-tomorrow"},
        {"type": "json-tool-block", "toolId": "t1.1", "toolType": hostile, "path": "", "state": "processing"}
        | {"verdict": "passed", "content": hostile, "corrected": False},
        {"type": "end", "outcome": "claimed"},
    ]
    (tmp_path / "events").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    example.set_input_files("#file", tmp_path / "events")
    example.wait_for_function("document.getElementById('outcome').textContent")
    assert example.locator("img").count() == 0
    assert example.locator("main p").inner_text() == hostile
    assert example.locator("#outcome").inner_text() == "Outcome: claimed"
    assert example.problems == []
