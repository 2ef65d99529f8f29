"""The gate's settings in a whole turn: commands judge what is proposed, modes say what blocks."""

import json

from rails.core.outcomes import is_good
from rails.gate.support import executed_config

COMMAND = '[[gate.command]]\nname = "words"\nrun = ["python", "-c", "print(\'a.txt:1: never ship this\')"]\n'


def write(path, content):
    body = {"type": "tool_request", "tool_name": "write_file", "explanation": "because"}
    body["parameters"] = {"file_path": path, "content": content}
    return f"```json\n{json.dumps(body)}\n```\n"


def test_what_a_command_finds_in_the_proposal_goes_back_to_the_agent(work, tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    (work.project / ".rails.toml").write_text(COMMAND)
    executed_config.agree(work.project, COMMAND.encode())
    done = work(write("a.txt", "x\n"), "I give up.")
    assert "a.txt:1" in done.told[0]
    assert "never ship this" in done.told[0]
    assert not (work.project / "a.txt").exists()


def test_a_finding_of_an_advisory_agent_is_for_the_human_only(work, tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    (work.project / ".rails.toml").write_text('[[gate.mode]]\nmode = "advisory"\nagent = "coder"\n')
    done = work(write("a.py", "print(undefined)\n"), "Done.", approvals=["approve"])
    assert (work.project / "a.py").read_text() == "print(undefined)\n"
    assert is_good(done.ending.outcome)
