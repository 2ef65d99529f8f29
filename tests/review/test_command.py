"""``ai-rails review`` for people and for programs: lists, filters, reports, comparisons, files, and clear refusals."""

import json
import re

import pytest

from rails.cli import main

HARD, EASY = "20261118-091500-aa01", "20261119-101500-aa02"


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
    ("name", "words"),
    [
        ("models", "95 % interval"),
        ("rules", "let through"),
        ("drift", '"limit = 100"'),
        ("decisions", "Add a test for --json"),
    ],
)
def test_reports_as_text_json_and_a_file(review, tmp_path, name, words):
    assert words in review(f"--{name}")[1]
    json.loads(review(f"--{name}", "--json")[1])
    assert words in review(f"--{name}", "aa01", "--json")[1] or name in ("models", "rules", "drift")
    file = tmp_path / "report.html"
    assert review(f"--{name}", "--html", str(file))[0] == 0
    page = file.read_text()
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="https?:', page)


def test_rules_by_week(review):
    assert re.search(r"20\d\d-W\d\d", review("--rules", "--by", "week")[1])


def test_a_report_of_one_session(review):
    assert review("aa02", "--decisions")[1].count("edit_file") == 1


def test_two_sessions_compared_in_every_form(review, tmp_path):
    code, out, _ = review("aa01", "--compare", "aa02")
    assert code == 0
    assert "they part at turn 2 of A and turn 2 of B" in out
    assert json.loads(review("aa01", "--compare", "aa02", "--json")[1])["parted"] == 1
    file = tmp_path / "compare.html"
    review("aa01", "--compare", "aa02", "--html", str(file))
    assert "Turn by turn" in file.read_text()
    code, _, err = review("aa01", "--compare", "aa01")
    assert code == 2
    assert "cannot be compared with itself" in err


def test_prices_that_are_wrong_are_said_and_right_ones_are_used(review, tmp_path):
    prices = tmp_path / "config" / "ai-rails" / "prices.toml"
    prices.parent.mkdir(parents=True)
    prices.write_text('currency = "EUR"\n[models."openai:qwen3-coder"]\ninput = 1\noutput = 2\n')
    assert "EUR" in review("--models")[1]
    prices.write_text("[models.x]\ninput = 1\n")
    code, _, err = review("--models")
    assert code == 2
    assert "models.x: `output` is missing. Add `output` (number: Money for a million tokens" in err


def test_the_session_file_shows_attempts_drift_and_decisions(review, tmp_path):
    file = tmp_path / "session.html"
    review("aa01", "--html", str(file))
    page = file.read_text()
    for words in (
        "the same answer again, word for word",
        "it goes in circles",
        "and changed a value:",
        "Who decided what (2)",
    ):
        assert words in page
