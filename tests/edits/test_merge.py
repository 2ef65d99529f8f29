"""Two people's changes of one file become one, or a conflict: never a wrong or a lost byte."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rails.edits.merge import Conflict, merge3
from tests.rows import walked

BASE = b"a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        (b"A\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\n", b"A\nb\nc\nd\nE\n"),
        (b"a\nb\nB\nc\nd\ne\n", b"a\nb\nc\nd\n", b"a\nb\nB\nc\nd\n"),
        (b"a\nb\nc\nd\ne", b"A\nb\nc\nd\ne\n", b"A\nb\nc\nd\ne"),
        (b"a\r\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\r\n", b"a\r\nb\nc\nd\nE\r\n"),
        (b"b\nc\na\nd\ne\n", b"a\nb\nc\nd\nE\n", b"b\nc\na\nd\nE\n"),
    ],
)
def test_changes_in_different_places_are_both_kept(ours, theirs, result):
    merged = merge3(BASE, ours, theirs)
    assert isinstance(merged, bytes)
    assert merged == result


@walked(
    ("ours", "theirs"),
    [
        (b"a\nB\nc\nd\ne\n", b"a\nBB\nc\nd\ne\n"),
        (b"a\nB\nc\nd\ne\n", b"a\nb\nC\nd\ne\n"),  # they touch
        (BASE + b"f\n", BASE + b"g\n"),
        (b"a\nb\nx\nc\nd\ne\n", b"a\nb\ny\nc\nd\ne\n"),
        (b"a\nc\nd\ne\n", b"a\nbb\nc\nd\ne\n"),
        (b"e\nd\nc\nb\na\n", b"a\nB\nc\nd\ne\n"),
        (b"", b"a\nB\nc\nd\ne\n"),
        (BASE.replace(b"\n", b"\r\n"), b"a\nb\nC\nd\ne\n"),
    ],
)
def test_changes_that_overlap_or_touch_are_a_conflict(ours, theirs):
    assert isinstance(merge3(BASE, ours, theirs), Conflict)
    assert isinstance(merge3(BASE, theirs, ours), Conflict)


def test_repeated_lines_are_never_taken_for_each_other():
    base = b"x\n}\n\ny\n}\n\nz\n}\n"
    ours = b"x\n1\n}\n\ny\n}\n\nz\n}\n"
    theirs = b"x\n}\n\ny\n}\n\nz\n2\n}\n"
    assert merge3(base, ours, theirs) == b"x\n1\n}\n\ny\n}\n\nz\n2\n}\n"
    # nothing but repeated lines: where a side's change is, is not certain, so it is not guessed
    assert isinstance(merge3(b"}\n}\n}\n", b"}\n}\n", b"}\n}\n}\n}\n"), Conflict)
    assert isinstance(merge3(b"A\nB\nA\nB\n", b"A\nB\n", b"A\nB\nA\nQ\nB\n"), Conflict)
    assert isinstance(merge3(b"A\nB\nB\nB\nB\n", b"R\nA\nB\nB\nB\nB\nB\n", b"A\nB\nB\nB\nQ\nB\n"), Conflict)


def test_a_conflict_is_numbered_as_ours_is():
    assert merge3(BASE, b"a\nB\nc\nd\ne\n", b"a\nBB\nc\nd\ne\n") == Conflict(2, 2)
    assert merge3(BASE, b"a\nB\nB\nc\nd\ne\n", b"a\nBB\nc\nd\ne\n") == Conflict(2, 3)
    assert merge3(BASE, b"b\nc\nd\ne\n", b"A\nb\nc\nd\ne\n") == Conflict(1, 1), "where something is gone"
    assert merge3(BASE, b"a\nb\nc\ne\n", b"a\nn\nb\nc\nD\ne\n") == Conflict(4, 4)


TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"\n", b"}\n", b"e\r\n"]), max_size=12)
LAST = st.sampled_from([b"", b"end"])


@given(TEXTS, TEXTS, TEXTS, LAST)
def test_any_three_texts_give_a_conflict_or_a_merge_with_every_new_line_and_no_other(base, ours, theirs, last):
    base, ours, theirs = (b"".join(lines) + last for lines in (base, ours, theirs))
    merged = merge3(base, ours, theirs)
    swapped = merge3(base, theirs, ours)
    assert isinstance(merged, bytes) == isinstance(swapped, bytes)
    if isinstance(merged, bytes):
        assert merged == swapped
        lines = [set(data.split(b"\n")) for data in (base, ours, theirs, merged)]
        assert (lines[1] & lines[2]) <= lines[3] <= (lines[1] | lines[2])
        assert (lines[1] - lines[0]) | (lines[2] - lines[0]) <= lines[3]
    assert merge3(base, ours, base) == ours
    assert merge3(base, base, theirs) == theirs
    assert merge3(base, ours, ours) == ours


@st.composite
def edited_apart(draw):
    """A base of lines that are all different, and two edits of it with a line of the base between them."""
    lines = [b"line %d\n" % number for number in range(draw(st.integers(3, 20)))]
    cut = draw(st.integers(1, len(lines) - 2))
    first = draw(st.tuples(st.integers(0, cut), st.integers(0, cut)).map(sorted))
    second = draw(st.tuples(st.integers(cut + 1, len(lines)), st.integers(cut + 1, len(lines))).map(sorted))
    new = st.lists(st.sampled_from([b"new\n", b"}\n", b"\n", b"line 0\n"]), max_size=3)
    return lines, first, draw(new), second, draw(new)


@given(edited_apart(), st.booleans())
@example(([b"line 0\n", b"line 1\n", b"line 2\n"], [0, 1], [b"line 0\n"], [2, 3], [b"}\n"]), False)
def test_edits_with_a_line_between_them_are_both_there_byte_for_byte(edits, swap):
    lines, (a, b), first, (c, d), second = edits
    ours = b"".join([*lines[:a], *first, *lines[b:]])
    theirs = b"".join([*lines[:c], *second, *lines[d:]])
    both = b"".join([*lines[:a], *first, *lines[b:c], *second, *lines[d:]])
    merged = merge3(b"".join(lines), *((theirs, ours) if swap else (ours, theirs)))
    if isinstance(merged, bytes):
        assert merged == both
    else:  # only where an edit repeats a line and so leaves none between the two that each text has once
        between = set(lines[b:c])
        assert not any(ours.count(line) == theirs.count(line) == 1 for line in between)


def test_the_cost_grows_with_the_file_and_not_faster(cpu_seconds):
    def work(size):
        lines = [b"line %d\n" % (number % 997 if number % 3 else number) for number in range(size)]
        ours = [b"first\n", *lines]
        theirs = [*lines, b"last\n"]
        return lambda: merge3(b"".join(lines), b"".join(ours), b"".join(theirs))

    small, large = (cpu_seconds(work(size)) for size in (10_000, 20_000))
    assert large < small * 4 + 0.05
