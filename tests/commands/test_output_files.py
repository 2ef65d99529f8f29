"""Whatever names a file to write: a link is followed, what others wrote stays, and nothing is ever half there."""

import importlib
import json
import re
import resource
import signal
from pathlib import Path

import pytest

from rails.cli import main
from rails.commands.options import verb_parser
from rails.commands.verbs import VERBS
from rails.core import user_files

NODE = {"id": "1", "name": "Start", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0]}
FLOW = {"name": "Flow", "nodes": [{**NODE, "parameters": {}}], "connections": {}}
#: Options that name a place to write: command, the file that it makes, and whether it may write over its own.
WRITES = {
    ("review", "--html"): (["review", "last", "--html", "out"], "out", True),
    ("n8n", "--output"): (["n8n", "draw", "flow.json", "-o", "out"], "out", True),
    ("log", "--to"): (["log", "export", "--format", "answers", "--to", "."], "answer.md", False),
    ("tools", "name"): (["tools", "new", "mine"], "mcp_definitions/mine.json", False),
}
#: `batch STORE report --html` is written by the call that `review --html` is written by. The others make a folder, or
#: a page in it, which has to be new, or they read.
OTHERS = {
    tuple(row.split())
    for row in """
batch place
batch --html
batch --policy
demo --keep
doctor --into
new --into
takeover folder
gate --stdin-filename
why place
""".strip().split("\n")
}


def places():
    for verb, title in VERBS.items():
        parser = verb_parser(verb, title, importlib.import_module(f"rails.commands.{verb}"))
        for action in parser._actions:
            if re.search(r"\b(FILE|FOLDER|DIR)\b", str(action.metavar)) and action.dest != "project":
                yield verb, [*action.option_strings, action.dest][-2 if action.option_strings else 0]


def test_every_option_that_names_a_place_is_known_here():
    assert {*places(), ("tools", "name")} == {*WRITES, *OTHERS}


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr("rails.review.export.answers.answer_files", lambda _: {"answer.md": "An answer.\n" * 50})
    Path("flow.json").write_text(json.dumps(FLOW))
    Path("answer.txt").write_text("`b.md`\n\n```\ntext\n```\n")
    assert main(["apply", "answer.txt", "--dry-run"]) == 0
    capsys.readouterr()
    return tmp_path


def held():
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file() and ".rails" not in path.parts}


@pytest.mark.parametrize(("words", "name", "again"), WRITES.values(), ids=map(" ".join, WRITES))
def test_a_link_is_followed_and_what_others_wrote_stays(project, capsys, words, name, again):
    file = project / name
    file.parent.mkdir(exist_ok=True)
    (project / "elsewhere").mkdir()
    file.symlink_to(project / "elsewhere/there")
    assert main(words) == 0
    assert file.is_symlink()
    assert (project / "elsewhere/there").stat().st_size > 100
    made = held()
    assert main(words) == (0 if again else 2)
    assert held() == made
    for theirs in ("theirs", "<html>their page</html>" * 1_000, '{"their": "settings"}'):
        (project / "elsewhere/there").write_text(theirs)
        before = held()
        capsys.readouterr()
        assert main(words) == 2
        assert "exists already" in capsys.readouterr().err
        assert held() == before
    file.unlink()
    file.symlink_to("nowhere/at/all")
    assert main(words) == 0
    assert (file.parent / "nowhere/at/all").is_file()


@pytest.mark.parametrize(("words", "name", "again"), WRITES.values(), ids=map(" ".join, WRITES))
def test_what_cannot_be_written_whole_is_as_it_was(project, capsys, monkeypatch, words, name, again):
    file = project / name
    if again:
        assert main(words) == 0
    before = held()

    own = user_files.UserFile._fill

    def racing(*words):
        file.parent.mkdir(exist_ok=True)
        file.write_text("saved meanwhile")
        own(*words)

    with monkeypatch.context() as patch:
        patch.setattr(user_files.UserFile, "_fill", racing)
        assert main(words) == 3
    assert file.read_text() == "saved meanwhile"
    file.unlink()
    for path, data in before.items():
        Path(path).write_bytes(data)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        code = main(words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert code == 3
    assert "too large" in capsys.readouterr().err
    assert held() == before


def test_a_record_of_agreements_that_is_a_link_stays_one(tmp_path, monkeypatch):
    from rails.trust.consent import agreed_digest, give_consent
    from rails.trust.record import TrustRecord

    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "dotfiles").mkdir()
    for name in ("trust.json", "gate-trust.json"):
        (tmp_path / "config" / name).symlink_to(tmp_path / "dotfiles" / name)
    TrustRecord(tmp_path / "config", tmp_path).accept("tool", "0" * 64, "its text")
    give_consent(tmp_path, "1" * 64)
    assert agreed_digest(tmp_path) == "1" * 64
    assert all((tmp_path / "config" / name).is_symlink() for name in ("trust.json", "gate-trust.json"))
    assert "its text" in json.dumps(json.loads((tmp_path / "dotfiles/trust.json").read_text()))
