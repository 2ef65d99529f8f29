"""Calls where none is read are never run, and their author hears where they stand."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.parsing.parse import parse
from rails.parsing.unread_calls import find_unread_calls
from tests.rows import walked

TEXT = {"type": "string"}
TOOLS = {
    name: {"type": "object", "properties": dict.fromkeys(keys, TEXT), "required": list(keys)}
    for name, keys in {"write_file": ("path", "content"), "delete_file": ("path",), "search": ("pattern",)}.items()
}
TOOLS["erase"] = TOOLS["delete_file"]
CALL = '{"tool": "write_file", "path": "a.py", "content": "x = {1}"}'
F = "```"


def refusals(text, offered=None):
    found = parse(text, TOOLS, report_unread_calls=True, proposed_to=offered)
    assert not found.requests
    return [one.message for one in found.refusals]


#: How models write a call of {tool} with the first parameter {key}, where none is read.
FORMS = {
    "JSON outside of a fence": '{{"tool": "{tool}", "{key}": "a.py"}}',
    "JSON in quotation marks that were escaped": '{{\\"tool\\": \\"{tool}\\", \\"{key}\\": \\"a.py\\"}}',
    "JSON with entities": "{{&quot;tool&quot;: &quot;{tool}&quot;, &quot;{key}&quot;: &quot;a.py&quot;}}",
    "its parameters first": '{{"input": {{"{key}": "a.py"}}, "name": "{tool}"}}',
    "Python": "{tool}({key}='a.py')",
    "JavaScript": "await {tool}({{{key}: 'a.py'}});",
    "YAML": "tool: {tool}\n{key}: a.py",
    "an action and its input": 'Action: {tool}\nAction Input: {{"{key}": "a.py"}}',
    "an element with attributes": '<tool:{tool} {key}="a.py"/>',
    "tokens that were stripped": 'functions.{tool}:0{{"{key}": "a.py"}}',
    "marks of Qwen": '✿FUNCTION✿: {tool}\n✿ARGS✿: {{"{key}": "a.py"}}',
    "brackets of Mistral": '[TOOL_CALLS]{tool}[ARGS]{{"{key}": "a.py"}}',
    "headings": "### Action: `{tool}`\n\n#### Input\n{key}: a.py",
    "options": "/{tool} --{key} a.py",
}


@given(
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["write_file", "delete_file"]),
    st.sampled_from(["", "Sure, I do it.\n\n", "1. First:\n"]),
    st.sampled_from(
        ["{}", F + "\n{}\n" + F, F + "yaml\n{}\n" + F, "<details>\n{}\n</details>", "<thinking>\n{}\n</thinking>"]
    ),
)
def test_a_tool_and_one_of_its_parameters_is_told_in_any_form(form, tool, before, around):
    call = FORMS[form].format(tool=tool, key="path")
    (message,) = refusals(before + around.format(call) + "\n")
    assert f"a call of '{tool}'" in message or "inside " in message
    assert "which is not read" in message


@given(
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(
        [
            F + "markdown\n{}\n" + F,
            "````markdown\nSo:\n" + F + "markdown\n{}\n" + F + "\n````",
            F + "python\nimport os\n{}\n" + F,
            "<example>\n{}\n</example>",
            "<thinking>\n{}\n</thinking>\nDone.",
            "*** Begin Patch\n*** Add File: a\n+{}\n*** End Patch",
        ]
    ),
)
def test_where_it_is_shown_it_is_left_alone(form, around):
    call = FORMS[form].format(tool="delete_file", key="path")
    lines = call.replace("\n", "\n+") if "Patch" in around else call
    assert not [one for one in refusals_of_calls(around.format(lines) + "\n") if "delete_file" in one]


def refusals_of_calls(text):
    return [one.message for one in parse(text, TOOLS, report_unread_calls=True).refusals if one.code == "unread"]


@walked(
    ("text", "place"),
    [
        (f"{CALL}\n", "Line 1 holds a call of 'write_file' outside of any fence"),
        (f"{F}python\n{CALL}\n{F}\n", "Line 2 holds a call of 'write_file' in a fence marked 'python'"),
        (f"So:\n{F}\n{CALL}\n{F}\n", "Line 3 holds a call of 'write_file' in a fence without a language"),
        (f"{F}json\nwrite_file(path='a')\n{F}\n", "Line 2 holds a call of 'write_file' in a json fence, in a form"),
        (
            "<tool_call>\nwrite_file now\n</tool_call>",
            "Line 1 holds a call of 'write_file' in the form of another model",
        ),
        ("<tool_call>\nnow = 1\n</tool_call>", "Line 1 holds a call in the form of another model (tool_call)"),
        (f"<think>\n{CALL}\n</think>\n", "Line 2 begins a request or a change inside a thought"),
        (f"{CALL}\n</think>\n", "Line 1 begins a request or a change inside a thought"),
        (f"<details>\n{CALL}\n</details>\n", "Line 2 begins a request or a change inside details"),
        (
            f"So:\n> {F}json\n> {CALL}\n> {F}\n",
            "Line 2 begins a request or a change behind marks of a quotation or a list",
        ),
        ("WriteFile(path='a')\n", "a call of 'write_file' outside of any fence"),
    ],
)
def test_the_place_is_named(text, place):
    assert place in refusals(text)[0]


@walked(
    "text",
    [
        f"I sent `{CALL}` before.",
        f"> {CALL}\n",
        "- write_file: writes a file. path: the path; content: the text",
        "The tool `write_file` takes path: string and content: string",
        "write_file was called with path 'a.py'.",
        "`write_file(path='a.py')` was refused before.",
        "def write_file(path: str = 'a.py') -> None: ...",
        f"{F}yaml\nname: write_file\nproperties:\n  path: {{type: string}}\n{F}",
        "write_file(path='path/to/file', content='...') is the form.",
        "Calls stand between <tool_call> and </tool_call>.",
        "Use <write_file> for that, and close it with </write_file>.",
        '{"name": "write_file", "stars": 5}',
        "I search the files. pattern: none.",
    ],
)
def test_words_about_a_tool_are_no_call(text):
    assert not refusals(text)


def test_who_may_not_use_the_tool_hears_of_the_own_tools_only_and_of_no_alias():
    offered = {name: TOOLS[name] for name in ("search", "delete_file", "erase")}
    (message,) = refusals(f"{CALL}\n", offered)
    assert message.endswith("You have no tool 'write_file'. Your tools: delete_file, search.")


def test_a_call_that_says_what_a_request_of_the_answer_does_is_passed_over_and_another_is_told():
    def beside(call):
        return parse(f"{F}json\n{CALL}\n{F}\nLike this:\n{F}\n{call}\n{F}\n", TOOLS, report_unread_calls=True)

    assert (len(beside(CALL).requests), beside(CALL).refusals) == (1, ())
    other = beside(CALL.replace("a.py", "b.py"))
    assert (len(other.requests), [one.message[:6] for one in other.refusals]) == (1, ["Line 6"])


def test_only_a_whole_answer_is_looked_at_and_only_for_who_asks():
    assert not parse(CALL, TOOLS).refusals
    assert not parse(CALL, TOOLS, finish="max_tokens", report_unread_calls=True).refusals


def test_of_a_broken_block_only_the_beginning_is_looked_at():
    body = json.dumps({"content": "y" * 400 + CALL})[:-2]
    assert not refusals_of_calls(f"Hi\n{F}json\n{body}\n{F}\n")


def test_many_calls_and_long_texts_are_bounded(cpu_seconds):
    assert len(list(find_unread_calls(f"{CALL}\n" * 500, TOOLS))) <= 50
    assert list(find_unread_calls(CALL + " " * 2_000_000, TOOLS)) == []
    for hostile in ('{"a": "', "<write_file>", "write_file ", "<write_file></write_file>", "```\n<", "write_file\n"):
        assert cpu_seconds(lambda text=hostile * 40_000: list(find_unread_calls(text, TOOLS)), rounds=1) < 5
