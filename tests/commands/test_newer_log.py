"""A log that a newer version wrote is read and said to be so, and nothing is done that would have to go into it."""

from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from rails.cli import main
from rails.log.summaries import Summaries
from rails.review.web.server import ReviewServer

WRITE = '```json\n{"tool": "write_file", "path": "hello.txt", "content": "hello\\n"}\n```\n'
ALLOW = '[[rule]]\ndecision = "allow"\ntool = ["write_file"]\n'


@pytest.fixture
def rails(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.toml").write_text(ALLOW, "utf-8")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / "answer.md").write_text(WRITE, "utf-8")

    def run(*words):
        capfd.readouterr()
        code = main(list(words))
        done = capfd.readouterr()
        return code, done.out + done.err

    assert run("apply", "--approve", "policy", str(tmp_path / "answer.md"))[0] == 0
    return run


@pytest.fixture(params=["all of it", "its last record"])
def log(request, tmp_path, rails):
    [path] = (tmp_path / "project/.rails/sessions").glob("*/log.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(0 if request.param == "all of it" else len(lines) - 1, len(lines)):
        lines[number] = lines[number].replace(b'"v":1', b'"v":9')
    path.write_bytes(b"".join(lines))
    return path


def test_it_is_shown_as_newer_not_as_damaged(rails, log):
    for words in (["review"], ["review", "last"], ["log", "verify"], ["log", "export"]):
        said = rails(*words)[1]
        assert "newer" in said, words
        assert "amaged" not in said.replace("DAMAGED", "damaged"), words
        assert len(said.splitlines()) < 60, "one sentence, however many records"


@pytest.mark.parametrize("words", [["undo"], ["run", "--resume"], ["chat", "--resume"]])
def test_what_would_have_to_be_logged_is_refused_before_anything_is_changed(rails, log, tmp_path, words, monkeypatch):
    monkeypatch.setenv("AI_RAILS_MODEL", "recorded:" + str(tmp_path / "none.jsonl"))
    (tmp_path / "none.jsonl").write_text('{"role": "assistant", "content": "done"}\n')
    before = log.read_bytes()
    file = tmp_path / "project/hello.txt"
    code, said = rails(*words)
    assert (code, file.read_text("utf-8"), log.read_bytes()) == (3, "hello\n", before)
    assert "only read" in said
    assert "Nothing was changed" in said


def test_the_page_lists_it_and_says_so(log, tmp_path):
    state = tmp_path / "project/.rails"
    [card] = Summaries(state).newest(9)
    assert card.newer > 0
    assert card.damage == 0


def test_the_page_shows_what_can_be_read_of_it(log, tmp_path):
    state = tmp_path / "project/.rails"
    with ReviewServer(state, key=b"k" * 32) as server:
        token = urlsplit(server.url).fragment.removeprefix("token=")
        for place in ("/api/sessions", f"/api/session/{log.parent.name}"):
            asked = Request(f"http://127.0.0.1:{server.port}{place}", headers={"X-AI-Rails-Token": token})
            with urlopen(asked, timeout=60) as answer:
                said = answer.read().decode()
            assert "newer" in said, place
