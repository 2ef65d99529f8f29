"""Every wrong use is answered by a sentence that says what is wrong: no traceback, nothing started, nothing written."""

import io
import shlex
import sys

import pytest

from rails.cli import main
from tests.rows import walked

#: A command line, and words of the sentence that it is answered with.
TABLE = """
nonsense | ai-rails: unknown command 'nonsense'
tools list extra | tools list does not take 'extra'. Nothing was done.
tools show read_file extra | tools show does not take 'extra'
tools check folder extra | tools check does not take 'extra'
agents coder extra | agents coder does not take 'extra'
n8n rules extra | n8n rules does not take 'extra'
reveiw | did you mean review?
--verison | did you mean --version?
run | What should the agent do? For example
run x --model nonsense | Unknown model 'nonsense': write it as
run x --model foo:bar | Unknown model 'foo:bar'
run x --model anthropic: | has no name: write it as
run x --model recorded:missing.jsonl | The recording missing.jsonl cannot be read
run x --model recorded:bad.json | bad.json:1: not a recorded answer
run x --model recorded:folder | Is a directory
run x --model recorded:binary | is not UTF-8 text
run x --model anthropic:m | ANTHROPIC_API_KEY is not set
run x --agent nobody | There is no agent 'nobody'. Known agents
run x --then nobody | There is no agent 'nobody'
run x --then = | --then takes agents
run x --then coder= | --then takes agents
run x --plan missing | There is no plan 'missing'
run x --plan folder | There is no plan in
run x --model-for coder | --model-for takes AGENT=MODEL
run x --model-for =openai:x | --model-for takes AGENT=MODEL
run x --model-for nobody=openai:x | There is no agent 'nobody'
run x --max-turns 0 | expected a whole number from 1, not '0'
run x --max-turns -1 | expected a whole number from 1, not '-1'
run x --max-turns many | expected a whole number from 1, not 'many'
run x --max-turns 1.5 | expected a whole number from 1
run x --max-attempts 0 | expected a whole number from 1
run x --max-tokens -5 | expected a whole number from 1
run x --max-minutes -1 | expected a number above 0, not '-1'
run x --max-minutes nan | expected a number above 0
run x --max-minutes inf | expected a number above 0
run x --max-minutes soon | expected a number above 0, not 'soon'
run x --max-cost -1 | expected a number above 0
run x --max-cost | expected one argument
run x --answer-within 0 | expected a number above 0
run x --base-url nonsense | takes an address with http:// or https://
run x --base-url ftp://x --model openai:x | http:// or https://
run x --project missing | missing is not a folder. Name the project
run x --project ok.py | ok.py is not a folder
run x --events xml | choose from
run x --approve maybe | choose from
run x --correction all | choose from
run x --escalate up | choose from
run x --handoff maybe | choose from
run x --modle y | did you mean --model?
run x y z | unknown argument y z
run --resume | There is no session here
run --resume nope | There is no session here
apply missing.md | missing.md is not a file. Name a saved answer
apply folder | folder is not a file
apply ok.py --agent nobody | There is no agent 'nobody'
apply ok.py --jsonl | Line 1 is not
apply --denied last --jsonl | --denied takes its answers from a session, not --jsonl or a file
apply ok.py --denied last | Nothing was applied.
apply bad.json --jsonl | Line 1 is not
apply ok.py --dialect klingon | There is no dialect 'klingon'
apply ok.py --dry | did you mean --dry-run?
gate missing.py | missing.py does not exist
gate folder/missing | folder/missing does not exist
gate --diff main | is not in a git repository, so there is nothing to compare with
gate --diff a..b | is not in a git repository
gate ok.py --diff | expected one argument
gate --format xml | argument --format: invalid choice: 'xml'
gate --fromat json | did you mean --format?
gate /etc/passwd | is outside the project
gate ../outside.py | is outside the project
gate --profile x | use import, api, publish, strict
new | required
new bad/name x | 'bad/name' is not a name. Use letters
new .. x | '..' is not a name
feature | required
feature ../x y | is not a name
takeover | required
takeover missing x | is not a folder, so there is nothing to take over
undo nope | There is nothing to undo in session 'nope'
undo | There is nothing to undo in
undo x y z | unknown argument y z
undo --project missing | missing is not a folder
redo | There is nothing to redo in
redo nope | There is nothing to redo in session 'nope'
demo --keep ok.py | exists already. Name a folder that does not
demo --keep folder | exists already
parse missing.md | missing.md is not a file
parse folder | folder is not a file
parse ok.py --dialect klingon | There is no dialect 'klingon'
review nope | There is no session here
review --by month | choose from
apply --denied nope | There is no session here
review --filter is:wrong | is:wrong is not a state of a session
log | required
log nonsense | choose from
log search | What should be searched for? For example
log search x | There is no session here
log verify nope | There is no session here
log export nope --format xml | invalid choice: 'xml'
serve --port 80000 | expected a port from 0 to 65535, not '80000'
serve --port -1 | expected a port from 0 to 65535
serve --port x | expected a port from 0 to 65535
serve --host 0.0.0.0 | unknown argument --host
serve | There is no session here. Start one with ai-rails run
why | required
why ok.py | Name a file and a line, for example src/app.py:12
why ok.py:0 | Name a file and a line
why ok.py:x | Name a file and a line
why :3 | Name a file and a line
why missing.py:1 | missing.py is not a file of the project
tools nonsense | choose from
tools show | A name is needed, for example
tools show nope | There is no tool 'nope'. Known tools
tools new | A name is needed
tools new ../x | does not match ^[A-Za-z]
tools trust nope | There is no tool 'nope'
tools test | A name is needed
tools test nope | There is no tool 'nope'
tools test read_file { | Line 1 of the parameters is not JSON
tools test read_file [] | have to be a JSON object
tools test edit_file {} | try it with ai-rails apply --dry-run
tools import missing.json | missing.json is not a file
tools import bad.json | bad.json:1: the file is not JSON
tools import folder | folder is not a file
n8n nonsense | choose from
n8n draw missing.json | missing.json cannot be read
n8n draw bad.json | is not an n8n workflow in JSON
n8n diff missing.json | Write: ai-rails n8n diff OLD.json NEW.json
policy nope | unknown argument nope
config nope | choose from
agents nope | There is no agent 'nope'. Known agents
hook | required
hook nope | choose from
completion | required
completion csh | choose from
completion bash extra | unknown argument extra
batch run t.jsonl | batch run needs --store and --models. Nothing was run
batch run missing.jsonl --store s --models x --policy edits | The tasks in missing.jsonl cannot be read
batch run ok.py --store s --models x --policy gone.toml | There is no policy in gone.toml
batch run ok.py --store s --models x --policy edits --gate maybe | no task
batch report nowhere | There is no result in nowhere. Run some first
batch export nowhere | There is no result in nowhere. Run some first
batch run ok.py --workers 0 | expected a whole number from 1, not '0'
mcp --http 99999 | expected a port from 0 to 65535
mcp --agent nobody | There is no agent 'nobody'. Known agents
mcp --answer-within 0 | expected a number above 0
acp extra | unknown argument extra
sandbox | the following arguments are required: COMMAND
sandbox --timeout 0 -- true | expected a number above 0, not '0'
sandbox --timeout soon -- true | expected a number above 0, not 'soon'
hook install | the following arguments are required: host
hook install claude-code --user --project | not allowed with argument
hook claude-code --wrong | unknown argument --wrong
chat --resume nope | There is no session
chat --agent nobody x | There is no agent 'nobody'
run x --attempts 0 | expected a whole number from 1
run --attempts 2 | --attempts takes one task for one agent
run x --attempts 2 | --attempts begin at the last commit
run x --attempt-model openai:x | --attempt-model goes with --attempts N
config schema nope | Which schema? There are rails, config
config show nope | show takes no 'nope': it shows every setting
log delete | Which sessions? Name them, or say --older-than DAYS
log delete nope --yes | There is no session here
log delete x --older-than 3 | Name sessions, or say --older-than DAYS, not both
log sizes extra | sizes takes no word
log verify a b | verify takes one session
log search x --limit 0 | expected a whole number from 1
undo --step x | expected a whole number from 1, not 'x'
parse ok.py --finish nope | invalid choice: 'nope'
review --library missing | There is no store of jobs in missing
doctor --into x | --into goes with --install javascript
gate --staged --all | --all means every file
gate --stdin-filename ../x.py | is outside the project
run "  " | What should the agent do? For example
run x --model-for coder=foo | Unknown model 'foo': write it as
run x --overseer-model foo:bar | Unknown model 'foo:bar'
run x --then coder,nobody | There is no agent 'nobody'
run x --model recorded: | has no name: write it as recorded:FILE
run x --model openai:m --base-url http:// | takes an address with http:// or https://
run x --model openai:m --base-url "http://a b" | takes an address with http:// or https://
run x --model openai:m --base-url "" | takes an address with http:// or https://
run x --answer-within soon | expected a number above 0, not 'soon'
run --resume ../x | There is no session here
run --resume --attempts 2 | cannot resume. Nothing was started
run x --backup --model recorded:rec.jsonl | is not in a git repository
chat x --model nonsense | Unknown model 'nonsense'
chat --attempts 2 | ANTHROPIC_API_KEY is not set. Set it, or choose another
apply "" | '' is not a file. Name a saved answer
apply ok.py --approve nope | choose from
gate "" | the value is empty; perhaps a variable is not set
gate --diff "" | the value is empty
gate --stdin-filename "" | the value is empty
gate --profile "" | There is no profile ''; use import, api, publish, strict
gate --profile import,nope | There is no profile 'nope'; use import
gate . --stdin-filename x.py | checks standard input: leave out paths
gate --staged | git init makes one
gate --trust missing.py | missing.py does not exist
gate --format text,json | argument --format: invalid choice: 'text,json'
new "" x | '' is not a name
takeover ok.py x | ok.py is not a folder, so there is nothing to take over
undo --step 0 | expected a whole number from 1, not '0'
undo --file ../x | stay inside the project. Nothing was changed
undo --file missing.py | is left to undo. Nothing was changed
undo --file x --all | --file and --all exclude each other
demo extra | unknown argument extra
parse ok.py --json --jsonl | Line 1 is not
review a b | unknown argument b
review --md | unknown argument --md. See ai-rails review --help.
review --filter after:soon | after:soon is not a time. Write it as
log delete --older-than 0 | expected a whole number from 1, not '0'
why folder:1 | folder is not a file of the project
why /etc/passwd:1 | is not a file of the project
why ok.py:99999 | no session wrote this line
tools check missing | there is no such file or folder
tools check ok.py | ok.py:1: the file is not JSON
tools test read_file {} | failed schema validation
tools import http:// | is not an http or https address
agents show nobody | There is no agent 'nobody'. Known agents
agents trust nobody | There is no agent 'nobody'. Known agents
prompt --agent nobody | There is no agent 'nobody'
n8n catalogue build missing | missing does not exist. Nothing was built
n8n catalogue nope | Write: ai-rails n8n catalogue [info]
n8n diff ok.py ok.py | is not an n8n workflow in JSON
config schema | Which schema? There are rails, config
doctor --install nope | choose from
hook test nope | choose from
hook uninstall | the following arguments are required: host
batch | required
batch report | the following arguments are required: FILE|STORE
batch export nowhere --format nope | choose from
batch run empty.jsonl --store s --models openai:m --policy edits | empty.jsonl holds no task
sandbox -- | the following arguments are required: COMMAND
mcp --http x | expected a port from 0 to 65535, not 'x'
-x | unknown argument -x
"""
USES = [tuple(part.strip() for part in line.split(" | ")) for line in TABLE.strip().splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    project = tmp_path / "project"
    (project / "folder").mkdir(parents=True)
    (project / "bad.json").write_text("{")
    (project / "ok.py").write_text("x = 1\n")
    (project / "empty.jsonl").write_text("")
    (project / "rec.jsonl").write_text('{"role": "assistant", "content": "Done."}\n')
    (project / "binary").write_bytes(b"\xff\x00")
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AI_RAILS_LANG", "en")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "AI_RAILS_MODEL", "AI_RAILS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return project


def left_behind(project):
    return sorted(str(path.relative_to(project)) for path in project.rglob("*") if ".rails" not in path.parts)


def called(words):
    try:
        return main(words)
    except SystemExit as end:
        return end.code


def test_there_are_a_hundred_wrong_uses_and_more():
    assert len({use for use, _ in USES}) == len(USES) >= 100


@walked(("use", "said"), USES)
def test_a_wrong_use_is_answered_by_a_sentence(folder, capsys, use, said):
    before = left_behind(folder)
    words = use.split(" ") if "{" in use or "[" in use else shlex.split(use)
    code = called(words)
    told = capsys.readouterr()
    text = told.err + told.out
    assert code in (1, 2, 3), text
    assert said in " ".join(text.split()), text
    assert "Traceback" not in text
    assert "a fault of AI-Rails itself" not in text
    assert left_behind(folder) == before


def test_what_cannot_be_written_is_named(folder, capsys):
    log = folder / ".rails" / "sessions"
    (folder / "answer.md").write_text("`b.md`\n\n```\ntext\n```\n")
    assert called(["apply", "answer.md", "--dry-run"]) == 0
    assert log.is_dir()
    assert called(["review", "--html", "folder"]) == 3
    assert (
        "ai-rails: folder cannot be written: it is not an ordinary file. Nothing was written."
        in capsys.readouterr().err
    )


def test_a_fault_of_ours_is_a_sentence_too_and_shows_its_place_on_request(folder, capsys, monkeypatch):
    monkeypatch.setattr("rails.commands.undo.run", lambda options: 1 // 0)
    assert called(["undo"]) == 3
    assert "a fault of AI-Rails itself (ZeroDivisionError" in capsys.readouterr().err
    monkeypatch.setenv("AI_RAILS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        called(["undo"])


def test_what_is_left_out_is_said_in_few_lines_by_run_and_apply(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "project/mcp_definitions").mkdir(parents=True)
    for number in range(15):
        (tmp_path / f"project/mcp_definitions/t{number}.json").write_text("{")
    (tmp_path / "answer.md").write_text("nothing to do\n")
    (tmp_path / "m.jsonl").write_text('{"role": "assistant", "content": "nothing to do"}\n')
    said = {}
    for words in (["apply", str(tmp_path / "answer.md")], ["run", "x", "--model", f"recorded:{tmp_path / 'm.jsonl'}"]):
        capfd.readouterr()
        main([*words, "--agent", "coder", "--project", str(tmp_path / "project")])
        done = capfd.readouterr()
        lines = [line.strip().removeprefix("note: ") for line in (done.out + done.err).splitlines()]
        said[words[0]] = [line for line in lines if "left out" in line or " more: " in line]
    assert said["run"] == said["apply"]
    assert len(said["run"]) == 9
    assert said["run"][-1] == "and 7 more: ai-rails agents lists them"
    main(["agents", "--project", str(tmp_path / "project")])
    assert capfd.readouterr().err.count("left out") == 15
