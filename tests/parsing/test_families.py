"""Whole families of answers, each read to the last detail: every mark around a call, every damage to a call.

A file of ``families`` has one line for each family: digests over all that is read of each answer (places, words,
repairs, prose, and behind which piece of the answer each signal came). A test that fails tells it in full.
``UPDATE_GOLDEN=1`` writes them anew; read the difference before it is committed.
"""

import hashlib
import os
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

import pytest

from rails.parsing.parse import AnswerParser

from .conftest import SHAPES
from .test_forms import BROKEN, FORMATS, ONE, TOOLS, TWO
from .test_outcomes import told

GOLDEN = Path(__file__).parent / "families"
F = "```"
#: Names of tags that hold what is thought, shown or somebody else's call, as models write them; the last are none.
TAGS = [
    "think", "thinking", "thought", "thoughts", "analysis", "antthinking", "deliberation", "inner_monologue",
    "inner_thoughts", "monologue", "reason", "reasoning", "brainstorming", "contemplation", "cot", "pondering",
    "rationale", "reasoning_content", "reflection", "scratchpad", "thinking_process", "inner_voice_thoughts",
    "thought-process", "reasoning_steps", "a_b_c_think", "think_a_b_c", "thinker", "rethink", "arg_key",
    "arg_value", "function", "function_call", "function_calls", "invoke", "parameter", "tool_call", "tool_calls",
    "tool_code", "tool_request", "tool_use", "toolcall", "toolcalls", "use_mcp_tool", "example", "examples",
    "function_response", "function_result", "function_results", "observation", "tool_output", "tool_outputs",
    "tool_response", "tool_responses", "tool_result", "tool_results", "blockquote", "code", "context",
    "conversation", "document", "documents", "file", "file_content", "file_contents", "history", "log", "output",
    "plan", "planning", "pre", "quote", "sample", "samples", "stdout", "system", "system-reminder", "transcript",
    "user", "human", "assistant", "div", "details", "b", "answer", "response", "action",
]  # fmt: skip
#: What opens and closes a container between tokens of a template.
TOKENS = [
    ("[THINK]", "[/THINK]"), ("[THINKING]", "[/THINKING]"), ("[REASONING]", "[/REASONING]"),
    ("◁think▷", "◁/think▷"), ("◁ think ▷", "◁ / think ▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|thinking|>", "<|/thinking|>"),
    ("<|start_think|>", "<|end_think|>"), ("<|start_of_reasoning|>", "<|end_of_reasoning|>"),
    ("<|begin_thoughts|>", "<|end_thoughts|>"), ("<unused94>thought", "<unused95>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>commentary to=functions.x<|message|>", "<|call|>"),
    ("<|start|>assistant<|channel|>commentary to=x ", "<|end|>"),
    ("<|start|>assistant to=functions.x<|channel|>", "<|return|>"), ("assistantcommentary to=x", "assistantfinal"),
    ("<|channel|>analysis<|message|>", "<|end|>"), ("<|channel|>analysis", "<|start|>"),
    ("<|channel|>analysis", "<|channel|>final"),
    ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"), ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"), ("<|tool call begin|>", "<|tool call end|>"),
    ("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"), ("<|tool_output_begin|>", "<|tool_output_end|>"),
    ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"), ("<|DSML|invoke name='x'>", "</|DSML|invoke>"),
    ("<｜DSML｜ tool_calls>", "</｜DSML｜ tool_calls>"),
    ("<|python_tag|>", "<|eom_id|>"), ("<|python_tag|>", "<|eot_id|>"), ("<|python_tag|>", "<|end_of_text|>"),
    ("<|tool_call|>", "<|/tool_call|>"), ("<|tool_calls>", "</tool_calls|>"), ("<|tool_call>", "<tool_call|>"),
    ("<|tool_call|>", "</|end|>"), ("<|tool_calls|>", "<|end_of_text|>"),
    ("<|START_ACTION|>", "<|END_ACTION|>"), ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"), ("<|START_TOOL_RESULTS|>", "<|END_TOOL_RESULTS|>"),
    ("<start_function_call>", "<end_function_call>"), ("<!--", "-->"),
    ("*** Begin Patch", "*** End Patch"), ("*** begin patch ", "*** end patch, done"),
    ("<<<<<<< SEARCH", ">>>>>>> REPLACE"), ("<<<<<", ">>>>>"), ("------- SEARCH", "+++++++ REPLACE"),
    ("@@ -1 +1 @@", " the end"), ("diff --git a/x b/x", "the end"), ("--- a/x\n+++ b/x\n@@ -1 +1 @@", "end"),
]  # fmt: skip
CALL = f'{F}json\n{{"tool": "delete_file", "path": "a"}}\n{F}\n'


def around_marks():
    """A call inside, before and behind each container, whole and not, spelled in several ways."""
    pairs = [(f"<{name}>", f"</{name}>") for name in TAGS] + TOKENS
    for opening, closing in pairs:
        yield f"{opening}, in", f"{opening}\n{CALL}{closing}\n"
        yield f"{opening}, behind", f"So.\n{opening} words {closing}\n{CALL}"
        yield f"{opening}, never closed", f"{CALL}{opening}\n{CALL}"
        yield f"{opening}, never opened", f"{CALL}{closing}\n{CALL}"
        yield f"{opening}, twice", f"{opening}\n{opening}\n{CALL}{closing}\n{CALL}{closing}\n{CALL}"
    for name in TAGS:
        opening, closing = f"< M:{name.upper()} x='1' >", f"</ {name.title()} >"
        yield f"<{name}>, spelled", f"{opening}\n{CALL}{closing}\n{CALL}"
        yield f"<{name}>, mentioned", f"Write `<{name}>` there, a<{name}> or word <{name}> word, or <{name}/>.\n{CALL}"
        yield f"<{name}>, named", f'<{name}=x>\n{CALL}</{name}>\n<{name} name="x">\n{CALL}</{name}>\n'
        yield f"<{name}>, cut", f"{CALL}<{name}\n{CALL}"
    for opening, closing in TOKENS:
        yield f"{opening}, spelled", f"{opening.swapcase()}\n{CALL}{closing.swapcase()}\n{CALL}"
        yield f"{opening}, mentioned", f"Write `{opening}` there, or `{closing}`.\n{CALL}"


CALLS = {
    "s0": '{"tool": "edit_file", "path": "a.py", "old_string": "say \\"x\\"", "new_string": "a\\nb"}',
    "s4": '{"type": "tool_request", "tool_name": "run_code", "explanation": "why", "parameters": {"code": "x = [1]"}}',
    "arguments": '{"tool": "read_file", "arguments": {"path": "a", "limit": 3}}',
    "args": '{"tool": "read_file", "args": {"path": "a", "limit": "3"}}',
    "params": '{"tool": "read_file", "params": {"path": "a", "offset": 3}, "explanation": "why"}',
    "parameters": '{"tool": "fetch_webpage", "parameters": {"urls": "[\\"http://x\\"]", "query": null}}',
    "tool_name": '{"tool_name": "delete_file", "parameters": {"path": "a"}}',
    "unknown tool": '{"tool": "fly", "path": "a"}',
    "unknown key": '{"tool": "delete_file", "path": "a", "colour": "red"}',
    "several": '{"tool": "delete_file", "path": "a"}\n{"tool": "delete_file", "path": "b"}',
    "array": '[{"tool": "delete_file", "path": "a"}, {"tool": "delete_file", "path": "b"}]',
    "array with another": '[{"tool": "delete_file", "path": "a"}, {"note": 1}, 3]',
    "array of none": '[{"name": "x"}, 1]',
    "text": '"{\\"tool\\": \\"delete_file\\", \\"path\\": \\"a\\"}"',
    "no call": '{"name": "x", "version": 1}',
    "names only": '{"tools": ["read_file"], "use": "tool: read_file"}',
    "empty": " \n",
    "xml": "<delete_file>\n<path>a</path>\n</delete_file>",
    "xml of several": "<edit_file><path>a</path><old_string>x</old_string><new_string>y</new_string></edit_file>",
    "xml, stranger": "<delete_file>\n<path>a</path>\n<colour>red</colour>\n</delete_file>",
    "xml list": '<fetch_webpage><urls>["a"]</urls><query>q</query></fetch_webpage>',
}


def damaged(text):
    """A text, cut at many places, with each sign of JSON lost or there twice, and in other spellings."""
    yield "whole", text
    step = max(1, len(text) // 12)
    for at in range(step, len(text), step):
        yield f"cut at {at}", text[:at]
    signs = [at for at, char in enumerate(text) if char in '{}[]:,"\\<>']
    for at in signs[:: max(1, len(signs) // 14)]:
        yield f"without {text[at]} at {at}", text[:at] + text[at + 1 :]
        yield f"{text[at]} twice at {at}", text[:at] + text[at] + text[at:]
    for old, new in (('"', "'"), ('"', "”"), (": ", " "), ("tool", "tol"), (", ", ",\n\n"), ("\\n", "\n"), ("\\", "")):
        if old in text:
            yield f"{new!r} for {old!r}", text.replace(old, new)
    yield "comma", text[:-1] + "," + text[-1:]
    yield "comment", text[:1] + " // tool: read_file\n" + text[1:]
    yield "escaped", text.replace('"', "&quot;")
    yield "behind words", f"tool: delete_file\n{text}"


def damages():
    for name, call in CALLS.items():
        for what, text in damaged(call):
            block = text if name.startswith("xml") else f"{F}json\n{text}\n{F}"
            yield f"{name}, {what}", f"First.\n\n{block}\n\nThen <delete_file><path>b</path></delete_file>.\n"
            yield f"{name}, {what}, at the end", block.removesuffix(F)


#: Blocks that do not tell where they end, and what may stand behind them.
UNSURE = {
    "quotes and a fence": f'{F}json\n{{"tool": "run_code", "code": "print("x")\n{F}\n',
    "raw lines": f'{F}json\n{{"tool": "run_code", "code": "a\nb"}}\n{F}\n',
    "an open string": f'{F}json\n{{"tool": "run_code", "code": "a\n{F}\n',
    "no bracket": f'{F}json\n{{"tool": "delete_file", "path": "a"\n{F}\n',
    "a fence inside": f'{F}json\n{{"tool": "run_code", "code": "see\n{F}json\n{{}}\n{F}\n"}}\n{F}\n',
    "cut short": f'{F}json\n{{"tool": "delete_file", "path"\n{F}json\n{{"tool": "delete_file", "path": ""}}\n{F}\n',
    "no JSON": f"{F}json\n{{name: x,,\n{F}\n",
    "names no tool": f'{F}json\n{{"name": "a\n{F}\n',
    "a quotation": f"{F}text\n<delete_file>\n{F}\n",
    "open quotation": f'{F}text\n{{"tool": "delete_file"\n',
    "no label": f'{F}\n{{"tool": "delete_file", "path": "a"}}\n{F}\n',
    "nothing": "",
}
BEHIND = {
    "nothing": "", "brace": "}\n", "closing": f'"}}\n{F}\n', "quoted": '", "n": 1}\n', "comma": '",\n',
    "words": "So.\n", "apostrophe": "It's so.\n", "curly": "”}\n", "tildes": "~~~\n", "tag": "<tool\n",
    "bracket": "]\n", "fence": f"{F}\n",
    "named": "tool: delete_file\n", "key": '"tool": "delete_file", "path": "b"\n', "unknown": "tool: fly\n",
    "quote": f"{F}text\nx\n{F}\n", "quoted key": f'{F}\n"tool": "delete_file"\n}}\n{F}\n', "xml": CALLS["xml"],
}  # fmt: skip


def doubts():
    for head, block in UNSURE.items():
        for tail, text in BEHIND.items():
            for what, last in (("", ""), (", a call", CALL), (", words, a call", f"\nThen.\n{CALL}")):
                yield f"{head}, {tail}{what}", block + text + last


#: Answers that are nothing but a call as Llama writes them, and some that are more.
BARE = [
    f"{before}{call}{behind}"
    for call in ('{"name": "read_file", "parameters": {"path": "b"}}', '[read_file(path="b"), delete_file(path="c")]')
    for before in ("", "\n", "So: ", "<think>so</think>\n", "[THINK]so[/THINK]", "so</think>", CALL)
    for behind in ("", "\n", " Done.", f"\n{CALL}")
]


def dialects():
    for form, (dialect, write) in FORMATS.items():
        text = write(ONE, TWO)
        for what, one in damaged(text):
            yield f"{form}, {what}", one, dialect
        yield f"{form}, a call behind", f"So.\n{text}\n{CALL}", dialect
        yield f"{form}, another form", text, "glm" if dialect != "glm" else "kimi"
    for form, text in BROKEN.items():
        yield f"broken {form}", f"So.\n{text}\n{CALL}", form
    for number, text in enumerate(BARE):
        yield f"bare {number}", text, "llama"


def read(text, finish, tools=SHAPES, **more):
    reader, lines = AnswerParser(tools, report_unread_calls=True, **more), []
    for at in range(0, len(text), 9):
        lines += [f"{at}: {type(signal).__name__} {signal.id}" for signal in reader.feed(text[at : at + 9])]
    found = reader.flush(finish)
    lines += told(found)
    order = sorted([*found.requests, *found.refusals, *found.ignored], key=lambda one: (one.start, one.end))
    kinds = {"RawRequest": "run", "Refusal": "refuse", "Ignored": "ignore"}
    short = " ".join(f"{kinds[type(one).__name__]}@{one.start}" for one in order) or "nothing"
    return short, hashlib.sha256("\n".join(lines).encode()).hexdigest()[:6], lines


def both_ends(found, **more):
    for name, text in found:
        for finish in ("end_turn", "max_tokens"):
            yield f"{name}, {finish}", text, read(text, finish, **more)


def of_dialects():
    for name, text, dialect in dialects():
        yield from both_ends([(name, text)], tools=TOOLS, dialects=[dialect])


ANSWERS = {
    "marks": lambda: ((name, text, read(text, "end_turn")) for name, text in around_marks()),
    "damages": lambda: ((name, text, read(text, "end_turn")) for name, text in damages() if "at the end" not in name),
    "cuts": lambda: both_ends((name, text) for name, text in damages() if "at the end" in name),
    "doubts": lambda: both_ends(doubts()),
    "dialects": of_dialects,
}


#: Openings that hide nothing: elements around an answer, a diff that has ended.
HIDES_NOTHING = {
    *("<div>", "<b>", "<answer>", "<response>", "<action>"),
    *("@@ -1 +1 @@", "diff --git a/x b/x", "--- a/x\n+++ b/x\n@@ -1 +1 @@"),
}


def test_a_call_in_a_container_is_never_run_in_any_form():
    ran = set()
    for opening, closing in [(f"<{name}>", f"</{name}>") for name in TAGS] + TOKENS:
        found = read(f"{opening}\n{CALL}{closing}\n", "end_turn")[0]
        if "run" in found:
            ran.add(opening)
    assert ran == HIDES_NOTHING


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_mark_and_every_damage_is_read_as_it_was_with_all_that_stands_beside_it(kind):
    families, details, golden = defaultdict(list), defaultdict(list), GOLDEN / f"{kind}.txt"
    for name, text, (short, digest, lines) in ANSWERS[kind]():
        family = name.replace("\n", "⏎").partition(", ")[0]
        families[family].append(digest)
        details[family].append("\n".join([name, text, f"is read as: {short}", *lines]))
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text("".join(f"{name}: {' '.join(digests)}\n" for name, digests in families.items()), "utf-8")
    wanted = dict(line.rpartition(": ")[::2] for line in golden.read_text("utf-8").splitlines())
    for family, digests in families.items():
        for digest, want, told_in_full in zip_longest(digests, wanted[family].split(), details[family]):
            assert digest == want, told_in_full
    assert set(families) == set(wanted)
