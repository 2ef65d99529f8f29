"""The command line, run as a user runs it: real processes, real files, a stub model on loopback."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from jsonschema import Draft202012Validator

from rails import cli
from rails.testing import StubServer, says
from tests import warm
from tests.rows import walked

from .shipped import styled

CONTRACTS = Path(__file__).parent.parent / "rails" / "_data" / "contracts"
ALLOW = """
[[rule]]
decision = "allow"
tool = ["write_file", "edit_file", "multi_edit", "delete_file"]
path = "**"
"""
WRITE = '```json\n{"tool": "write_file", "path": "hello.txt", "content": "hello\\n"}\n```\n'
BROKEN = '```json\n{"tool": "write_file", "path": "hello.txt", "content": }\n```\n'
PROSE = 'Some prose.\n\n```json\n{"status": "ok"}\n```\n'


def contract(name):
    return Draft202012Validator(json.loads((CONTRACTS / f"{name}.schema.json").read_text("utf-8")))


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    (config / "policy.toml").write_text(ALLOW, "utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "AI_RAILS_CONFIG_DIR": str(config),
        "AI_RAILS_LANG": "en",
        "ANTHROPIC_API_KEY": "test-key",
        "OPENAI_API_KEY": "test-key",  # without a library: importing Anthropic's takes a second of each process
        "ANTHROPIC_CONFIG_DIR": str(tmp_path / "anthropic"),
    }


@pytest.fixture
def rails(project, environment):
    def run(*words, text="", code=None):
        done = warm.run(words, cwd=project, env=environment, text=text)
        if code is not None:
            assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def test_help_reads_like_a_man_page_and_names_every_command(rails):
    text = rails("--help", code=0).stdout
    for word in (
        "run",
        "apply",
        "gate",
        "parse",
        "review",
        "undo",
        "tools",
        "agents",
        "doctor",
        "demo",
        *("new", "feature", "takeover"),
        "exit codes",
        "environment",
        "files",
        "examples",
    ):
        assert word in text


def test_parse_answers_its_contract_and_writes_nothing(rails, project):
    done = rails("parse", "--json", text=PROSE + WRITE + BROKEN, code=1)
    result = json.loads(done.stdout)
    contract("parse").validate(result)
    assert [request["tool_name"] for request in result["requests"]] == ["write_file"]
    assert len(result["refusals"]) == len(result["ignored"]) == 1
    start, end = result["requests"][0]["start"], result["requests"][0]["end"]
    assert (PROSE + WRITE + BROKEN)[start:end].strip() == WRITE.strip()
    assert list(project.iterdir()) == []


def test_a_further_dialect_is_read_only_when_it_is_named(rails):
    text = '<tool_call>{"name": "write_file", "arguments": {"file_path": "a.txt", "content": "x"}}</tool_call>\n'
    assert json.loads(rails("parse", "--json", text=text, code=1).stdout)["requests"] == []
    found = json.loads(rails("parse", "--json", "--dialect", "hermes", text=text, code=0).stdout)["requests"]
    assert [request["tool_name"] for request in found] == ["write_file"]
    assert "hermes" in rails("parse", "--dialect", "nonsense", text=text, code=2).stderr


def test_parse_names_a_call_that_stands_where_none_is_read(rails):
    done = rails("parse", text='```\n{"tool": "read_file", "file_path": "a.py"}\n```\n', code=1)
    assert "2:1 refused (unread): Line 2 holds a call of 'read_file' in a fence without a language" in done.stdout


def test_apply_refuses_a_call_that_stands_where_none_is_read(rails, project):
    done = rails("apply", "--json", "--approve", "policy", text=WRITE.replace("```json", "```"), code=1)
    result = json.loads(done.stdout)
    contract("apply").validate(result)
    assert [refusal["code"] for refusal in result["refusals"]] == ["unread"]
    assert "No request was read from your answer" in result["previous_tool_output"]
    assert list(project.glob("*.txt")) == []


def test_apply_writes_what_the_policy_allows(rails, project):
    result = json.loads(rails("apply", "--json", "--approve", "policy", text=WRITE, code=0).stdout)
    contract("apply").validate(result)
    assert result["status"] == "applied"
    assert result["previous_tool_output"] == ""
    assert [change["kind"] for change in result["changes"]] == ["create"]
    assert (project / "hello.txt").read_text("utf-8") == "hello\n"


def test_apply_can_be_read_by_a_screen_reader(rails):
    shown = rails("apply", "--approve", "policy", "--plain", text=WRITE, code=0).stdout
    assert "done: Created hello.txt" in shown
    assert not any(sign in shown for sign in "🔧✅❌─│\x1b")


def test_apply_without_a_human_and_without_a_rule_writes_nothing(rails, project, environment):
    (Path(environment["AI_RAILS_CONFIG_DIR"]) / "policy.toml").unlink()
    result = json.loads(rails("apply", "--json", "--approve", "policy", text=WRITE, code=1).stdout)
    contract("apply").validate(result)
    assert result["status"] == "denied"
    assert "Human Feedback" in result["previous_tool_output"]
    assert not (project / "hello.txt").exists()
    assert "+  hello" in rails("apply", "--dry-run", text=WRITE, code=0).stdout
    assert not (project / "hello.txt").exists()


def test_without_a_terminal_it_says_how_to_answer(rails, project, environment):
    (Path(environment["AI_RAILS_CONFIG_DIR"]) / "policy.toml").unlink()
    shown = rails("apply", text=WRITE, code=1).stdout
    assert "denied: write_file hello.txt: Nobody is here to approve this" in shown


def test_apply_dry_run_says_what_would_be_written_and_writes_nothing(rails, project):
    result = json.loads(rails("apply", "--json", "--dry-run", text=WRITE, code=0).stdout)
    contract("apply").validate(result)
    assert (result["status"], result["dry_run"]) == ("applied", True)
    assert [change["path"] for change in result["changes"]] == ["hello.txt"]
    assert not (project / "hello.txt").exists()


def test_apply_jsonl_answers_in_order_and_goes_on_after_a_failure(rails, project):
    texts = {"a": WRITE, "b": BROKEN, "c": WRITE.replace("hello.txt", "second.txt")}
    lines = "\n".join(json.dumps({"id": name, "text": text}) for name, text in texts.items())
    done = rails("apply", "--jsonl", "--approve", "policy", text=lines, code=1)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(result["id"], result["status"]) for result in results] == [
        ("a", "applied"),
        ("b", "refused"),
        ("c", "applied"),
    ]
    assert (project / "second.txt").exists()


def test_what_apply_refuses_is_told_in_words_for_the_model_and_answers_its_contract(rails, project):
    code = "".join(f"print(undefined_{number})\\n" for number in range(400))
    bad = f'```json\n{{"tool": "write_file", "path": "hello.txt", "content": "{code}"}}\n```\n'.replace(".txt", ".py")
    for text, told in (
        (BROKEN, '"content": }'),
        (bad, "Your code failed linting with errors F821"),
        ("Hello.", "No valid JSON code block found. What is read: "),
    ):
        result = json.loads(rails("apply", "--json", "--approve", "policy", text=text, code=1).stdout)
        contract("apply").validate(result)
        assert result["status"] == "refused"
        assert told in result["previous_tool_output"]
        assert len(result["previous_tool_output"]) < 20_000
        assert len((result["verdict"] or {"findings": ()})["findings"]) == (400 if text == bad else 0)
        assert not list(project.glob("hello.*"))


ANSWERS = Path(__file__).parent / "cases" / "answers"


def test_a_chatty_answer_with_data_and_a_trailing_comma_is_applied_and_formatted(rails, project):
    styled(project)
    done = rails("apply", "--json", "--approve", "policy", str(ANSWERS / "chatty.md"), code=0)
    assert json.loads(done.stdout)["status"] == "applied"
    assert 'sum(item["price"] for item in items)' in (project / "shop" / "total.py").read_text("utf-8")


def test_what_was_applied_can_be_reviewed_and_undone(rails, project):
    (project / "hello.txt").write_bytes(b"before\r\n")
    session = json.loads(rails("apply", "--json", "--approve", "policy", text=WRITE, code=0).stdout)["session"]
    assert session in rails("review", code=0).stdout
    assert "write_file" in rails("review", session, code=0).stdout
    assert json.loads(rails("review", session, "--json", code=0).stdout)
    rails("log", "verify", session, code=0)
    rails("undo", code=0)
    assert (project / "hello.txt").read_bytes() == b"before\r\n"
    assert "nothing to undo" in rails("undo", "no-such-session", code=2).stderr


def test_one_file_of_a_step_is_undone_and_the_review_shows_it(rails, project):
    both = WRITE + WRITE.replace("hello.txt", "other.txt")
    session = json.loads(rails("apply", "--json", "--approve", "policy", text=both, code=0).stdout)["session"]
    assert "removed hello.txt" in rails("undo", "--file", "hello.txt", code=0).stdout
    assert not (project / "hello.txt").exists()
    assert (project / "other.txt").exists()
    assert "- step: `2 (" in rails("review", session, "--markdown", code=0).stdout
    assert "left to undo" in rails("undo", "--file", "hello.txt", code=3).stderr
    assert "exclude each other" in rails("undo", "--file", "other.txt", "--all", code=2).stderr


def test_a_whole_session_is_undone_with_the_folders_it_made(rails, project):
    answer = WRITE.replace("hello.txt", "new/folder/hello.txt")
    rails("apply", "--json", "--approve", "policy", text=answer, code=0)
    rails("undo", "--all", code=0)
    assert not (project / "new").exists()


def test_a_session_becomes_one_commit_when_that_is_asked_for(rails, project):
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@localhost"]
    (project / "mine.txt").write_text("mine\n", "utf-8")
    for words in (
        ["init", "-q"],
        ["config", "user.name", "T"],
        ["config", "user.email", "t@localhost"],
        ["add", "mine.txt"],
        ["commit", "-q", "-m", "before"],
    ):
        subprocess.run([*git, *words], cwd=project, check=True)
    rails("apply", "--approve", "policy", "--commit", text=WRITE, code=0)
    shown = subprocess.run([*git, "show", "--stat"], cwd=project, check=True, capture_output=True, text=True).stdout
    assert "AI-Rails-Session:" in shown
    assert "hello.txt" in shown
    status = subprocess.run([*git, "status", "--porcelain"], cwd=project, check=True, capture_output=True, text=True)
    assert status.stdout == ""


def test_c6_11_the_replacements_of_the_seeds_take_case_patterns_and_order(rails, project):
    (project / "a.txt").write_text("one ONE two\n", "utf-8")
    body = {
        "tool": "multi_replace_string_in_file",
        "replacements": [
            {"filePath": "a.txt", "oldString": "two", "newString": "three", "order": 1},
            {"filePath": "a.txt", "oldString": "THREE", "newString": "four", "caseInsensitive": True, "order": 2},
            {"filePath": "a.txt", "oldString": "(one) ONE", "newString": "$1 and $1", "useRegex": True, "order": 3},
        ],
    }
    answer = f"```json\n{json.dumps(body)}\n```\n"
    done = rails("apply", "--json", "--approve", "policy", text=answer)
    assert done.returncode == 0, done.stdout
    assert (project / "a.txt").read_text("utf-8") == "one and one four\n"


def test_the_advanced_edit_form_of_the_seeds_is_one_unit(rails, project):
    (project / "a.txt").write_text("one\ntwo\ntwo\n", "utf-8")
    body = {
        "tool": "edit_file",
        "path": "a.txt",
        "searchReplaceBlocks": [
            {"search": "one", "replace": "1"},
            {"search": "two", "replace": "2", "occurrenceIndex": 2},
        ],
        "validateAfter": "1\ntwo\n2",
        "rollbackOnFailure": True,
    }
    answer = f"```json\n{json.dumps(body)}\n```\n"
    done = rails("apply", "--json", "--approve", "policy", text=answer)
    assert done.returncode == 0, done.stdout
    assert (project / "a.txt").read_text("utf-8") == "1\ntwo\n2\n"
    body["searchReplaceBlocks"][0] = {"search": "1", "replace": "uno"}
    body["validateAfter"] = "not there"
    answer = f"```json\n{json.dumps(body)}\n```\n"
    rails("apply", "--json", "--approve", "policy", text=answer, code=1)
    assert (project / "a.txt").read_text("utf-8") == "1\ntwo\n2\n"


def test_undo_does_not_go_over_a_persons_later_work(rails, project):
    rails("apply", "--json", "--approve", "policy", text=WRITE, code=0)
    (project / "hello.txt").write_text("my own words\n", "utf-8")
    done = rails("undo")
    assert done.returncode == 3
    assert (project / "hello.txt").read_text("utf-8") == "my own words\n"


def test_gate_answers_its_contract_and_its_exit_code(rails, project):
    (project / "good.py").write_text('"""Good."""\n', "utf-8")
    (project / "bad.py").write_text('"""Bad."""\n\nprint(undefined_name)\n', "utf-8")
    result = json.loads(rails("gate", "--format", "json", "good.py", "bad.py", code=1).stdout)
    contract("gate").validate(result)
    assert result["verdict"] == "fail"
    assert {finding["path"] for finding in result["findings"]} == {"bad.py"}
    assert json.loads(rails("gate", "--format", "json", "good.py", code=0).stdout)["verdict"] == "pass"


def test_what_gate_fix_wrote_is_undone_and_done_again_like_any_step(rails, project):
    styled(project)
    before = '"""Ugly."""\n\nimport os\n\nprint( os.name )\n'
    (project / "ugly.py").write_text(before, "utf-8")
    rails("gate", "--fix", "ugly.py", code=0)
    fixed = (project / "ugly.py").read_text("utf-8")
    assert "gate-fix" in rails("undo", code=0).stdout
    assert (project / "ugly.py").read_text("utf-8") == before
    rails("redo", code=0)
    assert (project / "ugly.py").read_text("utf-8") == fixed != before


def test_c9_13_doctor_says_of_each_tool_whether_it_is_there(rails, environment):
    folder = Path(environment["AI_RAILS_CONFIG_DIR"]) / "mcp_definitions"
    folder.mkdir(parents=True)
    schema = {"type": "object", "properties": {}}
    for name, program in (("there", sys.executable), ("absent", "no-such-program")):
        tool = {"tool_name": name, "description": "d", "request_schema": schema, "access_control": {"*": True},
                "transport": {"type": "command", "command": [program]}}  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(tool), "utf-8")
    lines = rails("doctor").stdout.splitlines()
    assert any("absent" in line and "no-such-program" in line for line in lines), lines
    assert any("there" in line and "absent" not in line for line in lines)


def test_check_says_what_a_tool_needs_and_does_not_find(rails, project):
    rails("tools", "new", "count_words", code=0)
    file = project / "mcp_definitions" / "count_words.json"
    file.write_text(file.read_text("utf-8").replace('"wc"', '"no-such-program"'), "utf-8")
    said = rails("tools", "check", code=3).stdout
    assert "0 mistakes" in said
    assert "count_words  missing  the program 'no-such-program' was not found" in said
    assert "Install it" in said
    rails("tools", "check", "--files-only", code=0)
    assert json.loads(rails("tools", "check", "--json", code=3).stdout)["needs"]["count_words"]["ok"] is False
    assert "tool count_words" in rails("doctor", code=0).stdout
    file.write_text(file.read_text("utf-8").replace("description", "descripton"), "utf-8")
    assert "Did you mean" in rails("tools", "check", code=1).stdout


def test_a_tool_is_tried_with_parameters_from_the_command_line(rails, project):
    rails("tools", "new", "count_words", code=0)
    (project / "two.txt").write_text("1\n2\n", "utf-8")
    words = ("tools", "test", "count_words")
    refused = rails(*words, '{"file_path": "two.txt"}', code=2).stderr
    assert "nobody has accepted it. Accept it: ai-rails tools trust count_words" in refused
    assert "2 two.txt" in rails(*words, '{"file_path": "two.txt"}', "--untrusted", code=0).stdout
    assert "Did you mean `file_path`?" in rails("tools", "test", "count_words", '{"path": "two.txt"}', code=1).stdout
    assert "not JSON" in rails("tools", "test", "count_words", "{path}", code=2).stderr


def test_one_server_that_does_not_start_does_not_keep_the_others_out(rails, project):
    pytest.importorskip("mcp_server_time")
    servers = {
        "bad": {"command": "no-such-server"},
        "time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]},
    }
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    done = rails("tools", "import", code=3)
    assert "'bad' cannot be used" in done.stderr
    assert (project / "mcp_definitions" / "get_current_time.json").exists()
    said = rails("tools", "check", code=0).stdout
    assert "get_current_time  unknown  not tried: nobody has trusted this definition yet" in said
    assert "project" in rails("tools", code=0).stdout


def test_c14_01_a_verb_of_the_original_says_what_it_is_called_here(rails):
    assert "unknown command 'status'; use: ai-rails review" in rails("status", code=2).stderr


def test_gate_explains_what_ran(rails, project):
    styled(project)
    (project / "good.py").write_text('"""Good."""\n', "utf-8")
    text = rails("gate", "--explain", "good.py", code=0).stdout
    assert "check   version  files  known  ms  " in text
    for tool, command in (("ruff", "ruff check -"), ("black", "-m black -"), ("flake8", "-m flake8 -")):
        assert re.search(rf"^{tool} +\d+[\d.]+ +1 +\d+ +\d+\.\d ", text, re.M)
        assert re.search(rf"^{tool}: .*{command}$", text, re.M)


def test_a_session_can_be_searched_exported_and_shown_as_a_page(rails, project):
    rails("apply", "--json", "--approve", "policy", text=WRITE, code=0)
    assert "TOOL_EXECUTION_RESULT" in rails("log", "search", "hello.txt", code=0).stdout
    assert rails("log", "search", "nosuchword", code=1).stdout == ""
    rails("log", "verify", code=0)
    for form in ("markdown", "recording"):
        assert "hello.txt" in rails("log", "export", "--format", form, code=0).stdout
    rails("review", "last", "--html", "page.html", code=0)
    page = (project / "page.html").read_text("utf-8")
    assert "hello.txt" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_rules_for_workflows_are_listed(rails):
    assert "N8N025" in rails("n8n", code=0).stdout
    assert "noOp" in rails("tools", "test", "n8n_node_info", '{"search": "noop"}', code=0).stdout
    assert "node types" in rails("n8n", "catalogue", code=0).stdout
    assert "catalogue build SOURCE" in rails("n8n", "catalogue", "bulid", code=2).stderr
    assert "Nothing was built" in rails("n8n", "catalogue", "build", "nowhere", code=2).stderr


def test_two_workflows_are_compared_and_drawn(rails, project):
    place = {"type": "n8n-nodes-base.noOp", "typeVersion": 1, "position": [0, 0], "parameters": {}}
    for name, nodes in (("old", ["A"]), ("new", ["A", "B"])):
        flow = {"name": "F", "nodes": [{"name": one, **place} for one in nodes], "connections": {}}
        (project / f"{name}.json").write_text(json.dumps(flow), "utf-8")
    assert '+ node "B"' in rails("n8n", "diff", "old.json", "new.json", code=1).stdout
    rails("n8n", "diff", "old.json", "old.json", code=0)
    shown = json.loads(rails("n8n", "diff", "old.json", "new.json", "--json", code=1).stdout)
    assert shown["title"] == "1 node added"
    assert "Wrote new.svg" in rails("n8n", "draw", "new.json", "--before", "old.json", code=0).stdout
    assert "flow-is-add" in (project / "new.svg").read_text("utf-8")
    assert rails("n8n", "draw", "new.json", "-o", "-", code=0).stdout.startswith("<svg ")
    before = (project / "old.json").read_bytes()
    assert "itself" in rails("n8n", "draw", "old.json", "-o", "old.json", code=2).stderr
    assert (project / "old.json").read_bytes() == before
    for wrong in (["draw"], ["diff", "old.json"], ["draw", "none.json"], ["draw", "app.py"]):
        assert rails("n8n", *wrong, code=2).stderr


def test_a_tool_is_tried_with_its_own_examples(rails, project):
    definition = {
        "tool_name": "count_lines",
        "description": "Count lines.",
        "request_schema": {
            "type": "object",
            "properties": {"file": {"type": "string", "maxLength": 200}},
            "required": ["file"],
            "additionalProperties": False,
        },
        "transport": {"type": "command", "command": ["wc", "-l", "{file}"]},
        "access_control": {"coder": "free_access"},
        "examples": [{"file": "a.txt"}],
    }
    (project / "mcp_definitions").mkdir()
    (project / "mcp_definitions" / "count_lines.json").write_text(json.dumps(definition), "utf-8")
    (project / "a.txt").write_text("one\ntwo\n", "utf-8")
    assert "2 a.txt" in rails("tools", "test", "count_lines", "--untrusted", code=0).stdout
    assert "whole file" in rails("tools", "trust", code=1).stdout
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": "2026-07-28", f"{prefix}/clientCapabilities": {}}
    listed = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
    assert "read_file" in rails("mcp", text=f"{listed}\n", code=0).stdout


def test_c5_10_a_run_as_events_leaves_standard_output_to_the_protocol(rails):
    with StubServer([says(f"I write.\n{WRITE}"), says("Done.")]) as stub:
        words = ("--model", "openai:m", "--base-url", f"{stub.url}/v1", "--approve", "policy", "--events", "jsonl")
        done = rails("run", "write hello", *words, code=0)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"json-tool-status", "json-tool-block", "text-delta", "end", "done"} <= {event["type"] for event in events}
    assert "Created hello.txt" in done.stderr


def test_c7_12_a_run_keeps_the_work_tree_on_a_branch_where_the_settings_ask_for_it(rails, project, environment):
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "--allow-empty", "-m", "x")):
        subprocess.run(
            ["git", "-c", "user.name=T", "-c", "user.email=t@localhost", *words], cwd=project, check=True, timeout=60
        )
    (project / "mine.txt").write_text("mine\n", "utf-8")
    (Path(environment["AI_RAILS_CONFIG_DIR"]) / "config.toml").write_text("[run]\nbackup = true\n", "utf-8")
    with StubServer([says("Done.")]) as stub:
        done = rails("run", "nothing", "--model", "openai:m", "--base-url", f"{stub.url}/v1", "--approve", "policy")
    name = re.search(r"ai-rails-backup-[\d-]+", done.stdout)[0]
    shown = subprocess.run(
        ["git", "show", f"{name}:mine.txt"], cwd=project, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout == "mine\n"


def test_c14_04_the_answers_of_a_session_are_written_as_files_and_never_over_others(rails, project):
    with StubServer([says(f"I write.\n{WRITE}"), says("Done.")]) as stub:
        words = ("--base-url", f"{stub.url}/v1", "--approve", "policy", "--protocol", "json")
        rails("run", "write hello", "--model", "openai:m", *words, code=0)
    written = rails("log", "export", "--format", "answers", code=0).stdout.splitlines()
    named = [line.removeprefix("Wrote ") for line in written]
    assert [(project / name).read_text("utf-8") for name in named] == [f"I write.\n{WRITE}", "Done."]
    assert all(re.fullmatch(r"answers/coder_output_\d{8}_\d{6}(_2)?\.md", name) for name in named)
    assert "exists already" in rails("log", "export", "--format", "answers", code=2).stderr


def test_a_line_tells_which_edit_made_it(rails, project):
    rails("apply", "--json", "--approve", "policy", text=WRITE, code=0)
    assert "write_file" in rails("why", "hello.txt:1", code=0).stdout
    (project / "mine.txt").write_text("mine\n", "utf-8")
    rails("why", "mine.txt:1", code=1)
    rails("why", "hello.txt", code=2)


def test_the_policy_is_checked_and_tried_on_past_sessions(rails, environment):
    rails("apply", "--json", "--approve", "policy", text=WRITE, code=0)
    assert "1 rule" in rails("policy", code=0).stdout
    file = Path(environment["AI_RAILS_CONFIG_DIR"]) / "policy.toml"
    file.write_text('[[rule]]\ndecision = "perhaps"\n', "utf-8")
    assert "rule 1" in rails("policy", code=2).stderr


@pytest.mark.parametrize("words", [["serve"], ["serve", "last"]], ids=["all", "one"])
def test_the_page_is_served_on_loopback_and_only_with_its_key(rails, project, environment, words):
    rails("apply", "--json", "--approve", "policy", text=WRITE, code=0)
    command = [sys.executable, "-m", "rails", *words]
    process = subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        assert ("&s=" in url) is (words[1:] == ["last"])
        base = url.split("#")[0]
        with urllib.request.urlopen(base, timeout=20) as page:
            assert page.status == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{base}api/sessions", timeout=20)
        assert refused.value.code in (401, 403, 404)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_run_works_over_real_http_and_retries_an_overloaded_server(rails, project):
    replies = [says(status=529, retry_after=0), says(WRITE, chunk_chars=3), says("Done.")]
    with StubServer(replies) as stub:
        done = rails(
            "run",
            "write hello",
            "--model",
            "anthropic:claude-test",
            "--base-url",
            stub.url,
            "--approve",
            "policy",
            code=0,
        )
        assert len(stub.requests) == 3
        told = stub.requests[2].body["messages"][-1]
    assert "Trying again." in done.stdout
    assert "✅ Created hello.txt" in done.stdout
    assert "🔧 Creating... hello.txt" in done.stdout
    assert "Created hello.txt" in json.dumps(told)
    assert (project / "hello.txt").exists()


def test_a_model_that_cannot_be_reached_ends_with_3_and_the_session_can_go_on(rails, project):
    with StubServer([says(status=401)]) as stub:
        words = ("--model", "openai:m", "--base-url", f"{stub.url}/v1", "--approve", "policy")
        assert "--resume" in rails("run", "write hello", *words, code=3).stdout
    with StubServer([says(WRITE), says("Done.")]) as stub:
        words = ("--model", "openai:m", "--base-url", f"{stub.url}/v1", "--approve", "policy")
        rails("run", "--resume", *words, code=0)
    assert (project / "hello.txt").exists()


def test_a_run_that_was_killed_goes_on_and_does_nothing_twice(rails, project, environment):
    words = ["run", "write two files", "--model", "openai:m", "--approve", "policy", "--protocol", "json"]
    with StubServer([says(WRITE), says("never sent", hang_s=60)]) as stub:
        command = [sys.executable, "-m", "rails", *words, "--base-url", f"{stub.url}/v1"]
        process = subprocess.Popen(
            command, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while len(stub.requests) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    assert (project / "hello.txt").read_text("utf-8") == "hello\n"
    rails("log", "verify", code=0)
    second = WRITE.replace("hello.txt", "second.txt")
    with StubServer([says(second), says("Done.")]) as stub:
        rails("run", "--resume", *words[2:], "--base-url", f"{stub.url}/v1", code=0)
        first_request = [one for one in stub.requests[0].body["messages"] if one["role"] != "system"]
    assert [message["role"] for message in first_request] == ["user", "assistant", "user"]
    assert "Created hello.txt" in json.dumps(first_request[2])
    assert (project / "second.txt").exists()
    assert "is over" in rails("run", "--resume", *words[2:], code=2).stderr


def approve_on_the_page(address):
    """Wait for the first question of a session and approve it, as the page does."""
    port, fragment = urlsplit(address).port, parse_qs(urlsplit(address).fragment)

    def ask(path, body=None):
        headers = {"X-AI-Rails-Token": fragment["token"][0], "Origin": f"http://127.0.0.1:{port}"}
        headers |= {"Content-Type": "application/json"} if body else {}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    session, until = fragment["s"][0], time.monotonic() + 100
    while not (asked := ask(f"/api/session/{session}/question"))["question"]:
        assert time.monotonic() < until, "nothing was asked"
        time.sleep(0.05)
    decision = {"session": session, "question": asked["question"], "digest": asked["digest"], "do": "approve"}
    assert ask("/api/decide", decision)["state"] == "approved"


def test_the_demo_is_decided_in_its_page(environment, tmp_path):
    copy = tmp_path / "copy"
    command = [sys.executable, "-m", "rails", "demo", "--web", "--keep", str(copy)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    demo = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, **pipes)
    try:
        approve_on_the_page(next(line for line in demo.stdout if "http://" in line).strip())
        assert any("Edited todo/cli.py" in line for line in demo.stdout)
    finally:
        demo.kill()
        demo.stdout.close()
        demo.wait()
    assert "as_json" in (copy / "todo/cli.py").read_text("utf-8")


def test_a_run_without_a_terminal_is_decided_in_its_page(project, environment, tmp_path):
    answers = tmp_path / "answers.jsonl"
    messages = [{"role": "assistant", "content": text, "stop_reason": "end_turn"} for text in (WRITE, "Done.")]
    answers.write_text("".join(f"{json.dumps(message)}\n" for message in messages), "utf-8")
    (Path(environment["AI_RAILS_CONFIG_DIR"]) / "policy.toml").unlink()
    command = [sys.executable, "-m", "rails", "run", "x", "--model", f"recorded:{answers}", "--web"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    run = subprocess.Popen(command, cwd=project, env=environment, start_new_session=True, **pipes)
    try:
        lines = iter(run.stdout)
        address, looking = (line.strip() for line in itertools.islice((one for one in lines if "http://" in one), 2))
        token = parse_qs(urlsplit(address).fragment)["token"][0]
        assert parse_qs(urlsplit(looking).fragment)["token"] != [token]
        assert token not in next((project / ".rails" / "sessions").glob("*/log.jsonl")).read_text("utf-8")

        approve_on_the_page(address)
        assert run.wait(30) == 0
    finally:
        run.kill()
        run.stdout.close()
        run.wait()
    assert (project / "hello.txt").read_text("utf-8") == "hello\n"


@walked("verb", cli.VERBS)
def test_a_verb_says_what_is_wrong_with_its_words_and_runs_nothing(verb, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        cli.main([verb, "--no-such-option"])
    assert end.value.code == 2
    assert f"usage: ai-rails {verb} " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "paths"), [(["a.py"], ["a.py"]), (["--", "-a.py"], ["-a.py"]), (["a.py", "--fix"], ["a.py"]), ([], [])]
)
def test_options_and_paths_of_a_call_are_told_apart(monkeypatch, words, paths):
    seen = []
    monkeypatch.setattr("rails.commands.gate.run", lambda options: seen.append(options) or 0)
    assert cli.main(["gate", *words]) == 0
    assert (seen[0].paths, seen[0].fix) == (paths, "--fix" in words)
