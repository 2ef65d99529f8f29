"""A call that is only quoted never runs, also when the block that quotes it is broken."""

import json

import pytest

from rails.parsing.parse import AnswerParser, parse
from rails.parsing.results import CallFound, CallStarted

from .conftest import SHAPES

F = "```"
EVIL = '{"tool": "delete_file", "path": "/etc/passwd"}'
DOC = f'# Doc\n\nSay "hi" like so:\n\n{F}json\n{EVIL}\n{F}\n\nDone.\n'
GOOD = f'{F}json\n{{"tool": "read_file", "path": "b.py"}}\n{F}\n'


def block(written, after="\nThen.\n"):
    return f'Now:\n{F}json\n{{"tool": "write_file", "path": "doc.md", "content": {written}}}\n{F}{after}'


EXACT = {
    "valid": json.dumps(DOC),
    "raw line ends": '"' + json.dumps(DOC)[1:-1].replace("\\n", "\n") + '"',
    "Python repr": repr(DOC),
    "single quotes, raw": f"'{DOC}'",
}
SETTLED = {
    "nothing escaped": f'"{DOC}"',
    "raw quotes": '"' + DOC.replace("\n", "\\n") + '"',
}
REFUSED = {
    "half escaped": '"' + DOC.replace('"', '\\"', 2) + '"',
    "never closed": json.dumps(DOC)[:-1].replace("\\n", "\n"),
    "triple quotes": f'"""{DOC}"""',
    "back-ticks": f"`{DOC}`",
}


@pytest.mark.parametrize("kind", EXACT)
def test_quoted_calls_are_content(kind):
    found = parse(block(EXACT[kind]) + GOOD, SHAPES)
    assert [r.tool_name for r in found.requests] == ["write_file", "read_file"]
    assert found.requests[0].parameters["content"] == DOC


@pytest.mark.parametrize("kind", SETTLED)
def test_quoted_calls_are_content_where_only_one_reading_is_a_call(kind):
    found = parse(block(SETTLED[kind]) + GOOD, SHAPES)
    assert [r.tool_name for r in found.requests] == ["write_file", "read_file"]
    assert found.requests[0].parameters["content"] == DOC
    assert not parse(block(SETTLED[kind], after=""), SHAPES, finish="max_tokens").requests


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("finish", ["end_turn", "max_tokens"])
def test_quoted_calls_in_a_broken_block_do_not_run(kind, finish):
    found = parse(block(REFUSED[kind]) + GOOD, SHAPES, finish=finish)
    assert "write_file" not in [r.tool_name for r in found.requests]
    assert not [r for r in found.requests if r.parameters.get("path") == "/etc/passwd"]
    assert found.refusals


@pytest.mark.parametrize("kind", [*EXACT, *SETTLED, *REFUSED])
def test_quoted_calls_in_a_cut_off_block_do_not_run(kind):
    text = block({**EXACT, **SETTLED, **REFUSED}[kind], after="")
    for cut in range(60, len(text) - 5):
        found = parse(text[:cut], SHAPES, finish="max_tokens")
        assert not found.requests, text[:cut]


@pytest.mark.parametrize(
    "broken",
    [
        '{"tool": "write_file", "path": "a.py, "content": "x"}',
        '{"tool": "write_file", "path": "a.py", "content": "x}',
        '{"tool": "write_file", "path": "a.py", "content": oops}',
        '{"tool": "write_file", "path": "a.py", "content": "5" and "6}',
        '{"tool": "write_file", "path": ',
    ],
)
def test_a_broken_block_does_not_take_the_next_one_with_it(broken):
    found = parse(f"{F}json\n{broken}\n{F}\nAnd then:\n{GOOD}", SHAPES)
    assert [r.tool_name for r in found.requests] == ["read_file"]
    assert [r.request_id for r in found.refusals] == ["r1"]


def test_what_waits_for_the_end_is_told_at_the_end():
    reader = AnswerParser(SHAPES)
    signals = reader.feed(f'{F}json\n{{"tool": "write_file", "path": "a", "content": "x\ny"}}\n{F}\n')
    assert [type(signal) for signal in signals] == [CallStarted]
    late = reader.flush("end_turn").late
    assert [type(signal) for signal in late] == [CallFound]
    assert late[0].outcome.parameters["content"] == "x\ny"


def test_code_behind_a_repaired_block_does_not_make_it_doubtful():
    code = f"{F}js\nfunction f() {{\n  return [1\n  ]\n}}\n{F}\n"
    found = parse(
        f'{F}json\n{{"tool": "write_file", "path": "a", "content": "x\ny"}}\n{F}\nLike so:\n{code}{GOOD}', SHAPES
    )
    assert [r.tool_name for r in found.requests] == ["write_file", "read_file"]


def test_a_fence_that_is_not_closed_ends_at_the_next_one():
    found = parse(f"{F}json\n{EVIL}\n\nAnd:\n{GOOD}", SHAPES)
    assert [r.tool_name for r in found.requests] == ["read_file"]
    assert found.refusals[0].code == "unterminated"
    found = parse(f"{F}json\n{EVIL}\n{GOOD}", SHAPES)
    assert [r.tool_name for r in found.requests] == ["delete_file", "read_file"]


def test_several_values_in_one_fence_are_all_calls_or_none():
    found = parse(f"{F}json\n{EVIL}\n{EVIL}\n{F}\n", SHAPES)
    assert len(found.requests) == 2
    found = parse(f"{F}json\n{EVIL}\n{EVIL[:-1]}\n{F}\n", SHAPES)
    assert not found.requests
    assert found.refusals
