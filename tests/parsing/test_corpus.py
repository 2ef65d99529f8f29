"""The generated corpus of the benchmark: nothing is silently wrong, and what has one reading is read."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import jsonschema

from rails.parsing.parse import AnswerParser, parse
from tests.rows import walked

SPEC = importlib.util.spec_from_file_location(
    "parsing_corpus", Path(__file__).parent.parent / "benchmarks" / "parsing_corpus.py"
)
corpus = importlib.util.module_from_spec(SPEC)
sys.modules["parsing_corpus"] = corpus
SPEC.loader.exec_module(corpus)

ROWS = corpus.rows(seed=2026)
CASES = Path(__file__).parent.parent / "cases" / "intake"


def outcome(row):
    found = parse(row.message, corpus.SHAPES, finish=row.finish)
    calls = [(request.tool_name, dict(request.parameters)) for request in found.requests]
    valid = [
        name in corpus.SHAPES and jsonschema.Draft202012Validator(corpus.SHAPES[name]).is_valid(parameters)
        for name, parameters in calls
    ]
    if calls and not all(valid):
        return "caught by the schema"
    if row.expect in ("refuse", "ignore"):
        return "ran" if calls else "refused" if found.refusals else "ignored"
    if calls == list(row.calls) and not found.refusals:
        return "exact"
    return "wrong" if calls else "refused" if found.refusals else "lost"


@walked(
    ("expect", "allowed"),
    [
        ("exact", {"exact"}),
        ("coerce", {"exact"}),
        ("stay", {"exact"}),
        ("either", {"exact", "refused", "caught by the schema", "lost"}),
        ("quotes", {"exact", "refused", "caught by the schema"}),
        ("refuse", {"refused"}),
        ("ignore", {"ignored"}),
    ],
)
def test_c4_05_no_message_of_the_corpus_is_silently_wrong(expect, allowed):
    rows = [row for row in ROWS if row.expect == expect]
    assert rows
    bad = Counter((row.kind, result) for row in rows if (result := outcome(row)) not in allowed)
    assert not bad


def test_most_inner_quotes_are_recovered():
    results = Counter(outcome(row) for row in ROWS if row.expect == "quotes")
    assert results["exact"] / sum(results.values()) > 0.7


@walked(("size", "step"), [(1, 16), (4, 8), (37, 4)])
def test_c1_06_the_corpus_reads_the_same_in_every_chunking(size, step):
    for number, row in enumerate(ROWS[::step]):
        whole = parse(row.message, corpus.SHAPES, finish=row.finish)
        text = row.message.encode() if number % 2 else row.message
        reader = AnswerParser(corpus.SHAPES)
        for pos in range(0, len(text), size):
            reader.feed(text[pos : pos + size])
        found = reader.flush(row.finish)
        assert (found.requests, found.refusals, found.ignored) == (whole.requests, whole.refusals, whole.ignored)


@walked("path", sorted(CASES.glob("*.json")))
def test_messages_that_once_went_wrong_stay_right(path):
    case = json.loads(path.read_text(encoding="utf-8"))
    found = parse(case["message"], corpus.SHAPES, finish=case["finish"])
    assert [[request.tool_name, dict(request.parameters)] for request in found.requests] == case["calls"]
    assert bool(found.refusals) == case["refused"]
    for size in (1, 2, 7):
        reader = AnswerParser(corpus.SHAPES)
        for pos in range(0, len(case["message"]), size):
            reader.feed(case["message"][pos : pos + size])
        pieces = reader.flush(case["finish"])
        assert (pieces.requests, pieces.refusals, pieces.ignored) == (found.requests, found.refusals, found.ignored)
