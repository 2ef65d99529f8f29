"""Two lines frame what stands between them where they mirror one another, and nowhere else."""

import pytest

from rails.parsing.frame_hints import ENDS_FRAME, SENTENCES
from rails.parsing.frames import find_frames, hides

FRAMED = [
    ("AS $f$", "$f$"),
    ("{{{", "}}} and so on"),
    ("old {{{", "}}} and so on"),
    ("@@@", "@@@ and so on"),
    ("x = @@@", "@@@ and so on"),
    ("See {{{", "}}}"),
    ("See: <% a", "%>"),
    ("see here @@", "@@"),
    ("⟪old", "old⟫"),
    ("(((old", "old)))"),
    ("// -----", "// -----"),
    ("x (", ")"),
    ("f(x) {", "}"),
    (".RS 4", ".RE"),
    ("%" + "a" * 99, "%b"),
    ("</abcd-b>", "</abcd-c>"),
    ("if 0", "endif"),
    ("if " + "x" * 36, "endif"),
    ("Human:\nDo it.", "Now."),
    ("Human:\n\nDo it: {", "Now."),
    ("Example:", "Now."),
    ("Example:\n", "Now."),
    ("Output of " + "x" * 29 + ":", "Now."),
    ("[answer]", "[/answer]"),
    ("┌─ old", "└─"),
    ("╔═ old", "╚═"),
    ("{{{", "}}};"),
    ("BEGIN;", "END;"),
    ("quote-begin", "quote-end"),
    ("example.start", "example.stop"),
    ("open quote", "close quote"),
    ("[old", "old]"),
    ("((((", "(((("),
    ("dnl begin", "dnl end"),
    ("Thinking start", "Thinking stop"),
    ("== A ==", "== /A =="),
    ("if x; then", "fi"),
    ("while x; do", "done"),
    ("case x in", "esac"),
    ("See: {a", "{/a}"),
    ("Now [quote, as said", "[/quote]"),
    ("{- old", "-}"),
    ("@x a", "@x a"),
    ("see: foo {", "}"),
    ("⟦old", "⟧"),
    ("⟧", "⟦"),
    ("<|tools_prefix|>", "<|tools_suffix|>"),
    ("<unused1>", "<unused2>"),
    ("Text.\n----", "----"),
    ("Text.\n\n----", "----"),
    ("----", "----"),
    ("####", "####"),
    ("{quote", "was it {/quote}"),
    ("|old x{", "|"),
]
FREE = [
    ("=== a ===", "=== b ==="),
    ("f(x) >", "< b"),
    ("a>", "<"),
    ("x = f(a)", ")"),
    ("old⟫", "⟪old"),
    ("%" + "a" * 100, "%b"),
    ("<a href>", "<b>"),
    ("</abcdef>", "</uvwxyz>"),
    ("#1", "#2"),
    ("## {a", "## {b"),
    ("if " + "x" * 37, "endif"),
    ("If so.", "endif"),
    *(
        (f"Human:\nDo it.\n{name}: yes", "Now.")
        for name in ("AI", "Assistant", "Answer", "Response", "Action", "Thought")
    ),
    ("Human:\nDo it.\n## Final answer:", "Now."),
    ("<|x|>", "@end y"),
    ("<|im_start|>assistant", "<|im_end|>"),
    ("@x a b", "@x a b"),
    ("/end a", "/end a"),
    ("{ x }", "}"),
    ("x (", "]"),
    ("[new", "old]"),
    ("The plan", "The end"),
    ("The beginning", "The end"),
    ("#### /a is", "#### /a can"),
    ("x )", "("),
    ("x >", "<"),
    ("<answer>", "</answer>"),
    ("Human: do it.", "Now."),
    ("Example: a.py", "Now."),
    ("Example:\nThis.", "Now."),
    ("----\n", "\n----"),
    ("----\n", "----"),
    ("----", "-----"),
    ("---", "---"),
    ("✅ a", "✅ b"),
    ("Now.", "Then."),
    ("{old", "}{"),
    ("//old x{", "//%"),
    ("%{", "%{"),
    ("[[", "[["),
]


def frames(opening, closing):
    text = f"{opening}\nCALL\n{closing}\n"
    start = text.index("CALL")
    return find_frames(text, [(start, start + 5)], [])


@pytest.mark.parametrize(("opening", "closing"), FRAMED)
def test_lines_that_show_something_frame_it_and_are_named(opening, closing):
    found = frames(opening, closing)
    lines = [line for line in opening.split("\n") if line]
    named = [repr(line[:40]) for one in lines for line in (one, one.rpartition(": ")[2])]
    assert any(name in frame.what for frame in found for name in named), found
    at = len(opening) + 1
    assert any(frame.start <= at < frame.end for frame in found)


@pytest.mark.parametrize("closing", sorted({closing for _, closing in FRAMED if closing != "Now."}))
def test_the_quick_looks_see_every_line_that_ends_a_frame(closing):
    for text in (closing, f"Done.\n{closing}\n", f"Done.\n{closing}\r\nMore.\n"):
        assert not SENTENCES.match(text)
        assert ENDS_FRAME.search(text)
        assert hides(text, 0)


@pytest.mark.parametrize(("opening", "closing"), FREE)
def test_lines_of_prose_frame_nothing(opening, closing):
    at = len(opening) + 1
    assert not [frame for frame in frames(opening, closing) if frame.start <= at < frame.end]


@pytest.mark.parametrize("between", ["", "\n", "\n    A line.\n\n"])
def test_what_is_indented_below_a_line_of_markup_belongs_to_it(between):
    text = f"Text.\n!!! note\n{between}    CALL\n"
    at = text.index("CALL")
    (frame,) = find_frames(text, [(at, at + 5)], [])
    assert frame == (at, at + 5, f"indented below '!!! note' (above line {text.count(chr(10))})")
    for other in (text.replace("!!! note", "- an item"), text.replace("CALL", "Text: CALL")):
        at = other.index("CALL")
        assert not find_frames(other, [(at, at + 5)], [])


@pytest.mark.parametrize("line", ["}}}", "was it {/quote}", "-----", "@end example", "endif", "конец"])
def test_the_quick_look_sees_a_line_that_could_close_a_frame_where_it_looks(line):
    assert hides(f"Text.\n{line}\n", 0)
    assert not hides(f"{line}\nText, and more.\n", len(line))


def test_what_stands_in_a_fence_frames_nothing():
    text = "```\nx {\n```\nCALL\n}\n"
    at = text.index("CALL")
    assert not find_frames(text, [(at, at + 5)], [(0, at)])


@pytest.mark.parametrize(("count", "framed"), [(300, True), (100, False)])
def test_more_lines_than_can_be_told_apart_frame_all(count, framed):
    first = "".join(f"@a{number}\n" for number in range(count)) + "Text.\n"
    text = f"{first}CALL\nText.\n" + "".join(f"@end b{number}\n" for number in range(300))
    found = find_frames(text, [(len(first), len(first) + 5)], [])
    assert found == [(0, len(text), "in an answer with more lines of markup than can be told apart")] * framed


def test_a_frame_reaches_from_the_beginning_of_its_first_line_to_the_end_of_its_last():
    text = "Text.\r\n\r\n{-\r\nCALL\r\n-}\r\nText.\n{-\nCALL\n-}\n"
    places = [(at, at + 4) for at in (text.index("CALL"), text.rindex("CALL"))]
    starts = [text.index("{-"), text.rindex("{-")]
    assert find_frames(text, places, []) == [
        (starts[0], text.index("Text.\n"), "between '{-' (line 3) and '-}' (line 5)"),
        (starts[1], len(text), "between '{-' (line 7) and '-}' (line 9)"),
    ]
