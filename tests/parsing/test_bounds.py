"""C1.12: hostile and huge input stays linear and bounded. Times are generous: only growth is judged."""

import json

import pytest

from rails.core import limits
from rails.data_formats.strict_json import balance, parse_strict
from rails.parsing.parse import AnswerParser, parse
from tests.rows import walked

from .conftest import SHAPES

F = "```"
CALL = f'{F}json\n{{"tool": "run_code", "arguments": {{"code": "'
HOSTILE = {
    "prose": lambda n: "word `x` " * (n // 9),
    "back-ticks": lambda n: "`" * n,
    "fence lines": lambda n: f"{F}\n" * (n // 4),
    "JSON fences": lambda n: f"{F}json\n" * (n // 8),
    "open brackets": lambda n: f"{F}json\n" + "[" * n,
    "open objects": lambda n: f"{F}json\n" + '{"a":' * (n // 5),
    "quotation marks": lambda n: CALL + '"' * n,
    "backslashes": lambda n: CALL + "\\" * n,
    "fence lines in a string": lambda n: CALL + f"a\n{F}\n" * (n // 6),
    "inner quotes": lambda n: CALL + 'a", "b' * (n // 6) + f'"}}}}\n{F}\n',
    "commas in an open string": lambda n: CALL + "a, " * (n // 3),
    "comments": lambda n: f"{F}json\n{{" + "// x\n" * (n // 5) + '"tool": "run_code"',
    "missing commas": lambda n: f'{F}json\n{{"tool": "run_code", "x": [' + "{}\n" * (n // 3) + f"]}}\n{F}\n",
    "closing braces": lambda n: f'{F}json\n{{"tool": "run_code"}}' + "}" * n + f"\n{F}\n",
    "open tags": lambda n: '<tool name="write_file">\n' * (n // 25),
    "nested values": lambda n: '<tool name="write_file"><content>' + "<content>" * (n // 9),
    "closing tags": lambda n: '<tool name="write_file"><content>' + "</content>" * (n // 10),
    "thinking": lambda n: "<thinking>\n" * (n // 11),
    "broken blocks": lambda n: f'{F}json\n{{"tool": "run_code, "x\n{F}\n' * (n // 40),
    "many calls": lambda n: f'{F}json\n{{"tool": "run_code", "code": "x"}}\n{F}\n' * (n // 47),
    "lines before a block": lambda n: f"{F}json\nx" + "\n" * n + "y{}",
    "tildes": lambda n: "~" * n,
    "slashes in a file": lambda n: f"a.py\n{F}\n" + "a/" * (n // 2),
    "blank lines in a hunk": lambda n: "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n" + "\n " * (n // 2),
    "raw line ends beside backslashes": lambda n: (
        f'{F}json\n{{"tool": "write_file", "path": "a.py", "content": "'
        + "x = \\\"a\\nb\\\"\ny = 'b\\\\d\\t'\n" * (n // 34)
        + f'"}}\n{F}\n'
    ),
    "quotation marks before commas": lambda n: (
        f'{F}json\n{{"tool": "write_file", "path": "a.py", "content": "' + '"a", "b": 1,\n' * (n // 14) + f'"}}\n{F}\n'
    ),
    "one number": lambda n: f'{F}json\n{{"tool": "run_code", "x": ' + "9" * n + f"}}\n{F}\n",
}


@walked("kind", HOSTILE)
def test_time_grows_with_the_size_and_not_faster(kind, cpu_seconds):
    small = HOSTILE[kind](10_000)
    large = HOSTILE[kind](80_000)
    once = cpu_seconds(lambda: parse(small, SHAPES), enough=0.001)
    bound = 20 * max(once, 0.001)
    assert cpu_seconds(lambda: parse(large, SHAPES), enough=bound) < bound


@walked("kind", ["fence lines in a string", "quotation marks", "prose", "open tags"])
def test_small_chunks_cost_no_more_than_their_number(kind, cpu_seconds):
    text = HOSTILE[kind](60_000)

    def stream():
        reader = AnswerParser(SHAPES)
        for pos in range(0, len(text), 4):
            reader.feed(text[pos : pos + 4])
        reader.flush("end_turn")

    assert cpu_seconds(stream, rounds=1) < 2


def test_c1_12_ten_megabytes_are_read_in_seconds(cpu_seconds):
    text = "A line of prose with `code` in it.\n" * 290_000 + CALL + 'x"}}\n' + F
    found = []
    assert cpu_seconds(lambda: found.append(parse(text, SHAPES)), rounds=1) < 5
    assert len(found[0].requests) == 1


def test_a_hundred_thousand_brackets_are_refused_quickly(cpu_seconds):
    text = f'{F}json\n{{"tool": "run_code", "arguments": ' + "[" * 100_000 + f"\n{F}\n"
    assert cpu_seconds(lambda: parse(text, SHAPES), enough=0.5) < 0.5
    found = parse(text, SHAPES)
    assert len(found.refusals) == 1
    assert not found.requests


def test_an_answer_beyond_the_bound_is_told(monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_CHARS", 1_000)
    found = parse("x" * 2_000 + f'\n{F}json\n{{"tool": "run_code", "code": "1"}}\n{F}\n', SHAPES)
    assert not found.requests
    assert [refusal.code for refusal in found.refusals] == ["limit"]


def test_requests_beyond_the_bound_are_refused():
    block = f"{F}json\n{json.dumps({'tool': 'run_code', 'code': 'x'})}\n{F}\n"
    found = parse(block * (limits.REQUESTS_PER_ANSWER + 3), SHAPES)
    assert len(found.requests) == limits.REQUESTS_PER_ANSWER
    assert [refusal.code for refusal in found.refusals] == ["limit"] * 3


def test_a_reader_is_used_once():
    reader = AnswerParser(SHAPES)
    reader.flush("end_turn")
    with pytest.raises(ValueError, match="flushed"):
        reader.feed("x")
    with pytest.raises(ValueError, match="flushed"):
        reader.flush("end_turn")


@walked(
    "read",
    [
        lambda text: balance('{"a": "' + text),
        lambda text: balance('{"a": "' + text + "\\"),
        lambda text: parse_strict('{"a": NaN, "b": "' + text),
        lambda text: parse('```json\n{"tool": "run_code", "code": "' + text + "\n```\n", SHAPES),
        lambda text: parse('```json\n{"tool": "run_code", "code": "' + text, SHAPES, finish="max_tokens"),
    ],
)
def test_a_string_that_is_not_closed_with_escaped_quotation_marks_takes_linear_time(read, cpu_seconds):
    small = cpu_seconds(lambda: read('\\"x' * 10_000), enough=0.01)
    bound = 8 * 3 * max(small, 0.01)
    assert cpu_seconds(lambda: read('\\"x' * 80_000), enough=bound) < bound
