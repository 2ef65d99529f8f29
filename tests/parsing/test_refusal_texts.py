"""Every refusal says where, why and what to do about it, in words of its own."""

import random
import re
from pathlib import Path

import pytest

from rails.parsing.parse import parse
from rails.session.project import registry_of
from tests.rows import walked

from .conftest import SHAPES
from .test_corpus import ROWS
from .test_damage import damage
from .test_forms import BROKEN, TOOLS

LINE = re.compile(r"\bline \d", re.IGNORECASE)


def cut_and_changed(rng):
    """Texts of the corpus with a piece removed, doubled or replaced."""
    for row in ROWS:
        at = rng.randrange(len(row.message) + 1)
        piece = rng.choice(["", '"', "}", "\n", "\\", ",", "```\n", "<tool_call>", "</think>"])
        yield row.message[:at] + piece + row.message[at + rng.randrange(3) :]


def refusals():
    for row in ROWS:
        yield from parse(row.message, SHAPES, finish=row.finish).refusals
    for text in cut_and_changed(random.Random(3)):
        yield from parse(text, SHAPES).refusals
    for row in damage.rows(8, seed=2):
        yield from parse(f"~~~json\n{row.block}\n~~~\n", damage.SHAPES).refusals
    for dialect, text in BROKEN.items():
        yield from parse(text, TOOLS, dialects=[dialect]).refusals


@pytest.fixture(scope="module")
def found():
    return list(refusals())


def test_every_refusal_names_a_line_a_cause_and_a_remedy(found):
    assert len(found) > 300
    for refusal in found:
        assert LINE.search(refusal.message), refusal.message
        assert refusal.hint.strip().endswith((".", ">")), refusal.hint
        assert "cannot be found" not in refusal.message
        assert len(refusal.message) < 1_000


def test_no_sentence_stands_for_every_cause(found):
    causes = [re.sub(r"near: .*", "", re.sub(r"\d+", "", one.message)) for one in found]
    assert max(causes.count(one) for one in set(causes)) < len(causes) / 3


def test_a_block_of_long_content_gets_its_own_call_as_a_template_without_escaping():
    block = '{"tool": "write_file", "path": "src/a.md", "content": "say \\"hi\\" and "bye", then"}'
    (refusal,) = parse(f"```json\n{block}\n```\n", SHAPES).refusals
    template = refusal.hint.partition("needs no escaping:\n")[2]
    assert "<path>src/a.md</path>" in template
    filled = template.replace("the text as it is", 'say "hi" and "bye", then')
    (request,) = parse(f"{filled}\n", SHAPES).requests
    assert request.parameters == {"path": "src/a.md", "content": 'say "hi" and "bye", then'}


SAID = 'say("a", "new_string": "b")\nx = {"content": "c", "d": "e"}'
#: Blocks with quotation marks that are not escaped: tool, and its members as they stand in the block.
BROKEN_QUOTES = {
    "edit_file": '"file_path": "a.py", "old_string": "{}", "new_string": "{}"',
    "multi_edit": '"file_path": "a.py", "edits": [{{"old_string": "{}", "new_string": "{}"}}]',
    "write_file": '"arguments": {{"path": "a.py", "content": "{}", "content": "{}"}}',
    "fast_editor": '"path": "a.py", "edits": [{{"old_string": "{}", "new_string": "{}"}}]',
}


@walked("tool", BROKEN_QUOTES)
def test_the_template_of_any_edit_can_be_filled_in_and_is_read(tool):
    shipped = registry_of(Path(__file__).parent).shapes()
    inner = SAID.replace("\n", "\\n")
    text = f'~~~json\n{{"tool": "{tool}", {BROKEN_QUOTES[tool].format(inner, inner)}}}\n~~~\n'
    (refusal,) = parse(text, shipped).refusals
    template = refusal.hint.partition("needs no escaping:\n")[2].partition("\nSend one")[0]
    (request,) = parse(template.replace("the text as it is", SAID), shipped).requests
    texts = [value for key, value in request.parameters.items() if key not in ("path", "file_path")]
    assert texts
    assert set(texts) == {SAID}
    assert "a.py" in request.parameters.values()


FAULTS = {
    '"path": "日本😀.py" zzz, "content": "x"': ("zzz", "a comma is missing"),
    '"path": zzz, "content": "x"': ("zzz", "Write every text in double quotes"),
    '"path": "a.py", zzz "content": "x"': ("zzz", "Write every key in double quotes"),
    '"path" = "a.py", "content": "x"': ("= ", '"key": value'),
    '"path": "a.py", "content": "x" + "y"': ("+ ", "a comma is missing"),
    '"path": "a.py", "con\\_tent": "x"': ('"con', "without backslashes"),
    '"path": "a.py", "content": "\\033[0m"': ("\\033", "for a backslash of the text"),
}


@walked("members", FAULTS)
@walked("eol", ["\n", "\r\n"])
@walked("before", ["", "Prose 😀\n\n", "````md\n```json\n{}\n```\n````\n\n", "<think>\na</think>\n"])
def test_a_fault_is_named_with_its_line_its_column_and_its_own_remedy(members, eol, before):
    at, words = FAULTS[members]
    block = f'{{\n\t"tool": "write_file",\n\t{members}\n}}'
    answer = f"{before}```json\n{block}\n```\n".replace("\n", eol)
    (refusal,) = parse(answer, SHAPES).refusals
    column = f"\t{members}".index(at) + 1
    line = before.count("\n") + 4
    assert f"line {line}, column {column}: " in refusal.message
    assert words in refusal.message + refusal.hint


#: Beginnings of answers, what cannot be read of them, and on which line of the answer its fault is, by its text.
PLACES = {
    "XML": '<tool name="multi_edit">\n<path>a</path>\n<edits>\n[zzz]</edits>\n</tool>\n',
    "text in XML": '<tool name="read_file">\nzzz\n<path>a</path>\n</tool>\n',
    "text behind a value": '<tool name="read_file">\n<path>a</path>\nzzz\n</tool>\n',
    "an escaped block": '~~~json\n{\\"tool\\": \\"write_file\\", \\"path\\": zzz}\n~~~\n',
    "not closed": '~~~json\n{"tool": "write_file",\n "path": zzz\n',
    "a diff": "~~~diff\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\nzzz\n d\n~~~\n",
    "a bare diff": "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\nzzz\n d\n",
    "a mode": "diff --git a/x b/x\nold mode 100644\nnew mode 100755 zzz\n\n",
    "a patch": "~~~\n*** Begin Patch\n*** Add File: x\n+b\nzzz\n*** End Patch\n~~~\n",
    "a block": "~~~\nx.py\n<<<<<<< SEARCH zzz\na\n>>>>>>> REPLACE\n~~~\n".replace(" zzz", ""),
    "a named file": "~~~python x.py\na = 1\n>>>>>>> zzz\n~~~\n",
}


@walked("what", PLACES)
@walked("before", ["", "A\n\nline 3\n\n", "~~~py\nx\n~~~\n\n"])
def test_every_place_is_counted_from_the_answers_beginning(what, before):
    answer = before + PLACES[what]
    shipped = registry_of(Path(__file__).parent).shapes()
    found = parse(answer, shipped, report_unread_calls=True)
    at = next(mark for mark in ("zzz", "<<<<") if mark in answer)
    line = answer[: answer.index(at)].count("\n") + 1
    assert {int(one) for one in re.findall(r"[Ll]ine (\d+)", found.refusals[0].message)} == {line}


def test_the_first_of_several_calls_is_the_template():
    block = '[{"tool": "write_file", "path": "a.md", "content": "say "hi", then "bye""}, {"tool": "read_file"}]'
    (refusal,) = parse(f"~~~json\n{block}\n~~~\n", SHAPES).refusals
    assert '<tool name="write_file">\n' in refusal.hint


HARD = [
    "a </content>\nb\n",
    "</tool>\n",
    "<content>x</content> y\n",
    "\n\nlead",
    "",
    "\n",
    "x\r\ny\r\n",
    "&lt; EOF\n",
    " i\n ",
    "<path>q</path>\n",
]


@walked("text", HARD)
def test_the_template_takes_any_text_byte_for_byte(text):
    block = '{"tool": "write_file", "path": "a.md", "content": "say "hi" and "bye", "content": "x"}'
    (refusal,) = parse(f"```json\n{block}\n```\n", SHAPES).refusals
    template, _, note = refusal.hint.partition("needs no escaping:\n")[2].partition("</tool>\n")
    assert "line endings beside the tags" in note
    (request,) = parse(template.replace("the text as it is", text) + "</tool>\n", SHAPES).requests
    assert request.parameters == {"path": "a.md", "content": text}
