"""C1.06: the same result for any chunking."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from rails.parsing.parse import AnswerParser, parse
from rails.parsing.values import CallFound, CallStarted, CallWithdrawn

from .conftest import SHAPES

F = "```"
PIECES = [
    "prose with `code` and é😀\n",
    f"{F}json\n",
    f"{F}\n",
    f"{F}",
    "````md\n",
    "````\n",
    "~~~json\n",
    "~~~\n",
    json.dumps({"tool": "write_file", "path": "a.py", "content": 'é "x"\n```\n\\'}),
    json.dumps({"tool": "write_file", "path": "a.py", "content": "y"}, indent=2),
    '{"tool": "run_code", "arguments": {"code": "a\nb',
    '", }',
    "}}\n",
    "\n",
    "\r\n",
    " ",
    "<thinking>\n",
    "</thinking>\n",
    "Well. <think>",
    "</think>",
    "<example>\n",
    "</example>\n",
    "[THINK]",
    "[/THINK]\n",
    "<function=write_file>\n<parameter=content>\n",
    "</parameter>\n</function>\n",
    "</tool_call>\n",
    "<|channel|>analysis<|message|>",
    "<|end|>",
    "◁/think▷",
    "*** Begin Patch\n",
    "*** End Patch\n",
    "@@ -1,2 +1,3 @@\n ",
    "<<<<<<< SEARCH\n",
    ">>>>>>> REPLACE\n",
    "<!-- ",
    "-->",
    '{"a": 1}',
    "{'tool': 'delete_file', 'path': 'it\\'s'}",
    '<tool name="fast_editor">\n',
    '<edits>[{"path": "a", "oldString": "</edits>", "newString": "<b>"}]</edits>\n',
    "<edits>",
    "</edits>",
    "</tool>\n",
    "<action>\n",
    "</action>\n",
    '"{{\\n \\"tool\\": \\"run_code\\", \\"timeout\\" 61\\n}"\n',
    "{tool”: “run_code”}\n",
    "// note\n",
    '{"tool": "write_file", "path": "a", "content": ""}\n```\n',
    '{"content": "x"}\n```\n',
    '", "tool": "write_file"}\n```\n',
    '"}\n',
    "/* a */",
    "\\",
    '"',
    "'",
]
FINISHES = st.sampled_from(["end_turn", "max_tokens"])


def stream(text, sizes, finish):
    """Feed bytes or text in chunks of the given sizes; return the intake and every signal."""
    reader = AnswerParser(SHAPES)
    signals = []
    pos = 0
    turn = 0
    while pos < len(text):
        size = sizes[turn % len(sizes)]
        signals += reader.feed(text[pos : pos + size])
        pos += size
        turn += 1
    intake = reader.flush(finish)
    return intake, [*signals, *intake.late]


@example(
    ["x\n", '{"tool": "run_code", "arguments": {"code": "a\nb', '"{{\n \\"tool\\": \\"run_code\\"\n}"\n'],
    [1],
    "end_turn",
)
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.lists(st.integers(1, 9), min_size=1, max_size=4), FINISHES)
def test_c1_06_any_chunking_gives_the_same_result_and_signals(pieces, sizes, finish):
    text = "".join(pieces)
    whole = parse(text, SHAPES, finish=finish)
    for chunked in (text, text.encode()):
        intake, signals = stream(chunked, sizes, finish)
        assert (intake.requests, intake.refusals, intake.ignored) == (whole.requests, whole.refusals, whole.ignored)
        assert intake.prose == whole.prose
        told = {signal.id: signal.outcome for signal in signals if isinstance(signal, CallFound)}
        gone = {signal.id for signal in signals if isinstance(signal, CallWithdrawn)}
        known = {one.id: one for one in whole.requests} | {one.request_id: one for one in whole.refusals}
        assert {name: one for name, one in told.items() if name not in gone or name in known} == known


def test_c5_01_a_request_is_announced_before_its_content_is_there():
    reader = AnswerParser(SHAPES)
    signals = []
    for char in f'{F}json\n{{"tool": "write_file", "path": "src/a.py"':
        signals += reader.feed(char)
    assert signals == [CallStarted("r1", "write_file", "src/a.py", 0)]
    assert reader.feed(', "content": "long') == []
    (completed,) = reader.feed(' text\\n"}\n```\n')
    assert completed.outcome.parameters == {"path": "src/a.py", "content": "long text\n"}


def test_c5_06_two_calls_on_one_path_have_their_own_ids():
    block = f'{F}json\n{{"tool": "delete_file", "path": "a"}}\n{F}\n'
    found = parse(block * 2, SHAPES, id_prefix="t1.")
    assert [r.id for r in found.requests] == ["t1.1", "t1.2"]
