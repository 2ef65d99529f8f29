"""What stands beside a block that is read, and beside one that is not: bounds, neighbours, places, and every word.

``UPDATE_GOLDEN=1`` writes ``beside.txt`` anew; read the difference before it is committed.
"""

import os
from pathlib import Path

import pytest

from rails.core import limits
from rails.core.conversation import NativeCall
from rails.core.dataclass import replace
from rails.parsing.markup_blocks import find_markup, find_open_end
from rails.parsing.parse import AnswerParser, parse
from rails.parsing.proposals import with_proposals
from rails.parsing.quoted import Closed, Container, Strays, find_element, find_indented, find_mark, has_mark
from rails.parsing.results import CallStarted

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
    "a repaired call whose arguments are a text": '{"tool": "read_file", "arguments": "{\\"path\\": \\"a\\"}",}',
    "a key without its mark behind another tool": (
        '{"content": "use tool: run_code", "tool": "write_file", "path: "a"}'
    ),
    "a name that is not escaped": '{"tool": "r"ad_file", "path": "a"',
    "a call in a list of texts": '[7,"{"tool": "read_f',
    "an odd string": written('say "hi x'),
    "an odd string with a fence in it": written(f'say "hi x\n{F}\nmore'),
    "a name of two words": '{"tool": "x y',
    "an open string": '{"tool": "read_file", "path": "a}',
}
#: What may belong to a string that never ends.
MARKS = ("'", "”", F, "~~~", "<tool", "}")
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
    "a closing fence with 60 characters behind it": f"{F}json\n{READ[:-1]}\n{F}>{'z' * 58}y\n",
    "a closing fence with 61 characters behind it": f"{F}json\n{READ[:-1]}\n{F}>{'z' * 58}yx\n",
    "a thought that closes late": f"{block(READ)}x\n{block(READ[:-1] + ',}', '')}</think>\n{block(READ)}",
    "calls that wait, taken back": f"{block(written('x', ''))}{block(f'[{READ}, {READ}]')}</think>\n{block(READ)}",
    "an odd string and a call": block(written('say "hi x')) + "Then.\n" + block(READ),
    "an odd string and more quotes": block(written('say "hi x')) + 'And "so".\n' + block(written('say "ho')),
    "a rest behind raw line ends": block(written("x\ny")) + f'more text"}}\n{F}\nz\n{F}\n',
    "a rest in a fence behind raw line ends": block(written("x\ny")) + f'{F}\n", "tool": "read_file"}}\n{F}\n',
    "a call behind raw line ends": block(written("x\ny")) + block(READ),
    "a key that was torn off": block('{"x": "') + '", "tool": "delete_file", "path": "b"}\n',
    "a call that waits, taken back": block('{"tool": "read_file", "limit": "5"}') + "assistantfinal",
    "a call with an empty last text": block(written("")),
    "an open block of nothing": f"{F}json\n",
    "an open block of a bracket": F + 'json {"',
    "an open block with a string that is not escaped": F + "json " + written('say "hi", x') + "\n",
    "an open call": "<read_file>\n<path>a</pat",
    "a name that never ends, and a block": block('{"tool": "x y') + block("[]"),
    "a name that never ends, and an open block": block('{"tool": "x y') + f"{F}`json\n{READ[:-1]},}}",
    "a patch in a block": block("*** Begin Patch") + f"{READ[:-1]}\n{F}\n",
    "two blocks": f"{block(READ)}Hm.\n{block(READ)}",
    "a repaired block and a block": block(READ[:-1] + ",}") + block(READ),
    "broken data and a block": block('{"a": oops}') + block(READ),
    "a refused block and a block": block('{"tool": "run_code", "code": oops}') + block(READ),
    "a refused block with an odd mark and a block": block('{"tool": "read_file", "path": "a" b "c"}') + block(READ),
    "a refused block with a rest and a block": block('{"tool": "run_code", "code": oops} x') + block(READ),
    "a refused block with an open string and a block": block('{"tool": "run_code", "code": oops, "x') + block(READ),
    "a refused block without its end and a block": block('{"tool": "run_code", "code": oops') + block(READ),
    "a block without closers and a block": block('{"tool": "run_code", "arguments": {"code": "1"}') + block(READ),
    "data and a block": block('{"a": 1}') + block(READ),
    "a text that is not escaped and a block": block(written('say "hi", x')) + block(READ),
    "a repaired block without a line end": block(READ[:-1] + ",}", ""),
    "a call of another kind": '<tool name="run_code"><code>1</code></tool>\n',
    "two open strings": f'{F}json {{"x": "\n{F}\n{F}json\n{{"tool": "x y{F}\n',
    **{f"a string that never ends, and {mark}": f"{block(written('x', ''))}So {mark} so.\n" for mark in MARKS},
    "a list of another format that closes late": f"{block(f'[{READ}, {READ}]')}</tool_call>\n",
}
BARE = '{"name": "read_file", "parameters": {"path": "a"}}'
LLAMA, REPORT = {"dialects": ["llama"]}, {"report_unread_calls": True}
#: Answers that are read with more than what is read by default.
FURTHER = {
    "a bare call": (BARE, LLAMA),
    "a bare call behind a thought": (f"<think>\nx\n</think>\n{BARE}\n", LLAMA),
    "a bare call behind a thought and a quote": (f"<think>\nx\n</think>\n<example>\nx\n</example>\n{BARE}", LLAMA),
    "a bare call behind a call": (f"{block(READ)}{BARE}", LLAMA),
    "a bare call behind a refusal": (f"{block(READ[:-1] + ', oops}')}{BARE}", LLAMA),
    "bare calls of which one is none": (f"Hm.\n{BARE}; {BARE[:-1]}", LLAMA),
    "a container of another form": (f"{block(READ)}<function=x>\n{{'a': 1}}", LLAMA),
    "a container of another form, and its end": (f'<function=read_file>{{"path": "a"}}</function>\n{BARE}', LLAMA),
    "a container that cannot be read": (f'<function=read_file>{{"path"</function>\n{block(READ)}', LLAMA),
    "unread calls": (f"{READ},\n{READ}", REPORT),
    "unread calls and a patch": (f"{READ} {READ}*** Begin Patch\n", REPORT),
    "an unread call in a fence that is open": (f'@@ -1 +1 @@\n{F}python\n{{"tool_name": "read_file", "', REPORT),
    "a call beside one that is not read": (f"{block(READ)}{READ}\n", REPORT),
}


def answers():
    for name, body in BODIES.items():
        yield f"in a block: {name}", block(body), {}
    for name, text in ANSWERS.items():
        yield name, text, {}
    for name, (text, options) in FURTHER.items():
        yield name, text, options


def read_by(text, finish, options):
    if "report_unread_calls" not in options:
        return parse(text, TOOLS, finish=finish, **options)
    reader = AnswerParser(TOOLS, **options)
    events = reader.feed(text)
    found = reader.flush(finish)
    return replace(found, late=(*events, *found.late))


def without_hints(found):
    """The answer without the remedies, whose words are compared elsewhere."""
    return replace(found, refusals=tuple(replace(one, hint="") for one in found.refusals))


def in_pieces(text, finish, options):
    reader = AnswerParser(TOOLS, **options)
    events = [event for at in range(0, len(text), 7) for event in reader.feed(text[at : at + 7])]
    return [event for event in events if isinstance(event, CallStarted)], reader.flush(finish)


def test_what_is_said_of_a_block_and_of_what_stands_beside_it_stays_as_it_was():
    lines = []
    for name, text, options in answers():
        last = []
        for finish in ("end_turn", "max_tokens"):
            whole, (begun, pieces) = read_by(text, finish, options), in_pieces(text, finish, options)
            assert (pieces.requests, pieces.refusals, pieces.prose) == (whole.requests, whole.refusals, whole.prose)
            said = [
                *told(without_hints(whole)),
                *map(str, begun),
                *(str(one) for one in whole.late if isinstance(one, CallStarted)),
            ]
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
    found = parse(text, SHAPES)
    assert len(found.ignored) == 3
    after = with_proposals(found, text, SHAPES, "p")
    assert [one.id for one in after.requests] == ["p1", "p2"]
    assert [dict(one.parameters)["file_path"] for one in after.requests] == ["a.json", "b.py"]
    assert list(after.blocks) == ["p1", "p2"]
    left = [one.start for one in after.ignored]
    assert left == [found.ignored[0].start, found.ignored[2].start]
    found = parse(text := f"{block('{tool: read_file}')}{text}", SHAPES)
    assert with_proposals(found, text, SHAPES) is found


def test_a_patch_a_named_block_and_a_call_beside_a_request_are_told_and_not_taken():
    patch = "*** Begin Patch\n*** Add File: b.py\n+x\n*** End Patch\n"
    for beside, what in (
        (patch, "Line 5, *** Begin Patch: it stands beside a tool request"),
        (f"{F}python c.py\nx = 1\n{F}\n", "Line 5, named block: it stands beside a tool request"),
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
        left = with_proposals(parse(text, SHAPES), text, SHAPES).ignored
        assert any(what and what in one.reason for one in left) == bool(what)


@pytest.mark.parametrize(
    ("name", "file"),
    [('"My flow, no. 1!"', "My-flow-no-1"), (f'"{"a b" * 40}"', ("a-b" + "a-b" * 40)[3:63]), ("7", ""), ('"?!"', "")],
)
def test_a_workflow_alone_is_a_new_file_of_its_name_and_refused_without_one(name, file):
    body = f'{{"name": {name}, "nodes": [], "connections": {{}}}}'
    found = with_proposals(parse(block(body), SHAPES), block(body), SHAPES)
    made = [(one.tool_name, one.dialect, dict(one.parameters)) for one in found.requests]
    wanted = {"file_path": f"{file}.json", "content": f"{body}\n", "create_only": True}
    assert made == ([("write_file", "n8n workflow", wanted)] if file else [])
    why = "Line 2, n8n workflow: it has no name, so its file has none. Nothing of the answer was taken."
    assert [one.message for one in found.refusals] == ([] if file else [why])


def test_a_providers_answer_in_a_block_asks_for_its_calls_and_what_was_left_alone_beside_a_request_stays_so():
    call = '{"type": "tool_use", "id": "x", "name": "read_file", "input": {"path": "a"}}'
    text = block(f'{{"content": [{call}]}}')
    found = with_proposals(parse(text, SHAPES), text, SHAPES)
    assert [(one.tool_name, one.dialect, dict(one.parameters)) for one in found.requests] == [
        ("read_file", "provider JSON", {"path": "a"})
    ]
    found = parse(f"{DATA}{block(READ)}", SHAPES)
    left = with_proposals(found, f"{DATA}{block(READ)}", SHAPES).ignored
    assert left == found.ignored
    assert len(left) == 1


@pytest.mark.parametrize("lacks", ['"nodes": {}, "connections": {}', '"nodes": []', '"connections": {}'])
def test_what_has_no_list_of_nodes_or_no_connections_is_no_workflow(lacks):
    text = block(f'{{"name": "x", {lacks}}}')
    found = with_proposals(parse(text, SHAPES), text, SHAPES)
    assert (found.requests, found.refusals, len(found.ignored)) == ((), (), 1)


# -- marks, one by one ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("<think>", 0),
        ("assistant", 0),
        ("assistant <think>", 0),
        ("<think> assistant", 0),
        ("x <think>", 2),
        ("x assistant", 2),
        ("x assistant <think>", 2),
        ("x <think> assistant", 2),
        ("< x", -1),
        ("x", -1),
    ],
)
def test_the_first_place_of_a_mark_is_found(text, place):
    assert has_mark(text) == place


FRAMES = """action actions answer assistant_response b body calls commands div final final_answer final_response html
main message p reply request requests response section solution step steps task tools turn"""


@pytest.mark.parametrize("name", FRAMES.split())
def test_an_element_around_an_answer_frames_it_and_one_with_a_name_of_its_own_quotes(name):
    assert find_element(f"<{name}>\n", ()) is find_element(f"<{name.upper()} class='x'>\n", ()) is None
    assert find_element(f"<{name} name='x'>\n", ()).word == name
    assert len(parse(f"<{name}>\n{block(READ)}</{name}>\n", SHAPES).requests) == 1


def test_an_element_of_any_other_name_begins_on_its_line_and_a_tool_is_none():
    found = find_element("- <Email to='x'> a\n", ("other",))
    assert (found.kind, found.label, found.start, found.end, found.word) == ("element", "email", 0, 16, "email")
    for line in ("<other>", "<email/>", "<email>a</email>", "x <email>", "<example_start>", "<think>"):
        assert find_element(f"{line}\n", ("other",)) is None, line


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


FORMS = [
    (":::note", "a block between :::", "::: note", ":::"),
    ("`<a>`", "<a>", "`<a>`", "`</a>`"),
    (r"\begin{verbatim}", "a LaTeX environment", r"\end{verb}", r"\end{verbatim}"),
    ("$$", "a formula", "$ $", "$$"),
    (r"\[", "a formula", "]", r"\]"),
    ("{% raw %}", "a template", "{% endif %}", "{% endraw %}"),
    ("{{#if a}}", "a template", "{{/each}}", "{{/if}}"),
    ("/* a", "a comment", "*", "a */"),
    ("{/* a", "a comment", "*", "*/}"),
    ("{# a", "a comment", "#", "#}"),
    ("{{! a", "a comment", "}", "}}"),
    ("<% a", "a comment", ">", "%>"),
    ("(* a", "a comment", ")", "*)"),
    ("--[[ a", "a comment", "]", "]]"),
    ("#| a", "a comment", "#", "|#"),
    ("=begin", "a comment", " =end", "=end"),
    ("#+begin_src a", "an Org block", "#+end_quote", "#+END_SRC"),
    ("@startuml", "a PlantUML diagram", "@endmind", "@enduml"),
    ("#if 0", "code that is left out", "#else", " # endif"),
    ("// #region a", "a region", "# endregion", "// #endregion"),
    (">>>", "a quotation", "x >>>", ">>>"),
    ("<<<", "a quotation", "<<<", ">>>"),
    ("%%", "a quotation", "%", "%%"),
    ("||", "a quotation", "|", "||"),
    ("{{Quote|a", "a quotation", "}", "}}"),
    ("--8<--", "a cutting", "--8--", "-->8--"),
    ("--- BEGIN A ---", "a marked block", "END A", "--- END A ---"),
    ("=== A start ===", "a marked block", "=== A ===", "=== A end ==="),
    ("=== Old a ===", "a marked block", "=== a ===", "=== /Old a ==="),
    ("{code:json}", "a block of Jira", "{quote}", "{code}"),
    ("[quote=Ann]", "[quote]", "[/cite]", "[/quote]"),
    ("<!-- note -->", "[note]", "<!-- /a -->", "<!-- end note -->"),
]


@pytest.mark.parametrize(("opening", "label", "other", "closing"), FORMS, ids=[one for one, *_ in FORMS])
def test_each_block_of_a_markup_language_has_its_own_end_and_counts_only_with_it(opening, label, other, closing):
    for lead in ("", "- ", "  12. * "):
        found = find_markup(f"{lead}{opening}\n", ())
        assert (found.kind, found.label, found.start, found.end) == ("element", label, 0, len(f"{lead}{opening}\n"))
    marks = [found.closing.search(text) for text in (closing, other)]
    assert [mark is not None and bool(mark[mark.re.groups and 1]) for mark in marks] == [True, False]
    wanted = f"{opening}\n{block(READ)}"
    assert [len(parse(f"{wanted}{end}\n", SHAPES).requests) for end in (closing, "x")] == [0, 1]
    after = parse(f"{wanted}{closing}\n{block(READ)}", SHAPES)
    assert [one.start for one in after.requests] == [len(f"{wanted}{closing}\n")]


@pytest.mark.parametrize(
    "line",
    ["x /* a", "$$ a $$", r"\[ a \]", "/* a */", "{{! a }}", "{{#if a}} {{/if}}", "[final]", "[ours]", "{{Quote|a}}"],
)
def test_what_ends_on_its_line_stands_behind_text_or_frames_an_answer_opens_no_block(line):
    assert find_markup(f"{line}\n", ("ours",)) is None


@pytest.mark.parametrize(
    ("line", "label", "start", "ends"),
    [
        ("cat > a <<'EOF'", "a here-document", 8, "EOF\n"),
        ('cat <<"EOF" | b', "a here-document", 4, "  EOF\n"),
        ("cat <<EOF", "a here-document", 4, "EOF)\n"),
        ("- note <<~EOT", "a here-document", 7, "EOT\n"),
        ('text = """a', "a string", 7, 'a"""'),
        ("text = '''a", "a string", 7, "'''"),
        ("cat << eof", "", 0, ""),
        ("cat <<'EOF' b", "", 0, ""),
        ('text = """a"""', "", 0, ""),
    ],
)
def test_what_goes_on_behind_a_line_begins_at_its_mark_and_ends_at_its_own(line, label, start, ends):
    found = find_open_end(f"{line}\n")
    assert (found is None) is (label == "")
    if found is not None:
        assert (found.label, found.start) == (label, start)
        assert found.closing.search(ends)
        assert not found.closing.search("EOFX\nxEOF\nEOF x\nxEOT\n''\n\"\"\n")


def test_a_stretch_that_was_closed_ends_before_what_follows_it():
    strays = Strays()
    strays.opened(Container("quote", "example", 0, 9), 10)
    strays.closed(Closed("quote", "example", 0, 9), 20)
    assert [strays.around(at) is not None for at in (9, 10, 19, 20)] == [False, True, True, False]


# -- what is said while a call is being written --------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "when", "started"),
    [
        (["Hm.\n<write_file>\n", "<path>a</path>\n", "<content>\n", "x\n"], 2, ("write_file", "a", 4)),
        (['<tool name="run_code">\n', "<code>\n", "1\n"], 0, ("run_code", "", 0)),
        (["<run_code>\n", "<code>\n", "1\n"], 1, ("run_code", "", 0)),
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
