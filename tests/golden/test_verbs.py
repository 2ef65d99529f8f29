"""The verbs that look things up, begin projects and draw; and the other ways in which a run shows itself."""

import json
import re

import pytest

from .normal import text_of, transcript
from .running import HERE, committed, files_of, filled, planted, rails, restored

FLOWS = HERE / "trees/gate/flows"


def ran(*commands, **options):
    """Run commands and return each with its result."""
    return [(words, rails(*words, **options)) for words in commands]


def test_beginning_projects(golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = committed(planted(HERE / "trees/apply", tmp_path / "old"))
    steps = ran(
        ["new", "shop", "a shop for tea", "--into", tmp_path],
        ["new", "shop", "again", "--into", tmp_path],
        ["new", "Shop of Tea!", "--into", tmp_path],
        ["feature", "dark-mode", "Make it dark", "--project", tmp_path / "shop"],
        ["takeover", old],
        ["takeover", tmp_path / "nowhere"],
        ["run", "--plan", "nothing", "--approve", "policy", "--project", old],
        ["run", "--approve", "policy", "--project", old],
        ["run", "x", "--model", "odd:x", "--approve", "policy", "--project", old],
        ["run", "x", "--model", "recorded:nowhere.jsonl", "--approve", "policy", "--project", old],
        ["run", "--resume", "--approve", "policy", "--project", old],
        ["run", "x", "--agent", "nobody", "--approve", "policy", "--project", old],
        ["run", "x", "--then", "coder=,x", "--approve", "policy", "--project", old],
        ["undo", "--project", old],
        ["review", "--project", old],
        ["why", f"{old}/notes.md:1", "--project", old],
        ["why", f"{old}/notes.md", "--project", old],
        ["log", "search", "x", "--project", tmp_path / "nowhere"],
    )
    files = {}
    for name in ("shop", "old"):
        pages = {path: data.decode("utf-8") for path, data in files_of(tmp_path / name).items()}
        files |= {f"{name}/{path}": text for path, text in pages.items() if path.startswith("output")}
    paths = [(tmp_path, "TMP")]
    shown = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text_of(json.dumps(files, indent=1, ensure_ascii=False), paths))
    golden("verbs/begin.txt", f"{transcript(steps, paths)}\n{shown}\n")


def test_tools_and_agents(golden, tmp_path):
    project = planted(HERE / "trees/tools", tmp_path / "project")
    paths = [(project, "PROJECT"), (tmp_path, "TMP"), (HERE.parent.parent, "AI-RAILS")]
    where = ("--project", project)
    steps = ran(
        ["tools", "list", *where],
        ["tools", "list", "--json", *where],
        *(["tools", "show", name, *where] for name in ("edit_file", "multi_edit", "count_lines", "nothing")),
        ["tools", "check", "--files-only", *where],
        ["tools", "check", project / "bad", "--files-only", *where],
        ["tools", "check", project / "bad", "--files-only", "--json", *where],
        ["tools", "test", "read_file", '{"file_path": "mcp_definitions/count_lines.json", "limit": 2}', *where],
        ["tools", "test", "read_file", '{"path": 3}', *where],
        ["tools", "new", "my_tool", *where],
        ["tools", "new", "my_tool", *where],
        ["agents", *where],
        *(["agents", name, *where] for name in ("coder", "own", "overseer", "nobody")),
    )
    golden("verbs/tools.txt", transcript(steps, paths))
    golden("verbs/tools.new.txt", (project / "mcp_definitions/my_tool.json").read_text("utf-8"))


def test_workflows_of_n8n(golden, tmp_path, monkeypatch):
    monkeypatch.chdir(planted(FLOWS, tmp_path / "flows"))
    steps = ran(
        ["n8n", "rules"],
        ["n8n", "catalogue"],
        *(
            ["n8n", "diff", "misnamed.json", new, *more]
            for new in ("good.json", "faulty.json")
            for more in ([], ["--json"])
        ),
        ["n8n", "draw", "good.json", "-o", "-"],
        ["n8n", "draw", "good.json", "--before", "misnamed.json", "-o", "-"],
        ["n8n", "draw", "faulty.json"],
        ["n8n", "draw", "nowhere.json"],
        ["n8n", "draw", "good.json", "-o", "good.json"],
        ["n8n", "diff", "good.json"],
    )
    golden("verbs/n8n.txt", transcript(steps, [(tmp_path, "TMP")]))
    golden("verbs/n8n.faulty.svg", (tmp_path / "flows/faulty.svg").read_text("utf-8"))


@pytest.mark.parametrize("name", ["jsonl", "sse", "debug", "plain", "ja"])
def test_other_ways_to_show_a_run(golden, tmp_path, monkeypatch, name):
    words = {"jsonl": ["--events", "jsonl"], "sse": ["--events", "sse"], "debug": ["--debug"], "plain": ["--plain"]}
    if name == "ja":
        monkeypatch.setenv("AI_RAILS_LANG", "ja")
    case = HERE / "sessions/correction"
    project = planted(case / "project", tmp_path / "greeter")
    (tmp_path / "config/policy.toml").write_text('[[rule]]\ndecision = "allow"\npath = "*.py"\n', "utf-8")
    command = [
        "run",
        "--model",
        "ANSWERS",
        "--project",
        "PROJECT",
        "Greet",
        "--max-attempts",
        "5",
        "--approve",
        "policy",
    ]
    command = [*filled(command, project, case / "answers.jsonl"), *words.get(name, [])]
    paths = [(project, "PROJECT"), (HERE, "GOLDEN")]
    done = rails(*command)
    # How many parts an answer is told in depends on how fast it comes; tests/session/test_events.py holds them.
    partial = r'\{"v": 1, "type": "text-partial".*\n'
    out = re.sub(rf"^(?:data: {partial}\n|{partial})", "", done.out, flags=re.M)
    golden(f"verbs/run.{name}.txt", transcript([(command, done._replace(out=out))], paths))


def test_colours(golden, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    project = planted(HERE / "logs/demo/project", tmp_path / "greeter")
    restored(HERE / "logs/demo/state", project)
    where = ("--project", project)
    words = (
        ["review", "last", *where],
        ["review", *where],
        ["review", "--by", "rule", *where],
        ["gate", *where],
        ["gate", FLOWS.parent / "app/clean.py.txt", "--project", FLOWS.parent],
        ["apply", HERE.parent / "cases/answers/chatty.md", "--dry-run", *where],
    )
    steps = ran(*words, terminal=True)
    shown = transcript(steps, [(project, "PROJECT"), (HERE.parent, "TESTS")])
    # How often the spinner turns depends on how busy the machine is.
    shown = re.sub(r"\r|\x1b\[(?:\?25[lh]|1A|2K)", "", shown)
    shown = re.sub("\x1b\\[32m[\u2800-\u28ff]\x1b\\[0m [^\n]*\n?", "", shown).replace("\x1b", "<ESC>")
    golden("verbs/colours.txt", shown)
