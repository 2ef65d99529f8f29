"""C6: XML calls."""

import json

from rails.parsing.parse import parse
from tests.rows import walked

EDITS = [
    {
        "path": "src/a.tsx",
        "oldString": "</edits> <b>a && b</b>",
        "newString": "List<Map<String, T>> << x </fast_editor>",
    }
]
WRITTEN = json.dumps(EDITS)


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def edit(text, *, named=True, action=False):
    opening, closing = ('<tool name="fast_editor">', "</tool>") if named else ("<fast_editor>", "</fast_editor>")
    body = f"{opening}\n<edits>{text}</edits>\n<explanation>why</explanation>\n{closing}"
    return f"Now:\n<action>\n{body}\n</action>\n" if action else f"Now:\n{body}\nDone.\n"


@walked("named", [True, False])
@walked("action", [True, False])
def test_c6_01_both_forms_parse_inside_and_outside_action(tools, named, action):
    found = parse(edit(WRITTEN, named=named, action=action), tools)
    (request,) = found.requests
    assert (request.tool_name, request.dialect) == ("fast_editor", "s2")
    assert request.parameters == {"edits": EDITS, "explanation": "why"}
    assert found.prose == ("Now:\n" if action else "Now:\nDone.\n")


def test_c6_01_an_opening_tag_may_follow_action_on_its_line(tools):
    found = parse(f"<action><fast_editor><edits>{WRITTEN}</edits></fast_editor></action>", tools)
    assert found.requests[0].parameters["edits"] == EDITS


@walked(
    "text",
    [
        WRITTEN,
        f"\n{json.dumps(EDITS, indent=2)}\n",
        f"\n```json\n{WRITTEN}\n```\n",
        f"```\n{WRITTEN}\n```",
        escaped(WRITTEN),
        "<edit>\n<path>src/a.tsx</path>\n<oldString>" + escaped(EDITS[0]["oldString"]) + "</oldString>\n<newString>"
        + escaped(EDITS[0]["newString"]) + "</newString>\n</edit>",
        WRITTEN[:-1] + ",]",
    ],
)  # fmt: skip
def test_c6_02_every_way_of_writing_edits_gives_the_same_list(tools, text):
    found = parse(edit(text), tools)
    assert not found.refusals
    assert found.requests[0].parameters["edits"] == EDITS


def test_c6_02_children_may_hold_raw_tags(tools):
    text = "<edit><path>a</path><oldString><b>x</b></oldString><newString>\n<i>\n</i>\n</newString></edit>"
    assert parse(edit(text), tools).requests[0].parameters["edits"] == [
        {"path": "a", "oldString": "<b>x</b>", "newString": "<i>\n</i>"}
    ]


def test_lists_of_texts_may_be_children(tools):
    text = '<tool name="fetch_webpage"><urls><url>https://a.b/?x=1&amp;y=2</url><url>https://c.d</url></urls></tool>'
    assert parse(text, tools).requests[0].parameters["urls"] == ["https://a.b/?x=1&y=2", "https://c.d"]


def test_c6_03_bad_json_reports_its_own_error_and_place(tools):
    text = edit('[{"path": "a", oops}]')
    (refusal,) = parse(text, tools).refusals
    assert refusal.code == "syntax"
    assert "Line 3, column 23 of the answer: " in refusal.message
    assert "oops" in refusal.message
    assert "at least 1" not in refusal.message
    assert text[refusal.start :].startswith("oops")


def test_c6_04_a_single_object_instead_of_a_list_is_refused_clearly(tools):
    (refusal,) = parse(edit(json.dumps(EDITS[0])), tools).refusals
    assert "expected array, got object" in refusal.message


@walked(
    "value",
    [
        "a < b && c > d << 2",
        "const x: Array<Map<string, T>> = <div>{y}</div>;",
        "see </edits> and </path> and <edits>",
        "<content>nested</content> text",
        "<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> updated",
        "&lt;kept&gt; &amp; &#10;",
        "C:\\new\\table \\n \\u0041",
        "  leading and trailing  ",
        "line\n\n\n",
        '```json\n{"tool": "delete_file", "path": "x"}\n```',
        '{"a": [1, 2]}',
        "",
        "\n",
    ],
)
def test_c6_05_text_values_survive_exactly(tools, value):
    text = f'<tool name="write_file">\n<path>a b.txt</path>\n<content>\n{value}\n</content>\n</tool>\n'
    found = parse(text, tools)
    assert not found.refusals
    assert [dict(r.parameters) for r in found.requests] == [{"path": "a b.txt", "content": value}]


def test_a_value_on_one_line_is_kept_verbatim(tools):
    (request,) = parse('<tool name="write_file"><path>a</path><content>  x </content></tool>', tools).requests
    assert request.parameters["content"] == "  x "


def test_crlf_around_a_value_is_taken_off_as_a_pair(tools):
    text = '<tool name="write_file">\r\n<path>a</path>\r\n<content>\r\nx\r\ny\r\n</content>\r\n</tool>\r\n'
    assert parse(text, tools).requests[0].parameters["content"] == "x\r\ny"


@walked("given", ["5", " 5 ", "\n5\n"])
def test_c6_06_numbers_are_read_where_the_schema_asks_for_them(tools, given):
    (request,) = parse(f'<tool name="read_file"><path>5</path><limit>{given}</limit></tool>', tools).requests
    assert request.parameters == {"path": "5", "limit": 5}


def test_c6_07_backslashes_stay_and_entities_are_decoded_once_with_amp_last(tools):
    text = (
        "<edit><path>C:\\new\\table</path><oldString>a&#10;b&#9;c&#xA;d</oldString>"
        "<newString>&lt;&gt;&quot;&apos;&amp;lt; &nbsp; & &x;</newString></edit>"
    )
    assert parse(edit(text), tools).requests[0].parameters["edits"] == [
        {"path": "C:\\new\\table", "oldString": "a\nb\tc\nd", "newString": "<>\"'&lt; &nbsp; & &x;"}
    ]


def test_c6_09_an_unknown_tool_is_passed_on_to_be_refused_by_name(tools):
    assert parse('<tool name="no_such"><a>1</a></tool>', tools).requests[0].tool_name == "no_such"
    assert parse("<no_such>\n<a>1</a>\n</no_such>", tools).requests == ()


@walked(
    "text",
    [
        '<tool name="write_file"><content>use </content></tool> here</content></tool>',
        '<tool name="write_file">\n<content>\nuse </content>\n</tool>\nhere\n</content>\n</tool>\n',
        '<tool name="write_file">\n<content>\n<tool name="run_code"><content>x</content></tool>\n</content></tool>',
        '<tool name="write_file"><content>a</content><path>b</path> c</content><path>d</path></tool>',
        '<tool name="write_file"><path>a</path><path>b</path><content>x</content></tool>',
        '<tool name="write_file">stray text<path>a</path></tool>',
    ],
)
def test_a_value_that_could_end_in_two_places_is_refused(tools, text):
    found = parse(text, tools)
    assert not found.requests
    assert found.refusals


@walked("finish", ["end_turn", "max_tokens"])
def test_an_unclosed_call_is_an_error_and_hides_nothing_silently(tools, finish):
    found = parse('<tool name="write_file">\n<path>a</path>\n<content>\nabc\n', tools, finish=finish)
    assert not found.requests
    assert "Unclosed tool tag at end of input" in found.refusals[0].message


@walked(
    "text", ["<write_file> is a tool.\n", 'Use `<tool name="x">`.\n', "a <write_file> b\n", "<write_file>\nis it.\n"]
)
def test_a_mention_of_a_tag_is_prose_and_hides_no_call(tools, text):
    call = '```json\n{"tool": "delete_file", "path": "b"}\n```\n'
    found = parse(text + call, tools)
    assert [r.tool_name for r in found.requests] == ["delete_file"]
    assert found.prose == text


def test_xml_in_a_fence_is_quoted(tools):
    assert parse(f"```xml\n{edit(WRITTEN)}```\n", tools).requests == ()


def test_an_own_opening_tag_alone_does_not_hide_the_end(tools):
    text = '<tool name="write_file"><path>a</path><content>\nuse the <content> tag\n</content></tool>\nbye\n'
    found = parse(text, tools)
    assert [dict(r.parameters) for r in found.requests] == [{"path": "a", "content": "use the <content> tag"}]
    assert found.prose == "bye\n"


# -- what stands beside an XML call that is not read -----------------------------------------------------


def test_a_call_that_is_cut_or_unreadable_is_refused_at_its_place_in_its_words():
    tools = {"edit": {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}}
    cut = "Line 2 of the answer: Unclosed tool tag at end of input: <edit> is opened and never closed."
    again = "Send the whole call again; shorten it if it was cut off."
    (refusal,) = parse("Now:\n<edit><path>a</path>", tools).refusals
    assert (refusal.code, refusal.message, refusal.hint) == ("unterminated", cut, again)
    assert (refusal.start, refusal.end) == (5, 25)
    (refusal,) = parse("<edit><path>a</path></edit> b</edit>", tools).refusals
    assert refusal.code == "ambiguous"
    assert refusal.message.startswith(
        "Line 1 of the answer: The call of 'edit' cannot be read: there is a second closing"
    )
    assert refusal.end > refusal.start >= 0


def test_a_call_that_is_read_has_its_place_and_its_own_text():
    tools = {"edit": {"type": "object", "properties": {"path": {"type": "string"}}}}
    text = "Now:\n<edit><path>a</path><explanation>why</explanation></edit>\r\nThen."
    (request,) = parse(text, tools).requests
    assert text[request.start : request.end] == request.raw == text[5:].partition("\r\n")[0]
    assert (request.explanation, dict(request.parameters), request.repairs) == ("why", {"path": "a"}, ())
