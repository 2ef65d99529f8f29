"""A night of twenty sessions with every outcome, played by the real commands: the morning names each rightly."""

import io
import json
import re

import pytest

from rails.cli import main
from rails.log.summaries import Summaries
from rails.log.writer import SessionLog
from rails.models.recorded import RecordedModel
from rails.session.run import Session

POLICY = '[[rule]]\ndecision = "allow"\ntool = ["write_file"]\npath = "**"\n'
REVIEW = "## Summary\n\nIt is so. {}\n\n## Findings\n\nNone\n"
FAILS = REVIEW.format("FAIL")
TORN = '```json\n{"tool_name": \n```\n'


def call(tool, **parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def write(path):
    return call("write_file", file_path=path, content="x = 1\n")


def raising(error):
    def fails(*_words, **_more):
        raise error

    return fails


#: A session: its task, its answers (those of a reviewer behind None), more words, its exit code, what the morning says.
CHAIN = ("--then", "reviewer", "--handoff", "go", "--max-reviews", "1")
NIGHT = [
    ("is changed", [write("a.py"), "It is written."], (), 0, "changed"),
    ("is reviewed", [None, REVIEW.format("PASS")], ("--agent", "reviewer"), 0, ""),
    ("is right already", ["Nothing has to change: the file is right as it is."], (), 0, ""),
    ("only asks", ["Which of the two files do you mean?", write("o.py"), "o"], (), 1, "asks you"),
    ("asks by a tool", [call("ask_user", question="Which port?")], (), 1, "asks: which port?"),
    ("claims a change", ["I have updated leap.py."] * 2, (), 1, "claims"),
    ("claims tests", [write("t.py"), "All tests pass.", "All tests pass."], (), 1, "claims"),
    ("is rejected", [write("b.py"), "b", write("c.py"), "c", None, FAILS, FAILS], CHAIN, 1, "rejected"),
    ("gives no verdict", [None, REVIEW.format(""), REVIEW.format(" ")], ("--agent", "reviewer"), 1, "gave up"),
    ("sends what nobody reads", [TORN] * 4, (), 1, "gave up"),
    ("shows code and names no file", ["```python\nx = 1\n```\n"] * 4, (), 1, "gave up"),
    ("has nobody there", [write("d.py"), "I cannot."], ("--approve", "ask"), 1, "denied: nobody was there"),
    ("has one turn", [call("list_files", path=".")] * 3, ("--max-turns", "1"), 1, "gave up"),
    ("is changed and reviewed", [write("r.py"), "r", None, REVIEW.format("PASS")], CHAIN, 0, "changed"),
    ("loses its model", [write("e.py")], (), 3, "broke off with an error: "),
    ("waits", [write("w.py"), "w"], ("--then", "reviewer", "--handoff", "ask"), 1, "waits: the hand-off"),
]  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    own = tmp_path / "config/ai-rails"
    (folder / ".git").mkdir(parents=True)
    own.mkdir(parents=True)
    (own / "policy.toml").write_text(POLICY)
    (own / "agent_templates").mkdir()
    (own / "agent_templates/poet.md").write_text(
        "---\nname: poet\ndescription: x\ntools: wrte_file\nx-rails:\n  shown: raed_file\n---\nWrite.\n"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return folder


@pytest.fixture
def run(tmp_path):
    def played(task, answers, words=()):
        roles = ["coder"] * len(answers)
        if None in answers:
            roles[answers.index(None) :] = ["code-review"] * len(answers)
        lines = [(role, text) for role, text in zip(roles, answers, strict=False) if text]
        recording = tmp_path / f"{task}.jsonl"
        texts = [json.dumps({"agent": role, "role": "assistant", "content": text}) for role, text in lines]
        recording.write_text("\n".join(texts))
        return main(["run", task, "--model", f"recorded:{recording}", "--approve", "policy", "--plain", *words])

    return played


def test_the_morning_after_twenty_sessions_names_each_rightly_and_nothing_is_green_that_is_not(
    project, run, tmp_path, monkeypatch, capsys
):
    for task, answers, words, code, _ in NIGHT:
        assert run(task, answers, words) == code, (task, capsys.readouterr().out[-1500:])
    for name, text, words, code in (
        ("applied", write("f.py"), ("--approve", "policy"), 0),
        ("refused", "no request at all", (), 1),
        ("denied", write("g.py"), (), 1),
        ("dry", write("h.py"), ("--dry-run",), 0),
    ):
        (project / f"{name}.md").write_text(text)
        assert main(["apply", f"{name}.md", *words]) == code, name
    assert main(["chat", "is left", "--model", f"recorded:{tmp_path / 'only asks.jsonl'}", "--plain"]) == 0
    for task, where, what, error, code in (
        ("is stopped", RecordedModel, "stream", KeyboardInterrupt(), 130),
        ("has a fault", Session, "_chain", MemoryError(), 3),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, what, raising(error))
            assert run(task, ["x"]) == code
    told = capsys.readouterr().out
    for name in ("wrte_file", "raed_file"):
        assert f"the agent poet works without {name}: no tool has that name" in told
    state = project / ".rails"
    goes_on = next(card.session_id for card in Summaries(state).newest(99) if card.task == "has a fault")
    with SessionLog.reopen(state, goes_on):
        assert main(["review", "--since", "yesterday"]) == 0
    text = capsys.readouterr().out
    needs, _, rest = text.partition("\nChanged\n")
    changed = rest.partition("\nFiles\n")[0]
    for task, _, _, code, said in NIGHT:
        listed = [line.lower() for line in needs.splitlines() if re.search(rf" {task}$", line)]
        assert bool(listed) is bool(code), (task, text)
        assert all(said in line for line in listed), (task, listed)
        green = [line for line in changed.splitlines() if line.rstrip().endswith(task) and " changed " in line]
        assert bool(green) is (said == "changed"), (task, text)
    assert "denied.md" in needs
    assert re.search("Unfinished +coder +is stopped", needs)
    assert not re.search("is left|has a fault", needs)
    assert "applied.md" in changed
    for quiet in ("refused.md", "dry.md", "is stopped", "has a fault"):
        assert quiet not in changed
    session = re.findall(r"(\S+) +asks you: .*only asks", needs.lower())[0]
    assert main(["run", "--resume", session, "--plain", "The first one."]) == 0, "a question in words is answered"
    assert "22 logs verified: nothing is missing or changed." in text
