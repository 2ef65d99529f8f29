"""Over a corpus of answers: what is only quoted never runs, and what was wanted is never silent."""

from hypothesis import given
from hypothesis import strategies as st

from rails.parsing.parse import AnswerParser, parse
from rails.parsing.values import CallWithdrawn
from tests.rows import walked

from . import containers as corpus

F = "```"


@walked(("size", "step"), [(0, 1), (1, 5), (7, 3)])
def test_no_quoted_call_runs_and_no_wanted_one_is_silent(size, step):
    rows = corpus.ROWS[::step]
    bad = [(row["form"], row["name"], said) for row in rows if (said := corpus.verdict(row, size)) != "ok"]
    assert not bad


PIECES = st.sampled_from([*corpus.PAYLOADS.values(), "Some text.\n", "\n", "- a list\n", "x = [1]\n"])


@given(
    st.sampled_from([name for name in corpus.CONTAINERS if name not in ("unified diff", "markdown fence")]),
    st.sampled_from(["<example>\n", "<think>\n", "[THINK]\n", "<tool_result>\n", "", "", "Text. "]),
    st.lists(PIECES, max_size=4),
)
def test_a_call_in_any_container_in_any_company_never_runs(name, outer, pieces):
    opening, closing = corpus.CONTAINERS[name]
    outer = "" if name in (*corpus.ALONE, *corpus.ESCAPED) and outer == "Text. " else outer
    text = f"{outer}{opening}{''.join(pieces)}{closing}"
    found = parse(text, corpus.TOOLS)
    assert not [one for one in found.requests if one.parameters.get("path") == "/etc/passwd"]


@walked(
    "name",
    [
        "thought_process",
        "inner_voice_thoughts",
        "thought-process",
        "CoT",
        "self_reflection",
        "Internal-Reasoning",
        "rationale",
        "chain_of_thought",
        "thinking_steps",
        "hidden_monologue",
    ],
)
def test_every_name_that_says_thought_is_one(name):
    payload = f'{F}json\n{{"tool": "read_file", "path": "/etc/passwd"}}\n{F}\n'
    for text in (f"<{name}>\n{payload}</{name}>\nDone.", f"So\n{payload}</{name}>\nDone."):
        assert not parse(text, corpus.TOOLS).requests


def test_an_element_that_is_never_closed_hides_nothing_and_one_that_is_closed_does():
    for before in ("<T>\n", "<T>\n" * 20, "<your-name>\n<T>\n", "<email>\nSee below.\n"):
        assert [one.tool_name for one in parse(before + corpus.REAL, corpus.TOOLS).requests] == ["read_file"]
    assert not parse(f"<T>\n<email>\n{corpus.REAL}</email>\n", corpus.TOOLS).requests


@walked("text", ["<rethink-button>\n", "<thoughtful>\n", "<app-reasonable/>\n", "List<thinker>\n"])
def test_a_name_that_only_resembles_one_is_none(text):
    (request,) = parse(f"{text}{corpus.REAL}", corpus.TOOLS).requests
    assert request.tool_name == "read_file"


@walked("name", ["patch", "file", "document", "blockquote"])
def test_a_container_may_begin_behind_text_on_its_line(name):
    opening, closing = corpus.CONTAINERS[name]
    for payload in corpus.PAYLOADS.values():
        found = parse(f"Text. {opening}{payload}{closing}\n{corpus.REAL}", corpus.TOOLS)
        assert [one.tool_name for one in found.requests] == ["read_file"]


def test_a_call_is_withdrawn_when_what_was_before_turns_out_to_be_a_thought():
    reader = AnswerParser(corpus.TOOLS)
    reader.feed(f"Let me see.\n{corpus.REAL}")
    found = reader.feed("ok</think>Now:\n")
    found = reader.flush("end_turn")
    assert not found.requests
    assert found.prose == f"Let me see.\n{corpus.REAL}ok</think>Now:\n"
    assert [one.id for one in found.late if isinstance(one, CallWithdrawn)] == ["r1"]
    assert [one.reason for one in found.ignored] == ["quoted inside think"]


def test_a_mark_between_backticks_is_only_mentioned():
    found = parse(f"I use `<think>` and `</think>` as ``<example>`` says.\n{corpus.REAL}", corpus.TOOLS)
    assert [one.tool_name for one in found.requests] == ["read_file"]


def test_a_call_in_another_models_call_whose_opening_was_lost_is_refused_and_not_forgotten():
    found = parse(f"write_file\n{corpus.PAYLOADS['json fence']}</arg_value>\n</tool_call>\n{corpus.REAL}", corpus.TOOLS)
    assert [one.tool_name for one in found.requests] == ["read_file"]
    assert [one.code for one in found.refusals] == ["unread"]


def test_a_tool_with_the_name_of_a_container_is_a_tool():
    tools = {"example": corpus.TOOLS["read_file"]}
    found = parse("<example>\n<path>a.py</path>\n</example>\n", tools)
    assert [one.tool_name for one in found.requests] == ["example"]


HOSTILE = [
    "</think>",
    "<example></example>",
    "<example>\n",
    "[THINK]x[/THINK]",
    "`<think>",
    "@@ -1\n+\nx\n",
    "<|",
    "a<b ",
]


@walked("text", HOSTILE)
def test_time_grows_with_the_size_and_not_faster(text, cpu_seconds):
    small = cpu_seconds(lambda: parse(text * 2_500, corpus.TOOLS), enough=0.002)
    bound = 20 * max(small, 0.002)
    assert cpu_seconds(lambda: parse(text * 20_000, corpus.TOOLS), enough=bound) < bound


@walked(
    ("above", "below"),
    [
        ("++++", "++++"),
        ("@example", "@end example"),
        ("Example:", "Shall I run it?"),
        ("I would send:", "Only an example."),
    ],
)
def test_what_the_lines_around_a_call_look_like_decides_nothing(above, below):
    (request,) = parse(f"{above}\n\n{corpus.REAL}\n{below}\n", corpus.TOOLS).requests
    assert request.tool_name == "read_file"


@walked("lead", ["> ", "# ", "| ", "12 | ", "$ ", "a.md:12:", "2026-01-01 10:00:00 INFO  ", "REM "])
def test_a_call_between_tokens_behind_anything_but_a_sentence_on_its_line_is_held(lead):
    call = '<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|>'
    call = f"<|tool_calls_section_begin|>{call}<|tool_calls_section_end|>"
    found = parse(f"Look:\n\n{lead}{call}\n", corpus.TOOLS, dialects=["kimi"])
    assert ([*found.requests], [one.code for one in found.refusals]) == ([], ["unread"])
    for before in ("", "I read it first. ", "Zuerst lese ich:", "<|im_start|>assistant\n"):
        assert len(parse(before + call, corpus.TOOLS, dialects=["kimi"]).requests) == 1


@walked("dialect", ["hermes", "mistral", "kimi", "gemini"])
def test_a_call_of_a_dialect_in_indented_code_is_held(dialect):
    call = {
        "hermes": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>\n',
        "mistral": '[TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a.py"}}]\n',
        "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
        '{"path": "a.py"}<|tool_call_end|><|tool_calls_section_end|>\n',
        "gemini": f'{F}tool_code\nread_file(path="a.py")\n{F}\n',
    }[dialect]
    shown = "".join(f"    {line}" for line in call.splitlines(True))
    assert not parse(f"Such a call:\n\n{shown}", corpus.TOOLS, dialects=[dialect]).requests
    assert len(parse(f"Now:\n\n{call}", corpus.TOOLS, dialects=[dialect]).requests) == 1


EDITOR = {"write_file": corpus.TOOLS["write_file"], "edit_file": corpus.TOOLS["write_file"]}
ADDED = {
    "a diff": f"{F}diff\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n{F}\n",
    "*** Begin Patch": "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** End Patch\n",
    "SEARCH/REPLACE": f"new.py\n{F}\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n{F}\n",
    "a named block": f"new.py\n{F}python\nx = 1\n{F}\n",
}


@walked("name", ADDED)
def test_a_change_that_a_fence_only_shows_is_not_proposed(name):
    def found(text):
        return parse(text, EDITOR, report_unread_calls=True).requests

    assert len(found(ADDED[name])) == 1
    for language in ("", "markdown", "text", "python"):
        assert not found(f"{F}``{language}\n# Changes\n\nSend this:\n\n{ADDED[name]}\nDone.\n{F}``\n")
        assert not found(f"{F}``{language}\nSee.\n{F}text\nan inner one\n{F}\n{ADDED[name]}{F}``\n")
    assert not found(f"{F}``bash\ncat > notes.md <<'EOF'\n{ADDED[name]}EOF\n{F}``\n")


@walked("command", ["apply_patch", "git apply", "patch -p1"])
def test_a_patch_that_a_command_in_a_fence_is_given_is_proposed(command):
    text = f"{F}bash\n{command} <<'EOF'\n{ADDED['*** Begin Patch']}EOF\n{F}\n"
    assert [one.tool_name for one in parse(text, EDITOR, report_unread_calls=True).requests] == ["write_file"]
