"""What stands beside a block that is read, and beside one that is not: bounds, neighbours and places."""

import pytest

from rails.core import limits
from rails.core.conversation import NativeCall
from rails.parsing.parse import AnswerParser, parse
from rails.parsing.quoted import Closed, Container, Strays, find_element, find_indented, find_mark
from rails.parsing.values import CallStarted
from tests.rows import walked

from .conftest import SHAPES

F = "```"
READ = '{"tool": "read_file", "path": "a"}'
N60 = "n" * 60
N61 = "n" * 61
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
#: Takes any keys, as long as what they hold is a number.
NUMBERS = {"type": "object", "additionalProperties": {"type": "integer"}}
TOOLS = {**SHAPES, N60: PATH, N61: PATH, "numbers": NUMBERS}


def block(body, after="\n"):
    return f"{F}json\n{body}\n{F}{after}"


def written(content, end='"}'):
    return f'{{"tool": "write_file", "path": "a", "content": "{content}{end}'


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


@walked("pieces", [["x" * 30], ["x" * 25, "y" * 3, "z" * 9], ["x" * 20, "y"], list("x" * 20 + "yz")])
def test_nothing_behind_the_bound_is_read_however_it_comes(fed, pieces):
    found = fed(pieces, 20)
    assert found.prose == "x" * 20
    assert [one.message for one in found.refusals] == ["The answer has more than 20 characters; the rest was not read."]


def test_a_block_may_hold_as_many_calls_as_an_answer_and_one_more_that_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "REQUESTS_PER_ANSWER", 2)
    for calls, requests, codes in ((2, 2, []), (3, 2, ["limit"]), (4, 2, ["limit"] * 2)):
        found = parse(block(" ".join([READ] * calls)), SHAPES)
        assert (len(found.requests), [one.code for one in found.refusals]) == (requests, codes)


def test_a_call_where_none_is_read_is_reported_only_to_who_asked():
    text = f"Hm.\n{F}\n{READ}\n{F}\n"
    for asked, codes in (({}, []), ({"report_unread_calls": True}, ["unread"])):
        reader = AnswerParser(SHAPES, **asked)
        reader.feed(text)
        assert [one.code for one in reader.flush("end_turn").refusals] == codes


def test_the_refusal_beyond_the_bound_of_calls_has_the_place_of_its_block(monkeypatch):
    monkeypatch.setattr(limits, "REQUESTS_PER_ANSWER", 1)
    text = f"{block(READ)}{block(READ)}{block('{oops', '')}"
    found = parse(text, SHAPES)
    assert [(one.code, one.start, one.end) for one in found.refusals] == [("limit", 47, 93)]


def test_a_native_call_beside_a_plain_block_counts():
    found = parse(block(READ), SHAPES, calls=[NativeCall("n1", "read_file", '{"path": "b"}')])
    assert [dict(one.parameters) for one in found.requests] == [{"path": "a"}, {"path": "b"}]


# -- what a patch or a named block asks for -------------------------------------------------------------

DATA = block('{"a": 1}')


def test_proposals_have_ids_of_their_own_and_what_they_hold_is_no_longer_left_alone():
    named = f"`a.json`:\n{DATA}"
    text = f"{DATA}{named}`b.py`:\n{F}python\nx = 1\n{F}\n{DATA}"
    assert len(parse(text, SHAPES).ignored) == 3
    after = parse(text, SHAPES, report_unread_calls=True, id_prefix="p")
    assert [one.id for one in after.requests] == ["p1", "p2"]
    assert [dict(one.parameters)["file_path"] for one in after.requests] == ["a.json", "b.py"]
    assert list(after.blocks) == ["p1", "p2"]


def test_a_patch_a_named_block_and_a_call_beside_a_request_are_told_and_not_taken():
    patch = "*** Begin Patch\n*** Add File: b.py\n+x\n*** End Patch\n"
    for beside, what in (
        (patch, "Line 5, *** Begin Patch: it is beside a tool request"),
        (f"{F}python c.py\nx = 1\n{F}\n", "Line 5, named block: it is beside a tool request"),
        (
            '<invoke name="delete_file"><parameter name="path">c.py</parameter></invoke>\n',
            "Line 5 holds a call of 'dele",
        ),
        (f"`a`:\n{F}python\nx = 1\n{F}\n", ""),  # the request's own file
        ("I call read_file(path='a') for it.\n", ""),
        (f"{F}python\nread_file(path='a')\n{F}\n", ""),
    ):
        text = f"{block(READ)}\n{beside}"
        reader = AnswerParser(SHAPES, report_unread_calls=True)
        reader.feed(text)
        found = reader.flush("end_turn")
        assert [one.tool_name for one in found.requests] == ["read_file"]
        assert [one.message[: len(what)] for one in found.refusals] == ([what] if what else [])


@walked(
    ("name", "file"),
    [('"My flow, no. 1!"', "My-flow-no-1"), (f'"{"a b" * 40}"', ("a-b" + "a-b" * 40)[3:63]), ("7", ""), ('"?!"', "")],
)
def test_a_workflow_alone_is_a_new_file_of_its_name_and_refused_without_one(name, file):
    body = f'{{"name": {name}, "nodes": [], "connections": {{}}}}'
    found = parse(block(body), SHAPES, report_unread_calls=True)
    made = [(one.tool_name, one.dialect, dict(one.parameters)) for one in found.requests]
    wanted = {"file_path": f"{file}.json", "content": f"{body}\n", "create_only": True}
    assert made == ([("write_file", "n8n workflow", wanted)] if file else [])
    why = "Line 2, n8n workflow: it has no name, so its file has none. Nothing of the answer was taken."
    assert [one.message for one in found.refusals] == ([] if file else [why])


def test_a_providers_answer_in_a_block_asks_for_its_calls_and_what_was_left_alone_beside_a_request_stays_so():
    call = '{"type": "tool_use", "id": "x", "name": "read_file", "input": {"path": "a"}}'
    text = block(f'{{"content": [{call}]}}')
    found = parse(text, SHAPES, report_unread_calls=True)
    assert [(one.tool_name, one.dialect, dict(one.parameters)) for one in found.requests] == [
        ("read_file", "anthropic", {"path": "a"})
    ]
    assert len(parse(f"{DATA}{block(READ)}", SHAPES, report_unread_calls=True).ignored) == 1


@walked("lacks", ['"nodes": {}, "connections": {}', '"nodes": []', '"connections": {}'])
def test_what_has_no_list_of_nodes_or_no_connections_is_no_workflow(lacks):
    text = block(f'{{"name": "x", {lacks}}}')
    found = parse(text, SHAPES, report_unread_calls=True)
    assert (found.requests, found.refusals, len(found.ignored)) == ((), (), 1)


# -- marks, one by one ---------------------------------------------------------------------------------


FRAMES = """action actions answer assistant_response b body calls commands div final final_answer final_response html
main message p reply request requests response section solution step steps task tools turn"""


@walked("name", FRAMES.split())
def test_an_element_around_an_answer_frames_it_and_one_with_a_name_of_its_own_quotes(name):
    assert find_element(f"<{name}>\n", ()) is find_element(f"<{name.upper()} class='x'>\n", ()) is None
    assert find_element(f"<{name} name='x'>\n", ()).label == name
    assert len(parse(f"<{name}>\n{block(READ)}</{name}>\n", SHAPES).requests) == 1


def test_an_element_of_any_other_name_begins_on_its_line_and_a_tool_is_none():
    found = find_element("- <Email to='x'> a\n", ("other",))
    assert (found.kind, found.label, found.start, found.end) == ("element", "email", 0, 16)
    for line in ("<other>", "<email/>", "<email>a</email>", "x <email>", "<think>"):
        assert find_element(f"{line}\n", ("other",)) is None, line


@walked(
    ("line", "start"),
    [
        ("`<think>` <example>", 10),
        ("`<think>` `<file>` </think>", 19),
        ("<file> x", 0),
        ("\ufeff <file> x", 2),
        ("x <file>", 2),
        ("x <file> y", None),
        ("!!a<tool_call>", None),
        ("!!_<tool_call>", None),
        ("!!\\<tool_call>", None),
        ("a!!<tool_call>", 3),
        ("_!!<tool_call>", 3),
    ],
)
def test_a_mark_stands_behind_mentions_and_right_behind_no_word(line, start):
    mark = find_mark(line)
    assert (mark and mark.start) == start


@walked(
    ("line", "before", "shown"),
    [
        ("    x", "Text\n", True),
        ("    x", "a\n\nText\n", True),
        ("    x", "- a\n\nText\n", True),
        ("\tx", "Text\n\n", True),
        ("  x", "Text\n", False),
        ("    x", " Text\n", False),
        ("    x", "- a\nText\n", False),
        ("    x", "- a\n  b\n\n c\n", False),
        ("    x", "1. a\n", False),
        ("    x", "", False),
    ],
)
def test_what_is_indented_below_a_paragraph_is_shown_and_below_a_list_item_is_not(line, before, shown):
    found = find_indented(line, before)
    assert (found is not None) is shown
    if found is not None:
        assert (found.kind, found.start, found.end) == ("quote", 0, len(line))


def test_a_stretch_that_was_closed_ends_before_what_follows_it():
    strays = Strays()
    strays.opened(Container("quote", "example", 0, 9), 10)
    strays.closed(Closed("quote", "example", 0, 9), 20)
    assert [strays.around(at) is not None for at in (9, 10, 19, 20)] == [False, True, True, False]


# -- what is said while a call is being written --------------------------------------------------------


@walked(
    ("pieces", "when", "started"),
    [
        (["Hm.\n<write_file>\n", "<path>a</path>\n", "<content>\n", "x\n"], 1, ("write_file", "a", 4)),
        (['<tool name="run_code">\n', "<code>\n", "1\n"], 0, ("run_code", "", 0)),
        (["<run_code>\n", "<code>\n", "1\n"], 0, ("run_code", "", 0)),
        ([f'{F}json\n{{"tool": "run_code", ', '"path": "x", ', '"code": "'], 0, ("run_code", "", 0)),
        ([f'{F}json\n{{"tool": "write_file", ', '"path": "x", ', '"content": "'], 1, ("write_file", "x", 0)),
        ([f'{F}json\n{{"tool": "nope", ', '"path": "x", ', '"content": "'], None, None),
    ],
)
def test_a_call_is_announced_once_when_its_tool_is_sure_and_its_path_is_known(pieces, when, started):
    reader = AnswerParser(SHAPES)
    told_at = [reader.feed(piece) for piece in pieces]
    begun = [CallStarted("r1", *started)] if started else []
    assert told_at == [begun if at == when else [] for at in range(len(pieces))]
