"""Whole calls where none is read are never run, and their author hears where they stand."""

import json

import pytest

from rails.parsing.parse import AnswerParser, parse
from rails.parsing.unread_calls import find_unread_calls

TOOLS = {
    "write_file": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
    }
}
CALL = '{"tool": "write_file", "path": "a.py", "content": "x = {1}"}'
NAMED = '{"name": "write_file", "arguments": {"path": "a.py", "content": "x"}}'

XML = '<tool name="write_file"><path>a.py</path><content>x</content></tool>'
ELEMENT = "<write_file>\n<path>a.py</path>\n<content>x</content>\n</write_file>"

LOST = {
    "a request to a server": (
        "```http\nPOST /tools/write_file HTTP/1.1\n\n{}\n```\n",
        1,
        "in a fence marked 'http'",
    ),
    "a mutation": (
        '```graphql\nmutation {\n  write_file(path: "a.py", content: "x") { ok }\n}\n```\n',
        1,
        "in a fence marked 'graphql'",
    ),
    "alone between back-ticks": (
        'Now:\n\n`write_file(path="a.py", content="x")`\n',
        3,
        "in a form that is not known",
    ),
    "a fence without a language": (f"Here:\n```\n{CALL}\n```\n", 3, "in a fence without a language"),
    "an element behind a sentence, with a fence in it": (
        "It`s so: <write_file><path>a.py</path><content>```py\nx = 1\n```</content></write_file>\n",
        1,
        "behind other text on its line",
    ),
    "a fence of a call's name": (f"```tool_call\n{CALL}\n```\n", 2, "in a fence marked 'tool_call'"),
    "bare": (f"{CALL}\n", 1, "outside of any fence"),
    "bare, over several lines": (json.dumps(json.loads(CALL), indent=2), 1, "outside of any fence"),
    "behind text on the fence's line": (f"Sure! ```json\n{CALL}\n```\n", 2, "outside of any fence"),
    "on one line with its fence, behind text": (f"Now ```json {CALL} ```", 1, "outside of any fence"),
    "behind a thought": (f"<thinking>\nWhat now?\n</thinking>\nNow {CALL}\n", 4, "outside of any fence"),
    "behind another fence": (f"```python\nx = 1\n```\n{CALL}\n", 4, "outside of any fence"),
    "XML behind text on its line": (f"Sure: {XML}", 1, "behind other text on its line"),
    "XML by elements, behind text": (f"Sure:\nnow {ELEMENT}\n", 2, "behind other text on its line"),
    "XML in a fence": (f"```xml\n{XML}\n```", 2, "in a fence marked 'xml'"),
    "XML by elements, in a fence": (f"```\n{ELEMENT}\n```", 2, "in a fence without a language"),
    "another form in tags": (
        f"<tool_call>\n{NAMED}\n</tool_call>",
        1,
        "in the form of another model (tool_call)",
    ),
    "bare, and a parameter is missing": ('{"tool": "write_file", "path": "a.py"}', 1, "outside of any fence"),
    "an element with attributes": (
        '<write_file path="a.py" content="x"/>',
        1,
        "in the form of an element with attributes",
    ),
    "lines of keys in a fence": ("```yaml\ntool: write_file\npath: a.py\n```", 2, "in a form that is not known"),
    "lines of keys": ("Tool: write_file\nPath: a.py\n", 1, "in a form that is not known"),
    "functools": ('functools[{"name": "write_file", "arguments": {"path": "a.py"}}]', 1, "in the form functools[…]"),
    "a command with its arguments": (
        '```json\n{"command": "write_file", "args": {"path": "a.py", "content": "x"}}\n```',
        2,
        'in the form {"command", "args"} in a json fence',
    ),
    "markers around a list of Python calls": (
        "<|tool_call_start|>[write_file(path='a.py', content='x')]<|tool_call_end|>",
        1,
        "in the form a marker of tool calls",
    ),
    "two markers": (f"Now:\n<|action_start|><|plugin|>{NAMED}<|action_end|>", 2, "in the form a marker of tool calls"),
    "markers around names as keys": (
        '<|tools_prefix|>[{"write_file": {"path": "a.py"}}]<|tools_suffix|>',
        1,
        "in the form a marker of tool calls",
    ),
    "a name behind three brackets": ('>>>write_file\n{"path": "a.py"}', 1, "in a form that is not known"),
    "an action with brackets": ("Thought: so\nAction: write_file[a.py]\n", 2, "in the form Action: name[…]"),
    "a list of commands": (
        '```json\n{"commands": [{"command": "write_file", "args": {"path": "a.py"}}]}\n```',
        2,
        'in the form {"commands": …} in a json fence',
    ),
    **{
        f"in no known form: {text[:40]}": (
            text,
            text[: text.index("write_file")].count("\n") + 1,
            "in a form that is not known",
        )
        for text in (
            "```yaml\nwrite_file:\n  path: a.py\n  content: |\n    x\n```",
            "- tool: write_file  # now\n  parameters:\n    path: a.py",
            "```toml\n[tool]\nname = 'write_file'\n[tool.parameters]\npath = 'a.py'\n```",
            "```json\nwrite_file(path='a.py', content='x')\n```",
            "```js\nawait write_file({path: 'a.py', content: 'x'});\n```",
            '```json\n{t"ool": "write_file", "path": "a.py", "content": "x"}\n```',
            r"{\u0022tool\u0022: \u0022write_file\u0022, \u0022path\u0022: \u0022a.py\u0022}",
            "{&quot;tool&quot;: &quot;write_file&quot;, &quot;path&quot;: &quot;a.py&quot;}",
            '{<|"|>tool<|"|>: <|"|>write_file<|"|>, <|"|>path<|"|>: <|"|>a.py<|"|>}',
            "### Action: `write_file`\n\n#### Input\npath: a.py",
            '**Action**\nwrite_file\n\n**Input**\n```json\n{"path": "a.py", "content": "x"}\n```',
            "[write_file]\npath: a.py\n[/write_file]",
            "1. -> write_file(path='a.py', content='x')",
            "write_file:\n  content: pytest -q",
            "```yaml\nparameters:\n  path: a.py\ntool: write_file\n```",
            "```ts\nconst r = await tools.write_file({ path: 'a.py', content: 'x' });\n```",
            "{&#x22;tool&#x22;: &#x22;write_file&#x22;, &#x22;path&#x22;: &#x22;a.py&#x22;}",
            '/write_file {"path": "a.py", "content": "x"}',
            "```ini\n[write_file]\npath = a.py\n```",
            "write_file <<EOF\npath: a.py\nEOF",
            '{"action": "write_file", "action_input": {"path": "a.py" "content": "x"}}',
            '```json\n{"tool_calls": [{"id": "1", "function": {"name": "write_file", "args": "{"path": "a"}"}}]}\n```',
        )
    },
    "a name below a token": (
        'function<｜tool▁sep｜>write_file\n```json\n{"path": "a.py", "content": "x"}\n```<｜tool▁call▁end｜>',
        2,
        "with its name above a json fence",
    ),
    "bare and broken": (CALL[:-1], 1, "as broken JSON outside of any fence"),
}
QUOTED = {
    "a line of a log": "12  write_file  path=a.py  approved\n",
    "an API that has no such tool": "```http\nPOST /users HTTP/1.1\n```\n",
    "between backticks": f"I sent `{CALL}` before.",
    "on a quoted line": f"> {CALL}\n",
    "in a fence of another language": f"```python\ncall = {CALL}\n```\n",
    "in a fence within a fence": f"````markdown\n```\n{CALL}\n```\n````\n",
    "that lacks a parameter, in a sentence": 'I sent {"tool": "write_file", "path": "a.py"} before.',
    "that is broken, in a sentence": "I sent " + CALL[:-1],
    "data that names a program": '```json\n{"command": "npx", "args": {"a": 1}}\n```',
    "an element of HTML": '<section class="write_file" id="a"></section>',
    "data": '{"name": "write_file", "stars": 5}',
    "in a thought": f"<thinking>\nI could send\n{CALL}\n</thinking>\nDone.",
    "in the strings of a block that was torn": f'Hi\n```json\n{{"content": "{XML}\n',
    "XML between backticks": f"I sent `{XML}` before.",
    "a session of Python": ">>> config\n{'a': 1}\n>>> write_file\n<function write_file>\n",
    "an action of no tool": "Action: click[button]\nAction: none\n",
    "commands that are no calls": '```json\n{"commands": [{"command": "npx", "args": {"a": 1}}]}\n```',
    "a marker that is spoken of": "<|tool_call_start|> begins a call, and <|tools_prefix|> a list.",
    "an element's name only": "Use <write_file> for that, and close it with </write_file>.",
    "XML that lacks a parameter": "So: <write_file><path>a.py</path></write_file>",
    **{
        f"words about a tool: {text[:40]}": text
        for text in (
            "- write_file: writes a file. path: the path; content: the text",
            "The tool `write_file` takes path: string and content: string",
            "1. `write_file` — path: `a.py` was written",
            "write_file was called with path 'a.py'.",
            "`write_file(path='a.py')` was refused before.",
            "> write_file(path='a.py', content='x')",
            "def write_file(path: str = 'a.py') -> None: ...",
            "function write_file(path = 'a.py') {}",
            "```python\nfrom helpers import write_file\n\nwrite_file(path='a.py', content='x')\n```",
            "```yaml\nname: write_file\nproperties:\n  path: {type: string}\n```",
            "```toml\n[[allow]]\ntool = 'write_file'\npath = 'src/**'\n```",
            "```toml\n[tools.write_file]\npath = 'a.py'\n```",
            "```toml\n[[example]]  # tried\nexpect = 'deny'\ntool = 'write_file'\npath = 'a.py'\n```",
            "```\n  File \"a.py\", line 3, in go\n    write_file(path='a.py', content='x')\n```",
            "Calls stand between <tool_call> and </tool_call>.",
            "write_file(path='path/to/file', content='...') is the form.",
        )
    },
    "a tool's name only": 'The key "tool" names it: {"tool": "write_file"}.',
}


def second(text, size=0):
    reader = AnswerParser(TOOLS, id_prefix="t1.", report_unread_calls=True)
    for start in range(0, len(text), size or len(text) or 1):
        reader.feed(text[start : start + (size or len(text))])
    return reader.flush("end_turn")


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("name", LOST)
def test_a_call_that_was_not_read_is_refused_with_its_line_and_never_run(name, size):
    text, line, where = LOST[name]
    found = second(text, size)
    assert not found.requests
    [refusal] = found.refusals
    assert (refusal.code, refusal.request_id) == ("unread", "t1.1")
    assert refusal.message.startswith(f"Line {line} holds a call of 'write_file' {where}, ")
    assert "```json" in refusal.hint
    assert text[refusal.start : refusal.end].strip()[0] in "{<tTf>Aw-n#[1a`/c"
    assert found.prose == text


@pytest.mark.parametrize("name", QUOTED)
def test_what_is_quoted_or_no_whole_call_is_left_alone(name):
    assert not second(QUOTED[name]).refusals


@pytest.mark.parametrize("name", [*LOST, *QUOTED])
def test_without_the_second_look_nothing_changes(name):
    text = LOST[name][0] if name in LOST else QUOTED[name]
    assert not parse(text, TOOLS).refusals


def test_a_call_that_says_what_a_request_of_the_answer_does_is_passed_over_and_another_is_told():
    found = second(f"```json\n{CALL}\n```\nLike this:\n```\n{CALL}\n```\n")
    assert (len(found.requests), found.refusals) == (1, ())
    found = second(f"```json\n{CALL}\n```\nLike this:\n```\n{CALL.replace('a.py', 'b.py')}\n```\n")
    assert (len(found.requests), [one.message[:6] for one in found.refusals]) == (1, ["Line 6"])


def test_a_cut_off_answer_is_not_looked_at_again():
    reader = AnswerParser(TOOLS, report_unread_calls=True)
    reader.feed(CALL)
    assert not reader.flush("max_tokens").refusals


def test_many_calls_and_long_texts_are_bounded(cpu_seconds):
    assert len(list(find_unread_calls(f"{CALL}\n" * 500, TOOLS))) <= 50
    assert list(find_unread_calls(CALL + " " * 2_000_000, TOOLS)) == []
    for hostile in ('{"a": "', "<write_file>", "<tool x", "<write_file></write_file>", "```\n<", '<thinking>{"a": 1}'):
        assert cpu_seconds(lambda text=hostile * 40_000: list(find_unread_calls(text, TOOLS)), rounds=1) < 5


FILES = {"delete_file": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}


@pytest.mark.parametrize("indent", ["", "   "])
@pytest.mark.parametrize(
    ("fence", "body"),
    [
        ("bash", "delete_file a.py"),
        ("sh", "$ delete_file a.py"),
        ("bash", "cd src\ndelete_file --path a.py"),
        ("bash", "curl -X POST http://localhost/tools/delete_file -d '{}'"),
        ("bash", "curl http://localhost/tools/delete_file \\\n  -d '{}'"),
        ("python", "result = delete_file(path='a.py')"),
        ("python", "found = delete_file(path='a.py')\nprint(found)"),
        ("python", "await delete_file('a.py')"),
        ("javascript", "await delete_file({path: 'a.py'});"),
    ],
)
def test_a_tool_in_a_fence_of_commands_or_of_code_that_only_calls_it_is_told(fence, body, indent):
    lines = "".join(f"{indent}{line}\n" for line in f"```{fence}\n{body}\n```".split("\n"))
    (refusal,) = parse(f"1. Remove it:\n\n{lines}", FILES, report_unread_calls=True).refusals
    assert (refusal.code, "'delete_file'" in refusal.message) == ("unread", True)


@pytest.mark.parametrize(
    ("fence", "body"),
    [
        ("bash", "rm a.py\necho delete_file"),
        ("bash", "delete_file=1"),
        ("bash", "ls delete_file a.py"),
        ("bash", "delete_file"),
        ("bash", "curl http://localhost/delete_files -d x"),
        ("python", "text = delete_file('a.py')"),
        ("python", "text = delete_file(name='a.py')"),
        ("python", "text = delete_file(path='a.py')\nsave(text)"),
        ("python", "print(text)"),
    ],
)
def test_code_and_commands_that_only_use_such_a_name_are_not_told(fence, body):
    assert not parse(f"Use it so:\n\n```{fence}\n{body}\n```\n", FILES, report_unread_calls=True).refusals


def test_a_call_in_a_form_that_is_named_as_one_is_told():
    text = "<new_tool_call>delete_file\n<new_key>path</new_key>\n<new_value>a.py</new_value>\n</new_tool_call>\n"
    (refusal,) = parse(text, FILES, report_unread_calls=True).refusals
    assert refusal.code == "unread"
