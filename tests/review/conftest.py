import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rails.approval.pending import PendingAnswers
from rails.core.events.record import Record

from .running import KEY as BOX_KEY
from .running import Run


def records(*events, agent="coder", model="recorded:demo"):
    """Log records from (type, details) pairs; a details key "agent_role" overrides the agent."""
    made = []
    for seq, (event_type, given) in enumerate(events, start=1):
        details = dict(given)
        role = details.pop("agent_role", agent)
        stamp = f"2026-11-21T23:{seq // 60:02d}:{seq % 60:02d}.000000Z"
        head = (seq, stamp, "20261121-230000-abcd", role, model, event_type, f"{event_type.lower()} {seq}")
        made.append(Record(*head, details, "", f"{seq:064x}"))
    return made


FINDING = {
    "path": "app.py",
    "line": 3,
    "column": 8,
    "rule": "F401",
    "message": "'os' imported but unused",
    "tool": "ruff",
    "severity": "error",
    "new": True,
}
CHANGE = {"path": "app.py", "kind": "modify", "before_sha256": "a" * 64, "after_sha256": "b" * 64}
DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,1 +1,1 @@\n-a = 1\n+a = 2"


def call(turn):
    return ("LLM_CALL", {"messages": 1, "turn": turn})


def answer(text="I edit.", stop="end_turn"):
    usage = {"input_tokens": 100, "output_tokens": 20}
    return ("LLM_RESPONSE", {"text": text, "prose": text, "stop_reason": stop, "usage": usage, "duration_ms": 1500.0})


def formulated(request_id="t1.1", tool="edit_file", repairs=()):
    return (
        "MCP_REQUEST_FORMULATED",
        {
            "id": request_id,
            "tool_name": tool,
            "parameters": {"file_path": "app.py"},
            "explanation": "bump a",
            "dialect": "s0",
            "start": 0,
            "end": 9,
            "repairs": [{"name": name, "offset": 7, "before": ",]", "after": "]"} for name in repairs],
        },
    )


def invalid(request_id="t1.1", code="schema", message="content is missing", path="$.content"):
    refusal = {"code": code, "message": message, "hint": "Send content.", "path": path, "start": 0, "end": 9}
    return ("TOOL_REQUEST_VALIDATION_FAILED", {"id": request_id, "refusals": [refusal]})


def valid(request_id="t1.1", coerced=()):
    return ("TOOL_REQUEST_VALIDATED", {"id": request_id, "tool_name": "edit_file", "coerced": list(coerced)})


#: A workflow's change as the gate reports it: one node added behind another.
OUTLINE = {
    "path": "flow.json",
    "title": "1 node added; 1 wire added",
    "lines": [
        {"style": "add", "text": 'node "Post" (n8n-nodes-base.slack 2)', "indent": 0},
        {"style": "change", "text": "url: 1 → 2", "indent": 1},
    ],
    "hidden": 0,
    "drawing": {
        "compared": True,
        "total": 2,
        "nodes": [
            {"name": "Start", "type": "n8n-nodes-base.manualTrigger", "at": [0, 0], "kind": "same", "trigger": True},
            {"name": "Post", "type": "n8n-nodes-base.slack", "at": [240, 0], "kind": "add"},
        ],
        "wires": [[0, "main", 0, 1, 0, "add", ""]],
    },
}


def gate(status="pass", findings=(), fixed=(), outlines=()):
    run = {"checks": [{"name": "ruff", "version": "0.17.1", "duration_ms": 9.0}], "duration_ms": 250.0}
    return (
        "GATE_VERDICT",
        {
            "status": status,
            "findings": list(findings),
            "fixed": list(fixed),
            "not_checked": [],
            **({"outlines": list(outlines)} if outlines else {}),
            **run,
        },
    )


KEY = {"id": "t1.1", "digest": "d" * 64}


def asked():
    return (
        "APPROVAL_REQUESTED",
        {
            "id": "t1.1",
            "digest": "d" * 64,
            "kind": "changes",
            "tools": ["edit_file"],
            "diff": DIFF,
            "risks": [],
            "notes": [],
        },
    )


def decided(word="approve", reason=""):
    return (
        "HUMAN_DECISION",
        {
            "id": "t1.1",
            "digest": "d" * 64,
            "answer": word,
            "reason": reason,
            "by": "human",
            "seconds": 4.5,
            "scope": "once",
        },
    )


def written(request_id="t1.1"):
    return (
        "TOOL_EXECUTION_RESULT",
        {"ids": [request_id], "ok": True, "text": "Edited app.py", "changes": [CHANGE], "duration_ms": 12.0},
    )


def told(text="Correct this.", codes=("schema",)):
    return ("FEEDBACK_SENT", {"text": text, "attempt": 1, "codes": list(codes)})


def poisoned(value, evil):
    """``value``, a record or a part of its details, with ``evil`` in every text."""
    match value:
        case Record(details=details):
            names = dict.fromkeys(("agent_role", "llm_model_used", "session_id", "message"), evil)
            return replace(value, details=poisoned(details, evil), **names)
        case str():
            return f"{value}{evil}"
        case list():
            return [poisoned(item, evil) for item in value]
        case dict():
            return {key: poisoned(item, evil) for key, item in value.items()}
    return value


START = ("WORKFLOW_START", {"task": "bump a", "project": "/p", "agents": ["coder"], "model": "recorded:demo"})
END = ("WORKFLOW_END", {"outcome": "done", "message": "All done."})


def demo():
    """A session with a repair, a schema failure, a finding, a denial, and a good end."""
    fixed = {"path": "app.py", "rule": "format", "tool": "black", "count": 2}
    return records(
        START,
        ("AGENT_ENGAGE", {"agent": "coder", "task": "bump a"}),
        call(1),
        answer(),
        formulated(repairs=["trailing_comma"]),
        invalid(),
        told(),
        call(2),
        answer(),
        formulated("t2.1"),
        valid("t2.1", ["edits: text to array"]),
        ("CHANGE_PLANNED", {"ids": ["t2.1"], "changes": [CHANGE], "notes": ["matched at rung 5"]}),
        gate("fail", [FINDING], [fixed]),
        told("F401 in line 3", ["gate"]),
        call(3),
        answer(),
        formulated("t3.1"),
        valid("t3.1"),
        gate(),
        asked(),
        decided("deny", "use argparse"),
        told("Human Feedback: use argparse", ["denied"]),
        call(4),
        answer(),
        formulated("t4.1"),
        valid("t4.1"),
        gate(outlines=[OUTLINE]),
        asked(),
        decided(),
        ("EXECUTION_STARTED", {"ids": ["t4.1"], "digest": "d" * 64, "changes": [CHANGE]}),
        written("t4.1"),
        ("CHECKPOINT", {"step": 1, "paths": ["app.py"]}),
        told("Edited app.py", []),
        call(5),
        answer("Done."),
        END,
    )


@pytest.fixture(scope="session")
def log():
    """Factories for log records."""
    names = [START, END, FINDING, CHANGE, DIFF]
    made = SimpleNamespace(
        records=records,
        call=call,
        answer=answer,
        formulated=formulated,
        invalid=invalid,
        valid=valid,
        gate=gate,
        asked=asked,
        decided=decided,
        written=written,
        told=told,
        demo=demo,
        poisoned=poisoned,
    )
    made.START, made.END, made.FINDING, made.CHANGE, made.DIFF = names
    return made


@pytest.fixture(scope="session")
def stories():
    """The makers of whole sessions in ``gallery.py``."""
    spec = importlib.util.spec_from_file_location("gallery", Path(__file__).with_name("gallery.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_chromium():
    # The first has no windows of its own: a page costs a quarter of the processor time.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False, timeout=280)
        for name in names[:2]:  # not every distribution has the first
            install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", name]
            subprocess.run(install, capture_output=True, check=False, timeout=280)
            if found := shutil.which(name):
                break
    return found


@pytest.fixture(scope="session")
def chromium_path():
    path = find_chromium()
    if path is None:
        words = "no Chromium on this machine: the page was NOT tested in a browser (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return path


@pytest.fixture
def runs(tmp_path):
    """Begin runs over one project: ``runs(answer, …)``; what still waits in the end is stopped."""
    project = tmp_path
    begun = []

    def begin(*answers, **more):
        begun.append(Run(project, *answers, **more).begin())
        return begun[-1]

    begin.project = project
    yield begin
    for run in begun:
        box = PendingAnswers(run.state, run.id, BOX_KEY)
        for _ in range(200):
            asked = run.queue._asked
            if not run.thread.is_alive():
                break
            if asked is not None:
                box.place(asked.number, {"do": "abort", "digest": asked.request.digest})
            run.thread.join(0.05)
