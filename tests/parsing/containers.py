"""Answers in which calls are quoted, thought, or written in another model's form: the container corpus.

Each row of ``answers.jsonl`` has the answer, the tools that must run (those and no others), and whether the author must
hear of something. Rows of the form "wanted" hold a call that was meant, in a form that is not read. ``marks.json`` has
what the answers are made of: how each container begins and ends, and the calls that are put into it.
"""

import json
from pathlib import Path

from rails.parsing.parse import AnswerParser

CASES = Path(__file__).parent.parent / "cases" / "containers"
ROWS = [json.loads(line) for line in (CASES / "answers.jsonl").read_text("utf-8").splitlines()]
_MARKS = json.loads((CASES / "marks.json").read_text("utf-8"))
PAYLOADS, THOUGHTS, ESCAPED, ALONE = (
    _MARKS[name] for name in ("payloads", "thoughts", "escaped", "only at the start of a line")
)
CONTAINERS = {**THOUGHTS, **_MARKS["others"], **ESCAPED}
TOOLS = {
    name: {
        "type": "object",
        "properties": {key: {"type": "string"} for key in keys},
        "required": keys,
        "additionalProperties": False,
    }
    for name, keys in _MARKS["tools"].items()
}
REAL = '```json\n{"tool": "read_file", "path": "a.py"}\n```\n'


def verdict(row, size=0):
    """Read one answer, in chunks of ``size`` characters if given, and say how it went."""
    reader = AnswerParser(TOOLS, report_unread_calls=True)
    text = row["text"]
    for start in range(0, len(text), size or len(text)):
        reader.feed(text[start : start + (size or len(text))])
    found = reader.flush("end_turn")
    names = [request.tool_name for request in found.requests if request.tool_name in TOOLS]
    if any(request.parameters.get("path") == "/etc/passwd" for request in found.requests):
        return "QUOTED RUN"
    if row["form"] == "wanted" and names == ["write_file"] and not found.refusals:
        return "ok"  # in a provider's own form, or a file in a fence with its name
    if row["told"] is True and not found.refusals and len(names) == len(found.requests):
        return "WANTED SILENT"
    if row["told"] is False and found.refusals:
        return "data refused"
    return "ok" if names == row["runs"] else "lost" if len(names) < len(row["runs"]) else "ran"
