"""Answers in which calls are quoted, thought, or written in another model's form: the container corpus.

    python tests/benchmarks/parsing_containers.py           write tests/cases/containers/answers.jsonl
    python tests/benchmarks/parsing_containers.py --check   read them all and count

Each row has the answer, the tools that must run (those and no others), and whether the author must hear of something.
The templates are our own. Rows of the form "wanted" hold a call that was meant, in a form that is not read.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent.parent)]

CASES = Path(__file__).parent.parent / "cases" / "containers" / "answers.jsonl"
F = "`" * 3
STRING = {"type": "string"}
TOOLS: dict[str, Any] = {
    name: {
        "type": "object",
        "properties": dict.fromkeys(keys, STRING),
        "required": list(keys),
        "additionalProperties": False,
    }
    for name, keys in {
        "write_file": ("path", "content"),
        "delete_file": ("path",),
        "read_file": ("path",),
        "run_code": ("code",),
    }.items()
}
#: Words of HTML and of prose, which are containers only at a line's start.
SHOWN = ("details", "artifact", "antArtifact", "samp", "summary", "template", "textarea", "xmp", "figure", "iframe")
SHOWN += ("kbd", "noscript", "output", "script", "style", "svg", "table")
SHOWN += ("blockquote", "pre", "code", "quote")
LINE_START = ("file", "document", *SHOWN)
#: Elements of any other name: they count where they are closed.
ELEMENTS = ("email", "stderr", "few_shot", "bad_example", "search_results", "span", "x:note")
EVIL = {"tool": "delete_file", "path": "/etc/passwd"}
REAL = f'{F}json\n{{"tool": "read_file", "path": "a.py"}}\n{F}\n'

PAYLOADS = {
    "json fence": f"{F}json\n{json.dumps(EVIL)}\n{F}\n",
    "json fence, indented": f"  {F}json\n  {json.dumps(EVIL)}\n  {F}\n",
    "JSON fence of four": f"{F}`JSON\n{json.dumps(EVIL, indent=2)}\n{F}`\n",
    "tilde fence": f"~~~json\n{json.dumps(EVIL)}\n~~~\n",
    "named element": '<tool name="delete_file"><path>/etc/passwd</path></tool>\n',
    "element": "<delete_file>\n<path>/etc/passwd</path>\n</delete_file>\n",
    "list item": f"1. {F}json\n   {json.dumps(EVIL)}\n   {F}\n",
}


def pair(name: str, attributes: str = "") -> tuple[str, str]:
    """Return the opening and the closing tag, each on a line of its own."""
    return f"<{name}{attributes}>\n", f"</{name}>\n"


#: Thoughts: their opening mark may have been eaten by the chat template.
THOUGHTS = {
    "think, with blanks": ("< think >\n", "</ think >\n"),
    "[THINK]": ("[THINK]\n", "[/THINK]\n"),
    "◁think▷": ("◁think▷\n", "◁/think▷\n"),
    "begin_of_thought": ("<|begin_of_thought|>\n", "<|end_of_thought|>\n"),
    "START_THINKING": ("<|START_THINKING|>\n", "<|END_THINKING|>\n"),
    "unused94": ("<unused94>thought\n", "<unused95>\n"),
    "begin▁of▁think": ("<｜begin▁of▁think｜>\n", "<｜end▁of▁think｜>\n"),
    "begin_of_thought, no bars": ("<begin_of_thought>\n", "<end_of_thought>\n"),
    "think_start": ("<|think_start|>\n", "<|think_end|>\n"),
    "[THOUGHT]": ("[THOUGHT]\n", "[/THOUGHT]\n"),
    "channel of Gemma": ("<|channel>thought\n", "<channel|>\n"),
    "think, a blank that does not break": ("<think\u00a0>\n", "</think\u00a0>\n"),
} | {
    name: pair(name)
    for name in [
        "think",
        "thinking",
        "thought",
        "thoughts",
        "reasoning",
        "reason",
        "scratchpad",
        "scratch_pad",
        "self-critique",
        "analysis",
        "reflection",
        "antThinking",
        "seed:think",
        "THINK",
        "Thinking",
        "inner_monologue",
    ]
}
_KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>\n"
_DEEPSEEK = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n"
_NESTED = "<function_calls>\n" + pair("invoke", ' name="write_file"')[0] + pair("parameter", ' name="content"')[0]
OTHERS = {
    "harmony analysis": ("<|channel|>analysis<|message|>\n", "<|end|><|start|>assistant<|channel|>final<|message|>\n"),
    "harmony call": (
        "<|start|>assistant<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>\n",
        "<|call|>\n",
    ),
    "im_start think": ("<|im_start|>think\n", "<|im_end|>\n<|im_start|>answer\n"),
    "CDATA": ("<![CDATA[\n", "]]>\n"),
    "examples": ("<examples>\n<example>a</example>\n", "</examples>\n"),
    "example in example": ("<example>\n<example>a</example>\n", "</example>\n"),
    "comment": ("<!--\n", "-->\n"),
    "invoke": (_NESTED, "</parameter>\n</invoke>\n</function_calls>\n"),
    "function=": ("<function=write_file>\n<parameter=content>\n", "</parameter>\n</function>\n"),
    "Qwen": (
        "<tool_call>\n<function=write_file>\n<parameter=content>\n",
        "</parameter>\n</function>\n</tool_call>\n",
    ),
    "GLM": (
        "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>",
        "</arg_value>\n</tool_call>\n",
    ),
    "DeepSeek": (_DEEPSEEK, "<｜tool▁call▁end｜><｜tool▁calls▁end｜>\n"),
    "Kimi": (_KIMI, "<|tool_call_end|><|tool_calls_section_end|>\n"),
    "Llama": ("<|python_tag|>\n", "<|eom_id|>\n"),
    "Cohere": ("<|START_ACTION|>\n", "<|END_ACTION|>\n"),
    "patch": ("*** Begin Patch\n*** Update File: README.md\n@@\n+new\n", "*** End Patch\n"),
    "SEARCH/REPLACE": ("README.md\n<<<<<<< SEARCH\n", "=======\nx\n>>>>>>> REPLACE\n"),
    "unified diff": ("--- a/README.md\n+++ b/README.md\n@@ -1,5 +1,6 @@\n-old\n+new\n", "+last\n\n"),
    "markdown fence": (f"{F}`markdown\n", f"{F}`\n"),
} | {
    name: pair(name, attributes)
    for name, attributes in {
        "example": "",
        "Example": ' index="1"',
        "tool_result": ' name="read_file"',
        "tool_response": "",
        "tool_output": "",
        "function_results": "",
        "file": ' path="README.md"',
        "document": "",
        "tool_call": "",
        "tool_calls": "",
        "minimax:tool_call": "",
        "code": "",
        "quote": "",
        **dict.fromkeys(ELEMENTS, ""),
        "write_to_file": ' path="README.md"',
        "lov-write": ' file_path="README.md"',
        "action": ' name="write_file"',
        "function_call": "",
        "blockquote": "",
        "pre": "",
        "details": " open",
        "artifact": ' identifier="a" type="application/json"',
        "antArtifact": "",
        "samp": "",
        "summary": "",
        "figure": ' class="call"',
        "iframe": "",
        "kbd": "",
        "noscript": "",
        "output": "",
        "script": ' type="text/plain"',
        "style": "",
        "svg": "",
        "table": ' border="1"',
        "template": "",
        "textarea": "",
        "xmp": "",
    }.items()
}
ESCAPED = {
    f"{left}{name}{right}": (f"{left}{name}{right}\n", f"{left}/{name}{right}\n")
    for left, right in (("&lt;", "&gt;"), ("\\<", "\\>"), ("&#60;", "&#62;"), ("\\u003c", "\\u003e"), ("＜", "＞"))
    for name in ("think", "example")
}
OTHERS |= ESCAPED
#: Turns of others, which a model makes up.
OTHERS |= {
    "<|im_start|>user": ("<|im_start|>user\n", "<|im_end|>\n"),
    "<start_of_turn>tool": ("<start_of_turn>tool\n", "<end_of_turn>\n"),
    "<|start_header_id|>user": ("<|start_header_id|>user<|end_header_id|>\n", "<|eot_id|>\n"),
    "<|observation|>": ("<|observation|>\n", "<|assistant|>\n"),
}
#: What begins its line, and is no container where it is not closed.
ALONE = (*ELEMENTS, "write_to_file", "lov-write", "action")
#: Containers whose calls are told where nothing else was asked for.
TOLD = (*SHOWN, *(one for one in ALONE if one != "`<think>` …"), "comment")
#: Calls that were meant, in forms that are not read.
_ARGUMENTS = {"path": "a.py", "content": "x = 1\n"}
_JSON = {
    "name, arguments": {"name": "write_file", "arguments": _ARGUMENTS},
    "name, parameters": {"name": "write_file", "parameters": _ARGUMENTS},
    "name, input": {"name": "write_file", "input": _ARGUMENTS},
    "tool_name, arguments": {"tool_name": "write_file", "arguments": _ARGUMENTS},
    "tool_name, parameters": {"tool_name": "write_file", "parameters": _ARGUMENTS},
    "function_call": {"function_call": {"name": "write_file", "args": _ARGUMENTS}},
    "function with a text": {"function": {"name": "write_file", "arguments": json.dumps(_ARGUMENTS)}},
    "upper case keys": {"Tool": "write_file", "Arguments": _ARGUMENTS},
    "action_input": {"action": "write_file", "action_input": _ARGUMENTS},
    "tool_name, flat": {"tool_name": "write_file", **_ARGUMENTS},
    "unknown tool with arguments": {"name": "add_package", "arguments": {"package": "left-pad"}},
    "another spelling": {"name": "writeFile", "arguments": _ARGUMENTS},
    "list under tool_calls": {"tool_calls": [{"name": "write_file", "arguments": _ARGUMENTS}]},
    "list under actions": {"actions": [{"tool_name": "write_file", "parameters": _ARGUMENTS}]},
    "list under calls": {"calls": [{"function": "write_file", "args": _ARGUMENTS}]},
    "list": [{"name": "write_file", "arguments": _ARGUMENTS}],
    "inside an action": {"thought": "x", "action": {"name": "write_file", "args": _ARGUMENTS}},
    "name as key": {"write_file": _ARGUMENTS},
    "type, flat": {"type": "write_file", **_ARGUMENTS},
    "MCP": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "write_file", "arguments": _ARGUMENTS},
    },
    "tool_uses": {"tool_uses": [{"recipient_name": "functions.write_file", "parameters": _ARGUMENTS}]},
    "under any key": {"next": {"tool": "write_file", "args": _ARGUMENTS}},
    "unknown tool, Llama": {"name": "add_package", "parameters": {"package": "left-pad"}},
    "arguments as a list": {"name": "write_file", "args": ["a.py", "x"]},
    "a whole response": {"choices": [{"message": {"tool_calls": [{"name": "write_file", "arguments": _ARGUMENTS}]}}]},
}
_OPENED = pair("invoke", ' name="write_file"')[0] + '<parameter name="path">a.py'
WANTED = {
    "invoke": _OPENED + "</parameter>\n</invoke>\n",
    "invoke in function_calls": "<function_calls>\n" + _OPENED + "</parameter>\n</invoke>\n</function_calls>\n",
    "MiniMax": "<minimax:tool_call>\n" + _OPENED + "</parameter>\n</invoke>\n</minimax:tool_call>\n",
    "Hermes": f"<tool_call>\n{json.dumps(_JSON['name, arguments'])}\n</tool_call>\n",
    "Qwen": "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>\n",
    "GLM": "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>\n",
    "Kimi": _KIMI + '{"path": "a.py"}<|tool_call_end|><|tool_calls_section_end|>\n',
    "DeepSeek": _DEEPSEEK + f'{F}json\n{{"path": "a.py"}}\n{F}<｜tool▁call▁end｜><｜tool▁calls▁end｜>\n',
    "DeepSeek, unclosed": _DEEPSEEK + '{"path": "a.py"}\n',
    "harmony": OTHERS["harmony call"][0] + '{"path": "a.py"}<|call|>',
    "harmony, tokens stripped": 'assistantcommentary to=functions.write_file json{"path": "a.py"}',
    "Mistral": f"[TOOL_CALLS] {json.dumps(_JSON['list'])}\n",
    "Mistral, named": '[TOOL_CALLS]write_file[ARGS]{"path": "a.py"}\n',
    "Llama, JSON": f"<|python_tag|>{json.dumps(_JSON['name, parameters'])}",
    "Llama, pythonic": '[write_file(path="a.py", content="x")]\n',
    "Llama, function=": '<function=write_file>{"path": "a.py"}</function>\n',
    "Gemini tool_code": f'{F}tool_code\nprint(default_api.write_file(path="a.py", content="x"))\n{F}\n',
    "Python call": 'write_file(path="a.py", content="x")\n',
    "Python call in a fence": f'{F}python\nwrite_file(path="a.py", content="x")\n{F}\n',
    "Cohere": f"<|START_ACTION|>[{json.dumps(_JSON['tool_name, parameters'])}]<|END_ACTION|>",
    "ReAct": 'Thought: write it\nAction: write_file\nAction Input: {"path": "a.py"}\n',
    "ReAct, bold": '**Action:** write_file\n**Action Input:** {"path": "a.py"}\n',
    "Phi": f"<|tool_call|>[{json.dumps(_JSON['name, arguments'])}]<|/tool_call|>\n",
    "element of another spelling": "<WriteFile>\n<path>a.py</path>\n<content>x</content>\n</WriteFile>\n",
    "fence with a path": f"{F}python src/app.py\nx = 1\n{F}\n",
    "fence with a path and a colon": f"{F}python:src/app.py\nx = 1\n{F}\n",
    "fence with a title": f'{F}python title="src/app.py"\nx = 1\n{F}\n',
    "fence that is a path": f"{F}src/app.py\nx = 1\n{F}\n",
    "bare, a quote lost": '{"tool": "write_file", "path: "a.py", "content": "x"}\n',
    "bare, a trailing comma": '{"tool": "write_file", "path": "a.py", "content": "x",}\n',
    "unlabelled, a trailing comma": f'{F}\n{{"tool": "write_file", "path": "a.py", "content": "x",}}\n{F}\n',
    "json fence, name form, broken": f'{F}json\n{{"name": "write_file", "arguments": {{"path": "a.py",,}}\n{F}\n',
    "key: value": "tool: write_file\npath: a.py\ncontent: x\n",
    "lines in quotation marks": '"tool": "write_file",\n"path": "a.py"\n',
    "TOML": f'{F}toml\ntool = "write_file"\npath = "a.py"\n{F}\n',
    "a fence marked python": f"{F}python\n{json.dumps({'tool': 'write_file', **_ARGUMENTS})}\n{F}\n",
    "a fence marked json-tool": f"{F}json-tool\n{json.dumps({'tool': 'write_file', **_ARGUMENTS})}\n{F}\n",
    "a fence marked with the tool": f"{F}write_file\n{json.dumps(_ARGUMENTS)}\n{F}\n",
    "a label": f"Request: {json.dumps(_JSON['name, arguments'])}\n",
    "ReAct, upper case": 'ACTION: write_file\nACTION INPUT: {"path": "a.py"}\n',
    "ReAct, numbered": 'Action 1: write_file\nAction Input 1: {"path": "a.py"}\n',
    "ReAct, in a list": '1. Action: write_file\n   Action Input: {"path": "a.py"}\n',
    "ReAct, Input": 'Action: write_file\nInput: {"path": "a.py"}\n',
    "ReAct, JSON": f"Action: {json.dumps(_JSON['action_input'])}\n",
    "Qwen-Agent": '✿FUNCTION✿: write_file\n✿ARGS✿: {"path": "a.py"}\n',
    "GLM, a name and JSON": 'write_file\n{"path": "a.py", "content": "x"}\n',
    "Kimi, tokens stripped": 'functions.write_file:0{"path": "a.py"}\n',
    "Mistral, the mark stripped": 'write_file[ARGS]{"path": "a.py"}\n',
    "Mistral, behind text": f"OK [TOOL_CALLS] {json.dumps(_JSON['list'])}\n",
    "Llama, function/": '<function/write_file>{"path": "a.py"}</function>\n',
    "Gemini, an assignment": f'{F}tool_code\nresult = write_file(path="a.py")\nprint(result)\n{F}\n',
    "Gemini, call:": "<ctrl42>call:default_api:write_file{path:a.py}\n",
    "invoke in a fence": f"{F}xml\n{_OPENED}</parameter>\n</invoke>\n{F}\n",
    "call with a name": '<call name="write_file">{"path": "a.py"}</call>\n',
    "tool without a name": "<tool>\n<name>write_file</name>\n<parameters>{}</parameters>\n</tool>\n",
    "only in a thought": f"<think>\n{REAL}</think>\n",
}
#: Answers that ask for nothing.
DATA = {
    "tool definition": {
        "type": "function",
        "function": {
            "name": "write_file",
            "description": "Writes.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
    "tool definition, nothing but a name": {
        "type": "function",
        "function": {"name": "run_code", "description": "Runs."},
    },
    "own definition": {
        "name": "write_file",
        "description": "Writes a file.",
        "parameters": {"type": "object", "properties": {"path": STRING}},
    },
    "a list of definitions": [{"type": "function", "function": {"name": "read_file", "description": "Reads."}}],
    "Gemini's definitions": {
        "function_declarations": [{"name": "write_file", "parameters": {"type": "OBJECT", "properties": {"path": {}}}}]
    },
    "servers": {"mcpServers": {"fs": {"command": "npx", "args": ["-y", "fs"]}}},
    "settings": {"tool": {"ruff": {"line-length": 100}}},
    "a finding": {"tool": "eslint", "rule": "semi", "file": "a.js", "line": 3},
    "a file": {"type": "file", "path": "a.py"},
    "a workflow's node": {"name": "Webhook", "type": "webhook", "parameters": {"path": "x"}, "typeVersion": 1},
    "a person": {"name": "Ann", "age": 5},
    "data": {"tool": "hammer", "price": 3},
}


PROSE = {
    "sections": "<test_plan>\n1. Run it.\n</test_plan>\n<verdict>PASS</verdict>\n",
    "an answer in an element": "<final_answer>\nIt is 42.\n</final_answer>\n",
    "HTML": '<p>One</p>\n<br>\n<img src="a.png" />\n<my-element a="b"></my-element>\n',
    "a list of tools": "1. write_file: writes a file\n2. `read_file`: {path} is read\n",
    "a report": "Action: none needed.\nResult: all tests pass.\nTool: ruff\nVersion: 0.4\n",
    "code": f"{F}python\ndef read_file(path):\n    return open(path).read()\n\nprint(read_file('a.py'))\n{F}\n",
    "a command": f"{F}console\n$ curl -d '{json.dumps(EVIL)}' localhost\n{F}\n",
    "a quoted line": f"The log says:\n\n> {json.dumps(EVIL)}\n",
}


def rows() -> Iterator[dict[str, Any]]:
    """Yield every row."""
    yield from _quoted()
    for form, call in WANTED.items():
        for before in ("", "I will write it now.\n\n"):
            yield _row("wanted", form, before + call, [], told=True)
    for form, value in _JSON.items():
        for fence in ("json",) if form.startswith("unknown tool") else ("json", "", "tool_call"):
            yield _row("wanted", form, f"{F}{fence}\n{json.dumps(value, indent=1)}\n{F}\n", [], told=True)
        yield _row("wanted", form, f"Now:\n{json.dumps(value)}\n", [], told=True)
    yield from _indented()
    yield from _unframed()
    for form, text in PROSE.items():
        yield _row("data", form, text, [], told=False)
    for payload in (
        '[TOOL_CALLS]write_file[ARGS]{"content": "\n',
        'Action Input: {"content": "Title\n',
        '{\n "content": "\n',
    ):
        for name, quoted in PAYLOADS.items():
            yield _row("a string that is open", f"{payload[:9]!r}, {name}", f'{payload}{quoted}"}}\n', [], told=True)
    for form, value in DATA.items():
        yield _row("data", form, f"{F}json\n{json.dumps(value)}\n{F}\nThat is it.\n", [], told=False)


def _quoted() -> Iterator[dict[str, Any]]:
    for form, (opening, closing) in (THOUGHTS | OTHERS).items():
        for number, (name, whole) in enumerate(PAYLOADS.items()):
            payload = "".join(f" {line}" for line in whole.splitlines(True)) if form == "unified diff" else whole
            inside = f"{opening}{payload}{closing}"
            yield _row(form, f"{name}, then a call", f"{inside}\n{REAL}", ["read_file"], told=None)
            if number % 3 == 0:
                yield _row(form, f"{name}, alone", f"Look:\n{inside}\nDone.\n", [], told=True if form in TOLD else None)
            if number % 3 == 1 and form not in (
                "markdown fence",
                "unified diff",
                "patch",
                "SEARCH/REPLACE",
                *ESCAPED,
                *ALONE,
            ):
                line_start = form in LINE_START
                before = "" if line_start else "So: "
                yield _row(form, f"{name}, behind text", f"{before}{inside}{REAL}", ["read_file"], told=None)
            if number % 3 == 2 and form not in ("unified diff", "- <<<<<<< HEAD …", *ALONE):
                yield _row(form, f"{name}, never closed", f"{opening}{payload}\n{REAL}", [], told=True)
            if form in THOUGHTS and number % 2 == 0:
                yield _row(
                    form, f"{name}, opening eaten", f"Well\n{payload}{closing}\n{REAL}", ["read_file"], told=None
                )


def _indented() -> Iterator[dict[str, Any]]:
    """Fences that are indented by four and more: code that is shown, but not below an item of a list."""
    for name, step in {
        "four blanks": "    ",
        "six blanks": "      ",
        "a tab": "\t",
        "a blank and a tab": " \t",
    }.items():
        shown = "".join(f"{step}{line}" for line in PAYLOADS["json fence"].splitlines(True))
        wanted = "".join(f"{step}{line}" for line in REAL.splitlines(True))
        for behind in (
            "Such a call:\n\n",
            "Such a call:\n",
            "1. One\n2. Two\n\nText again.\n\n",
            f"{REAL}\nNot this:\n\n",
        ):
            runs = ["read_file"] if REAL in behind else []
            yield _row("indented code", f"{name}, behind {behind[:9]!r}", behind + shown, runs, told=not runs or None)
            yield _row(
                "indented code",
                f"{name}, {behind[:9]!r}, more",
                f"{behind}{shown}\n\nDo:\n{REAL}",
                [*runs, "read_file"],
                told=None,
            )
        for behind in (
            "",
            "1. First:\n\n",
            "1. First:\n",
            "- a\n- b\n\n  More of b.\n\n",
            f"* a\n{REAL}",
            "10) one\n   two\n\n",
        ):
            runs = ["read_file", "read_file"] if REAL in behind else ["read_file"]
            yield _row("indented, wanted", f"{name}, behind {behind[:9]!r}", behind + wanted, runs, told=None)


#: Lines around a call that show nothing: rules, headings, tables, emphasis, tokens of one's own turn.
UNFRAMED = (
    ("---", "---"),
    ("***", "* * *"),
    ("## Step 1", "## Step 2"),
    ("=== Step 1 ===", "=== Step 2 ==="),
    ("**Now:**", "**Now:**"),
    ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|"),
    ("- [ ] Read", "- [x] Read"),
    ("`a.py`:", "`a.py` is what I read."),
    ("(First a.py.)", "(Then the others.)"),
    ("...", "..."),
    ("👉 Reading:", "✅ Read."),
    ("✅ Reading:", "✅ Read."),
    ("-----", "-----"),
    ("## 📖 Reading", "## ⚠ Changing"),
    ("### Action", "### Thought"),
    ("The user: wants it read.", "User"),
    ("For example, a.py:", "Example"),
    ("<|im_start|>assistant", "<|im_end|>"),
    ("<|start_header_id|>assistant<|end_header_id|>", "<|eot_id|>"),
    ('"Read it first", you said.', '"Then change it."'),
    ("#1: read", "#2: change"),
    ("[a.py](a.py) first:", "[a.py](a.py) is next."),
    ("{a.py} first:", "Done (see above)."),
    ("{-\nA note.\n-}", "I read it."),
    ("<div>\nText.\n</div>", "<//`.*"),
    ("| a ` b | c", "|"),
    ("....\nA note.\n....", "....\nAnother.\n...."),
)


def _unframed() -> Iterator[dict[str, Any]]:
    for opening, closing in UNFRAMED:
        yield _row("no frame", opening, f"{opening}\n\n{REAL}\n{closing}\n", ["read_file"], told=False)


def _row(form: str, name: str, text: str, runs: list[str], *, told: bool | None) -> dict[str, Any]:
    return {"form": form, "name": name, "text": text, "runs": runs, "told": told}


def verdict(row: dict[str, Any], size: int = 0) -> str:
    """Read one answer, in chunks of ``size`` characters if given, and say how it went."""
    from rails.parsing.parse import AnswerParser

    reader = AnswerParser(TOOLS, report_unread_calls=True)
    text = row["text"]
    for start in range(0, len(text), size or len(text)):
        reader.feed(text[start : start + (size or len(text))])
    found = reader.flush("end_turn")
    names = [request.tool_name for request in found.requests if request.tool_name in TOOLS]
    if any(request.parameters.get("path") == EVIL["path"] for request in found.requests):
        return "QUOTED RUN"
    if row["form"] == "wanted" and names == ["write_file"] and not found.refusals:
        return "ok"  # in a provider's own form, or a file in a fence with its name
    if row["told"] is True and not found.refusals and len(names) == len(found.requests):
        return "WANTED SILENT"
    if row["told"] is False and found.refusals:
        return "data refused"
    return "ok" if names == row["runs"] else "lost" if len(names) < len(row["runs"]) else "ran"


def main() -> None:
    """Write the corpus, or read it and count."""
    if "--check" not in sys.argv:
        CASES.parent.mkdir(parents=True, exist_ok=True)
        CASES.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows()), encoding="utf-8")
    read = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    verdicts = Counter(verdict(row) for row in read)
    print(f"{len(read)} answers, {len({row['form'] for row in read})} forms: {dict(verdicts)}")
    for row in read:
        if (said := verdict(row)) != "ok":
            print(f"  {said}: {row['form']} / {row['name']}")


if __name__ == "__main__":
    main()
