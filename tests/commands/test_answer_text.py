"""An answer is shown while it comes, whole, once, and as Markdown that is only text."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rails.commands.live import as_markdown
from rails.render.answer_text import AnswerText
from tests.rows import walked

CALL = '```json\n{"tool": "write_file", "path": "a.txt", "content": "one\\n"}\n```\n'


def shown(prose, pieces):
    told = []
    text = AnswerText(told.append)
    for piece in pieces:
        text.feed(piece)
    before = list(told)
    text.end(prose)
    return before, told


LINES = st.lists(st.sampled_from(["First.", "", "- a point", "1. one", "  code", "First.", "| a | b |", "> said"]))


@given(LINES, st.integers(1, 9), st.booleans())
def test_whatever_the_pieces_every_line_is_shown_once_and_in_order(lines, size, calls):
    prose = "\n".join(lines)
    answer = f"{prose}\n\n{CALL}Done." if calls else prose
    whole = f"{prose}\n\nDone." if calls else prose
    _, told = shown(whole, [answer[n : n + size] for n in range(0, len(answer), size)])
    assert [line for text in told for line in text.split("\n") if line.strip()] == [
        line for line in whole.split("\n") if line.strip()
    ]


def test_a_paragraph_is_shown_as_soon_as_it_is_whole_and_a_call_never():
    before, told = shown("I look first.\n\nThen I write.\n", ["I look", " first.\n", "\nThen I write.\n\n", CALL])
    assert before == ["I look first.", "Then I write."]
    assert told == before


def test_what_was_read_as_prose_in_the_end_is_shown_though_it_began_like_a_call():
    prose = "Use it so:\n\n```python\nprint(1)\n```\n\nThat is all."
    before, told = shown(prose, list(prose))
    assert before == ["Use it so:"]
    assert told[1:] == ["```python\nprint(1)\n```\n\nThat is all."]


def drawn(text):
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=60, color_system="truecolor").print(as_markdown(text))
    return out.getvalue()


@walked("text", ["a <b>bold</b> word", "<script>x</script>", "[see](http://evil.test/x)", "\x1b]0;t\x07 x"])
def test_drawn_as_markdown_it_is_only_text(text):
    out = drawn(text)
    assert "\x1b]" not in out
    for word in re.findall(r"[a-z]{3,}", text.replace("http", "")):
        assert word in out or "evil" in word or word in ("test", "see")


def test_lists_and_headings_are_drawn_as_such():
    out = re.sub(r"\x1b\[[0-9;]*m", "", drawn("# What I did\n\n- one\n- two\n\n`code` and **bold**"))
    assert "• one" in out
    assert "**" not in out
    assert "What I did" in out
