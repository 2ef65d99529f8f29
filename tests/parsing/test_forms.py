"""Other models' wire formats are read where a dialect says so: the same call, the same checks, in any chunking."""

import argparse
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.commands.options import add_options
from rails.core.errors import UsageError
from rails.parsing.call_formats.registry import FORMS, dialects_of
from rails.parsing.parse import AnswerParser, parse
from tests.rows import walked

STRING = {"type": "string"}
TOOLS = {
    "write_file": {
        "type": "object",
        "properties": {"path": STRING, "content": STRING},
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    "read_file": {
        "type": "object",
        "properties": {"path": STRING, "limit": {"type": "integer"}, "parts": {"type": "array", "items": STRING}},
        "additionalProperties": False,
    },
    "delete_file": {"type": "object", "properties": {"path": STRING}, "additionalProperties": False},
}
F = "```"


def _json(call):
    return json.dumps({"name": call[0], "arguments": call[1]}, ensure_ascii=False)


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _pairs(arguments, form):
    return "".join(form.format(key=key, value=_text(value)) for key, value in arguments.items())


def glm(*calls):
    pair = "<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
    return "".join(f"<tool_call>{name}\n{_pairs(given, pair)}</tool_call>\n" for name, given in calls)


def kimi(*calls):
    inner = "".join(
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{json.dumps(given)}<|tool_call_end|>"
        for number, (name, given) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def deepseek(*calls):
    inner = "".join(f"<｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{json.dumps(a)}<｜tool▁call▁end｜>" for n, a in calls)
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def deepseek_fence(*calls):
    inner = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n{F}json\n{json.dumps(a)}\n{F}<｜tool▁call▁end｜>"
        for n, a in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def dsml(*calls):
    pair = '<｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\n'
    inner = "".join(f'<｜DSML｜invoke name="{n}">\n{_pairs(a, pair)}</｜DSML｜invoke>\n' for n, a in calls)
    return f"<｜DSML｜function_calls>\n{inner}</｜DSML｜function_calls>"


def invokes(opening, closing, namespace=""):
    pair = f'<{namespace}parameter name="{{key}}">{{value}}</{namespace}parameter>\n'

    def write(*calls):
        inner = "".join(f'<{namespace}invoke name="{n}">\n{_pairs(a, pair)}</{namespace}invoke>\n' for n, a in calls)
        return f"{opening}\n{inner}{closing}"

    return write


def qwen(*calls):
    pair = "<parameter={key}>\n{value}\n</parameter>\n"
    return "\n".join(f"<tool_call>\n<function={n}>\n{_pairs(a, pair)}</function>\n</tool_call>" for n, a in calls)


def qwen_json(*calls):
    return "\n".join(f"<tool_call>\n{_json(call)}\n</tool_call>" for call in calls)


def harmony(*calls):
    return "".join(
        f"<|start|>assistant<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{json.dumps(a)}<|call|>"
        for n, a in calls
    )


def python(*calls):
    return ", ".join(f"{n}({', '.join(f'{key}={value!r}' for key, value in a.items())})" for n, a in calls)


def _parameters(calls):
    return [{"name": n, "parameters": a} for n, a in calls]


FORMATS = {
    "glm": ("glm", glm),
    "kimi": ("kimi", kimi),
    "deepseek": ("deepseek", deepseek),
    "deepseek, fences": ("deepseek", deepseek_fence),
    "deepseek, DSML": ("deepseek", dsml),
    "minimax": ("minimax", invokes("<minimax:tool_call>", "</minimax:tool_call>")),
    "minimax, JSON": (
        "minimax",
        lambda *calls: "<tool_calls>\n" + "\n".join(_json(one) for one in calls) + "\n</tool_calls>",
    ),
    "claude": ("claude", invokes("<function_calls>", "</function_calls>")),
    "claude, namespace": ("claude", invokes("<x:function_calls>", "</x:function_calls>", "x:")),
    "qwen": ("qwen", qwen),
    "qwen, JSON": ("qwen", qwen_json),
    "harmony": ("harmony", harmony),
    "llama": ("llama", lambda *c: "<|python_tag|>" + "; ".join(map(json.dumps, _parameters(c))) + "<|eom_id|>"),
    "llama, Python": ("llama", lambda *calls: f"<|python_tag|>[{python(*calls)}]<|eom_id|>"),
    "cohere": (
        "cohere",
        lambda *calls: (
            "<|START_ACTION|>"
            + json.dumps([{"tool_call_id": "0", "tool_name": n, "parameters": a} for n, a in calls])
            + "<|END_ACTION|>"
        ),
    ),
    "granite": ("granite", lambda *c: f"<|tool_call|>[{', '.join(map(_json, c))}]<|/tool_call|>"),
    "gemini": (
        "gemini",
        lambda *calls: f"{F}tool_code\n" + "\n".join(f"print(default_api.{python(c)})" for c in calls) + f"\n{F}\n",
    ),
    "mistral": ("mistral", lambda *c: "[TOOL_CALLS] [" + ", ".join(map(_json, c)) + "]\n"),
}
ONE = ("write_file", {"path": "a.py", "content": 'print("x\\n")\n# <b> & {y}\n'})
TWO = ("read_file", {"path": "b.py", "limit": 5, "parts": ["x", "y"]})


def calls_of(found):
    return [(one.tool_name, dict(one.parameters)) for one in found.requests]


def streamed(text, dialect, size):
    reader = AnswerParser(TOOLS, dialects=[dialect], report_unread_calls=True)
    signals = []
    for start in range(0, len(text), size):
        signals += reader.feed(text[start : start + size])
    found = reader.flush("end_turn")
    return found.requests, found.refusals, found.prose, (*signals, *found.late)


@walked("form", FORMATS)
def test_a_form_is_read_where_its_dialect_says_so_and_only_there(form):
    dialect, write = FORMATS[form]
    text = f"I will do that.\n{write(ONE, TWO)}"
    found = parse(text, TOOLS, dialects=[dialect])
    assert (calls_of(found), found.refusals) == ([ONE, TWO], ())
    assert {one.dialect for one in found.requests} == {dialect}
    assert "write_file" not in found.prose
    assert not parse(text, TOOLS).requests
    told = AnswerParser(TOOLS, report_unread_calls=True)
    told.feed(text)
    assert told.flush("end_turn").refusals


@walked("form", FORMATS)
def test_a_quoted_form_never_runs(form):
    dialect, write = FORMATS[form]
    evil = write(("delete_file", {"path": "/etc/passwd"}))
    for opening, closing in [
        ("<think>\n", "\n</think>\n"),
        ("", "\n</think>\nNo.\n"),
        ("<example>\n", "\n</example>\n"),
        ("````markdown\n", "\n````\n"),
        ("<tool_result>\n", "\n</tool_result>\n"),
        ("<!--\n", "\n-->\n"),
        ("> ", "\n") if "\n" not in evil else ("````\n", "\n````\n"),
    ]:
        found = parse(f"Text.\n{opening}{evil}{closing}", TOOLS, dialects=[dialect])
        quoted_line = opening == "> " and form not in ("mistral",)
        assert quoted_line or not found.requests, opening


@walked("form", FORMATS)
def test_a_call_that_is_the_content_of_another_never_runs_by_itself(form):
    dialect, write = FORMATS[form]
    for other, inner in FORMATS.values():
        content = f"# How to\n{inner(('delete_file', {'path': '/etc/passwd'}))}\nDone.\n"
        for arguments in ({"path": "a.md", "content": content}, {"content": content * 2}):
            found = parse(write(("write_file", arguments)), TOOLS, dialects=[dialect, other])
            assert calls_of(found) in ([], [("write_file", arguments)]), inner


BROKEN = {
    "glm": "<tool_call>write_file <arg_key>path</arg_key><arg_value>a</arg_value>oops</tool_call>",
    "kimi": "<|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{oops}<|tool_call_end|>",
    "deepseek": "<｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{oops}<｜tool▁call▁end｜>",
    "minimax": '<minimax:tool_call><invoke name="write_file">oops</invoke></minimax:tool_call>',
    "claude": '<function_calls><invoke name="write_file">oops</invoke></function_calls>',
    "invoke": '<invoke name="write_file">oops</invoke>',
    "qwen": "<tool_call><function=write_file>oops</function></tool_call>",
    "hermes": "<tool_call>oops</tool_call>",
    "harmony": "<|channel|>commentary to=functions.write_file <|message|>oops<|call|>",
    "llama": "<|python_tag|>write_file(open('x'))<|eom_id|>",
    "cohere": "<|START_ACTION|>oops<|END_ACTION|>",
    "granite": "<|tool_call|>oops<|/tool_call|>",
    "gemini": f"{F}tool_code\nwrite_file(path=__import__('os').name)\n{F}\n",
}


def test_the_help_names_every_dialect():
    parser = argparse.ArgumentParser()
    add_options(parser, "@dialects")
    with pytest.raises(UsageError) as error:
        parse("", TOOLS, dialects=["none"])
    known = str(error.value).partition("Known: ")[2].rstrip(".").split(", ")
    assert all(re.search(rf"\b{name}\b", parser.format_help()) for name in known)


def test_every_form_has_a_broken_example():
    assert BROKEN.keys() == FORMS.keys()


@walked("dialect", BROKEN)
def test_a_broken_call_is_refused_with_its_place_and_nothing_behind_it_is_believed(dialect):
    good = f'\n{F}json\n{{"tool": "read_file", "path": "b.py"}}\n{F}\n'
    found = parse(f"{BROKEN[dialect]}{good}", TOOLS, dialects=[dialect])
    assert not found.requests
    first = found.refusals[0]
    place = rf"Line [12](, column \d+)? of the answer: The call in the form '{dialect}' cannot be read: "
    assert re.match(place, first.message)
    assert "Send the whole call again" in first.hint
    assert len(found.refusals) == 2


@walked("form", FORMATS)
def test_a_cut_off_call_is_not_run(form):
    dialect, write = FORMATS[form]
    text = write(ONE)
    for cut in range(10, len(text.rstrip()) - 1, 7):
        found = parse(text[:cut], TOOLS, dialects=[dialect], finish="max_tokens")
        assert all(call == ONE for call in calls_of(found))


@walked(
    "text",
    [
        '{"name": "read_file", "parameters": {"path": "b.py"}}',
        '[{"name": "read_file", "parameters": {"path": "b.py"}}]',
        '[read_file(path="b.py")]',
        '<think>so</think>\n[read_file(path="b.py")]\n',
        '<function=read_file>{"path": "b.py"}</function>',
    ],
)
def test_llamas_bare_calls_are_the_whole_answer(text):
    assert calls_of(parse(text, TOOLS, dialects=["llama"])) == [("read_file", {"path": "b.py"})]
    if '"name"' not in text:
        assert not parse(text, TOOLS).requests
    if "function=" not in text and "think" not in text:
        assert not parse(f"Such as {text}", TOOLS, dialects=["llama"]).requests


@walked(
    ("model", "dialects"),
    [
        ("openai:zai-org/GLM-4.6", ("glm",)),
        ("openai:moonshotai/Kimi-K2", ("kimi",)),
        ("openai:deepseek-chat", ("deepseek",)),
        ("openai:MiniMax-M2", ("minimax",)),
        ("openai:Qwen3-Coder", ("qwen",)),
        ("openai:gpt-oss-120b", ("harmony",)),
        ("openai:codestral-latest", ("mistral",)),
        ("openai:Meta-Llama-3.1", ("llama",)),
        ("openai:gemma-3", ("gemini",)),
        ("openai:command-r", ("cohere",)),
        ("anthropic:claude-sonnet", ("claude",)),
        ("openai:gpt-5", ()),
        ("recorded", ()),
    ],
)
def test_a_models_name_says_what_it_writes(model, dialects):
    assert dialects_of(model) == ((*dialects, "json") if dialects else ())


@walked(
    "value",
    [
        {"name": "read_file", "parameters": {"path": "b.py"}},
        {"tool_name": "read_file", "arguments": {"path": "b.py"}},
        {"Tool_Name": "ReadFile", "Arguments": {"path": "b.py"}},
        {"function": "read_file", "args": {"path": "b.py"}},
        {"tool_calls": [{"name": "read_file", "input": {"path": "b.py"}}]},
        {"actions": [{"action": "read_file", "action_input": {"path": "b.py"}}]},
    ],
)
def test_json_forms_in_a_fence_are_read_where_the_dialect_says_so(value):
    text = f"{F}json\n{json.dumps(value)}\n{F}\n"
    assert calls_of(parse(text, TOOLS, dialects=["json"])) == [("read_file", {"path": "b.py"})]
    if "name" not in value:
        assert not parse(text, TOOLS).requests
    data = json.dumps(value).replace("read_file", "Bob").replace("ReadFile", "Bob")
    assert not parse(f"{F}json\n{data}\n{F}\n", TOOLS, dialects=["json"]).requests


def test_the_marker_of_mistral_in_a_sentence_is_no_call():
    def told(text):
        reader = AnswerParser(TOOLS, report_unread_calls=True)
        reader.feed(text)
        return reader.flush("end_turn").refusals

    assert not told("[TOOL_CALLS] is the marker that Mistral puts before its calls.\n")
    assert told('[TOOL_CALLS] [{"name": "read_file", "arguments": {}}]\n')
    assert told('[TOOL_CALLS]read_file[ARGS]{"path": "b.py"}\n')
    found = parse('[TOOL_CALLS]read_file[ARGS]{"path": "b.py"}\n', TOOLS, dialects=["mistral"])
    assert calls_of(found) == [("read_file", {"path": "b.py"})]


@given(
    st.sampled_from(sorted(FORMATS)),
    st.text(alphabet="ab \"'\\\n<>/{}[]|&é", max_size=30),
    st.sampled_from(["", "Ok.\n", "<think>x</think>\n", "- a\n"]),
    st.integers(1, 9),
)
def test_any_content_in_any_chunking_is_read_as_it_was_or_refused(form, content, before, size):
    dialect, write = FORMATS[form]
    call = ("write_file", {"path": "a.py", "content": content})
    text = before + write(call)
    whole = parse(text, TOOLS, dialects=[dialect])
    assert calls_of(whole) in ([call], [])
    assert [dict(one.parameters) for one in whole.requests] in ([], [call[1]])
    assert streamed(text, dialect, size) == streamed(text, dialect, len(text))


@walked(
    ("dialect", "text"),
    [
        ("claude", '<function_calls>\n<invoke name="write_file">\n<parameter name="path">a</parameter>\n</invoke>\n'),
        (
            "kimi",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>"
            '{"path": "a"}<|tool_call_end|>',
        ),
        ("harmony", '<|channel|>commentary to=functions.write_file <|message|>{"path": "a"}'),
    ],
)
def test_the_last_mark_may_be_a_stop_sequence_and_no_answer_that_was_cut_off_is_read(dialect, text):
    assert calls_of(parse(text, TOOLS, dialects=[dialect], finish="stop_sequence")) == [("write_file", {"path": "a"})]
    assert not parse(text, TOOLS, dialects=[dialect], finish="max_tokens").requests
    assert not parse(text.rpartition("a")[0], TOOLS, dialects=[dialect], finish="stop_sequence").requests
