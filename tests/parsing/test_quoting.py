"""A call that is only quoted never runs, also when the block that quotes it is broken."""

import json

from rails.parsing.parse import AnswerParser, parse
from rails.parsing.quoted import find_mark, find_patch
from tests.rows import walked

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


@walked("kind", EXACT)
def test_quoted_calls_are_content(kind):
    found = parse(block(EXACT[kind]) + GOOD, SHAPES)
    assert [r.tool_name for r in found.requests] == ["write_file", "read_file"]
    assert found.requests[0].parameters["content"] == DOC


@walked("kind", SETTLED)
def test_quoted_calls_are_content_where_only_one_reading_is_a_call(kind):
    found = parse(block(SETTLED[kind]) + GOOD, SHAPES)
    assert [r.tool_name for r in found.requests] == ["write_file", "read_file"]
    assert found.requests[0].parameters["content"] == DOC
    assert not parse(block(SETTLED[kind], after=""), SHAPES, finish="max_tokens").requests


@walked("kind", REFUSED)
@walked("finish", ["end_turn", "max_tokens"])
def test_quoted_calls_in_a_broken_block_do_not_run(kind, finish):
    found = parse(block(REFUSED[kind]) + GOOD, SHAPES, finish=finish)
    assert "write_file" not in [r.tool_name for r in found.requests]
    assert not [r for r in found.requests if r.parameters.get("path") == "/etc/passwd"]
    assert found.refusals


@walked("kind", [*EXACT, *SETTLED, *REFUSED])
def test_quoted_calls_in_a_cut_off_block_do_not_run(kind):
    text = block({**EXACT, **SETTLED, **REFUSED}[kind], after="")
    for cut in range(60, len(text) - 5):
        found = parse(text[:cut], SHAPES, finish="max_tokens")
        assert not found.requests, text[:cut]


@walked(
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
    for other in ("5", '"text"', "null", "[]"):
        for both in (f"{EVIL}\n{other}", f"{other}\n{EVIL}"):
            found = parse(f"{F}json\n{both}\n{F}\n", SHAPES)
            assert len(found.requests) + len(found.refusals) == 1, both
            assert all(one.repairs for one in found.requests), "what stands beside the call is left out by name only"
    found = parse(f"{F}json\n{EVIL}\n{EVIL[:-1]}\n{F}\n", SHAPES)
    assert not found.requests
    assert found.refusals


# -- every container by its name; the lists are our own, so that none can go unseen ----------------------

NAMES = {
    "thought": """
analysis antthinking deliberation inner_monologue inner_thoughts monologue reason reasoning reasoning_content reflection
scratchpad think thinking thinking_process thought thoughts
""",
    "call": """
arg_key arg_value function_call function_calls invoke tool_call tool_calls tool_code tool_request tool_use toolcall
toolcalls use_mcp_tool
""",
    "quote": """
example examples function_response function_result function_results observation tool_output tool_outputs tool_response
tool_responses tool_result tool_results
""",
    "at a line's start": """
blockquote code context conversation document documents file file_content file_contents history log output plan planning
pre quote sample samples stdout system system-reminder transcript user human assistant
""",
}
TAGS = [(kind, name) for kind, names in NAMES.items() for name in names.split()]


def test_what_a_tag_of_these_names_holds_never_runs_and_what_only_mentions_it_opens_nothing():
    ran = []
    for kind, name in TAGS:
        for opening, closing in ((name, name), (name.upper(), name.title()), (f"x:{name} id=1", f" x:{name}")):
            for lead in ("", "So: "):
                text = f"{lead}<{opening}>\n{GOOD}</{closing}>\n"
                ran += [text] if parse(text, SHAPES).requests else []
        types = [] if kind == "thought" else [f"{lead}<{name}>" for lead in ("Array", "ab_", "ab\\", "a1")]
        mentions = [f"`<{name}>`", f"<{name}/>", *types]
        ran += [one for one in mentions if find_mark(one)]
        ran += [] if (find_mark(f"So: <{name}> and so on") is None) == (kind == "at a line's start") else [name]
        assert find_mark(f"  <{name}>", ours=[name]) is None, "tags that are read as calls are no containers"
    assert not ran


TOKENS = [
    ("thought", "[THINK]", "[/THINK]"), ("thought", "[THINKING]", "[/THINKING]"),
    ("thought", "[REASONING]", "[/REASONING]"),
    ("thought", "◁think▷", "◁/think▷"), ("thought", "<|begin_of_thought|>", "<|end_of_thought|>"),
    ("thought", "<|thinking|>", "<|/thinking|>"), ("thought", "<|channel>thought", "<channel|>"),
    ("call", "<|start|>assistant<|channel|>commentary to=functions.x", "<|call|>"),
    ("call", "<|start|>assistant to=functions.x<|channel|>", "<|end|>"),
    ("thought", "<|channel|>analysis", "<|end|>"), ("thought", "<|channel|>analysis", "assistantfinal"),
    ("call", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"), ("call", "<|tool_call_begin|>", "<|tool_call_end|>"),
    ("call", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ("quote", "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"), ("call", "<|python_tag|>", "<|eom_id|>"),
    ("call", "<｜DSML｜function_calls>", "</｜DSML｜function_calls>"), ("call", "<|tool_call|>", "<|/tool_call|>"),
    ("call", "<|START_ACTION|>", "<|END_ACTION|>"), ("thought", "<|START_THINKING|>", "<|END_THINKING|>"),
    ("quote", "<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    ("call", "<start_function_call>", "<end_function_call>"), ("quote", "<!--", "-->"),
]  # fmt: skip


def test_what_stands_between_tokens_of_a_template_never_runs_and_what_follows_does():
    for kind, opening, closing in TOKENS:
        assert find_mark(f"a {opening}").kind == kind
        for text in (f"{opening}\n{GOOD}{closing}\n", f"{opening}\n{GOOD}"):
            assert parse(text, SHAPES).requests == (), text
        after = parse(f"{opening}\n{block(json.dumps(DOC), after='')}\n{closing}\n\n{GOOD}", SHAPES)
        assert [r.tool_name for r in after.requests] == ["read_file"], opening


@walked(
    "closing",
    ["</think>", "</tool_call>", "[/THINK]", "◁/think▷", "<|end_of_thought|>", "<|END_THINKING|>", "assistantfinal"],
)
def test_a_closing_mark_alone_makes_what_stands_before_it_part_of_a_thought(closing):
    found = parse(f"{block(json.dumps(DOC))}{closing}\n{GOOD}", SHAPES)
    assert [r.tool_name for r in found.requests] == ["read_file"]


def test_a_closing_mark_of_a_quote_takes_back_only_what_began_with_its_opening_one():
    found = parse(f"{block(json.dumps(DOC))}</example>\n{GOOD}", SHAPES)
    assert [r.tool_name for r in found.requests] == ["write_file", "read_file"]


@walked("name", ["function", "parameter"])
def test_a_tag_that_is_also_a_word_is_one_with_a_name_behind_it_only(name):
    for rest in ("=x", " name=x", '= "x"'):
        assert find_mark(f"<{name}{rest}>").kind == "call"
    for rest in ("", "=", " x=name", " named"):
        assert find_mark(f"<{name}{rest}>") is None


@walked(
    ("first", "last"),
    [
        ("<<<<<<< SEARCH", ">>>>>>> REPLACE"), ("<<<<<", ">>>>>"),
        ("------- SEARCH", "+++++++ REPLACE"), ("@@ -1,2 +1,2 @@", None), ("diff --git a/x b/x", None),
        ("*** Update File: x", None), ("*** Add File: x", None), ("*** Delete File: x", None),
    ],
)  # fmt: skip
def test_what_a_patch_holds_never_runs(first, last):
    found = find_patch(first)
    assert (found.kind, found.start, found.end, found.closing is None) == ("patch", 0, len(first), last is None)
    sign = "+" if last is None else ""
    held = "".join(f"{sign}{line}\n" for line in GOOD.splitlines())
    answer = parse(f"{first}\n{held}{last or ''}\n\nSo:\n{block(json.dumps(DOC))}", SHAPES)
    assert [r.tool_name for r in answer.requests] == ["write_file"]
    for other in (*([] if "<" in first else [f" {first}"]), f"x{first}", "", "text", "-- SEARCH", "*** Nothing"):
        assert find_patch(other) is None


# -- what a closing mark, seen later, takes back --------------------------------------------------------

DATA = f'{F}json\n{{"a": 1}}\n{F}\n'
PAIR = f'{F}json\n[{{"tool": "read_file", "path": "b.py"}}, {{"tool": "read_file", "path": "c.py"}}]\n{F}\n'


def taken(found):
    return [(one.start, one.end, one.reason) for one in found.ignored]


def test_what_is_taken_back_stands_again_in_the_prose_and_once_among_what_is_left_alone_in_the_order_of_the_text():
    text = f"{DATA}Hm.\n{PAIR}So.\n{GOOD}</think>\n{DATA}"
    found = parse(text, SHAPES)
    assert (found.requests, found.refusals, found.prose, found.blocks) == ((), (), text, {})
    pair = text.index(PAIR)
    good = text.index(GOOD)
    data = text.rindex(DATA)
    assert taken(found) == [
        (0, len(DATA) - 1, "there is no tool key"),
        (pair, pair + len(PAIR), "quoted inside think"),
        (good, good + len(GOOD), "quoted inside think"),
        (data, data + len(DATA) - 1, "there is no tool key"),
    ]


def test_of_a_call_format_each_call_is_refused_and_its_place_stays():
    text = f"Hm.\n{PAIR}</tool_call>\n{GOOD}"
    found = parse(text, SHAPES)
    assert [one.id for one in found.requests] == ["r3"]
    at = text.index(PAIR)
    assert [(one.request_id, one.code, one.start, one.end) for one in found.refusals] == [
        (name, "unread", at, at + len(PAIR) - 1) for name in ("r1", "r2")
    ]
    assert all(one.message.startswith("Line 2 of the answer: The call is inside") for one in found.refusals)
    assert found.blocks["r1"] == found.blocks["r2"] == (at, at + len(PAIR))
    assert found.prose == "Hm.\n</tool_call>\n"


def test_a_refusal_within_a_thought_is_taken_back_and_one_within_a_call_format_stands():
    mixed = f'{F}json\n[{{"tool": "read_file", "path": "b.py"}}, 7]\n{F}\n'
    found = parse(f"{mixed}</think>\n", SHAPES)
    assert (found.requests, found.refusals) == ((), ())
    found = parse(f"{mixed}</tool_call>\n", SHAPES)
    assert [(one.request_id, one.code) for one in found.refusals] == [("r1", "unread"), ("r2", "frame")]


@walked(("first", "second"), [("tool_call", "example"), ("example", "tool_call")])
def test_where_two_containers_went_on_the_last_closing_mark_says_what_a_call_was_part_of(first, second):
    text = f"<{first}>\n</{first}>\n<{second}>\n</{second}>\n{GOOD}x\n</{first}>\ny\n</{second}>\n{GOOD}"
    found = parse(text, SHAPES)
    assert [one.id for one in found.requests] == ["r2"]
    said = [one.reason for one in found.ignored] + [one.message for one in found.refusals]
    assert len(said) == 1
    assert second in said[0]


def test_only_what_stands_between_the_last_opening_mark_of_that_name_and_the_closing_one_is_taken_back():
    text = f"{GOOD}<example>\n</example>\n{GOOD}</example>\n{GOOD}"
    assert [one.id for one in parse(text, SHAPES).requests] == ["r1", "r3"]
    text = f"<example>\n</example>\n{GOOD}<example>\n</example>\n{GOOD}</example>\n"
    assert [one.id for one in parse(text, SHAPES).requests] == ["r1"]


# -- what stands beside a refusal -----------------------------------------------------------------------


def only(text, **more):
    found = parse(text, SHAPES, **more)
    (one,) = found.refusals
    assert not found.requests
    return one


@walked(
    ("body", "why"),
    [
        ('{"tool": "run_code", "timeout": 5,}', "'run_code': 'code' is missing, so what was meant is uncertain."),
        ('{"tool": "run_code", "code": "x", "a": 1, "b": 2,}', "'run_code': it has no 'a', so what was meant"),
        ('{"tool": "run_code", "code": "x", "timeout": {},}', "'run_code', so what was meant is uncertain."),
        ('{"tool": "nope", "arguments": {"a": 1,}}', "'nope': there is no such tool, so what was meant is"),
    ],
)
def test_a_repaired_block_that_fits_no_tool_says_what_does_not_fit(body, why):
    one = only(f"x\n{F}json\n{body}\n{F}\n")
    start = "Line 2 of the answer: The JSON is broken, and after repair (trailing_comma) it does not fit the tool "
    assert one.message.startswith(start + why)
    assert (one.hint, one.start, one.end) == ("Correct the JSON and send the whole block again.", 2, 14 + len(body))


REFUSALS = {
    "a name of any length": (
        '{"tool": "read_file", "' + "k" * 61 + '": 1,}',
        ("syntax", 0, None, f"it has no '{'k' * 60}… (+1 characters)', so what was meant is uncertain."),
    ),
    "a required one of any length": (
        '{"tool": "long", "a": 1,}',
        ("syntax", 0, None, f"{'k' * 60}… (+1 characters)' is missing, so what was meant is uncertain."),
    ),
    "a tool of any length": (
        '{"tool": "' + "t" * 61 + '", "arguments": {"a": 1,}}',
        ("syntax", 0, None, f"fit the tool '{'t' * 60}… (+1 characters)': there is no such tool, so"),
    ),
    "a string that never ends": (
        '{"tool": "write_file", "path": "a", "content": "x}',
        ("unclosed_string", 58, 59, "Invalid control character at line 2, column 51 of the answer, near: "),
    ),
    "words that are no JSON": (
        '{"type": "tool_request", "x": oops}',
        ("syntax", 38, 39, "It cannot be repaired safely: line 2, column 31: 'oops' is not a JSON value."),
    ),
    "marks that are written as entities": (
        '{&quot;tool&quot;: "read_file"}',
        ("mixed_escaping", 9, 10, "line 2, column 2: some marks of the block are entities and some are not."),
    ),
    "a key that lost its marks": (
        "{tool read_file path a}",
        ("syntax", 9, 10, "line 2, column 2: expecting a key in quotes, found 'tool'."),
    ),
    "another thing in an array of calls": (
        '[7, {"tool": "run_code", "code": 1}]',
        ("frame", 0, None, "Line 1 of the answer: item 1 of the array: the JSON value is not an object (got integer)."),
    ),
}


@walked("what", REFUSALS)
def test_a_refusal_names_its_kind_its_place_and_its_cause(what):
    body, (code, start, end, words) = REFUSALS[what]
    long = {"type": "object", "properties": {"k" * 61: {}}, "required": ["k" * 61]}
    text = f"{F}json\n{body}\n{F}\n"
    first = parse(text, {**SHAPES, "long": long}).refusals[0]
    assert words in first.message
    assert (first.code, first.start, first.end) == (code, start, end or len(text) - 1)


def test_an_xml_call_that_is_not_closed_names_its_element_and_what_is_no_parameter_of_it():
    text = "So:\n<read_file>\n<path>a</path>\n<nope>1"
    one = only(text)
    assert (one.code, one.start, one.end) == ("unterminated", text.index("<nope>"), len(text))
    assert one.message == (
        "Line 4 of the answer: Unclosed tool tag at end of input: <read_file> is opened and never closed. "
        "Behind the closing tag of a value stands '<nope>1', which is no parameter (known: file_path, limit, offset, "
        "path, ratio)."
    )
    assert one.hint == "Send the whole call again, with nothing but parameters in <read_file>."
    one = only("<read_file>\n<path>a</path>\n")
    assert one.message.endswith("<read_file> is opened and never closed.")
    assert one.hint == "Send the whole call again; shorten it if it was cut off."
    text = '<tool name="multi_edit"><edits>oops</edits></tool>\n'
    one = only(text)
    assert (one.code, one.start, one.end) == ("syntax", text.index("oops"), len(text))
    assert one.message.startswith(
        "Line 1, column 32 of the answer: The call of 'multi_edit' cannot be read: parameter 'edits': it is"
    )
    assert one.hint == "Send parameters whose values do not hold their own closing tag, and lists as JSON."


def test_what_opens_and_closes_on_one_line_ends_there_and_what_nests_is_counted():
    for text in (
        f"<example>x</example>\n{GOOD}",
        f"<example>\n<example>\n</example>\n{DATA}</example>\n{GOOD}",
        f"<example>\n<example/>\n</example>\n{GOOD}",
        f"<tool_call>\n<tool_call>\n</tool_call>\n{DATA}</tool_call>\n{GOOD}",
        f"<think>\n<think>\n</think>\n{GOOD}",
        f"<!-- <!-- -->\n{GOOD}",
        f"[THINK] [THINK] [/THINK]\n{GOOD}",
    ):
        assert [one.tool_name for one in parse(text, SHAPES).requests] == ["read_file"], text
    for text in (f"<example>\n<example>\n</example>\n{GOOD}", f"<example>\n<example/>\n{GOOD}"):
        assert parse(text, SHAPES).requests == (), text


def test_a_repaired_xml_call_runs_where_it_fits_and_is_refused_as_xml_where_not():
    call = '<tool name="read_file"><path><![CDATA[a]]></path><offset>{}</offset></tool>'
    (request,) = parse(call.format(12) + "\n", SHAPES).requests
    assert dict(request.parameters) == {"path": "a", "offset": 12}
    one = only(call.format("abc") + "\n")
    assert one.message.startswith("Line 1 of the answer: The XML is broken, and after repair (cdata) it does not fit")
    assert one.hint == "Correct the XML and send the whole block again."
    assert (one.start, one.end) == (0, len(call.format("abc")))
    unrepaired = call.replace("<![CDATA[", "").replace("]]>", "").format("abc")
    assert parse(unrepaired + "\n", SHAPES).requests, "what was not repaired is for the validator"


def test_a_block_repaired_at_the_end_of_an_answer_that_was_cut_off_does_not_run_whatever_stands_beside_it():
    call = '{"tool": "read_file", "path": "a",}'
    for items in (call, f"[7, {call}]"):
        text = f"{F}json\n{items}\n{F}"
        assert [one.tool_name for one in parse(text, SHAPES).requests] == ["read_file"]
        cut = parse(text, SHAPES, finish="max_tokens")
        assert cut.requests == ()
        assert cut.refusals[-1].message.endswith("was cut off, so it may be incomplete.")
    assert parse(f"{F}json\n{call}\n{F}\n\nDone", SHAPES, finish="max_tokens").requests


def test_bytes_that_end_within_a_character_are_told_by_a_replacement():
    reader = AnswerParser(SHAPES)
    reader.feed("é".encode()[:1])
    assert reader.flush("end_turn").prose == "\ufffd"
    reader = AnswerParser(SHAPES)
    for byte in "x é\n".encode():
        reader.feed(bytes([byte]))
    assert reader.flush("end_turn").prose == "x é\n"


def test_lines_that_could_open_a_block_and_never_close_it_hide_nothing_however_many_there_are():
    lines = "".join(f"[section]\n\n$$ {number}\n\n" for number in range(40))
    answer = parse(f"{lines}{block(json.dumps(DOC))}", SHAPES)
    assert [r.tool_name for r in answer.requests] == ["write_file"]
    assert not answer.refusals
    lines = "".join(f"<name{number}>\n" for number in range(60))
    assert [r.tool_name for r in parse(f"{lines}{GOOD}", SHAPES).requests] == ["read_file"], "of different names, too"


@walked("unit", ['"""', "<<A>", "&lt;think ", "[a]\n", "(a)\n", "$$\n", "/*\n", "<a{n}>\n", "[a{n}]\n"])
def test_what_could_open_a_block_costs_no_more_where_there_is_much_of_it(unit, cpu_seconds):
    texts = ["".join(unit.replace("{n}", str(number)) for number in range(count)) for count in (500, 4_000)]
    short, long = (cpu_seconds(lambda text=text: parse(text, SHAPES)) for text in texts)
    assert long < max(0.2, 30 * short)
