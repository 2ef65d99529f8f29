"""What is drawn is what would be written: nothing hidden, nothing uncounted, authors told apart."""

import functools
import re
import time

from hypothesis import given
from hypothesis import strategies as st

from rails.approval import diff_view
from rails.approval.diff_view import file_diff
from rails.core.changes import unified_diff
from rails.core.diff import line_diff
from rails.render.blocks import show
from rails.render.lines import draw, wrap


def styles(diff):
    return [(line.style, line.text) for line in diff.lines if line.style not in ("hunk", "context")]


def test_the_agents_lines_and_the_formatters_are_told_apart(make):
    change = make.change(
        before=b"a = 1\nb=2\nc = 3\n",
        proposed=b"a = 1\nb=2\nc = 4\nd=5\n",
        after=b"a = 1\nb = 2\nc = 4\nd = 5\n",
    )
    diff = file_diff(change)
    assert styles(diff) == [
        ("tool_remove", "b=2"),
        ("remove", "c = 3"),
        ("tool_add", "b = 2"),
        ("add", "c = 4"),
        ("tool_add", "d = 5"),
    ]
    assert (diff.added, diff.removed, diff.by_tools) == (3, 2, 3)
    assert "    2 +~ b = 2" in draw(diff)


def test_without_a_formatter_every_line_is_the_agents(make):
    assert styles(file_diff(make.change())) == [("remove", "a = 1"), ("add", "a = 2")]


def test_findings_stand_at_their_lines_and_those_elsewhere_in_the_file_too(make):
    before = b"".join(b"x%d\n" % n for n in range(1, 41))
    change = make.change(before=before, after=before.replace(b"x2\n", b"y2\n"))
    diff = file_diff(change, [make.finding(line=n, rule=rule) for n, rule in ((2, "A1"), (30, "B2"), (0, "C3"))])
    texts = [line.text for line in diff.lines]
    assert texts.index("y2") + 1 == texts.index("line 2, column 1: A1 'os' imported but unused")
    assert texts[texts.index("x30") + 1].startswith("line 30, column 1: B2")
    assert texts[-1].startswith("line 0, column 1: C3")


def test_many_findings_are_counted(make):
    diff = file_diff(make.change(), [make.finding(line=1)] * 60)
    assert diff.lines[-1].text == "[… 10 more findings in this file …]"


def test_created_and_deleted_files_show_every_line(make):
    created = file_diff(make.change(before=None, after=b"a\nb\n"))
    deleted = file_diff(make.change(before=b"a\nb\n", after=None))
    assert styles(created) == [("add", "a"), ("add", "b")]
    assert styles(deleted) == [("remove", "a"), ("remove", "b")]
    assert (created.title, deleted.title) == ("src/app.py (create, +2 -0)", "src/app.py (delete, +0 -2)")


def test_what_is_not_text_is_said_with_its_size(make):
    change = make.change(before=b"\x00\x01", after=b"\x00")
    said = f"This is not text: 2 bytes before, 1 byte after; SHA-256 after: {change.after_sha256}"
    why = "it has NUL bytes and is not UTF-16 or UTF-32."
    assert [line.text for line in file_diff(change).lines] == [said, f"Before: {why}", f"After: {why}"]


def test_text_in_another_encoding_is_shown_decoded_with_the_encoding_named(make):
    for before, after, note in [
        ("café\n".encode("latin-1"), "cafés\n".encode("latin-1"), "Encoding: Latin-1."),
        ("a\n".encode("utf-16"), "é\n".encode("utf-16"), "Encoding: UTF-16 LE."),
        ("café\n".encode("latin-1"), "café\n".encode(), "The file changes its encoding from Latin-1 to UTF-8."),
        (b"a\n", "\ufeffa\n".encode("utf-16-be"), "The file changes its encoding from UTF-8 to UTF-16 BE."),
    ]:
        drawn = styles(file_diff(make.change(before=before, after=after)))
        assert drawn[0] == ("note", note)
        assert not any("Not text" in text or "\\x" in text for _, text in drawn)


def test_an_empty_file_is_said(make):
    for before, after in ((None, b""), (b"", None)):
        assert styles(file_diff(make.change(before=before, after=after))) == [("note", "The file is empty.")]


def test_changes_that_a_diff_of_lines_would_hide_are_said(make):
    assert styles(file_diff(make.change(before=b"a\n", after=b"\xef\xbb\xbfa\n"))) == [
        ("note", "The byte-order mark is added.")
    ]
    notes = styles(file_diff(make.change(before=b"a\nb\n", after=b"a\r\nb\r\n")))
    assert notes[0] == ("note", "Line endings: LF before, CRLF after.")
    assert ("add", r"a\x0d") in notes
    assert styles(file_diff(make.change(before=b"a\n", after=b"a")))[0] == (
        "note",
        "No newline at the end of the file after.",
    )


def test_windows_line_ends_are_quiet_when_nothing_changed_about_them(make):
    assert styles(file_diff(make.change(before=b"a\r\nb\r\n", after=b"a\r\nc\r\n"))) == [("remove", "b"), ("add", "c")]


def test_blanks_that_hide_something_become_counts():
    assert show("x" + " " * 200 + "y") == "x[… 200 spaces …]y"
    assert show("x  ") == r"x\x20\x20"
    assert show("x  ", changed=False) == "x  "
    assert show("x" + " " * 20) == "x[… 20 spaces …]"
    assert show("\tx\ty") == "→\tx\\x09y"
    assert show("\tx", changed=False) == "\tx"
    assert show("\t" * 90 + "x") == "[… 90 tabs …]x"


def test_long_lines_keep_both_ends():
    shown = show("a" * 1000 + "END")
    assert re.fullmatch(r"a{300}\[… 603 characters …\]a{97}END", shown)
    assert show("a" * 1000 + "END", full=True) == "a" * 1000 + "END"


def test_many_blank_lines_become_a_count_and_the_last_line_is_seen(make):
    diff = file_diff(make.change(before=b"", after=b"a\n" + b"\n" * 300 + b"import os\n"))
    assert ("cut", "[… 295 more blank lines …]") in styles(diff)
    assert diff.lines[-1].text == "import os"
    assert diff.added == 302


def test_a_large_file_is_capped_with_counts_and_its_last_line(make):
    after = b"".join(b"line %d\n" % n for n in range(5000))
    diff = file_diff(make.change(before=None, after=after), max_lines=100)
    assert len(diff.lines) == 101
    assert diff.hidden == 4901
    assert ("cut", "[… 4,901 lines not shown, 4901 of them added, 0 removed …]") in styles(diff)
    assert diff.lines[-1].text == "line 4999"


def test_large_and_repetitive_files_are_drawn_in_time(make):
    lines = [b"value_%d = %d\n" % (n % 90, n) for n in range(8_000)]
    changed = [b"    " + line if n % 3 else line for n, line in enumerate(lines)]
    started = time.process_time()
    diff = file_diff(make.change(before=b"".join(lines), after=b"".join(changed), proposed=b"".join(lines)))
    file_diff(make.change(before=b"x\ny\n" * 100_000, after=b"y\nx\n" * 100_000))
    assert diff.added > 5_000
    assert time.process_time() - started < 20


def test_three_changed_lines_of_a_file_with_two_distinct_ones_are_three_on_the_card_and_in_the_log(make):
    before = ["a = 1\n" if n % 3 else "b = 2\n" for n in range(900)]
    after = ["changed\n" if n in (10, 450, 880) else line for n, line in enumerate(before)]
    change = make.change(before="".join(before).encode(), after="".join(after).encode())
    drawn = file_diff(change)
    assert (drawn.added, drawn.removed) == (3, 3)
    assert not any(line.style == "note" for line in drawn.lines)
    logged = unified_diff(change.before, change.after, "src/app.py")
    assert [line[0] for line in logged[2:] if line[0] in "+-"] == ["-", "+"] * 3


def test_lines_that_are_too_many_to_be_compared_are_shown_as_replaced_and_that_is_said(make, monkeypatch):
    monkeypatch.setattr(diff_view, "line_diff", functools.partial(line_diff, pairs=1_000))
    before = ["head\n", *(f"{n}\n" for n in range(100)), "tail\n"]
    change = make.change(
        before="".join(before).encode(), after="".join([before[0], *before[-2:0:-1], "tail\n"]).encode()
    )
    drawn = file_diff(change, max_lines=None)
    assert (drawn.added, drawn.removed) == (100, 100)
    assert drawn.lines[0].style == "note"
    assert "too many" in drawn.lines[0].text.casefold()
    assert not any(line.style == "note" for line in file_diff(make.change()).lines)


def test_one_changed_line_in_a_large_file_is_one_changed_line(make):
    lines = [b"value_%d = %d\n" % (n % 90, n % 77) for n in range(19_000)]
    changed = [*lines[:9_000], b"new\n", *lines[9_000:15_000], *lines[15_001:]]
    diff = file_diff(make.change(before=b"".join(lines), after=b"".join(changed)))
    assert (diff.added, diff.removed) == (1, 1)


CODE = st.lists(st.sampled_from(["a", "b", "c", "", "  ", "x = 1", "x=1"]), max_size=12)


@given(before=CODE, proposed=CODE, after=CODE)
def test_the_drawn_lines_rebuild_both_files(make, before, proposed, after):
    texts = ["".join(f"{line}\n" for line in lines).encode() for lines in (before, proposed, after)]
    change = make.change(before=texts[0], proposed=texts[1], after=texts[2])
    diff = file_diff(change, context=100, max_lines=None)
    if texts[0] == texts[2]:
        assert not styles(diff)
        return

    def side(*wanted):
        return [line.text.replace(r"\x20", " ") for line in diff.lines if line.style in ("context", *wanted)]

    assert side("add", "tool_add") == after
    assert side("remove", "tool_remove") == before
    numbers = [line.new for line in diff.lines if line.style in ("context", "add", "tool_add")]
    assert numbers == list(range(1, len(after) + 1))


@given(st.text(max_size=300), st.integers(min_value=20, max_value=80))
def test_wrapping_loses_nothing_and_fits(text, width):
    import unicodedata

    pieces = wrap(text, width)
    assert "".join(pieces) == text
    for piece in pieces:
        cells = sum(
            0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in piece
        )
        assert cells <= width


def test_colour_only_adds_colour(make):
    diff = file_diff(make.change())
    plain = draw(diff)
    coloured = draw(diff, colour=True)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == plain
    assert coloured != plain
