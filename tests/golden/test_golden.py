"""What a user sees is what it was: help, exit codes, JSON contracts, reports, logs and their reviews, byte for byte.

Everything goes through the command line and through files, so no rename inside ``rails/`` changes a line here.
Only times, names of sessions and folders, hashes of the chain and versions of tools are taken out.
"""

import json
import re
import subprocess
import sys

import pytest

from rails.commands.verbs import VERBS

from .normal import log_of, text_of, transcript
from .running import HERE, committed, files_of, planted, rails

pytestmark = pytest.mark.usefixtures("shared_workers")
CASES = HERE.parent / "cases"
SCENARIOS = HERE.parent / "scenarios"
DIALECTS = ("hermes", "invoke", "mistral", "react", "name", "cohere", "gemini")
ALLOW = """\
[[rule]]
decision = "allow"
tool = ["edit_file", "multi_edit", "write_file", "insert_lines", "move_file", "delete_file"]
path = ["shop/**", "*.md", "*.json", "*.yaml", "*.py"]
kind = ["create", "modify", "delete"]

[[rule]]
decision = "deny"
path = "*.env"
reason = "Secrets are not written here."
"""


def ran(*commands, **options):
    """Run commands and return each with its result."""
    return [(words, rails(*words, **options)) for words in commands]


def test_the_demo_prints_and_logs_the_same(golden, tmp_path):
    project = tmp_path / "todo"
    said = ran(["demo", "--keep", project])
    (log,) = project.glob(".rails/sessions/*/log.jsonl")
    paths = [(project, "PROJECT")]
    golden("demo/screen.txt", transcript(said, paths))
    golden("demo/log.jsonl", log_of(log.read_bytes(), paths))
    handed = {file.name: file.read_text("utf-8") for file in sorted(project.glob(".rails/handoffs/*/*.*"))}
    golden("demo/handoffs.json", text_of(json.dumps(handed, indent=1, ensure_ascii=False), paths) + "\n")
    blobs = {file.name: file.read_text("utf-8") for file in sorted(project.glob(".rails/blobs/*/*"))}
    golden("demo/blobs.json", text_of(json.dumps(blobs, indent=1, ensure_ascii=False), paths) + "\n")


# -- help ---------------------------------------------------------------------------------------------


def test_help_of_every_verb(golden):
    words = [["--help"], [], ["--version"], ["nonsense"], *([verb, "--help"] for verb in VERBS)]
    script = (
        "import contextlib, io, json, sys\nfrom rails.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):\n"
        "        try:\n            code = main(words)\n"
        "        except SystemExit as end:\n            code = end.code\n"
        "    print(json.dumps([code, out.getvalue()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(words)], capture_output=True, text=True, check=True, timeout=100
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for asked, (code, text) in zip(words, found, strict=True):
        name = "-".join(asked).strip("-").removesuffix("---help") or "nothing"
        golden(f"help/{name}.txt", f"$ ai-rails {' '.join(asked)}\n{text_of(text)}[exit {code}]\n")


def test_no_verb_is_without_a_golden_help():
    listed = re.findall(
        r"^  ([a-z][a-z0-9]+)  +[a-z]", (HERE / "expected/help/help.txt").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(VERBS)


# -- the pipeline's parts -------------------------------------------------------------------------------


def texts():
    """Return every answer that the suite keeps: (name, text, why the model stopped)."""
    for file in sorted((CASES / "intake").glob("*.json")):
        case = json.loads(file.read_text("utf-8"))
        yield f"intake/{file.stem}", case["message"], case["finish"]
    for file in sorted((CASES / "answers").glob("*.md")):
        yield f"answers/{file.stem}", file.read_text("utf-8"), "end_turn"
    recordings = [
        *sorted(SCENARIOS.glob("*/answers.jsonl")),
        HERE.parent.parent / "workspace/todo-demo/conversation.jsonl",
    ]
    for file in recordings:
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
            answer = json.loads(line)
            if isinstance(answer["content"], str):
                yield f"{file.parent.name[:3]}/{number}", answer["content"], answer.get("stop_reason", "end_turn")
    for name in ("apply", "forms", "flows"):
        for item in answers(name):
            yield f"{name}/{item['id']}", item["text"], "end_turn"


def answers(name):
    """Return the answers of a file of this folder."""
    return [json.loads(line) for line in (HERE / f"answers/{name}.jsonl").read_text("utf-8").splitlines()]


def jsonl(items):
    return "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in items)


def test_parse_of_every_kept_answer(golden, tmp_path):
    by_finish = {}
    for name, text, finish in texts():
        by_finish.setdefault(finish, []).append((name, text))
    found = []
    for finish, items in sorted(by_finish.items()):
        result = rails("parse", "--jsonl", "--finish", finish, "--project", tmp_path, stdin=jsonl(items))
        assert result.err == ""
        found.append(f"--finish {finish} [exit {result.code}]\n{result.out}")
    golden("parse/all.jsonl", "".join(found))


@pytest.mark.parametrize("options", [["--finish", "max_tokens"], ["dialects"]], ids="-".join)
def test_parse_with_options_differs_only_where_it_did(golden, tmp_path, options):
    items = [(name, text) for name, text, _ in texts() if not re.match(r"\d", name)]
    words = [word for name in DIALECTS for word in ("--dialect", name)] if options == ["dialects"] else options
    plain = rails("parse", "--jsonl", "--project", tmp_path, stdin=jsonl(items)).out.splitlines()
    result = rails("parse", "--jsonl", *words, "--project", tmp_path, stdin=jsonl(items))
    changed = [new for old, new in zip(plain, result.out.splitlines(), strict=True) if old != new]
    golden(f"parse/{'-'.join(options).strip('-')}.jsonl", "\n".join([*changed, f"[exit {result.code}]\n"]))


def test_parse_as_text(golden, tmp_path):
    steps = []
    for file in sorted((CASES / "answers").glob("*.md")):
        steps += ran(["parse", file, "--project", tmp_path], ["parse", file, "--json", "--project", tmp_path])
    for name, text, finish in texts():
        if name.startswith(("intake", "apply", "forms")):
            steps.append(
                (
                    ["parse", "--finish", finish, name],
                    rails("parse", "--finish", finish, "--project", tmp_path, stdin=text),
                )
            )
    steps += ran(["parse", "nowhere.md"], ["parse", "--finish", "odd"], ["parse", "--jsonl"], stdin="{}\n")
    golden("parse/text.txt", transcript(steps, [(CASES, "CASES"), (tmp_path, "PROJECT")]))


@pytest.fixture
def tree(tmp_path):
    """Return the project of good and broken files that the gate looks at."""
    return committed(planted(HERE / "trees/gate", tmp_path / "golden"))


def reports(project, paths, *commands):
    """Run the gate and return its reports."""
    return transcript([(words, rails("gate", *words[1:], "--project", project)) for words in commands], paths)


GATES = {
    "text": [["gate"], ["gate", "--explain"]],
    "json": [["gate", "--format", "json"]],
    "sarif": [["gate", "--format", "sarif"]],
    "github": [["gate", "--format", "github"]],
    "junit": [["gate", "--format", "junit"]],
    "profiles": [["gate", "--profile", "publish", "--strict"]],
}


@pytest.mark.parametrize("name", GATES)
def test_gate_reports(golden, tree, name):
    found = reports(tree, [(tree, "PROJECT")], *GATES[name])
    golden(f"gate/{name}.txt", found)


def test_gate_of_what_changed(golden, tree, monkeypatch):
    monkeypatch.chdir(tree)
    paths = [(tree, "PROJECT")]
    clean = tree / "app/clean.py"
    clean.write_text(clean.read_text() + "\n\ndef more() -> int:\n    return nothing\n", "utf-8")
    findings = tree / "app/findings.py"
    findings.write_text(findings.read_text().replace("unused = 1", "unused = undefined_too"), "utf-8")
    (tree / "conf/good.json").write_text('{"name": }\n', "utf-8")
    (tree / "dot.txt").write_text("new\n", "utf-8")
    found = [reports(tree, paths, ["gate", "--diff", "HEAD"], ["gate", "--diff", "HEAD", "--format", "json"])]
    subprocess.run(["git", "add", "app"], cwd=tree, check=True)
    found.append(reports(tree, paths, ["gate", "--staged"], ["gate", "app/clean.py"]))
    (tree / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["E"]\n', "utf-8")
    found.append(
        reports(
            tree, paths, ["gate", "--staged"], ["gate", "app/clean.py"], ["gate", "--diff", "HEAD", "pyproject.toml"]
        )
    )
    found.append(
        reports(tree, paths, ["gate", "nowhere.py"], ["gate", "--format", "xml"], ["gate", "--diff", "no-such-ref"])
    )
    found.append(reports(tree, paths, ["gate", "--all", "app"], ["gate", "--trust", "conf/good.toml"]))
    golden("gate/changed.txt", "\n".join(found))


def test_gate_fix_writes_the_same_bytes(golden, tree):
    before = files_of(tree)
    found = reports(tree, [(tree, "PROJECT")], ["gate", "--fix"])
    after = files_of(tree)
    changed = {
        name: data.decode("utf-8", "backslashreplace") for name, data in after.items() if before.get(name) != data
    }
    golden("gate/fix.txt", found + "\n" + json.dumps(changed, indent=1, ensure_ascii=False) + "\n")


@pytest.fixture
def shop(tmp_path):
    """Return the project that saved answers are applied to, with a policy that allows most of it."""
    (tmp_path / "config/policy.toml").write_text(ALLOW, "utf-8")
    return committed(planted(HERE / "trees/apply", tmp_path / "shop"))


def applied(project, *words, stdin=""):
    """Run ``apply`` and return its output and its exit code, all normal."""
    result = rails("apply", *words, "--project", project, stdin=stdin)
    return transcript([(["apply", *words], result)], [(project, "PROJECT")])


@pytest.mark.parametrize("name", ["policy", "dry-run"])
def test_apply_of_many_answers(golden, shop, name):
    words = {"policy": ["--approve", "policy"], "dry-run": ["--dry-run"]}[name]
    items = answers("apply")
    items += [{"id": case, "text": text} for case, text, _ in texts() if case.startswith(("intake", "answers"))]
    said = applied(shop, "--jsonl", *words, stdin="".join(json.dumps(item) + "\n" for item in items))
    files = {path: data.decode("utf-8", "backslashreplace") for path, data in files_of(shop).items()}
    golden(f"apply/{name}.txt", said)
    if name == "policy":
        golden("apply/policy.files.json", json.dumps(files, indent=1, ensure_ascii=False) + "\n")


def test_apply_of_changes_to_workflows(golden, shop, tmp_path):
    package = tmp_path / "packages/node_modules/n8n-nodes-base"
    (package / "dist/types").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "n8n-nodes-base", "version": "9.8.7"}', "utf-8")
    (package / "dist/types/nodes.json").write_bytes((HERE / "trees/nodes/nodes.json.txt").read_bytes())
    planted(HERE / "trees/gate/flows", shop / "flows")
    (shop / "README.md").write_text("# A shop\n", "utf-8")
    paths = [(shop, "PROJECT"), (tmp_path, "TMP")]
    said = [transcript(ran(["n8n", "catalogue", "build", tmp_path / "packages"], ["n8n", "catalogue"]), paths)]
    said.append(transcript(ran(["gate", "--project", shop, "--profile", "publish", "--format", "json"]), paths))
    stdin = "".join(json.dumps(item) + "\n" for item in answers("flows"))
    words = ["--jsonl", "--agent", "n8n-flow-creator", "--approve", "policy"]
    (tmp_path / "config/policy.toml").write_text(
        ALLOW.replace("tool = [", 'tool = ["edit_workflow", ').replace("*.json", "**")
    )
    done = applied(shop, *words, stdin=stdin)
    flows = {file.name: file.read_text("utf-8") for file in sorted(shop.glob("flows/*.json"))}
    golden("apply/flows.txt", "\n".join([*said, done, json.dumps(flows, indent=1)]) + "\n")


def test_apply_of_one_answer(golden, shop, tmp_path):
    paths = [(CASES, "CASES"), (shop, "PROJECT")]
    said = []
    for words in (["chatty.md", "--json"], ["chatty.md"], ["terse_xml.md", "--debug"], ["broken.md", "--plain"]):
        command = ["apply", CASES / "answers" / words[0], *words[1:], "--approve", "policy", "--project", shop]
        said.append((command, rails(*command)))
    said += ran(["apply", CASES / "answers/chatty.md", "--dry-run", "--project", shop])
    said += ran(["apply", CASES / "answers/chatty.md", "--agent", "nobody", "--project", shop])
    golden("apply/one.txt", transcript(said, paths))
