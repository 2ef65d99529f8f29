"""C1.11: further dialects exist only by name, and evaluate nothing."""

import pytest

from rails.core.errors import UsageError
from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES

F = "```"
ONE = '{"name": "run_code", "arguments": {"code": "</tool_call> 1"}}'
MESSAGES = {
    "hermes": f"Ok.\n<tool_call>\n{ONE}\n</tool_call>\nbye\n".replace("</tool_call> 1", "1"),
    "invoke": '<function_calls>\n<invoke name="run_code">>\n</invoke>\n'.replace(
        ">>", '>\n<parameter name="code"></tool_call> 1</parameter>'
    ),
    "mistral": f"Ok.\n[TOOL_CALLS] [{ONE}]\nbye\n",
    "react": 'Thought: so\nAction: run_code\nAction Input: {"code": "</tool_call> 1"}\nbye\n',
    "name": f"{F}json\n{ONE}\n{F}\n",
    "cohere": f'{F}json\n{{"tool_name": "run_code", "parameters": {{"code": "</tool_call> 1"}}}}\n{F}\n',
    "gemini": f'{F}json\n{{"function_call": {{"name": "run_code", "args": {{"code": "</tool_call> 1"}}}}}}\n{F}\n',
}


@walked("dialect", MESSAGES)
def test_a_dialect_is_read_when_named_and_only_then(dialect):
    found = parse(MESSAGES[dialect], SHAPES, dialects=[dialect])
    assert [(r.tool_name, dict(r.parameters), r.dialect) for r in found.requests] == [
        ("run_code", {"code": "1" if dialect == "hermes" else "</tool_call> 1"}, dialect)
    ]
    if dialect != "name":  # what Qwen, Hermes and Llama were trained on is read without being named
        assert not parse(MESSAGES[dialect], SHAPES).requests


def test_a_closing_tag_in_a_text_is_refused_and_never_half_a_call():
    found = parse(f"<tool_call>{ONE}\n{ONE}</tool_call>\nbye", SHAPES, dialects=["hermes"])
    assert not found.requests
    assert found.refusals


@walked(
    ("dialect", "text"),
    [
        ("hermes", '<tool_call>{"name": "run_code", "arguments": {"code": oops}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "run_code", "arguments": {"code": "x'),
        ("hermes", '<tool_call>__import__("os").system("id")</tool_call>'),
        ("mistral", '[TOOL_CALLS] [{"name": "run_code", "arguments": {"code": oops}}]\n'),
        ("react", "Action: run_code\nAction Input: rm -rf /\n"),
    ],
)
def test_a_broken_call_is_refused(dialect, text):
    found = parse(text, SHAPES, dialects=[dialect])
    assert not found.requests
    assert found.refusals


def test_several_calls_in_one_list():
    found = parse(f"[TOOL_CALLS] [{ONE}, {ONE}]\n", SHAPES, dialects=["mistral"])
    assert [r.id for r in found.requests] == ["r1", "r2"]


def test_an_unknown_dialect_is_a_mistake_of_the_operator():
    with pytest.raises(UsageError, match="hermes"):
        parse("", SHAPES, dialects=["klingon"])
