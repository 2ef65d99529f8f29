"""The ways in which models spell a fence, an XML call or a whole answer, and what stays a mere mention."""

import html
import json

from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES

F = "```"
CALL = '{"tool": "write_file", "path": "a.py", "content": "x = 1\\n"}'
OTHER = '{"tool": "delete_file", "path": "b.py"}'
WRITE = ("write_file", {"path": "a.py", "content": "x = 1\n"})
DELETE = ("delete_file", {"path": "b.py"})
XML = '<tool name="write_file">\n<path>a.py</path>\n<content>\nx = 1\n\n</content>\n</tool>\n'


def fence(body, info="json", mark=F):
    return f"{mark}{info}\n{body}\n{mark}\n"


def calls(message, finish="end_turn"):
    found = parse(message, SHAPES, finish=finish)
    return [(one.tool_name, one.parameters) for one in found.requests], found


@walked(
    "info",
    ["json", "JSON", "Json", "json5", "jsonc", " json", "\tjson ", "jsonc title=x", 'json title="a.json"',
     "json {highlight}", "json {1,3}", "json {.numbered}", "{.json}", "json:a.json"],
)  # fmt: skip
@walked("mark", [F, "````", "~~~"])
def test_c1_01_a_fence_says_json_in_many_ways(info, mark):
    assert calls(fence(CALL, info, mark))[0] == [WRITE]


@walked(
    "message",
    [
        f"{F}json {CALL}\n{F}\n",
        f"{F}json{CALL}{F}\n",
        f"{F}json {{\n{CALL[1:]}\n{F}\n",
        "\ufeff" + fence(CALL),
        fence("\ufeff" + CALL),
        fence(CALL).replace("\n", "\r\n"),
        "- " + fence(CALL).replace("\n", "\n  "),
        "1. Do:\n\n   " + fence(CALL).replace("\n", "\n   ") + "\n2. Then\n",
        "Hm.\n</think>\n" + fence(CALL),
        "<think>\nI could " + fence(OTHER) + "</think>\n" + fence(CALL),
        "<!--\n" + fence(OTHER) + "-->\n" + fence(CALL),
        fence(CALL + '\nThis writes "x = 1" to the file.'),
        fence("Here is the call:\n" + CALL),
        f"{F}json\n{CALL}\n",
    ],
)
def test_c1_01_a_call_is_found_wherever_it_stands(message):
    assert calls(message)[0] == [WRITE]


@walked("body", [f"{CALL}\n{OTHER}", f"{CALL},\n{OTHER}", f"[{CALL},\n{OTHER}]", f"[{CALL}, {OTHER},]"])
def test_c1_09_several_calls_in_one_fence_are_all_read(body):
    assert calls(fence(body))[0] == [WRITE, DELETE]


def test_an_openai_message_written_as_text_is_its_calls():
    function = {"name": "delete_file", "arguments": json.dumps({"path": "b.py"})}
    message = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function}]}
    assert calls(fence(json.dumps(message)))[0] == [DELETE]
    message["tool_calls"][0]["function"]["name"] = "hammer"
    assert calls(fence(json.dumps(message)))[1].ignored


@walked(
    "opening",
    ["<tool name='write_file'>", '<tool  name = "write_file" >', "<tool name=write_file>",
     '<tool id="1" name="write_file">', '<tool name="write_file" id="1">'],
)  # fmt: skip
def test_c6_01_the_opening_tag_may_be_spelt_freely(opening):
    assert calls(XML.replace('<tool name="write_file">', opening))[0] == [WRITE]


def test_an_empty_element_is_an_empty_value_or_a_whole_call():
    assert calls('<tool name="write_file">\n<path>a</path>\n<content/>\n</tool>\n')[0] == [
        ("write_file", {"path": "a", "content": ""})
    ]
    assert calls('<tool name="delete_file"/>')[0] == [("delete_file", {})]
    assert calls("<delete_file/>\n")[0] == [("delete_file", {})]
    assert not calls("<delete_file/> is the tool for that.\n")[0]


def test_a_cdata_section_is_what_is_inside_it_and_told():
    text = "<write_file><path>a</path><content><![CDATA[a < b && c]]></content></write_file>\n"
    (request,) = parse(text, SHAPES).requests
    assert request.parameters["content"] == "a < b && c"
    assert [note.name for note in request.repairs] == ["cdata"]


def test_an_unknown_parameter_in_an_xml_call_is_named():
    (refusal,) = parse(XML.replace("content>", "contents>"), SHAPES).refusals
    assert "'<contents>', which is no parameter (known: content, " in refusal.message
    assert "content" in refusal.message.partition("known:")[2]


@walked(
    "body",
    [CALL.replace('"', "&quot;", 3), CALL.replace(": ", "= "), "const call = " + CALL,
     CALL.replace("{", "｛").replace("write_file", 'write"_"file')],
)  # fmt: skip
def test_what_only_looks_like_json_is_refused_with_a_reason(body):
    requests, found = calls(fence(body))
    assert not requests
    assert found.refusals


CODE = 'if a < b && c > "d":\n    x = f"{{y}}"\n'
MEMBERS = {"path": "a.py", "content": CODE}


@walked(
    "frame",
    [
        {"tool": "write_file", "arguments": MEMBERS},
        {"tool": "write_file", **MEMBERS},
        {"type": "tool_request", "tool_name": "write_file", "parameters": MEMBERS},
    ],
)
@walked("indent", [None, 2])
def test_a_block_whose_marks_are_entities_is_the_block_that_they_stand_for(frame, indent):
    block = json.dumps(frame, indent=indent)
    requests, found = calls(fence(html.escape(block)))
    assert requests == [("write_file", MEMBERS)]
    assert [note.name for note in found.requests[0].repairs] == ["double_encoded"]
    for mixed in (html.escape(block).replace("&lt;", "<"), html.escape(block).replace("&quot;", '"', 1)):
        requests, found = calls(fence(mixed))
        assert not requests
        assert found.refusals


@walked("before", ["tool_call:\n", "Call: ", "tool_calls:\n["])
def test_a_label_before_the_block_is_no_member_of_it(before):
    requests, _ = calls(fence(before + CALL + ("]" if "[" in before else "")))
    assert requests == [("write_file", {"path": "a.py", "content": "x = 1\n"})]


@walked("end", range(len(fence(CALL)) - len(CALL) - 5, len(CALL) + 8))
def test_a_call_that_was_cut_off_never_runs(end):
    requests, found = calls(fence(CALL)[:end], "max_tokens")
    assert not requests
    if '"tool"' in fence(CALL)[:end]:
        assert found.refusals


@walked("end", range(3, len(XML) - 8, 3))
def test_an_xml_call_that_was_cut_off_never_runs(end):
    assert not calls(XML[:end], "max_tokens")[0]
