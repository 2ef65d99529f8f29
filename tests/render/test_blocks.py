"""Every kind of block is drawn by every renderer, and no text in it becomes more than text."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core.change_summary import ChangeSummary, SummaryLine
from rails.render import blocks as b
from rails.render.html_page.blocks import HtmlRenderer
from rails.render.markdown import block_lines, section_lines
from rails.render.text import TextRenderer

WORD = "needle"


def one_of_each(text):
    """Return a block of every kind, with ``text`` wherever there may be text."""
    line = b.DiffLine("add", b.show(text), 0, 1)
    return [
        b.Facts((("agent", (text,)),)),
        b.Counts(((text, 3),)),
        b.Times(((text, 0.5),)),
        b.Remark(text),
        b.Listing(text, (text,), open=True),
        b.Table(text, (text,), (b.cells(text),), notes=(text,)),
        b.Prose("says", text),
        b.AlertBlock("error", text, f"Error: {text}"),
        b.Notes("note", "Notes", (text,)),
        b.Risks((text,)),
        b.CallBlock(text, False, text, (text,), text, text),
        b.Refusals(((text, text, text),)),
        b.VerdictBlock("fail", (text,), 0.5),
        ChangeSummary(text, text, (SummaryLine("add", text), SummaryLine("note", text, 1))),
        b.Diff(text, "modify", (line,), 1, 0),
        b.FindingsBlock((b.PlacedFinding(text, 1, 2, text, text, text),)),
        b.Answer("deny", text, 1.5, text, text, "d" * 64),
        b.Written(True, (("create", text),)),
        b.Output(text, False, text, 0.2),
        b.Folded("told", "Feedback to the model", text, open=True),
    ]


def in_text(block):
    return "\n".join(TextRenderer(False, 100).draw(block))


def in_html(block):
    return HtmlRenderer(lambda _: "").draw(block)


def in_markdown(block):
    return "\n".join(block_lines(block))


RENDERERS = [in_text, in_html, in_markdown]


def test_there_is_one_of_every_kind():
    assert {type(block) for block in one_of_each("x")} == set(get_args(b.Block))


@pytest.mark.parametrize("drawn", RENDERERS)
@pytest.mark.parametrize("block", one_of_each(WORD), ids=lambda block: type(block).__name__)
def test_what_a_block_holds_is_drawn(drawn, block):
    assert WORD in drawn(block)


HOSTILE = st.text(max_size=60) | st.sampled_from(
    ["<script>alert(1)</script>", "\x1b[31m", "\u202e", "a\r\nb", "```\n# big\n```", "|x|", "@octocat", "`", "\x00"]
)


@given(HOSTILE)
def test_no_text_becomes_markup_or_moves_the_cursor(text):
    for block in one_of_each(text):
        html = in_html(block)
        for tag in re.findall(r"</?([a-zA-Z]+[0-9]?)", html):
            assert tag in HTML_TAGS, (tag, html)
        for drawn in (in_text(block), html, in_markdown(block)):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", drawn), type(block)


TAGS = "a code dd del details div dl dt h2 ins li mark ol p pre q rect section span summary svg table tbody td th"
#: What an answer's Markdown may become.
PROSE = "blockquote br em h3 h4 h5 h6 hr s strong"
HTML_TAGS = frozenset(f"{TAGS} {PROSE} thead tr ul".split(" "))


def test_a_section_says_what_it_is_and_how_it_went():
    badge = b.Badge("✓", "good", "Applied")
    cost = b.Cost("coder", "m", "", {"model": 1.0}, 10, 2)
    step = b.Facts((("step", ("1",)),))
    section = b.Section(b.Heading("Turn 3", badge, "coder", "still F821"), (), cost, (step,), 3, 7, 9)
    text = "\n".join(TextRenderer(False, 100).section(section))
    assert text.startswith("── turn 3  coder  applied  [still F821]\n  cost     │ tokens 10 in, 2 out; model 1.0 s")
    html = HtmlRenderer(lambda _: "").section(section, 5)
    for words in ('id="turn-3"', 'data-first="7"', 'data-last="9"', 'href="#turn-5"', "Applied", "10 tokens in, 2 out"):
        assert words in html, words
    assert next(section_lines(section)) == "## Turn 3, `coder`"


@pytest.mark.parametrize("count", [20, 21, 500])
def test_a_list_says_how_much_of_it_there_was_no_room_for(count):
    notes = b.Notes("note", "Notes", tuple(f"note {n}" for n in range(count)))
    assert ("[… 1 more …]" in in_text(notes)) == (count == 21)
    assert ("and 300 more" in in_html(notes)) == (count == 500)
    assert ("and 300 more" in in_markdown(notes)) == (count == 500)


def test_a_line_of_ten_megabytes_is_shown_by_its_ends_and_lines_left_out_are_counted():
    assert "[… 99,988 more lines …]" in in_text(b.Prose("says", "line\n" * 100_000))
    assert len(in_text(b.Prose("says", "x" * 10_000_000))) < 50_000
