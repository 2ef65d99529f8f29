"""C1: finding blocks in an answer."""

import json

import pytest

from rails.core.conversation import NativeCall
from rails.parsing.parse import parse
from tests.rows import walked

F = "```"
WRITE = {"tool": "write_file", "path": "a.py", "content": "x = 1\n"}


def fenced(body, fence=F, info="json", end="\n"):
    text = body if isinstance(body, str) else json.dumps(body)
    return f"{fence}{info}\n{text}{end}{fence}"


@walked("info", ["json", "JSON", "Json", " json", "jsonc", "json5"])
@walked("end", ["\n", ""])
@walked("eol", ["\n", "\r\n"])
def test_c1_01_finds_every_json_fence_in_any_case_and_line_ending(tools, info, end, eol):
    found = parse(("Here:\n" + fenced(WRITE, info=info, end=end) + "\nDone.").replace("\n", eol), tools)
    assert [dict(r.parameters) for r in found.requests] == [{"path": "a.py", "content": "x = 1\n"}]
    assert not found.refusals


TOKENS = [
    "<|im_end|>",
    " <|eot_id|>",
    "<｜tool▁call▁end｜><｜end▁of▁sentence｜>",
    "</s>",
    "<|endoftext|>",
    "[/TOOL_CALLS]",
]


@walked("token", TOKENS)
@walked("between", ["", "Then:\n\n", "```python\nx\n```<|im_end|>\n"])
def test_a_template_token_behind_a_closing_fence_is_no_part_of_a_block(tools, token, between):
    found = parse(f"{fenced(WRITE)}{token}\n{between}{fenced(WRITE)}{token}\n", tools)
    assert [dict(r.parameters) for r in found.requests] == [{"path": "a.py", "content": "x = 1\n"}] * 2
    assert not found.refusals


@walked("words", ["</tool_call>", "</think>", "<|end_of_thought|>", ".", "// end"])
def test_what_keeps_a_fence_from_closing_its_block_is_named(tools, words):
    refusal = parse(f"A:\n{fenced(WRITE)}{words}\n{fenced(WRITE)}\n", tools).refusals[0]
    assert refusal.message.startswith("Line 4 of the answer: The closing fence")
    assert words in refusal.message
    assert "nothing else on the line" in refusal.hint


def test_c1_01_a_fence_on_one_line_is_found(tools):
    found = parse(f"{F}json {json.dumps(WRITE)}{F}", tools)
    assert found.requests[0].tool_name == "write_file"


def test_c1_02_several_blocks_come_in_order_with_positions(tools):
    text = "one\n" + fenced(WRITE) + "\ntwo\n" + fenced({"tool": "delete_file", "path": "b"}) + "\n"
    first, second = parse(text, tools).requests
    assert (first.id, second.id) == ("r1", "r2")
    for request in (first, second):
        assert text[request.start : request.end] == request.raw
        assert request.raw.startswith(F)
        assert request.raw.endswith(F)
    assert [text.count("\n", 0, request.start) + 1 for request in (first, second)] == [2, 6]


@walked(
    "content",
    [
        "`x`",
        f"{F}js\nlet a\n{F}",
        f'# Doc\n{F}json\n{{"tool": "delete_file", "path": "/etc/passwd"}}\n{F}\n',
        F * 3,
        "``",
    ],
)
@walked("indent", [None, 2])
def test_c1_03_backticks_and_fences_inside_strings_are_content(tools, content, indent):
    block = json.dumps({"tool": "write_file", "path": "a.md", "content": content}, indent=indent)
    found = parse(fenced(block), tools)
    assert [r.parameters["content"] for r in found.requests] == [content]
    assert parse(fenced(block, end=""), tools).requests[0].parameters["content"] == content


@walked(
    "text",
    [
        "1. Do this:\n\n   ```json\n   {block}\n   ```\n2. Next",
        "- ```json\n  {block}\n  ```\n",
        "````json\n{block}\n````",
        "~~~json\n{block}\n~~~",
        "~~~~~ json\n{block}\n~~~~~",
        "\t```json\n\t{block}\n\t```",
    ],
)
def test_c1_04_indented_longer_and_tilde_fences_are_found(tools, text):
    found = parse(text.replace("{block}", json.dumps(WRITE)), tools)
    assert [r.tool_name for r in found.requests] == ["write_file"]


@walked("cut", range(9, 60, 7))
def test_c1_05_an_unterminated_call_is_an_error_and_never_runs(tools, cut):
    text = f"{F}json\n{json.dumps(WRITE)}"[:-1][: 8 + cut]
    found = parse(text, tools, finish="max_tokens")
    assert not found.requests
    assert [r.code for r in found.refusals] == (["unterminated"] if '"tool":' in text else [])


def test_c1_05_a_complete_call_in_an_open_fence_runs_only_after_a_normal_stop(tools):
    text = f"{F}json\n{json.dumps(WRITE)}"
    assert len(parse(text, tools, finish="stop_sequence").requests) == 1
    for finish in ("max_tokens", "cut", "refusal", "pause_turn"):
        found = parse(text, tools, finish=finish)
        assert not found.requests
        assert found.refusals[0].code == "unterminated"


@walked(
    "text",
    [
        'x = {"tool": "delete_file", "path": "a"}',
        '{"tool": "delete_file", "path": "a"}',
        "f\"{tool}\" and {'tool': 'delete_file', 'path': 'a'}",
        'use `{"tool": "delete_file", "path": "a"}` for that',
        '> ```json\n> {"tool": "delete_file", "path": "a"}\n> ```',
        '```\n{"tool": "delete_file", "path": "a"}\n```',
    ],
)
def test_c1_07_raw_braces_inline_code_and_quotes_are_prose(tools, text):
    found = parse(text, tools)
    assert not found.requests
    assert not found.refusals
    assert found.prose == text


def test_c1_08_a_stray_backtick_does_not_switch_reading_off(tools):
    assert len(parse("It`s ``odd.\n" + fenced(WRITE), tools).requests) == 1


def test_c1_09_an_array_of_calls_is_several_calls(tools):
    found = parse(fenced([WRITE, {"tool": "delete_file", "path": "b"}]), tools)
    assert [r.tool_name for r in found.requests] == ["write_file", "delete_file"]
    mixed = parse(fenced([WRITE, 7]), tools)
    assert len(mixed.requests) == 1
    assert "item 2" in mixed.refusals[0].message


def test_c1_10_prose_is_the_text_around_the_blocks(tools):
    found = parse("before\n" + fenced(WRITE) + "\nbetween\n" + fenced('{"a": 1}') + "\nafter", tools)
    assert found.prose == "before\nbetween\n" + fenced('{"a": 1}') + "\nafter"


@walked("text", ["", None, b"", "\n", " ", "\x00", b"\xff\xfe", "\ud800"])
def test_c1_12_odd_input_gives_an_empty_result(tools, text):
    found = parse(text, tools)
    assert not found.requests
    assert not found.refusals


def test_c1_12_what_is_not_text_is_a_clear_error(tools):
    with pytest.raises(TypeError, match="text or UTF-8 bytes, not int"):
        parse(5, tools)


@walked("language", ["python", "js", "javascript", "jsonl", "json-schema", "xml", "", "text"])
def test_c2_06_fences_in_other_languages_are_ignored(tools, language):
    found = parse(fenced(WRITE, info=language), tools)
    assert not found.requests
    assert not found.refusals


def test_a_longer_fence_quotes_what_is_in_it(tools):
    found = parse("````markdown\n" + fenced(WRITE) + "\n````\n" + fenced({"tool": "delete_file", "path": "b"}), tools)
    assert [r.tool_name for r in found.requests] == ["delete_file"]
    assert "quoted" in found.ignored[0].reason


def test_a_same_length_markdown_fence_quotes_with_its_inner_fence_counted(tools):
    found = parse(f"{F}markdown\n{fenced(WRITE)}\n{F}\n" + fenced({"tool": "delete_file", "path": "b"}), tools)
    assert [r.tool_name for r in found.requests] == ["delete_file"]


@walked("tag", ["thinking", "think", "THINKING"])
def test_calls_inside_thinking_are_ignored(tools, tag):
    found = parse(
        f"<{tag}>\nMaybe:\n{fenced(WRITE)}\n</{tag}>\nOk.\n" + fenced({"tool": "delete_file", "path": "b"}), tools
    )
    assert [r.tool_name for r in found.requests] == ["delete_file"]


def test_a_quoting_block_that_never_ends_refuses_the_calls_in_it(tools):
    found = parse(f"{F}\nsome output\n" + fenced(WRITE), tools)
    assert not found.requests
    assert found.refusals[0].code == "unterminated"


@walked("finish", ["tool_use", "end_turn"])
def test_c8_07_native_calls_are_parsed_once_and_strictly(tools, finish):
    calls = [
        NativeCall("a", "run_code", '{"code": "1"}'),
        NativeCall("b", "run_code", ""),
        NativeCall("c", "run_code", '{"code": a.py}'),
        NativeCall("d", "run_code", "[1, 2]"),
        NativeCall("e", "run_code", '{"a":1}{"b":2}'),
        NativeCall("f", "run_code", '{"a":1,"a":2}'),
        NativeCall("g", "run_code", '{"a":NaN}'),
    ]
    found = parse("text", tools, finish=finish, calls=calls, id_prefix="t3.")
    assert [(r.id, dict(r.parameters), r.dialect) for r in found.requests] == [
        ("t3.1", {"code": "1"}, "native"),
        ("t3.2", {}, "native"),
    ]
    assert [r.code for r in found.refusals] == ["syntax", "frame", "syntax", "duplicate_key", "not_a_number"]
    assert found.native_ids == {f"t3.{n}": letter for n, letter in enumerate("abcdefg", 1)}


@walked("finish", ["max_tokens", "cut", "refusal", "pause_turn", "stop_sequence"])
def test_native_calls_never_run_after_another_stop_reason(tools, finish):
    found = parse("", tools, finish=finish, calls=[NativeCall("a", "run_code", '{"code": "1"}')])
    assert not found.requests
    assert finish in found.refusals[0].message


def test_c7_13_a_native_call_that_comes_twice_under_one_id_is_one(tools):
    call = NativeCall("a", "run_code", '{"code": "1"}')
    found = parse("", tools, calls=[call, call, NativeCall("b", "run_code", '{"code": "1"}')])
    assert [request.id for request in found.requests] == ["r1", "r2"]
    assert list(found.native_ids.values()) == ["a", "b"]
