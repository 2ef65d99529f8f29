"""Match strategies: located by the first that fits, unique there, written at the file's own form, or refused."""

import time

import pytest

from rails.core import limits
from rails.edits.edit_request import EditRequest
from rails.edits.match import Match, Miss, locate
from rails.edits.text_view import View
from tests.rows import walked


def result(text, old, new, **more):
    """The strategy and the text after the edit; a refusal is an error of the test."""
    view = View(text)
    found = locate(view, EditRequest(old, new, **more))
    assert isinstance(found, Match), found
    pieces = []
    at = 0
    for span in found.spans:
        pieces += [text[at : span.start], span.text]
        at = span.end
    return found.strategy, "".join(pieces) + text[at:]


def refusal(text, old, new, **more):
    found = locate(View(text), EditRequest(old, new, **more))
    assert isinstance(found, Miss), found
    return found


LADDER = {
    "1 whole line": (1, "a\nb\nc\n", "b", "B", "a\nB\nc\n"),
    "1 inside a line": (1, "f(one, two)\n", "one, t", "1, t", "f(1, two)\n"),
    "1 across lines": (1, "ab\ncd\n", "b\nc", "x", "axd\n"),
    "1 deletes lines": (1, "a\nb\nc\n", "b\n", "", "a\nc\n"),
    "1 joins lines": (1, "a,\nb\n", ",\n", ", ", "a, b\n"),
    "1 first line bare": (1, "    a\n    b\n", "a\n    b", "a\n    x\n    b", "    a\n    x\n    b\n"),
    "1 last line without end": (1, "a\nb", "b\n", "c\n", "a\nc"),
    "1 one line becomes several": (
        1,
        "def f():\n    pass\n",
        "pass",
        "x = 1\n    y = 2",
        "def f():\n    x = 1\n    y = 2\n",
    ),
    "1 CRLF file, one line sent": (1, "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
    "2 CRLF file": (2, "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"),
    "2 CRLF sent": (2, "a\nb\nc\n", "a\r\nb", "a\r\nx", "a\nx\nc\n"),
    "2 mixed file keeps its mix": (2, "a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\n"),
    "2 old Mac file": (2, "a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc"),
    "3 blanks in the file": (3, "a  \nb\t\nc\n", "a\nb", "a\nx\nb", "a  \nx\nb\t\nc\n"),
    "3 blanks in the search": (3, "a\nb\nc\n", "a \nb  ", "a \nx", "a\nx\nc\n"),
    "4 quotes": (4, "say “hi”\nnext\n", 'say "hi"\nnext', 'say "hi"\nmore', "say “hi”\nmore\n"),
    "4 inside a line": (4, "x = ‘a’ + y\n", "'a' + ", "'b' + ", "x = 'b' + y\n"),
    "4 dash and odd space": (4, "a – b\u00a0c\nd\n", "a - b c\nd", "a - b c\ne", "a – b\u00a0c\ne\n"),
    "1 half of a line end sent": (1, "a\r\nb\r\nc\r\n", "b\r", "B\r", "a\r\nB\r\nc\r\n"),
    "5 tab file, shown at the left": (
        5,
        "{\n\ta,\n\tb,\n}\n",
        "a,\nb,",
        "a,\nif (x) {\n    b,\n}",
        "{\n\ta,\n\tif (x) {\n\t\tb,\n\t}\n}\n",
    ),
    "5 tabs and blanks by columns": (
        5,
        "if a:\n    if b:\n\tc()\n\tif d:\n\t    e()\nf()\n",
        "    if b:\n        c()\n        if d:",
        "    if b:\n        if x:\n            c()\n        if d:",
        "if a:\n    if b:\n\tif x:\n\t    c()\n\tif d:\n\t    e()\nf()\n",
    ),
    "5 de-indented": (
        5,
        "    if a:\n        b()\n",
        "if a:\n    b()",
        "if a:\n    b()\n    c()",
        "    if a:\n        b()\n        c()\n",
    ),
    "5 over-indented": (5, "if a:\n    b()\n", "    if a:\n        b()", "    if a:\n        x()", "if a:\n    x()\n"),
    "5 tabs for spaces": (
        5,
        "\tif a:\n\t\tb()\n",
        "    if a:\n        b()",
        "    if a:\n        b()\n            c",
        "\tif a:\n\t\tb()\n\t\t\tc\n",
    ),
    "5 two for four": (
        5,
        "if a:\n    b()\n    c()\n",
        "if a:\n  b()\n  c()",
        "if a:\n  b()\n  if d:\n    c()",
        "if a:\n    b()\n    if d:\n        c()\n",
    ),
    "5 blank lines stay blank": (5, "    a\n\n    b\n", "a\n\nb", "a\n\n\nb", "    a\n\n\n    b\n"),
    "5 one line, too deep": (5, "  a = 1\n", "      a = 1", "      a = 1\n      b = 2", "  a = 1\n  b = 2\n"),
    "5 list under its key": (5, "k:\n- a\n- b\n", "k:\n  - a\n  - b", "k:\n  - a\n  - c\n  - b", "k:\n- a\n- c\n- b\n"),
    "6 tokens": (6, "f(a, b)\ng( c )\n", "f(a,b)\ng(c)", "f(a,b)\nh(c)", "f(a, b)\nh(c)\n"),
    "6 and indentation": (6, "    f(a, b)\n    g()\n", "f(a,b)\ng()", "f(a,b)\nh()", "    f(a, b)\n    h()\n"),
    "7 blank borders": (7, "x\na\nb\ny\n", "\na\nb\n\n", "\na\nB\n\n", "x\na\nB\ny\n"),
    "7 blank borders, indentation": (7, "  x\n  a = 1\n  y\n", "\n    a = 1\n", "\n    a = 2\n", "  x\n  a = 2\n  y\n"),
}


@walked("name", LADDER)
def test_each_rung_locates_and_writes_in_the_files_own_form(name):
    strategy, text, old, new, right = LADDER[name]
    assert result(text, old, new) == (strategy, right)


BLOCK = "    def f(self):\n        return self.a\n"
REFUSED = {
    "twice exactly": ("ambiguous", "a\nb\na\n", "a", "x"),
    "twice, overlapping": ("ambiguous", "aaa", "aa", "b"),
    "twice on rung 3": ("ambiguous", "a \nb\na\t\nb\n", "a\nb", "x"),
    "twice on rung 5": (
        "ambiguous",
        f"{BLOCK}\n    {BLOCK.replace(chr(10), chr(10) + '    ')}",
        "def f(self):\n    return self.a",
        "x",
    ),
    "twice, only the line ends differ": ("ambiguous", "a\r\nb\r\n--\na\nb\n", "a\nb", "x"),
    "one stale word": (
        "not_found",
        "def f(a, b):\n    return a\n",
        "def f(a, c):\n    return a",
        "def f(a, c):\n    return c",
    ),
    "a line missing": ("not_found", "a1\nc3\n", "a1\nb2\nc3", "x"),
    "nested otherwise": ("not_found", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()", "if a:\n    b()\n    d()"),
    "un-nested": ("not_found", "if a:\n    b()\n    c()\n", "if a:\n    b()\nc()", "if a:\n    b()\nd()"),
    "too few tokens": ("not_found", "a  b\n", "a b", "x"),
    "blank borders, half a word": ("not_found", "a\nreturn xyz\nb\n", "\nreturn x\n", "y"),
    "a whole line, half a word": ("not_found", "say “x” and more\n", 'say "x"\n', "y"),
    "nothing but blanks": ("not_found", "a\nb\n", "\n\n\n", "x"),
    "already there": ("already_applied", "a\nnew line here\nb\n", "old line here", "new line here"),
    "empty": ("format", "a", "", "x"),
    "equal": ("no_change", "a", "a", "a"),
}


@walked("name", REFUSED)
def test_what_has_no_safe_reading_is_refused(name):
    code, text, old, new = REFUSED[name]
    assert refusal(text, old, new).code == code


def test_an_ambiguous_rung_is_never_left_for_a_looser_one():
    text = "a = 1 \nb\n--\na = 1 \nb\n--\n  a = 1\n  b\n"
    miss = refusal(text, "a = 1\nb", "x")
    assert (miss.code, miss.strategy) == ("ambiguous", 3)
    assert [candidate.first_line for candidate in miss.candidates] == [1, 4]


def test_a_refusal_names_the_first_diverging_line_and_column_with_visible_blanks():
    text = "def f(a):\n    one = 1\n\ttwo = 2\n    return a\n"
    miss = refusal(text, "def f(a):\n    one = 1\n    two = 3\n    return a", "x")
    best = miss.candidates[0]
    assert (best.first_line, best.last_line, best.line, best.column) == (1, 4, 3, 1)
    assert (best.wanted, best.found) == ("····two = 3", "→two = 2")
    assert "line 3, column 1" in miss.message
    assert best.handle in miss.hint


@pytest.mark.parametrize("old", ["def f(a):\n    return b", "return a"])
def test_a_handle_accepts_the_place_that_was_offered(old):
    text = "def f(a):\n    return a\n\ndef g(a):\n    return a\n"
    miss = refusal(text, old, "def f(a):\n    return 0" if "\n" in old else "return 0")
    handle = miss.candidates[0].handle
    new = "def f(a):\n    return 0" if "\n" in old else "return 0"
    found = locate(View(text), EditRequest(old, new, handle=handle))
    assert isinstance(found, Match)
    assert found.fuzzy == ("\n" in old)
    assert result(text, old, new, handle=handle)[1] == "def f(a):\n    return 0\n\ndef g(a):\n    return a\n"


def test_an_accepted_place_keeps_the_lines_that_the_edit_leaves_alone():
    text = "    one = renamed(1)\n    two = 2\n"
    old = "one = called(1)\ntwo = 2"
    new = "one = called(1)\ntwo = 3"
    handle = refusal(text, old, new).candidates[0].handle
    assert result(text, old, new, handle=handle) == (8, "    one = renamed(1)\n    two = 3\n")


def test_a_handle_dies_with_the_file():
    text = "a = 1\nb = 2\nc = 3\n"
    handle = refusal(text, "a = 1\nb = 9\nc = 3", "x").candidates[0].handle
    assert refusal(text + "\n", "a = 1\nb = 9\nc = 3", "x", handle=handle).code == "stale"


def test_indentation_that_nothing_shows_is_refused_not_guessed():
    text = "\tif a:\n\t\tb = 1\n"
    miss = refusal(text, "    if a:\n        b = 1", "    if a:\n        b = 1\n          odd = 2")
    assert "another indentation" in miss.message


def test_line_numbers_are_taken_off_only_where_they_agree_with_the_file():
    text = "zero\none\ntwo\n"
    assert result(text, "     2\tone\n     3\ttwo", "     2\tONE\n     3\ttwo") == (1, "zero\nONE\ntwo\n")
    assert refusal(text, "     7\tone\n     8\ttwo", "x").code == "not_found"


def test_a_fence_around_both_texts_is_taken_off():
    assert result("a\nb\n", "```python\nb\n```", "```python\nc\n```") == (1, "a\nc\n")
    assert result("```\nb\n```\n", "```\nb\n```", "```\nc\n```") == (1, "```\nc\n```\n"), "it is in the file"


@pytest.mark.parametrize(
    ("old", "new", "more", "right"),
    [
        ("HELLO", "x", {"ignore_case": True, "replace_all": True}, "x x\n"),
        (r"(\w+) (\w+)", "$2 $1 $$ $& $9 \\1", {"regex": True}, "hello Hello $ Hello hello $9 \\1\n"),
        (r"^h", "J", {"regex": True, "ignore_case": True}, "Jello hello\n"),
    ],
)
def test_patterns_and_letter_case(old, new, more, right):
    assert result("Hello hello\n", old, new, **more)[1] == right


def test_c6_13_a_hostile_or_broken_pattern_is_refused_in_time(monkeypatch):
    monkeypatch.setattr(limits, "REGEX_SECONDS", 0.2)
    assert refusal("a" * 40, "^(a+)+$b", "x", regex=True).code == "not_found"
    assert "not done after" in refusal("x" * 300_000, "(?s)x.*y|x", "z", regex=True).message
    assert "too large for a text" in refusal("ab" * 1_000_000, "(a|b)*a(a|b){999}c", "x", regex=True).message
    assert "missing )" in refusal("a", "(", "x", regex=True).message


@walked("pattern", ["x(?=y)", r"(x)\1", "(?>x)"])
def test_what_cannot_be_had_in_linear_time_is_refused(pattern):
    miss = refusal("xy xx", pattern, "z", regex=True)
    assert miss.code == "format"
    assert "RE2 has no look-around and no back-references" in miss.message


def test_a_pattern_that_would_cut_a_word_in_two_is_refused_with_one_that_does_not():
    miss = refusal("größe = naïve\n", r"(\w+) = (\w+)", "$2 = $1", regex=True)
    assert (miss.code, r"write [\pL\pN_]" in miss.message) == ("format", True)
    word = r"([\pL\pN_]+)"
    assert result("größe = naïve\n", f"{word} = {word}", "$2 = $1", regex=True)[1] == "naïve = größe\n"


BIG = "".join(f"line {n} of a file that is quite long, with some text to fill it up\n" for n in range(100_000))


def test_many_places_are_replaced_in_time_and_too_many_are_refused():
    start = time.process_time()
    strategy, text = result(BIG[:2_000_000], "line", "LINE", replace_all=True)
    assert (strategy, text.count("LINE")) == (1, BIG[:2_000_000].count("line"))
    assert result(BIG[:500_000], "LINE", "x", replace_all=True, ignore_case=True)[1].count("x ") > 5_000
    assert refusal("a" * 100_001, "a", "b", replace_all=True).code == "limit"
    assert time.process_time() - start < 15


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (BIG, "line 77777 of a file that was not quite long\nand more"),
        (BIG, "line 77777 of a file that is quite long,with some text to fill it up"),
        ("            return self._value\n" * 100_000, "return self._value\n" * 50 + "return self._other"),
        ("            return self._value\n" * 100_000, "return self._value\n" * 50 + "return self._value"),
        ("a" * 5_000_000, "a" * 1000 + "b"),
        (("ab" * 50 + "\n") * 50_000, "ab" * 49 + "a b"),
    ],
)
def test_large_and_hostile_files_stay_within_seconds(text, old):
    start = time.process_time()
    locate(View(text), EditRequest(old, "x"))
    assert time.process_time() - start < 15


@walked(
    ("text", "old", "new", "right"),
    [
        ("cafe\u0301 = 1\nb = 2\n", "caf\u00e9 = 1\nb = 2", "caf\u00e9 = 1\nb = 3", "cafe\u0301 = 1\nb = 3\n"),
        ("caf\u00e9 = 1\nb = 2\n", "cafe\u0301 = 1\nb = 2", "cafe\u0301 = 1\nb = 3", "caf\u00e9 = 1\nb = 3\n"),
        ("x('cafe\u0301 au lait')\n", "caf\u00e9 au", "th\u00e9 au", "x('th\u00e9 au lait')\n"),
        ("한글 = 1\n".encode().decode(), "\u1112\u1161\u11ab\u1100\u1173\u11af = 1\n", "x = 1\n", "x = 1\n"),
        ("say('Loading\u2026')\nb\n", "say('Loading...')\nb", "say('Loading...')\nc", "say('Loading\u2026')\nc\n"),
        ("say('Loading...')\nb\n", "say('Loading\u2026')\nb", "say('Loading\u2026')\nc", "say('Loading...')\nc\n"),
        ("say('Loading\u2026 now')\n", "Loading... now", "Done", "say('Done')\n"),
        ("a = 1\nb = 2\n", "\ufeffa = 1", "\ufeffa = 3", "a = 3\nb = 2\n"),
        ("if a:\n    b()\n    c()\n    d()\n", "if a:\n    b()\n  c()\n    d()", "if a:\n    b()\n  c()\n    e()",
         "if a:\n    b()\n    c()\n    e()\n"),
        ("if a:\n    b()\n    c()\n    d()\n", "if a:\n    b()\n        c()\n    d()",
         "if a:\n    b()\n        c()\n    e()", "if a:\n    b()\n    c()\n    e()\n"),
        ("a = 1\nb = 2\n", "a = 1\n", "a = 3", "a = 3\nb = 2\n"),
        ("a = 1\nb = 2\n", "\nb = 2", "b = 3", "a = 1\nb = 3\n"),
        ("a = 1\nb = 2\nc = 3\n", "\nb = 2\n", "", "a = 1\nc = 3\n"),
        ("if a:\n    b = 2\n    c = 3\n", "b = 2\n", "", "if a:\n    c = 3\n"),
        ("a = 1\nb = 2", "b = 2\n", "b = 3", "a = 1\nb = 3"),
        ("  {\n        listen 80;\n  }\n", "    listen 80;", "    listen 80;\n    listen 443;",
         "  {\n        listen 80;\n        listen 443;\n  }\n"),
        ("a = ‘x’\nb\n  a = 'x'\n", "  a = 'x'", "  a = 'y'", "a = ‘x’\nb\n  a = 'y'\n"),
        ("if a:\n    b()\n    c()\n", "    2→    b()\n    3→    c()", "    2→    b()\n    3→    d()",
         "if a:\n    b()\n    d()\n"),
        ("if a:\n    b()\n    c()\n", "2:    b()\n3:    c()", "    b()\n    d()", "if a:\n    b()\n    d()\n"),
        ("<p>\n  A &amp; B\n</p>\n", "&lt;p&gt;\n  A &amp;amp; B", "&lt;p&gt;\n  A &amp;amp; C",
         "<p>\n  A &amp; C\n</p>\n"),
        ("a = 1\n\n\nb = 2\nc = 3\n", "a = 1\nb = 2\nc = 3", "a = 1\nb = 2\nc = 4", "a = 1\n\n\nb = 2\nc = 4\n"),
        ("a = 1\nb = 2\nc = 3\n", "a = 1\n\nb = 2\nc = 3\n", "a = 1\n\nb = 2\nc = 4\n", "a = 1\nb = 2\nc = 4\n"),
    ],
)  # fmt: skip
def test_what_was_copied_with_a_slip_is_located_without_loss(text, old, new, right):
    assert result(text, old, new)[1] == right


@walked(
    ("text", "old", "new"),
    [
        ("if a:\n    b()\n        c()\n", "if a:\n    b()\n    c()", "if a:\n    b()\n    d()"),  # nested otherwise
        ("class A:\n    def f(self):\n        pass\n", "def f(self):\n        pass",
         "def f(self):\n        pass\n\ndef g(self):\n        pass"),  # g where f stands, or at the left
        ("\tif a:\n\t\tb()\n", "    if a:\n        b()", "    if a:\n      c()"),  # half a level
        ("\tif a:\n\t\tb()\n", "if a:\n\tb()", "if a:\n\tb(\n\t    c)"),  # blanks in a file of tabs
        ("x()\n\tput(k)\ndel k\n\n#\n", "    put(k)\ndel k\n\n#",
         "    if a:\n    b()\n        put(k)\ndel k\n\n#"),  # one line alone says that blanks are tabs there
        ("if a:\n    b()\n    c()\n    d()\n", "if a:\n    b()\nc()\n    d()",
         "if a:\n    b()\ne()\n    d()"),  # the slip once more, or meant at the left
        ("x(\n    {\n        b\n    }\n    c\n    d\n)\n", "    {\n        b\n    }\n        c\n    d",
         "    {\n        b\n    }\n        e\n    d"),  # the slip once more, or as deep as b
        ("<p>\n  A\n</p>\n", "&lt;p&gt;\n  A", "<p>\n  B"),  # one of both is escaped
        ("\tif a:\n\t\tb()\n", " \tif a:\n \t\tb()", " \tif a:\n+\t\tc()\n \t\tb()"),  # the signs of a diff
        ("a = 1\n\nb = 2\nc = 3\n", "a = 1\nb = 2\nc = 3", "a = 1\nd = 2\nc = 3"),  # above d, or not?
        ("a = 1\n\nb = 2\nc = 3\n", "a = 1\nb = 2\nc = 3", "a = 1\nd = 1\nb = 2\nc = 3"),  # above d, or below?
        ("a = 1\nb = 2\nc = 3\n", "a = 1\n\nb = 2\nc = 3", "a = 1\nd = 1\nb = 2\nc = 3"),  # in place of the blank
        ("a = 1\n\nb = 2\n#\na = 1\n\nb = 2\n", "a = 1\nb = 2", "a = 1\nb = 2\nc = 3"),  # twice
        ("a = 1\n\nb = 2\nc = 3\n", "a = 1\nb = 2\n\nc = 3", "a = 1\nb = 2\n\nc = 3\nd"),  # moved
    ],
)  # fmt: skip
def test_an_indentation_that_neither_side_shows_is_refused(text, old, new):
    assert refusal(text, old, new).code == "not_found"


@walked("end", ["", "\n"])
@walked("new_end", ["", "\n"])
@walked("form", ["numbers", "numbers in both", "fence", "fence in both"])
def test_what_was_copied_around_whole_lines_leaves_the_lines_below_where_they_are(form, end, new_end):
    def wrapped(text, last):
        if form.startswith("fence"):
            return f"```python\n{text}\n```{last}"
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), 1)) + last

    old = wrapped("one = 1\ntwo = 2", end)
    new = wrapped("one = 1\ntwo = 4", end) if form.endswith("both") else f"one = 1\ntwo = 4{new_end}"
    blank = "\n" if form == "numbers" and new_end > end else ""  # the texts as they are, which end otherwise
    assert result("one = 1\ntwo = 2\n\n\nthree = 3\n", old, new)[1] == f"one = 1\ntwo = 4\n{blank}\n\nthree = 3\n"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (
            "if a:\n\tif b:\n\t    c()\n",
            "        if b:\n            c()",
            "        if b:\n            if d:\n                c()",
        ),
        ("\ta(1)\n\tb(2)\n", "        a(1)\n        b(2)", "        a(1)\n        if c:\n            b(2)"),
        ("\ta(1)\n\tb(2)\n", "a(1)\nb(2)", "a(1)\n  b(2)"),
    ],
)
def test_what_a_depth_is_between_tabs_and_blanks_is_never_guessed(text, old, new):
    """No line of the file has it, or a tab may be one level or two, or nothing shows how wide one is."""
    assert "indentation that none of them shows" in refusal(text, old, new).message


def test_a_fence_that_is_to_change_is_not_left_out():
    text = "# T\n\n```javascript\nx = 1\n```\n"
    fenced = "```js\nx = 1\n```"
    assert result(text, fenced, "```js\nx = 2\n```")[1] == text.replace("1", "2")
    assert refusal(text, fenced, "```ts\nx = 2\n```").code == "not_found"
