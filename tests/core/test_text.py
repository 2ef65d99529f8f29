"""What reaches a screen is what it looks like; bytes come back as they were."""

import sys
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rails.core.text import (
    Decoded,
    control_in,
    decode_text,
    excerpt,
    head_and_tail,
    in_words,
    line_column,
    main_eol,
    one_line,
    plain_text,
    printable,
    sha256,
    unfenced,
    why_not_text,
)
from tests.rows import walked

# Default_Ignorable_Code_Point of Unicode 15.1: nothing of it may pass unseen.
IGNORABLE = [
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
]


def escape_of(point):
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def every_point():
    return range(sys.maxunicode + 1)


def test_a_code_point_is_shown_as_itself_or_as_its_escape():
    for point in [*range(0x3000), *range(0x3000, sys.maxunicode, 997)]:
        shown = printable(f"x{chr(point)}", keep="")[1:]
        is_seen = unicodedata.category(chr(point))[0] in "LMNPS" or point == 0x20
        assert shown == escape_of(point) or (is_seen and shown == chr(point)), hex(point)


def test_the_result_can_be_printed_whatever_it_was():
    text = "".join(chr(point) for point in every_point())
    assert printable(text, keep="").isprintable()


@pytest.mark.parametrize(("first", "last"), IGNORABLE, ids=lambda point: f"{point:04x}")
def test_nothing_that_draws_nothing_passes(first, last):
    for point in range(first, last + 1):
        assert printable(f"x{chr(point)}", keep="") == "x" + escape_of(point)


def test_letters_numbers_punctuation_and_symbols_pass():
    for text in ("plain", "äöü ß", "日本語", "עברית", "ไทย", "e\u0301", "½ € → ∑", "🔧 ✅", "नमस्ते"):
        assert printable(text) == text


@walked("space", ["\u00a0", "\u2003", "\u202f", "\u3000", "\u1680", "\u205f"])
def test_only_the_space_is_a_space(space):
    assert printable(f"a{space}b c") == f"a{escape_of(ord(space))}b c"


def test_line_ends_and_tabs_pass_unless_unwanted():
    assert printable("a\n\tb\r") == "a\n\tb\\x0d"
    assert printable("a\n\tb", keep="") == "a\\x0a\\x09b"


def test_marks_need_a_letter_and_do_not_pile_up():
    mark = "\u0335"
    assert printable(mark + "a", keep="") == "\\u0335a"
    assert printable(f"\n{mark}a") == "\n\\u0335a"
    assert printable("a" + mark * 4) == "a" + mark * 4
    assert printable("a" + mark * 7) == "a" + mark * 4 + "\\u0335" * 3
    assert printable(f"a\u200b{mark}") == "a\\u200b\\u0335"


@given(st.text(alphabet=st.characters(), max_size=60))
@example("\x1b]8;;http://x\x07link\x1b]8;;\x07")
@example("\u202e\u2066")
def test_showing_twice_changes_nothing_more(text):
    assert printable(printable(text)) == printable(text)
    assert printable(text, keep="").isprintable()


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_without_backslashes_that_differ_look_different(one, other):
    one = one.replace("\\", "")
    other = other.replace("\\", "")
    assert (one == other) == (printable(one) == printable(other))


@walked("alphabet", ["a", "\x1b", "\u0301", "\u202e", "é"])
def test_long_texts_take_linear_time(alphabet):
    started = time.process_time()
    printable(alphabet * 200_000)
    assert time.process_time() - started < 2


def test_one_line_is_one_line_and_counts_what_it_cut():
    assert one_line("  a\nb\x1b ") == "a\\x0ab\\x1b"
    assert one_line("x" * 200) == "x" * 160 + "… (+40 characters)"
    assert one_line("x" * 10_000, 10) == "xxxxxxxxxx… (+9990 characters)"
    assert one_line("\x1b" * 20, 20).startswith("\\x1b" * 5 + "…")
    assert one_line("") == ""


@given(st.text(max_size=400), st.integers(1, 50))
def test_one_line_is_bounded(text, limit):
    shown = one_line(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit + 30


def test_an_offset_becomes_a_line_and_a_column():
    text = "ab\ncd\n\nx"
    assert [line_column(text, offset) for offset in (0, 1, 2, 3, 5, 6, 7, 8)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 3),
        (3, 1),
        (4, 1),
        (4, 2),
    ]
    assert line_column(text, -5) == (1, 1)
    assert line_column(text, 99) == (4, 2)


def test_an_excerpt_marks_where_it_was_cut():
    text = "a" * 100 + "\x1b" + "b" * 100
    assert excerpt(text, 100, 3) == "…aaa\\x1bbb…"
    assert excerpt("short", 2) == "short"


@given(st.text(max_size=300), st.integers(3, 100))
def test_head_and_tail_keeps_both_ends_and_counts_the_rest(text, limit):
    shown, left_out = head_and_tail(text, limit)
    if len(text) <= limit:
        assert (shown, left_out) == (text, 0)
        return
    head, _, tail = shown.partition(f"\n[… {left_out} characters left out …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + left_out == len(text)


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80), st.booleans())
@example("a\r\nb\n\rc", True)
def test_a_decoded_file_is_written_back_byte_for_byte(text, bom):
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    decoded = decode_text(data)
    assert isinstance(decoded, Decoded)
    assert decoded.encode(decoded.text) == data


@walked("data", [b"\0", b"a\0b", b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xef\xbb\xbf\0"])
def test_what_is_not_text_is_not_guessed(data):
    assert decode_text(data) is None


@given(st.binary(max_size=60))
@example("Größe".encode("cp850"))
@example("\ufeffa".encode("utf-16-be"))
def test_whatever_is_decoded_gives_the_same_bytes_again_and_the_rest_has_a_reason(data):
    decoded = decode_text(data)
    if decoded is None:
        assert why_not_text(data)
    else:
        assert decoded.encode(decoded.text) == data
        assert decoded.text_of(data) == decoded.text
        assert decoded.whole.encode(decoded.encoding) == data or not decoded.mark
        assert "\0" not in decoded.text


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80))
def test_utf8_is_always_read_as_utf8(text):
    assert decode_text(text.encode()) == Decoded(
        text.removeprefix("\ufeff"), mark=b"\xef\xbb\xbf" * text.startswith("\ufeff")
    )


@walked(
    ("text", "expected"),
    [
        ("", ("\n", False)),
        ("a\nb\n", ("\n", False)),
        ("a\r\nb\r\n", ("\r\n", False)),
        ("a\rb", ("\r", False)),
        ("a\r\nb\r\nc\n", ("\r\n", True)),
        ("a\nb\rc\r\n", ("\n", True)),
    ],
)
def test_the_main_line_ending_is_the_most_frequent(text, expected):
    assert main_eol(text) == expected


def test_sha256_is_hexadecimal():
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@walked(
    ("text", "inner"),
    [
        ("```json\n{}\n```", "{}\n"),
        (" \n```JSON \n{}\n``` \n", "{}\n"),
        ("```\nx```", "x"),
        ("```\n```\n```", "```\n"),
        ("```yaml\nx\n```", "```yaml\nx\n```"),
        ("```json\n{}", "```json\n{}"),
        ("```", "```"),
        (" {} \n", "{}"),
        ("", ""),
    ],
)
def test_a_fence_around_the_whole_text_is_taken_off_and_no_other(text, inner):
    assert unfenced(text) == inner


@walked(
    ("line", "words"),
    [
        ("🔧 write_file a.py", "write_file a.py"),
        ("  ✅ written", "  done: written"),
        ("❌ refused", "failed: refused"),
        ("\t→ to coder", "\tto coder"),
        ("── Turn 3 ─────", "Turn 3"),
        ("a → b ──", "a → b ──"),
        ("→nothing", "→nothing"),
        ("", ""),
    ],
)
def test_a_screen_reader_is_given_words_for_a_sign_at_the_beginning_and_no_rule(line, words):
    assert in_words(line) == words


@walked(
    ("data", "text"),
    [(b"a\r\n", "a\r\n"), (b"\xef\xbb\xbfa", "a"), (b"a\0b", None), (b"\0", None), (b"\xff", None), (b"", "")],
)
def test_plain_text_is_utf8_without_its_mark_and_nothing_with_a_nul(data, text):
    assert plain_text(data) == text


@walked(
    ("text", "known", "found"),
    [
        ("a\tb\r\n\f", "", None),
        ("a\n\x1b[0m", "", (2, "\\x1b")),
        ("\x1b\n\x00", "\x1b", (2, "\\x00")),
        ("\x85", "", (1, "\\x85")),
        ("\x0b", "\x0b", None),
        ("\xa0é", "", None),
    ],
)
def test_the_first_control_character_that_no_text_has_is_named_with_its_line(text, known, found):
    assert control_in(text, known) == found


@walked(
    ("old", "new", "said"),
    [
        (Decoded("a"), Decoded("é"), ""),
        (Decoded("a"), Decoded("b", "latin-1"), ""),
        (Decoded("a"), Decoded("é", "latin-1"), "from UTF-8 to"),
        (Decoded("é", "latin-1"), Decoded("a"), "to UTF-8"),
        (Decoded("a"), Decoded("a", "utf-16-le"), "from UTF-8 to UTF-16"),
        (Decoded("a", "utf-16-le"), Decoded("b", "utf-16-le"), ""),
    ],
)
def test_a_change_of_encoding_is_said_where_a_byte_is_written_otherwise(old, new, said):
    assert said in new.recoded_from(old)
    assert bool(new.recoded_from(old)) == bool(said)
