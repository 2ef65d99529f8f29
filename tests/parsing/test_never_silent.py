"""An answer that holds a form that is read gives a request or a refusal, whatever stands around the form."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES

F = "```"
NEW = {"file_path": "app.py", "content": "x = 2\n"}
BLOCK = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
HUNK = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
PATCH = "*** Begin Patch\n*** Update File: app.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
FORMS = [
    f"{F}json\n{json.dumps({'tool': 'write_file', **NEW})}\n{F}\n",
    f"{F}json\n{json.dumps({'name': 'write_file', 'arguments': NEW}, indent=2)}\n{F}\n",
    "<write_file>\n<file_path>app.py</file_path>\n<content>\nx = 2\n</content>\n</write_file>\n",
    f"app.py\n{BLOCK}",
    f"app.py\n{F}python\n{BLOCK}{F}\n",
    f"app.py\n{F}python\nx = 2\n{F}\n",
    f"`app.py`\n{F}python\nx = 2\n{F}\n",
    f"{F}diff\n{HUNK}{F}\n",
    HUNK,
    PATCH,
    f"{F}\n{PATCH}{F}\n",
]
#: What stands before and behind a form, and before each of its lines.
AROUND = [
    ("", "", "> "),
    ("I do it now.\n\n", "", "> "),
    ("", "", "> > "),
    ("1. Change it:\n\n", "", "   "),
    ("Change it:\n\n", "", "    "),
    ("<think>\n", "</think>\n", ""),
    ("<thinking>\nI change it.\n\n", "", ""),
    ("", "</think>\n", ""),
    ("[THINK]\n", "\n[/THINK]\n", ""),
    ("◁think▷\n", "\n◁/think▷\n", ""),
    ("<|begin_of_thought|>\n", "\n<|end_of_thought|>\n", ""),
    ("<details>\n<summary>Change</summary>\n\n", "\n</details>\n", ""),
    ("<my_changes>\n", "</my_changes>\n", ""),
    ("<artifact>\n", "</artifact>\n", ""),
    ("<!--\n", "-->\n", ""),
    ("````\n", "````\n", ""),
    ("~~~text\n", "~~~\n", ""),
]
READ = f'{F}json\n{{"tool": "read_file", "path": "a.py"}}\n{F}\n'


def outcomes(text, finish="end_turn"):
    found = parse(text, SHAPES, finish=finish, report_unread_calls=True, exists=lambda path: path == "app.py")
    return [*found.requests, *found.refusals]


@given(st.sampled_from(FORMS), st.sampled_from(AROUND), st.booleans())
def test_a_form_in_any_container_is_read_or_refused(form, around, crlf):
    before, behind, line = around
    text = before + "".join(line + one for one in form.splitlines(keepends=True)) + behind
    assert outcomes(text.replace("\n", "\r\n") if crlf else text)


@given(st.sampled_from(FORMS), st.sampled_from(["<example>\n{}</example>\n", "<think>\n{}</think>\n\nDone.\n"]))
def test_what_is_clearly_shown_is_none(form, around):
    assert not outcomes(around.format(form))


@given(st.sampled_from(AROUND))
def test_beside_a_request_nothing_that_is_quoted_is_taken(around):
    before, behind, line = around
    quoted = before + "".join(line + one for one in FORMS[3].splitlines(keepends=True)) + behind
    assert "write_file" not in [getattr(one, "tool_name", "") for one in outcomes(f"{READ}\n{quoted}")]


def test_the_line_of_a_quoted_change_is_named():
    (refusal,) = outcomes(f"Look:\n\n> app.py\n> {F}python\n> x = 2\n> {F}\n")
    assert refusal.message.startswith("Line 4 begins a request or a change behind marks of a quotation")


@walked("calls", ["[{0}, {0}]", "[\n {0},\n {0}\n]", "{0}\n{0}"])
def test_whole_calls_of_an_answer_that_was_cut_off_behind_them_are_read(calls):
    text = f"{F}json\n{calls.format(json.dumps({'tool': 'read_file', 'path': 'a.py'}))}\n{F}\n"
    cut = f'{F}json\n{{"tool": "write_file", "path": "b.py", "content": "half'
    assert [one.tool_name for one in outcomes(text, "max_tokens")] == ["read_file"] * 2
    found = outcomes(text + cut, "max_tokens")
    assert [one.tool_name for one in found[:2]] == ["read_file"] * 2
    assert "not terminated" in found[2].message


def test_a_block_that_ends_as_if_text_were_missing_is_refused_where_the_answer_was_cut_off():
    block = json.dumps({"tool": "write_file", "path": "b.py", "content": "say "})
    (refusal,) = outcomes(f"{F}json\n{block}\n{F}\n", "max_tokens")
    assert "The answer was cut off, and this block or one above it ends as if text were missing" in refusal.message


def test_a_bare_fence_inside_of_a_markdown_file_does_not_cut_it_short():
    (refusal,) = outcomes(f"README.md\n{F}markdown\n# A\n\n{F}\nmake\n{F}\n\nThen stop.\n{F}\n")
    assert "may end the file, or begin a fence within it" in refusal.message
