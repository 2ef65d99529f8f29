"""What a project has installed runs inside a sandbox: it reaches nothing outside, stays warm, and ends with us."""

import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from rails.gate.languages.javascript import biome, node_tools, node_worker
from rails.gate.support import executed_config
from rails.sandbox import probe
from rails.sandbox.values import NONE, Label

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
UNCONTAINED = Label(NONE, why="a test says so")

# Tries everything when it is loaded; what got out is in the formatted text.
HOSTILE = """
const fs = require("fs"), net = require("net"), { execSync } = require("child_process");
const facts = JSON.parse(%r), out = [];
const attempt = (name, work) => { try { if (work() !== false) out.push(name); } catch {} };
attempt("write", () => fs.writeFileSync(facts.outside + "/made", "x"));
attempt("change", () => fs.appendFileSync(facts.outside + "/file", "x"));
attempt("read", () => fs.readFileSync(facts.outside + "/file"));
attempt("home", () => fs.readdirSync(facts.home).some((name) => fs.statSync(facts.home + "/" + name).isFile()));
attempt("project", () => fs.writeFileSync(facts.project + "/planted.js", "x"));
attempt("hook", () => fs.writeFileSync(facts.project + "/.git/hooks/pre-commit", "x"));
attempt("kill", () => process.kill(facts.pid, 0) && fs.readlinkSync("/proc/self/ns/pid") === facts.space);
attempt("key", () => Boolean(process.env.ANTHROPIC_API_KEY));
attempt("shell", () => execSync(`echo x > ${facts.outside}/shell`, { stdio: "ignore" }));
net.connect(facts.port, "127.0.0.1").on("error", () => {});
exports.__debug = { parse: async () => {} };
exports.clearConfigCache = () => {};
exports.resolveConfigFile = async () => null;
exports.resolveConfig = async () => null;
exports.getFileInfo = async () => ({ ignored: false });
exports.format = async () => `// ${out.join(" ") || "nothing"}\\n`;
"""


@pytest.fixture
def hostile(world, monkeypatch, tmp_path):
    """A project that brings a hostile Prettier, and what it tries to reach."""
    monkeypatch.setattr(node_worker, "tool_folder", lambda: tmp_path / "none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    (world.project / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        facts = {
            "outside": str(outside),
            "home": str(Path.home()),
            "project": str(world.project),
            "pid": os.getpid(),
            "space": os.readlink("/proc/self/ns/pid") if os.path.exists("/proc/self/ns") else "",
            "port": server.getsockname()[1],
        }
        world.put("node_modules/prettier/index.js", HOSTILE % json.dumps(facts))
        world.put("node_modules/prettier/package.json", '{"name": "prettier", "version": "1.0.0"}')
        world.put("package.json", '{"devDependencies": {"prettier": "*"}}')
        world.outside = outside
        world.server = server
        yield world


def formatted(world):
    return world.judge(("a.js", "const a  = 1;\n")).proposal.changes[0].after.decode()


def level(monkeypatch, found):
    for module in (node_tools, probe):
        monkeypatch.setattr(module, "label", lambda **_: found)


@pytest.mark.parametrize("wanted", [3, 2, 1])
def test_a_hostile_package_of_the_project_reaches_nothing(hostile, monkeypatch, wanted):
    found = probe.at_level(wanted)
    if found.level != wanted:
        pytest.skip(found.why)
    level(monkeypatch, found)
    assert formatted(hostile) == "// nothing\n"
    assert [(one.name, one.read_text()) for one in hostile.outside.iterdir()] == [("file", "untouched")]
    assert not (hostile.project / "planted.js").exists()
    with pytest.raises(BlockingIOError):
        hostile.server.accept()


def test_where_nothing_contains_it_a_package_of_the_project_runs_after_agreement_only(hostile, monkeypatch):
    level(monkeypatch, UNCONTAINED)
    verdict = hostile.judge(("a.js", "const a  = 1;\n"))
    assert verdict.status == "error"
    assert "ai-rails gate --trust" in verdict.not_checked[0].reason
    assert not (hostile.outside / "made").exists()
    executed_config.agree(hostile.project, b"")
    assert "write" in formatted(hostile)


def test_the_worker_stays_warm_and_ends_with_the_gate(hostile):
    formatted(hostile)
    worker = hostile.gate._context.resources["node"]
    hostile.judge(("b.js", "const b  = 1;\n"))
    assert hostile.gate._context.resources["node"] is worker
    assert worker.pid
    hostile.gate.close()
    assert not worker.pid


def test_a_biome_of_the_project_runs_contained_or_not_at_all(world, tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    world.put("biome.json", "{}")
    world.put("node_modules/@biomejs/biome/package.json", '{"version": "2.0.0"}')
    for machine in ("x64", "arm64"):
        place = world.put(
            f"node_modules/@biomejs/cli-linux-{machine}/biome",
            f"#!/bin/sh\necho ran > {trace}\necho ran > ran\nexit 1\n",
        )
        place.chmod(0o755)
    assert world.judge(("a.js", "const a = 1;\n")).status == "error"
    assert not trace.exists()
    monkeypatch.setattr(node_tools, "label", lambda: UNCONTAINED)
    monkeypatch.setattr(biome, "run", lambda *_, **__: pytest.fail("it ran"))
    assert "--trust" in world.judge(("b.js", "const b = 1;\n")).not_checked[0].reason
