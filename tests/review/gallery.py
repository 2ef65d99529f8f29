"""A project's history, for the eye and for the tests: two models, two prompts, everything that goes wrong."""

import random
from dataclasses import dataclass, field

from rails.core.events.base import UnknownEvent
from rails.log.writer import SessionLog

MODELS = ("anthropic:claude-sonnet-5-5", "openai:qwen3-coder")
RULES = (
    ("F821", "Undefined name `json`", "ruff"),
    ("F401", "'os' imported but unused", "ruff"),
    ("E501", "Line too long (131 > 100)", "flake8"),
    ("B006", "Do not use mutable data structures for argument defaults", "ruff"),
    ("N8N025", "Connection target does not reference an existing node", "data"),
)
DIFF = "\n".join(
    (
        "--- a/todo/cli.py",
        "+++ b/todo/cli.py",
        "@@ -1,6 +1,8 @@",
        ' """The command line: add, list, done."""',
        " ",
        " import argparse",
        "+import json",
        "+from dataclasses import asdict",
        " from pathlib import Path",
        " ",
        " from todo.store import Store, Task",
        "@@ -43,4 +45,8 @@",
        "-def _show(tasks: list[Task]) -> None:",
        "+def _show(tasks: list[Task], as_json: bool = False) -> None:",
        "+    if as_json:",
        "+        print(json.dumps([asdict(task) for task in tasks], indent=2))",
        "+        return",
        "     for task in tasks:",
        "         print(task)",
        "     return None",
    )
)
TASKS = (
    "Add a --json flag to the todo CLI's list command",
    "Let tasks have due dates",
    "Post the open tasks to Slack every morning",
    "Split the store into reading and writing",
    "Add tests for done and undo",
)


@dataclass
class Story:
    """Writes one session into a real log."""

    state: object
    name: str
    task: str
    model: str
    prompt: str = "You are the coder."
    agent: str = "coder"
    turn: int = 0
    step: int = 0
    log: object = field(init=False)

    def __post_init__(self):
        self.log = SessionLog.create(self.state, session_id=self.name)
        self.say(
            "WORKFLOW_START", self.task, task=self.task, project="/home/me/todo", agents=[self.agent], model=self.model
        )
        self.say("AGENT_ENGAGE", self.task, agent=self.agent, task=self.task, system=self.prompt)

    def say(self, event, message, /, **details):
        self.log.append(UnknownEvent(event, message, details), self.agent, self.model)

    @property
    def id(self):
        return f"t{self.turn}.1"

    def ask(self, text, tool="edit_file", path="todo/cli.py", stop="end_turn", repairs=(), **more):
        self.turn += 1
        self.say("LLM_CALL", "asking", turn=self.turn, messages=self.turn)
        usage = {
            "input_tokens": 2_100 + 640 * self.turn,
            "output_tokens": 180 + 35 * self.turn,
            "cache_read_tokens": 900,
        }
        self.say(
            "LLM_RESPONSE",
            "answered",
            text=text,
            prose=text,
            stop_reason=stop,
            usage=usage,
            duration_ms=2_300.0 + 400 * self.turn,
        )
        mended = [{"name": name, "offset": 41, "before": ",}", "after": "}"} for name in repairs]
        asked = {"tool_name": tool, "parameters": {"file_path": path, **more}, "explanation": "Print tasks as JSON"}
        self.say("MCP_REQUEST_FORMULATED", tool, id=self.id, **asked, dialect="s0", start=0, end=9, repairs=mended)
        return self

    def refused(self, code="schema", message="`new_string` is missing.", hint="Add `new_string`."):
        refusal = {
            "code": code,
            "message": message,
            "hint": hint,
            "path": "new_string",
            "start": 0,
            "end": 9,
            "request_id": self.id,
        }
        self.say("TOOL_REQUEST_VALIDATION_FAILED", message, id=self.id, refusals=[refusal])
        return self.told(message, [code])

    def corrected(self, before, after, taken=True, why=""):
        self.say(
            "CORRECTION",
            "corrected by the model",
            id=self.id,
            before=before,
            after=after,
            taken=taken,
            why=why,
            drift=["new_string = 'limit = 100'"],
        )
        return self

    def valid(self):
        self.say("TOOL_REQUEST_VALIDATED", "valid", id=self.id, tool_name="edit_file", coerced=[])
        return self

    def planned(self, after):
        change = {"path": "todo/cli.py", "kind": "modify", "before_sha256": "a" * 64, "after_sha256": (after * 64)[:64]}
        self.say("CHANGE_PLANNED", "edited", ids=[self.id], changes=[change], notes=[])
        return change

    def found(self, *rules, after="b", line=46):
        self.valid()
        self.planned(after)
        known = {rule: rest for rule, *rest in RULES}
        place = {"path": "todo/cli.py", "column": 15, "severity": "error", "new": True}
        findings = [
            {**place, "line": line + n, "rule": rule, "message": known[rule][0], "tool": known[rule][1]}
            for n, rule in enumerate(rules)
        ]
        self.gate("fail", findings)
        return self.told(f"{', '.join(rules)} in todo/cli.py", ["gate"])

    def gate(self, status, findings=()):
        checks = [
            {"name": "ruff", "version": "0.17.6", "duration_ms": 9.0},
            {"name": "black", "version": "26.10.1", "duration_ms": 9.0},
        ]
        facts = {"fixed": [], "not_checked": [], "checks": checks, "duration_ms": 130.0, "diff": DIFF}
        self.say("GATE_VERDICT", f"gate: {status}", status=status, findings=list(findings), ids=[self.id], **facts)

    def decided(self, answer="approve", reason="", after="c", seconds=12.5, by="human"):
        self.valid()
        change = self.planned(after)
        self.gate("pass")
        key = {"id": self.id, "digest": f"{self.turn:064x}"}
        self.say(
            "APPROVAL_REQUESTED", "edit_file", **key, kind="changes", tools=["edit_file"], diff=DIFF, risks=[], notes=[]
        )
        self.say(
            "HUMAN_DECISION",
            f"{answer} by {by}",
            **key,
            answer=answer,
            reason=reason,
            by=by,
            seconds=seconds,
            scope="once",
        )
        if answer != "approve":
            return self.told(f"Human Feedback: {reason}", ["denied"])
        self.say("EXECUTION_STARTED", "writing", ids=[self.id], digest=key["digest"], changes=[change])
        self.say(
            "TOOL_EXECUTION_RESULT",
            "Edited todo/cli.py",
            ids=[self.id],
            ok=True,
            text="Edited todo/cli.py",
            changes=[change],
            duration_ms=12.0,
        )
        self.step += 1
        self.say("CHECKPOINT", f"step {self.step}", step=self.step, paths=["todo/cli.py"])
        return self.told("Edited todo/cli.py", [])

    def told(self, text, codes):
        self.say("FEEDBACK_SENT", "sent back", text=text, attempt=1, codes=codes)
        return self

    def end(self, outcome="done", message="The list command has --json now."):
        self.turn += 1
        self.say("LLM_CALL", "asking", turn=self.turn)
        self.say(
            "LLM_RESPONSE",
            "answered",
            text=message,
            prose=message,
            stop_reason="end_turn",
            usage={"input_tokens": 900, "output_tokens": 60},
            duration_ms=800.0,
        )
        self.say("WORKFLOW_END", message, outcome=outcome, message=message)
        self.log.close()


TORN = (
    '```json\n{"tool": "edit_file", "path": "todo/cli.py", "new_string": "limit = 10", "old_string": "limit = 5"\n```'
)
MENDED = (
    '```json\n{"tool": "edit_file", "path": "todo/cli.py", "new_string": "limit = 100", "old_string": "limit = 5"}\n```'
)


def hard(state, name="20261118-091500-aa01", model=MODELS[0]):
    """Every way to fail, one after the other, then right."""
    story = Story(state, name, TASKS[0], model)
    story.ask("First the option.", repairs=["trailing_comma"]).refused()
    story.ask("It is `new_string`.", new_string="x").found("F821", "F401")
    story.ask("It is `new_string`.", new_string="x").found("F821", "F401")
    story.ask("Now with other words.", new_string="y").found("F821", "F401")
    story.ask("Without os.", new_string="z").found("E501", after="d")
    story.ask("Back again.", new_string="w").found("F821", "F401", after="e")
    story.ask("The limit too.").corrected(TORN, MENDED).found("B006", after="f")
    story.ask("With the imports.", new_string="v").decided("deny", "Add a test for --json, then I take it.")
    story.ask("The same with a test.", new_string="v2").decided(after="7")
    story.end()


def easy(state, name="20261119-101500-aa02", model=MODELS[1]):
    """The same task, with less trouble."""
    story = Story(state, name, TASKS[0], model)
    story.ask("First the option.", repairs=["trailing_comma"]).refused()
    story.ask("It is `new_string`.", new_string="x").found("F821")
    story.ask("With the imports.", new_string="v").decided(after="8", seconds=4.0)
    story.end()


def gallery(state, more=14):
    """Write ``2 + more`` sessions."""
    chance = random.Random(8)
    hard(state)
    easy(state)
    for number in range(more):
        name = f"202611{20 + number // 8:02d}-{8 + number % 8:02d}0500-bb{number:02d}"
        model = MODELS[number % 2]
        story = Story(
            state,
            name,
            TASKS[number % len(TASKS)],
            model,
            prompt="You are the coder. Be brief." if number > 6 else "You are the coder.",
        )
        for _ in range(chance.randrange(2, 7)):
            for _ in range(chance.choice((0, 0, 1, 2) if model == MODELS[0] else (0, 1, 1, 3))):
                rules = chance.sample([rule for rule, *_ in RULES], chance.choice((1, 1, 2)))
                story.ask("A try.", new_string=str(chance.random())).found(*rules, after=str(chance.randrange(10)))
            story.ask(
                "Right.", new_string=str(chance.random()), repairs=["trailing_comma"] if chance.random() < 0.3 else ()
            )
            story.decided(seconds=chance.choice((0.9, 3.0, 9.0, 41.0)), after=str(chance.randrange(10)))
        if number % 7 == 5:
            story.end("gave_up", "The limit of 3 failed attempts is reached.")
        elif number % 7 == 6:
            story.log.close()
        else:
            story.end()
