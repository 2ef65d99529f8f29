"""``ai-rails review`` for people and for programs: lists, filters, counts, files, and clear refusals."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rails.cli import main
from rails.review.html import render_html
from rails.review.session_list import SessionList

HARD = "20261118-091500-aa01"
EASY = "20261119-101500-aa02"


@pytest.fixture
def review(tmp_path, stories, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    stories.hard(tmp_path / ".rails", HARD)
    stories.easy(tmp_path / ".rails", EASY)

    def run(*words):
        code = main(["review", *words, "--project", str(tmp_path)])
        got = capsys.readouterr()
        return code, got.out, got.err

    return run


def test_the_list_and_its_filter(review):
    code, out, _ = review()
    assert code == 0
    assert HARD in out
    assert "✕✕✕✕✕✕·■·✓" in out
    assert EASY not in review("--filter", "is:denied")[1]
    assert [card["session_id"] for card in json.loads(review("--filter", "is:denied", "--json")[1])] == [HARD]
    assert "No session matches that." in review("--filter", "rule:E999")[1]


def test_a_session_is_named_by_its_end_too(review):
    assert "Session 20261118-091500-aa01" in review("aa01")[1]
    code, _, err = review("2026")
    assert code == 2
    assert "2 sessions fit" in err
    assert review("nobody")[0] == 2


@pytest.mark.parametrize(
    ("name", "words"), [("model", "95 % interval"), ("rule", "F821"), ("tool", "edit_file"), ("decision", "approve")]
)
def test_sessions_are_counted_as_text_json_and_a_file(review, tmp_path, name, words):
    assert words in review("--by", name)[1]
    assert words in review("--by", name, "--json")[1]
    assert words in review("--by", name, "aa01", "--json")[1]
    file = tmp_path / "report.html"
    assert review("--by", name, "--html", str(file))[0] == 0
    page = file.read_text()
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="https?:', page)


def test_prices_that_are_wrong_are_said_and_right_ones_are_used(review, tmp_path):
    prices = tmp_path / "config" / "ai-rails" / "prices.toml"
    prices.parent.mkdir(parents=True)
    prices.write_text('currency = "EUR"\n[models."openai:qwen3-coder"]\ninput = 1\noutput = 2\n')
    assert "EUR" in review("--by", "model")[1]
    prices.write_text("[models.x]\ninput = 1\n")
    code, _, err = review("--by", "model")
    assert code == 2
    assert "models.x: `output` is missing. Add `output` (number: Money for a million tokens" in err


def test_the_session_file_shows_attempts_and_changed_values(review, tmp_path):
    file = tmp_path / "session.html"
    review("aa01", "--html", str(file))
    page = file.read_text()
    for words in (
        "the same answer again",
        "it goes in circles",
        "What was sent, and the correction",
    ):
        assert words in page


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed: the queries of the docs are NOT run")
def test_the_queries_of_the_docs_answer_over_the_export(review, tmp_path, capsys):
    review()
    assert main(["log", "export", "--jsonl", "--project", str(tmp_path)]) == 0
    (tmp_path / "log.jsonl").write_text(capsys.readouterr().out, "utf-8")
    page = (Path(__file__).parents[2] / "docs/queries.md").read_text("utf-8")
    for query, words in zip(re.findall(r"```sh\n(.*?)```", page, re.DOTALL), ("deny", "limit", "F821"), strict=True):
        done = subprocess.run(["sh", "-c", query], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert words in done.stdout


def test_a_page_is_written_over_a_page_of_ours_and_over_nothing_else(review, tmp_path):
    file = tmp_path / "session.html"
    assert [review("aa01", "--html", str(file))[0] for _ in range(2)] == [0, 0]
    file.write_text("<!doctype html>mine", "utf-8")
    code, _, err = review("aa01", "--html", str(file))
    assert (code, file.read_text("utf-8")) == (2, "<!doctype html>mine")
    assert "exists already" in err
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "page.html")
    assert review("aa01", "--html", str(link))[0] == 0
    assert link.is_symlink()
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    code, _, err = review("aa01", "--html", str(tmp_path))
    assert (code, "not an ordinary file" in err) == (3, True)


def test_a_page_that_is_written_piece_by_piece_is_the_page_of_the_whole(review, tmp_path):
    file = tmp_path / "session.html"
    review("aa01", "--html", str(file))
    assert file.read_text("utf-8") == render_html(SessionList(tmp_path / ".rails").view(HARD))
