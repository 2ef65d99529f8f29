"""A command tool gets its arguments as they are, a clean environment, and an end."""

import json
import os
import sys
import time

import pytest

from rails.core import limits
from rails.core.tool_request import ToolRequest
from rails.tools.loader import read_definition
from rails.tools.runners import dispatch
from tests.rows import walked


def define(command, *, parameters=("value",), **fields):
    definition, mistakes = read_definition(
        json.dumps(
            {
                "tool_name": "probe",
                "description": "A test.",
                "request_schema": {"type": "object", "properties": {name: {} for name in parameters}},
                "transport": {"type": "command", "command": command, **fields.pop("transport", {})},
                **fields,
            }
        ),
        "probe.json",
    )
    assert not mistakes, [str(mistake) for mistake in mistakes]
    return definition


def use(definition, project, **parameters):
    request = ToolRequest("r1", "probe", parameters, "", "run", True, definition.digest, "coder")
    return dispatch.run_request(request, definition, project)


SHOW = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]


def arguments(result):
    assert result.ok, result.text
    return json.loads(result.text.splitlines()[1])


@walked("value", ["a b", "; rm -rf /", "$(id)", "`id`", "a\nb", "'\"", "{other}", "*", "é\u202e", ""])
def test_a_value_is_one_argument_whatever_it_contains(tmp_path, value):
    assert arguments(use(define([*SHOW, "{value}"]), tmp_path, value=value)) == [value]


@pytest.mark.parametrize(
    ("template", "parameters", "expected"),
    [
        (["--x={value}"], {"value": "a b"}, ["--x=a b"]),
        (["--x={value}", "{value}"], {}, []),
        (["{value}"], {"value": ["a", "b c"]}, ["a", "b c"]),
        (["{value}"], {"value": 3}, ["3"]),
        (["{value}"], {"value": -3}, ["-3"]),
        (["{value}"], {"value": True}, ["true"]),
        (["{value}"], {"value": {"a": 1}}, ['{"a": 1}']),
        (["{{value}}"], {"value": "x"}, ["{value}"]),
        (["--", "{value}"], {"value": "-x"}, ["--", "-x"]),
    ],
)
def test_placeholders(tmp_path, template, parameters, expected):
    assert arguments(use(define([*SHOW, *template]), tmp_path, **parameters)) == expected


def test_a_value_cannot_become_an_option(tmp_path):
    result = use(define([*SHOW, "{value}"]), tmp_path, value="--delete")
    assert not result.ok
    assert "begins with a dash" in result.text


def test_a_nul_character_and_an_over_long_value_are_refused(tmp_path):
    assert "NUL" in use(define([*SHOW, "{value}"]), tmp_path, value="a\0b").text
    assert "too long" in use(define([*SHOW, "{value}"]), tmp_path, value="x" * 200_000).text


def test_it_runs_in_the_project_with_a_clean_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-1234")
    monkeypatch.setenv("PYTHONPATH", "/evil")
    code = "import os; print(os.getcwd()); print(sorted(os.environ))"
    result = use(define([sys.executable, "-c", code], transport={"env": {"MODE": "test"}}), tmp_path)
    assert str(tmp_path) in result.text
    assert "'MODE'" in result.text
    assert "ANTHROPIC" not in result.text
    assert "PYTHONPATH" not in result.text


def test_a_program_in_the_project_is_not_taken_for_one_on_the_path(tmp_path, monkeypatch):
    planted = tmp_path / "python9"
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:.:{os.environ['PATH']}")
    assert "was not found" in use(define(["python9"]), tmp_path).text
    assert "planted" in use(define(["./python9"]), tmp_path).text


def test_an_exit_code_other_than_0_is_a_failed_result_with_its_output(tmp_path):
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    result = use(define([sys.executable, "-c", code]), tmp_path)
    assert not result.ok
    assert result.text == "probe: exit code 3\nout\n[stderr]\nerr"
    assert result.facts["exit_code"] == 3


def test_a_timeout_ends_the_program_and_its_children(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\ntime.sleep(60)"
    )
    started = time.monotonic()
    result = use(define([sys.executable, "-c", code], timeout_s=1), tmp_path)
    assert time.monotonic() - started < 40
    assert "stopped after 1 s" in result.text
    assert_gone(int(result.text.splitlines()[1]))


def test_a_child_that_keeps_the_output_open_does_not_keep_us_waiting(tmp_path):
    code = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)"
    started = time.monotonic()
    result = use(define([sys.executable, "-c", code], timeout_s=30), tmp_path)
    assert time.monotonic() - started < 28
    assert result.ok
    assert_gone(int(result.text.splitlines()[1]))


def assert_gone(pid):
    """A killed orphan may stay a zombie until init collects it; then it has no memory left."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


def test_endless_output_is_kept_at_both_ends(tmp_path):
    code = "import sys\nprint('first')\nfor _ in range(4000): sys.stdout.write('x' * 1000)\nprint('last')"
    result = use(define([sys.executable, "-c", code]), tmp_path)
    assert result.ok
    assert len(result.text) < limits.RESULT_CHARS + 1_000
    assert result.text.splitlines()[1].startswith("first")
    assert result.text.endswith("last")


def test_parameters_can_come_on_standard_input(tmp_path):
    code = "import json, sys; print(json.load(sys.stdin)['value'][-3:])"
    definition = define([sys.executable, "-c", code], transport={"stdin": "json"})
    assert use(definition, tmp_path, value="x" * 500_000 + "end").text.endswith("end")


def test_a_program_that_does_not_read_its_input_is_no_failure(tmp_path):
    definition = define([sys.executable, "-c", "print('done')"], transport={"stdin": "json"})
    assert use(definition, tmp_path, value="x" * 500_000).text.endswith("done")


def test_a_program_that_cannot_start_is_said(tmp_path):
    assert "was not found" in use(define(["no-such-program-here"]), tmp_path).text


def test_secrets_reach_the_program_only_and_are_masked(tmp_path, monkeypatch):
    project = tmp_path / "my-app"
    project.mkdir()
    monkeypatch.delenv("AI_RAILS_PROJECT_NAME", raising=False)
    monkeypatch.setenv("SERVICE_KEY", "general-value")
    monkeypatch.setenv("MY_APP__SERVICE_KEY", "project-value")
    definition = define([sys.executable, "-c", "import os; print(os.environ['SERVICE_KEY'])"], secrets=["SERVICE_KEY"])
    assert use(definition, project).text == "probe: exit code 0\n[secret SERVICE_KEY]"
    long = "import os; print(os.environ['SERVICE_KEY'] * 40_000)"
    text = use(define([sys.executable, "-c", long], secrets=["SERVICE_KEY"]), project).text
    assert "value" not in text, "no part of it is left where the text is cut"


def test_a_missing_secret_names_both_variables(tmp_path, monkeypatch):
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    monkeypatch.setenv("AI_RAILS_PROJECT_NAME", "shop")
    result = use(define(["true"], secrets=["SERVICE_KEY"]), tmp_path)
    assert "SHOP__SERVICE_KEY or SERVICE_KEY" in result.text


def test_the_real_keyring_package_gives_the_secret(tmp_path, monkeypatch):
    import keyring
    from keyring.backend import KeyringBackend

    class Held(KeyringBackend):
        priority = 1

        def get_password(self, service, username):
            return {("ai-rails", "SERVICE_KEY"): "from-keyring"}.get((service, username))

        def set_password(self, service, username, password):
            raise NotImplementedError

    before = keyring.get_keyring()
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    monkeypatch.setenv("AI_RAILS_KEYRING", "1")
    definition = define([sys.executable, "-c", "import os; print(os.environ['SERVICE_KEY'])"], secrets=["SERVICE_KEY"])
    keyring.set_keyring(Held())
    try:
        assert use(definition, tmp_path).text == "probe: exit code 0\n[secret SERVICE_KEY]"
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize(
    ("printed", "said"),
    [('{"score": 3}', ""), ('{"score": "high"}', "`score` is a string"), ("three", "the output is not JSON")],
)
def test_c9_14_what_a_program_prints_is_checked_against_its_schema(tmp_path, printed, said):
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
    code = f"print({printed!r})".replace("{", "{{").replace("}", "}}")
    definition = define([sys.executable, "-c", code], parameters=(), response_format=schema)
    result = use(definition, tmp_path)
    assert result.ok is not bool(said)
    assert said in result.text
