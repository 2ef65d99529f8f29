"""A sentence next to a call that says it is only spoken of holds it; one that means it does not."""

from itertools import chain
from pathlib import Path

import pytest

from rails.parsing.frame_hints import announces, may_be_spoken_of
from rails.parsing.frames import find_frames
from rails.parsing.parse import AnswerParser, parse

CASES = Path(__file__).parent.parent / "cases" / "lead_ins"
ROWS = {file.stem: file.read_text(encoding="utf-8").splitlines() for file in sorted(CASES.glob("*.txt"))}
TEXT = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = {"read_file": TEXT, "delete_file": TEXT}
F = "```"
CALL = f'{F}json\n{{"tool": "delete_file", "path": "a.py"}}\n{F}\n'
REAL = f'{F}json\n{{"tool": "read_file", "path": "b.py"}}\n{F}\n'
XML = '<tool name="delete_file">\n<path>a.py</path>\n</tool>\n'


def outcome(text, **options):
    found = parse(text, TOOLS, report_unread_calls=True, **options)
    return [one.tool_name for one in found.requests], [one.code for one in found.refusals]


@pytest.mark.parametrize("call", [CALL, XML])
@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_sentence_above_a_call_that_does_not_mean_it_holds_it_and_any_other_does_not(call, gap):
    assert [row for row in ROWS["shown_above"] if outcome(f"Text.\n\n{row}\n{gap}{call}") != ([], ["unread"])] == []
    held = [row for row in ROWS["meant_above"] if outcome(f"Text.\n\n{row}\n{gap}{call}") != (["delete_file"], [])]
    assert held == []


@pytest.mark.parametrize("call", [CALL, XML])
def test_a_sentence_below_a_call_that_does_not_mean_it_holds_it_and_any_other_does_not(call):
    for before in ("", "It is unused. "):
        shown = [row for row in ROWS["shown_below"] if outcome(f"Now:\n{call}\n{before}{row}\n") != ([], ["unread"])]
        assert [row for row in shown if not (before and row[0] in "(~^")] == []
    assert [row for row in ROWS["meant_below"] if outcome(f"Now:\n{call}\n{row}\n") != (["delete_file"], [])] == []


def test_the_quick_look_sees_every_sentence_that_holds_a_call():
    above = [row for row in ROWS["shown_above"] if not announces(f"{row}\n", len(row) + 1)]
    assert [row for row in above if not may_be_spoken_of(f"Text.\n\n{row}\n", len(row) + 8, len(row) + 8)] == []
    assert [row for row in ROWS["shown_below"] if not may_be_spoken_of(row, 0, 0)] == []
    plain = "I'll read the file first:\n"
    assert not may_be_spoken_of(plain, len(plain), len(plain))


@pytest.mark.parametrize("size", [1, 3, 50])
def test_sentences_are_read_alike_in_any_chunks(size):
    for row in chain(ROWS["shown_above"][::9], ROWS["meant_above"][::9], ROWS["shown_below"][::9]):
        text = f"{row}\n\n{CALL}\n{row}\n"
        reader = AnswerParser(TOOLS, report_unread_calls=True)
        for start in range(0, len(text), size):
            reader.feed(text[start : start + size])
        streamed = reader.flush("end_turn")
        assert ([one.tool_name for one in streamed.requests], [one.code for one in streamed.refusals]) == outcome(text)


def test_what_is_said_is_said_of_the_calls_that_follow_one_another_and_of_no_other():
    assert outcome(f"I would send:\n\n{CALL}\n{XML}\nNow I read it.\n\n{REAL}") == (["read_file"], ["unread"] * 2)
    assert outcome(f"I'll look:\n\n{REAL}\nAnd then:\n\n{CALL}\n{XML}\nShould I run this?\n") == (
        ["read_file"],
        ["unread"] * 2,
    )


def test_a_sentence_that_leads_on_to_the_next_call_is_not_said_of_the_one_above_it():
    for row in ROWS["meant_above"]:
        if row.endswith(":") and "\n" not in row:
            assert outcome(f"Now:\n{CALL}\n{row}\n\n{REAL}") == (["delete_file", "read_file"], []), row


def test_a_refused_call_is_told_with_the_sentence_and_its_line():
    (refusal,) = parse(f"Text.\n\nMy previous request\nwas:\n\n{CALL}", TOOLS).refusals
    assert "behind 'My previous request was:' (line 4)" in refusal.message
    (refusal,) = parse(f"Now:\n\n{CALL}\nIt is unused. Shall I run it?\n", TOOLS).refusals
    assert "above 'Shall I run it?' (line 6)" in refusal.message


def test_a_choice_at_the_end_holds_all_calls():
    text = f"Two ways.\n\nOne:\n\n{CALL}\nTwo:\n\n{REAL}\nBoth work.\n\nWhich one do you prefer?\n"
    assert outcome(text) == ([], ["unread"] * 2)
    assert outcome(text.replace("Which one", "How")) == (["delete_file", "read_file"], [])


@pytest.mark.parametrize(
    "text",
    [
        "User: tidy up\n\nAssistant: sure\n\n{}\nUser: stop!\n",
        "**User:** tidy up\n\n**Assistant:** sure\n\n{}\n**User:** stop!\n",
        "### User\n\ntidy up\n\n### Assistant\n\n{}\n### User\n\nstop!\n",
        "Q: how is it deleted?\nA: so\n{}\nQ: and read?\nA: alike\n",
        "Observation:\nnone\nThought: next\n{}\nObservation:\ngone\n",
        "[user]\ntidy up:\n{}\n",
        "### Tool output\n\n{}\n",
    ],
)
def test_a_call_in_a_conversation_that_is_shown_is_held(text):
    assert outcome(text.format(CALL)) == ([], ["unread"])


@pytest.mark.parametrize(
    "text",
    [
        "User: tidy up\n\nAssistant: sure\n\n{}",
        "Users: 3\n{}\nUsers: 4\n",
        "### Users\n\n{}\n",
        "Q: why?\n\n{}\nQ: how?\n",
    ],
)
def test_a_call_behind_the_last_word_of_the_other_one_runs(text):
    assert outcome(text.format(CALL)) == (["delete_file"], [])


def test_what_would_be_a_change_in_a_chat_is_proposed_all_the_same():
    text = "a.py\n```python\nx = 1\n```\n"
    at = (0, len(text))
    assert find_frames(f"Such a call would look like this:\n\n{text}", [(35, 35 + at[1])], [], said=False) == []
    assert find_frames(f"Such a call would look like this:\n\n{text}", [(35, 35 + at[1])], []) != []


@pytest.mark.parametrize("lead", ["> ", "# ", "// ", "| a | ", "12 | ", "a.md:3:", "x " * 300 + "y "])
@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("llama", '<function=delete_file>{"path": "a.py"}</function>'),
        ("qwen", '<tool_call>\n{"name": "delete_file", "arguments": {"path": "a.py"}}\n</tool_call>'),
        ("claude", '<invoke name="delete_file"><parameter name="path">a.py</parameter></invoke>'),
        (
            "kimi",
            '<|tool_call_begin|>functions.delete_file:0<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|>',
        ),
    ],
)
def test_a_call_in_another_form_behind_anything_but_a_sentence_is_held_and_what_follows_is_read(lead, dialect, call):
    quoted = "".join(f"{lead}{line}\n" for line in call.split("\n"))
    assert outcome(f"Text.\n\n{quoted}\nText.\n\n{REAL}", dialects=[dialect]) == (["read_file"], ["unread"])
    for meant in ("", "Now I do it. ", "- Done: ", "**Next:** ", "</think>", "x " * 300 + "y. "):
        assert outcome(f"Text.\n{meant}{call}\n", dialects=[dialect])[1] == []
