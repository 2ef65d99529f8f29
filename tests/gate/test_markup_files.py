"""HTML and CSS: what is opened is closed again; a template is said to be not checked."""

import time

import pytest

from rails.gate.kinds.markup import Elements
from tests.rows import walked

PAGE = "<!doctype html>\n<html>\n<body>\n<ul><li>a<li>b</ul>\n<p>x<br>y\n<svg><path d='1'/></svg>\n</body>\n</html>\n"
STYLE = '@media (min-width: 1px) {\n  a::after { content: "}"; background: url(x;y.png) } /* { */\n}\n'


def told(verdict):
    return [(one.line, one.column, one.message) for one in verdict.findings if one.tool == "markup"]


@pytest.mark.parametrize(("path", "text"), [("a.html", PAGE), ("a.css", STYLE), ("a.htm", ""), ("a.css", "")])
def test_c12_18_a_sound_page_or_style_passes_and_is_looked_at(world, path, text):
    verdict = world.judge((path, text))
    assert (verdict.status, told(verdict), verdict.not_checked) == ("pass", [], ())


@walked(
    ("path", "text", "place", "words"),
    [
        ("a.html", "<div>\n  <span>x</div>\n", (2, 3), "<span> is never closed."),
        ("a.html", "<p>x</p>\n</div>\n", (2, 1), "</div> closes nothing."),
        ("a.html", "<main>\n<p>x\n", (1, 1), "<main> is never closed."),
        ("a.html", "<p>x</p>\n<!-- open\n", (2, 1), "This comment is never closed."),
        ("a.css", "a { color: red;\nb { color: blue }\n", (1, 3), "{ is never closed."),
        ("a.css", "a { color: red }\n}\n", (2, 1), "} closes nothing."),
        ("a.css", "a { b: (c }\n", (1, 11), "} closes nothing."),
        ("a.css", "/* open\na { }\n", (1, 1), "This comment is never closed."),
        ("a.css", 'a { content: "x\n }\n', (1, 14), "This string is never closed."),
    ],
)
def test_c12_18_what_is_left_open_is_a_finding_at_its_place(world, path, text, place, words):
    verdict = world.judge((path, text))
    assert verdict.status == "fail"
    assert told(verdict)[0] == (*place, words)


def test_what_was_open_before_is_not_blamed_on_the_change(world):
    assert world.judge(("a.html", "<div>\n", "<div>\n<p>x</p>\n")).status == "pass"


@pytest.mark.parametrize("text", ["{% if a %}<div>{% endif %}", "<div>{{ x }}", "<?php echo 1 ?>"])
def test_a_template_is_said_to_be_not_checked(world, text):
    verdict = world.judge(("a.html", text))
    assert (verdict.status, [miss.reason for miss in verdict.not_checked]) == ("pass", ["it is a template"])


def test_a_page_in_which_nothing_is_closed_is_read_in_a_moment():
    started = time.process_time()
    faults = Elements("<p></b>\n" * 8_000 + "<i><div>" * 2_000 + "</div>" * 2_000).faults
    assert (len(faults), time.process_time() - started < 1) == (10_000, True)
