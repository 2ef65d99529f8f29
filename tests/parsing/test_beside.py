"""What stands beside a block that is read, and beside one that is not: bounds, neighbours, places, and every word.

``UPDATE_GOLDEN=1`` writes ``beside.txt`` anew; read the difference before it is committed.
"""

import os
from pathlib import Path

import pytest

from rails.core import limits
from rails.parsing.parse import AnswerParser, parse

from .conftest import SHAPES
from .test_outcomes import told

GOLDEN = Path(__file__).parent / "beside.txt"
F = "```"
READ = '{"tool": "read_file", "path": "a"}'
N60, N61 = "n" * 60, "n" * 61
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
#: Takes any keys, as long as what they hold is a number.
NUMBERS = {"type": "object", "additionalProperties": {"type": "integer"}}
TOOLS = {**SHAPES, N60: PATH, N61: PATH, "numbers": NUMBERS}


def block(body, after="\n"):
    return f"{F}json\n{body}\n{F}{after}"


def written(content, end='"}'):
    return f'{{"tool": "write_file", "path": "a", "content": "{content}{end}'


#: One body of a JSON fence each.
BODIES = {
    "a text": '"text"',
    "a text that holds a call": '"{\\"tool\\": \\"read_file\\", \\"path\\": \\"a\\"}"',
    "a text that holds a list of calls": '" [{\\"tool\\": \\"read_file\\", \\"path\\": \\"a\\"}]"',
    "nothing": " ",
    "an array without calls": "[1, 2]",
    "a list of calls and another thing": f"[7, {READ}]",
    "two calls": f"{READ}\n{READ}",
    "two calls with a comma": f"{READ},\n{READ}\n",
    "two calls behind a comma": f",{READ} {READ}",
    "a call and a thing with a key twice": f'{READ} {{"a": 1, "a": 2}}',
    "a call and a number": f"{READ} 7",
    "a repaired call that says why": '{"tool": "read_file", "path": "a", "explanation": "why",}',
    "a repaired list of which one has a further repair": f'[{READ}, {{"tool": "read_file", "limit": "5"}},]',
    "a number as a text": '{"tool": "read_file", "limit": "5"}',
    "a tool that takes numbers only": '{"tool": "numbers", "arguments": {"x": "y",}}',
    "no call and no JSON": '{"a": oops}',
    "the mark of a request, broken": '{"type": "tool_request", "x": oops}',
    "a key that stands twice": '{"tool": "read_file", "tool": "read_file", "path": "a"}',
    "a tool in a string that is not escaped": '{"a": "say "tool": "read_file", x"}',
    "a string that is not escaped": written('say "hi", x'),
    "a string that could end in two places": written('a", "b": "c'),
    "raw line ends": written("x\ny"),
    "missing closers": '{"tool": "run_code", "arguments": {"code": "1"}',
    "another tool named before": '{"content": "tool: run_code "x" y", "tool": "write_file", "path": "a"}',
    "a key without its tool": "{tool: read_file}",
    "an open string": '{"tool": "read_file", "path": "a}',
}
#: Whole answers.
ANSWERS = {
    "a rest with a tool key behind an empty block": f"{block('')}{{'tool': 'read_file', 'path': 'a'\n}}{F}\n",
    "a tool key and no rest behind an empty block": block("") + READ,
    "a rest with a tool key behind a block that is refused": f'{block(written("", ""))}", "tool": "read_file"}}\n',
    "lines around nothing": "<action>\nx\n</action>\n",
    "lines around a call": "<action>\n<read_file><path>a</path></read_file>\n</action>\nHm.\n",
    "a parameter that begins again": "Hm.\n<read_file><path>a</path><path>b",
    "a name of 60": f"<{N60}><path>a</path></{N60}> b</{N60}>\n",
    "a name of 61": f"<{N61}><path>a</path></{N61}> b</{N61}>\n",
    "an open call of a name of 60": f"<{N60}>\n<path>a</path>\n<odd>1",
    "an open call of a name of 61": f"<{N61}>\n<path>a</path>\n<odd>1",
    "a string that never ends": f"Hm.\n{block(written('x', ''))}Then.\n",
    "a string that never ends, and a call": f"{block(written('x', ''))}Then.\n{block(READ)}",
    "an odd string that never ends": block(written('say "hi" x', "")) + 'More "text".\n',
    "an open block": f"Hm.\n{F}json\n{READ}",
    "an open list": f"{F}json\n[{READ}]",
    "an open list with another thing": f"{F}json\n[7, {READ}]",
    "an open list of data": f"{F}json\n[7, 8]",
    "an open block of two": f"{F}json\n{READ} {READ}",
    "an open block that needs a repair": f"{F}json\n{READ[:-1]},}}",
    "an open block without closers": f"{F}json\n{READ[:-1]}",
    "a block cut short by another": f"{F}json\n{READ[:-1]},}}\n{block(READ)}",
    "a data block cut short": f'{F}json\n{{"a": 1}}\n{block(READ)}',
    "a thought that closes late": f"{block(READ)}x\n{block(READ[:-1] + ',}', '')}</think>\n{block(READ)}",
    "calls that wait, taken back": f"{block(written('x', ''))}{block(f'[{READ}, {READ}]')}</think>\n{block(READ)}",
    "a list of another format that closes late": f"{block(f'[{READ}, {READ}]')}</tool_call>\n",
}


def answers():
    for name, body in BODIES.items():
        yield f"in a block: {name}", block(body)
    yield from ANSWERS.items()


def in_pieces(text, finish):
    reader = AnswerParser(TOOLS)
    for at in range(0, len(text), 7):
        yield from reader.feed(text[at : at + 7])
    yield reader.flush(finish)


def test_what_is_said_of_a_block_and_of_what_stands_beside_it_stays_as_it_was():
    lines = []
    for name, text in answers():
        last = []
        for finish in ("end_turn", "max_tokens"):
            whole, (*_, pieces) = parse(text, TOOLS, finish=finish), in_pieces(text, finish)
            assert (pieces.requests, pieces.refusals, pieces.prose) == (whole.requests, whole.refusals, whole.prose)
            said = list(told(whole))
            lines += [f"## {name}, {finish}", *(["the same"] if said == last else said)]
            last = said
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text("\n".join(lines) + "\n", "utf-8")
    assert lines == GOLDEN.read_text("utf-8").splitlines()


# -- bounds --------------------------------------------------------------------------------------------


@pytest.fixture
def fed(monkeypatch):
    """A function: the answer of some pieces of which so many characters are read."""

    def read(pieces, bound):
        monkeypatch.setattr(limits, "ANSWER_CHARS", bound)
        reader = AnswerParser(SHAPES)
        for piece in pieces:
            reader.feed(piece)
        return reader.flush("end_turn")

    return read


def test_an_answer_of_exactly_the_bound_is_whole_and_one_of_a_character_more_is_not(fed):
    text = block('{"tool": "run_code", "arguments": {"code": "1"}', "")
    found = fed([text[:9], text[9:]], len(text))
    assert [dict(one.parameters) for one in found.requests] == [{"code": "1"}]
    assert found.refusals == ()
    found = fed([text, "\n"], len(text))
    assert found.requests == ()
    assert [one.code for one in found.refusals] == ["unterminated", "limit"]


@pytest.mark.parametrize("pieces", [["x" * 30], ["x" * 25, "y" * 3, "z" * 9], ["x" * 20, "y"], list("x" * 20 + "yz")])
def test_nothing_behind_the_bound_is_read_however_it_comes(fed, pieces):
    found = fed(pieces, 20)
    assert found.prose == "x" * 20
    assert [one.message for one in found.refusals] == ["The answer has more than 20 characters; the rest was not read."]


def test_a_block_may_hold_as_many_calls_as_an_answer_and_one_more_that_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "REQUESTS_PER_ANSWER", 2)
    for calls, requests, codes in ((2, 2, []), (3, 2, ["limit"]), (4, 0, ["extra_data"])):
        found = parse(block(" ".join([READ] * calls)), SHAPES)
        assert (len(found.requests), [one.code for one in found.refusals]) == (requests, codes)


def test_a_call_where_none_is_read_is_reported_only_to_who_asked():
    text = f"Hm.\n{F}\n{READ}\n{F}\n"
    for asked, codes in (({}, []), ({"report_unread_calls": True}, ["unread"])):
        reader = AnswerParser(SHAPES, **asked)
        reader.feed(text)
        assert [one.code for one in reader.flush("end_turn").refusals] == codes
