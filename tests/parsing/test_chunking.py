"""C1.06: the same result for any chunking."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from rails.parsing.parse import AnswerParser, parse
from rails.parsing.values import CallFound, CallStarted, CallWithdrawn
from tests.rows import walked

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


def foreign(found):
    """Return the refusals of what turned out to stand in another model's call."""
    return [refusal for refusal in found.refusals if refusal.code == "unread"]


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


@given(st.lists(st.sampled_from(PIECES), max_size=14), FINISHES)
def test_c5_02_every_block_is_completed_once_and_in_order(pieces, finish):
    whole = parse("".join(pieces), SHAPES, finish=finish)
    completed = [signal.id for signal in whole.late if isinstance(signal, CallFound)]
    started = [signal.id for signal in whole.late if isinstance(signal, CallStarted)]
    closed = [signal for signal in whole.late if isinstance(signal, CallFound) and signal.outcome in foreign(whole)]
    in_order = [name for name in completed if name not in {signal.id for signal in closed}]
    assert in_order == sorted(in_order, key=lambda name: int(name[1:]))
    assert len(set(in_order)) == len(in_order)
    assert len(set(started)) == len(started)
    assert set(started) <= set(completed) | {signal.id for signal in whole.late if isinstance(signal, CallWithdrawn)}
    assert {r.id for r in whole.requests} <= set(started)
    withdrawn = {signal.id for signal in whole.late if isinstance(signal, CallWithdrawn)}
    results = {r.id for r in whole.requests} | {r.request_id for r in whole.refusals}
    assert set(completed) | withdrawn == results | withdrawn
    assert not results & withdrawn


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


@walked(
    "line",
    [
        ' ~~~ JSON"tool": {"a": 1} ```x',
        f'- {F}json {{"tool": "read_file"}}',
        f"1. {F}json {{",
        f'\ufeff* ~~~json "{F}',
    ],
)
def test_a_line_that_may_be_a_fence_is_judged_whole_wherever_it_is_cut(line):
    text = f'{F}json\n{line}\n"path": "a"}}\n{F}\nSo.\n'
    assert len({repr(streamed(text, size)) for size in (1, 3, 7, len(text))}) == 1


def streamed(text, size):
    reader = AnswerParser(SHAPES, report_unread_calls=True)
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])
    found = reader.flush("end_turn")
    return found.requests, found.refusals, found.ignored, found.prose
